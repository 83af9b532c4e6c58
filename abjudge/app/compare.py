"""One comparison: scaffold, two responses at once, a sealed order, a blind verdict."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from abjudge.app import retries
from abjudge.app.roles import Producer
from abjudge.domain.blinding import BASELINE_FIRST, Arm, Assignment, draw, seal, show
from abjudge.domain.calls import Response
from abjudge.domain.cases import Case
from abjudge.domain.environments import Environment, EvaluatorCard, Subject, closure
from abjudge.domain.errors import CallError
from abjudge.domain.fingerprints import fingerprint
from abjudge.domain.outcomes import (
    Judgment,
    Observation,
    Order,
    Outcome,
    ScaffoldText,
    as_record,
    combine,
    mean_criteria,
    mean_totals,
    outcome_id,
)
from abjudge.domain.status import Status
from abjudge.domain.verdicts import VerdictReading
from abjudge.ports import Evaluator, Ledger, Model, Scaffold

Say = Callable[[str], None]


@dataclass(frozen=True)
class Judge:
    """A blind evaluator with the card that declares it."""

    evaluator: Evaluator
    card: EvaluatorCard


@dataclass(frozen=True)
class Bench:
    """All of the world that comparisons need, wired and known to answer. Leaving it closes all.

    `nonce` draws a secret for each seal; `say` tells a person what is being done.
    """

    producer: Producer
    subject: Subject
    scaffolds: tuple[Scaffold, ...]
    judges: tuple[Judge, ...]
    models: tuple[Model, ...]
    environment: Environment
    seed: int
    nonce: Callable[[], str]
    both_orders: bool = False
    say: Say = lambda _: None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        closing = [model.close() for model in self.models] + [scaffold.close() for scaffold in self.scaffolds]
        await asyncio.gather(*closing)


async def compare(
    case: Case, bench: Bench, ledger: Ledger, *, repetition: int = 0, index: int = 0
) -> tuple[Outcome, ...]:
    """One Outcome for each scaffold and judge, in that order; the baseline response is shared by all.

    `index` is the case's place in its run: the order of showing is balanced over every four places. A failure is an
    Outcome with its status; nothing is judged without both responses, and none is asked for without its scaffold.
    """
    texts = await asyncio.gather(*(_retrieve(scaffold, case, bench) for scaffold in bench.scaffolds))
    usable = [text for text in texts if isinstance(text, ScaffoldText)]
    pairs = await _produce(case, usable, bench, ledger, repetition) if usable else {}
    trials = [_Trial(case, text, judge, bench, ledger, repetition, index) for text in texts for judge in bench.judges]
    if pairs:
        bench.say("judging blind" + (" in both orders" if bench.both_orders else ""))
    return tuple(await asyncio.gather(*(trial.conduct(pairs) for trial in trials)))


async def _retrieve(scaffold: Scaffold, case: Case, bench: Bench) -> "ScaffoldText | _Missing":
    try:
        text, _ = await retries.call(lambda: scaffold.retrieve(case.prompt), retries=bench.producer.limits.retries)
    except CallError as error:
        return _Missing(name=scaffold.name, error=error)
    return ScaffoldText(name=scaffold.name, text=text, digest=fingerprint(text))


async def _produce(
    case: Case, texts: Sequence[ScaffoldText], bench: Bench, ledger: Ledger, repetition: int
) -> dict[str, dict[Arm, Observation]]:
    """Both responses of each scaffold's pair, all asked for at once and written down as they come."""
    bench.say(f"asking {bench.subject.model} bare and with {', '.join(text.name for text in texts)}")

    async def observe(arm: Arm, text: ScaffoldText | None) -> Observation:
        seen = await bench.producer.respond(case, arm, text, repetition)
        ledger.append(seen.model_dump(mode="json"))
        return seen

    baseline, *scaffolded = await asyncio.gather(
        observe("baseline", None), *(observe("scaffolded", text) for text in texts)
    )
    return {seen.scaffold or "": {"baseline": baseline, "scaffolded": seen} for seen in scaffolded}


@dataclass(frozen=True)
class _Missing:
    """A scaffold that could not be had."""

    name: str
    error: CallError


@dataclass(frozen=True)
class _Trial:
    """One pair before one judge."""

    case: Case
    scaffold: ScaffoldText | _Missing
    judge: Judge
    bench: Bench
    ledger: Ledger
    repetition: int
    index: int

    async def conduct(self, pairs: dict[str, dict[Arm, Observation]]) -> Outcome:
        if isinstance(self.scaffold, _Missing):
            error = self.scaffold.error
            text = ScaffoldText(name=self.scaffold.name, text=None, digest="")
            return self._close(text, {}, (), error.status, error.reason, str(error))
        pair = pairs[self.scaffold.name]
        failed = _worst([seen for seen in pair.values() if not seen.usable])
        if failed is not None:
            seen = failed.response
            return self._close(self.scaffold, pair, (), seen.status, seen.reason, f"{failed.arm}: {seen.message or ''}")
        first = draw(self.bench.seed, f"{self.scaffold.name}|{self.judge.evaluator.name}", self.index)
        looks = (first, first.mirrored) if self.bench.both_orders else (first,)
        judgments = tuple(await asyncio.gather(*(self._look(pair, look, n) for n, look in enumerate(looks, start=1))))
        broken = next((j for j in judgments if j.winner is None), None)
        if broken is not None:
            return self._close(self.scaffold, pair, judgments, broken.status, broken.reason, broken.reading.detail)
        return self._close(self.scaffold, pair, judgments, Status.COMPLETED)

    async def _look(self, pair: dict[Arm, Observation], assignment: Assignment, number: int) -> Judgment:
        """One look at the pair. The seal is in the ledger before the judge is asked."""
        name = self.judge.evaluator.name
        # The trial's name must not tell the order: it stands in the open next to the seal.
        trial = fingerprint([self.case.digest, pair["scaffolded"].id, name, self.judge.card, self.repetition, number])
        nonce = self.bench.nonce()
        sealed = seal(trial, assignment, nonce)
        self.ledger.append({"kind": "seal", **sealed.model_dump(mode="json")})
        texts: dict[Arm, str] = {arm: seen.answer for arm, seen in pair.items()}
        shown = show(self.case.prompt, texts, assignment, seed=self.bench.seed, trial=trial)
        try:
            response, reading = await self.judge.evaluator.judge(shown)
        except CallError as error:
            response = Response(status=error.status, reason=error.reason, message=str(error), model=name)
            reading = VerdictReading.error(error.reason, str(error))
        status = Status.COMPLETED
        if reading.verdict is None:
            unreachable = response.status is Status.HARNESS_ERROR
            status = Status.HARNESS_ERROR if unreachable else Status.EVALUATOR_ERROR
        judgment = Judgment(
            id=trial,
            case_id=self.case.id,
            scaffold=pair["scaffolded"].scaffold or "",
            evaluator=name,
            repetition=self.repetition,
            baseline=pair["baseline"].id,
            scaffolded=pair["scaffolded"].id,
            seal=sealed,
            nonce=nonce,
            assignment=assignment,
            response=response,
            reading=reading,
            status=status,
            reason=reading.reason,
        )
        self.ledger.append(judgment.model_dump(mode="json"))
        return judgment

    def _close(
        self,
        scaffold: ScaffoldText,
        pair: dict[Arm, Observation],
        judgments: tuple[Judgment, ...],
        status: Status,
        reason: str | None = None,
        message: str | None = None,
    ) -> Outcome:
        conditions = closure(self.bench.subject, scaffold.digest, self.judge.card, self.bench.environment)
        order = self._order(judgments)
        verdict, notes = combine(judgments)
        notes += tuple(f"{arm}_{flag}" for arm, seen in pair.items() for flag in _flags(seen))
        outcome = Outcome(
            id=outcome_id(conditions, self.case, self.repetition, order),
            closure=conditions,
            case=self.case,
            repetition=self.repetition,
            order=order,
            status=status,
            reason=reason,
            message=message,
            verdict=verdict,
            notes=notes,
            totals=mean_totals(judgments),
            criteria=mean_criteria(judgments),
            scaffold=scaffold,
            observations=pair,
            judgments=judgments,
            subject=self.bench.subject,
            evaluator=self.judge.card,
            environment=self.bench.environment,
        )
        self.ledger.append(as_record(outcome))
        return outcome

    def _order(self, judgments: tuple[Judgment, ...]) -> Order:
        if self.bench.both_orders:
            return "both"
        first = draw(self.bench.seed, f"{self.scaffold.name}|{self.judge.evaluator.name}", self.index)
        return "baseline_first" if first == BASELINE_FIRST else "scaffolded_first"


def _flags(seen: Observation) -> list[str]:
    """What a reader of the verdict must know of a response: cut by the cap, refused, or giving itself away."""
    flags = {"truncated": seen.response.truncated, "refused": seen.response.refused, "leak": bool(seen.leaks)}
    return [flag for flag, raised in flags.items() if raised]


def _worst(failed: Sequence[Observation]) -> Observation | None:
    """The failure that names the pair: our own faults first, for they say least about the subject."""
    ranks = (Status.HARNESS_ERROR, Status.BLOCKED, Status.SUBJECT_ERROR, Status.EVALUATOR_ERROR)
    return min(failed, key=lambda seen: ranks.index(seen.response.status), default=None)
