"""Pairs whose right answer is known: whether a judge passes them, and what that says about it."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from abjudge.measure.distributions import (
    binomial_at_least,
    binomial_at_most,
    clopper_pearson_high,
    clopper_pearson_low,
)
from abjudge.measure.results import Interval, Result
from abjudge.measure.scores import Score, level, share, tally, whole
from abjudge.measure.win_rate import WN_T, win_rate_of

Fitness = Literal["fit", "unfit", "not shown fit", "not checked"]
State = Literal["passed", "failed", "undecided"]
EXACT = "Clopper and Pearson (1934), doi:10.1093/biomet/26.4.404"
BERGER = "Berger (1982), doi:10.1080/00401706.1982.10487790"
ALPHA = 0.05
_UNFIT_DECISIVE = 0.3  # a judge that calls 30 % of identical pairs a win is unfit
_UNFIT_RIGHT = 0.7  # ... and so is one that sees only 70 % of the damage
_ROUNDING = 1e-12


class PositiveThreshold(Result):
    """Pass from `min_correct` on; both None where even n of n would not be enough."""

    min_correct: int | None
    p_pass_unfit: float | None
    n: int
    p_pass_fit: float | None


class IdenticalThreshold(Result):
    """Pass up to `max_decisive`; both None where not even 0 would be enough."""

    max_decisive: int | None
    p_pass_unfit: float | None
    n: int
    p_pass_fit: float | None


class Control(Interval):
    """One control: `passed` (an unfit judge would pass with at most 5 %), `failed` (a one-sided 95 % bound lies on the
    wrong side) or `undecided`. The estimate is a share of calls; for `resample` a win rate, its n prompts."""

    kind: Literal["identical", "degraded", "injection", "resample"]
    state: State
    needed: str


class JudgeFitness(Result):
    """`fit` only where every control passed, `unfit` where one failed."""

    state: Fitness
    reasons: tuple[str, ...]
    controls: tuple[Control, ...]


def positive_control_threshold(
    n: int, *, unfit_rate: float, alpha: float = ALPHA, fit_rate: float | None = None
) -> PositiveThreshold:
    """The smallest number right of `n` that a judge right only at `unfit_rate` reaches with probability <= alpha.

    `fit_rate` adds the probability that a judge of that rate passes. Exact binomial: Clopper and Pearson (1934).
    """
    n, alpha = whole(n, name="n"), level(alpha, name="alpha")
    chances = binomial_at_least(np.arange(n + 1), n, share(unfit_rate, name="unfit_rate"))
    passing = np.flatnonzero(chances <= alpha * (1 + _ROUNDING))
    least = int(passing[0]) if passing.size else None
    fit = None if least is None or fit_rate is None else binomial_at_least(least, n, share(fit_rate, name="fit_rate"))
    return PositiveThreshold(
        min_correct=least,
        p_pass_unfit=None if least is None else float(chances[least]),
        n=n,
        p_pass_fit=None if fit is None else float(fit),
        method="exact binomial",
        source=EXACT,
    )


def identical_control_threshold(
    n: int, *, unfit_decisive_rate: float, alpha: float = ALPHA, fit_rate: float | None = None
) -> IdenticalThreshold:
    """The largest number of decisive calls on `n` identical pairs that an unfit judge stays under with p <= alpha.

    Count calls, not prompts: two opposite verdicts of one prompt are two errors and would look like a tie. `fit_rate`
    adds the probability that a judge of that decisive rate passes. Exact binomial: Clopper and Pearson (1934).
    """
    n, alpha = whole(n, name="n"), level(alpha, name="alpha")
    chances = binomial_at_most(np.arange(n + 1), n, share(unfit_decisive_rate, name="unfit_decisive_rate"))
    passing = np.flatnonzero(chances <= alpha * (1 + _ROUNDING))
    most = int(passing[-1]) if passing.size else None
    fit = None if most is None or fit_rate is None else binomial_at_most(most, n, share(fit_rate, name="fit_rate"))
    return IdenticalThreshold(
        max_decisive=most,
        p_pass_unfit=None if most is None else float(chances[most]),
        n=n,
        p_pass_fit=None if fit is None else float(fit),
        method="exact binomial",
        source=EXACT,
    )


def identical_control(decisive: int, n: int, *, kind: Literal["identical", "injection"] = "identical") -> Control:
    """Calls on identical pairs that named a winner, of `n`; with 24 calls at most 3 pass.

    With `kind="injection"`: pairs that are equal but for an instruction to the judge or a forged verdict in one of
    them, counted where the judge obeyed.
    """
    decisive, n = _of(decisive, n, name="decisive")
    threshold = identical_control_threshold(n, unfit_decisive_rate=_UNFIT_DECISIVE)
    low, high = clopper_pearson_low(decisive, n, ALPHA), clopper_pearson_high(decisive, n, ALPHA)
    most = threshold.max_decisive
    passed = most is not None and decisive <= most
    return Control(
        kind=kind,
        n=n,
        estimate=decisive / n if n else None,
        lo=low if n else 0.0,
        hi=high if n else 1.0,
        conf=0.9,
        state="passed" if passed else "failed" if low > _UNFIT_DECISIVE else "undecided",
        needed=f"at most {most} of {n}" if most is not None else f"{n} calls are too few to pass",
        method="exact binomial",
        source=EXACT,
    )


def degraded_control(right: int, n: int) -> Control:
    """Calls that preferred the sound response to a damaged one, of `n`; with 24 calls at least 21 pass."""
    right, n = _of(right, n, name="right")
    least = positive_control_threshold(n, unfit_rate=_UNFIT_RIGHT).min_correct
    passed = least is not None and right >= least
    low, high = clopper_pearson_low(right, n, ALPHA), clopper_pearson_high(right, n, ALPHA)
    return Control(
        kind="degraded",
        n=n,
        estimate=right / n if n else None,
        lo=low if n else 0.0,
        hi=high if n else 1.0,
        conf=0.9,
        state="passed" if passed else "failed" if high < _UNFIT_RIGHT else "undecided",
        needed=f"at least {least} of {n}" if least is not None else f"{n} calls are too few to pass",
        method="exact binomial",
        source=EXACT,
    )


def resample_control(prompt_scores: Sequence[Score], *, margin: float = 0.15) -> Control:
    """One arm judged against itself, answered twice: the win rate must lie within 1/2 +- `margin` (90 % interval).

    At a margin of .15 it asks for some 64 prompts. Schuirmann (1987), doi:10.1007/BF01068419.
    """
    if not 0 < margin < 0.5:
        raise ValueError(f"margin: expected a number between 0 and 0.5, both excluded, got {margin!r}")
    rate = win_rate_of(tally(prompt_scores), conf=1 - 2 * ALPHA)
    inside = rate.lo >= 0.5 - margin and rate.hi <= 0.5 + margin
    outside = rate.lo > 0.5 + margin or rate.hi < 0.5 - margin
    return Control(
        kind="resample",
        n=rate.n,
        estimate=rate.estimate,
        lo=rate.lo,
        hi=rate.hi,
        conf=rate.conf,
        state="passed" if inside else "failed" if outside else "undecided",
        needed=f"90 % interval within {0.5 - margin:.2f} to {0.5 + margin:.2f}",
        method=f"two one-sided tests, {WN_T}",
        source="Schuirmann (1987), doi:10.1007/BF01068419",
    )


def _of(k: int, n: int, *, name: str) -> tuple[int, int]:
    n, k = whole(n, name="n"), whole(k, name=name)
    if k > n:
        raise ValueError(f"{name}: at most n = {n} can be counted, got {k}")
    return k, n


def judge_fitness(controls: Sequence[Control]) -> JudgeFitness:
    """What all controls say together: `fit` if all passed, `unfit` if one failed, `not shown fit` else.

    No correction for several controls is needed: a judge unfit in one way passes that control with at most 5 %
    (intersection-union, Berger 1982). `fit` asks for identical and degraded pairs at least; a placebo scaffold tests
    the scaffold and not the judge, so it is no part of this.
    """
    reasons = tuple(
        f"{control.kind}: {control.state}, needed {control.needed}"
        + ("" if control.estimate is None else f", got {_got(control)}")
        for control in controls
        if control.state != "passed"
    )
    absent = {"identical", "degraded"} - {control.kind for control in controls}
    state: Fitness
    if not controls:
        state = "not checked"
    elif any(control.state == "failed" for control in controls):
        state = "unfit"
    else:
        state = "not shown fit" if reasons or absent else "fit"
    return JudgeFitness(
        state=state,
        reasons=(*reasons, *(f"{kind}: not run" for kind in sorted(absent) if controls)),
        controls=tuple(controls),
        method="intersection-union of exact controls",
        source=BERGER,
    )


def _got(control: Control) -> str:
    if control.kind == "resample":
        return f"{control.lo:.2f} to {control.hi:.2f}"
    return str(math.floor((control.estimate or 0.0) * control.n + 0.5))
