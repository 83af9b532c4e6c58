"""The verdict: its shape, its JSON Schema, and what reading a judge's reply can come to."""

from functools import cache
from typing import Any, Literal

from abjudge.domain.rubrics import FIVE, Rubric
from abjudge.domain.values import Value

Label = Literal["A", "B"]
Choice = Literal["A", "B", "tie"]


@cache
def verdict_schema(rubric: Rubric = FIVE) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a verdict under `rubric`; for `FIVE` it is `schemas/verdict.schema.json`.

    One value for all callers: who needs another makes a copy.
    """

    def closed(properties: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }

    n = len(rubric.criteria)
    score = {"type": "integer", "minimum": rubric.low, "maximum": rubric.high}
    total = {"type": "integer", "minimum": n * rubric.low, "maximum": n * rubric.high}
    sheet = closed(dict.fromkeys(rubric.names, score))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Verdict",
        **closed(
            {
                "scores": closed({"A": sheet, "B": sheet}),
                "totals": closed({"A": total, "B": total}),
                "justifications": closed({name: {"type": "string"} for name in rubric.names}),
                "verdict": {"type": "string", "enum": ["A", "B", "tie"]},
                "verdict_reason": {"type": "string"},
            }
        ),
    }


class VerdictReading(Value):
    """What a judge's reply came to.

    `parsed`: the reply was a verdict. `repaired`: it became one by changes that alter no meaning, named in `notes`.
    `evaluator_error`: it is no verdict, `reason` says why, and every other field is empty. `totals` are recounted from
    `scores` by us; notes stand in the order in which they arose.
    """

    outcome: Literal["parsed", "repaired", "evaluator_error"]
    verdict: Choice | None = None
    totals: dict[Label, int] | None = None
    scores: dict[Label, dict[str, int]] | None = None
    notes: tuple[str, ...] = ()
    reason: str | None = None
    justifications: dict[str, str] | None = None
    verdict_reason: str | None = None
    detail: str | None = None

    @classmethod
    def error(cls, reason: str, detail: str | None = None, notes: tuple[str, ...] = ()) -> "VerdictReading":
        return cls(outcome="evaluator_error", reason=reason, detail=detail, notes=notes)
