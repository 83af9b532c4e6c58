"""What a pass rate on a few items says: how often a model of a given ability passes, and when a pass is proof."""

import math
from typing import Literal

from abjudge.measure.distributions import binomial_at_least, clopper_pearson_high, clopper_pearson_low
from abjudge.measure.results import Interval, Result
from abjudge.measure.scores import level, share, whole

EXACT = "Clopper and Pearson (1934), doi:10.1093/biomet/26.4.404"
CATEGORIES = 13  # of the battery


class CategoryPass(Result):
    """Chance to pass one category, and all thirteen when each has the same true rate."""

    min_pass: int
    p_pass: float
    p_all_13: float
    n_items: int


class CategoryDecision(Interval):
    """`PASS` where the lower bound is above the threshold, `FAIL` where the upper one is below, else `INCONCLUSIVE`."""

    decision: Literal["PASS", "FAIL", "INCONCLUSIVE"]
    threshold: float


def gate_category_pass(*, n_items: int, true_rate: float, threshold: float = 0.5) -> CategoryPass:
    """The chance that a model right on a share `true_rate` of such items reaches `threshold` on `n_items` of them.

    Items, not repetitions. With an even number and "at least half" a model of one half passes more often than not.
    Exact binomial.
    """
    n = whole(n_items, name="n_items", least=1)
    # 0.7 * 10 is 7.000000000000001 in floats, and 8 of 10 would be asked for.
    least = math.ceil(share(threshold, name="threshold") * n - 1e-9)
    p = float(binomial_at_least(least, n, share(true_rate, name="true_rate")))
    return CategoryPass(
        min_pass=least,
        p_pass=p,
        p_all_13=p**CATEGORIES,
        n_items=n,
        method="exact binomial",
        source="definition",
    )


def category_decision(passed: int, n_items: int, *, threshold: float = 0.5, conf: float = 0.95) -> CategoryDecision:
    """Whether `passed` of `n_items` proves a rate above the threshold: one-sided exact bounds at `conf` on each side.

    At one half that asks for 5 of 5, 9 of 10 or 15 of 20. Clopper and Pearson (1934).
    """
    n, passed = whole(n_items, name="n_items"), whole(passed, name="passed")
    if passed > n:
        raise ValueError(f"passed: at most n_items = {n} can pass, got {passed}")
    share(threshold, name="threshold")
    tail = 1 - level(conf, name="conf")
    lo = clopper_pearson_low(passed, n, tail) if n else 0.0
    hi = clopper_pearson_high(passed, n, tail) if n else 1.0
    return CategoryDecision(
        n=n,
        estimate=passed / n if n else None,
        lo=lo,
        hi=hi,
        conf=2 * conf - 1,
        decision="PASS" if lo > threshold else "FAIL" if hi < threshold else "INCONCLUSIVE",
        threshold=threshold,
        method="one-sided Clopper-Pearson bounds",
        source=EXACT,
    )
