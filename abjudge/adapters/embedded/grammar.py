"""Schemas for constrained decoding: narrowing a verdict so that its parts cannot contradict each other.

This makes the form consistent. It does not make the judge competent: scores, verdict and words stay the model's own
choice, and a model that cannot judge fills in the same form as neatly as one that can.
"""

from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]

# A sentence: words of a bearable length with a full stop, or else small models fill strings with ":{" and "1000000".
SENTENCE: Schema = {"type": "string", "pattern": r"^[A-Z][a-z']{0,12}(,? [A-Za-z'-]{1,14}){3,14}\.$"}

# llguidance's own key: without it a model may put any white space between two tokens, and small ones do until they
# run out of tokens.
COMPACT: Schema = {"x-guidance": {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}}


def compact(schema: Schema) -> Schema:
    """The schema for llguidance, with one way only to space the JSON."""
    return {**schema, **COMPACT}


def is_verdict(schema: Mapping[str, Any]) -> bool:
    """Whether the schema has the shape of a verdict: scores and totals by label, and a verdict among the labels."""
    parts = schema.get("properties", {})
    try:
        labels = set(parts["scores"]["properties"])
        return bool(labels) and labels == set(parts["totals"]["properties"]) and labels <= set(parts["verdict"]["enum"])
    except (KeyError, TypeError):
        return False


def only(schema: Schema, *names: str) -> Schema:
    """The object schema cut down to these of its properties."""
    parts = {name: schema["properties"][name] for name in names}
    return {"type": "object", "properties": parts, "required": list(names), "additionalProperties": False}


def narrow(schema: Schema, partial: Mapping[str, Any]) -> Schema:
    """The verdict schema once the scores are known: every reply under it is a valid reply under `schema`.

    `partial` is `{"scores": {label: {criterion: score}}}`. Scores and totals become constants (the totals are sums, so
    there is nothing to choose), the verdict may be the label with the highest total or no label at all (a tie), any
    where several labels share the highest, and free text becomes one sentence, or else it rambles until the tokens run
    out.
    """
    parts = schema["properties"]
    scores = partial["scores"]
    totals = {label: sum(sheet.values()) for label, sheet in scores.items()}
    best = max(totals.values())
    choices = [c for c in parts["verdict"]["enum"] if totals.get(c, best) == best]
    fixed = {"scores": {"const": scores}, "totals": {"const": totals}, "verdict": {"type": "string", "enum": choices}}
    return {**schema, "properties": {name: fixed.get(name) or _in_a_sentence(part) for name, part in parts.items()}}


def _in_a_sentence(schema: Schema) -> Schema:
    if schema.get("type") == "object":
        parts = {name: _in_a_sentence(part) for name, part in schema.get("properties", {}).items()}
        return {**schema, "properties": parts}
    return SENTENCE if schema == {"type": "string"} else schema
