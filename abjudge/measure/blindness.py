"""Whether the judge could tell the arms apart: what it guessed, held against what was true."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from abjudge.domain.values import Value
from abjudge.measure.distributions import normal_quantile
from abjudge.measure.results import Result
from abjudge.measure.scores import Floats, Score, level, same_length, tally_of, whole, with_gaps
from abjudge.measure.win_rate import win_rate_of

Blindness = Literal["blind", "not blind", "inconclusive", "not checked"]
BANG = "Bang, Ni and Davis (2004), doi:10.1016/j.cct.2003.10.016"
JAMES = "James et al. (1996), doi:10.1002/(SICI)1097-0258(19960715)15:13<1421::AID-SIM266>3.0.CO;2-H"
ENOUGH = 10  # wins and losses each, before they can be balanced
BLIND_WITHIN = 0.2  # an index within this of 0 is called blind


class Index(Value):
    """A blinding index with its normal interval; None where its formula divides by nothing."""

    bi: float | None
    se: float | None
    lo: float | None
    hi: float | None


class BlindingIndices(Result):
    """James' index (1 blind, 0 not) and Bang's for each place of the scaffold (0 blind, 1 found out, -1 opposite)."""

    n: int
    conf: float
    james: Index
    bang_arm1: Index
    bang_arm2: Index


class GuessIndex(Value):
    bi: float | None
    lo: float
    hi: float


class GuessedArm(Result):
    """How well the judge guessed the scaffolded response: 0 by chance, 1 always, -1 never.

    `bi_balanced` averages the prompts that the scaffold won and lost, so that "the better one will be the scaffolded
    one" earns nothing; `lo` and `hi` are its interval. `label` is decided on `basis`.
    """

    n: int
    conf: float
    overall: GuessIndex
    n_win: int
    n_loss: int
    n_tie: int
    bi_tie: float | None
    bi_balanced: float | None
    se: float | None
    lo: float
    hi: float
    basis: Literal["balanced", "ties", "none"]
    label: Blindness


def blinding_indices(
    table_rows_guess_first_second_dk_cols_true_first_second: Sequence[Sequence[int]], *, conf: float = 0.95
) -> BlindingIndices:
    """James' and Bang's blinding indices from counts: rows guessed first, second, cannot tell; columns the true place.

    Bang has one index for each place (column); a judge that always says "first" has +1 and -1. Intervals are normal and
    not cut at the ends; below 20 guesses use `blindness_2afc`, whose interval holds its level. Indices of empty columns
    are None. James et al. (1996); Bang, Ni and Davis (2004), doi:10.1016/j.cct.2003.10.016.
    """
    level(conf, name="conf")
    rows = table_rows_guess_first_second_dk_cols_true_first_second
    if len(rows) != 3 or any(len(row) != 2 for row in rows):
        raise ValueError("table: three rows (guessed first, second, cannot tell) of two counts (truly first, second)")
    table = np.array([[whole(cell, name="table") for cell in row] for row in rows], dtype=np.float64)
    z = normal_quantile((1 + conf) / 2)
    return BlindingIndices(
        n=int(table.sum()),
        conf=conf,
        james=_index(_james(table), z),
        bang_arm1=_index(_bang(right=table[0, 0], wrong=table[1, 0], n=table[:, 0].sum()), z),
        bang_arm2=_index(_bang(right=table[1, 1], wrong=table[0, 1], n=table[:, 1].sum()), z),
        method="James' and Bang's blinding indices",
        source=f"{JAMES}; {BANG}",
    )


def _index(found: tuple[float, float] | None, z: float) -> Index:
    if found is None:
        return Index(bi=None, se=None, lo=None, hi=None)
    bi, se = found
    return Index(bi=bi, se=se, lo=bi - z * se, hi=bi + z * se)


def _bang(*, right: float, wrong: float, n: float) -> tuple[float, float] | None:
    if n == 0:
        return None
    a, b = right / n, wrong / n
    # Rounding must not make the variance of unanimous guesses negative.
    return float(a - b), math.sqrt(max(0.0, a * (1 - a) + b * (1 - b) + 2 * a * b) / n)


def _james(table: Floats) -> tuple[float, float] | None:
    total = table.sum()
    if total == 0:
        return None
    shares = table / total
    unsure = float(shares[2].sum())
    if unsure == 1:
        return 1.0, 0.0
    guessed = shares[:2]
    weights = np.array([[0.0, 0.5], [0.5, 0.0]])
    rows, columns = guessed.sum(axis=1), guessed.sum(axis=0)
    chance = float(rows @ weights @ columns)
    if chance == 0:
        return None
    told = 1 - unsure
    kappa = float((weights * guessed).sum()) * told / chance - 1
    # What each cell adds to the expected disagreement: w_lj r_l + w_il c_l, summed over l.
    marginal = (rows @ weights)[None, :] + (weights @ columns)[:, None]
    spread = guessed * told**2 * (told * weights - (1 + kappa) * marginal) ** 2
    v1 = float(spread.sum()) / (4 * chance**2)
    v2 = unsure * told - told * (1 + kappa) * (unsure + told * (1 + kappa) / 4)
    return (1 + unsure + told * kappa) / 2, math.sqrt(max(0.0, v1 + v2) / float(total))


def blindness_2afc(guess_scores: Sequence[Score], prompt_scores: Sequence[Score], *, conf: float = 0.95) -> GuessedArm:
    """How well the judge guessed which response was scaffolded, overall and freed from "the better one must be it".

    `guess_scores` are means over both orders of 1 (right), 1/2 (cannot tell), 0 (wrong), one a prompt; `prompt_scores`
    the win scores of the same prompts. A prompt without a guess is left out; one without a win score counts in
    `overall` only. `bi_balanced` is the mean of the index over won and over lost prompts, and needs one of each; its
    interval joins the two win-rate intervals (it is never of zero width), and a label needs ten of each, else the ties
    decide if there are ten. Bang, Ni and Davis (2004), doi:10.1016/j.cct.2003.10.016; the joint interval after Zou and
    Donner (2008), doi:10.1002/sim.3095.
    """
    level(conf, name="conf")
    same_length(guess_scores, prompt_scores, names="guess_scores and prompt_scores")
    guesses = with_gaps(guess_scores, name="guess_scores")
    scores = with_gaps(prompt_scores, name="prompt_scores")
    guessed = ~np.isnan(guesses)
    overall = _guess_index(guesses[guessed], conf=conf)
    groups = [guesses[guessed & where] for where in (scores > 0.5, scores < 0.5, scores == 0.5)]
    won, lost, tied = (_guess_index(group, conf=conf) for group in groups)
    balanced = _balanced(won, lost)
    n_win, n_loss, n_tie = (group.size for group in groups)
    enough = min(n_win, n_loss) >= ENOUGH
    basis: Literal["balanced", "ties", "none"] = "balanced" if enough else "ties" if n_tie >= ENOUGH else "none"
    return GuessedArm(
        n=int(guessed.sum()),
        conf=conf,
        overall=overall,
        n_win=n_win,
        n_loss=n_loss,
        n_tie=n_tie,
        bi_tie=tied.bi,
        bi_balanced=balanced.bi,
        se=_balanced_error(groups[0], groups[1]),
        lo=balanced.lo,
        hi=balanced.hi,
        basis=basis,
        label=_label(overall, basis, balanced if basis == "balanced" else tied),
        method="two-alternative Bang index, balanced over won and lost prompts",
        source=f"{BANG}; Zou and Donner (2008), doi:10.1002/sim.3095",
    )


def _guess_index(guesses: Floats, *, conf: float) -> GuessIndex:
    rate = win_rate_of(tally_of(guesses), conf=conf)
    return GuessIndex(
        bi=None if rate.estimate is None else 2 * rate.estimate - 1, lo=2 * rate.lo - 1, hi=2 * rate.hi - 1
    )


def _balanced(won: GuessIndex, lost: GuessIndex) -> GuessIndex:
    if won.bi is None or lost.bi is None:
        return GuessIndex(bi=None, lo=-1.0, hi=1.0)
    middle = (won.bi + lost.bi) / 2
    return GuessIndex(
        bi=middle,
        lo=max(-1.0, middle - math.hypot(won.bi - won.lo, lost.bi - lost.lo) / 2),
        hi=min(1.0, middle + math.hypot(won.hi - won.bi, lost.hi - lost.bi) / 2),
    )


def _balanced_error(won: Floats, lost: Floats) -> float | None:
    """Of the mean of two indices 2 g - 1: the factors 2 and 1/2 cancel."""
    if min(won.size, lost.size) < 2:
        return None
    return math.sqrt(tally_of(won).variance / won.size + tally_of(lost).variance / lost.size)


def _label(overall: GuessIndex, basis: str, index: GuessIndex) -> Blindness:
    if overall.bi is None:
        return "not checked"
    if basis == "none":
        return "inconclusive"
    if index.lo > 0:
        return "not blind"
    return "blind" if index.lo >= -BLIND_WITHIN and index.hi <= BLIND_WITHIN else "inconclusive"
