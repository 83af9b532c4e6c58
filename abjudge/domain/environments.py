"""The conditions of a result: who produced, who judged, under which prompts and versions, with which exceptions."""

from typing import Literal

from abjudge.domain.calls import Limits, Sampling
from abjudge.domain.families import Lineage
from abjudge.domain.fingerprints import fingerprint
from abjudge.domain.rubrics import FIVE, Rubric
from abjudge.domain.values import Value


class Subject(Value):
    """The model under test, asked twice: what both arms share, and the two system prompts by digest."""

    model: str
    api_base: str | None = None
    lineage: Lineage | None = None
    sampling: Sampling
    baseline_system: str
    scaffolded_system: str


class EvaluatorCard(Value):
    """Who judges, and by which prompt: what must be the same for two verdicts to be of one kind.

    A `companion` is a judge that itself carries a scaffold; it stands beside the independent one and never for it.
    """

    kind: Literal["model", "human", "companion"]
    model: str
    api_base: str | None = None
    lineage: Lineage | None = None
    sampling: Sampling = Sampling()
    system: str = ""
    scaffold: str | None = None
    rubric: Rubric = FIVE
    schema_digest: str = ""


class Environment(Value):
    """Everything else that a result rests on.

    `conflicts` are exceptions somebody declared (a judge of the same house); `differences` name all in which the two
    arms differ; `caveats` say what such a run cannot show. All three are printed in every report.
    """

    versions: dict[str, str]
    limits: Limits = Limits()
    conflicts: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()


def closure(subject: Subject, scaffold_digest: str, evaluator: EvaluatorCard, environment: Environment) -> str:
    """The fingerprint of all conditions of an Outcome: change one of them and it is another Outcome."""
    return fingerprint(
        {
            "subject": subject,
            "scaffold": scaffold_digest,
            "rubric": evaluator.rubric,
            "schema": evaluator.schema_digest,
            "evaluator": evaluator,
            "environment": environment,
        }
    )
