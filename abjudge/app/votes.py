"""Votes that came from elsewhere, as the results of a run: response 2 is the arm under test."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from abjudge.app.scores import Look, Result, Results
from abjudge.domain.cases import Case
from abjudge.domain.outcomes import Winner
from abjudge.domain.status import Status

ARM = "response_2"
HUMAN: dict[str, float | None] = {"1": 0.0, "2": 1.0, "tie": 0.5, "": None}
"""What a person may have said, as response 2's score."""


@dataclass(frozen=True, slots=True)
class Vote:
    """One vote of one judge on one pair in one order. Scores are response 2's: 1 it won, 0 it lost, 1/2 a tie.

    `score` is None for an error, `human` where nobody labelled the pair; lengths are those of responses 1 and 2.
    """

    case_id: str
    judge: str
    repeat: int
    second_first: bool
    score: float | None
    human: float | None
    lengths: tuple[int | None, int | None]


def as_results(votes: Iterable[Vote]) -> tuple[Results, dict[str, Case]]:
    """The votes of each pair, judge and repetition as one result; a pair with an error in it has no verdict."""
    groups: dict[tuple[str, str, int], list[Vote]] = {}
    for vote in votes:
        groups.setdefault((vote.case_id, vote.judge, vote.repeat), []).append(vote)
    swapped = {judge for (_, judge, _), group in groups.items() if len({v.second_first for v in group}) == 2}
    results = Results()
    cases: dict[str, Case] = {}
    for number, ((case_id, judge, repeat), group) in enumerate(groups.items()):
        cases.setdefault(case_id, Case(id=case_id, prompt="(not given)", row=len(cases) + 1))
        results.by_id[str(number)] = _result(str(number), case_id, judge, repeat, group, judge in swapped)
    return results, cases


def as_votes(results: Results, cases: Mapping[str, Case]) -> list[Vote]:
    """The looks of a run whose table had people's labels, as votes."""
    return [
        Vote(r.case_id, r.evaluator, r.repetition, look.scaffolded_first, look.score, human, r.lengths)
        for r in results.of()
        if (human := HUMAN.get(cases[r.case_id].extra.get("human", "").strip().lower())) is not None
        for look in r.looks
    ]


def _result(name: str, case_id: str, judge: str, repeat: int, group: list[Vote], both_orders: bool) -> Result:
    looks = tuple(Look(vote.second_first, vote.score) for vote in group if vote.score is not None)
    whole = len(looks) == len(group) and len({look.scaffolded_first for look in looks}) == (2 if both_orders else 1)
    scores = {look.score for look in looks}
    return Result(
        id=name,
        case_id=case_id,
        scaffold=ARM,
        evaluator=judge,
        repetition=repeat,
        both_orders=both_orders,
        status=Status.COMPLETED if whole else Status.EVALUATOR_ERROR,
        reason=None if whole else "error",
        verdict=_winner(scores) if whole else None,
        totals=None,
        notes=() if len(scores) < 2 else ("position_inconsistent",),
        lengths=group[0].lengths,
        cost_usd=0.0,
        looks=looks,
    )


def _winner(scores: set[float]) -> Winner:
    """The verdict that both orders give; two that differ are a tie."""
    if scores == {1.0}:
        return "scaffolded"
    return "baseline" if scores == {0.0} else "tie"
