import asyncio

import pytest

from abjudge.adapters.human import HumanEvaluator
from abjudge.app.compare import compare
from abjudge.domain.blinding import Shown
from tests.fakes import CASE, FakeModel, FakeScaffold, ListLedger, make_bench

SHOWN = Shown(prompt="Why?", a="Because.", b="No \x1b[31midea.", mark="m")


def vote(*typed):
    """The reading that these typed lines come to, and everything the person was shown."""
    lines, written = iter(typed), []
    human = HumanEvaluator(lambda question: written.append(question) or next(lines), written.append)
    _, reading = asyncio.run(human.judge(SHOWN))
    return reading, "".join(written)


@pytest.mark.parametrize(("typed", "verdict"), [("a", "A"), (" B ", "B"), ("t", "tie"), ("tie", "tie")])
def test_a_plain_vote_is_a_verdict_without_scores(typed, verdict):
    reading, _ = vote(typed)

    assert (reading.verdict, reading.scores) == (verdict, None)


def test_scores_make_the_verdict():
    reading, _ = vote("s", *["5"] * 5, *["2"] * 5)

    assert (reading.verdict, reading.totals) == ("A", {"A": 25, "B": 10})


def test_what_is_no_vote_is_asked_again():
    reading, _ = vote("", "maybe", "s", "6", "x", "３", *["3"] * 5, *["3"] * 5)

    assert reading.verdict == "tie"


def test_a_response_cannot_move_the_cursor():
    assert "\x1b" not in vote("a")[1]


def test_a_person_is_shown_nothing_that_names_an_arm_or_a_model():
    lines, written = iter(["a", "b"]), []
    human = HumanEvaluator(lambda q: written.append(q) or next(lines), written.append)
    bench = make_bench(FakeModel("fine"), human, scaffolds=[FakeScaffold("T", "file:hidden.md")], both_orders=True)

    (outcome,) = asyncio.run(compare(CASE, bench, ListLedger()))

    assert outcome.verdict == "baseline" or outcome.verdict == "scaffolded"
    assert not any(word in "".join(written) for word in ("baseline", "scaffolded", "hidden", "fake/model"))
