"""Evidence that may be looked at after every prompt: a mixture of bets against a win rate, and what it rules out."""

import math
import sys
from collections.abc import Callable, Sequence

import numpy as np

from abjudge.measure.distributions import log_mean_exp
from abjudge.measure.results import Result
from abjudge.measure.scores import Floats, Score, Tally, level, tally

BETS = (np.arange(40) + 0.5) / 40  # the stakes that are mixed; below 1, so no bet can lose everything
WSR = "Waudby-Smith and Ramdas (2024), arXiv:2010.09686"
_EDGE = 1e-9


class Anytime(Result):
    """Evidence against a win rate of 1/2 and the win rates that are not ruled out, both valid at every look.

    `e_up` and `e_down` are the one-sided halves (evidence that the rate is above, below 1/2). e-values that no float
    can hold are shown as the largest float; `log_e` is exact.
    """

    n: int
    estimate: float | None
    e_value: float
    log_e: float
    cs_lo: float
    cs_hi: float
    e_up: float
    e_down: float
    alpha: float
    incomplete: int


def anytime(prompt_scores: Sequence[Score], *, alpha: float = 0.05) -> Anytime:
    """The e-value against W = 1/2 and the confidence sequence at level 1 - alpha, in [0, 1], at any time.

    Reject where `e_value` >= 1 / alpha, whenever you look. The order of the prompts plays no part, incomplete ones
    (None) are left out. After an early stop report the sequence, never the mean: that is high by what made it stop.
    Prompts must have been shuffled beforehand. Waudby-Smith and Ramdas (2024), arXiv:2010.09686.
    """
    level(alpha, name="alpha")
    return anytime_of(tally(prompt_scores), alpha=alpha)


def anytime_of(scores: Tally, *, alpha: float) -> Anytime:
    """`anytime` for scores that are already counted."""
    up, down = log_bets(scores, 0.5)
    log_e = float(np.logaddexp(up, down)) - math.log(2)
    lo, hi = _sequence(scores, alpha=alpha)
    return Anytime(
        n=scores.n,
        estimate=scores.mean if scores.n else None,
        e_value=bounded_exp(log_e),
        log_e=log_e,
        cs_lo=lo,
        cs_hi=hi,
        e_up=bounded_exp(up),
        e_down=bounded_exp(down),
        alpha=alpha,
        incomplete=scores.missing,
        method="mixture betting e-process",
        source=WSR,
    )


def log_bets(scores: Tally, rate: float) -> tuple[float, float]:
    """Logs of the evidence that the win rate is above `rate`, and that it is below; 0, 0 before the first score."""
    # One column a distinct score: prompts enter through their counts only.
    above = np.log1p(np.multiply.outer(BETS, (scores.values - rate) / rate)) @ scores.counts
    below = np.log1p(np.multiply.outer(BETS, (rate - scores.values) / (1 - rate))) @ scores.counts
    return log_mean_exp(above), log_mean_exp(below)


def bounded_exp(log_e: float) -> float:
    return math.exp(log_e) if log_e < math.log(sys.float_info.max) else sys.float_info.max


def _sequence(scores: Tally, *, alpha: float) -> tuple[float, float]:
    """Where the e-value stays below 1 / alpha: an interval, because it is convex in the rate; the mean lies inside."""
    if not scores.n:
        return 0.0, 1.0

    def excess(rate: float) -> float:
        up, down = log_bets(scores, rate)
        return float(np.logaddexp(up, down)) - math.log(2) + math.log(alpha)

    inside = min(max(scores.mean, _EDGE), 1 - _EDGE)
    lo = _crossing(excess, _EDGE, inside) if excess(_EDGE) >= 0 else 0.0
    hi = _crossing(excess, 1 - _EDGE, inside) if excess(1 - _EDGE) >= 0 else 1.0
    return lo, hi


def _crossing(excess: Callable[[float], float], outside: float, inside: float) -> float:
    """Root between a rate that is ruled out and one that is not, to 1e-12.

    Ridders (1979), doi:10.1109/TCS.1979.1084580. Each look costs a pass over all distinct
    scores; bisection would need four times as many.
    """
    at_outside, at_inside = excess(outside), excess(inside)
    root = math.inf
    for _ in range(100):
        middle = (outside + inside) / 2
        at_middle = excess(middle)
        bend = math.sqrt(at_middle * at_middle - at_outside * at_inside)
        last, root = root, middle + (middle - outside) * at_middle / bend
        at_root = excess(root)
        if at_root == 0 or abs(root - last) < 1e-12:
            return root
        ends = sorted([(outside, at_outside), (middle, at_middle), (root, at_root), (inside, at_inside)])
        if outside > inside:
            ends.reverse()
        # The first end that is no longer ruled out, and the one before it.
        turn = next(place for place, (_, height) in enumerate(ends) if height < 0)
        (outside, at_outside), (inside, at_inside) = ends[turn - 1], ends[turn]
    return root


def running_log_bets(scores: Floats, rate: float) -> tuple[Floats, Floats]:
    """`log_bets` after each prompt, for all prompts at once."""
    gain, loss = (scores - rate) / rate, (rate - scores) / (1 - rate)
    above = np.full(scores.size, -np.inf)
    below = above.copy()
    for stake in BETS:  # one stake at a time: a table of 40 stakes x 100,000 prompts would be slower
        np.logaddexp(above, np.cumsum(np.log1p(stake * gain)), out=above)
        np.logaddexp(below, np.cumsum(np.log1p(stake * loss)), out=below)
    return above - math.log(BETS.size), below - math.log(BETS.size)
