"""How well two raters, or several, agree beyond chance."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from abjudge.measure.distributions import t_quantile
from abjudge.measure.results import Estimate, Result
from abjudge.measure.scores import Floats, Score, level, same_length, whole, with_gaps

KAPPA = "Cohen (1960), doi:10.1177/001316446002000104"
AC1 = "Gwet (2008), doi:10.1348/000711006X126600"
ALPHA = "Krippendorff (2011), Computing Krippendorff's alpha-reliability"
FLEISS = "Fleiss (1971), doi:10.1037/h0031619"
JACKKNIFE = "delete-one jackknife, Student quantile"


class Agreement(Result):
    """Agreement of a judge with people. An index that divides by nothing is None, and so is its interval.

    Intervals are not cut at -1 and 1. `confusion` has the human label in the row: loss, tie, win.
    """

    n: int
    conf: float
    raw: float | None
    kappa: float | None
    ac1: float | None
    alpha_nominal: float | None
    raw_jackknife_se: float | None
    raw_lo: float | None
    raw_hi: float | None
    kappa_jackknife_se: float | None
    kappa_lo: float | None
    kappa_hi: float | None
    ac1_jackknife_se: float | None
    ac1_lo: float | None
    ac1_hi: float | None
    alpha_nominal_jackknife_se: float | None
    alpha_nominal_lo: float | None
    alpha_nominal_hi: float | None
    confusion: tuple[tuple[int, ...], ...]


class Panel(Result):
    """Agreement of several raters; None where too few items were rated twice or all ratings are one category."""

    n_items: int
    n_raters: int
    fleiss_kappa: Estimate | None
    krippendorff_alpha: Estimate | None


def agreement(
    confusion_rows_human_cols_judge_order_loss_tie_win: Sequence[Sequence[int]], *, conf: float = 0.95
) -> Agreement:
    """Raw agreement, Cohen's kappa, Gwet's AC1 and Krippendorff's nominal alpha from a table of counts, with intervals.

    Any square table of two categories or more. Show all four: on skewed labels kappa falls although the agreement is
    good. The unit is the prompt, or the call if every call was labelled by itself; intervals come from the delete-one
    jackknife over the units. Below 50 units kappa's interval is wider than anything it could tell apart.
    Cohen (1960); Gwet (2008), doi:10.1348/000711006X126600; Krippendorff (2011).
    """
    level(conf, name="conf")
    rows = confusion_rows_human_cols_judge_order_loss_tie_win
    if len(rows) < 2 or any(len(row) != len(rows) for row in rows):
        raise ValueError("confusion: expected a square table of counts for two categories or more")
    counts = tuple(tuple(whole(cell, name="confusion") for cell in row) for row in rows)
    table = np.array(counts, dtype=np.float64)
    n = int(table.sum())
    points, errors = _indices(table), _jackknife(table)
    reach = t_quantile((1 + conf) / 2, n - 1) if n > 1 else math.nan
    fields: dict[str, float | None] = {}
    for name, point, error in zip(("raw", "kappa", "ac1", "alpha_nominal"), points, errors, strict=True):
        known = math.isfinite(point) and math.isfinite(error)
        fields[name] = point if math.isfinite(point) else None
        fields[f"{name}_jackknife_se"] = error if known else None
        fields[f"{name}_lo"] = point - reach * error if known else None
        fields[f"{name}_hi"] = point + reach * error if known else None
    source = f"{KAPPA}; {AC1}; {ALPHA}"
    return Agreement(n=n, conf=conf, confusion=counts, method=JACKKNIFE, source=source, **fields)


def _indices(table: Floats) -> Floats:
    """raw, kappa, AC1, nominal alpha of a table; NaN where one is 0 / 0."""
    n = table.sum()
    if n == 0:
        return np.full(4, np.nan)
    rows, columns = table.sum(axis=1) / n, table.sum(axis=0) / n
    raw = np.trace(table) / n
    pooled = (rows + columns) / 2
    chance = float(rows @ columns)
    chance_ac1 = float((pooled * (1 - pooled)).sum()) / (len(table) - 1)
    marks = 2 * n * pooled
    disagreement = 1 - float((marks * (marks - 1)).sum()) / (2 * n * (2 * n - 1))
    return np.array(
        [
            raw,
            (raw - chance) / (1 - chance) if chance < 1 else math.nan,
            (raw - chance_ac1) / (1 - chance_ac1),
            1 - (1 - raw) / disagreement if disagreement > 0 else math.nan,
        ]
    )


def _jackknife(table: Floats) -> Floats:
    """Errors of all indices; leaving out any unit of one cell gives the same table, so nine tables serve all n."""
    n = table.sum()
    if n < 2:
        return np.full(4, np.nan)
    weights, leftouts = [], []
    for cell in zip(*np.nonzero(table), strict=True):
        without = table.copy()
        without[cell] -= 1
        weights.append(table[cell])
        leftouts.append(_indices(without))
    return _spread(np.array(leftouts), np.array(weights), n=float(n))


def _spread(leftouts: Floats, weights: Floats, *, n: float) -> Floats:
    mean = weights @ leftouts / n
    return np.sqrt((n - 1) / n * (weights @ (leftouts - mean) ** 2))


def confusion(human_scores: Sequence[Score], judge_scores: Sequence[Score]) -> tuple[tuple[int, ...], ...]:
    """The 3 x 3 table for `agreement` from scores of the same prompts: below 1/2 a loss, 1/2 a tie, above a win.

    Prompts without either score (None) are left out.
    """
    same_length(human_scores, judge_scores, names="human_scores and judge_scores")
    human, judge = with_gaps(human_scores, name="human_scores"), with_gaps(judge_scores, name="judge_scores")
    seen = ~(np.isnan(human) | np.isnan(judge))
    cells = (np.sign(human[seen] - 0.5) + 1) * 3 + np.sign(judge[seen] - 0.5) + 1
    counts = np.bincount(cells.astype(np.int64), minlength=9).reshape(3, 3)
    return tuple(tuple(int(cell) for cell in row) for row in counts)


def panel_agreement(ratings: Sequence[Sequence[str | None]], *, conf: float = 0.95) -> Panel:
    """Fleiss' kappa and Krippendorff's nominal alpha of several raters.

    One row an item, one column a rater, None absent. Items with fewer than two ratings say nothing and are left out;
    both are None for fewer than three items. Fleiss' kappa asks for the same number of ratings on every item that is
    left, else it is None. Intervals: delete-one jackknife over items. Fleiss (1971), doi:10.1037/h0031619; Krippendorff
    (2011).
    """
    level(conf, name="conf")
    if any(len(row) != len(ratings[0]) for row in ratings):
        raise ValueError("ratings: every item has one entry a rater; None where the rater is absent")
    names = sorted({mark for row in ratings for mark in row if mark is not None})
    column = {name: place for place, name in enumerate(names)}
    counts = np.zeros((len(ratings), max(1, len(names))))
    for row, marks in zip(counts, ratings, strict=True):
        for mark in marks:
            if mark is not None:
                row[column[mark]] += 1
    counts = counts[counts.sum(axis=1) > 1]
    even = len(counts) > 0 and bool((counts.sum(axis=1) == counts[0].sum()).all())
    return Panel(
        n_items=len(counts),
        n_raters=len(ratings[0]) if ratings else 0,
        fleiss_kappa=_panel_estimate(counts, _fleiss, conf=conf, source=FLEISS) if even else None,
        krippendorff_alpha=_panel_estimate(counts, _krippendorff, conf=conf, source=ALPHA),
        method=JACKKNIFE,
        source=f"{FLEISS}; {ALPHA}",
    )


def _panel_estimate(counts: Floats, index: Callable[[Floats], Floats], *, conf: float, source: str) -> Estimate | None:
    n = len(counts)
    if n < 3:
        return None
    values = index(counts)
    point, leftouts = float(values[0]), values[1:]
    if not np.isfinite(values).all():
        return None
    error = float(_spread(leftouts[:, None], np.ones(n), n=float(n))[0])
    reach = t_quantile((1 + conf) / 2, n - 1) * error
    return Estimate(point=point, low=point - reach, high=point + reach, n=n, conf=conf, method=JACKKNIFE, source=source)


def _fleiss(counts: Floats) -> Floats:
    """Kappa of all items, then without each item in turn."""
    raters = counts[0].sum()
    agreeing = ((counts**2).sum(axis=1) - raters) / (raters * (raters - 1))
    observed = _leave_one_out(agreeing[:, None])[:, 0] / _leave_one_out(np.ones((len(counts), 1)))[:, 0]
    marks = _leave_one_out(counts)
    chance = ((marks / marks.sum(axis=1, keepdims=True)) ** 2).sum(axis=1)
    return _beyond_chance(1 - observed, 1 - chance)


def _krippendorff(counts: Floats) -> Floats:
    """Alpha of all items, then without each item in turn."""
    sizes = counts.sum(axis=1)
    clashes = (sizes**2 - (counts**2).sum(axis=1)) / np.maximum(sizes - 1, 1)
    marks = _leave_one_out(counts)
    total = marks.sum(axis=1)
    expected = (total**2 - (marks**2).sum(axis=1)) / np.maximum(total - 1, 1)
    return _beyond_chance(_leave_one_out(clashes[:, None])[:, 0], expected)


def _leave_one_out(rows: Floats) -> Floats:
    return np.asarray(rows.sum(axis=0) - np.vstack((np.zeros(rows.shape[1]), rows)))


def _beyond_chance(observed: Floats, expected: Floats) -> Floats:
    """1 - observed / expected disagreement, NaN where none is to be expected."""
    possible = expected > 1e-12
    return np.where(possible, 1 - observed / np.where(possible, expected, 1), np.nan)
