"""How long a provider asks us to wait before the next try."""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from abjudge.adapters.served.readings import mapping

Headers = Mapping[str, str]

_AGAIN_IN = re.compile(r"(?:try again|retry) in\s+((?:[\d.]+\s*(?:ms|h|m|s)\w*\s*)+)", re.IGNORECASE)
_SPAN = re.compile(r"([\d.]+)\s*(ms|h|m|s)", re.IGNORECASE)
_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def wait_s(headers: Headers, body: Any = None, message: str = "", *, now: datetime | None = None) -> float | None:
    """Seconds to wait, from the headers (in any case), Gemini's RetryInfo, or the sentence itself."""
    low = {name.lower(): value for name, value in headers.items()}
    millis = _number(low.get("retry-after-ms"))
    if millis is not None:
        return millis / 1000
    given = low.get("retry-after")
    return next((w for w in (_after(given, now), _retry_info(body), _in_words(message)) if w is not None), None)


def _after(value: str | None, now: datetime | None) -> float | None:
    seconds = _number(value)
    if value is None or seconds is not None:
        return seconds
    try:
        then = parsedate_to_datetime(value)
    except ValueError:
        return None
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return max(0.0, (then - (now or datetime.now(UTC))).total_seconds())


def _retry_info(body: Any) -> float | None:
    whole = body[0] if isinstance(body, list) and body else body
    details = mapping(mapping(whole).get("error")).get("details")
    for detail in details if isinstance(details, list) else ():
        delay = mapping(detail).get("retryDelay")
        if isinstance(delay, str):
            return _number(delay.removesuffix("s"))
    return None


def _in_words(message: str) -> float | None:
    found = _AGAIN_IN.search(message)
    spans = _SPAN.findall(found[1]) if found else []
    return sum((_number(n) or 0.0) * _UNIT_S[unit.lower()] for n, unit in spans) if spans else None


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None
