"""The one word at the end of a run, by a rule that was fixed before it."""

from typing import Literal

from abjudge.measure.blindness import Blindness
from abjudge.measure.controls import Fitness
from abjudge.measure.power import smallest_visible_effect
from abjudge.measure.results import Result

Word = Literal["scaffold_better", "baseline_better", "no_difference_shown", "cannot_say"]
LEAST_PROMPTS = 10  # with fewer, "no difference shown" would be said of differences that nobody could have seen


class Conclusion(Result):
    """The word, the reason, and what a reader should bear in mind; `equivalent` only where a margin was declared."""

    conclusion: Word
    reason: str
    caveats: tuple[str, ...]
    equivalent: bool | None


def conclude(
    *,
    low: float,
    high: float,
    n: int,
    worst_low: float | None = None,
    worst_high: float | None = None,
    missing: int = 0,
    fitness: Fitness = "not checked",
    blindness: Blindness = "not checked",
    margin: float | None = None,
    margin_low: float | None = None,
    margin_high: float | None = None,
    judges_agree: bool | None = None,
) -> Conclusion:
    """What a run may claim. `low`, `high`: the interval of the win rate (after an early stop the confidence sequence).

    The rule, first match wins:

    1. no complete prompt: `cannot_say`;
    2. the judge is `unfit`: `cannot_say`;
    3. the interval excludes 1/2, but the judge knew which response was scaffolded: `cannot_say`;
    4. ... but the worst-case interval (`worst_low`, `worst_high`; None: nothing is missing) does not exclude it on the
       same side: `cannot_say`;
    5. ... but several judges point to different sides (`judges_agree` False): `cannot_say`;
    6. the interval excludes 1/2: `scaffold_better` above, `baseline_better` below;
    7. it includes 1/2 and rests on fewer than 10 prompts: `cannot_say`;
    8. it includes 1/2: `no_difference_shown`. That is no proof of equality. Only where a margin was declared before the
       run is `equivalent` decided: True if the 90 % interval (`margin_low`, `margin_high`) and the worst case lie
       within 1/2 +- margin.

    A judge that is not shown fit or not checked, and blindness that is inconclusive or not checked, change no word;
    they are named in `caveats`.
    """
    excludes = low > 0.5 or high < 0.5
    held = excludes and _same_side(low, high, worst_low, worst_high)
    equivalent = _equivalent(margin, margin_low, margin_high, worst_low, worst_high)
    word: Word = "cannot_say"
    if n == 0:
        reason = "no prompt was judged in full"
    elif fitness == "unfit":
        reason = "the judge failed its controls"
    elif excludes and blindness == "not blind":
        reason = "the judge could tell which response was scaffolded, so its preference may be for the label"
    elif excludes and not held:
        reason = f"the result depends on what {missing or 'the'} missing calls would have said"
    elif excludes and judges_agree is False:
        reason = "the judges point to different sides"
    elif excludes:
        word = "scaffold_better" if low > 0.5 else "baseline_better"
        reason = f"the interval of the win rate, {low:.2f} to {high:.2f}, lies {'above' if low > 0.5 else 'below'} 0.5"
    elif n < LEAST_PROMPTS:
        reason = f"too few prompts. {smallest_visible_effect(n).sentence}"
    else:
        word = "no_difference_shown"
        reason = _no_difference(low, high, margin=margin, equivalent=equivalent)
    return Conclusion(
        conclusion=word,
        reason=reason,
        caveats=_caveats(fitness, blindness, judges_agree, excludes=excludes),
        equivalent=equivalent if word == "no_difference_shown" else None,
        method="fixed rule",
        source="docs/statistics.md",
    )


def _same_side(low: float, high: float, worst_low: float | None, worst_high: float | None) -> bool:
    if low > 0.5:
        return worst_low is None or worst_low > 0.5
    return worst_high is None or worst_high < 0.5


def _equivalent(
    margin: float | None, low: float | None, high: float | None, worst_low: float | None, worst_high: float | None
) -> bool | None:
    if margin is None:
        return None
    if not 0 < margin < 0.5:
        raise ValueError(f"margin: expected a number between 0 and 0.5, both excluded, got {margin!r}")
    if low is None or high is None:
        raise ValueError("margin: its 90 % interval is needed as well (margin_low, margin_high)")
    least, most = 0.5 - margin, 0.5 + margin
    inside = least <= low and high <= most
    return inside and (worst_low is None or least <= worst_low) and (worst_high is None or worst_high <= most)


def _no_difference(low: float, high: float, *, margin: float | None, equivalent: bool | None) -> str:
    if equivalent and margin is not None:
        return f"the win rate lies within the margin declared beforehand, 0.5 +- {margin:g}"
    reason = f"the interval of the win rate, {low:.2f} to {high:.2f}, includes 0.5"
    return reason if margin is None else f"{reason}; equality within +- {margin:g} is not shown either"


def _caveats(fitness: Fitness, blindness: Blindness, agree: bool | None, *, excludes: bool) -> tuple[str, ...]:
    notes = {
        "not shown fit": "the judge is not shown fit by its controls",
        "not checked": "the judge was not tested with controls",
    }
    blind = {
        "not blind": "the judge could tell which response was scaffolded",
        "inconclusive": "whether the judge was blind is inconclusive",
        "not checked": "whether the judge was blind was not checked",
    }
    judges = "the judges point to different sides" if agree is False and not excludes else None
    found = (notes.get(fitness), blind.get(blindness), judges)
    return tuple(note for note in found if note is not None)
