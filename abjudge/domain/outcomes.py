"""The only result: one case, two responses, and what a blind judge made of them."""

from typing import Literal

from abjudge.domain.blinding import Arm, Assignment, Seal
from abjudge.domain.calls import Response
from abjudge.domain.cases import Case
from abjudge.domain.environments import Environment, EvaluatorCard, Subject
from abjudge.domain.fingerprints import fingerprint
from abjudge.domain.leaks import Leak, strip_thinking
from abjudge.domain.status import Status
from abjudge.domain.strict_json import whole_characters
from abjudge.domain.values import Value
from abjudge.domain.verdicts import VerdictReading

Winner = Literal["baseline", "scaffolded", "tie"]
Order = Literal["baseline_first", "scaffolded_first", "both"]


class ScaffoldText(Value):
    """The scaffold as retrieved for one prompt: its name, its words (None for `none`) and their digest."""

    name: str
    text: str | None
    digest: str


class Observation(Value):
    """What one arm said to one case, as seen. `leaks` are traces that may tell the judge which arm it is.

    `response.text` stays as it came; `answer` is what a judge may see of it, without thinking blocks.
    """

    kind: Literal["observation"] = "observation"
    id: str
    case_id: str
    arm: Arm
    scaffold: str | None
    scaffold_digest: str | None = None
    repetition: int
    response: Response
    leaks: tuple[Leak, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def answer(self) -> str:
        return whole_characters(strip_thinking(self.response.text)[0])

    @property
    def usable(self) -> bool:
        return self.response.status is Status.COMPLETED


class Judgment(Value):
    """One reading of one pair in one order. The seal was in the ledger first; nonce and assignment open it.

    `shown` is the fingerprint of what the judge was shown, so that neither response can be changed afterwards.
    """

    kind: Literal["judgment"] = "judgment"
    id: str
    case_id: str
    scaffold: str
    evaluator: str
    repetition: int
    baseline: str
    scaffolded: str
    seal: Seal
    nonce: str
    assignment: Assignment
    shown: str
    response: Response
    reading: VerdictReading
    status: Status
    reason: str | None = None

    @property
    def winner(self) -> Winner | None:
        """The arm behind the winning label; None where there is no verdict."""
        if self.reading.verdict is None or self.status is not Status.COMPLETED:
            return None
        return "tie" if self.reading.verdict == "tie" else self.assignment.arm_of(self.reading.verdict)

    def total_of(self, arm: Arm) -> int | None:
        return self.reading.totals[self.assignment.label_of(arm)] if self.reading.totals else None


class Outcome(Value):
    """The result of one comparison. It is never changed; other conditions make another Outcome.

    `status` is `completed` exactly when there is a `verdict`. A failure has a `reason` and no verdict, and is never a
    tie. `order` is `both` when the pair was judged twice. Totals are means over the judgments that were read.
    """

    kind: Literal["outcome"] = "outcome"
    id: str
    closure: str
    case: Case
    repetition: int
    order: Order
    status: Status
    reason: str | None = None
    message: str | None = None
    verdict: Winner | None = None
    notes: tuple[str, ...] = ()
    totals: dict[Arm, float] | None = None
    criteria: dict[str, dict[Arm, float]] | None = None
    scaffold: ScaffoldText
    observations: dict[Arm, Observation]
    judgments: tuple[Judgment, ...] = ()
    subject: Subject
    evaluator: EvaluatorCard
    environment: Environment


def outcome_id(closure: str, case: Case, repetition: int, order: Order) -> str:
    return fingerprint({"closure": closure, "case": case.digest, "repetition": repetition, "order": order})


def combine(judgments: tuple[Judgment, ...]) -> tuple[Winner | None, tuple[str, ...]]:
    """The verdict of one or two readings of a pair, with notes.

    One reading is its own verdict. Two that agree are theirs. Two that do not agree, a tie and a win included, are a
    tie with the note `position_inconsistent`: a verdict that does not survive the swap is none. Where one of them
    failed there is no verdict at all, because half a swap is not a result.

    ============  ==========  ==========  ======
    first\\second  baseline    scaffolded  tie
    ============  ==========  ==========  ======
    baseline      baseline    tie *       tie *
    scaffolded    tie *       scaffolded  tie *
    tie           tie *       tie *       tie
    ============  ==========  ==========  ======

    (* with the note)
    """
    winners = [judgment.winner for judgment in judgments]
    if not winners or None in winners:
        return None, ()
    if len(set(winners)) == 1:
        return winners[0], ()
    return "tie", ("position_inconsistent",)


def mean_totals(judgments: tuple[Judgment, ...]) -> dict[Arm, float] | None:
    """Mean recounted total of each arm over the judgments that have scores; None where none has."""
    scored = [j for j in judgments if j.reading.totals]
    if not scored:
        return None
    arms: tuple[Arm, Arm] = ("baseline", "scaffolded")
    return {arm: sum(j.total_of(arm) or 0 for j in scored) / len(scored) for arm in arms}


def mean_criteria(judgments: tuple[Judgment, ...]) -> dict[str, dict[Arm, float]] | None:
    """Mean score of each arm for each criterion over the judgments that have scores; None where none has."""
    sheets = [(j, j.reading.scores) for j in judgments if j.reading.scores]
    if not sheets:
        return None
    arms: tuple[Arm, Arm] = ("baseline", "scaffolded")
    return {
        name: {arm: sum(s[j.assignment.label_of(arm)][name] for j, s in sheets) / len(sheets) for arm in arms}
        for name in sheets[0][1]["A"]
    }
