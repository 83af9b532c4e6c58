import asyncio

import pytest

from abjudge.app.compare import compare
from abjudge.domain.display import excerpt, printable
from abjudge.domain.errors import Permanent
from abjudge.reports.terminal import render
from tests.fakes import CASE, FakeEvaluator, FakeModel, FakeScaffold, ListLedger, make_bench, verdict_json


def report(width=80, **bench):
    return render(asyncio.run(compare(CASE, make_bench(**bench), ListLedger())), width=width)


def test_the_verdict_is_said_in_plain_words_with_both_totals():
    text = report(judge=FakeModel(lambda r: verdict_json(4, 3)), seed=2)

    assert "The judge prefers the" in text
    assert "20.0" in text
    assert "15.0" in text


def test_a_tie_of_two_orders_that_disagree_is_told_as_one():
    text = report(judge=FakeEvaluator(lambda s: "A"), both_orders=True)

    assert "a tie" in text
    assert "position_inconsistent" in text


def test_a_failure_is_told_as_a_failure():
    text = report(producer=FakeModel(Permanent("quota", "The quota is spent.")))

    assert "No verdict: harness_error (quota)" in text
    assert "The quota is spent." in text
    assert "prefers" not in text


def test_every_leak_is_told():
    text = report(producer=FakeModel("As the cognitive scaffold says."))

    assert "scaffold_marker" in text


@pytest.mark.parametrize("width", [40, 80, 100])
def test_no_line_is_wider_than_the_terminal(width):
    hostile = "[bold]not markup[/bold] \x1b[2J \u202e 漢字 " * 9 + "\n" + "x" * 500

    text = report(width=width, producer=FakeModel(hostile))

    assert all(len(line) <= width for line in text.splitlines())
    assert "\x1b" not in text
    assert "[bold]" in text


def test_the_shared_baseline_is_shown_once():
    scaffolds = [FakeScaffold("a", "text:a"), FakeScaffold("b", "text:b")]

    assert report(scaffolds=scaffolds).count("Baseline response") == 1


def test_control_and_bidi_characters_are_shown_as_what_they_are_not():
    assert printable("a\x00b\x1b[31m\u202ec\r\nd\te\u200d") == "a�b�[31m�c\nd\te\u200d"


def test_an_excerpt_says_what_it_leaves_out():
    assert excerpt("a\nb\nc", lines=2, width=10) == "a\nb\n[... 1 more characters]"
    assert excerpt("a\nb", lines=2, width=10) == "a\nb"
