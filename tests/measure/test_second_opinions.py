"""Each method against an implementation by other people."""

import evalica
import krippendorff
import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats import inter_rater, multitest, power, proportion
from statsmodels.stats.contingency_tables import mcnemar

from abjudge import measure

near = pytest.approx
RANDOM = np.random.default_rng(20240)


def nominal_alpha(codes):
    return krippendorff.alpha(codes, level_of_measurement="nominal")


@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (3, 7), (50, 51), (400, 1000), (99_999, 100_000)])
@pytest.mark.parametrize("conf", [0.8, 0.95, 0.999])
def test_binomial_intervals_are_those_of_statsmodels(k, n, conf):
    result = measure.binomial_ci(k, n, conf=conf)

    assert result.wilson == near(proportion.proportion_confint(k, n, 1 - conf, "wilson"), abs=1e-9)
    assert result.clopper_pearson == near(proportion.proportion_confint(k, n, 1 - conf, "beta"), abs=1e-9)


@pytest.mark.parametrize(("wins", "losses"), [(9, 2), (1, 0), (40, 60), (30_000, 29_000)])
def test_the_sign_test_is_scipys_and_mcnemars(wins, losses):
    p = measure.sign_test(wins, losses)

    assert p == near(stats.binomtest(wins, wins + losses).pvalue, rel=1e-9)
    assert p == near(mcnemar([[0, wins], [losses, 0]], exact=True).pvalue, rel=1e-9)


@pytest.mark.parametrize("n", [5, 12, 15])
@pytest.mark.parametrize("grid", [2, 4, 12, 1000])
def test_sign_flips_are_those_of_scipys_permutation_test(n, grid):
    scores = RANDOM.integers(0, grid + 1, n) / grid
    gaps = scores - 0.5
    everything = stats.permutation_test((gaps,), np.sum, permutation_type="samples", n_resamples=np.inf)

    result = measure.paired_tests(scores.tolist())

    assert result.signflip_method == "exact"
    assert result.signflip_p == near(everything.pvalue, abs=1e-9)


def test_sign_flips_of_many_votes_are_exact_and_near_their_normal_limit():
    scores = (RANDOM.integers(0, 5, 20_000) / 4).tolist()
    result = measure.paired_tests(scores)
    gaps = np.array(scores) - 0.5

    assert result.signflip_method == "exact"
    assert result.signflip_p == near(2 * stats.norm.sf(abs(gaps.sum()) / np.sqrt(gaps @ gaps)), abs=5e-3)


def test_the_interval_of_clear_votes_on_many_prompts_is_wilsons():
    result = measure.win_rate_ci([1.0] * 60_000 + [0.0] * 40_000)

    assert (result.lo, result.hi) == near(proportion.proportion_confint(60_000, 100_000, method="wilson"), abs=1e-6)


def test_length_control_is_statsmodels_glm_with_hc0():
    gaps = RANDOM.normal(60, 200, 250)
    scores = np.clip(np.round(4 / (1 + np.exp(-gaps / 300 - RANDOM.normal(0, 1.5, 250)))) / 4, 0, 1)
    x = sm.add_constant(np.tanh(gaps / gaps.std(ddof=1)))
    fit = sm.GLM(scores, x, family=sm.families.Binomial()).fit(cov_type="HC0", tol=1e-12)

    result = measure.length_controlled(scores.tolist(), gaps.tolist())

    assert (result.intercept, result.slope) == near(tuple(fit.params), abs=1e-8)
    assert (result.se_intercept, result.se_slope) == near(tuple(fit.bse * np.sqrt(250 / 248)), abs=1e-8)


@pytest.mark.parametrize("cells", [[10, 2, 1, 3, 6, 3, 1, 2, 22], [80, 3, 2, 1, 4, 2, 3, 0, 5]])
def test_agreement_is_that_of_statsmodels_and_krippendorff(cells):
    table = np.array(cells).reshape(3, 3)
    human = np.repeat([0, 0, 0, 1, 1, 1, 2, 2, 2], cells)
    judge = np.repeat([0, 1, 2] * 3, cells)

    result = measure.agreement(table.tolist())

    assert result.kappa == near(inter_rater.cohens_kappa(table).kappa)
    assert result.alpha_nominal == near(nominal_alpha(np.vstack((human, judge)).astype(float)))


def test_panel_agreement_is_that_of_statsmodels_and_krippendorff():
    ratings = RANDOM.choice(["loss", "tie", "win"], size=(40, 4), p=[0.2, 0.2, 0.6])
    ratings[:, 1] = np.where(RANDOM.random(40) < 0.6, ratings[:, 0], ratings[:, 1])
    codes = np.unique(ratings, return_inverse=True)[1].reshape(ratings.shape)
    gappy = [[None if (row + place) % 7 == 0 else mark for place, mark in enumerate(marks)]
             for row, marks in enumerate(ratings.tolist())]  # fmt: skip
    holes = np.array([[np.nan if mark is None else code for mark, code in zip(marks, row, strict=True)]
                      for marks, row in zip(gappy, codes, strict=True)])  # fmt: skip

    full, part = measure.panel_agreement(ratings.tolist()), measure.panel_agreement(gappy)

    assert full.fleiss_kappa.point == near(inter_rater.fleiss_kappa(inter_rater.aggregate_raters(ratings)[0]))
    assert full.krippendorff_alpha.point == near(nominal_alpha(codes.T.astype(float)))
    assert part.krippendorff_alpha.point == near(nominal_alpha(holes.T))
    assert part.fleiss_kappa is None


def test_the_jackknife_over_cells_is_the_one_over_units():
    ratings = RANDOM.choice(["loss", "tie", "win"], size=(30, 2))
    table = measure.confusion(*[[{"loss": 0, "tie": 0.5, "win": 1}[mark] for mark in column] for column in ratings.T])

    cells, units = measure.agreement(table), measure.panel_agreement(ratings.tolist()).krippendorff_alpha

    assert (cells.alpha_nominal, cells.alpha_nominal_lo) == near((units.point, units.low))


@pytest.mark.parametrize("count", [1, 2, 13])
def test_corrected_p_values_are_those_of_statsmodels(count):
    raw = np.round(RANDOM.random(count) ** 3, 2)

    result = measure.multiplicity(raw.tolist())

    assert result.holm == near(tuple(multitest.multipletests(raw, method="holm")[1]))
    assert result.bh == near(tuple(multitest.multipletests(raw, method="fdr_bh")[1]))


@pytest.mark.parametrize("rate", [0.55, 0.6, 0.75, 0.3])
@pytest.mark.parametrize(("ties", "calls", "corr"), [(0.0, 1, 0.0), (0.3, 2, 0.5), (0.1, 4, 0.9)])
def test_the_power_of_a_sample_size_is_that_of_statsmodels(rate, ties, calls, corr):
    result = measure.sample_size(win_rate=rate, tie_share=ties, calls_per_prompt=calls, intra_prompt_corr=corr)
    effect = abs(rate - 0.5) / result.sigma_prompt

    assert result.power_at_n == near(power.TTestPower().power(effect, result.n, 0.05), abs=1e-7)
    assert power.TTestPower().power(effect, result.n - 1, 0.05) < 0.8


@pytest.mark.parametrize("n", [2, 10, 24, 300])
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.75])
def test_control_thresholds_are_binomial_quantiles(n, rate):
    right = measure.positive_control_threshold(n, unfit_rate=rate)
    decisive = measure.identical_control_threshold(n, unfit_decisive_rate=rate)

    if right.min_correct is None:
        assert stats.binom.sf(n - 1, n, rate) > 0.05
    else:
        assert stats.binom.sf(right.min_correct - 1, n, rate) == near(right.p_pass_unfit) and right.p_pass_unfit <= 0.05
        assert stats.binom.sf(right.min_correct - 2, n, rate) > 0.05
    if decisive.max_decisive is None:
        assert stats.binom.cdf(0, n, rate) > 0.05
    else:
        assert stats.binom.cdf(decisive.max_decisive, n, rate) == near(decisive.p_pass_unfit)
        assert decisive.p_pass_unfit <= 0.05 < stats.binom.cdf(decisive.max_decisive + 1, n, rate)


def test_bradley_terry_is_evalicas():
    counts = {"a|b": [12, 20, 8], "b|c": [5, 9, 1], "a|c": [14, 18, 4], "c|d": [8, 7, 5], "d|a": [3, 11, 2]}
    rows = [(key.split("|"), winner) for key, cells in counts.items()
            for winner, count in zip(("X", "Y", "Draw"), cells, strict=True) for _ in range(count)]  # fmt: skip
    fit = evalica.bradley_terry(
        [pair[0] for pair, _ in rows],
        [pair[1] for pair, _ in rows],
        [getattr(evalica.Winner, winner) for _, winner in rows],
        tie_weight=0.5,
        tolerance=1e-12,
        limit=10_000,
    )
    theirs = np.log(fit.scores / fit.scores["a"])

    result = measure.rating(counts, ["a", "b", "c", "d"])

    assert result.bt_half_ties_log_strength == near(dict(theirs), abs=1e-5)


def test_the_gate_is_binomial():
    result = measure.gate_category_pass(n_items=17, true_rate=0.63, threshold=0.7)

    assert result.min_pass == 12
    assert result.p_pass == near(stats.binom.sf(11, 17, 0.63))
