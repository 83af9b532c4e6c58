"""When a run may stop asking: the hybrid rule, futility, and a watch that a running sweep can carry along."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from abjudge.domain.values import Value
from abjudge.measure.anytime_valid import WSR, anytime_of, log_bets, running_log_bets
from abjudge.measure.results import Estimate, Result
from abjudge.measure.scores import Floats, Score, Tally, level, tally, unit_interval, whole
from abjudge.measure.win_rate import win_rate_of

EARLY = 0.01  # error spent on stopping early ...
FINAL = 0.04  # ... and on the ordinary test at the end; together at most 0.05
STOP_AT = 1 / EARLY  # the e-value that ends a run of known length
FUTILE_AT = 20.0  # ... and the one that each half must reach to end it as pointless
HYBRID = "hybrid stop: mixture e-value reaches 100, else the ordinary test at the end with alpha 0.04"


class Hybrid(Value):
    """Either `stop_at` with its 99 % confidence sequence, or the final test with its 96 % interval."""

    stop_at: int | None
    cs_lo: float | None = None
    cs_hi: float | None = None
    final_p: float | None = None
    final_lo96: float | None = None
    final_hi96: float | None = None
    reject: bool = True


class Sequential(Result):
    """After how many prompts each rule would have stopped; None: not within this run."""

    n: int
    stop_e20: int | None
    stop_e100: int | None
    stop_e20_batches_of_10: int | None
    hybrid: Hybrid


class Futility(Result):
    """After how many prompts a difference of `delta` or more is ruled out in both directions; None: never."""

    n: int
    stop_at: int | None
    delta: float
    alpha: float


def sequential(prompt_scores_in_order: Sequence[Score]) -> Sequential:
    """Replay a run prompt by prompt and say where each stopping rule would have ended it.

    Counts are complete prompts in the given order; incomplete ones (None) are left out. `stop_e20` is the open-ended
    rule (alpha .05), also with a look after every tenth prompt only. The hybrid rule takes the list as the whole
    planned run: stop at an e-value of 100, else the ordinary test at the end with alpha .04 (union bound .05). The
    order must be a seeded shuffle: a file sorted by category stops falsely every time. Waudby-Smith and Ramdas (2024),
    arXiv:2010.09686.
    """
    scores = _in_order(prompt_scores_in_order)
    up, down = running_log_bets(scores, 0.5)
    log_e = np.logaddexp(up, down) - math.log(2)
    stop = _first(log_e >= math.log(STOP_AT))
    tenth = _first(log_e[9::10] >= math.log(20))
    return Sequential(
        n=scores.size,
        stop_e20=_first(log_e >= math.log(20)),
        stop_e100=stop,
        stop_e20_batches_of_10=None if tenth is None else 10 * tenth,
        hybrid=_stopped(scores[:stop]) if stop else _finished(scores),
        method=HYBRID,
        source=WSR,
    )


def _stopped(scores: Floats) -> Hybrid:
    sequence = anytime_of(tally(scores.tolist()), alpha=EARLY)
    return Hybrid(stop_at=scores.size, cs_lo=sequence.cs_lo, cs_hi=sequence.cs_hi)


def _finished(scores: Floats) -> Hybrid:
    final = win_rate_of(tally(scores.tolist()), conf=1 - FINAL)
    return Hybrid(
        stop_at=None,
        final_p=final.p_value,
        final_lo96=final.lo,
        final_hi96=final.hi,
        reject=final.p_value <= FINAL,
    )


def futility(prompt_scores_in_order: Sequence[Score], *, delta: float, alpha: float = 0.05) -> Futility:
    """After how many prompts the win rate is shown to lie within 1/2 +- `delta`, looking after every prompt.

    Two one-sided e-processes, each kept at its running maximum: W >= 1/2 + delta and W <= 1/2 - delta must both be
    ruled out at `alpha`. Counts are complete prompts (None is left out). `delta` lies between 0 and 1/2 and must have
    been declared before the run. Schuirmann (1987), doi:10.1007/BF01068419, made anytime-valid.
    """
    if not 0 < delta < 0.5:
        raise ValueError(f"delta: expected a margin between 0 and 0.5, both excluded, got {delta!r}")
    level(alpha, name="alpha")
    scores = _in_order(prompt_scores_in_order)
    not_above = np.maximum.accumulate(running_log_bets(scores, 0.5 + delta)[1])
    not_below = np.maximum.accumulate(running_log_bets(scores, 0.5 - delta)[0])
    return Futility(
        n=scores.size,
        stop_at=_first(np.minimum(not_above, not_below) >= -math.log(alpha)),
        delta=delta,
        alpha=alpha,
        method="two one-sided mixture e-processes",
        source=f"{WSR}; Schuirmann (1987), doi:10.1007/BF01068419",
    )


def _in_order(scores: Sequence[Score]) -> Floats:
    return unit_interval([score for score in scores if score is not None], name="prompt_scores_in_order")


def _first(reached: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> int | None:
    """The prompt count (from 1) of the first true entry."""
    return int(reached.argmax()) + 1 if reached.any() else None


class Watch(Value):
    """What a running sweep knows about stopping. A value: `after` makes the next one, so a resumed run can replay it.

    `planned` prompts at most; `margin` allows to stop because nothing of interest is left to find. Below 50 planned
    prompts a run is never stopped early: it would save nothing and cost a wider interval.
    """

    planned: int
    margin: float | None = None
    counts: tuple[tuple[float, int], ...] = ()
    not_above: float = 0.0
    not_below: float = 0.0

    def after(self, score: float) -> "Watch":
        """The watch after one more complete prompt; feed complete prompts only, in the order of the shuffled plan."""
        (score,) = unit_interval([score], name="score").tolist()
        counted = dict(self.counts)
        counted[score] = counted.get(score, 0) + 1
        later = {"counts": tuple(sorted(counted.items()))}
        if self.margin is None:
            return self.model_copy(update=later)
        scores = _tally(later["counts"])
        return self.model_copy(
            update={
                **later,
                "not_above": max(self.not_above, log_bets(scores, 0.5 + self.margin)[1]),
                "not_below": max(self.not_below, log_bets(scores, 0.5 - self.margin)[0]),
            }
        )

    @property
    def n(self) -> int:
        return sum(count for _, count in self.counts)

    @property
    def state(self) -> Literal["go on", "clear", "futile", "finished"]:
        if self.n >= self.planned:
            return "finished"
        if self.n and self.planned >= 50:
            up, down = log_bets(_tally(self.counts), 0.5)
            if np.logaddexp(up, down) - math.log(2) >= math.log(STOP_AT):
                return "clear"
            if self.margin is not None and min(self.not_above, self.not_below) >= math.log(FUTILE_AT):
                return "futile"
        return "go on"

    @property
    def estimate(self) -> Estimate:
        """What may be reported now: before the end the 99 % confidence sequence, at the end the 96 % interval."""
        scores = _tally(self.counts)
        mean = scores.mean if scores.n else None
        if self.n >= self.planned:
            final = win_rate_of(scores, conf=1 - FINAL)
            low, high, conf = final.lo, final.hi, 1 - FINAL
        else:
            sequence = anytime_of(scores, alpha=EARLY)
            low, high, conf = sequence.cs_lo, sequence.cs_hi, 1 - EARLY
        return Estimate(point=mean, low=low, high=high, n=self.n, conf=conf, method=HYBRID, source=WSR)


def watch(planned: int, *, margin: float | None = None) -> Watch:
    """Start watching a run of `planned` prompts; `margin` (0 to 1/2) is the difference that would be of interest."""
    if margin is not None and not 0 < margin < 0.5:
        raise ValueError(f"margin: expected a number between 0 and 0.5, both excluded, got {margin!r}")
    return Watch(planned=whole(planned, name="planned", least=1), margin=margin)


def _tally(counts: tuple[tuple[float, int], ...]) -> Tally:
    values = np.array([value for value, _ in counts], dtype=np.float64)
    return Tally(values=values, counts=np.array([count for _, count in counts], dtype=np.float64), missing=0)
