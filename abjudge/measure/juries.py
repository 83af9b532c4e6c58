"""Several judges: what each says alone, what they say together, and how many of them are worth counting."""

from collections.abc import Mapping, Sequence

import numpy as np

from abjudge.measure.results import Result
from abjudge.measure.scores import Score, level, same_length, share, tally_of, whole, with_gaps
from abjudge.measure.win_rate import WinRate, win_rate_ci, win_rate_of

NINE = "Nine Judges, Two Effective Votes (2026), arXiv:2605.29800"


class Jury(Result):
    """Win rates of each judge and of all together; `robust` where all judges' rates lie on one side of 1/2.

    `overlap_agreement` is the share of agreeing winners over pairs of judges on prompts that both judged.
    """

    judges: dict[str, WinRate]
    together: WinRate
    lowest: float | None
    highest: float | None
    robust: bool | None
    overlap: int
    overlap_agreement: float | None


class EffectiveJudges(Result):
    n_eff: float
    n: int


def jury(scores_by_judge: Mapping[str, Sequence[Score]], *, conf: float = 0.95) -> Jury:
    """The win rates of several judges over one list of prompts, None where a judge did not judge a prompt in full.

    Serves a rotation (each prompt by one judge) and a panel alike: a prompt's score is the mean over its judges and the
    prompt stays the unit. `robust` is None for fewer than two judges with votes. No weights: they would have to come
    from people's labels.
    """
    level(conf, name="conf")
    judges = list(scores_by_judge)
    if not judges:
        raise ValueError("scores_by_judge: one judge at least")
    for judge in judges[1:]:
        same_length(scores_by_judge[judges[0]], scores_by_judge[judge], names=f"scores of {judges[0]} and {judge}")
    rates = {judge: win_rate_ci(scores, conf=conf) for judge, scores in scores_by_judge.items()}
    table = np.column_stack([with_gaps(scores_by_judge[judge], name=judge) for judge in judges])
    votes = ~np.isnan(table)
    judged = votes.any(axis=1)
    means = np.where(votes, table, 0.0).sum(axis=1)[judged] / votes.sum(axis=1)[judged]
    points = [rate.estimate for rate in rates.values() if rate.estimate is not None]
    same_side = all(point > 0.5 for point in points) or all(point < 0.5 for point in points)
    winners = np.sign(table - 0.5)
    pairs = [(a, b) for a in range(len(judges)) for b in range(a + 1, len(judges))]
    agreeing = sum(int((winners[:, a] == winners[:, b]).sum()) for a, b in pairs)
    compared = sum(int((votes[:, a] & votes[:, b]).sum()) for a, b in pairs)
    return Jury(
        judges=rates,
        together=win_rate_of(tally_of(means, missing=int((~judged).sum())), conf=conf),
        lowest=min(points, default=None),
        highest=max(points, default=None),
        robust=same_side if len(points) > 1 else None,
        overlap=int((votes.sum(axis=1) > 1).sum()),
        overlap_agreement=agreeing / compared if compared else None,
        method="mean over the judges of each prompt",
        source="definition",
    )


def effective_judges(n_judges: int, *, error_correlation: float) -> EffectiveJudges:
    """How many independent judges `n_judges` are worth when their errors correlate: J / (1 + (J - 1) r)."""
    n = whole(n_judges, name="n_judges", least=1)
    shared = share(error_correlation, name="error_correlation")
    return EffectiveJudges(n_eff=n / (1 + (n - 1) * shared), n=n, method="design effect", source=NINE)
