"""Results as CSV: for programs exact, for spreadsheets harmless."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from abjudge.domain.spreadsheets import guarded

_NEEDS_QUOTES = frozenset(',"\r\n;\t')


def write_results(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> Iterator[str]:
    """A header and one line a row, each with its `\\r\\n`, as RFC 4180 has it; open the file with newline="".

    A column that a row lacks, or has as None, is an empty cell; what is not in `columns` is left out. Numbers stay
    numbers (-3.5), true and false are words, lists and mappings are JSON. Text is never run by a spreadsheet: see
    `domain.spreadsheets.guarded`, whose inverse `unguarded` gives every text back exactly.
    """
    yield _line(columns)
    for row in rows:
        yield _line([row.get(column) for column in columns])


def _line(values: Sequence[Any]) -> str:
    cells = [_cell(value) for value in values]
    # One empty cell alone would be a blank line, which readers skip.
    return (",".join(cells) if cells != [""] else '""') + "\r\n"


def _cell(value: Any) -> str:
    text = _text(value)
    if text[:1].isspace() or text[-1:].isspace() or not _NEEDS_QUOTES.isdisjoint(text):
        return '"' + text.replace('"', '""') + '"'
    return text


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return guarded(str.__str__(value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return repr(value)
    if isinstance(value, float):
        return guarded(repr(value))  # -inf is no number to a spreadsheet, but a formula
    return guarded(json.dumps(value, ensure_ascii=False, sort_keys=True, default=str))
