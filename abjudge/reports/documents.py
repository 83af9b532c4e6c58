"""Results as JSON documents: the whole Outcome, the Ejentum pattern, and a failure."""

import json
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import TypeAdapter

from abjudge.domain.outcomes import Judgment, Outcome
from abjudge.domain.status import Status
from abjudge.domain.values import Value


class Outcomes(Value):
    """Several comparisons of one call: one for each scaffold and judge."""

    kind: Literal["outcomes"] = "outcomes"
    outcomes: tuple[Outcome, ...]


class Failure(Value):
    """What stands in the place of an Outcome when nothing was compared."""

    kind: Literal["failure"] = "failure"
    status: Status | None
    reason: str
    message: str
    exit_code: int


def outcome_document(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """One Outcome as it is; several under `outcomes`."""
    if len(outcomes) == 1:
        return outcomes[0].model_dump(mode="json")
    return Outcomes(outcomes=tuple(outcomes)).model_dump(mode="json")


def failure_document(status: object, reason: str, message: str, exit_code: int) -> dict[str, Any]:
    """What `--json` prints where nothing was compared."""
    failure = Failure.model_validate({"status": status, "reason": reason, "message": message, "exit_code": exit_code})
    return failure.model_dump(mode="json")


def compare_schema() -> dict[str, Any]:
    """The JSON Schema of what `compare --json` prints; published as `schemas/compare.schema.json`."""
    adapter: TypeAdapter[Outcome | Outcomes | Failure] = TypeAdapter(Outcome | Outcomes | Failure)
    schema = adapter.json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "abjudge compare --json", **schema}


def pattern_document(outcomes: Sequence[Outcome]) -> dict[str, Any] | list[dict[str, Any]]:
    """The four keys of the Ejentum pattern; a list of such objects for several comparisons."""
    documents = [_pattern(outcome) for outcome in outcomes]
    return documents[0] if len(documents) == 1 else documents


def to_json(document: Any) -> str:
    """Indented JSON that any UTF-8 stream takes: a lone surrogate makes the whole document use escapes."""
    text = json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)
    return text if text.isascii() or _encodable(text) else json.dumps(document, indent=2, allow_nan=False)


def _pattern(outcome: Outcome) -> dict[str, Any]:
    responses = {arm: seen.response.text for arm, seen in outcome.observations.items()}
    return {
        "user_message": outcome.case.prompt,
        "baseline_response": responses.get("baseline"),
        "ejentum_response": responses.get("scaffolded"),
        "evaluation": _evaluation(outcome),
    }


def _evaluation(outcome: Outcome) -> dict[str, Any]:
    """The first judgment in the judge's own A and B; with both orders also the second, and what they come to."""
    if not outcome.judgments:
        return {"status": outcome.status.value, "reason": outcome.reason, "message": outcome.message, "mapping": None}
    first, *more = (_judgment(judgment) for judgment in outcome.judgments)
    if more:
        combined = {"scaffolded": "ejentum"}.get(outcome.verdict or "", outcome.verdict)
        first |= {"other_order": more[0], "combined": combined, "notes": list(outcome.notes)}
    return first


def _judgment(judgment: Judgment) -> dict[str, Any]:
    names = {"baseline": "baseline", "scaffolded": "ejentum"}
    mapping = {"A": names[judgment.assignment.A], "B": names[judgment.assignment.B]}
    reading = judgment.reading
    if reading.verdict is None:
        return {
            "status": judgment.status.value,
            "reason": judgment.reason,
            "message": reading.detail,
            "mapping": mapping,
        }
    return {
        "scores": reading.scores,
        "totals": reading.totals,
        "justifications": reading.justifications,
        "verdict": reading.verdict,
        "verdict_reason": reading.verdict_reason,
        "mapping": mapping,
    }


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
