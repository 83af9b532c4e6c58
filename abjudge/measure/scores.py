"""How lists of scores are read: refused where they are no scores, counted where only counts matter."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Score = float | None  # 1 the arm under test wins, 0 the other, 1/2 a tie or one order each; None: incomplete
CONSTANT = 1e-12  # a variance up to this is rounding noise of scores that are all equal


@dataclass(frozen=True, slots=True)
class Tally:
    """Distinct scores, ascending, and how often each occurs; None entries are left out and counted in `missing`.

    Sums over a tally do not depend on the order of the rows, to the last bit.
    """

    values: Floats
    counts: Floats
    missing: int

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        return float(self.values @ self.counts) / self.n

    @property
    def variance(self) -> float:
        """Unbiased (ddof 1); asks for two scores or more."""
        return float((self.values - self.mean) ** 2 @ self.counts) / (self.n - 1)

    def count(self, where: npt.NDArray[np.bool_]) -> int:
        return int(self.counts[where].sum())


def tally(scores: Sequence[Score], *, name: str = "prompt_scores") -> Tally:
    """Count the scores. ValueError where one is not a number in [0, 1] or None."""
    known = [score for score in scores if score is not None]
    values, counts = np.unique(unit_interval(known, name=name), return_counts=True)
    return Tally(values=values, counts=counts.astype(np.float64), missing=len(scores) - len(known))


def tally_of(values: Floats, *, missing: int = 0) -> Tally:
    """Count numbers that are known to be scores."""
    distinct, counts = np.unique(values, return_counts=True)
    return Tally(values=distinct, counts=counts.astype(np.float64), missing=missing)


def unit_interval(values: Sequence[Any], *, name: str) -> Floats:
    """The values as an array; ValueError where one lies outside [0, 1]."""
    array = finite(values, name=name)
    outside = (array < 0) | (array > 1)
    if outside.any():
        raise ValueError(f"{name}: a score lies between 0 and 1, got {array[outside][0]:g}")
    return array


def finite(values: Sequence[Any], *, name: str) -> Floats:
    """The values as a flat array; ValueError where one is not a finite number."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected a flat list of numbers") from None
    if array.ndim != 1:
        raise ValueError(f"{name}: expected a flat list of numbers")
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: NaN and infinity are no numbers here; write None for what is missing")
    return array


def with_gaps(values: Sequence[Score], *, name: str) -> Floats:
    """Scores with NaN in place of None, positions kept: for lists that are read side by side."""
    gaps = np.fromiter((value is None for value in values), dtype=np.bool_, count=len(values))
    array = np.full(len(values), np.nan)
    array[~gaps] = unit_interval([value for value in values if value is not None], name=name)
    return array


def both_orders(pairs: Sequence[Sequence[Score]], *, name: str) -> Floats:
    """Pairs (scaffold shown first, scaffold shown second) as an n x 2 array, NaN where an order is missing."""
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"{name}: each entry is a pair [score with the scaffold first, score with it second]")
    first = with_gaps([pair[0] for pair in pairs], name=name)
    second = with_gaps([pair[1] for pair in pairs], name=name)
    return np.column_stack((first, second))


def same_length(one: Sequence[Any], other: Sequence[Any], *, names: str) -> None:
    if len(one) != len(other):
        raise ValueError(f"{names}: expected lists of one length, got {len(one)} and {len(other)}")


def level(value: float, *, name: str) -> float:
    """A confidence, a rate or an error level strictly between 0 and 1."""
    if not 0 < value < 1:
        raise ValueError(f"{name}: expected a number between 0 and 1, both excluded, got {value!r}")
    return float(value)


def share(value: float, *, name: str) -> float:
    """A probability, 0 and 1 included."""
    if not 0 <= value <= 1:
        raise ValueError(f"{name}: expected a number from 0 to 1, got {value!r}")
    return float(value)


def whole(value: int, *, name: str, least: int = 0) -> int:
    """A count; ValueError where it is no whole number or below `least`."""
    if isinstance(value, bool) or int(value) != value or value < least:
        raise ValueError(f"{name}: expected a whole number from {least} on, got {value!r}")
    return int(value)
