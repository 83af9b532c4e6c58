"""How many prompts a question needs, and which differences a number of prompts can show; before the run."""

import math

from abjudge.measure.distributions import noncentral_t_beyond, t_quantile
from abjudge.measure.results import Result
from abjudge.measure.scores import level, share, whole

METHOD = "noncentral t on prompt scores"
SOURCE = "Cohen (1988), Statistical Power Analysis; Miller (2024), arXiv:2411.00640, section 5"
_MOST = 2**40


class SampleSize(Result):
    """Prompts needed, the power they give, and the standard deviation of one prompt score."""

    n: int
    power_at_n: float
    sigma_prompt: float


class DetectableEffect(Result):
    """Distance of the win rate from 1/2 that is found with the wanted power; None where no win rate would be."""

    effect: float | None
    n: int
    power: float


class VisibleEffect(Result):
    """What `n` prompts can show: win rates of `high` and more, or `low` and less; None where nothing would show."""

    n: int
    effect: float | None
    low: float | None
    high: float | None
    sentence: str


def sample_size(
    *,
    win_rate: float,
    tie_share: float = 0.3,
    calls_per_prompt: int = 2,
    intra_prompt_corr: float = 0.5,
    power: float = 0.8,
    alpha: float = 0.05,
) -> SampleSize:
    """The smallest number of prompts that finds a true `win_rate` (a tie as half) with this power, two-sided.

    `intra_prompt_corr` is the correlation of calls on one prompt: plan with .5, then take the pilot's spread.
    ValueError for a win rate of 1/2 (nothing to find) and for one that the share of ties leaves no room for.
    """
    share(win_rate, name="win_rate")
    _check(tie_share, calls_per_prompt, intra_prompt_corr, power, alpha)
    effect = abs(win_rate - 0.5)
    if effect == 0:
        raise ValueError("win_rate: at 0.5 there is no difference to find, however many prompts")
    if effect > (1 - tie_share) / 2 + 1e-12:
        raise ValueError(f"win_rate: with a tie share of {tie_share:g} it lies within 1/2 +- {(1 - tie_share) / 2:g}")
    sigma = _sigma(effect, tie_share, calls_per_prompt, intra_prompt_corr)
    enough = 2
    while _power(enough, effect, sigma, alpha) < power:
        enough *= 2
        if enough > _MOST:
            raise ValueError(f"win_rate: {win_rate!r} is too near to 0.5 for any number of prompts")
    short = enough // 2
    while enough - short > 1:
        middle = (short + enough) // 2
        short, enough = (middle, enough) if _power(middle, effect, sigma, alpha) < power else (short, middle)
    return SampleSize(
        n=enough,
        power_at_n=_power(enough, effect, sigma, alpha),
        sigma_prompt=sigma,
        method=METHOD,
        source=SOURCE,
    )


def min_detectable_effect(
    *,
    n: int,
    tie_share: float = 0.3,
    calls_per_prompt: int = 2,
    intra_prompt_corr: float = 0.5,
    power: float = 0.8,
    alpha: float = 0.05,
) -> DetectableEffect:
    """The smallest distance from 1/2 that `n` prompts find with this power, two-sided; None where none is."""
    n = whole(n, name="n")
    _check(tie_share, calls_per_prompt, intra_prompt_corr, power, alpha)

    def found(effect: float) -> bool:
        return _power(n, effect, _sigma(effect, tie_share, calls_per_prompt, intra_prompt_corr), alpha) >= power

    low, high = 0.0, (1 - tie_share) / 2
    effect = None
    if n > 1 and found(high):
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if found(middle) else (middle, high)
        effect = high
    return DetectableEffect(effect=effect, n=n, power=power, method=METHOD, source=SOURCE)


def smallest_visible_effect(
    n: int,
    *,
    tie_share: float = 0.3,
    calls_per_prompt: int = 2,
    intra_prompt_corr: float = 0.5,
    power: float = 0.8,
    alpha: float = 0.05,
) -> VisibleEffect:
    """The one line before a run: which win rates `n` prompts would show with this power, and which they would not."""
    effect = min_detectable_effect(
        n=n,
        tie_share=tie_share,
        calls_per_prompt=calls_per_prompt,
        intra_prompt_corr=intra_prompt_corr,
        power=power,
        alpha=alpha,
    ).effect
    prompts = "1 prompt" if n == 1 else f"{n:,} prompts"
    if effect is None:
        low, high, sentence = None, None, f"With {prompts} no win rate would show."
    else:
        low, high = 0.5 - effect, 0.5 + effect
        digits = 0 if effect >= 0.02 else 1  # at 10,000 prompts "50 % and more" would be nonsense
        sentence = (
            f"With {prompts} only win rates of {high * 100:.{digits}f} % and more "
            f"(or {low * 100:.{digits}f} % and less) would show."
        )
    return VisibleEffect(n=n, effect=effect, low=low, high=high, sentence=sentence, method=METHOD, source=SOURCE)


def _check(tie_share: float, calls: int, corr: float, power: float, alpha: float) -> None:
    if not 0 <= tie_share < 1:
        raise ValueError(f"tie_share: expected a number from 0 to below 1, got {tie_share!r}")
    whole(calls, name="calls_per_prompt", least=1)
    share(corr, name="intra_prompt_corr")
    level(power, name="power")
    level(alpha, name="alpha")


def _sigma(effect: float, ties: float, calls: int, corr: float) -> float:
    """Standard deviation of a prompt score: of one call, less what the calls of one prompt average out."""
    one_call = max(0.0, ((1 - ties) - (2 * effect) ** 2) / 4)
    return math.sqrt(one_call * (1 + (calls - 1) * corr) / calls)


def _power(n: int, effect: float, sigma: float, alpha: float) -> float:
    if sigma == 0:
        return 1.0 if effect > 0 else alpha
    return noncentral_t_beyond(t_quantile(1 - alpha / 2, n - 1), n - 1, effect / sigma * math.sqrt(n))
