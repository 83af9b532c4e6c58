"""Which models are there without anybody naming one: keys, a running Ollama, the embedded models."""

from collections.abc import Mapping
from typing import Any, Literal

from abjudge.adapters.embedded.store import CATALOGUE, ModelStore
from abjudge.adapters.served.transport import limited
from abjudge.domain.errors import Permanent
from abjudge.domain.families import Lineage, declared, lineage_of
from abjudge.domain.redaction import redact
from abjudge.domain.strict_json import read_json, whole_characters
from abjudge.domain.values import Value

Source = Literal["key", "ollama", "embedded"]
OLLAMA = "http://localhost:11434"

# One capable and affordable model for each key that people have; the key's name is litellm's.
_KEYED = (
    ("OPENAI_API_KEY", "openai/gpt-4o-mini"),
    ("GEMINI_API_KEY", "gemini/gemini-2.5-flash"),
    ("GOOGLE_API_KEY", "gemini/gemini-2.5-flash"),
    ("ANTHROPIC_API_KEY", "anthropic/claude-haiku-4-5"),
    ("MISTRAL_API_KEY", "mistral/mistral-small-latest"),
    ("DEEPSEEK_API_KEY", "deepseek/deepseek-chat"),
    ("XAI_API_KEY", "xai/grok-3-mini"),
)
_NO_CHAT = ("embed", "bge-", "minilm", "nomic", "rerank", "whisper")


class Found(Value):
    """A model that could be used now, and why it is known. `ready` is false where its files must be fetched first."""

    model: str
    source: Source
    why: str
    lineage: Lineage | None
    ready: bool = True


async def discover(environ: Mapping[str, str], store: ModelStore, families: Mapping[str, str]) -> tuple[Found, ...]:
    """What is there, in order of preference: keys present, a running Ollama, the embedded models."""

    def lineage(model: str) -> Lineage | None:
        return lineage_for(model, families)

    keyed = {model: name for name, model in reversed(_KEYED) if environ.get(name)}
    found = [
        Found(model=model, source="key", why=f"{keyed[model]} is set", lineage=lineage(model))
        for model in dict.fromkeys(model for _, model in _KEYED)
        if model in keyed
    ]
    base = environ.get("OLLAMA_API_BASE") or OLLAMA
    for tag in await _ollama_tags(base):
        model = f"ollama_chat/{tag}"
        found.append(Found(model=model, source="ollama", why=f"Ollama runs at {redact(base)}", lineage=lineage(model)))
    for name, entry in CATALOGUE.items():
        ready = store.path_of(name) is not None
        why = "its file is in the cache" if ready else f"can be fetched once ({entry.size_bytes / 1e6:.0f} MB)"
        model = f"embedded/{name}"
        found.append(Found(model=model, source="embedded", why=why, lineage=lineage(model), ready=ready))
    return tuple(found)


def lineage_for(model: str, families: Mapping[str, str]) -> Lineage | None:
    """The lineage somebody declared for this model (with or without its provider), else what the table knows."""
    word = families.get(model) or families.get(model.partition("/")[2]) or families.get(model.rpartition("/")[2])
    return declared(word) if word else lineage_of(model)


async def _ollama_tags(base: str) -> list[str]:
    """Names of the chat models an Ollama at `base` has; empty where none answers within half a second."""
    import aiohttp

    url = f"{base.rstrip('/')}/api/tags"
    try:
        timeout = aiohttp.ClientTimeout(total=0.5)
        async with aiohttp.ClientSession(timeout=timeout) as session, session.get(url) as answer:
            listing: Any = read_json(await limited(answer))
    except (TimeoutError, aiohttp.ClientError, OSError, ValueError, Permanent):
        return []
    models = listing.get("models") if isinstance(listing, dict) else None
    names = [m.get("name") for m in models if isinstance(m, dict)] if isinstance(models, list) else []
    sound = [n for n in names if isinstance(n, str) and n == whole_characters(n) and n.isprintable()]
    return [n for n in sound if not any(word in n.lower() for word in _NO_CHAT)]
