"""The win rate of a scaffold: from calls to prompts, from prompts to an interval and its test."""

import math
from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from abjudge.measure.distributions import (
    binomial_at_most,
    clopper_pearson_high,
    clopper_pearson_low,
    normal_cdf,
    normal_quantile,
    t_quantile,
    t_two_sided,
)
from abjudge.measure.results import Interval, Result
from abjudge.measure.scores import CONSTANT, Score, Tally, level, same_length, tally, tally_of, unit_interval, whole

WN_T = "Wilson interval with effective n and Student quantile"
SOURCE = "Wilson (1927), doi:10.1080/01621459.1927.10502953; effective n: Korn and Graubard (1998)"
LARGEST_LATTICE = 400_000  # steps of a sign-flip sum that are still counted
LARGEST_LISTED = 20  # scores off any lattice whose sign vectors are still listed one by one


class PromptScore(Result):
    """`score` in [0, 1], or None where an order holds no readable call."""

    score: float | None


class WinRate(Interval):
    """A win rate with the p-value that belongs to its interval."""

    n_eff: float
    p_value: float
    wins: int
    ties: int
    losses: int
    incomplete: int

    @property
    def net(self) -> float | None:
        """Wins minus losses as a share, in [-1, 1]: 2 W - 1."""
        return None if self.estimate is None else 2 * self.estimate - 1


class ClusteredError(Result):
    mean: float | None
    se: float | None
    n: int


class BinomialIntervals(Result):
    """Each interval is (low, high)."""

    wilson: tuple[float, float]
    clopper_pearson: tuple[float, float]
    k: int
    n: int
    conf: float


class PairedTests(Result):
    wins: int
    losses: int
    ties: int
    p_value: float
    signflip_p: float
    signflip_method: Literal["exact", "normal"]


def prompt_score(first: Sequence[Score], second: Sequence[Score]) -> PromptScore:
    """The score of one prompt: mean over the two orders of the mean over repetitions within each.

    `first` holds the calls that showed the scaffolded response first. None marks a call that failed; it is left out.
    Not the mean of all calls: an order with more readable repetitions would weigh more and let its slot bias through.
    """
    orders = [
        unit_interval([call for call in order if call is not None], name=name)
        for name, order in (("first", first), ("second", second))
    ]
    complete = all(order.size for order in orders)
    score = sum(math.fsum(order) / order.size for order in orders) / 2 if complete else None
    return PromptScore(score=score, method="mean over orders of the mean over repetitions", source="definition")


def win_rate_ci(prompt_scores: Sequence[Score], *, conf: float = 0.95) -> WinRate:
    """Share of scaffolded wins, a tie as half, in [0, 1], with an interval and the test against 1/2.

    The unit is the prompt: repetitions and both orders of a prompt are one score. None marks an incomplete prompt: left
    out and counted. The p-value is below 1 - conf exactly when the interval excludes 1/2. With one prompt nothing is
    known: [0, 1] and p = 1; with none the estimate is None as well. Wilson (1927) with the effective sample size
    n m (1 - m) / v of Korn and Graubard (1998); the intervals of Miller (2024), arXiv:2411.00640, shrink to nothing
    where all prompts agree.
    """
    return win_rate_of(tally(prompt_scores), conf=level(conf, name="conf"))


def win_rate_of(scores: Tally, *, conf: float) -> WinRate:
    """`win_rate_ci` for scores that are already counted."""
    n = scores.n
    n_eff = effective_n(scores)
    mean = scores.mean if n else None
    lo, hi, p = wilson_t(mean, n_eff=n_eff, df=n - 1, conf=conf)
    return WinRate(
        n=n,
        estimate=mean,
        lo=lo,
        hi=hi,
        conf=conf,
        n_eff=n_eff,
        p_value=p,
        wins=scores.count(scores.values > 0.5),
        ties=scores.count(scores.values == 0.5),
        losses=scores.count(scores.values < 0.5),
        incomplete=scores.missing,
        method=WN_T,
        source=SOURCE,
    )


def effective_n(scores: Tally) -> float:
    """How many clear votes (0 or 1) would give the same error; n itself where all scores are equal."""
    n = scores.n
    if n < 2 or scores.variance <= CONSTANT:
        return float(n)
    return n * scores.mean * (1 - scores.mean) / scores.variance


def wilson_t(mean: float | None, *, n_eff: float, df: float, conf: float) -> tuple[float, float, float]:
    """(low, high, p against 1/2) of a mean in [0, 1]; (0, 1, 1) where no error can be estimated."""
    if mean is None or df < 1:
        return 0.0, 1.0, 1.0
    q2 = t_quantile((1 + conf) / 2, df) ** 2
    centre = (mean + q2 / (2 * n_eff)) / (1 + q2 / n_eff)
    half = math.sqrt(q2 * mean * (1 - mean) / n_eff + (q2 / (2 * n_eff)) ** 2) / (1 + q2 / n_eff)
    p = t_two_sided((mean - 0.5) * math.sqrt(n_eff) / 0.5, df)
    # Rounding may leave the mean itself outside by 1e-17 where it is 0 or 1.
    return max(0.0, min(centre - half, mean)), min(1.0, max(centre + half, mean)), p


def cluster_win_rate(prompt_scores: Sequence[Score], *, clusters: Sequence[Hashable], conf: float = 0.95) -> WinRate:
    """The win rate for *new* clusters (categories, sources): each cluster's mean score is one observation.

    `clusters` names the cluster of each prompt. Clusters weigh the same however many prompts they hold; `n` and the
    shares of wins count clusters. Use it where the claim is about categories that were not in the file.
    """
    same_length(prompt_scores, clusters, names="prompt_scores and clusters")
    members: dict[Hashable, list[float]] = {}
    for score, cluster in zip(prompt_scores, clusters, strict=True):
        if score is not None:
            members.setdefault(cluster, []).append(score)
    means = [math.fsum(unit_interval(scores, name="prompt_scores")) / len(scores) for scores in members.values()]
    result = win_rate_ci(means, conf=conf)
    return result.with_(incomplete=len(set(clusters)) - len(members), method=f"{WN_T}, on cluster means")


def clustered_se(calls_per_prompt: Sequence[Sequence[Score]]) -> ClusteredError:
    """Mean and standard error with the prompt as cluster: sd of the prompt means (ddof 1) over the root of n.

    Each entry holds the calls of one prompt, as many for each; failed calls are None and prompts without a call are
    left out. Two prompts are needed for an error. Not used for decisions: it is zero where all prompts agree.
    Miller (2024), arXiv:2411.00640, section 2.2.
    """
    known = [[call for call in calls if call is not None] for calls in calls_per_prompt]
    sizes = np.array([len(calls) for calls in known if calls], dtype=np.int64)
    flat = unit_interval([call for calls in known for call in calls], name="calls_per_prompt")
    sums = np.add.reduceat(flat, np.cumsum(sizes) - sizes) if sizes.size else flat
    counted = tally_of(sums / sizes)
    return ClusteredError(
        mean=counted.mean if counted.n else None,
        se=math.sqrt(counted.variance / counted.n) if counted.n > 1 else None,
        n=counted.n,
        method="clustered standard error",
        source="Miller (2024), arXiv:2411.00640, section 2.2",
    )


def binomial_ci(k: int, n: int, *, conf: float = 0.95) -> BinomialIntervals:
    """Wilson's and Clopper and Pearson's intervals for k of n yes-or-no observations; both [0, 1] at n = 0.

    For things that are counted (leaks, controls, gate items), not for win rates, whose scores have halves.
    Wilson (1927), doi:10.1080/01621459.1927.10502953; Clopper and Pearson (1934), doi:10.1093/biomet/26.4.404.
    """
    n = whole(n, name="n")
    k = whole(k, name="k")
    if k > n:
        raise ValueError(f"k: at most n = {n} can be counted, got {k}")
    tail = (1 - level(conf, name="conf")) / 2
    return BinomialIntervals(
        wilson=_wilson(k, n, normal_quantile(1 - tail)),
        clopper_pearson=(clopper_pearson_low(k, n, tail), clopper_pearson_high(k, n, tail)) if n else (0.0, 1.0),
        k=k,
        n=n,
        conf=conf,
        method="Wilson score interval; Clopper-Pearson exact interval",
        source="Wilson (1927), doi:10.1080/01621459.1927.10502953; Clopper-Pearson (1934), doi:10.1093/biomet/26.4.404",
    )


def _wilson(k: int, n: int, z: float) -> tuple[float, float]:
    if n == 0:
        return 0.0, 1.0
    centre = (k + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * math.sqrt(k * (n - k) / n + z * z / 4)
    return (0.0 if k == 0 else centre - half), (1.0 if k == n else centre + half)


def paired_tests(prompt_scores: Sequence[Score]) -> PairedTests:
    """The robustness line below 30 prompts: exact sign test, and the sign-flip permutation test of the mean.

    Ties (a score of exactly 1/2) and incomplete prompts (None) are left out of the sign test; it equals McNemar's exact
    test on discordant prompts. `signflip_p` is the share of all sign vectors whose sum is at least as far from zero.
    It is exact for up to 20 prompts and wherever scores are multiples of one fraction, as votes are; else the normal
    limit is taken and `signflip_method` says so. Both are valid and conservative. McNemar (1947),
    doi:10.1007/BF02295996; Fisher (1935), The Design of Experiments.
    """
    scores = tally(prompt_scores)
    wins, losses = scores.count(scores.values > 0.5), scores.count(scores.values < 0.5)
    signflip, how = _sign_flip(scores)
    return PairedTests(
        wins=wins,
        losses=losses,
        ties=scores.n - wins - losses,
        p_value=sign_test(wins, losses),
        signflip_p=signflip,
        signflip_method=how,
        method="exact sign test; sign-flip permutation test",
        source="McNemar (1947), doi:10.1007/BF02295996; Fisher (1935), The Design of Experiments",
    )


def sign_test(one: int, other: int) -> float:
    """Exact two-sided p of a split `one` : `other` against half and half; 1 where there is nothing to split."""
    total = one + other
    return min(1.0, 2 * float(binomial_at_most(min(one, other), total, 0.5))) if total else 1.0


def _sign_flip(scores: Tally) -> tuple[float, Literal["exact", "normal"]]:
    gaps, counts = scores.values - 0.5, scores.counts
    for scale in range(1, 121):
        steps = np.round(gaps * scale)
        if np.abs(gaps * scale - steps).max(initial=0) < 1e-7:
            if np.abs(steps) @ counts > LARGEST_LATTICE:
                break
            return _flips_on_lattice(steps.astype(np.int64), counts.astype(np.int64)), "exact"
    each = np.repeat(gaps, counts.astype(np.int64))
    observed = abs(float(each.sum()))
    if each.size <= LARGEST_LISTED:
        sums = np.zeros(1)
        for gap in each:
            sums = np.concatenate((sums - gap, sums + gap))
        return float((np.abs(sums) >= observed - 1e-9).mean()), "exact"
    return min(1.0, 2 * normal_cdf(-observed / math.sqrt(float(each @ each)))), "normal"


def _flips_on_lattice(steps: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]) -> float:
    """P(|sum of +-steps| >= |sum of steps|), from the characteristic function: the product of cosines."""
    reach = int(np.abs(steps) @ counts)
    size = 2 * reach + 1
    # A cosine of a large angle is inexact; a whole turn less is the same angle.
    turns = np.multiply.outer(steps, np.arange(size)) % size
    wave = np.prod(np.cos(2 * np.pi / size * turns) ** counts[:, None], axis=0)
    chances = np.fft.ifft(wave).real
    sums = np.minimum(np.arange(size), size - np.arange(size))
    return min(1.0, max(0.0, float(chances[sums >= abs(int(steps @ counts))].sum())))
