import random

import pytest

from abjudge.measure import anytime, futility, paired_difference, sequential, watch

WON = [1.0, 1.0, 0.5, 1.0, 0.0] * 40


def shuffled(scores, seed=1):
    return random.Random(seed).sample(scores, len(scores))


def watched(scores, **plan):
    state = watch(len(scores), **plan)
    for score in scores:
        if state.state != "go on":
            break
        state = state.after(score)
    return state


@pytest.mark.parametrize("seed", range(5))
def test_a_watch_stops_where_the_replay_says(seed):
    scores = shuffled(WON, seed)

    state = watched(scores)

    assert state.state == "clear"
    assert state.n == sequential(scores).stop_e100


def test_a_watch_is_futile_where_the_replay_says():
    scores = shuffled([1.0, 0.5, 0.5, 0.0] * 100)

    state = watched(scores, margin=0.15)

    assert state.state == "futile"
    assert state.n == futility(scores, delta=0.15).stop_at


def test_an_early_stop_reports_the_confidence_sequence():
    state = watched(shuffled(WON))
    sequence = anytime([value for value, count in state.counts for _ in range(count)], alpha=0.01)

    assert (state.estimate.low, state.estimate.high, state.estimate.conf) == (sequence.cs_lo, sequence.cs_hi, 0.99)
    assert state.estimate.low > 0.5


def test_a_run_that_ends_reports_the_ordinary_interval_at_96_percent():
    state = watched([1.0, 0.0] * 30)

    assert state.state == "finished"
    assert state.estimate.conf == 0.96


def test_short_runs_are_never_stopped_early():
    assert watched([1.0] * 49).n == 49
    assert watched([1.0] * 50).n < 50


def test_a_watch_survives_json():
    state = watch(100, margin=0.1).after(0.75).after(0.5)

    assert type(state).model_validate_json(state.model_dump_json()) == state


def test_looks_see_the_same_evidence_as_the_counts():
    scores = shuffled(WON)
    stop = sequential(scores).stop_e20

    assert anytime(scores[:stop]).e_value >= 20 > anytime(scores[: stop - 1]).e_value


def test_the_end_of_a_confidence_sequence_is_where_the_evidence_reaches_its_level():
    result = anytime(WON, alpha=0.05)

    # The bets see only score / rate, so this moves the lower end to 1/2. The other half of the mixture is near 0.
    moved = anytime([score / (2 * result.cs_lo) for score in WON])

    assert moved.e_value == pytest.approx(20, rel=1e-3)


def test_a_sorted_file_stops_falsely_and_a_shuffled_one_does_not():
    by_category = [1.0] * 100 + [0.0] * 100

    assert sequential(by_category).stop_e100 is not None
    assert sequential(shuffled(by_category)).stop_e100 is None


def test_an_incomplete_prompt_is_no_look():
    gappy = [score for pair in WON for score in (pair, None)]

    assert sequential(gappy) == sequential(WON)


def test_two_scaffolds_are_compared_on_the_prompts_they_share():
    result = paired_difference([1, 1, 0.5, 1, None] * 10, [0.5, 0.5, 0, 1, 1] * 10)

    assert (result.n, result.incomplete) == (40, 10)
    assert result.estimate == pytest.approx(0.375)
    assert result.lo > 0
