import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abjudge.measure import leak_classifier, ngram_overlap

words = st.lists(st.sampled_from("abc"), max_size=25).map(" ".join)


def listed(response, scaffold, prompt, n):
    """The definition, word for word."""

    def grams(text, length):
        tokens = re.findall(r"\w+", text.lower())
        return [tuple(tokens[start : start + length]) for start in range(len(tokens) - length + 1)]

    own = set(grams(scaffold, n)) - set(grams(prompt, n))
    runs = grams(response, n)
    longest = max(
        (
            length
            for length in range(1, 30)
            if set(grams(response, length)) & (set(grams(scaffold, length)) - set(grams(prompt, length)))
        ),
        default=0,
    )
    return (sum(run in own for run in runs) / len(runs) if runs else 0, longest)


@given(words, words, words, st.integers(1, 5))
def test_the_automaton_finds_what_listing_finds(response, scaffold, prompt, n):
    result = ngram_overlap(response, scaffold, prompt, n=n)

    assert (result.share, result.longest) == listed(response, scaffold, prompt, n)


def test_a_run_that_the_prompt_brought_is_the_prompts():
    assert ngram_overlap("list every part", "please list every part", "list every part", n=2).longest == 0
    assert ngram_overlap("list every part", "please list every part", "list every", n=2).longest == 3


def texts(n, mark):
    return [f"Wash it with vinegar {place % 7} times{mark}." for place in range(n)]


def test_a_habit_of_one_arm_is_found():
    result = leak_classifier(texts(60, ", step by step"), texts(60, ""), seed=4)

    assert result.accuracy == 1
    assert result.p_value == pytest.approx(0.001)


def test_equal_texts_tell_nothing():
    result = leak_classifier(texts(60, ""), texts(60, ""), seed=4)

    assert (result.accuracy, result.p_value) == (0.5, 1)


def test_the_seed_alone_decides():
    ours, theirs = texts(30, " now"), [*texts(20, ""), *texts(10, " now")]

    assert leak_classifier(ours, theirs, seed=4) == leak_classifier(ours, theirs, seed=4)
