"""A CSV of votes: `case_id, verdict`, and where they are known `order, judge, human, repeat, length_1, length_2`."""

from collections.abc import Mapping
from pathlib import Path

from abjudge.adapters.tables.csv_records import csv_records
from abjudge.adapters.tables.text_source import Source, opened
from abjudge.app.votes import HUMAN, Vote
from abjudge.domain.errors import InputError

_VERDICTS = {"a": "A", "b": "B", "tie": "tie", "error": "error"}


def read_votes(path: Path) -> list[Vote]:
    """The votes in the order of the file. InputError names the line that is not in order."""
    with opened(path) as source:
        records = ((line, cells) for line, cells in csv_records(source, ",") if cells)
        first = next(records, None)
        if first is None:
            raise source.fault("empty_file", None, "the file is empty.")
        names = [cell.strip() for cell in first[1]]
        for column in ("case_id", "verdict"):
            if column not in names:
                raise source.fault(
                    "missing_column", first[0], f"there is no column {column!r}, but {', '.join(names)}."
                )
        if len(set(names)) < len(names):
            raise source.fault("duplicate_column", first[0], "a column is there twice.")
        votes, seen = [], dict[tuple[str, str, int, bool], int]()
        for line, cells in records:
            if len(cells) != len(names):
                said = f"expected {len(names)} cells, got {len(cells)}."
                raise source.fault("ragged_row", line, said)
            vote = _vote(source, line, dict(zip(names, cells, strict=True)))
            key = (vote.case_id, vote.judge, vote.repeat, vote.second_first)
            if key in seen:
                said = f"the same case, judge, order and repeat stand on line {seen[key]}."
                raise source.fault("duplicate_id", line, said)
            seen[key] = line
            votes.append(vote)
        if not votes:
            raise source.fault("no_rows", None, "the file has a header and no votes.")
        return votes


def _vote(source: Source, line: int, row: Mapping[str, str]) -> Vote:
    def bad(column: str, expected: str) -> InputError:
        return source.fault("bad_value", line, f"{column} is {row[column]!r}, expected {expected}.")

    verdict = _VERDICTS.get(row["verdict"].strip().lower())
    if verdict is None:
        raise bad("verdict", "A, B, tie or error")
    order = row.get("order", "").strip() or "12"
    if order not in ("12", "21"):
        raise bad("order", "12 or 21")
    if not row["case_id"].strip():
        raise source.fault("empty_id", line, "case_id is empty.")
    human = row.get("human", "").strip().lower()
    if human not in HUMAN:
        raise bad("human", "1, 2, tie or nothing")
    second_first = order == "21"
    won = {"A": second_first, "B": not second_first}.get(verdict)
    return Vote(
        case_id=row["case_id"],
        judge=row.get("judge", "").strip() or "judge",
        repeat=_number(row.get("repeat", "")) or 0,
        second_first=second_first,
        score=None if verdict == "error" else 0.5 if won is None else float(won),
        human=HUMAN[human],
        lengths=(_number(row.get("length_1", "")), _number(row.get("length_2", ""))),
    )


def _number(text: str) -> int | None:
    """A whole number; None for an empty cell and for anything else."""
    digits = text.strip()
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 16 else None
