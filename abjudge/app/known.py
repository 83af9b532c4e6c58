"""What a run already holds, so that nothing is paid for twice."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from abjudge.app.replay import Replay
from abjudge.domain.outcomes import Judgment, Observation, ScaffoldText
from abjudge.domain.records import OutcomeRecord
from abjudge.domain.status import Status

Seat = tuple[str, str, int]
"""A scaffold, a judge and a repetition: one Outcome of a case."""
Read = Callable[[], Iterator[tuple[int, dict[str, Any]]]]


@dataclass(frozen=True)
class Known:
    """What is there of one case: seats that are settled, answers and judgments that completed (by id), and the
    scaffolds they were asked with (by name).
    """

    settled: frozenset[Seat] = frozenset()
    observations: Mapping[str, Observation] = field(default_factory=dict)
    judgments: Mapping[str, Judgment] = field(default_factory=dict)
    scaffolds: Mapping[str, ScaffoldText] = field(default_factory=dict)


NOTHING = Known()


def known_of(read: Read, *, retry_errors: bool, is_done: Callable[[str, frozenset[Seat]], bool]) -> dict[str, Known]:
    """What a ledger holds of each case. A failed Outcome is settled too, unless `retry_errors`.

    The ledger is read twice: first for what is settled, then for the answers of those cases alone that are not done,
    so that a long run is resumed in little memory.
    """
    settled: dict[str, set[Seat]] = {}
    for _, line in read():
        if line.get("kind") == "outcome" and (line["status"] == Status.COMPLETED or not retry_errors):
            settled.setdefault(line["case_id"], set()).add((line["scaffold"], line["evaluator"], line["repetition"]))
    done = {case for case, seats in settled.items() if is_done(case, frozenset(seats))}
    replay, partial = Replay(), dict[str, tuple[dict[str, Observation], dict[str, Judgment]]]()
    for _, line in read():
        if line.get("kind") not in ("scaffold", "observation", "judgment") or line.get("case_id") in done:
            continue
        record = replay.parse(line)
        match record:
            case Observation() if record.usable:
                partial.setdefault(record.case_id, ({}, {}))[0][record.id] = record
            case Judgment() if record.status is Status.COMPLETED:
                partial.setdefault(record.case_id, ({}, {}))[1][record.id] = record
            case _ if record is not None and not isinstance(record, OutcomeRecord):
                replay.take(record)
    cases = settled.keys() | partial.keys()
    return {case: _known(settled.get(case, set()), *partial.get(case, ({}, {})), replay) for case in cases}


def _known(
    settled: set[Seat], observations: dict[str, Observation], judgments: dict[str, Judgment], replay: Replay
) -> Known:
    scaffolds = {
        seen.scaffold: replay.scaffolds[seen.scaffold_digest].with_(name=seen.scaffold)
        for seen in observations.values()
        if seen.scaffold is not None and seen.scaffold_digest in replay.scaffolds
    }
    return Known(frozenset(settled), observations, judgments, scaffolds)
