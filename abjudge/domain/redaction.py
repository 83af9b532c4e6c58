"""Keeping secrets out of what is written down: by name, by shape and by value."""

import re
from collections.abc import Iterable
from urllib.parse import quote

MARK = "[redacted]"

_RULES = (
    # Userinfo in an address: everything up to the last @ before the path, since passwords may hold an @ themselves.
    (re.compile(r"(?<=://)[^\s\"'<>]*@"), f"{MARK}@"),
    (
        re.compile(r"(?i)(?<![\w-])(authorization[\"']?\s*[:=]\s*[\"']?)((?:bearer|basic|token)\s+)?[^\s\"',;}]+"),
        rf"\1{MARK}",
    ),
    (
        re.compile(
            r"(?i)((?<![\w-])(?:x-api-key|x-goog-api-key|api[-_]?key|access[-_]token|client[-_]secret|password)"
            r"[\"']?\s*[:=]\s*[\"']?)[^\s\"'&,;}]+"
        ),
        rf"\1{MARK}",
    ),
    (re.compile(r"(?i)((?<![\w-])(?:key|token|sig|signature)=)[^\s\"'&,;}]+"), rf"\1{MARK}"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/*-]{8,}=*"), rf"\1 {MARK}"),
    (
        re.compile(
            r"\b(?:sk|pk|rk|gsk|xai|pplx|hf|ghp|nvapi|r8|tgp)[-_][\w*-]{8,}"
            r"|\bAIza[\w*-]{16,}|\bya29\.[\w.-]{8,}|\bAKIA[0-9A-Z]{12,}"
        ),
        MARK,
    ),
)


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """`text` without anything that opens a door.

    `secrets` are removed wherever they stand, also percent-encoded; those under four characters are left alone, since
    removing them would eat ordinary words. What is not in `secrets` is found by its name or its shape.
    """
    for secret in sorted({s for s in secrets if len(s) >= 4}, key=len, reverse=True):
        for form in (secret, quote(secret, safe="")):
            text = text.replace(form, MARK)
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text
