"""The bench of a comparison, from choices to objects."""

import platform
import secrets
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version

from abjudge.adapters.config_file import Config
from abjudge.adapters.human import HumanEvaluator, at_terminal
from abjudge.adapters.prompt_files import local_path, read_text, shipped
from abjudge.adapters.scaffolds import FixedScaffold, GivenResponse, parse_scaffold
from abjudge.app import fairness
from abjudge.app.bench import Bench, Judge
from abjudge.app.roles import BlindEvaluator, GivenAnswers, Producer
from abjudge.domain.blinding import judge_seed
from abjudge.domain.calls import Limits, Sampling
from abjudge.domain.environments import Environment, EvaluatorCard, Subject
from abjudge.domain.errors import InputError
from abjudge.domain.families import spoken_names
from abjudge.domain.fingerprints import fingerprint
from abjudge.domain.prompts import (
    BLOCK_BEGIN,
    BLOCK_END,
    criteria_lines,
    fill,
    split_block,
    verdict_shape,
    without_marks,
)
from abjudge.domain.redaction import redact
from abjudge.domain.rubrics import FIVE
from abjudge.domain.verdicts import verdict_schema
from abjudge.ports import Model, Scaffold
from abjudge.wiring.cast import GIVEN, Consent, Role, Say, Workshop
from abjudge.wiring.choices import Choices


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
    workshop = Workshop(chosen, environ, config, say, consent)
    await workshop.cast()
    limits = Limits(timeout_s=chosen.timeout_s or Limits().timeout_s, retries=chosen.retries or 0)
    scaffolds = _scaffolds(chosen, environ, limits, say)
    seed = secrets.randbelow(2**31) if chosen.seed is None else chosen.seed
    producer_systems, judge_system = _producer_prompts(chosen), _judge_prompt(chosen)
    subject = _subject(workshop, producer_systems, seed)
    cards = [_card(workshop, role, judge_system, seed) for role in workshop.judges]
    person = at_terminal() if any(card.kind == "human" for card in cards) else None
    doubts = () if chosen.given and subject.lineage is None else fairness.doubts(subject, cards)
    allowed = bool(chosen.allow_same_family)
    if not allowed:
        fairness.refuse([doubt for doubt in doubts if doubt.code == "same_family"])

    # A server that is not there is told before a family that is not known: the first is the more common mistake.
    models = await workshop.ready()
    try:
        if not allowed:
            fairness.refuse(doubts)
        producer = (
            GivenAnswers(limits)
            if chosen.given
            else _producer(models[workshop.producer], subject, limits, producer_systems)
        )
        seats = zip(workshop.judges, cards, strict=True)
        judges = tuple(_judge(person, models.get(role), judge_system, card, limits) for role, card in seats)
        judges += _companions(judges, chosen, environ, limits)
    except BaseException:
        await workshop.close()
        raise
    return Bench(
        producer=producer,
        subject=subject,
        scaffolds=scaffolds,
        judges=judges,
        models=tuple(dict.fromkeys(models.values())),
        environment=Environment(
            versions=_versions([role.name for role in (workshop.producer, *workshop.judges)]),
            limits=limits,
            conflicts=fairness.conflicts(doubts),
            differences=() if chosen.given else fairness.differences([scaffold.name for scaffold in scaffolds]),
            caveats=_caveats(subject, cards, bool(chosen.both_orders)),
        ),
        seed=seed,
        nonce=lambda: secrets.token_hex(16),
        both_orders=bool(chosen.both_orders),
        say=say,
    )


def _producer(model: Model, subject: Subject, limits: Limits, systems: tuple[str, str]) -> Producer:
    return Producer(model, *systems, sampling=subject.sampling, limits=limits, own_names=spoken_names(subject.model))


def _judge(
    person: HumanEvaluator | None, model: Model | None, system: str, card: EvaluatorCard, limits: Limits
) -> Judge:
    if model is not None:
        return Judge(BlindEvaluator(model, system, card.sampling, limits), card)
    return Judge(person or at_terminal(), card)


def _companions(
    judges: tuple[Judge, ...], chosen: Choices, environ: Mapping[str, str], limits: Limits
) -> tuple[Judge, ...]:
    """Each model that judges once more, itself under a scaffold."""
    if chosen.companion_judge is None:
        return ()
    scaffold = parse_scaffold(chosen.companion_judge, environ=environ, timeout_s=limits.timeout_s)
    made = [replace(j.evaluator, scaffold=scaffold) for j in judges if isinstance(j.evaluator, BlindEvaluator)]
    cards = [judge.card for judge in judges if judge.card.kind == "model"]
    return tuple(
        Judge(evaluator, card.with_(kind="companion", model=evaluator.name, scaffold=scaffold.name))
        for evaluator, card in zip(made, cards, strict=True)
    )


def _subject(workshop: Workshop, systems: tuple[str, str], seed: int) -> Subject:
    role, chosen = workshop.producer, workshop.chosen
    # The embedded models are slow and their context is short.
    cap = chosen.max_tokens or (256 if role.embedded else 2048)
    return Subject(
        model=role.name,
        api_base=_shown(role.api_base),
        lineage=workshop.lineage(role.name, chosen.producer_family),
        sampling=Sampling(temperature=chosen.temperature, max_tokens=cap, seed=seed),
        baseline_system=fingerprint(systems[0]),
        scaffolded_system=fingerprint(systems[1]),
    )


def _card(workshop: Workshop, role: Role, system: str, seed: int) -> EvaluatorCard:
    if role.name == "human":
        return EvaluatorCard(kind="human", model="human")
    return EvaluatorCard(
        kind="model",
        model=role.name,
        api_base=_shown(role.api_base),
        lineage=workshop.lineage(role.name, workshop.chosen.judge_family),
        sampling=Sampling(
            temperature=_judge_temperature(role), max_tokens=1024 if role.embedded else 4096, seed=judge_seed(seed)
        ),
        system=fingerprint(system),
        schema_digest=fingerprint(verdict_schema(FIVE)),
    )


def _judge_prompt(chosen: Choices) -> str:
    template = _prompt(chosen.judge_system, "blind_evaluator.md", "--judge-system")
    values = {
        "low": str(FIVE.low),
        "high": str(FIVE.high),
        "criteria": criteria_lines(FIVE),
        "shape": verdict_shape(FIVE),
    }
    return fill(template, values, name=chosen.judge_system or "blind_evaluator.md")


def _scaffolds(chosen: Choices, environ: Mapping[str, str], limits: Limits, say: Say) -> tuple[Scaffold, ...]:
    if chosen.given:
        return (GivenResponse(),)
    if chosen.scaffolds:
        specs = chosen.scaffolds
    elif environ.get("EJENTUM_API_KEY"):
        specs = ("ejentum:reasoning",)
        say("scaffold ejentum:reasoning: EJENTUM_API_KEY is set")
    else:
        name = "default_scaffold.md"
        say(f"scaffold {name}: the one that comes with abjudge, since --scaffold names none")
        return (FixedScaffold(name, read_text(shipped(name), what="the default scaffold")),)
    made = tuple(parse_scaffold(spec, environ=environ, timeout_s=limits.timeout_s) for spec in specs)
    if len({scaffold.name for scaffold in made}) < len(made):
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
    return baseline, without_marks(scaffolded)


def _prompt(path: str | None, name: str, option: str) -> str:
    return read_text(local_path(path, what=option) if path else shipped(name), what=option)


def _judge_temperature(role: Role) -> float | None:
    """Zero, except where the provider takes no temperature, and for tiny models, which at zero score all alike."""
    if role.embedded:
        return 0.7
    return None if role.name.rpartition("/")[2].startswith(("o1", "o3", "o4", "gpt-5")) else 0.0


def _caveats(subject: Subject, cards: Sequence[EvaluatorCard], both_orders: bool) -> tuple[str, ...]:
    small = [
        f"the judge {card.model} is a tiny model: it shows that the plumbing works, and nothing about which is better."
        for card in cards
        if card.model.startswith("embedded/")
    ]
    single = (
        [] if both_orders else ["judged in one order only: a liking for a place would not show; see --both-orders."]
    )
    origin = "who wrote the responses is not known, so nobody can say whether the judge is a stranger to them."
    unknown = [origin] if subject.model == GIVEN and subject.lineage is None else []
    return (*small, *single, *unknown)


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
