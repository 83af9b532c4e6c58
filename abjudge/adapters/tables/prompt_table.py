"""Tables of prompts, CSV or JSON Lines: checked as a whole before the first call, then streamed in flat memory."""

import hashlib
import heapq
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path

from abjudge.adapters.tables.prompt_columns import Columns
from abjudge.adapters.tables.prompt_rows import Notes, Row, prompt_rows
from abjudge.adapters.tables.text_source import Source, opened
from abjudge.domain.cases import Case
from abjudge.domain.errors import InputError


@dataclass(frozen=True)
class Table:
    """Rows in the order of the file, every column as text, and what a reader may want to know about the file."""

    rows: list[dict[str, str]]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class TableCheck:
    """What one complete pass found: rows in the file, rows that `limit` and `sample` leave, and their fingerprint.

    `digest` is the SHA-256 (hex) over (id, prompt) of the rows that are left, in order; other columns do not count.
    """

    rows: int
    selected: int
    digest: str
    notes: tuple[str, ...]


def read_prompts(path: str | Path) -> list[dict[str, str]]:
    """The rows of a CSV or JSONL file of prompts; InputError(code, line, message) where it is not in order.

    Every column is kept as text, exactly (`007`, `null`, `=1+1`); only header names are trimmed. In a file without a
    column `id` the rows are numbered from 1, and `id` is the first key of each. Our own `results.csv` is read without
    the apostrophes that keep spreadsheets from running its cells.
    """
    return read_table(path).rows


def read_table(source: Source | str | Path, *, prompt_column: str = "prompt", id_column: str = "id") -> Table:
    """`read_prompts` with notes: bom, header_trimmed, blank_lines_skipped, ids_generated, extra_column:NAME, …"""
    with opened(source) as text:
        check = check_prompts(text, prompt_column=prompt_column, id_column=id_column)
        return Table(list(stream_prompts(text, prompt_column=prompt_column, id_column=id_column)), check.notes)


def check_prompts(
    source: Source | str | Path,
    *,
    prompt_column: str = "prompt",
    id_column: str = "id",
    limit: int | None = None,
    sample: int | None = None,
    seed: int | None = None,
) -> TableCheck:
    """Read the whole file once, whatever `limit` says: every prompt non-empty, every id there and unique.

    The first line at fault is reported, ids that repeat after everything else. Memory is 8 bytes a row. Standard input
    and pipes can be read only once: open them first (`opened`) and give that source here and to `stream_prompts`.
    """
    columns, draw = Columns(prompt_column, id_column), _Draw.of(limit, sample, seed)
    with opened(source) as text:
        notes: Notes = {}
        ids, digest = _Ids(), _Digest()
        for _, id_, prompt, _, _ in prompt_rows(text, columns, notes):
            ids.add(id_)
            digest.add(id_, prompt)
        if suspects := ids.suspects():
            _refuse_duplicates(text, suspects, prompt_rows(text, columns, {}))
        rows = digest.rows
        if not draw.whole:
            digest = _Digest()
            for _, id_, prompt, _, _ in _selected(text, columns, draw):
                digest.add(id_, prompt)
        return TableCheck(rows, digest.rows, digest.hex(), tuple(notes))


def stream_prompts(
    source: Source | str | Path,
    *,
    prompt_column: str = "prompt",
    id_column: str = "id",
    limit: int | None = None,
    sample: int | None = None,
    seed: int | None = None,
) -> Iterator[dict[str, str]]:
    """The rows, one at a time, under the names of the file; ids are not compared (`check_prompts` does that).

    `sample` draws that many rows from the whole file by their ids and `seed` (0 where none is given), the same on every
    machine, in the order of the file; it costs a pass of its own. `limit` then takes the first of what is left.
    """
    columns, draw = Columns(prompt_column, id_column), _Draw.of(limit, sample, seed)
    with opened(source) as text:
        for _, id_, _, names, cells in _selected(text, columns, draw):
            row = dict(zip(names, cells, strict=True))
            yield row if id_column in row else {id_column: id_, **row}


def stream_cases(
    source: Source | str | Path,
    *,
    prompt_column: str = "prompt",
    id_column: str = "id",
    limit: int | None = None,
    sample: int | None = None,
    seed: int | None = None,
) -> Iterator[Case]:
    """The rows of `stream_prompts` as cases; a column `category` has its place, all others are `extra`."""
    columns, draw = Columns(prompt_column, id_column), _Draw.of(limit, sample, seed)
    with opened(source) as text:
        for _, id_, prompt, names, cells in _selected(text, columns, draw):
            extra = dict(zip(names, cells, strict=True))
            extra.pop(id_column, None)
            extra.pop(prompt_column, None)
            yield Case(id=id_, prompt=prompt, category=extra.pop("category", None) or None, extra=extra)


@dataclass(frozen=True)
class _Draw:
    limit: int | None
    sample: int | None
    key: bytes

    @classmethod
    def of(cls, limit: int | None, sample: int | None, seed: int | None) -> "_Draw":
        for name, number in ("limit", limit), ("sample", sample):
            if number is not None and number < 1:
                raise InputError("bad_value", None, f"--{name} is {number}, expected 1 or more.")
        return cls(limit, sample, f"abjudge sample {seed or 0}:".encode())

    @property
    def whole(self) -> bool:
        return self.limit is None and self.sample is None

    def rank(self, row: Row) -> bytes:
        return hashlib.sha256(self.key + row[1].encode()).digest()


def _selected(text: Source, columns: Columns, draw: _Draw) -> Iterator[Row]:
    """The rows of the lowest ranks. A rank hangs on seed and id alone: `random.sample` changes between versions."""
    rows = prompt_rows(text, columns, {})
    if draw.sample is not None:
        cut = heapq.nsmallest(draw.sample, map(draw.rank, rows))[-1]
        rows = (row for row in prompt_rows(text, columns, {}) if draw.rank(row) <= cut)
    return islice(rows, draw.limit)


class _Ids:
    """Ids that were seen, 8 bytes each, in 256 parts so that looking for repetitions needs little room at a time."""

    def __init__(self) -> None:
        self._parts = [array("q") for _ in range(256)]

    def add(self, id_: str) -> None:
        mark = hash(id_)  # 64 bits, keyed anew in every process: it serves this process only
        self._parts[mark & 255].append(mark)

    def suspects(self) -> set[int]:
        """The marks that came more than once: ids that repeat or, once in a long while, two ids with one mark."""
        found: set[int] = set()
        for part in self._parts:
            if len(set(part)) < len(part):
                found.update(mark for mark, following in pairwise(sorted(part)) if mark == following)
        return found


def _refuse_duplicates(text: Source, suspects: set[int], rows: Iterable[Row]) -> None:
    seen: dict[str, int] = {}
    for line, id_, _, _, _ in rows:
        if hash(id_) not in suspects:
            continue
        if id_ in seen:
            message = f"the id {id_!r} is already on line {seen[id_]}."
            raise text.fault("duplicate_id", line, message, hint="Resuming a run would take this row for done.")
        seen[id_] = line


class _Digest:
    """SHA-256 over a sequence of (id, prompt); the lengths keep ("ab", "c") and ("a", "bc") apart."""

    def __init__(self) -> None:
        self.rows = 0
        self._sha = hashlib.sha256()

    def add(self, id_: str, prompt: str) -> None:
        self.rows += 1
        self._sha.update(f"{len(id_)}:{id_}{len(prompt)}:{prompt}".encode())

    def hex(self) -> str:
        return self._sha.hexdigest()
