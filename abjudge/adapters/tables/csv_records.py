"""Strict CSV: lines in, cells out, and every quote that cannot be meant is an error at its own line.

Python's csv module reads on where a quote is misplaced (its strict mode still takes `1, "a, b"` for three cells), tells
no line for a quote that never closes, and limits cells by a setting of the whole process. The common line without a
quote takes `str.split`, which is faster than csv.
"""

import re
from collections.abc import Iterator

from abjudge.adapters.tables.text_source import Source
from abjudge.domain.errors import InputError

# A quote that never closes would otherwise take the rest of a large file into memory before anyone hears of it.
LONGEST_CELL = 1 << 24
_ENDS = "\r\n"
# A cell with doubled quotes that closes on its line; possessive, so that a cell that does not close fails in one go.
_DOUBLED = re.compile('"([^"]*+(?:""[^"]*+)*+)"').match


def csv_records(source: Source, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The line a record begins on (from 1, in the file) and its cells; no cells for a blank line.

    Cells are text as it stands: nothing is trimmed, and a quote inside an unquoted cell (`a 5" nail`) is a quote.
    """
    lines = source.lines()
    between = f'"{delimiter}"'
    number = 0
    for line in lines:
        number += 1
        if '"' in line:
            first = number
            cells = _all_quoted(line, between)
            if cells is None:
                cells, number = _quoted(source, line, number, lines, delimiter)
            yield first, cells
        elif line.isspace() and delimiter not in line:
            yield number, []
        else:
            yield number, line.rstrip(_ENDS).split(delimiter)


def _all_quoted(line: str, between: str) -> list[str] | None:
    """The short way for a record on one line with quotes around every cell; None where it is not surely that."""
    body = line.rstrip(_ENDS)
    if len(body) < 2 or body[0] != '"' or body[-1] != '"':
        return None
    cells = body[1:-1].split(between)
    if line.count('"') == 2 * len(cells):
        return cells
    for at, cell in enumerate(cells):
        if '"' in cell:
            # A quote that is left over belongs to a `","` inside a cell, to a cell that goes on, or to bad quoting.
            if '"' in cell.replace('""', ""):
                return None
            cells[at] = cell.replace('""', '"')
    return cells


def _quoted(source: Source, line: str, number: int, lines: Iterator[str], delimiter: str) -> tuple[list[str], int]:
    """The cells of a record that holds quotes, and the line it ends on."""
    cells: list[str] = []
    at = line.index('"')
    if at and line[at - 1] == delimiter:
        cells = line[: at - 1].split(delimiter)  # what stands before the first quoted cell needs no second look
    else:
        at = 0
    while True:
        if line.startswith('"', at):
            opened = number
            end = line.find('"', at + 1)
            if end >= 0 and not line.startswith('"', end + 1):
                cells.append(line[at + 1 : end])
                at = end + 1
            elif whole := _DOUBLED(line, at):
                cells.append(whole[1].replace('""', '"'))
                at = whole.end()
            else:
                cell, line, number, at = _long_cell(source, line, number, at + 1, lines)
                cells.append(cell)
            if line.startswith(delimiter, at):
                at += 1
            elif at == len(line) or line[at] in _ENDS:
                return cells, number
            else:
                raise _junk(source, line, number, at, opened)
        else:
            end = line.find(delimiter, at)
            cell = line[at:end] if end >= 0 else line[at:].rstrip(_ENDS)
            if '"' in cell and cell.lstrip().startswith('"'):
                raise source.fault(
                    "bad_quoting",
                    number,
                    "a space stands before the opening quote, so the quote would be part of the text.",
                    hint="Remove the space between the delimiter and the quote.",
                )
            cells.append(cell)
            if end < 0:
                return cells, number
            at = end + 1


def _long_cell(source: Source, line: str, number: int, at: int, lines: Iterator[str]) -> tuple[str, str, int, int]:
    """A cell that does not close on its first line, from behind its opening quote.

    Gives its text, the line it ends on, the number of that line and the place behind the closing quote.
    """
    opened, parts, size = number, [], 0
    while True:
        end = line.find('"', at)
        if end >= 0 and not line.startswith('"', end + 1):
            parts.append(line[at:end])
            return "".join(parts), line, number, end + 1
        if end >= 0:
            parts.append(line[at : end + 1])
            at = end + 2
            continue
        parts.append(line[at:])
        size += len(parts[-1])
        following = next(lines, None) if size <= LONGEST_CELL else None
        if following is None:
            within = "" if size <= LONGEST_CELL else f" within {LONGEST_CELL:,} characters"
            raise source.fault(
                "unterminated_quote",
                opened,
                f"the quote that opens here is never closed{within}.",
                hint='Close it, or double it ("") where it is part of the text.',
            )
        line, number, at = following, number + 1, 0


def _junk(source: Source, line: str, number: int, at: int, opened: int) -> InputError:
    opening = "" if opened == number else f" (the cell opened on line {opened})"
    slash = " A backslash escapes nothing in CSV." if line[max(at - 2, 0)] == "\\" else ""
    return source.fault(
        "bad_quoting",
        number,
        f"expected a delimiter after the closing quote{opening}, got {line[at : at + 12].rstrip(_ENDS)!r}.",
        hint=f'Double the quotes ("") that are part of the text.{slash}',
    )
