"""Whether the judge prefers a place to a response, and the win rate where each pair was shown in one order only."""

from collections.abc import Sequence

import numpy as np

from abjudge.measure.results import Interval, Result
from abjudge.measure.scores import CONSTANT, Score, both_orders, level, tally, tally_of
from abjudge.measure.win_rate import SOURCE, WN_T, wilson_t, win_rate_of


class PositionBias(Result):
    """How much the first place is preferred (`first_pref`, 1/2 is none), and how often the order changed the verdict.

    `any_change` is a share of the `n` prompts seen in both orders; `strict_flip` one of the `n_both_decisive` prompts
    without a tie in either order. Both are None where they would be shares of nothing.
    """

    first_pref: float | None
    lo: float
    hi: float
    p_value: float
    any_change: float | None
    n_both_decisive: int
    strict_flip: float | None
    n: int
    incomplete: int
    conf: float


class BalancedWinRate(Interval):
    """A win rate from single orders, and the share of first places preferred (1/2 is no position bias)."""

    first_pref: float | None
    n_eff: float
    p_value: float
    n_first: int
    n_second: int


def position_bias(pairs_scaffold_first_then_second: Sequence[Sequence[Score]], *, conf: float = 0.95) -> PositionBias:
    """Preference for the first place, in [0, 1], tested against 1/2; the unit is the prompt seen in both orders.

    Each pair is (score with the scaffold first, score with it second); a pair with None is left out and counted. The
    effect of the arm cancels. Flips alone are not position bias: the noise of single calls flips 9 to 40 % of the
    decisive verdicts by itself, so the flips are shown and the preference is tested. Wang et al. (2023),
    arXiv:2305.17926, for the bias; wn_t for interval and test.
    """
    level(conf, name="conf")
    orders = both_orders(pairs_scaffold_first_then_second, name="pairs_scaffold_first_then_second")
    seen = orders[~np.isnan(orders).any(axis=1)]
    first, second = seen[:, 0], seen[:, 1]
    preference = win_rate_of(tally_of((first + 1 - second) / 2), conf=conf)
    decisive = (first != 0.5) & (second != 0.5)
    flipped = decisive & ((first > 0.5) != (second > 0.5))
    n, n_decisive = len(seen), int(decisive.sum())
    return PositionBias(
        first_pref=preference.estimate,
        lo=preference.lo,
        hi=preference.hi,
        p_value=preference.p_value,
        any_change=float((first != second).mean()) if n else None,
        n_both_decisive=n_decisive,
        strict_flip=int(flipped.sum()) / n_decisive if n_decisive else None,
        n=n,
        incomplete=len(orders) - n,
        conf=conf,
        method=f"first-place preference, {WN_T}",
        source=f"Wang et al. (2023), arXiv:2305.17926; {SOURCE}",
    )


def balanced_single_order(
    scores_when_scaffold_first: Sequence[Score],
    scores_when_scaffold_second: Sequence[Score],
    *,
    conf: float = 0.95,
) -> BalancedWinRate:
    """The win rate where each prompt was judged once, half of them with the scaffold first; orders weigh the same.

    Two strata, so position bias cancels from the estimate and from its error. None entries are left out. Without a
    prompt in one of the orders the arm cannot be told from the place: no estimate; with a single one in either, no
    error: the interval is [0, 1].
    """
    level(conf, name="conf")
    first = tally(scores_when_scaffold_first, name="scores_when_scaffold_first")
    second = tally(scores_when_scaffold_second, name="scores_when_scaffold_second")
    n = first.n + second.n
    mean = (first.mean + second.mean) / 2 if first.n and second.n else None
    n_eff, df = float(n), 0
    if mean is not None and min(first.n, second.n) > 1:
        df = n - 2
        if max(first.variance, second.variance) > CONSTANT:
            n_eff = mean * (1 - mean) / ((first.variance / first.n + second.variance / second.n) / 4)
    lo, hi, p = wilson_t(mean, n_eff=n_eff, df=df, conf=conf)
    return BalancedWinRate(
        n=n,
        estimate=mean,
        lo=lo,
        hi=hi,
        conf=conf,
        first_pref=None if mean is None else (first.mean + 1 - second.mean) / 2,
        n_eff=n_eff,
        p_value=p,
        n_first=first.n,
        n_second=second.n,
        method=f"stratified by order, {WN_T}",
        source=SOURCE,
    )
