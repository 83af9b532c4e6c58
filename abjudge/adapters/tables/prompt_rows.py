"""Rows of prompts out of either format, CSV or JSON Lines, each with an id and a prompt that are not blank."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from abjudge.adapters.tables.csv_records import csv_records
from abjudge.adapters.tables.jsonl_records import as_text, jsonl_records
from abjudge.adapters.tables.prompt_columns import (
    Columns,
    extra_column_notes,
    missing_column,
    read_header,
    refuse_lost_ids,
    wrong_delimiter,
)
from abjudge.adapters.tables.text_source import Source
from abjudge.domain.errors import InputError
from abjudge.domain.spreadsheets import unguarded

# Line, id, prompt, names of the columns, cells. A plain tuple: a million of anything better costs a second.
Row = tuple[int, str, str, Sequence[str], Sequence[str]]

# What is worth telling about a file, in the order it was met.
Notes = dict[str, None]

# Our own results.csv, by the columns it always has. Its cells were guarded against spreadsheets on the way out; in any
# other file a leading apostrophe is the author's.
_EXPORT = frozenset({"id", "scaffold", "verdict", "baseline_total", "scaffolded_total", "status"})
_MANY_NOTES = 50


def prompt_rows(text: Source, columns: Columns, notes: Notes) -> Iterator[Row]:
    """The rows in order, each with the line it begins on; `notes` fills as they are read.

    InputError for the first line at fault. Ids are not compared with each other.
    """
    if text.has_bom:
        notes["bom"] = None
    rows = (_jsonl_rows if text.kind == "jsonl" else _csv_rows)(text, columns, notes)
    for row in rows:
        line, id_, prompt, _, _ = row
        if not prompt or prompt.isspace():
            raise _empty_prompt(text, line, id_, rows)
        if not id_ or id_.isspace():
            raise text.fault("empty_id", line, f"the {columns.id!r} is empty.", hint="Give every row an id of its own.")
        yield row


def _csv_rows(text: Source, columns: Columns, notes: Notes) -> Iterator[Row]:
    records = _filled(csv_records(text, "\t" if text.kind == "tsv" else ","), notes)
    try:
        line, cells = next(records, (0, []))
    except InputError as error:
        raise wrong_delimiter(text, columns) or error from None
    if not line:
        raise text.fault(
            "empty_file", None, "the file is empty.", hint="Expected a header line with a column 'prompt'."
        )
    header = read_header(text, line, cells, columns)
    notes.update(dict.fromkeys(header.notes))
    names, at, id_at, number = header.names, header.prompt, header.id, 0
    width, exported = len(names), _EXPORT.issubset(header.names)
    if exported:
        notes["formula_guard_removed"] = None
    for line, cells in records:
        if header.unnamed and len(cells) == width + header.unnamed and not any(cells[width:]):
            del cells[width:]
        if len(cells) != width:
            raise _ragged(text, line, names, cells)
        if exported:
            cells = [unguarded(cell) for cell in cells]
            _sendable(text, line, columns.prompt, cells[at])
        number += 1
        yield line, str(number) if id_at is None else cells[id_at], cells[at], names, cells
    if not number:
        hint = "Expected at least one row under the header."
        raise text.fault("no_rows", None, "there is a header and not one row.", hint=hint)


def _filled(records: Iterable[tuple[int, list[str]]], notes: Notes) -> Iterator[tuple[int, list[str]]]:
    for record in records:
        if record[1]:
            yield record
        else:
            notes["blank_lines_skipped"] = None


def _jsonl_rows(text: Source, columns: Columns, notes: Notes) -> Iterator[Row]:
    """Each object has its own columns. Whether rows are numbered is settled by the first and then holds for all."""
    number, numbered = 0, False
    for line, found in jsonl_records(text):
        if not found:
            notes["blank_lines_skipped"] = None
            continue
        number += 1
        names = tuple(found)
        if columns.prompt not in found:
            raise missing_column(text, line, columns.prompt, names, option="--prompt-column")
        if number == 1 and columns.id not in found:
            refuse_lost_ids(text, line, columns, names)
            numbered, notes["ids_generated"] = True, None
        if numbered is (columns.id in found):
            raise _id_here_and_there(text, line, columns.id, numbered)
        if len(notes) < _MANY_NOTES:
            notes.update(dict.fromkeys(extra_column_notes(names, columns)))
        prompt = _sendable(text, line, columns.prompt, found[columns.prompt])
        id_ = str(number) if numbered else _sendable(text, line, columns.id, found[columns.id], number_too=True)
        yield line, id_, prompt, names, [as_text(value) for value in found.values()]
    if not number:
        raise text.fault("empty_file", None, "the file is empty.", hint="Expected one JSON object a line.")


def _sendable(text: Source, line: int, name: str, value: Any, *, number_too: bool = False) -> str:
    """`value` as text that UTF-8 can carry: an escape can smuggle in what no text file holds."""
    if number_too and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        expected = "text or a whole number" if number_too else "text"
        raise text.fault("not_text", line, f"{name!r} is {as_text(value)[:40] or 'null'}, expected {expected}.")
    if "\0" in value:
        raise text.fault("nul_byte", line, f"{name!r} holds a NUL character (\\u0000).")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        message = f"{name!r} holds half a character (\\u{ord(value[error.start]):04x}), which UTF-8 cannot carry."
        raise text.fault("encoding", line, message, hint="The text was cut inside an emoji.") from None
    return value


def _ragged(text: Source, line: int, names: Sequence[str], cells: Sequence[str]) -> InputError:
    hint = (
        "Is a cell missing?" if len(cells) < len(names) else "A cell that holds the delimiter needs quotes around it."
    )
    message = f"expected {len(names)} cells ({', '.join(names[:8])}), got {len(cells)}."
    return text.fault("ragged_row", line, message, hint=hint)


def _empty_prompt(text: Source, line: int, id_: str, rest: Iterable[Row]) -> InputError:
    """Says how many there are, so that nobody has to mend a file one run at a time."""
    empty = 1
    with contextlib.suppress(InputError):  # the first fault of the file is the one to report
        for _, _, prompt, _, _ in rest:
            empty += not prompt.strip()
    message = f"the prompt of id {id_!r} is empty ({empty} empty in this file)."
    return text.fault("empty_prompt", line, message, hint="Fill it or drop the row.")


def _id_here_and_there(text: Source, line: int, id_column: str, numbered: bool) -> InputError:
    message = f"there is {'a' if numbered else 'no'} key {id_column!r} here, unlike in the first row."
    return text.fault("missing_column", line, message, hint="Give every object an id, or none.")
