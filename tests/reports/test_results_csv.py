import csv
import io
from enum import StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abjudge.domain.spreadsheets import guarded, unguarded
from abjudge.reports.results_csv import write_results

ANY_TEXT = st.text(st.characters(exclude_categories=())) | st.text(st.sampled_from("'\\=+-@\t\r\n \"u0d83\0\ud83d,;＝"))
SIGNS = tuple("=+-@＝＋－＠")


def read_back(lines):
    data = "".join(lines).encode("utf-8")
    return list(csv.reader(io.StringIO(data.decode("utf-8"), newline=""), strict=True))


@given(st.lists(st.tuples(ANY_TEXT, ANY_TEXT), max_size=4))
def test_any_text_survives_the_way_out_and_back_and_none_is_a_formula(pairs):
    header, *rows = read_back(write_results(({"a": a, "b": b} for a, b in pairs), ["a", "b"]))

    assert header == ["a", "b"]
    assert [tuple(map(unguarded, row)) for row in rows] == pairs
    cells = [cell for row in rows for cell in row]
    assert not any(cell.startswith((*SIGNS, "\t", "\r", "\n")) for cell in cells)
    assert not any(cell.lstrip(' \t\r\n"\u200b\ufeff').startswith(SIGNS) for cell in cells)


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n", "＝1", "＋", "－3", "＠x", "  =1", '"=1', "\ufeff=1", "'=1"],
)
def test_what_a_spreadsheet_would_run_is_kept_from_running(text):
    assert guarded(text) == "'" + text
    assert unguarded(guarded(text)) == text


@pytest.mark.parametrize("text", ["", "plain", "a=b", "3-4", "me@home", "\\u0000", "“=”", "007"])
def test_other_text_stays_as_it_is(text):
    assert guarded(text) == text


def test_what_utf_8_cannot_hold_is_written_as_an_escape():
    assert guarded("a\0\ud83d\\u0000") == "'\\a\\u0000\\ud83d\\\\u0000"


def test_numbers_stay_numbers_and_nothing_stays_nothing():
    class Colour(StrEnum):
        RED = "red"

    row = {"a": -3.5, "b": None, "c": True, "d": Colour.RED, "e": "-3.5", "f": {"k": [1]}, "g": float("-inf"), "h": -7}

    assert list(write_results([row], "abcdefghi")) == [
        "a,b,c,d,e,f,g,h,i\r\n",
        '-3.5,,true,red,\'-3.5,"{""k"": [1]}",\'-inf,-7,\r\n',
    ]


def test_a_row_of_one_empty_cell_is_no_blank_line():
    assert list(write_results([{"a": None}], ["a"])) == ["a\r\n", '""\r\n']


def test_lines_come_one_by_one():
    def endless():
        while True:
            yield {"a": "x\ny"}

    lines = write_results(endless(), ["a"])

    assert [next(lines) for _ in range(3)] == ["a\r\n", '"x\ny"\r\n', '"x\ny"\r\n']
