"""Strengths of scaffolds that met each other: Davidson's model with ties, and Bradley and Terry's."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from abjudge.measure.distributions import normal_quantile
from abjudge.measure.results import Result
from abjudge.measure.scores import Floats, whole

DAVIDSON = "Davidson (1970), doi:10.1080/01621459.1970.10481082"
BRADLEY_TERRY = "Bradley and Terry (1952), doi:10.1093/biomet/39.3-4.324"
_RUNAWAY = 25.0  # log strengths further apart mean that the likelihood has no maximum


class Rating(Result):
    """Log strengths relative to the first name (0), so exp(difference) is the odds of a win.

    Davidson's are None where its likelihood has no maximum; `davidson_interval` is (low, high) by Wald, without the
    reference, and treats every count as one independent prompt. `davidson_nu` measures how ready the judge is to tie.
    """

    names: tuple[str, ...]
    davidson_log_strength: dict[str, float] | None
    davidson_nu: float | None
    davidson_interval: dict[str, tuple[float, float]] | None
    bt_half_ties_log_strength: dict[str, float]
    n: int
    conf: float


def rating(counts_winsA_winsB_ties: Mapping[str, Sequence[int]], names: Sequence[str]) -> Rating:
    """Maximum-likelihood strengths from counts of prompts, {"a|b": [a wins, b wins, ties]}.

    Needed only where scaffolds were judged against each other; where each met the baseline alone, this is the logit of
    its win rate. ValueError where the names do not hang together or one never lost or never won (a tie counts as half
    of each): its strength would be infinite. Davidson (1970), doi:10.1080/01621459.1970.10481082; Bradley and Terry
    (1952).
    """
    if len(set(names)) != len(names) or not names:
        raise ValueError("names: expected different names, one at least")
    pairs = _read(counts_winsA_winsB_ties, names)
    _check(pairs, names)
    halved = [(i, j, np.array([wins + ties / 2, losses + ties / 2, 0.0])) for i, j, (wins, losses, ties) in pairs]
    bradley_terry = _fit(halved, len(names), ties=False)
    if bradley_terry is None:
        raise ValueError("counts: strengths this far apart cannot be fitted")
    davidson = _fit(pairs, len(names), ties=any(counts[2] for _, _, counts in pairs))
    strengths, nu, interval = None, None, None
    if davidson is not None:
        theta, log_nu, errors = davidson
        strengths, nu = dict(zip(names, theta, strict=True)), math.exp(log_nu)
        reach = normal_quantile(0.975)
        interval = {
            name: (place - reach * error, place + reach * error)
            for name, place, error in zip(names[1:], theta[1:], errors, strict=True)
        }
    return Rating(
        names=tuple(names),
        davidson_log_strength=strengths,
        davidson_nu=nu,
        davidson_interval=interval,
        bt_half_ties_log_strength=dict(zip(names, bradley_terry[0], strict=True)),
        n=int(sum(counts.sum() for _, _, counts in pairs)),
        conf=0.95,
        method="Davidson; Bradley-Terry with half ties",
        source=f"{DAVIDSON}; {BRADLEY_TERRY}",
    )


Pair = tuple[int, int, Floats]


def _read(counts: Mapping[str, Sequence[int]], names: Sequence[str]) -> list[Pair]:
    places = {f"{a}|{b}": (i, j) for i, a in enumerate(names) for j, b in enumerate(names) if i != j}
    pairs = []
    for key, cells in counts.items():
        if key not in places or len(cells) != 3:
            raise ValueError(f'counts: expected "a|b": [a wins, b wins, ties] with two of the names, got {key!r}')
        numbers = [whole(cell, name=f"counts[{key!r}]") for cell in cells]
        pairs.append((*places[key], np.array(numbers, dtype=np.float64)))
    return pairs


def _check(pairs: Sequence[Pair], names: Sequence[str]) -> None:
    """Refuse where some names never lost a point to the others: the maximum would lie at infinity."""
    beaten_by: list[set[int]] = [set() for _ in names]
    for i, j, (wins, losses, ties) in pairs:
        if losses + ties:
            beaten_by[i].add(j)
        if wins + ties:
            beaten_by[j].add(i)
    for start, name in enumerate(names):
        reached, frontier = {start}, [start]
        while frontier:
            new = beaten_by[frontier.pop()] - reached
            reached |= new
            frontier += new
        if len(reached) < len(names):
            # Whoever is not reached never took a point from these.
            strong = ", ".join(sorted(names[place] for place in reached))
            raise ValueError(f"names: {strong} never lost a point to the rest, or never met it; {name} has no rating")


def _fit(pairs: Sequence[Pair], size: int, *, ties: bool) -> tuple[list[float], float, list[float]] | None:
    """(log strengths, log nu, errors) by Newton's method; the likelihood is concave in these. None: no maximum."""
    free = size - 1 + ties
    beta = np.zeros(free)
    designs = [(_design(i, j, size=size, ties=ties), counts if ties else counts[:2]) for i, j, counts in pairs]

    def expected(at: Floats) -> list[Floats]:
        raw = [np.exp(rows @ at - (rows @ at).max()) for rows, _ in designs]
        return [chances / chances.sum() for chances in raw]

    def likelihood(at: Floats) -> float:
        return sum(float(counts @ np.log(chances)) for (_, counts), chances in zip(designs, expected(at), strict=True))

    for _ in range(200 if free else 0):
        slope, bend = np.zeros(free), np.zeros((free, free))
        for (rows, counts), chances in zip(designs, expected(beta), strict=True):
            slope += rows.T @ (counts - counts.sum() * chances)
            bend += counts.sum() * rows.T @ (np.diag(chances) - np.outer(chances, chances)) @ rows
        if np.linalg.cond(bend) > 1e13:
            return None
        step = np.linalg.solve(bend, slope)
        while np.abs(step).max() > 1e-10 and likelihood(beta + step) < likelihood(beta):
            step = step / 2
        beta = beta + step
        if np.abs(beta).max() > _RUNAWAY:
            return None
        if np.abs(step).max() < 1e-10:
            break
    errors = np.sqrt(np.diag(np.linalg.inv(bend)))[: size - 1].tolist() if free else []
    return [0.0, *beta[: size - 1].tolist()], float(beta[-1]) if ties else -math.inf, errors


def _design(i: int, j: int, *, size: int, ties: bool) -> Floats:
    """Rows: log weights of i winning, j winning and, with `ties`, a tie; the first name is fixed at 0."""
    rows = np.zeros((2 + ties, size + ties))
    rows[0, i] = rows[1, j] = 1
    if ties:
        rows[2, [i, j]] = 0.5
        rows[2, size] = 1
    return rows[:, 1:]
