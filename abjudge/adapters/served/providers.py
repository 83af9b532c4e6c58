"""Which provider a model name means, where it lives, and which variable holds its key: litellm's names, without it."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from abjudge.adapters.served.faults import Origin
from abjudge.adapters.served.wires import WIRES, Wire
from abjudge.domain.errors import InputError, Permanent
from abjudge.domain.redaction import redact

DUMMY_KEY = "none"
"""Sent where a server of one's own asks for no key, but the protocol wants a header."""

# Variables in the order in which litellm asks for them.
_KEYS: dict[str, tuple[str, ...]] = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "gemini": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY", "OR_API_KEY"),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "together_ai": ("TOGETHER_API_KEY", "TOGETHER_AI_API_KEY", "TOGETHERAI_API_KEY", "TOGETHER_AI_TOKEN"),
    "xai": ("XAI_API_KEY",),
    "perplexity": ("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"),
    "cohere": ("COHERE_API_KEY", "CO_API_KEY"),
    "cohere_chat": ("COHERE_API_KEY", "CO_API_KEY"),
    "cerebras": ("CEREBRAS_API_KEY",),
    "fireworks_ai": ("FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY", "FIREWORKSAI_API_KEY", "FIREWORKS_AI_TOKEN"),
    "ollama": ("OLLAMA_API_KEY",),
    "ollama_chat": ("OLLAMA_API_KEY",),
}
_NAMED_FIRST = {"gemini": "GEMINI_API_KEY", "together_ai": "TOGETHERAI_API_KEY"}
_BASES: dict[str, tuple[tuple[str, ...], str]] = {
    "openai": (("OPENAI_BASE_URL", "OPENAI_API_BASE"), "https://api.openai.com/v1"),
    "anthropic": (("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL"), "https://api.anthropic.com"),
    "gemini": (("GEMINI_API_BASE",), "https://generativelanguage.googleapis.com/v1beta"),
    "ollama": (("OLLAMA_API_BASE",), "http://localhost:11434"),
    "ollama_chat": (("OLLAMA_API_BASE",), "http://localhost:11434"),
}
_KEYLESS = frozenset(("ollama", "ollama_chat"))
# Names that litellm takes without a prefix.
_FAMILIES = {
    "gpt-": "openai",
    "chatgpt-": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4-": "openai",
    "claude-": "anthropic",
}


@dataclass(frozen=True, slots=True)
class Address:
    """Where a model is asked and with what. `base` is None where only litellm knows it; `custom` where it is not the
    provider's own; `userinfo` is the password part that stood in the address, if one did.
    """

    name: str
    provider: str
    model: str
    wire: Wire | None
    base: str | None
    custom: bool
    key: str | None = field(repr=False)
    userinfo: str | None = field(default=None, repr=False)

    @property
    def known(self) -> bool:
        """Whether the provider stands in our own tables, so that litellm need not be asked whether there is one."""
        return self.provider in _KEYS

    @property
    def origin(self) -> Origin:
        secrets = [self.key or "", self.userinfo or "", *(unquote(self.userinfo or "").split(":", 1))]
        wire = self.wire.name if self.wire else None
        return Origin(self.name, wire, self.model, self.base or self.provider, tuple(s for s in secrets if s))

    def require_key(self) -> None:
        """Raises `Permanent` where no key is set and the provider would certainly want one."""
        names = _KEYS.get(self.provider)
        if self.key or self.custom or not names or self.provider in _KEYLESS:
            return
        first = _NAMED_FIRST.get(self.provider, names[0])
        message = f"{self.name} needs a key, and {first} is not set."
        raise Permanent("key_missing", message, hint=f"Set {first}, or point --api-base at a server of your own.")

    def headers(self) -> dict[str, str]:
        """What opens the door, for an unpaid look; a call's own headers come from litellm."""
        key = self.key or DUMMY_KEY
        if self.userinfo:
            return {"Authorization": basic(self.userinfo)}
        if self.provider in _KEYLESS:
            return {"Authorization": f"Bearer {self.key}"} if self.key else {}
        if self.provider == "anthropic":
            return {"x-api-key": key, "anthropic-version": "2023-06-01"}
        return {"x-goog-api-key": key} if self.provider == "gemini" else {"Authorization": f"Bearer {key}"}


def basic(userinfo: str) -> str:
    return "Basic " + base64.b64encode(unquote(userinfo).encode()).decode()


def locate(name: str, *, api_base: str | None, api_key: str | None, env: Mapping[str, str]) -> Address:
    """The address of `name`. Raises `InputError("bad_api_base")` for an address that is none."""
    provider, model = split(name)
    variables, default = _BASES.get(provider, ((), ""))
    given = api_base or next((env[v] for v in variables if env.get(v)), None)
    base, userinfo = checked(given) if given else (default or None, None)
    key = api_key or next((env[v] for v in _KEYS.get(provider, ()) if env.get(v)), None)
    wire = WIRES.get(provider)
    return Address(
        name=name,
        provider=provider,
        model=model,
        wire=wire,
        base=wire.base(base) if wire and base else base,
        custom=given is not None and urlsplit(base).hostname != urlsplit(default).hostname,
        key=_clean(key, name),
        userinfo=userinfo,
    )


def split(name: str) -> tuple[str, str]:
    """Provider and model; the provider is "" where only litellm can tell."""
    provider, slash, model = name.partition("/")
    if slash:
        return provider, model
    return next((p for prefix, p in _FAMILIES.items() if name.startswith(prefix)), ""), name


def checked(address: str) -> tuple[str, str | None]:
    """The address without its password part, and that part."""

    def bad(why: str) -> InputError:
        message = f"The address '{redact(address)}' cannot be used: {why}."
        return InputError("bad_api_base", message=message, hint="Expected is something like http://127.0.0.1:11434.")

    text = address.strip()
    if any(c.isspace() or not c.isprintable() for c in text):
        raise bad("it holds a space or a control character")
    try:
        parts = urlsplit(text)
        port = parts.port
        (parts.hostname or "").encode("idna")
    except UnicodeError:
        raise bad("its host is no name that the network knows") from None
    except ValueError as error:
        raise bad(redact(str(error).lower().replace("'", '"'))) from None
    if "://" not in text:
        raise bad("it does not begin with http:// or https://")
    if parts.scheme not in ("http", "https"):
        raise bad(f"its scheme is '{parts.scheme}', neither http nor https")
    if not parts.hostname or port == 0 or parts.netloc.endswith(":"):
        raise bad("it names no host" if not parts.hostname else "its port is not one")
    if parts.query or parts.fragment:
        raise bad("it holds a query or a fragment, and a path must be put behind it")
    userinfo, at, host = parts.netloc.rpartition("@")
    return parts._replace(netloc=host).geturl().rstrip("/"), userinfo if at else None


def _clean(key: str | None, name: str) -> str | None:
    key = (key or "").strip()
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        message = f"The key for {name} holds a space, a line break or a character that no key has."
        raise Permanent("key_refused", message, hint="It was probably cut or pasted with something else.")
    return key or None
