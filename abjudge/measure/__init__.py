"""The numbers: outcomes in, estimates out. Pure; no disk, no network, no clock, no hidden chance.

Scores are seen from the arm under test: 1 it wins, 0 it loses, 1/2 a tie; None is a prompt that was not judged in full.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from abjudge.measure.anytime_valid import anytime
    from abjudge.measure.blindness import blinding_indices, blindness_2afc
    from abjudge.measure.calibration import drift, null_baselines, ppi_plus_plus
    from abjudge.measure.conclusions import Conclusion, conclude
    from abjudge.measure.controls import (
        Control,
        JudgeFitness,
        degraded_control,
        identical_control,
        identical_control_threshold,
        judge_fitness,
        positive_control_threshold,
        resample_control,
    )
    from abjudge.measure.gate import category_decision, gate_category_pass
    from abjudge.measure.juries import effective_judges, jury
    from abjudge.measure.leakage import leak_classifier, ngram_overlap
    from abjudge.measure.length import length_controlled, longer_wins
    from abjudge.measure.missing import failure_shares, missing_bounds
    from abjudge.measure.position import balanced_single_order, position_bias
    from abjudge.measure.power import min_detectable_effect, sample_size, smallest_visible_effect
    from abjudge.measure.raters import agreement, confusion, panel_agreement
    from abjudge.measure.results import Estimate, Interval, Result
    from abjudge.measure.several import best_of, multiplicity, paired_difference, shrinkage
    from abjudge.measure.stopping import Watch, futility, sequential, watch
    from abjudge.measure.strengths import rating
    from abjudge.measure.win_rate import (
        WinRate,
        binomial_ci,
        cluster_win_rate,
        clustered_se,
        paired_tests,
        prompt_score,
        sign_test,
        win_rate_ci,
    )

# Each public name and where it lives. numpy and scipy take half a second to import, so they wait for the first use.
_HOMES = {
    "Conclusion": "conclusions",
    "Control": "controls",
    "Estimate": "results",
    "Interval": "results",
    "JudgeFitness": "controls",
    "Result": "results",
    "Watch": "stopping",
    "WinRate": "win_rate",
    "agreement": "raters",
    "anytime": "anytime_valid",
    "balanced_single_order": "position",
    "best_of": "several",
    "binomial_ci": "win_rate",
    "blinding_indices": "blindness",
    "blindness_2afc": "blindness",
    "category_decision": "gate",
    "cluster_win_rate": "win_rate",
    "clustered_se": "win_rate",
    "conclude": "conclusions",
    "confusion": "raters",
    "degraded_control": "controls",
    "drift": "calibration",
    "effective_judges": "juries",
    "failure_shares": "missing",
    "futility": "stopping",
    "gate_category_pass": "gate",
    "identical_control": "controls",
    "identical_control_threshold": "controls",
    "judge_fitness": "controls",
    "jury": "juries",
    "leak_classifier": "leakage",
    "length_controlled": "length",
    "longer_wins": "length",
    "min_detectable_effect": "power",
    "missing_bounds": "missing",
    "multiplicity": "several",
    "ngram_overlap": "leakage",
    "null_baselines": "calibration",
    "paired_difference": "several",
    "paired_tests": "win_rate",
    "panel_agreement": "raters",
    "position_bias": "position",
    "positive_control_threshold": "controls",
    "ppi_plus_plus": "calibration",
    "prompt_score": "win_rate",
    "rating": "strengths",
    "resample_control": "controls",
    "sample_size": "power",
    "sequential": "stopping",
    "shrinkage": "several",
    "sign_test": "win_rate",
    "smallest_visible_effect": "power",
    "watch": "stopping",
    "win_rate_ci": "win_rate",
}
__all__ = [
    "Conclusion",
    "Control",
    "Estimate",
    "Interval",
    "JudgeFitness",
    "Result",
    "Watch",
    "WinRate",
    "agreement",
    "anytime",
    "balanced_single_order",
    "best_of",
    "binomial_ci",
    "blinding_indices",
    "blindness_2afc",
    "category_decision",
    "cluster_win_rate",
    "clustered_se",
    "conclude",
    "confusion",
    "degraded_control",
    "drift",
    "effective_judges",
    "failure_shares",
    "futility",
    "gate_category_pass",
    "identical_control",
    "identical_control_threshold",
    "judge_fitness",
    "jury",
    "leak_classifier",
    "length_controlled",
    "longer_wins",
    "min_detectable_effect",
    "missing_bounds",
    "multiplicity",
    "ngram_overlap",
    "null_baselines",
    "paired_difference",
    "paired_tests",
    "panel_agreement",
    "position_bias",
    "positive_control_threshold",
    "ppi_plus_plus",
    "prompt_score",
    "rating",
    "resample_control",
    "sample_size",
    "sequential",
    "shrinkage",
    "sign_test",
    "smallest_visible_effect",
    "watch",
    "win_rate_ci",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'abjudge.measure' has no attribute {name!r}")
    value = getattr(import_module(f"abjudge.measure.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
