"""Nothing, one, all alike, very many: an honest answer or a clear refusal, never NaN, a warning or a wait."""

import math
import time
import warnings

import pytest

from abjudge import measure

FEW = {
    "nothing": [],
    "only incomplete": [None, None],
    "one win": [1],
    "one tie": [0.5],
    "two": [1, 0],
    "all wins": [1.0] * 12,
    "all losses": [0] * 12,
    "all ties": [0.5] * 12,
    "with gaps": [1, None, 0.5, 0, 1, None],
    "thirds": [1 / 3] * 7 + [2 / 3] * 5,
    "nearly ties": [0.5 + 1e-9] * 30,
}
OF_SCORES = {
    "win_rate_ci": measure.win_rate_ci,
    "anytime": measure.anytime,
    "paired_tests": measure.paired_tests,
    "sequential": measure.sequential,
    "futility": lambda scores: measure.futility(scores, delta=0.1),
    "length_controlled": lambda scores: measure.length_controlled(scores, list(range(len(scores)))),
    "length_controlled, one length": lambda scores: measure.length_controlled(scores, [7] * len(scores)),
    "longer_wins": lambda scores: measure.longer_wins(scores, list(range(len(scores)))),
    "missing_bounds": lambda scores: measure.missing_bounds(list(zip(scores, scores[::-1], strict=True))),
    "position_bias": lambda scores: measure.position_bias(list(zip(scores, scores[::-1], strict=True))),
    "balanced": lambda scores: measure.balanced_single_order(scores, scores[1:]),
    "balanced, one side": lambda scores: measure.balanced_single_order(scores, []),
    "blindness": lambda scores: measure.blindness_2afc(scores, scores[::-1]),
    "clustered_se": lambda scores: measure.clustered_se([[score] for score in scores]),
    "prompt_score": lambda scores: measure.prompt_score(scores, scores),
    "paired_difference": lambda scores: measure.paired_difference(scores, scores[::-1]),
    "jury": lambda scores: measure.jury({"a": scores, "b": scores[::-1]}),
    "drift": lambda scores: measure.drift(scores, scores[::-1], human=scores),
    "cluster_win_rate": lambda scores: measure.cluster_win_rate(scores, clusters=[i % 3 for i in range(len(scores))]),
    "resample_control": measure.resample_control,
}


def numbers(value):
    if isinstance(value, float):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from numbers(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from numbers(part)


@pytest.mark.parametrize("scores", FEW.values(), ids=FEW)
@pytest.mark.parametrize("function", OF_SCORES.values(), ids=OF_SCORES)
@pytest.mark.filterwarnings("error")
def test_few_or_equal_scores_have_an_honest_answer(function, scores):
    result = function(scores)

    assert all(math.isfinite(number) for number in numbers(result.model_dump()))


def test_nothing_is_known_of_no_prompt_and_of_one():
    none, one = measure.win_rate_ci([None]), measure.win_rate_ci([1])

    assert (none.estimate, none.lo, none.hi, none.p_value, none.n) == (None, 0, 1, 1, 0)
    assert (one.estimate, one.lo, one.hi, one.p_value, one.n) == (1, 0, 1, 1, 1)


def test_an_incomplete_prompt_is_left_out_and_counted():
    with_gaps, without = measure.win_rate_ci([1, None, 0.5, 1, None]), measure.win_rate_ci([1, 0.5, 1])

    assert with_gaps.incomplete == 2
    assert (with_gaps.estimate, with_gaps.lo, with_gaps.hi) == (without.estimate, without.lo, without.hi)


def test_an_estimate_carries_everything_that_a_report_needs():
    estimate = measure.win_rate_ci([1, 0.5, 1, 0]).as_estimate

    assert set(estimate.model_dump()) == {"point", "low", "high", "n", "conf", "method", "source"}


@pytest.mark.parametrize(
    "wrong",
    [[1.5], [-0.1], [math.nan], [math.inf], ["1", "x"], [[1, 0]]],
    ids=["1.5", "-0.1", "nan", "inf", "text", "rows"],
)
def test_what_is_no_score_is_refused(wrong):
    for function in (measure.win_rate_ci, measure.anytime, measure.paired_tests, measure.sequential):
        with pytest.raises(ValueError, match="prompt_scores"):
            function(wrong)


@pytest.mark.parametrize(
    "call",
    [
        lambda: measure.win_rate_ci([1, 0], conf=1),
        lambda: measure.anytime([1, 0], alpha=0),
        lambda: measure.binomial_ci(3, 2),
        lambda: measure.binomial_ci(-1, 2),
        lambda: measure.missing_bounds([(1, 0, 1)]),
        lambda: measure.futility([1], delta=0.5),
        lambda: measure.length_controlled([1, 0], [3]),
        lambda: measure.blinding_indices([[1, 2], [3, 4]]),
        lambda: measure.agreement([[1, 2, 3], [4, 5, 6]]),
        lambda: measure.ppi_plus_plus([1], [1, 0], []),
        lambda: measure.multiplicity([0.1, 1.2]),
        lambda: measure.shrinkage([0.5], noise_variance_of_mode_deviation=-1),
        lambda: measure.rating({"a|b": [3, 0, 0]}, ["a", "b"]),
        lambda: measure.rating({"a|b": [3, 1, 0]}, ["a", "b", "c"]),
        lambda: measure.rating({"a|x": [3, 1, 0]}, ["a", "b"]),
        lambda: measure.sample_size(win_rate=0.5),
        lambda: measure.sample_size(win_rate=0.9, tie_share=0.6),
        lambda: measure.gate_category_pass(n_items=0, true_rate=0.5),
        lambda: measure.ngram_overlap("a", "b", "c", n=0),
    ],
)
def test_what_cannot_be_answered_is_refused_with_a_reason(call):
    with pytest.raises(ValueError, match=r"\w+: "):
        call()


def test_overwhelming_evidence_stays_a_number():
    result = measure.anytime([1.0] * 100_000)

    assert math.isfinite(result.e_value)
    assert result.log_e > 60_000
    assert result.cs_lo > 0.999
    assert result.cs_hi == 1


def test_a_table_without_variation_has_no_kappa_but_has_an_ac1():
    result = measure.agreement([[9, 0, 0], [0, 0, 0], [0, 0, 0]])

    assert (result.raw, result.kappa, result.alpha_nominal, result.ac1) == (1, None, None, 1)


@pytest.mark.parametrize("table", [[[0, 0], [0, 0], [0, 0]], [[5, 0], [0, 0], [1, 0]]])
def test_a_blinding_index_that_divides_by_nothing_is_none(table):
    result = measure.blinding_indices(table)

    assert result.james.bi is None
    assert result.bang_arm2.bi is None


def test_a_judge_that_never_guesses_is_blind():
    result = measure.blinding_indices([[0, 0], [0, 0], [30, 30]])

    assert (result.james.bi, result.james.se, result.bang_arm1.bi) == (1, 0, 0)


def test_a_fit_that_runs_away_is_refused():
    result = measure.length_controlled([1.0] * 40, list(range(40)))

    assert result.lc_win_rate is None
    assert result.refusal is not None


@pytest.mark.parametrize(
    ("n", "shift", "refused"),
    [(40, 0, False), (20, 0, True), (60, 1.5, True), (300, 1.5, False), (300, 2.5, True)],
)
def test_length_control_is_refused_where_it_would_extrapolate(n, shift, refused):
    half = n // 2
    gaps = [shift + (-1 if place % 2 else 1) for place in range(n)]

    result = measure.length_controlled(([1, 0, 0, 1] * n)[:half] + ([0, 1, 1, 1] * n)[: n - half], gaps)

    assert (result.refusal is not None) == refused


def test_a_hundred_thousand_votes_are_analysed_within_two_seconds():
    pairs = [(one / 2, other / 2) for one, other in [(0, 2), (1, 0), (2, 1), (2, 2), (1, 2)] * 10_000]
    scores = [sum(pair) / 2 for pair in pairs]
    measure.win_rate_ci(scores[:10])  # imports are start-up
    start = time.process_time()

    measure.win_rate_ci(scores)
    measure.paired_tests(scores)
    measure.missing_bounds(pairs)
    measure.position_bias(pairs)
    measure.anytime(scores)
    measure.sequential(scores)
    measure.length_controlled(scores, list(range(-25_000, 25_000)))

    assert time.process_time() - start < 2


def test_nothing_here_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        measure.ppi_plus_plus([], [], [])
        measure.ppi_plus_plus([1, 0, 1], [1, 1, 1], [1])
        measure.panel_agreement([])
        measure.agreement([[0, 0], [0, 0]])
        measure.leak_classifier([], [], seed=1)
