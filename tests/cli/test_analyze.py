"""`abjudge analyze`: votes that came from elsewhere, and runs of our own."""

from pathlib import Path

import pytest

from tests.cli.running import abjudge

LLMBAR = Path(__file__).parents[1] / "measure" / "llmbar_natural_votes.csv"


def test_the_recorded_votes_give_the_known_figures():
    done = abjudge("analyze", LLMBAR, "--json")

    judges, people = done.json["judges"], done.json["human"]["judges"]
    assert done.code == 0
    assert {name: judge["flips"] for name, judge in judges.items()} == {"GPT-4": 5, "ChatGPT": 29, "Falcon": 48}
    assert [judges[n]["first_shown_won"] for n in ("GPT-4", "ChatGPT", "Falcon")] == [101, 121, 148]
    assert [people[n]["agreed"] for n in ("GPT-4", "ChatGPT", "Falcon")] == [191, 163, 148]
    assert done.json["trials"] == 100 == sum(done.json[key] for key in ("wins", "losses", "ties", "errors"))


def write(tmp_path, *lines):
    path = tmp_path / "votes.csv"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def test_an_error_is_counted_and_never_a_tie(tmp_path):
    path = write(tmp_path, "case_id,verdict,order", "1,B,12", "1,A,21", "2,B,12", "2,error,21", "3,A,12", "3,A,21")

    figures = abjudge("analyze", path, "--json").json

    assert {key: figures[key] for key in ("trials", "wins", "losses", "ties", "errors")} == {
        "trials": 3,
        "wins": 1,
        "losses": 0,
        "ties": 1,
        "errors": 1,
    }
    assert figures["conclusion"] == "cannot_say"
    assert figures["human"] is None


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["case_id,verdict", "1,C"], "line 2"),
        (["case,verdict", "1,A"], "case_id"),
        (["case_id,verdict,order", "1,A,13"], "12 or 21"),
        (["case_id,verdict", "1,A", "1,B"], "line 3"),
        (["case_id,verdict"], "no votes"),
        (["case_id,verdict", "1,A,x"], "expected 2"),
    ],
)
def test_votes_that_are_not_in_order_are_refused_with_their_line(tmp_path, lines, words):
    done = abjudge("analyze", write(tmp_path, *lines))

    assert done.code == 2
    assert words in done.err


def test_power_says_what_so_many_prompts_show_and_how_many_a_win_rate_needs():
    done = abjudge("power", "--n", "30", "--effect", "0.6", "--json")

    assert done.code == 0
    assert round(done.json["visible"]["high"], 2) == 0.67
    assert 80 < done.json["needed"]["n"] < 120
    assert "67 %" in abjudge("power", "--n", "30").out


@pytest.mark.parametrize("args", [(), ("--effect", "0.5"), ("--effect", "1.5"), ("--effect", "nan")])
def test_power_refuses_what_has_no_answer(args):
    assert abjudge("power", *args).code == 2
