"""Who plays which role: model strings become models, and what nobody named is found."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from abjudge.adapters.config_file import Config
from abjudge.adapters.discovery import Found, discover, lineage_for
from abjudge.adapters.embedded import EmbeddedChat
from abjudge.adapters.litellm_model import LiteLLMModel
from abjudge.adapters.model_store import CATALOGUE, ModelStore
from abjudge.domain.errors import InputError, Permanent
from abjudge.domain.families import Lineage, declared, lineage_of
from abjudge.ports import Model
from abjudge.wiring.choices import Choices

Say = Callable[[str], None]
Consent = Callable[[str], bool]


class Workshop:
    """Makes each model once, and remembers what was decided about it."""

    def __init__(self, environ: Mapping[str, str], config: Config, say: Say, consent: Consent) -> None:
        self.environ, self.config, self.say, self.consent = environ, config, say, consent
        self.store = ModelStore()
        self.models: dict[tuple[str, str | None], Model] = {}

    async def cast(self, chosen: Choices) -> tuple[str, tuple[str, ...]]:
        """Who produces and who judges: as named, else the first that is there and, for the judge, a stranger."""
        producer = full_name(chosen.producer) if chosen.producer else None
        judges = tuple(full_name(name) for name in chosen.judges)
        if producer == "human":
            raise InputError("bad_model", None, "A person can judge (--judge human) but not produce.")
        if producer is None or not judges:
            found = await discover(self.environ, self.store, self.config.families)
            if producer is None:
                pick = found[0]
                producer = pick.model
                self.say(f"producer {producer}: {pick.why}")
            if not judges:
                stranger = self._stranger(producer, chosen, found)
                judges = (stranger.model,)
                self.say(f"judge {stranger.model}: {stranger.why}, and another family than the producer's")
        for name in dict.fromkeys((producer, *judges)):
            self._have(name)
        return producer, judges

    def _stranger(self, producer: str, chosen: Choices, found: Sequence[Found]) -> Found:
        own = self.lineage(producer, chosen.producer_family)
        if own is None:
            raise InputError(
                "unknown_family",
                None,
                f"The family of the producer {producer} is not known, so no judge can be chosen for it.",
                hint="Declare it with --producer-family NAME, or name a judge with --judge.",
            )
        for candidate in found:
            if candidate.lineage and not own.shares_with(candidate.lineage):
                return candidate
        raise InputError(
            "no_judge", None, f"No judge of another family than {producer}'s is there.", hint="Use --judge."
        )

    def _have(self, name: str) -> None:
        """Fetch an embedded model at its first use, if the person agrees."""
        if name.startswith("embedded/") and not name.endswith(".gguf"):
            fetch_model(name.removeprefix("embedded/"), consent=self.consent, say=self.say, store=self.store)

    def lineage(self, name: str, family: str | None) -> Lineage | None:
        return declared(family) if family else lineage_for(name, self.config.families)

    def answer_cap(self, name: str) -> int:
        """Tokens an answer may have where nobody said: the embedded models are slow and their context is short."""
        return 256 if name.startswith("embedded/") else 2048

    def model(self, name: str, api_base: str | None) -> Model:
        key = (name, api_base)
        if key not in self.models:
            self.models[key] = self._make(name, api_base)
        return self.models[key]

    def _make(self, name: str, api_base: str | None) -> Model:
        if not name.startswith("embedded/"):
            return LiteLLMModel(name, api_base=api_base, env=self.environ)
        key = name.removeprefix("embedded/")
        if key.endswith(".gguf"):
            return EmbeddedChat(name, Path(key).expanduser())
        path = self.store.path_of(key)
        if path is None:
            raise Permanent("model_not_fetched", f"The embedded model {key} is not in the cache.")
        return EmbeddedChat(name, path)


def fetch_model(name: str, *, consent: Consent, say: Say, store: ModelStore | None = None) -> Path:
    """The file of an embedded model, fetched first where it is not in the cache and the person agrees."""
    store = store or ModelStore()
    entry = CATALOGUE.get(name)
    if entry is None:
        known = f"There are: {', '.join(CATALOGUE)}, or a path to a .gguf file."
        raise InputError("bad_model", None, f"There is no embedded model {name!r}.", hint=known)
    path = store.path_of(name)
    if path is not None:
        return path
    size = f"{entry.size_bytes / 1e6:.0f} MB"
    terms = f" {entry.terms}" if entry.terms else ""
    if not consent(f"embedded/{name} ({entry.title}, {entry.licence}, {size}) is not in the cache.{terms}"):
        raise Permanent(
            "model_not_fetched",
            f"The embedded model {name} is not in the cache.",
            hint=f"Run `abjudge models fetch {name}`, or add --yes.",
        )
    if entry.terms:
        say(entry.terms)
    return store.fetch(name, progress=say)


def full_name(name: str) -> str:
    """The whole model string: a bare `name:tag` is Ollama's, and a bare name gets a hint instead of a guess."""
    if "/" in name or name == "human":
        return name
    if ":" in name:
        return f"ollama_chat/{name}"
    homes = {"OpenAI": "openai", "Google": "gemini", "Anthropic": "anthropic", "Mistral AI": "mistral"}
    lineage = lineage_of(name)
    home = homes.get(lineage.owners[0], "ollama_chat") if lineage else "ollama_chat"
    if name in CATALOGUE:
        home = "embedded"
    raise InputError("bad_model", None, f"The model {name!r} names no provider.", hint=f"Did you mean '{home}/{name}'?")
