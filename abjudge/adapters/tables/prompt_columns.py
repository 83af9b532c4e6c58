"""Which column of a table is which: header names, near misses, and the usual reasons why a column is not there."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from abjudge.adapters.tables.text_source import Source
from abjudge.domain.errors import InputError

# What other tools call the column; only ever suggested, never taken.
_ALSO_CALLED = ("question", "query", "instruction", "input", "text", "message", "user_prompt", "user", "task")
_DELIMITERS = {";": "';'", "\t": "a tab", "|": "'|'"}
_NOT_EXTRA = {"category"}


@dataclass(frozen=True)
class Columns:
    """The names of the columns that must be there; without a column of the name `id` rows are numbered."""

    prompt: str = "prompt"
    id: str = "id"


@dataclass(frozen=True)
class Header:
    """The columns of a table with a header line. `id` is None where the rows are numbered instead."""

    names: tuple[str, ...]
    prompt: int
    id: int | None
    unnamed: int
    notes: tuple[str, ...]


def read_header(source: Source, line: int, cells: Sequence[str], columns: Columns) -> Header:
    """Names are trimmed of spaces and told apart by case. Columns without a name at the right end are set aside.

    InputError: `duplicate_column`, or `missing_column` with the likely reason.
    """
    # A second byte order mark comes from files that were put together; left in place it hides the first column.
    names = [cell.strip().strip("\ufeff").strip() for cell in cells]
    notes = ["header_trimmed"] if list(cells) != names else []
    named = len(names)
    while named and not names[named - 1]:
        named -= 1
    unnamed = len(names) - named
    del names[named:]
    if unnamed and named:
        notes.append("unnamed_columns_dropped")
    for position, name in enumerate(names):
        if name in names[:position]:
            what = f"the column {name!r}" if name else "a column without a name"
            hint = "Rename or remove one: nothing says which of them counts."
            raise source.fault("duplicate_column", line, f"{what} is there twice.", hint=hint)
    if columns.prompt not in names:
        raise missing_column(source, line, columns.prompt, names, option="--prompt-column")
    numbered = columns.id not in names
    if numbered:
        refuse_lost_ids(source, line, columns, names)
        notes.append("ids_generated")
    notes += extra_column_notes(names, columns)
    return Header(
        tuple(names), names.index(columns.prompt), None if numbered else names.index(columns.id), unnamed, tuple(notes)
    )


def extra_column_notes(names: Sequence[str], columns: Columns) -> list[str]:
    return [f"extra_column:{name}" for name in names if name not in {columns.prompt, columns.id} | _NOT_EXTRA]


def refuse_lost_ids(source: Source, line: int, columns: Columns, names: Sequence[str]) -> None:
    """Rows are numbered where a table has no ids; not where somebody named the column, or wrote `ID` for `id`."""
    if columns.id != "id" or any(name.casefold() == "id" for name in names):
        raise missing_column(source, line, columns.id, names, option="--id-column")


def missing_column(source: Source, line: int, column: str, names: Sequence[str], *, option: str) -> InputError:
    """The error for a column that is not there; its message names the likely cause."""
    cause, hint = _cause(source, column, names, option)
    found = ", ".join(repr(name) for name in names[:12]) + (", …" if len(names) > 12 else "")
    return source.fault(
        "missing_column", line, f"there is no column {column!r}; found {found or 'none'}.{cause}", hint=hint
    )


def wrong_delimiter(source: Source, columns: Columns) -> InputError | None:
    """The error for a first line that is a header under another delimiter (`"id";"prompt"` is bad quoting to CSV)."""
    for number, line in enumerate(source.lines(), start=1):
        if not line.isspace():
            error = missing_column(source, number, columns.prompt, [line.strip()], option="--prompt-column")
            return error if "divided by" in error.message else None
    return None


def _cause(source: Source, column: str, names: Sequence[str], option: str) -> tuple[str, str]:
    first = names[0] if names else ""
    if source.kind == "csv":
        if first.lower().lstrip('"').startswith("sep="):
            return (
                " The line 'sep=' is a hint for Excel and no header.",
                "Remove that line, and save the file with commas between the cells.",
            )
        for delimiter, what in _DELIMITERS.items():
            parts = [part.strip().strip('"').casefold() for name in names for part in name.split(delimiter)]
            if delimiter in "".join(names) and column.casefold() in parts:
                named = " or name it .tsv" if delimiter == "\t" else ""
                return f" The cells are divided by {what}, expected ','.", f"Save the file with commas{named}."
    close = [name for name in names if name.casefold() == column.casefold()]
    close += difflib.get_close_matches(column, names, n=1, cutoff=0.6)
    if column == "prompt":
        close += [name for called in _ALSO_CALLED for name in names if name.casefold() == called]
    if close:
        return f" Did you mean {close[0]!r}?", f"Rename the column, or give {option} {close[0]!r}."
    return "", f"Name the column with {option}."
