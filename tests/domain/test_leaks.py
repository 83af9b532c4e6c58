import pytest
from hypothesis import given
from hypothesis import strategies as st

from abjudge.domain.leaks import find_leaks, strip_thinking

SCAFFOLD = """[PROCEDURE]
Step 1: list every part that touches hot water before you name any acid at all.
[FALSIFICATION TEST] If the kettle has a coating, ask first.
## Before you answer
"""


def kinds(text, **given):
    return [leak.kind for leak in find_leaks(text, **given)]


def test_a_heading_of_the_scaffold_in_a_response_is_a_leak():
    assert kinds("[PROCEDURE]\n1. Fill it.", scaffold=SCAFFOLD) == ["scaffold_heading"]


def test_the_block_marker_is_a_leak_in_any_case():
    assert kinds("As the cognitive scaffold says, use acid.") == ["scaffold_marker"]


def test_eight_words_of_the_scaffold_in_a_row_are_a_leak_and_seven_are_not():
    eight = "I would list every part that touches hot water before anything."
    seven = "I would list every part that touches hot milk."

    assert kinds(eight, scaffold=SCAFFOLD) == ["scaffold_ngram"]
    assert kinds(seven, scaffold=SCAFFOLD) == []


def test_words_that_the_prompt_brought_are_no_leak():
    prompt = "Please list every part that touches hot water before you name any acid. [PROCEDURE]"

    assert (
        kinds("[PROCEDURE] list every part that touches hot water before you", scaffold=SCAFFOLD, prompt=prompt) == []
    )


def test_a_model_that_names_itself_is_a_leak_and_a_longer_word_is_not():
    assert kinds("I am Qwen, made by Alibaba.", names=("qwen",)) == ["model_name"]
    assert kinds("Qwenish things.", names=("qwen",)) == []


@given(st.text(max_size=300), st.text(max_size=300), st.text(max_size=60))
def test_any_texts_give_leaks_and_never_an_error(text, scaffold, prompt):
    assert isinstance(find_leaks(text, scaffold=scaffold, prompt=prompt), tuple)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>hm</think>\nFour.", "Four."),
        ("hm, two and two\n</think>\n\nFour.", "Four."),
        ("Four.\n<thinking>more", "Four."),
        ("<think>a</think>Four.<think>b</think>", "Four.<think>b</think>"),
        ("<think>a</think><think>b</think>\n<thinking>c</thinking>Four.", "Four."),
        ("Two.\n<think>a</think>\nThree.\n<think>b", "Two.\n\nThree."),
        ("Write `<think>` before it.", "Write `<think>` before it."),
        ("<think>only this", ""),
        ("Four.", "Four."),
        ("<THINK>x</THINK>\n\nFive", "Five"),
    ],
)
def test_thinking_is_taken_out_where_its_tag_opens_a_line(text, answer):
    assert strip_thinking(text)[0] == answer


@given(st.text(alphabet="ab<think>/\n ", max_size=80))
def test_taking_thinking_out_twice_is_taking_it_out_once(text):
    once = strip_thinking(text)[0]

    assert strip_thinking(once)[0] == once


@pytest.mark.parametrize(
    ("text", "scaffold"),
    [
        ("\n<think></think>" * 200_000, ""),
        ("a" * 5_000_000, ""),
        ("x" * 300_000, "#" + " " * 20_000 + "\v" + " " * 20_000 + "x"),
        ("word " * 100_000, "\n".join(f"# heading number {n}" for n in range(20_000))),
        ("</think" * 100_000, ""),
    ],
)
def test_a_hostile_text_is_looked_through_in_linear_time(text, scaffold):
    strip_thinking(text)

    assert isinstance(find_leaks(text, scaffold=scaffold), tuple)
