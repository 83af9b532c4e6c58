"""What people's labels on some prompts make of the judge's votes on all."""

import math
from collections.abc import Sequence

import numpy as np

from abjudge.measure.distributions import normal_quantile, t_quantile
from abjudge.measure.raters import Agreement, agreement, confusion
from abjudge.measure.results import Interval, Result
from abjudge.measure.scores import Floats, Score, level, same_length, unit_interval, with_gaps
from abjudge.measure.several import PairedDifference, paired_difference
from abjudge.measure.win_rate import WinRate, win_rate_ci

PPI = "Angelopoulos, Duchi and Zrnic (2023), arXiv:2311.01453"
PRINT_FROM = 20  # labels
TRUST_FROM = 30


class HumanWinRate(Interval):
    """The human win rate of all prompts, from labels and votes. `lam` is how far the judge was believed, in [0, 1].

    `judge_only` is the mean vote over all prompts, `human_only` the mean label. `ppi_py_*` is the interval as the
    authors' package prints it (normal quantile, n in place of n - 1): too narrow for few labels, shown to compare.
    `labels_to_halve` is how many labels in all would halve the interval; None: not even all prompts.
    """

    lam: float | None
    se: float | None
    judge_only: float | None
    human_only: float | None
    ppi_py_lo: float | None
    ppi_py_hi: float | None
    n_rest: int
    labels_to_halve: int | None
    printable: bool
    trusted: bool


class NullBaselines(Result):
    """Agreement with people that needs no judge, as shares of labelled calls; None where none could be counted."""

    always_longer: WinRate | None
    always_first: WinRate | None


class Drift(Result):
    """A judge against its own calibration on the pinned anchor set."""

    difference: PairedDifference
    changed: float | None
    then: Agreement | None
    now: Agreement | None
    drifted: bool


def ppi_plus_plus(
    human: Sequence[float],
    judge_on_human_subset: Sequence[float],
    judge_on_rest: Sequence[float],
    *,
    conf: float = 0.95,
) -> HumanWinRate:
    """The win rate that people would have given on all prompts, from labels on some of them and votes on all.

    Scores in [0, 1], the unit is the prompt. The labelled prompts must be a random sample; people must have been blind
    and have seen both orders or a random one. The interval is Student's with n - 2 degrees of freedom and not cut at 0
    and 1; below three labels nothing is known and it is [0, 1]. Print from 20 labels, trust from 30.
    Angelopoulos, Duchi and Zrnic (2023), arXiv:2311.01453.
    """
    level(conf, name="conf")
    same_length(human, judge_on_human_subset, names="human and judge_on_human_subset")
    y = unit_interval(human, name="human")
    f = unit_interval(judge_on_human_subset, name="judge_on_human_subset")
    rest = unit_interval(judge_on_rest, name="judge_on_rest")
    n, votes = y.size, np.concatenate((f, rest))
    lam = _tuned(y, f, rest)
    shift = lam * (f.mean() - rest.mean()) if lam and n else 0.0
    estimate = float(y.mean() - shift) if n else None
    se = _error(y, f, rest, lam=lam, ddof=1) if n > 2 else None
    reach = t_quantile((1 + conf) / 2, n - 2) * se if se is not None else None
    known = estimate is not None and reach is not None
    wald = normal_quantile((1 + conf) / 2) * _error(y, f, rest, lam=lam, ddof=0) if n else None
    return HumanWinRate(
        n=n,
        estimate=estimate,
        lo=estimate - reach if known else 0.0,  # type: ignore[operator]
        hi=estimate + reach if known else 1.0,  # type: ignore[operator]
        conf=conf,
        lam=lam if n else None,
        se=se,
        judge_only=float(votes.mean()) if votes.size else None,
        human_only=float(y.mean()) if n else None,
        ppi_py_lo=None if estimate is None or wald is None else estimate - wald,
        ppi_py_hi=None if estimate is None or wald is None else estimate + wald,
        n_rest=rest.size,
        labels_to_halve=None if se is None else _labels_to_halve(y, f, rest, se=se),
        printable=n >= PRINT_FROM,
        trusted=n >= TRUST_FROM,
        method="PPI++ with tuned lambda, Student quantile",
        source=PPI,
    )


def _tuned(y: Floats, f: Floats, rest: Floats) -> float:
    """The share of the judge's votes that makes the estimate most precise; 0 where they cannot help."""
    if not y.size or not rest.size:
        return 0.0
    spread = float(np.concatenate((f, rest)).var(ddof=1))
    if spread <= 0:
        return 0.0
    covariance = float(((y - y.mean()) * (f - f.mean())).mean())
    return min(1.0, max(0.0, covariance / ((1 + y.size / rest.size) * spread)))


def _error(y: Floats, f: Floats, rest: Floats, *, lam: float, ddof: int) -> float:
    of_labels = float((y - lam * f).var(ddof=ddof)) / y.size
    # A single vote has no spread of its own: take that of all.
    spread = rest if rest.size > 1 else np.concatenate((f, rest))
    of_votes = lam**2 * float(spread.var(ddof=ddof)) / rest.size if lam else 0.0
    return math.sqrt(of_labels + of_votes)


def _labels_to_halve(y: Floats, f: Floats, rest: Floats, *, se: float) -> int | None:
    """Smallest number of labels, taken from the prompts at hand, with half the error; lambda is tuned anew."""
    total = y.size + rest.size
    labels = np.arange(y.size, total + 1, dtype=np.float64)
    spread = float(np.concatenate((f, rest)).var(ddof=1))
    covariance = float(np.cov(y, f, ddof=1)[0, 1])
    open_share = 1 - labels / total  # 1 / (1 + n / N)
    lam = np.clip(covariance / spread * open_share, 0, 1) if spread > 0 else np.zeros_like(labels)
    of_labels = float(y.var(ddof=1)) - 2 * lam * covariance + lam**2 * spread
    error = of_labels / labels + lam**2 * spread / np.maximum(total - labels, 1)
    reached = np.flatnonzero(error <= (se / 2) ** 2 * (1 + 1e-12))
    return int(labels[reached[0]]) if reached.size else None


def null_baselines(
    human_scores: Sequence[Score],
    *,
    length_diff: Sequence[float] | None = None,
    scaffold_first: Sequence[bool] | None = None,
    conf: float = 0.95,
) -> NullBaselines:
    """How often people agree with "the longer one" and with "the first one": what a judge must beat.

    `human_scores` are labels from the scaffold's side (1, 1/2, 0; None unlabelled), `length_diff` is scaffold minus
    baseline, `scaffold_first` says how the pair was shown. A tie on either side counts half.
    """
    human = with_gaps(human_scores, name="human_scores")

    def against(guesses: Floats) -> WinRate:
        kept = ~np.isnan(human)
        return win_rate_ci((1 - np.abs(human - guesses))[kept].tolist(), conf=conf)

    longer = first = None
    if length_diff is not None:
        same_length(human_scores, length_diff, names="human_scores and length_diff")
        longer = against((np.sign(np.asarray(length_diff, dtype=np.float64)) + 1) / 2)
    if scaffold_first is not None:
        same_length(human_scores, scaffold_first, names="human_scores and scaffold_first")
        first = against(np.asarray(scaffold_first, dtype=np.float64))
    return NullBaselines(
        always_longer=longer,
        always_first=first,
        method="agreement of a rule with the labels, a tie as half",
        source="definition",
    )


def drift(
    then: Sequence[Score], now: Sequence[Score], *, human: Sequence[Score] | None = None, conf: float = 0.95
) -> Drift:
    """Whether a judge still votes as it did when it was calibrated: scores of the same anchor prompts, then and now.

    `drifted` where the mean score moved (its interval excludes 0), or where the agreement with `human` fell below the
    whole interval it had then. `changed` is the share of prompts whose winner changed: some of it is call noise.
    """
    difference = paired_difference(now, then, conf=conf)
    table = np.array(confusion(then, now))
    before = after = None
    worse = False
    if human is not None:
        before, after = (agreement(confusion(human, scores), conf=conf) for scores in (then, now))
        if before.raw_lo is not None and after.raw is not None:
            worse = after.raw < before.raw_lo
    moved = difference.lo > 0 or difference.hi < 0
    return Drift(
        difference=difference,
        changed=1 - float(np.trace(table)) / float(table.sum()) if table.sum() else None,
        then=before,
        now=after,
        drifted=moved or worse,
        method="paired difference on the anchor set",
        source=difference.source,
    )
