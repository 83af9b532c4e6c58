"""Several scaffolds at once: corrected p-values, differences on the same prompts, and winners brought back to earth."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from abjudge.measure.results import Interval, Result
from abjudge.measure.scores import Score, level, same_length, share, tally_of, with_gaps
from abjudge.measure.win_rate import SOURCE, WN_T, win_rate_of

HOLM = "Holm (1979), https://www.jstor.org/stable/4615733"
BH = "Benjamini and Hochberg (1995), doi:10.1111/j.2517-6161.1995.tb02031.x"
EB = "Efron and Morris (1973), doi:10.1080/01621459.1973.10481350"


class Multiplicity(Result):
    """Corrected p-values in the order given: `holm` for scaffolds named beforehand, `bh` for exploration."""

    holm: tuple[float, ...]
    bh: tuple[float, ...]


class Shrinkage(Result):
    """Win rates drawn towards their mean; `weight` is the share of their spread that is not noise."""

    shrunk: tuple[float, ...]
    weight: float


class PairedDifference(Interval):
    """Mean difference of two scores on the same prompts, in [-1, 1]."""

    p_value: float
    incomplete: int


class BestOf(Result):
    """The scaffold with the highest win rate, seen and shrunk; `clear` if it beats the second on the same prompts."""

    name: str
    raw: float
    shrunk: float
    second: str
    lead: PairedDifference
    clear: bool
    n: int


def multiplicity(p_values: Sequence[float]) -> Multiplicity:
    """Holm's and Benjamini and Hochberg's corrected p-values, in the order given; reject where <= alpha.

    Holm bounds the chance of any false claim, BH the expected share of false claims. Holm (1979); Benjamini and
    Hochberg (1995), doi:10.1111/j.2517-6161.1995.tb02031.x.
    """
    raw = np.array([share(p, name="p_values") for p in p_values], dtype=np.float64)
    order, count = np.argsort(raw, kind="stable"), raw.size
    ranks = np.arange(count)
    holm, bh = np.empty(count), np.empty(count)
    holm[order] = np.minimum(1, np.maximum.accumulate(raw[order] * (count - ranks)))
    bh[order] = np.minimum(1, np.minimum.accumulate((raw[order] * count / (ranks + 1))[::-1])[::-1])
    return Multiplicity(
        holm=tuple(holm.tolist()),
        bh=tuple(bh.tolist()),
        method="Holm; Benjamini-Hochberg",
        source=f"{HOLM}; {BH}",
    )


def shrinkage(mode_win_rates: Sequence[float], *, noise_variance_of_mode_deviation: float) -> Shrinkage:
    """Win rates of several scaffolds without the winner's luck: empirical Bayes towards their mean.

    `noise_variance_of_mode_deviation` is the sampling variance of one scaffold's deviation from the mean of all
    (`best_of` works it out). A single scaffold stays where it is. Efron and Morris (1973).
    """
    noise = float(noise_variance_of_mode_deviation)
    if not noise >= 0 or math.isinf(noise):
        raise ValueError(f"noise_variance_of_mode_deviation: expected a finite variance, got {noise!r}")
    rates = np.array([share(rate, name="mode_win_rates") for rate in mode_win_rates], dtype=np.float64)
    between = max(float(rates.var(ddof=1)) - noise, 0.0) if rates.size > 1 else 0.0
    weight = between / (between + noise) if between + noise > 0 else 1.0
    middle = float(rates.mean()) if rates.size else 0.0
    return Shrinkage(
        shrunk=tuple((middle + weight * (rates - middle)).tolist()),
        weight=weight,
        method="empirical Bayes",
        source=EB,
    )


def paired_difference(
    scores: Sequence[Score], other_scores: Sequence[Score], *, conf: float = 0.95
) -> PairedDifference:
    """Mean of score minus other score over the prompts that have both, in [-1, 1], tested against 0.

    For scaffold against scaffold on the same prompts, and for a planted trace: the verdicts with it minus those
    without. Subtracting two win rates instead would waste what the prompts share. wn_t on (d + 1) / 2.
    """
    level(conf, name="conf")
    same_length(scores, other_scores, names="scores and other_scores")
    gaps = with_gaps(scores, name="scores") - with_gaps(other_scores, name="other_scores")
    known = gaps[~np.isnan(gaps)]
    rate = win_rate_of(tally_of((known + 1) / 2), conf=conf)
    return PairedDifference(
        n=rate.n,
        estimate=None if rate.estimate is None else 2 * rate.estimate - 1,
        lo=2 * rate.lo - 1,
        hi=2 * rate.hi - 1,
        conf=conf,
        p_value=rate.p_value,
        incomplete=len(gaps) - known.size,
        method=f"paired difference, {WN_T}",
        source=SOURCE,
    )


def best_of(scores_by_mode: Mapping[str, Sequence[Score]], *, conf: float = 0.95) -> BestOf:
    """The best of two scaffolds or more on the same prompts, shrunk, with its lead over the second.

    Only prompts complete for every scaffold count; at least two are needed. The winner's own win rate is too high by
    what made it win: print the shrunk one beside it. The noise is the residual of prompts x scaffolds over n.
    """
    names = list(scores_by_mode)
    if len(names) < 2:
        raise ValueError("scores_by_mode: two scaffolds or more are needed to name the best")
    for name in names[1:]:
        same_length(scores_by_mode[names[0]], scores_by_mode[name], names=f"scores of {names[0]} and {name}")
    table = np.column_stack([with_gaps(scores_by_mode[name], name=name) for name in names])
    table = table[~np.isnan(table).any(axis=1)]
    n, modes = table.shape
    if n < 2:
        raise ValueError("scores_by_mode: two prompts complete for every scaffold are needed")
    means = table.mean(axis=0)
    residual = table - table.mean(axis=1, keepdims=True) - means + table.mean()
    noise = float((residual**2).sum()) / ((n - 1) * (modes - 1)) / n
    shrunk = shrinkage(means.tolist(), noise_variance_of_mode_deviation=noise).shrunk
    first, second = np.argsort(-means, kind="stable")[:2].tolist()
    lead = paired_difference(table[:, first].tolist(), table[:, second].tolist(), conf=conf)
    return BestOf(
        name=names[first],
        raw=float(means[first]),
        shrunk=shrunk[first],
        second=names[second],
        lead=lead,
        clear=lead.lo > 0,
        n=n,
        method="empirical Bayes on the means of shared prompts",
        source=EB,
    )
