"""The two vocabularies, kept apart: what happened while trying, and what the evidence supports."""

from enum import StrEnum


class Status(StrEnum):
    """What happened while trying. An unavailable dependency is never the subject's fault."""

    COMPLETED = "completed"
    SUBJECT_ERROR = "subject_error"
    HARNESS_ERROR = "harness_error"
    EVALUATOR_ERROR = "evaluator_error"
    BLOCKED = "blocked"


class ClaimVerdict(StrEnum):
    """What the evidence supports. Missing evidence is `UNKNOWN`, never `FAIL`."""

    PASS = "PASS"
    PARTIAL = "PARTIAL"
    FAIL = "FAIL"
    CONTRADICTED = "CONTRADICTED"
    UNKNOWN = "UNKNOWN"
    DISPUTED = "DISPUTED"
