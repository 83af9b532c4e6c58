"""What failed calls could hide: bounds over everything they might have said."""

import math
from collections.abc import Sequence

import numpy as np

from abjudge.measure.distributions import normal_cdf, normal_quantile
from abjudge.measure.results import Result
from abjudge.measure.scores import Floats, Score, both_orders, level, tally_of, whole
from abjudge.measure.win_rate import sign_test, win_rate_of

MANSKI = "Manski (2003), Partial Identification; Imbens and Manski (2004), doi:10.1111/j.1468-0262.2004.00555.x"
WARN_ABOVE = 0.05  # share of calls missing


class MissingBounds(Result):
    """Win rate of the complete prompts, and how far the missing calls could move it.

    `cc_*` is the interval of the complete prompts, `manski_*` the range of possible means, `box_*` the worst-case
    interval. `robust` is None where the complete prompts decide nothing anyway. `tipping_point` is the mean score of
    the missing calls at which the decision would be lost, None where there is no such score. `slot_p_value` tests
    whether one order failed more often than the other.
    """

    n_attempted: int
    n_complete: int
    complete_case: float | None
    cc_lo: float
    cc_hi: float
    manski_lo: float
    manski_hi: float
    box_lo: float
    box_hi: float
    imbens_manski_lo: float
    imbens_manski_hi: float
    imbens_manski_c: float | None
    conf: float
    missing_first: int
    missing_second: int
    missing_share: float
    slot_p_value: float
    warn: bool
    robust: bool | None
    tipping_point: float | None


class FailureShares(Result):
    """How often each arm failed to answer; `p_value` is McNemar's exact one."""

    baseline_share: float
    scaffold_share: float
    p_value: float
    n: int
    warn: bool


def missing_bounds(pairs: Sequence[Sequence[Score]], *, conf: float = 0.95) -> MissingBounds:
    """The complete-case win rate with worst-case bounds; scores in [0, 1], unit prompt, errors never counted as ties.

    Each pair is (score with the scaffold first, score with it second), None for an order without a readable call. The
    bounds fill every missing order with 0, then with 1. The Imbens-Manski interval is narrower than the worst case and
    has normal ends: it is not cut at 0 and 1, and asks for two prompts (else [0, 1] and no c). A failure of the subject
    is not missing: score it as a loss before you come here.
    """
    level(conf, name="conf")
    filled = both_orders(pairs, name="pairs")
    gaps = np.isnan(filled)
    low, high = (np.where(gaps, fill, filled).mean(axis=1) for fill in (0.0, 1.0))
    n, complete = len(filled), ~gaps.any(axis=1)
    case = win_rate_of(tally_of(low[complete]), conf=conf)
    box_lo = win_rate_of(tally_of(low), conf=conf).lo
    box_hi = win_rate_of(tally_of(high), conf=conf).hi
    im_lo, im_hi, c = _imbens_manski(low, high, conf=conf)
    decided = case.lo > 0.5 or case.hi < 0.5
    robust = (box_lo > 0.5 or box_hi < 0.5) if decided else None
    first, second = gaps.sum(axis=0).tolist()
    share = float(gaps.mean()) if n else 0.0
    slot_p = sign_test(int((gaps[:, 0] & ~gaps[:, 1]).sum()), int((gaps[:, 1] & ~gaps[:, 0]).sum()))
    return MissingBounds(
        n_attempted=n,
        n_complete=case.n,
        complete_case=case.estimate,
        cc_lo=case.lo,
        cc_hi=case.hi,
        manski_lo=float(tally_of(low).mean) if n else 0.0,
        manski_hi=float(tally_of(high).mean) if n else 1.0,
        box_lo=box_lo,
        box_hi=box_hi,
        imbens_manski_lo=im_lo,
        imbens_manski_hi=im_hi,
        imbens_manski_c=c,
        conf=conf,
        missing_first=first,
        missing_second=second,
        missing_share=share,
        slot_p_value=slot_p,
        warn=share > WARN_ABOVE or slot_p < 0.05,
        robust=robust,
        tipping_point=_tipping_point(filled, upwards=case.lo > 0.5, conf=conf) if robust is False else None,
        method="complete cases with worst-case bounds",
        source=MANSKI,
    )


def _imbens_manski(low: Floats, high: Floats, *, conf: float) -> tuple[float, float, float | None]:
    if len(low) < 2:
        return 0.0, 1.0, None
    lower, upper = tally_of(low), tally_of(high)
    root = math.sqrt(len(low))
    se_low, se_high = math.sqrt(lower.variance) / root, math.sqrt(upper.variance) / root
    c = _imbens_manski_c(upper.mean - lower.mean, max(se_low, se_high), conf=conf)
    return lower.mean - c * se_low, upper.mean + c * se_high, c


def _imbens_manski_c(width: float, spread: float, *, conf: float) -> float:
    """The c with Phi(c + width / spread) - Phi(-c) = conf; between the one-sided and the two-sided quantile."""
    least, most = normal_quantile(conf), normal_quantile((1 + conf) / 2)
    if spread == 0:
        return least if width > 0 else most
    for _ in range(60):
        c = (least + most) / 2
        if normal_cdf(c + width / spread) - normal_cdf(-c) < conf:
            least = c
        else:
            most = c
    return (least + most) / 2


def _tipping_point(filled: Floats, *, upwards: bool, conf: float) -> float:
    """The fill of the missing orders nearest to the worst at which the interval just lets 1/2 in."""
    gaps = np.isnan(filled)

    def decided(fill: float) -> bool:
        rate = win_rate_of(tally_of(np.where(gaps, fill, filled).mean(axis=1)), conf=conf)
        return rate.lo > 0.5 if upwards else rate.hi < 0.5

    lost, kept = (0.0, 1.0) if upwards else (1.0, 0.0)
    if not decided(kept):
        return kept
    for _ in range(40):
        middle = (lost + kept) / 2
        lost, kept = (lost, middle) if decided(middle) else (middle, kept)
    return (lost + kept) / 2


def failure_shares(*, only_baseline: int, only_scaffold: int, both: int, n: int) -> FailureShares:
    """Whether one arm failed to answer more often, over `n` prompts given to both; counts of prompts, not of calls.

    Warns above 5 % in either arm or where the shares differ: then the complete cases are no fair sample. McNemar
    (1947).
    """
    counts = {"only_baseline": only_baseline, "only_scaffold": only_scaffold, "both": both, "n": n}
    only_baseline, only_scaffold, both, n = (whole(value, name=name) for name, value in counts.items())
    if only_baseline + only_scaffold + both > n:
        raise ValueError("only_baseline + only_scaffold + both: more failures than prompts")
    baseline, scaffold = ((only_baseline + both) / n, (only_scaffold + both) / n) if n else (0.0, 0.0)
    p = sign_test(only_baseline, only_scaffold)
    return FailureShares(
        baseline_share=baseline,
        scaffold_share=scaffold,
        p_value=p,
        n=n,
        warn=max(baseline, scaffold) > WARN_ABOVE or p < 0.05,
        method="McNemar's exact test",
        source="McNemar (1947), doi:10.1007/BF02295996",
    )
