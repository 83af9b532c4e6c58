"""Who plays which role: model strings become models, and what nobody named is found."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from abjudge.adapters.config_file import Config
from abjudge.adapters.discovery import Found, discover, lineage_for
from abjudge.adapters.embedded.chat import EmbeddedChat
from abjudge.adapters.embedded.store import CATALOGUE, ModelStore
from abjudge.adapters.prompt_files import local_path
from abjudge.adapters.served.litellm_model import LiteLLMModel
from abjudge.domain.errors import InputError, Permanent
from abjudge.domain.families import Lineage, declared, lineage_of
from abjudge.ports import Model
from abjudge.wiring.choices import Choices

Say = Callable[[str], None]
Consent = Callable[[str], bool]

GIVEN = "given"  # in the producer's place where the responses exist already
FILE_CONTEXT = 4096  # tokens of prompt and answer together; more costs memory that a laptop may not have


@dataclass(frozen=True)
class Role:
    """A model string and the address at which it is asked."""

    name: str
    api_base: str | None = None

    @property
    def embedded(self) -> bool:
        return self.name.startswith("embedded/")


class Workshop:
    """Decides who plays which role, and makes each model once."""

    def __init__(self, chosen: Choices, environ: Mapping[str, str], config: Config, say: Say, consent: Consent) -> None:
        self.chosen, self._environ, self._config, self._say, self._consent = chosen, environ, config, say, consent
        self._store = ModelStore()
        self._models: dict[Role, Model] = {}
        self.producer = Role("")
        self.judges: tuple[Role, ...] = ()

    async def cast(self) -> None:
        """Who produces and who judges: as named, else the first that is there and, for the judge, a stranger."""
        chosen = self.chosen
        producer = GIVEN if chosen.given else None if chosen.producer is None else full_name(chosen.producer)
        judges = tuple(full_name(name) for name in chosen.judges)
        if producer == "human":
            raise InputError("bad_model", None, "A person can judge (--judge human) but not produce.")
        if len(set(judges)) < len(judges):
            raise InputError("duplicate_judge", None, "The same --judge is named twice.")
        if producer is None or not judges:
            found = await discover(self._environ, self._store, self._config.families)
            if producer is None:
                pick = found[0]
                producer = pick.model
                self._say(f"producer {producer}: {pick.why}")
            if not judges:
                stranger = self._stranger(producer, found)
                judges = (stranger.model,)
                self._say(f"judge {stranger.model}: {stranger.why}")
        for name in (producer, *judges):
            _check_embedded(name)  # before anything is asked or fetched
        if chosen.api_base and producer.startswith("embedded/"):
            self._say(f"{producer} runs in this process: --api-base is not used")
        self.producer = _at(producer, chosen.api_base)
        self.judges = tuple(_at(name, chosen.judge_api_base) for name in judges)

    async def ready(self) -> dict[Role, Model]:
        """Every model, known to answer. What is served is asked first; only then is anything fetched."""
        roles = [role for role in dict.fromkeys((self.producer, *self.judges)) if role.name not in ("human", GIVEN)]
        try:
            served = [self._make(role) for role in roles if not role.embedded]
            for fault in await asyncio.gather(*(model.preflight() for model in served), return_exceptions=True):
                if isinstance(fault, BaseException):
                    raise fault
            for role in roles:
                if role.embedded:
                    await self._make(role).preflight()
        except BaseException:
            await self.close()
            raise
        return dict(self._models)

    async def close(self) -> None:
        await asyncio.gather(*(model.close() for model in self._models.values()))

    def lineage(self, name: str, family: str | None) -> Lineage | None:
        """What the table and the settings know; what a person declares adds to that and takes nothing from it."""
        known = None if name == GIVEN else lineage_for(name, self._config.families)
        if family is None:
            return known
        said = declared(family)
        return said if known is None else known.with_(owners=tuple(dict.fromkeys((*known.owners, *said.owners))))

    def _stranger(self, producer: str, found: Sequence[Found]) -> Found:
        """The first that shares no owner with the producer; of a producer nobody knows, the first that is another."""
        own = self.lineage(producer, self.chosen.producer_family)
        for candidate in found:
            if own is None and candidate.model != producer:
                return candidate
            if own and candidate.lineage and not own.shares_with(candidate.lineage):
                return candidate
        raise InputError("no_judge", None, f"No judge of another family than {producer} is there.", hint="Use --judge.")

    def _make(self, role: Role) -> Model:
        if role not in self._models:
            self._models[role] = self._embedded(role.name) if role.embedded else self._served(role)
        return self._models[role]

    def _served(self, role: Role) -> Model:
        return LiteLLMModel(role.name, api_base=role.api_base, env=self._environ)

    def _embedded(self, name: str) -> Model:
        key = name.removeprefix("embedded/")
        if key.endswith(".gguf"):
            return EmbeddedChat(name, local_path(key, what=name), context=FILE_CONTEXT)
        path = fetch_model(key, consent=self._consent, say=self._say, store=self._store)
        return EmbeddedChat(name, path, context=min(CATALOGUE[key].context, FILE_CONTEXT), sha256=CATALOGUE[key].sha256)


def _at(name: str, api_base: str | None) -> Role:
    """A role with its address; what runs in this process has none."""
    return Role(name, None if name.startswith("embedded/") else api_base)


def _check_embedded(name: str) -> None:
    key = name.removeprefix("embedded/")
    if name.startswith("embedded/") and not key.endswith(".gguf") and key not in CATALOGUE:
        known = f"There are: {', '.join(CATALOGUE)}, or a path to a .gguf file."
        raise InputError("bad_model", None, f"There is no embedded model {key!r}.", hint=known)


def fetch_model(name: str, *, consent: Consent, say: Say, store: ModelStore | None = None, check: bool = False) -> Path:
    """The file of an embedded model, fetched first where it is not in the cache and the person agrees.

    With `check` a file that is there is read and compared with its hash, and fetched again where it is damaged.
    """
    _check_embedded(f"embedded/{name}")
    store, entry = store or ModelStore(), CATALOGUE[name]
    path = store.path_of(name)
    if path is not None:
        return store.fetch(name, progress=say) if check else path
    size = f"{entry.size_bytes / 1e6:.0f} MB"
    terms = f" {entry.terms}" if entry.terms else ""
    if not consent(f"embedded/{name} ({entry.title}, {entry.licence}, {size}) is not in the cache.{terms}"):
        raise Permanent(
            "model_not_fetched",
            f"The embedded model {name} is not in the cache.",
            hint=f"Run `abjudge models fetch {name}`, or add --yes.",
        )
    return store.fetch(name, progress=say)


def full_name(name: str) -> str:
    """The whole model string: a bare `name:tag` is Ollama's, and a bare name gets a hint instead of a guess."""
    if name.endswith("/") or name.startswith("/") or name != name.strip() or not name:
        raise InputError("bad_model", None, f"{name!r} names no model.", hint="Write provider/model, or name:tag.")
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
