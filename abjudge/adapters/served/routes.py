"""How litellm would go to a model: provider, wire, address, what it takes, and what it costs. litellm is handed in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from abjudge.adapters.served.providers import Address
from abjudge.adapters.served.readings import Reading
from abjudge.adapters.served.wires import OPENAI, WIRES, Wire
from abjudge.domain.errors import InputError


@dataclass(frozen=True, slots=True)
class Route:
    """How litellm would go to a model. `wire` None: only `litellm.acompletion` knows the way."""

    provider: str
    model: str
    wire: Wire | None
    config: Any
    key: str | None = field(repr=False)
    base: str | None
    url: str
    stream_url: str
    takes: frozenset[str]
    mode: str | None
    price: Mapping[str, Any] | None


def find_route(litellm: Any, address: Address, *, plain: bool = False) -> Route:
    """Asks litellm who serves this name. Raises `InputError` for a name that it does not know."""
    given = address.base if address.custom else None
    try:
        model, provider, key, base = litellm.get_llm_provider(model=address.name, api_base=given, api_key=address.key)
        config = litellm.utils.ProviderConfigManager.get_provider_chat_config(model, litellm.LlmProviders(provider))
    except Exception as error:
        message = f"litellm knows no provider for the model name '{address.name}'."
        hint = "Write it as provider/model, such as ollama_chat/llama3.2:3b or openai/gpt-4o."
        raise InputError("unknown_provider", message=message, hint=hint) from error
    base = base or address.base
    wire = None if plain else _wire(litellm, provider, model, base, config)
    known = litellm.get_supported_openai_params(model=model, custom_llm_provider=provider) or ()
    takes = frozenset(known) | ({"max_tokens"} if "max_completion_tokens" in known else set())
    url = stream_url = ""
    if wire is not None and base:
        url, stream_url = wire.url(base, model), wire.url(base, model, stream=True)
        if provider not in WIRES:
            url = stream_url = config.get_complete_url(base, key, model, {}, {})
    return Route(
        provider=provider,
        model=model,
        wire=wire,
        config=config,
        key=address.key or key,
        base=base,
        url=url,
        stream_url=stream_url,
        takes=takes,
        mode=_schema_mode(litellm, provider, model, takes, address),
        price=_price(litellm, provider, model),
    )


def _wire(litellm: Any, provider: str, model: str, base: str | None, config: Any) -> Wire | None:
    """The wire on which we can go ourselves; None where litellm signs, logs in or reads in a way of its own."""
    if provider == "openai":
        responses_only = litellm.model_cost.get(model, {}).get("mode") not in (None, "chat")
        return None if responses_only else OPENAI
    if provider in WIRES:
        return WIRES[provider]
    usual = litellm.OpenAIGPTConfig
    ordinary = (
        isinstance(config, usual)
        and type(config).validate_environment is usual.validate_environment
        and type(config).sign_request is usual.sign_request
        and (type(config).transform_response is usual.transform_response or provider in ("groq", "mistral"))
    )
    # Without a base of its own, OpenAI's address would be filled in, and another provider's key be sent there.
    return OPENAI if ordinary and base else None


def _schema_mode(litellm: Any, provider: str, model: str, takes: frozenset[str], address: Address) -> str | None:
    always = provider in ("ollama", "ollama_chat", "anthropic") or (provider == "openai" and address.custom)
    if always or ("response_format" in takes and litellm.supports_response_schema(model, provider)):
        return "json_schema"
    return "json_object" if "response_format" in takes else None


def _price(litellm: Any, provider: str, model: str) -> Mapping[str, Any] | None:
    # Only by name: litellm's own look-up of an unknown model asks the network.
    for name in (f"{provider}/{model}", model, f"ollama/{model}" if provider == "ollama_chat" else model):
        entry = litellm.model_cost.get(name)
        if entry and (name != model or entry.get("litellm_provider") == provider):
            return dict(entry)
    return None


def cost_usd(litellm: Any, route: Route, reading: Reading) -> float | None:
    """US dollars by litellm's price list; None where the price or one of the counts is not known."""
    price, tokens_in, tokens_out = route.price, reading.tokens_in, reading.tokens_out
    if price is None or tokens_in is None or tokens_out is None:
        return None
    cached = min(reading.tokens_cached or 0, tokens_in)
    if any("_above_" in key and key.startswith("input_cost") for key in price):
        usd_in, usd_out = litellm.cost_per_token(
            model=route.model,
            custom_llm_provider=route.provider,
            prompt_tokens=tokens_in,
            completion_tokens=tokens_out,
            cache_read_input_tokens=cached,
        )
        return float(usd_in + usd_out)
    per_in, per_out = price.get("input_cost_per_token"), price.get("output_cost_per_token")
    if per_in is None or per_out is None:
        return None
    per_cached = price.get("cache_read_input_token_cost", per_in)
    return float((tokens_in - cached) * per_in + cached * per_cached + tokens_out * per_out)
