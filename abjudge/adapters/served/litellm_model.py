"""A hosted or served model: litellm translates, we carry. Its import costs six seconds, its calls nine milliseconds.

The only module that imports litellm, and only when the first call is made.
"""

import asyncio
import functools
import gc
import logging
import os
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

from abjudge.adapters.served.exchange import Line, Watch
from abjudge.adapters.served.plain import ask_plainly
from abjudge.adapters.served.plans import (
    OLLAMA_DEFAULT_CTX,
    Plan,
    Shape,
    looks_cut,
    make_plan,
    refuses_the_schema,
    room_for,
    shape_of,
    unsupported,
)
from abjudge.adapters.served.preflight import preflight
from abjudge.adapters.served.providers import DUMMY_KEY, Address, basic, locate
from abjudge.adapters.served.readings import Reading, conclude
from abjudge.adapters.served.routes import Route, cost_usd, find_route
from abjudge.adapters.served.transport import Transport
from abjudge.adapters.served.wires import Wire
from abjudge.domain.calls import Price, Request, Response
from abjudge.domain.errors import CallError
from abjudge.domain.redaction import MARK

_MODES: tuple[str | None, ...] = ("json_schema", "json_object", None)
_MOST_PLANS = 64
# Anthropic's protocol requires a cap, and litellm's guess for an unknown model is above what older ones take.
_ANTHROPIC_CAP = 4096
# litellm's own switches, which are no parameters of any provider.
_SWITCHES = ("json_mode", "fake_stream", "max_retries", "stream", "stream_options", "extra_body", "extra_headers")


class LiteLLMModel:
    """A model by its litellm name. One call is one HTTP request; what could not be sent is never dropped in silence.

    `declared_context` is the context length (tokens) an Ollama model is run with; where it is not given, a length is
    set only for prompts that may not fit. `plain` asks by `litellm.acompletion` even where the direct way is known.
    """

    def __init__(
        self,
        name: str,
        *,
        api_base: str | None = None,
        api_key: str | None = None,
        declared_context: int | None = None,
        env: Mapping[str, str] | None = None,
        plain: bool = False,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._name = name
        self._env = os.environ if env is None else env
        self._given = (api_base, api_key)
        self._declared_context = declared_context
        self._plain = plain
        self._clock = clock
        self._proxies = any(
            self._env.get(v) for p in ("http", "https", "all") for v in (f"{p}_proxy", f"{p.upper()}_PROXY")
        )
        self._transport = Transport(proxies=self._proxies)
        self._plans: dict[Shape, Plan] = {}
        self._num_ctx: int | None = None
        self._weakest = 0
        self._stream_usage = True
        self._route: Route | None = None

    def __repr__(self) -> str:
        return f"LiteLLMModel({self._name!r})"

    @property
    def name(self) -> str:
        return self._name

    @functools.cached_property
    def _address(self) -> Address:
        api_base, api_key = self._given
        return locate(self._name, api_base=api_base, api_key=api_key, env=self._env)

    async def preflight(self) -> None:
        """Raises `CallError` for a missing or refused key, a dead address or an absent model, `InputError` for a
        malformed address or an unknown provider. Asks nothing that costs money, and imports litellm only for a
        provider that nobody but litellm knows.
        """
        await preflight(self._address, self._transport, proxies=self._proxies)
        if not self._address.known and self._route is None:
            await asyncio.to_thread(self._find_route)

    async def complete(self, request: Request, *, watch: Watch | None = None) -> Response:
        """One call. A provider that refuses the way the reply's shape was asked for is asked once more in a weaker way,
        which `attempts` counts and the note `schema_mode_rejected` tells.
        """
        self._address.require_key()
        route = await asyncio.to_thread(self._find_route) if self._route is None else self._route
        attempts, notes = 0, []
        while True:
            attempts += 1
            shape = self._shape(route, request, stream=watch is not None)
            started = self._clock()
            try:
                reading, plan = await self._ask(route, shape, request, watch)
            except CallError as error:
                note = self._weaken(error, shape)
                if note is None:
                    raise
                notes.append(note)
            else:
                break
        latency = self._clock() - started
        if shape.num_ctx is not None or (route.wire and route.wire.name.startswith("ollama")):
            notes += ["prompt_may_be_cut"] if looks_cut(request, reading.tokens_in, shape.num_ctx) else []
        response = conclude(reading, asked=request.system + request.user)
        return response.model_copy(
            update={
                **self._without_our_key(response),
                "model": self._name,
                "latency_s": latency,
                "cost_usd": cost_usd(_litellm(), route, reading),
                "sampling": plan.sampling_for(request),
                "structured": plan.structured,
                "attempts": attempts,
                "notes": tuple(_clean(note, self._address.key) for note in (*plan.notes, *notes, *response.notes)),
            }
        )

    def _without_our_key(self, response: Response) -> dict[str, str]:
        """The fields in which a server gave our own key back, with a mark in its place."""
        key = self._address.key
        if not key or key == DUMMY_KEY or len(key) < 8:
            return {}
        names = ("text", "refusal", "reasoning", "message", "native_finish_reason", "resolved_model", "request_id")
        fields = {name: getattr(response, name) for name in names}
        return {name: said.replace(key, MARK) for name, said in fields.items() if said and key in said}

    async def price(self) -> Price | None:
        """The dearest tier of litellm's list; an Ollama bills nobody. None where the list does not know the model."""
        if self._address.provider in ("ollama", "ollama_chat"):
            return Price(prompt=0.0, answer=0.0)
        route = await asyncio.to_thread(self._find_route) if self._route is None else self._route
        tiers = {kind: _tiers(route.price or {}, f"{kind}_cost_per_token") for kind in ("input", "output")}
        if not tiers["input"] or not tiers["output"]:
            return None
        return Price(prompt=float(max(tiers["input"])), answer=float(max(tiers["output"])))

    async def close(self) -> None:
        await self._transport.close()

    def _find_route(self) -> Route:
        if self._route is None:
            self._route = find_route(_litellm(), self._address, plain=self._plain)
        return self._route

    def _shape(self, route: Route, request: Request, *, stream: bool) -> Shape:
        mode = _MODES[max(self._weakest, _MODES.index(route.mode))]
        num_ctx = self._context(request) if route.wire and route.wire.name.startswith("ollama") else None
        return shape_of(request, mode=mode, stream=stream, stream_usage=self._stream_usage, num_ctx=num_ctx)

    def _line(self, route: Route, wire: Wire) -> Line:
        origin = replace(self._address.origin, wire=wire.name, base=route.base or route.provider)
        return Line(self._transport, wire, origin, route.url, route.stream_url)

    def _context(self, request: Request) -> int | None:
        # Each change of num_ctx makes Ollama load the model anew, so it is set late, in wide steps, and never lowered.
        need = room_for(request)
        if self._declared_context is None and need > OLLAMA_DEFAULT_CTX:
            self._num_ctx = max(self._num_ctx or 0, 1 << (need - 1).bit_length())
        return self._declared_context or self._num_ctx

    def _weaken(self, error: CallError, shape: Shape) -> str | None:
        """Gives up what the server refused, for this and all later calls, and names it; None where that is no help."""
        if shape.stream and shape.stream_usage and error.reason == "bad_request" and "stream_options" in error.message:
            self._stream_usage = False
            return "stream_usage_rejected"
        if shape.mode is not None and refuses_the_schema(error.reason, error.message):
            self._weakest = _MODES.index(shape.mode) + 1
            return "schema_mode_rejected"
        return None

    async def _ask(self, route: Route, shape: Shape, request: Request, watch: Watch | None) -> tuple[Reading, Plan]:
        plan = self._plans.get(shape)
        if plan is None:
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            plan = self._plans[shape] = _plan(route, shape, self._address)
        if route.wire is None:
            arguments = _plain_arguments(self._address, route, shape, request)
            return await ask_plainly(_litellm(), self._address.origin, arguments, request.timeout_s, watch), plan
        return await self._line(route, route.wire).ask(plan.headers, plan.body(request), request.timeout_s, watch), plan


def _clean(note: str, key: str | None) -> str:
    return note.replace(key, MARK) if key and len(key) >= 8 else note


def _tiers(listed: Mapping[str, Any], key: str) -> list[float]:
    """The price and those for long prompts; not those of batches and of priority, which are never asked for."""
    names = (name for name in listed if name == key or (name.startswith(f"{key}_above_") and name.endswith("_tokens")))
    return [float(listed[name]) for name in names if isinstance(listed[name], int | float)]


_loading = threading.Lock()


@functools.cache
def _loaded() -> Any:
    # Without the local map the import asks the network for prices; in its DEV mode it reads a .env file that happens to
    # lie about, and so changes keys behind our back.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    # Collecting garbage while a million objects are made costs a quarter of the import, and finds nothing.
    collecting = gc.isenabled()
    gc.disable()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import litellm
    # They live as long as the process: every full collection would walk through all of them again.
    gc.freeze()
    if collecting:
        gc.enable()
    warnings.filterwarnings("ignore", category=UserWarning, module=r"pydantic\._internal\..*")
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.drop_params = False
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return litellm


def _litellm() -> Any:
    with _loading:
        return _loaded()


def _plan(route: Route, shape: Shape, address: Address) -> Plan:
    params, dropped = _params(route, shape, address.name)
    if route.wire is None:
        sampling = shape.sampling.model_copy(update={"seed": None}) if dropped else shape.sampling
        return Plan((), {}, sampling, shape.mode, dropped)
    try:
        body, headers = _translate(route, shape, params, address)
    except CallError:
        raise
    except Exception as error:
        # litellm refuses some values only here, such as a temperature of 0 for a reasoning model.
        why = address.origin.quote(str(error).partition("To drop these")[0].removeprefix("litellm."))
        key = next((k for k in params if k in why), "sampling")
        raise unsupported(key, address.name, why) from error
    return make_plan(shape, route.wire, body, headers, address.name)


def _params(route: Route, shape: Shape, name: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    params = shape.params
    for key in [k for k in params if k not in route.takes]:
        if key != "seed":
            raise unsupported(key, name)
        del params[key]
    if route.provider == "anthropic":
        params.setdefault("max_tokens", _ANTHROPIC_CAP)
    if shape.response_format is not None:
        params["response_format"] = shape.response_format
    return params, ("seed_not_supported",) if "seed" in shape.params and "seed" not in params else ()


def _translate(
    route: Route, shape: Shape, params: dict[str, Any], address: Address
) -> tuple[dict[str, Any], dict[str, str]]:
    litellm = _litellm()
    key = route.key or (None if route.provider.startswith("ollama") else DUMMY_KEY)
    optional = litellm.utils.get_optional_params(model=route.model, custom_llm_provider=route.provider, **params)
    if route.provider == "gemini":
        from litellm.llms.vertex_ai.gemini.transformation import transform_request_body

        headers: dict[str, str] = {"x-goog-api-key": key or DUMMY_KEY}
        body = transform_request_body(
            messages=cast(Any, shape.messages),
            model=route.model,
            optional_params=optional,
            custom_llm_provider="gemini",
            litellm_params={},
            cached_content=None,
        )
    else:
        common: dict[str, Any] = {"model": route.model, "messages": shape.messages, "litellm_params": {}}
        headers = route.config.validate_environment(
            headers={}, optional_params=optional, api_key=key, api_base=route.base, **common
        )
        body = route.config.transform_request(optional_params=optional, headers=headers, **common)
    if route.provider.startswith("ollama") and key:
        headers["Authorization"] = f"Bearer {key}"
    if address.userinfo:
        headers["Authorization"] = basic(address.userinfo)
    return _on_the_wire(dict(body), route, shape), {**headers, "Content-Type": "application/json"}


def _on_the_wire(body: dict[str, Any], route: Route, shape: Shape) -> dict[str, Any]:
    extra = body.get("extra_body") or {}
    body = {k: v for k, v in body.items() if k not in _SWITCHES} | extra
    wire = route.wire.name if route.wire else ""
    if wire.startswith("ollama"):
        # Ollama streams unless it is told not to.
        body["stream"] = shape.stream
        if shape.num_ctx is not None:
            body["options"] = {**body.get("options", {}), "num_ctx": shape.num_ctx}
    elif shape.stream and wire != "gemini":
        body["stream"] = True
        if wire == "openai" and shape.stream_usage:
            body["stream_options"] = {"include_usage": True}
    return body


def _plain_arguments(address: Address, route: Route, shape: Shape, request: Request) -> dict[str, Any]:
    params, _ = _params(route, shape, address.name)
    if "seed" in params:
        params["seed"] = request.sampling.seed
    if route.provider.startswith("ollama"):
        _spare_the_show(route)
        params |= {"num_ctx": shape.num_ctx} if shape.num_ctx is not None else {}
    system = [{"role": "system", "content": request.system}] if request.system else []
    messages = [*system, {"role": "user", "content": request.user}]
    key = address.key or (DUMMY_KEY if address.custom and not route.provider.startswith("ollama") else None)
    base = address.base if address.custom else None
    return {"model": address.name, "messages": messages, "api_key": key, "api_base": base, **params}


def _spare_the_show(route: Route) -> None:
    """For a model without a price litellm asks /api/show, of localhost even where the model is served elsewhere."""
    name = f"{route.provider}/{route.model}"
    litellm = _litellm()
    if name not in litellm.model_cost:
        free = {"input_cost_per_token": 0.0, "output_cost_per_token": 0.0, "max_tokens": 8192, "mode": "chat"}
        litellm.register_model({name: {"litellm_provider": route.provider, **free}})
