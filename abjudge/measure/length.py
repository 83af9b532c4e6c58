"""What the win rate would be between responses of one length: a line beside the headline, never the headline."""

import math
from collections.abc import Sequence

import numpy as np

from abjudge.measure.distributions import expit, t_quantile
from abjudge.measure.results import Result
from abjudge.measure.scores import Floats, Score, finite, level, same_length, tally_of, with_gaps
from abjudge.measure.win_rate import WinRate, win_rate_of

LC = "Dubois et al. (2024), arXiv:2404.04475, without instruction difficulty"
_SEPARATED = 20.0  # a logit beyond this is a fit that runs away, not a probability


class LengthControlled(Result):
    """The win rate at equal length. All numbers are None where the fit does not exist.

    `refusal` says why the line must not be printed although it can be computed; None: print it.
    """

    n: int
    conf: float
    lc_win_rate: float | None
    lo: float | None
    hi: float | None
    intercept: float | None
    slope: float | None
    se_intercept: float | None
    se_slope: float | None
    standardized_mean_gap: float | None
    refusal: str | None


def length_controlled(
    prompt_scores: Sequence[Score],
    length_diff_scaffold_minus_baseline: Sequence[float],
    *,
    conf: float = 0.95,
) -> LengthControlled:
    """The win rate expected at equal length, in [0, 1]: a logistic line in tanh(difference / sd of differences).

    Any unit of length. Prompts without a score (None) are left out. A sensitivity line: it takes padding out, but where
    the scaffold helps by making the model say more, it takes the help out as well. Errors are HC0 x sqrt(n / (n - 2)),
    the interval is Student's on the logit scale. `refusal` holds where n < 30, where the mean gap exceeds two standard
    deviations (no pairs of equal length: extrapolation), where it exceeds one and n < 200, and where no fit exists.
    Dubois et al. (2024), arXiv:2404.04475, less its term for instruction difficulty.
    """
    level(conf, name="conf")
    scores, diffs = _scored(prompt_scores, length_diff_scaffold_minus_baseline)
    n = scores.size
    spread = float(diffs.std(ddof=1)) if n > 1 else 0.0
    gap = abs(float(diffs.mean())) / spread if spread > 0 else None
    fit = _fit(scores, np.tanh(diffs / spread)) if gap is not None and n > 2 else None
    refusal = _refusal(n, gap, fitted=fit is not None)
    method, source = "logistic regression on tanh of the standardized length difference", LC
    if fit is None:
        return LengthControlled(
            n=n,
            conf=conf,
            lc_win_rate=None,
            lo=None,
            hi=None,
            intercept=None,
            slope=None,
            se_intercept=None,
            se_slope=None,
            standardized_mean_gap=gap,
            refusal=refusal,
            method=method,
            source=source,
        )
    (intercept, slope), (se_intercept, se_slope) = fit
    reach = t_quantile((1 + conf) / 2, n - 2) * se_intercept
    return LengthControlled(
        n=n,
        conf=conf,
        lc_win_rate=expit(intercept),
        lo=expit(intercept - reach),
        hi=expit(intercept + reach),
        intercept=intercept,
        slope=slope,
        se_intercept=se_intercept,
        se_slope=se_slope,
        standardized_mean_gap=gap,
        refusal=refusal,
        method=method,
        source=source,
    )


def _scored(scores: Sequence[Score], diffs: Sequence[float]) -> tuple[Floats, Floats]:
    same_length(scores, diffs, names="prompt_scores and length_diff_scaffold_minus_baseline")
    known = with_gaps(scores, name="prompt_scores")
    kept = ~np.isnan(known)
    measured = finite([diff for diff, keep in zip(diffs, kept, strict=True) if keep], name="length differences")
    return known[kept], measured


def _refusal(n: int, gap: float | None, *, fitted: bool) -> str | None:
    if gap is None and n > 1:
        return "all pairs differ in length by the same amount: nothing to control for"
    if gap is not None and gap > 2:
        return "no pairs of equal length: extrapolation"
    if n < 30:
        return f"30 prompts are needed, {n} are there"
    if gap is not None and gap > 1 and n < 200:
        return f"one arm is mostly longer: 200 prompts are needed, {n} are there"
    return None if fitted else "length or arm alone decides every verdict: no finite fit"


def _fit(y: Floats, x: Floats) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Coefficients and errors of logit E y = a + b x by Newton's method; None where they run off to infinity."""
    design = np.column_stack((np.ones_like(x), x))
    beta = np.zeros(2)
    for _ in range(100):
        mu = 1 / (1 + np.exp(-(design @ beta)))
        information = (design * (mu * (1 - mu))[:, None]).T @ design
        if np.linalg.cond(information) > 1e12:
            return None
        step = np.linalg.solve(information, design.T @ (y - mu))
        beta = beta + step
        if np.abs(design @ beta).max() > _SEPARATED:
            return None
        if np.abs(step).max() < 1e-12:
            break
    bread = np.linalg.inv(information)
    meat = (design * ((y - mu) ** 2)[:, None]).T @ design
    a, b = np.sqrt(np.diag(bread @ meat @ bread)) * math.sqrt(y.size / (y.size - 2))
    return (float(beta[0]), float(beta[1])), (float(a), float(b))


def longer_wins(
    prompt_scores: Sequence[Score],
    length_diff_scaffold_minus_baseline: Sequence[float],
    *,
    conf: float = 0.95,
) -> WinRate:
    """Share of prompts won by the longer response, a tie as half, whichever arm wrote it; equal lengths are left out.

    Descriptive: longer may be longer because it is better. Interval and test as for a win rate; `incomplete` counts the
    prompts left out.
    """
    level(conf, name="conf")
    scores, diffs = _scored(prompt_scores, length_diff_scaffold_minus_baseline)
    differ = diffs != 0
    longer = np.where(diffs > 0, scores, 1 - scores)[differ]
    return win_rate_of(tally_of(longer, missing=len(prompt_scores) - longer.size), conf=conf)
