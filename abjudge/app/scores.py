"""Outcomes as scores: what each prompt says under each scaffold, whatever the number of judges and repetitions.

Read from the ledger's lines and not from whole Outcomes: a run of ten thousand prompts is summed up without holding its
texts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from abjudge.app.controls import is_control
from abjudge.domain.cases import Case
from abjudge.domain.leaks import strip_thinking
from abjudge.domain.status import Status

Verdict = Literal["baseline", "scaffolded", "tie", "error"]
_SCORES = {"scaffolded": 1.0, "tie": 0.5, "baseline": 0.0}
Line = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Look:
    """One judgment as a score: 1 the scaffolded response won, 0 it lost, 1/2 a tie."""

    scaffolded_first: bool
    score: float


@dataclass(frozen=True, slots=True)
class Result:
    """One Outcome, without its texts. `lengths` are characters of (baseline, scaffolded) as the judge saw them."""

    id: str
    case_id: str
    scaffold: str
    evaluator: str
    repetition: int
    both_orders: bool
    status: str
    reason: str | None
    verdict: str | None
    totals: Mapping[str, float] | None
    notes: tuple[str, ...]
    lengths: tuple[int | None, int | None]
    cost_usd: float | None
    looks: tuple[Look, ...]

    @property
    def is_control(self) -> bool:
        return is_control(self.scaffold)


@dataclass(frozen=True, slots=True)
class Row:
    """One prompt under one scaffold: a trial of the summary, and a line of `results.csv`.

    `first` and `second` are the mean scores with the scaffolded response shown first and second, None where no judgment
    in that order was read; `score` is the mean over the orders that the plan asked for, None where one is missing. The
    verdict of several outcomes (repetitions, a panel) is that of their mean; it needs more than half of them.
    """

    id: str
    row: int
    category: str | None
    scaffold: str
    verdict: Verdict
    status: str
    reason: str | None
    baseline_total: float | None
    scaffolded_total: float | None
    score: float | None
    first: float | None
    second: float | None
    baseline_length: int | None
    scaffolded_length: int | None
    judges: tuple[str, ...]
    outcomes: int
    failed: int
    notes: tuple[str, ...]
    cost_usd: float | None
    results: tuple[Result, ...]


@dataclass
class Results:
    """The results of a run, folded from its ledger's lines in order. Of two of one name the later counts."""

    by_id: dict[str, Result] = field(default_factory=dict)
    companions: set[str] = field(default_factory=set)
    conflicts: set[str] = field(default_factory=set)
    caveats: set[str] = field(default_factory=set)
    calls: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    _answers: dict[str, tuple[int | None, float | None]] = field(default_factory=dict)
    _judgments: dict[str, tuple[Look | None, float | None]] = field(default_factory=dict)

    def take(self, line: Line) -> None:
        match line.get("kind"):
            case "observation":
                self._answers[line["id"]] = _answer(line)
                self._pay(line["response"])
            case "judgment":
                self._judgments[line["id"]] = (_look(line), line["response"]["cost_usd"])
                self._pay(line["response"])
            case "conditions":
                if line["evaluator"]["kind"] == "companion":
                    self.companions.add(line["evaluator"]["model"])
                self.conflicts.update(line["environment"]["conflicts"])
                self.caveats.update(line["environment"]["caveats"])
            case "outcome":
                self.by_id[line["id"]] = self._result(line)

    def _pay(self, response: Line) -> None:
        self.calls += response["attempts"]
        self.cost_usd += response["cost_usd"] or 0.0
        self.unpriced += response["cost_usd"] is None

    def _result(self, line: Line) -> Result:
        nothing: tuple[None, None] = (None, None)
        answers = [self._answers.get(line["observations"].get(arm, ""), nothing) for arm in ("baseline", "scaffolded")]
        judged = [self._judgments.get(name, nothing) for name in line["judgments"]]
        costs = [cost for _, cost in (*answers, *judged)]
        return Result(
            id=line["id"],
            case_id=line["case_id"],
            scaffold=line["scaffold"],
            evaluator=line["evaluator"],
            repetition=line["repetition"],
            both_orders=line["order"] == "both",
            status=line["status"],
            reason=line["reason"],
            verdict=line["verdict"],
            totals=line["totals"],
            notes=tuple(line["notes"]),
            lengths=(answers[0][0], answers[1][0]),
            cost_usd=sum(c for c in costs if c is not None) if costs and None not in costs else None,
            looks=tuple(look for look, _ in judged if look is not None),
        )

    def of(self, *, controls: bool = False, companions: bool = False) -> list[Result]:
        """The results of this kind; without either, those that the win rate is made of."""
        return [
            result
            for result in self.by_id.values()
            if result.is_control is controls and (result.evaluator in self.companions) is companions
        ]


def rows(results: Iterable[Result], cases: Mapping[str, Case]) -> list[Row]:
    """One row for each prompt and scaffold, in the order of the file."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.case_id, result.scaffold), []).append(result)
    made = [_row(group, cases[case_id]) for (case_id, _), group in groups.items()]
    return sorted(made, key=lambda row: (row.row, row.scaffold))


def _row(group: list[Result], case: Case) -> Row:
    done = [result for result in group if result.status == Status.COMPLETED]
    quorum = 2 * len(done) > len(group)
    looks = [look for result in group for look in result.looks]
    by_order = [_mean([look.score for look in looks if look.scaffolded_first is place]) for place in (True, False)]
    asked = by_order if group[0].both_orders else [mean for mean in by_order if mean is not None]
    broken = next((result for result in group if result.status != Status.COMPLETED), group[0])
    costs = [result.cost_usd for result in group]
    return Row(
        id=case.id,
        row=case.row,
        category=case.category,
        scaffold=group[0].scaffold,
        verdict=_verdict(done) if quorum else "error",
        status=Status.COMPLETED if quorum else broken.status,
        reason=None if quorum else broken.reason,
        baseline_total=_mean([result.totals["baseline"] for result in done if result.totals]),
        scaffolded_total=_mean([result.totals["scaffolded"] for result in done if result.totals]),
        score=_mean(asked) if quorum and asked and None not in asked else None,
        first=by_order[0],
        second=by_order[1],
        baseline_length=group[0].lengths[0],
        scaffolded_length=group[0].lengths[1],
        judges=tuple(dict.fromkeys(result.evaluator for result in group)),
        outcomes=len(group),
        failed=len(group) - len(done),
        notes=tuple(dict.fromkeys(note for result in group for note in result.notes)),
        cost_usd=sum(cost for cost in costs if cost is not None) if None not in costs else None,
        results=tuple(group),
    )


def _answer(line: Line) -> tuple[int | None, float | None]:
    response = line["response"]
    usable = response["status"] == Status.COMPLETED
    return len(strip_thinking(response["text"])[0]) if usable else None, response["cost_usd"]


def _look(line: Line) -> Look | None:
    label = line["reading"]["verdict"]
    if label is None or line["status"] != Status.COMPLETED:
        return None
    winner = "tie" if label == "tie" else line["assignment"][label]
    return Look(scaffolded_first=line["assignment"]["A"] == "scaffolded", score=_SCORES[winner])


def _verdict(done: list[Result]) -> Verdict:
    mean = _mean([_SCORES[result.verdict] for result in done if result.verdict])
    if mean is None:
        return "error"
    return "tie" if mean == 0.5 else "scaffolded" if mean > 0.5 else "baseline"


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
