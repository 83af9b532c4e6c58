"""The claims of docs/statistics.md as simulations with stated error: every bound is three standard errors wide."""

import numpy as np
import pytest

from abjudge import measure
from tests.simulation.worlds import World, share

pytestmark = pytest.mark.slow
REPEATS = 10_000


def holds(interval, truth):
    return interval.lo <= truth <= interval.hi


def at_least(found, bound):
    rate, error = share(found)
    assert rate >= bound - 3 * error, f"{rate:.3f} +- {error:.3f}, promised {bound} and more"


def at_most(found, bound):
    rate, error = share(found)
    assert rate <= bound + 3 * error, f"{rate:.3f} +- {error:.3f}, promised {bound} and less"


@pytest.mark.parametrize("n", [10, 30, 100, 1000])
@pytest.mark.parametrize("world", [World(), World(0.5, slot=0.4), World(1.5, band=0), World(0.6, band=1.2)], ids=repr)
def test_the_interval_covers_the_truth(world, n):
    random = np.random.default_rng(n)

    at_least((holds(measure.win_rate_ci(world.scores(random, n)), world.truth) for _ in range(REPEATS)), 0.94)


@pytest.mark.parametrize("n", [5, 8, 12, 20, 50])
@pytest.mark.parametrize("world", [World(), World(slot=0.4), World(band=1.2)], ids=repr)
def test_no_difference_is_found_where_there_is_none(world, n):
    random = np.random.default_rng(n)

    at_most((measure.win_rate_ci(world.scores(random, n)).p_value < 0.05 for _ in range(REPEATS)), 0.05)


def test_looking_ten_times_at_the_ordinary_test_finds_what_is_not_there():
    random, looks = np.random.default_rng(1), range(10, 101, 10)

    def fooled():
        scores = World().scores(random, 100)
        return any(measure.win_rate_ci(scores[:n]).p_value < 0.05 for n in looks)

    at_least((fooled() for _ in range(1000)), 0.12)


@pytest.mark.parametrize("n", [100, 200, 500])
def test_the_hybrid_stop_keeps_five_percent_with_a_look_after_every_prompt(n):
    random = np.random.default_rng(n)

    at_most((measure.sequential(World().scores(random, n)).hybrid.reject for _ in range(REPEATS)), 0.05)


def test_the_hybrid_stop_saves_most_calls_of_a_large_effect():
    random, world = np.random.default_rng(2), World(0.75)
    stops = [measure.sequential(world.scores(random, 200)).hybrid.stop_at for _ in range(300)]

    assert world.truth == pytest.approx(0.7, abs=0.01)
    assert np.mean([200 if stop is None else stop for stop in stops]) < 0.3 * 200


def test_futility_seldom_calls_a_real_difference_none():
    random, world = np.random.default_rng(3), World(0.258)
    scores = (world.scores(random, 500) for _ in range(1000))

    assert world.truth == pytest.approx(0.57, abs=0.005)
    at_most((measure.futility(one, delta=0.07).stop_at is not None for one in scores), 0.05)


def test_errors_taken_for_ties_lose_the_truth_and_the_worst_case_keeps_it():
    random, world = np.random.default_rng(4), World(0.75)

    def once():
        pairs = world.pairs(random, 1000)
        lost = random.random(1000) < 0.2
        as_ties = measure.win_rate_ci(np.where(lost, 0.5, pairs.mean(axis=1)))
        rows = [(None, None) if gone else pair for gone, pair in zip(lost, pairs.tolist(), strict=True)]
        bounds = measure.missing_bounds(rows)
        return (
            holds(as_ties, world.truth),
            bounds.cc_lo <= world.truth <= bounds.cc_hi,
            bounds.box_lo <= world.truth <= bounds.box_hi,
        )

    ties, complete, box = zip(*(once() for _ in range(500)), strict=True)
    at_most(ties, 0.02)
    at_least(complete, 0.94)
    at_least(box, 0.98)


def test_a_fixed_order_would_find_the_place_and_both_orders_do_not():
    random, world = np.random.default_rng(5), World(slot=0.35)
    pairs = [world.pairs(random, 100) for _ in range(1000)]

    at_least((measure.win_rate_ci(one[:, 0]).p_value < 0.05 for one in pairs), 0.4)
    at_most((measure.win_rate_ci(one.mean(axis=1)).p_value < 0.05 for one in pairs), 0.05)
    at_least((measure.position_bias(one).p_value < 0.05 for one in pairs), 0.7)


def test_a_judge_that_takes_the_better_one_for_the_scaffolded_one_is_not_called_unblinded():
    random, world = np.random.default_rng(6), World(0.75)

    def once():
        scores = world.scores(random, 100)
        told = random.random(100) < 0.5
        guesses = np.where(told, scores, random.choice([0, 0.5, 1], 100))
        index = measure.blindness_2afc(guesses, scores)
        return index.overall.lo > 0, index.label == "not blind", index.lo <= 0 <= index.hi

    naive, balanced, covered = zip(*(once() for _ in range(1500)), strict=True)
    at_least(naive, 0.5)
    at_most(balanced, 0.03)
    at_least(covered, 0.94)


@pytest.mark.parametrize("labels", [20, 50])
def test_labels_correct_a_biased_judge(labels):
    random, truth = np.random.default_rng(labels), World(0.5, band=0).truth

    def once():
        gaps = random.normal(0.5, 1, 300)
        human = np.sign(gaps + random.normal(0, 1, 300))
        votes = (np.sign(gaps[:, None] + 0.4 + random.normal(0, 0.7, (300, 2))).mean(axis=1) + 1) / 2
        labelled = (human[:labels] + 1) / 2
        result = measure.ppi_plus_plus(labelled, votes[:labels], votes[labels:])
        judge_alone = measure.win_rate_ci(votes)
        return holds(result, truth), holds(judge_alone, truth)

    corrected, alone = zip(*(once() for _ in range(1500)), strict=True)
    at_least(corrected, 0.93)
    at_most(alone, 0.3)


def test_holm_keeps_five_percent_over_eight_scaffolds():
    random = np.random.default_rng(8)

    def once():
        raw = [measure.win_rate_ci(World().scores(random, 50)).p_value for _ in range(8)]
        return min(measure.multiplicity(raw).holm) < 0.05, min(raw) < 0.05

    corrected, raw = zip(*(once() for _ in range(600)), strict=True)
    at_most(corrected, 0.05)
    at_least(raw, 0.25)


def test_the_best_of_eight_equals_is_shrunk_back():
    random = np.random.default_rng(9)
    found = [measure.best_of({str(mode): World().scores(random, 30) for mode in range(8)}) for _ in range(400)]

    assert np.mean([best.raw - 0.5 for best in found]) > 0.05
    assert abs(np.mean([best.shrunk - 0.5 for best in found])) < 0.03


def test_the_planned_number_of_prompts_has_the_planned_power():
    random, world = np.random.default_rng(10), World(0.37, band=0.6)
    draws = [world.pairs(random, 4000) for _ in range(20)]
    every = np.concatenate(draws)
    plan = measure.sample_size(
        win_rate=world.truth,
        tie_share=float((every == 0.5).mean()),
        intra_prompt_corr=float(np.corrcoef(every.T)[0, 1]),
    )

    found = [measure.win_rate_ci(world.scores(random, plan.n)).p_value < 0.05 for _ in range(REPEATS)]

    assert share(found)[0] == pytest.approx(0.8, abs=0.03)


def test_a_leak_classifier_finds_nothing_where_nothing_is():
    random = np.random.default_rng(11)
    vocabulary = np.array([f"w{place}" for place in range(60)])

    def once(seed):
        texts = [[" ".join(random.choice(vocabulary, 25)) for _ in range(40)] for _ in range(2)]
        return measure.leak_classifier(*texts, seed=seed, permutations=199).p_value <= 0.05

    at_most((once(seed) for seed in range(300)), 0.05)
