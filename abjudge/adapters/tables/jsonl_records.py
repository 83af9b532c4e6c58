"""JSON Lines: one object a line, its values as text."""

import json
from collections.abc import Iterator
from typing import Any

from abjudge.adapters.tables.text_source import Source


class _DuplicateKey(ValueError): ...


class _Constant(ValueError): ...


def jsonl_records(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """The line of each object and the object; an empty one for a blank line. InputError names the line at fault."""
    for number, line in enumerate(source.lines(), start=1):
        if line.isspace():
            yield number, {}
            continue
        try:
            found = _DECODER.decode(line)
        except _DuplicateKey as error:
            message = f"the key {error.args[0]!r} stands twice in one object."
            raise source.fault("duplicate_key", number, message, hint="Readers disagree on which one counts.") from None
        except _Constant as error:
            raise source.fault("non_json_constant", number, f"{error.args[0]} is no JSON value.") from None
        except (ValueError, RecursionError) as error:
            hint = "Each line is one JSON object; an object may not go over several lines."
            raise source.fault("not_json", number, f"this is no JSON: {error}.", hint=hint) from None
        if not isinstance(found, dict):
            message = f"expected one JSON object a line, got {_WORDS.get(type(found), 'a number')}."
            raise source.fault("not_object", number, message, hint='For instance {"id": "1", "prompt": "…"}.')
        if not found:
            raise source.fault("missing_column", number, "the object is empty.")
        yield number, found


def as_text(value: Any) -> str:
    """Strings as they are, null as an empty cell, everything else as JSON writes it."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


_WORDS = {list: "a list", str: "a string", bool: "true or false", type(None): "null"}


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        raise _DuplicateKey(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
    return found


def _constant(name: str) -> Any:
    raise _Constant(name)


# Made once: json.loads with hooks makes a new one for every line.
_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant)
