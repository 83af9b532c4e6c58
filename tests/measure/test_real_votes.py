"""Real votes of three judges on 100 pairs in both orders, with human labels: LLMBar, Natural."""

import csv
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from abjudge.measure import agreement, confusion, jury, null_baselines, panel_agreement, position_bias, win_rate_ci

WITH_TEST_ARM_FIRST = {"12": False, "21": True}


def votes():
    with (Path(__file__).parent / "llmbar_natural_votes.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def score(vote):
    """From the side of response 2, which is the arm under test."""
    first_wins = vote["verdict"] == "A"
    return float(first_wins == WITH_TEST_ARM_FIRST[vote["order"]])


def pairs_of(judge):
    """(score with response 2 first, score with it second) for each case."""
    found = defaultdict(dict)
    for vote in votes():
        if vote["judge"] == judge:
            found[vote["case_id"]][vote["order"]] = score(vote)
    return [(orders["21"], orders["12"]) for _, orders in sorted(found.items())]


def human_of(judge):
    found = {vote["case_id"]: float(vote["human"] == "2") for vote in votes() if vote["judge"] == judge}
    return [label for _, label in sorted(found.items())]


JUDGES = ["GPT-4", "ChatGPT", "Falcon"]
ROWS = [("GPT-4", 5, 101, 191), ("ChatGPT", 29, 121, 163), ("Falcon", 48, 148, 148)]


@pytest.mark.parametrize(("judge", "flips", "first_shown", "agreeing"), ROWS)
def test_flips_first_places_and_agreement_are_those_of_the_data(judge, flips, first_shown, agreeing):
    pairs, human = pairs_of(judge), human_of(judge)
    position = position_bias(pairs)
    calls = [call for pair in pairs for call in pair]
    labels = [label for label in human for _ in range(2)]

    assert position.n == 100
    assert position.strict_flip == pytest.approx(flips / 100)
    assert position.first_pref == pytest.approx(first_shown / 200)
    assert agreement(confusion(labels, calls)).raw == pytest.approx(agreeing / 200)


def test_only_the_judge_that_shifts_with_the_place_is_called_biased():
    bias = {judge: position_bias(pairs_of(judge)) for judge in JUDGES}

    assert bias["GPT-4"].p_value > 0.05
    assert bias["ChatGPT"].lo > 0.5
    assert bias["Falcon"].lo > 0.5


def test_the_win_rate_is_counted_in_prompts_not_in_calls():
    scores = [sum(pair) / 2 for pair in pairs_of("GPT-4")]

    result = win_rate_ci(scores)

    assert result.n == 100
    assert Counter(scores)[0.5] == result.ties == 5


def test_three_judges_together_are_one_vote_a_prompt():
    scores = {judge: [sum(pair) / 2 for pair in pairs_of(judge)] for judge in JUDGES}

    result = jury(scores)

    assert result.together.n == 100
    assert result.overlap == 100
    assert result.judges["GPT-4"] == win_rate_ci(scores["GPT-4"])


def test_three_judges_agree_beyond_chance():
    marks = [[sum(pair) / 2 for pair in pairs_of(judge)] for judge in JUDGES]
    table = [[{0.0: "loss", 0.5: "tie", 1.0: "win"}[mark] for mark in row] for row in zip(*marks, strict=True)]

    result = panel_agreement(table)

    assert result.n_items == 100
    assert 0 < result.krippendorff_alpha.low < result.krippendorff_alpha.high < 1


def test_always_saying_first_agrees_with_half_of_the_labels_over_both_orders():
    human = human_of("GPT-4")

    result = null_baselines(human * 2, scaffold_first=[True] * 100 + [False] * 100)

    assert result.always_first.estimate == 0.5
    assert result.always_longer is None
