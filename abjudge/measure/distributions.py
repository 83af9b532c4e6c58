"""Quantiles and tails as plain floats; the only module here that knows scipy.

scipy.special serves all of it: importing scipy.stats would cost every command a second.
"""

import numpy as np
import numpy.typing as npt
from scipy import special

from abjudge.measure.scores import Floats


def t_quantile(p: float, df: float) -> float:
    return float(special.stdtrit(df, p))


def t_two_sided(t: float, df: float) -> float:
    """P(|T| >= |t|)."""
    return float(2 * special.stdtr(df, -abs(t)))


def normal_quantile(p: float) -> float:
    return float(special.ndtri(p))


def normal_cdf(z: float) -> float:
    return float(special.ndtr(z))


def binomial_at_most(k: npt.ArrayLike, n: float, p: float) -> Floats:
    """P(X <= k) for X ~ Bin(n, p); whole k from -1 to n."""
    k = np.asarray(k, dtype=np.float64)
    inside = special.betaincc(np.maximum(k, 0) + 1, np.maximum(n - k, 1), p)
    return np.asarray(np.where(k < 0, 0.0, np.where(k >= n, 1.0, inside)), dtype=np.float64)


def binomial_at_least(k: npt.ArrayLike, n: float, p: float) -> Floats:
    """P(X >= k) for X ~ Bin(n, p); whole k from 0 to n + 1. Not 1 - P(X < k): small tails would be rounding noise."""
    k = np.asarray(k, dtype=np.float64)
    inside = special.betainc(np.maximum(k, 1), np.maximum(n - k, 0) + 1, p)
    return np.asarray(np.where(k <= 0, 1.0, np.where(k > n, 0.0, inside)), dtype=np.float64)


def clopper_pearson_low(k: int, n: int, level: float) -> float:
    """The rate at which k or more of n has probability `level`; 0 at k = 0."""
    return float(special.betaincinv(k, n - k + 1, level)) if k > 0 else 0.0


def clopper_pearson_high(k: int, n: int, level: float) -> float:
    """The rate at which k or fewer of n has probability `level`; 1 at k = n."""
    return float(special.betaincinv(k + 1, n - k, 1 - level)) if k < n else 1.0


def noncentral_t_beyond(critical: float, df: float, shift: float) -> float:
    """P(|T| > critical) for a noncentral t with a shift >= 0."""
    if shift - critical > 12:  # the tail outside is below 1e-30, and the series need not converge here
        return 1.0
    # scipy gives NaN in place of probabilities below 1e-17.
    inside, beyond = np.nan_to_num(special.nctdtr(df, shift, [critical, -critical]))
    return float(min(1.0, max(0.0, 1 - inside + beyond)))


def expit(x: float) -> float:
    return float(special.expit(x))


def log_mean_exp(logs: Floats) -> float:
    """log(mean(exp(logs))) without leaving log space."""
    top = float(logs.max())
    return top + float(np.log(np.mean(np.exp(logs - top))))
