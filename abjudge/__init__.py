"""abjudge: does this change to our LLM really help? A blind, sealed comparison with and without a scaffold."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from abjudge import measure
    from abjudge.domain.errors import (
        AbjudgeError,
        CallError,
        FairnessError,
        InputError,
        LedgerError,
        Permanent,
        Transient,
    )
    from abjudge.domain.outcomes import Outcome
    from abjudge.domain.reply.reader import parse_verdict
    from abjudge.domain.status import ClaimVerdict, Status
    from abjudge.domain.verdicts import VerdictReading, verdict_schema
    from abjudge.library import compare, compare_sync, read_prompts

# Each public name and where it lives. They are imported when they are first used, so that `import abjudge` and
# `abjudge --help` cost nothing that they do not need.
_HOMES = {
    "AbjudgeError": "domain.errors",
    "CallError": "domain.errors",
    "ClaimVerdict": "domain.status",
    "FairnessError": "domain.errors",
    "InputError": "domain.errors",
    "LedgerError": "domain.errors",
    "Outcome": "domain.outcomes",
    "Permanent": "domain.errors",
    "Status": "domain.status",
    "Transient": "domain.errors",
    "VerdictReading": "domain.verdicts",
    "compare": "library",
    "compare_sync": "library",
    "parse_verdict": "domain.reply.reader",
    "read_prompts": "library",
    "verdict_schema": "domain.verdicts",
}
__all__ = [
    "AbjudgeError",
    "CallError",
    "ClaimVerdict",
    "FairnessError",
    "InputError",
    "LedgerError",
    "Outcome",
    "Permanent",
    "Status",
    "Transient",
    "VerdictReading",
    "compare",
    "compare_sync",
    "measure",
    "parse_verdict",
    "read_prompts",
    "verdict_schema",
]


def __getattr__(name: str) -> Any:
    if name == "measure":
        return import_module("abjudge.measure")
    if name not in _HOMES:
        raise AttributeError(f"module 'abjudge' has no attribute {name!r}")
    value = getattr(import_module(f"abjudge.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
