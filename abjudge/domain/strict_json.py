"""Reading JSON of strangers: whatever is wrong with it is a ValueError."""

import json
import re
from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")


def read_json(text: str | bytes) -> Any:
    """The value. ValueError also for nesting so deep that Python gives up on it, which would be a RecursionError."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def whole_characters(text: str) -> str:
    """Without lone surrogates, which JSON can carry and UTF-8 cannot; each becomes U+FFFD."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text) if not text.isascii() else text
