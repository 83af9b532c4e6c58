"""One pair before one judge: the sealed order, the looks, and the Outcome they come to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from abjudge.app.bench import Bench, Judge, all_done
from abjudge.app.known import Known
from abjudge.domain.blinding import BASELINE_FIRST, Arm, Assignment, draw, seal, show
from abjudge.domain.calls import Response
from abjudge.domain.cases import Case
from abjudge.domain.errors import CallError
from abjudge.domain.fingerprints import fingerprint
from abjudge.domain.outcomes import (
    Judgment,
    Observation,
    Order,
    Outcome,
    ScaffoldText,
    combine,
    mean_criteria,
    mean_totals,
    outcome_id,
)
from abjudge.domain.records import SealRecord, as_record
from abjudge.domain.status import Status
from abjudge.domain.verdicts import VerdictReading
from abjudge.ports import Ledger

Pair = Mapping[Arm, Observation]


@dataclass(frozen=True)
class Failure:
    """Why a trial came to nothing before a judge was asked."""

    status: Status
    reason: str | None
    message: str | None


@dataclass(frozen=True)
class Trial:
    """One pair before one judge. `index` is the case's place in its run; repetitions take the places in between."""

    case: Case
    scaffold: ScaffoldText
    judge: Judge
    bench: Bench
    ledger: Ledger
    known: Known
    repetition: int
    index: int

    async def conduct(self, pair: Pair, failure: Failure | None = None) -> Outcome:
        """The Outcome of this pair. Nothing is judged where a response is missing, for whatever reason."""
        failed = _worst([seen for seen in pair.values() if not seen.usable])
        if failure is None and failed is not None:
            seen = failed.response
            failure = Failure(seen.status, seen.reason, f"{failed.arm}: {seen.message or seen.reason or 'no answer'}")
        if failure is not None:
            return self._close(pair, (), failure)
        first = self._drawn()
        looks = (first, first.mirrored) if self.bench.both_orders else (first,)
        judgments = tuple(await all_done(self._look(pair, look, n) for n, look in enumerate(looks, start=1)))
        broken = next((j for j in judgments if j.winner is None), None)
        if broken is None:
            return self._close(pair, judgments, None)
        return self._close(pair, judgments, Failure(broken.status, broken.reason, broken.reading.detail))

    def _drawn(self) -> Assignment:
        stratum = f"{self.scaffold.name}|{self.judge.evaluator.name}|{self.repetition}"
        return draw(self.bench.seed, stratum, self.index)

    async def _look(self, pair: Pair, assignment: Assignment, number: int) -> Judgment:
        """One look at the pair. The seal is in the ledger before the judge is asked."""
        name, card = self.judge.evaluator.name, self.judge.card
        # The trial's name must not tell the order: it stands in the open next to the seal.
        shown_ids = [pair["baseline"].id, pair["scaffolded"].id]
        trial = fingerprint([self.case.digest, *shown_ids, name, card.system, self.repetition, number])
        if trial in self.known.judgments:
            return self.known.judgments[trial]
        nonce = self.bench.nonce()
        sealed = seal(trial, assignment, nonce)
        self.ledger.append(SealRecord(seal=sealed))
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
            scaffold=self.scaffold.name,
            evaluator=name,
            repetition=self.repetition,
            baseline=pair["baseline"].id,
            scaffolded=pair["scaffolded"].id,
            seal=sealed,
            nonce=nonce,
            assignment=assignment,
            shown=fingerprint(shown),
            response=response,
            reading=reading,
            status=status,
            reason=reading.reason,
        )
        self.ledger.append(judgment)
        return judgment

    def _close(self, pair: Pair, judgments: tuple[Judgment, ...], failure: Failure | None) -> Outcome:
        conditions = self.bench.conditions(self.scaffold, self.judge)
        order = self._order()
        verdict, notes = (None, ()) if failure else combine(judgments)
        notes += tuple(f"{arm}_{flag}" for arm, seen in pair.items() for flag in _flags(seen))
        outcome = Outcome(
            id=outcome_id(conditions.closure, self.case, self.repetition, order),
            closure=conditions.closure,
            case=self.case,
            repetition=self.repetition,
            order=order,
            status=failure.status if failure else Status.COMPLETED,
            reason=failure.reason if failure else None,
            message=failure.message if failure else None,
            verdict=verdict,
            notes=notes,
            totals=mean_totals(judgments),
            criteria=mean_criteria(judgments),
            scaffold=self.scaffold,
            observations=dict(pair),
            judgments=judgments,
            subject=self.bench.subject,
            evaluator=self.judge.card,
            environment=conditions.environment,
        )
        self.ledger.append_once(conditions)
        self.ledger.append(as_record(outcome))
        return outcome

    def _order(self) -> Order:
        if self.bench.both_orders:
            return "both"
        return "baseline_first" if self._drawn() == BASELINE_FIRST else "scaffolded_first"


def _flags(seen: Observation) -> list[str]:
    """What a reader of the verdict must know of a response: cut by the cap, refused, or giving itself away."""
    flags = {"truncated": seen.response.truncated, "refused": seen.response.refused, "leak": bool(seen.leaks)}
    return [flag for flag, raised in flags.items() if raised]


def _worst(failed: Sequence[Observation]) -> Observation | None:
    """The failure that names the pair: our own faults first, for they say least about the subject."""
    ranks = (Status.HARNESS_ERROR, Status.BLOCKED, Status.SUBJECT_ERROR, Status.EVALUATOR_ERROR)
    return min(failed, key=lambda seen: ranks.index(seen.response.status), default=None)
