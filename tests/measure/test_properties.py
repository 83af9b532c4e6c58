"""What must hold whatever the numbers are."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from abjudge.measure import (
    agreement,
    anytime,
    binomial_ci,
    blinding_indices,
    blindness_2afc,
    length_controlled,
    min_detectable_effect,
    missing_bounds,
    multiplicity,
    paired_difference,
    paired_tests,
    position_bias,
    prompt_score,
    rating,
    sample_size,
    win_rate_ci,
)

call = st.sampled_from([0.0, 0.5, 1.0])
score = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
scores = st.lists(score, min_size=1, max_size=60)
pairs = st.lists(st.tuples(call | st.none(), call | st.none()), min_size=1, max_size=40)
near = pytest.approx


def flipped(values):
    return [None if value is None else 1 - value for value in values]


@given(scores)
def test_swapping_the_arms_mirrors_the_win_rate(values):
    one, other = win_rate_ci(values), win_rate_ci(flipped(values))

    assert (other.estimate, other.lo, other.hi) == near((1 - one.estimate, 1 - one.hi, 1 - one.lo), abs=1e-12)
    assert other.p_value == near(one.p_value, abs=1e-12)
    assert (other.wins, other.ties, other.losses) == (one.losses, one.ties, one.wins)


@given(scores)
def test_swapping_the_arms_mirrors_the_confidence_sequence_and_keeps_the_evidence(values):
    one, other = anytime(values), anytime(flipped(values))

    assert other.log_e == near(one.log_e, abs=1e-9)
    assert (other.cs_lo, other.cs_hi) == near((1 - one.cs_hi, 1 - one.cs_lo), abs=1e-8)
    assert (other.e_up, other.e_down) == near((one.e_down, one.e_up))


@given(st.data(), scores)
def test_the_order_of_prompts_changes_nothing_to_the_last_bit(data, values):
    shuffled = data.draw(st.permutations(values))

    for function in (win_rate_ci, anytime, paired_tests):
        assert function(shuffled) == function(values)


@given(st.data(), pairs)
def test_the_order_of_pairs_changes_nothing_in_bounds_and_position(data, values):
    shuffled = data.draw(st.permutations(values))

    assert missing_bounds(shuffled) == missing_bounds(values)
    assert position_bias(shuffled).model_dump() == near(position_bias(values).model_dump(), abs=1e-12, nan_ok=False)


@given(st.lists(call, min_size=1, max_size=6), st.lists(call, min_size=1, max_size=6))
def test_repeating_every_call_changes_no_prompt(first, second):
    assert prompt_score(first * 2, second * 2).score == near(prompt_score(first, second).score)


@given(st.integers(1, 200))
def test_ties_are_no_evidence(n):
    assert win_rate_ci([0.5] * n).p_value == 1
    assert paired_tests([0.5] * n).p_value == 1
    assert anytime([0.5] * n).e_value == 1


@given(st.lists(score, min_size=2, max_size=60))
def test_p_is_below_five_percent_exactly_when_the_interval_excludes_one_half(values):
    result = win_rate_ci(values)
    assume(abs(result.p_value - 0.05) > 1e-9)

    assert (result.p_value < 0.05) == (result.lo > 0.5 or result.hi < 0.5)


@given(scores)
def test_an_interval_holds_its_estimate_and_stays_in_range(values):
    result = win_rate_ci(values)

    assert 0 <= result.lo <= result.estimate <= result.hi <= 1


@given(scores)
def test_a_bolder_confidence_is_a_wider_interval(values):
    narrow, wide = win_rate_ci(values, conf=0.9), win_rate_ci(values, conf=0.99)

    assert wide.lo <= narrow.lo
    assert narrow.hi <= wide.hi


@given(st.lists(st.tuples(call | st.none(), call | st.none()), min_size=5, max_size=40))
def test_a_further_error_never_narrows_the_worst_case(values):
    # Below five prompts the Student quantile falls faster than the bounds part; and where all fills are equal the
    # variance is 0, for which the reference takes n_eff = n: wider than a single differing prompt makes it.
    fills = [[fill if one is None else one for one in pair] for fill in (0, 1) for pair in values]
    lower, upper = fills[: len(values)], fills[len(values) :]
    assume(all(len({sum(pair) for pair in side}) > 1 for side in (lower, upper)))
    before, after = missing_bounds(values), missing_bounds([*values, (None, None)])

    assert after.box_hi - after.box_lo >= before.box_hi - before.box_lo - 1e-9


@given(pairs)
def test_the_worst_case_holds_the_bounds_and_the_bounds_hold_the_complete_cases_of_whole_prompts(values):
    result = missing_bounds(values)

    assert result.box_lo <= result.manski_lo <= result.manski_hi <= result.box_hi
    whole = [pair for pair in values if pair.count(None) != 1]
    if whole and (bounds := missing_bounds(whole)).complete_case is not None:
        assert bounds.manski_lo - 1e-12 <= bounds.complete_case <= bounds.manski_hi + 1e-12


@given(pairs)
def test_without_errors_all_bounds_are_the_win_rate(values):
    full = [pair for pair in values if None not in pair]
    assume(full)
    result, rate = missing_bounds(full), win_rate_ci([sum(pair) / 2 for pair in full])

    assert (result.box_lo, result.box_hi) == near((rate.lo, rate.hi))
    assert result.manski_lo == near(result.manski_hi)
    assert result.warn is False


@given(st.lists(st.floats(0, 1), max_size=20))
def test_corrected_p_values_are_never_smaller_and_holm_never_below_bh(raw):
    result = multiplicity(raw)

    for p, holm, bh in zip(raw, result.holm, result.bh, strict=True):
        assert p <= bh <= holm <= 1 or p == near(bh)


@given(st.lists(st.tuples(score, st.integers(-500, 500)), min_size=5, max_size=60))
def test_length_control_mirrors_with_the_arms(rows):
    values, gaps = zip(*rows, strict=True)
    one = length_controlled(values, gaps)
    other = length_controlled(flipped(values), [-gap for gap in gaps])
    assume(one.lc_win_rate is not None and other.lc_win_rate is not None)

    assert other.lc_win_rate == near(1 - one.lc_win_rate, abs=1e-7)
    assert (other.lo, other.hi) == near((1 - one.hi, 1 - one.lo), abs=1e-7)


@given(st.integers(1, 50), st.integers(1, 50))
def test_a_judge_that_always_says_first_knows_nothing(first, second):
    result = blinding_indices([[first, second], [0, 0], [0, 0]])

    assert result.bang_arm1.bi + result.bang_arm2.bi == 0
    assert blindness_2afc([0.5] * 20, [1.0, 0.0] * 10).overall.bi == 0


@given(st.lists(st.tuples(score, score), min_size=1, max_size=60))
def test_guessing_that_the_better_one_is_scaffolded_earns_no_balanced_index(rows):
    values = [value for _, value in rows]
    result = blindness_2afc(values, values)

    if result.bi_balanced is not None and set(values) <= {0.0, 0.5, 1.0}:
        assert result.bi_balanced == near(0)


@given(st.floats(0.53, 0.7), st.floats(0, 0.5), st.integers(1, 4), st.floats(0, 1), st.sampled_from([0.6, 0.8, 0.9]))
def test_the_number_of_prompts_for_an_effect_shows_that_effect(rate, ties, calls, corr, power):
    plan = {"tie_share": ties, "calls_per_prompt": calls, "intra_prompt_corr": corr, "power": power}
    n = sample_size(win_rate=rate, **plan).n

    assert min_detectable_effect(n=n, **plan).effect <= rate - 0.5 + 1e-9


@given(st.lists(st.integers(0, 30), min_size=9, max_size=9))
def test_exchanging_human_and_judge_changes_no_agreement(cells):
    table = [cells[:3], cells[3:6], cells[6:]]
    one, other = agreement(table), agreement([list(row) for row in zip(*table, strict=True)])

    for name in ("raw", "kappa", "ac1", "alpha_nominal", "kappa_lo", "ac1_hi"):
        value = getattr(one, name)
        assert getattr(other, name) == (None if value is None else near(value, abs=1e-9))


@given(st.integers(0, 200), st.integers(0, 200))
def test_exact_intervals_are_mirrored(k, rest):
    one, other = binomial_ci(k, k + rest), binomial_ci(rest, k + rest)

    for name in ("wilson", "clopper_pearson"):
        low, high = getattr(one, name)
        assert getattr(other, name) == near((1 - high, 1 - low), abs=1e-9)


@given(st.lists(st.tuples(score, score), min_size=1, max_size=40))
def test_a_difference_turns_its_sign_with_its_terms(rows):
    one = paired_difference([a for a, _ in rows], [b for _, b in rows])
    other = paired_difference([b for _, b in rows], [a for a, _ in rows])

    assert (other.estimate, other.lo, other.hi) == near((-one.estimate, -one.hi, -one.lo), abs=1e-12)


@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 60))
def test_two_arms_have_davidsons_closed_form(wins, losses, ties):
    result = rating({"a|b": [wins, losses, ties]}, ["a", "b"])

    assert result.davidson_nu == near(ties / (wins * losses) ** 0.5, rel=1e-6)
    assert 2.718281828459045 ** result.davidson_log_strength["b"] == near(losses / wins, rel=1e-6)
