"""Words that stand on numbers: the conclusion, the line before a run, the gate's decision."""

import pytest

from abjudge import measure
from abjudge.measure import conclude

ABOVE = {"low": 0.55, "high": 0.75, "n": 80}
AROUND = {"low": 0.42, "high": 0.58, "n": 150}


@pytest.mark.parametrize(
    ("given", "word"),
    [
        (ABOVE, "scaffold_better"),
        ({"low": 0.2, "high": 0.4, "n": 80}, "baseline_better"),
        (AROUND, "no_difference_shown"),
        ({"low": 0, "high": 1, "n": 0}, "cannot_say"),
        ({"low": 0.1, "high": 0.9, "n": 9}, "cannot_say"),
        (ABOVE | {"fitness": "unfit"}, "cannot_say"),
        (AROUND | {"fitness": "unfit"}, "cannot_say"),
        (ABOVE | {"fitness": "not shown fit"}, "scaffold_better"),
        (ABOVE | {"blindness": "not blind"}, "cannot_say"),
        (AROUND | {"blindness": "not blind"}, "no_difference_shown"),
        (ABOVE | {"blindness": "inconclusive"}, "scaffold_better"),
        (ABOVE | {"worst_low": 0.49, "worst_high": 0.8, "missing": 6}, "cannot_say"),
        (ABOVE | {"worst_low": 0.51, "worst_high": 0.8, "missing": 2}, "scaffold_better"),
        (ABOVE | {"judges_agree": False}, "cannot_say"),
    ],
)
def test_the_rule_of_the_conclusion(given, word):
    assert conclude(**given).conclusion == word


def test_equality_is_claimed_only_with_a_margin_that_was_declared():
    inside = {"margin_low": 0.43, "margin_high": 0.57}

    assert conclude(**AROUND).equivalent is None
    assert conclude(**AROUND, margin=0.1, **inside).equivalent is True
    assert conclude(**AROUND, margin=0.05, **inside).equivalent is False
    assert conclude(**AROUND, margin=0.1, **inside, worst_low=0.39, worst_high=0.6).equivalent is False
    assert conclude(**ABOVE, margin=0.3, **inside).equivalent is None


def test_a_margin_without_its_interval_is_refused():
    with pytest.raises(ValueError, match="90 % interval"):
        conclude(**AROUND, margin=0.1)


def test_a_conclusion_names_what_was_not_checked():
    result = conclude(**ABOVE)

    assert result.caveats == ("the judge was not tested with controls", "whether the judge was blind was not checked")
    assert conclude(**ABOVE, fitness="fit", blindness="blind").caveats == ()


def test_a_result_that_hangs_on_missing_calls_says_how_many():
    result = conclude(**ABOVE, worst_low=0.4, worst_high=0.8, missing=6)

    assert result.reason == "the result depends on what 6 missing calls would have said"


def test_a_tipping_point_is_named_where_errors_could_turn_the_result():
    pairs = [(1, 1)] * 20 + [(0, 0)] * 8 + [(None, None)] * 4

    result = measure.missing_bounds(pairs)

    assert result.cc_lo > 0.5 > result.box_lo
    assert result.robust is False
    assert 0 < result.tipping_point < 1
    assert result.warn


@pytest.mark.parametrize(
    ("n", "sentence"),
    [
        (30, "With 30 prompts only win rates of 67 % and more (or 33 % and less) would show."),
        (1, "With 1 prompt no win rate would show."),
        (10_000, "With 10,000 prompts only win rates of 51.0 % and more (or 49.0 % and less) would show."),
    ],
)
def test_the_line_before_a_run(n, sentence):
    assert measure.smallest_visible_effect(n).sentence == sentence


@pytest.mark.parametrize(("n", "effect"), [(10, 0.273), (50, 0.138), (200, 0.071), (500, 0.045), (1000, 0.032)])
def test_the_smallest_visible_effects_of_the_reference(n, effect):
    assert measure.smallest_visible_effect(n).effect == pytest.approx(effect, abs=5e-4)


@pytest.mark.parametrize(
    ("rate", "ties", "calls", "corr", "eighty", "ninety"),
    [
        (0.525, 0, 1, 0, 3134, 4195),
        (0.55, 0.2, 1, 0, 622, 833),
        (0.6, 0.2, 2, 0.5, 114, 152),
        (0.65, 0.4, 2, 0.5, 36, 47),
        (0.8, 0.2, 2, 0.8, 11, 14),
        (0.7, 0, 1, 0, 44, 58),
    ],
)
def test_the_sample_sizes_of_the_reference(rate, ties, calls, corr, eighty, ninety):
    plan = {"win_rate": rate, "tie_share": ties, "calls_per_prompt": calls, "intra_prompt_corr": corr}

    assert (measure.sample_size(**plan).n, measure.sample_size(**plan, power=0.9).n) == (eighty, ninety)


@pytest.mark.parametrize(("n", "least"), [(5, 5), (10, 9), (20, 15), (100, 59)])
def test_a_gate_passes_only_with_proof(n, least):
    assert measure.category_decision(least, n).decision == "PASS"
    assert measure.category_decision(least - 1, n).decision == "INCONCLUSIVE"
    assert measure.category_decision(n - least, n).decision == "FAIL"


def test_the_best_of_several_is_brought_back_to_earth():
    seen = {"a": [1, 0.5, 0.5, 1, 0] * 6, "b": [0.5, 0.5, 1, 0, 0.5] * 6, "c": [0, 0.5, 1, 0.5, 0.5] * 6}

    result = measure.best_of(seen)

    assert result.name == "a"
    assert 0.5 < result.shrunk < result.raw
    assert result.clear is False


def test_new_categories_are_judged_by_categories():
    scores, categories = [1.0] * 20 + [0.5] * 20 + [0.0] * 2, ["a"] * 20 + ["b"] * 20 + ["c"] * 2

    result = measure.cluster_win_rate(scores, clusters=categories)

    assert (result.n, result.estimate) == (3, 0.5)
    assert result.hi - result.lo > measure.win_rate_ci(scores).hi - measure.win_rate_ci(scores).lo


def test_an_arm_that_fails_more_often_is_named():
    result = measure.failure_shares(only_baseline=1, only_scaffold=12, both=0, n=100)

    assert (result.baseline_share, result.scaffold_share) == (0.01, 0.12)
    assert result.warn
    assert result.p_value < 0.01
