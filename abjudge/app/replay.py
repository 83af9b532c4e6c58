"""A run read again from its records, without a call."""

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from abjudge.domain.blinding import Seal
from abjudge.domain.cases import Case
from abjudge.domain.outcomes import Judgment, Observation, Outcome, ScaffoldText
from abjudge.domain.records import (
    Conditions,
    OutcomeRecord,
    Record,
    ScaffoldRecord,
    SealRecord,
    as_outcome,
)

_KINDS: dict[str, TypeAdapter[Any]] = {
    "seal": TypeAdapter(SealRecord),
    "scaffold": TypeAdapter(ScaffoldRecord),
    "conditions": TypeAdapter(Conditions),
    "observation": TypeAdapter(Observation),
    "judgment": TypeAdapter(Judgment),
    "outcome": TypeAdapter(OutcomeRecord),
}


class Replay:
    """What stands in the records read so far, by name."""

    def __init__(self) -> None:
        self.seals: dict[str, list[Seal]] = {}
        self.scaffolds: dict[str, ScaffoldText] = {}
        self.conditions: dict[str, Conditions] = {}
        self.observations: dict[str, Observation] = {}
        self.judgments: dict[str, Judgment] = {}

    def parse(self, line: Mapping[str, Any]) -> Record | None:
        """The record of a ledger's line; None for one that only notes an event. ValueError for an unknown kind."""
        kind = str(line.get("kind"))
        if kind in ("resumed", "closed"):
            return None
        if kind not in _KINDS:
            raise ValueError(f"unknown kind {kind!r}")
        record: Record = _KINDS[kind].validate_python(line)
        return record

    def take(self, record: Record) -> None:
        """Remember it. Of two observations or judgments of one name, the later stands."""
        match record:
            case SealRecord(seal=seal):
                self.seals.setdefault(seal.trial, []).append(seal)
            case ScaffoldRecord(scaffold=scaffold):
                self.scaffolds[scaffold.digest] = scaffold
            case Conditions():
                self.conditions[record.closure] = record
            case Observation():
                self.observations[record.id] = record
            case Judgment():
                self.judgments[record.id] = record

    def outcome(self, record: OutcomeRecord, case: Case) -> Outcome:
        """The whole Outcome. KeyError names what it points at and is not there."""
        missing = ScaffoldText(name=record.scaffold, text=None, digest=record.scaffold_digest)
        scaffold = self.scaffolds.get(record.scaffold_digest, missing).with_(name=record.scaffold)
        conditions = self.conditions[record.closure]
        return as_outcome(record, case, conditions, scaffold, self.observations, self.judgments)
