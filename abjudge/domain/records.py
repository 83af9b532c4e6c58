"""What stands in a ledger, one record a line: each says its kind, and what is long is said once and pointed at.

`observation` and `judgment` are the nouns themselves. An Outcome is written as an `outcome` that points at its
observations, judgments, scaffold (by digest) and conditions (by closure); the latter two have records of their own
before it.
"""

from collections.abc import Mapping
from typing import Literal

from abjudge.domain.blinding import Arm, Seal
from abjudge.domain.cases import Case
from abjudge.domain.environments import Environment, EvaluatorCard, Subject, closure
from abjudge.domain.outcomes import Judgment, Observation, Order, Outcome, ScaffoldText, Winner
from abjudge.domain.status import Status
from abjudge.domain.values import Value


class SealRecord(Value):
    """A commitment, written before the judge is asked."""

    kind: Literal["seal"] = "seal"
    seal: Seal


class ScaffoldRecord(Value):
    """A scaffold's words, written once for each digest."""

    kind: Literal["scaffold"] = "scaffold"
    scaffold: ScaffoldText


class Conditions(Value):
    """All that makes one kind of Outcome; `closure` is the fingerprint of the rest."""

    kind: Literal["conditions"] = "conditions"
    closure: str
    scaffold_digest: str
    subject: Subject
    evaluator: EvaluatorCard
    environment: Environment

    @classmethod
    def of(cls, subject: Subject, digest: str, evaluator: EvaluatorCard, environment: Environment) -> "Conditions":
        return cls(
            closure=closure(subject, digest, evaluator, environment),
            scaffold_digest=digest,
            subject=subject,
            evaluator=evaluator,
            environment=environment,
        )


class OutcomeRecord(Value):
    """An Outcome by its references."""

    kind: Literal["outcome"] = "outcome"
    id: str
    closure: str
    case_id: str
    scaffold: str
    scaffold_digest: str
    evaluator: str
    repetition: int
    order: Order
    status: Status
    reason: str | None = None
    message: str | None = None
    verdict: Winner | None = None
    notes: tuple[str, ...] = ()
    totals: dict[Arm, float] | None = None
    criteria: dict[str, dict[Arm, float]] | None = None
    observations: dict[Arm, str]
    judgments: tuple[str, ...] = ()


Record = SealRecord | ScaffoldRecord | Conditions | Observation | Judgment | OutcomeRecord


def as_record(outcome: Outcome) -> OutcomeRecord:
    return OutcomeRecord(
        id=outcome.id,
        closure=outcome.closure,
        case_id=outcome.case.id,
        scaffold=outcome.scaffold.name,
        scaffold_digest=outcome.scaffold.digest,
        evaluator=outcome.evaluator.model,
        repetition=outcome.repetition,
        order=outcome.order,
        status=outcome.status,
        reason=outcome.reason,
        message=outcome.message,
        verdict=outcome.verdict,
        notes=outcome.notes,
        totals=outcome.totals,
        criteria=outcome.criteria,
        observations={arm: seen.id for arm, seen in outcome.observations.items()},
        judgments=tuple(judgment.id for judgment in outcome.judgments),
    )


def as_outcome(
    record: OutcomeRecord,
    case: Case,
    conditions: Conditions,
    scaffold: ScaffoldText,
    observations: Mapping[str, Observation],
    judgments: Mapping[str, Judgment],
) -> Outcome:
    """The Outcome that the record was made from. KeyError where it points at something that is not there."""
    return Outcome(
        id=record.id,
        closure=record.closure,
        case=case,
        repetition=record.repetition,
        order=record.order,
        status=record.status,
        reason=record.reason,
        message=record.message,
        verdict=record.verdict,
        notes=record.notes,
        totals=record.totals,
        criteria=record.criteria,
        scaffold=scaffold,
        observations={arm: observations[seen] for arm, seen in record.observations.items()},
        judgments=tuple(judgments[seen] for seen in record.judgments),
        subject=conditions.subject,
        evaluator=conditions.evaluator,
        environment=conditions.environment,
    )
