"""A name for a value that changes when the value does."""

import hashlib
import json
from typing import Any

from pydantic import BaseModel

PREFIX = "abj1:"


def canonical_json(value: Any) -> str:
    """Sorted keys, no insignificant space, no escapes but those JSON needs; NaN and infinities are refused."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_plain)


def fingerprint(value: Any) -> str:
    """`abj1:` and the SHA-256 (hex) of the canonical JSON of `value`, in UTF-8.

    A lone surrogate has no UTF-8; it is hashed as the bytes Python's `surrogatepass` gives, so nothing raises.
    """
    return PREFIX + hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"no canonical JSON for {type(value).__name__}")
