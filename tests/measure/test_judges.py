"""Judges under test: controls, calibration, drift, juries."""

import pytest

from abjudge import measure
from abjudge.measure import degraded_control, identical_control, judge_fitness, resample_control

SOUND = [1.0, 0.5, 0.0, 0.5] * 16


@pytest.mark.parametrize(
    ("decisive", "state"), [(0, "passed"), (3, "passed"), (4, "undecided"), (11, "undecided"), (12, "failed")]
)
def test_identical_pairs_allow_three_decisive_calls_of_24(decisive, state):
    assert identical_control(decisive, 24).state == state


@pytest.mark.parametrize(
    ("right", "state"), [(24, "passed"), (21, "passed"), (20, "undecided"), (13, "undecided"), (12, "failed")]
)
def test_degraded_pairs_ask_for_21_of_24(right, state):
    assert degraded_control(right, 24).state == state


def test_a_judge_is_fit_only_if_every_control_passed():
    identical, degraded = identical_control(1, 24), degraded_control(23, 24)

    assert judge_fitness([identical, degraded, resample_control(SOUND)]).state == "fit"
    assert judge_fitness([identical, degraded_control(20, 24)]).state == "not shown fit"
    assert judge_fitness([identical, degraded_control(5, 24)]).state == "unfit"
    assert judge_fitness([identical]).state == "not shown fit"
    assert judge_fitness([]).state == "not checked"


def test_a_judge_that_obeys_its_candidates_is_unfit():
    fitness = judge_fitness(
        [identical_control(0, 24), degraded_control(24, 24), identical_control(20, 24, kind="injection")]
    )

    assert fitness.state == "unfit"
    assert fitness.reasons == ("injection: failed, needed at most 3 of 24, got 20",)


def test_ten_items_cannot_show_a_judge_fit_against_75_percent():
    assert measure.positive_control_threshold(10, unfit_rate=0.75).min_correct is None


@pytest.mark.parametrize(
    ("n", "rate", "fit", "chance"), [(24, 0.7, 0.95, 0.970), (50, 0.8, 0.95, 0.962), (13, 0.5, 0.9, 0.966)]
)
def test_a_fit_judge_passes_as_often_as_the_reference_says(n, rate, fit, chance):
    result = measure.positive_control_threshold(n, unfit_rate=rate, fit_rate=fit)

    assert result.p_pass_fit == pytest.approx(chance, abs=5e-4)


def test_a_resampled_arm_must_be_equivalent_to_itself():
    assert resample_control(SOUND).state == "passed"
    assert resample_control(SOUND[:8]).state == "undecided"
    assert resample_control([1.0] * 60).state == "failed"


def test_labels_pull_a_biased_judge_back():
    human, judge = [1, 0, 0, 1, 0, 0.5] * 6, [1, 0.5, 0.5, 1, 0.5, 1] * 6

    result = measure.ppi_plus_plus(human, judge, judge * 10)

    assert result.estimate == pytest.approx(result.human_only, abs=0.05)
    assert result.judge_only - result.estimate > 0.2
    assert result.trusted


def test_without_further_votes_the_labels_stand_alone():
    result = measure.ppi_plus_plus([1, 0, 0.5, 1, 1], [1, 0, 1, 1, 0], [])

    assert (result.lam, result.estimate, result.printable) == (0, pytest.approx(0.7), False)


def test_below_three_labels_nothing_is_known():
    result = measure.ppi_plus_plus([1, 0], [1, 0], [1, 1, 0])

    assert (result.lo, result.hi, result.se) == (0, 1, None)


def test_more_labels_than_now_are_needed_to_halve_the_interval():
    human = [1, 0, 0, 1, 0, 0.5] * 5
    judge = [0.5, 0.5, 1, 1, 0, 0.5] * 5

    result = measure.ppi_plus_plus(human, judge, judge * 20)

    assert 60 < result.labels_to_halve < 160


def test_a_judge_that_votes_as_before_has_not_drifted():
    anchors = [1.0, 0.0, 0.5, 1.0] * 10

    same, turned = measure.drift(anchors, anchors, human=anchors), measure.drift(anchors, [1.0] * 40)

    assert (same.drifted, same.changed) == (False, 0)
    assert turned.drifted


def test_judges_that_rotate_share_one_list_of_prompts():
    result = measure.jury({"x": [1, 1, None, None, 1], "y": [None, None, 0.5, 1, 0.5]})

    assert result.together.n == 5
    assert result.together.estimate == pytest.approx((1 + 1 + 0.5 + 1 + 0.75) / 5)
    assert (result.overlap, result.overlap_agreement) == (1, 0)
    assert result.robust


def test_judges_on_both_sides_of_one_half_are_not_robust():
    assert measure.jury({"x": [1, 1, 0.5], "y": [0, 0.5, 0.5]}).robust is False
    assert measure.jury({"x": [1, 1]}).robust is None


@pytest.mark.parametrize(("correlation", "worth"), [(0.24, 3.1), (0.40, 2.2), (0.65, 1.5)])
def test_nine_judges_are_worth_two(correlation, worth):
    assert measure.effective_judges(9, error_correlation=correlation).n_eff == pytest.approx(worth, abs=0.06)


def test_a_leak_shows_in_the_balanced_index_and_taste_does_not():
    won = [1.0, 0.0] * 60
    leak, taste = [0.75] * 120, won

    assert measure.blindness_2afc(leak, won).label == "not blind"
    assert measure.blindness_2afc(taste, won).bi_balanced == 0


def test_too_few_wins_and_losses_leave_blindness_open():
    assert measure.blindness_2afc([1.0] * 12, [1.0] * 12).label == "inconclusive"
    assert measure.blindness_2afc([], []).label == "not checked"


def test_a_hundred_pairs_without_a_guess_are_blind():
    assert measure.blindness_2afc([0.5, 0.5, 1.0, 0.0] * 50, [1.0, 0.0] * 100).label == "blind"
