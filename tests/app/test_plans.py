from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abjudge.app.controls import DAMAGES, damage, placebo
from abjudge.domain.plans import SweepPlan


@given(st.integers(1, 3000), st.integers(1, 7))
def test_a_rotating_jury_shares_the_work_and_twenty_prompts(cases, judges):
    plan = SweepPlan()
    seats = [plan.judges_of(index, judges) for index in range(cases)]

    assert all(len(seat) == judges for seat in seats[:20])
    turns = Counter(seat[0] for seat in seats[20:])
    assert judges == 1 or not turns or max(turns.values()) - min(turns.get(n, 0) for n in range(judges)) <= 1


@given(
    st.integers(1, 3000), st.integers(1, 4), st.integers(1, 4), st.sampled_from(["rotate", "panel"]), st.integers(1, 3)
)
def test_the_calls_of_a_plan_are_the_calls_that_are_made(cases, scaffolds, judges, jury, repetitions):
    plan = SweepPlan(jury=jury, repetitions=repetitions)

    producers, seats = plan.calls(cases, scaffolds, judges)

    assert producers == cases * (1 + scaffolds) * repetitions
    looked = sum(len(plan.judges_of(index, judges)) for index in range(cases))
    assert seats == looked * scaffolds * 2 * repetitions


@given(st.integers(1, 5000))
def test_twenty_four_places_have_controls_or_all_of_a_short_run(cases):
    plan = SweepPlan(controls=("null", "degraded"))

    places = [index for index in range(cases) if plan.controls_of(index, cases)]

    assert len(places) == min(24, cases)


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_answer_is_another_and_the_same_one_every_time(how):
    text = "First open the lid. It is safe at 40 degrees. Never use more than 2 spoons. Then close the lid again."

    assert damage(text, how, seed=3) not in (None, text)
    assert damage(text, how, seed=3) == damage(text, how, seed=3)


@given(st.text(max_size=200), st.sampled_from(DAMAGES))
def test_whatever_the_text_a_damage_changes_it_or_declines(text, how):
    assert damage(text, how, seed=1) != text


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=400))
def test_a_placebo_is_as_long_and_says_nothing_of_the_scaffold(text):
    words = placebo(text)

    assert abs(len(words) - len(text)) <= 8 * (text.count("\n") + 1) + 8
    assert "PROCEDURE" not in words
