"""Names become objects. The only importer of adapters."""

import platform
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from abjudge.adapters.config_file import Config, read_config
from abjudge.adapters.discovery import Found, discover, lineage_for
from abjudge.adapters.embedded import EmbeddedChat
from abjudge.adapters.human import at_terminal
from abjudge.adapters.ledger import MemoryLedger, RunFolder, chain_faults, read_run, utc_now
from abjudge.adapters.litellm_model import LiteLLMModel
from abjudge.adapters.model_store import CATALOGUE, ModelStore
from abjudge.adapters.prompt_files import read_text, shipped
from abjudge.adapters.scaffolds import parse_scaffold
from abjudge.app import fairness
from abjudge.app.compare import Bench, Judge
from abjudge.app.roles import BlindEvaluator, Producer
from abjudge.app.verify import verify
from abjudge.domain.calls import Limits, Sampling
from abjudge.domain.cases import Case
from abjudge.domain.environments import Environment, EvaluatorCard, Subject
from abjudge.domain.errors import InputError, Permanent
from abjudge.domain.families import Lineage, declared, lineage_of, spoken_names
from abjudge.domain.fingerprints import fingerprint
from abjudge.domain.prompts import BLOCK_BEGIN, BLOCK_END, criteria_lines, fill, split_block, verdict_shape
from abjudge.domain.redaction import redact
from abjudge.domain.rubrics import FIVE
from abjudge.domain.values import Value
from abjudge.domain.verdicts import verdict_schema
from abjudge.ports import Ledger, Model, Scaffold

Say = Callable[[str], None]
Consent = Callable[[str], bool]
Models = dict[tuple[str, str | None], Model]

__all__ = ["CATALOGUE", "Choices", "ModelStore", "discover", "open_ledger", "read_config", "verify_run", "wire"]


class Choices(Value):
    """What a person chose for a comparison. None means: not said, so the config file or a default decides."""

    producer: str | None = None
    judges: tuple[str, ...] = ()
    scaffolds: tuple[str, ...] = ()
    api_base: str | None = None
    judge_api_base: str | None = None
    both_orders: bool | None = None
    seed: int | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    timeout_s: float | None = None
    retries: int | None = None
    allow_same_family: bool | None = None
    producer_family: str | None = None
    judge_family: str | None = None
    producer_system: str | None = None
    scaffolded_system: str | None = None
    judge_system: str | None = None

    def over(self, config: Config) -> "Choices":
        """These choices, with the config file's where nothing was said."""
        table = config.model_dump(exclude={"families", "keys"}, exclude_none=True)
        renamed = {"judge": "judges", "scaffold": "scaffolds", "timeout": "timeout_s"}
        said = {k: v for k, v in dict(self).items() if v not in (None, ())}
        from_file = {
            renamed.get(k, k): (v,) if k in ("judge", "scaffold") and isinstance(v, str) else v
            for k, v in table.items()
        }
        return Choices.model_validate({**from_file, **said})


async def wire(
    choices: Choices,
    *,
    environ: Mapping[str, str],
    config: Config | None = None,
    say: Say = lambda _: None,
    consent: Consent = lambda _: False,
) -> Bench:
    """The bench that these choices describe.

    `say` is told which models are used and why; `consent` is asked before an embedded model is fetched. Raises
    InputError and FairnessError for choices that make no fair comparison, CallError where a model cannot be had.
    """
    config = config or Config()
    chosen = choices.over(config)
    environ = {**config.keys, **environ}
    workshop = _Workshop(environ, config, say, consent)
    producer_name, judge_names = await workshop.cast(chosen)
    limits = Limits(timeout_s=chosen.timeout_s or Limits().timeout_s, retries=chosen.retries or 0)
    scaffolds = _scaffolds(chosen, environ, limits, say)
    seed = secrets.randbelow(2**31) if chosen.seed is None else chosen.seed

    baseline_system, scaffolded_system = _producer_prompts(chosen)
    sampling = Sampling(
        temperature=chosen.temperature, max_tokens=chosen.max_tokens or workshop.answer_cap(producer_name), seed=seed
    )
    producer = Producer(
        model=workshop.model(producer_name, chosen.api_base),
        baseline_system=baseline_system,
        scaffolded_system=scaffolded_system,
        sampling=sampling,
        limits=limits,
        own_names=spoken_names(producer_name),
    )
    subject = Subject(
        model=producer_name,
        api_base=_shown(chosen.api_base),
        lineage=workshop.lineage(producer_name, chosen.producer_family),
        sampling=sampling,
        baseline_system=fingerprint(baseline_system),
        scaffolded_system=fingerprint(scaffolded_system),
    )
    judges = tuple(workshop.judge(name, chosen, limits, seed) for name in judge_names)
    cards = [judge.card for judge in judges]
    conflicts = fairness.conflicts(subject, cards, allow_same_family=bool(chosen.allow_same_family))
    return Bench(
        producer=producer,
        subject=subject,
        scaffolds=scaffolds,
        judges=judges,
        models=tuple(workshop.models.values()),
        environment=Environment(
            versions=_versions([producer_name, *judge_names]),
            limits=limits,
            conflicts=conflicts,
            differences=fairness.differences([s.name for s in scaffolds]),
            caveats=_caveats(cards, bool(chosen.both_orders)),
        ),
        seed=seed,
        nonce=lambda: secrets.token_hex(16),
        both_orders=bool(chosen.both_orders),
        say=say,
    )


def open_ledger(out: Path | None, bench: Bench, cases: Sequence[Case]) -> Ledger:
    """A new run folder with its manifest on the disk; without a folder, a ledger in memory."""
    if out is None:
        return MemoryLedger()
    manifest = {
        "kind": "manifest",
        "version": 1,
        "created": utc_now(),
        "seed": bench.seed,
        "order": "swap" if bench.both_orders else "single",
        "repetitions": 1,
        "cases": [case.model_dump(mode="json") for case in cases],
        "case_digests": [case.digest for case in cases],
        "subject": bench.subject.model_dump(mode="json"),
        "scaffolds": [scaffold.name for scaffold in bench.scaffolds],
        "evaluators": [judge.card.model_dump(mode="json") for judge in bench.judges],
        "environment": bench.environment.model_dump(mode="json"),
    }
    return RunFolder(out, manifest)


def verify_run(folder: Path) -> tuple[str, ...]:
    """Everything that is wrong with the run in `folder`; empty where it is intact."""
    manifest, records = read_run(folder)
    return (*chain_faults(folder), *verify(manifest, records))


class _Workshop:
    """Makes each model once, and remembers what was decided about it."""

    def __init__(self, environ: Mapping[str, str], config: Config, say: Say, consent: Consent) -> None:
        self.environ, self.config, self.say, self.consent = environ, config, say, consent
        self.store = ModelStore()
        self.models: Models = {}

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
        if not name.startswith("embedded/") or name.endswith(".gguf"):
            return
        key = name.removeprefix("embedded/")
        entry = CATALOGUE.get(key)
        if entry is None:
            raise InputError(
                "bad_model",
                None,
                f"There is no embedded model {key!r}.",
                hint=f"There are: {', '.join(CATALOGUE)}, or a path to a .gguf file.",
            )
        if self.store.path_of(key) is not None:
            return
        terms = f" {entry.terms}" if entry.terms else ""
        if not self.consent(
            f"{name} ({entry.title}, {entry.licence}, {entry.size_bytes / 1e6:.0f} MB) is not in the cache.{terms}"
        ):
            raise Permanent(
                "model_not_fetched",
                f"The embedded model {key} is not in the cache.",
                hint=f"Run `abjudge models fetch {key}`, or add --yes.",
            )
        self.store.fetch(key, progress=self.say)

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
            return LiteLLMModel(name, api_base=api_base, environ=self.environ)
        key = name.removeprefix("embedded/")
        if key.endswith(".gguf"):
            return EmbeddedChat(name, Path(key).expanduser())
        path = self.store.path_of(key)
        if path is None:
            raise Permanent("model_not_fetched", f"The embedded model {key} is not in the cache.")
        return EmbeddedChat(name, path)

    def judge(self, name: str, chosen: Choices, limits: Limits, seed: int) -> Judge:
        if name == "human":
            return Judge(at_terminal(), EvaluatorCard(kind="human", model="human"))
        template = _prompt(chosen.judge_system, "blind_evaluator.md", "--judge-system")
        values = {
            "low": str(FIVE.low),
            "high": str(FIVE.high),
            "criteria": criteria_lines(FIVE),
            "shape": verdict_shape(FIVE),
        }
        system = fill(template, values, name=chosen.judge_system or "blind_evaluator.md")
        embedded = name.startswith("embedded/")
        sampling = Sampling(temperature=_judge_temperature(name), max_tokens=768 if embedded else 4096, seed=seed)
        model = self.model(name, chosen.judge_api_base)
        card = EvaluatorCard(
            kind="model",
            model=name,
            api_base=_shown(chosen.judge_api_base),
            lineage=self.lineage(name, chosen.judge_family),
            sampling=sampling,
            system=fingerprint(system),
            schema_digest=fingerprint(verdict_schema(FIVE)),
        )
        return Judge(BlindEvaluator(model, system, sampling, limits), card)


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


def _scaffolds(chosen: Choices, environ: Mapping[str, str], limits: Limits, say: Say) -> tuple[Scaffold, ...]:
    specs = chosen.scaffolds
    if not specs and environ.get("EJENTUM_API_KEY"):
        specs = ("ejentum:reasoning",)
        say("scaffold ejentum:reasoning: EJENTUM_API_KEY is set")
    elif not specs:
        specs = (f"file:{shipped('default_scaffold.md')}",)
        say("scaffold default_scaffold.md: the one that comes with abjudge, since --scaffold names none")
    made = tuple(parse_scaffold(spec, environ=environ, timeout_s=limits.timeout_s) for spec in specs)
    names = [scaffold.name for scaffold in made]
    if len(set(names)) < len(names):
        raise InputError("duplicate_scaffold", None, "The same --scaffold is named twice.")
    return made


def _producer_prompts(chosen: Choices) -> tuple[str, str]:
    """Both system prompts as they are sent. Who replaces only the baseline gets the other by adding the block."""
    baseline = fill(
        _prompt(chosen.producer_system, "baseline_producer.md", "--producer-system"), {}, name="--producer-system"
    )
    scaffolded = fill(
        _prompt(chosen.scaffolded_system, "ejentum_producer.md", "--scaffolded-system"), {}, name="--scaffolded-system"
    )
    if chosen.producer_system and not chosen.scaffolded_system:
        _, block = split_block(scaffolded, name="ejentum_producer.md")
        scaffolded = f"{baseline}{BLOCK_BEGIN}\n{block}{BLOCK_END}\n"
    fairness.check_system_prompts(baseline, scaffolded)
    return baseline, scaffolded.replace(f"{BLOCK_BEGIN}\n", "").replace(f"{BLOCK_END}\n", "")


def _prompt(path: str | None, name: str, option: str) -> str:
    return read_text(Path(path).expanduser() if path else shipped(name), what=option)


def _judge_temperature(name: str) -> float | None:
    """Zero, except where the provider takes no temperature: such models think at their own."""
    stem = name.rpartition("/")[2]
    return None if stem.startswith(("o1", "o3", "o4", "gpt-5")) else 0.0


def _caveats(cards: Sequence[EvaluatorCard], both_orders: bool) -> tuple[str, ...]:
    small = [
        f"the judge {card.model} is a tiny model: it shows that the plumbing works, and nothing about which is better."
        for card in cards
        if card.model.startswith("embedded/")
    ]
    single = (
        [] if both_orders else ["judged in one order only: a liking for a place would not show; see --both-orders."]
    )
    return (*small, *single)


def _versions(models: Sequence[str]) -> dict[str, str]:
    """What the result depends on beyond the models themselves."""
    packages = ["abjudge"]
    if any(name.startswith("embedded/") for name in models):
        packages.append("xllamacpp")
    if any(not name.startswith("embedded/") and name != "human" for name in models):
        packages.append("litellm")
    return {"python": platform.python_version(), "platform": sys.platform, **{p: _version(p) for p in packages}}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _shown(api_base: str | None) -> str | None:
    return redact(api_base, ()) if api_base else None
