"""Control pairs: the same text twice, an answer made worse on purpose, a scaffold without content.

A judge that cannot see these cannot see anything. They are mixed in unmarked; what a fit judge does with each is
known beforehand.
"""

import random
import re
from typing import Literal

from abjudge.domain.fingerprints import fingerprint
from abjudge.domain.outcomes import Observation, ScaffoldText

Damage = Literal["truncated", "shuffled", "wrong_facts"]
DAMAGES: tuple[Damage, ...] = ("truncated", "shuffled", "wrong_facts")
PREFIX = "control:"

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_OPPOSITES = {
    "always": "never", "never": "always", "before": "after", "after": "before", "increase": "decrease",
    "decrease": "increase", "hot": "cold", "cold": "hot", "left": "right", "right": "left", "more": "less",
    "less": "more", "safe": "dangerous", "can": "cannot", "cannot": "can", "is": "is not", "are": "are not",
    "first": "last", "high": "low", "low": "high", "open": "close", "yes": "no", "no": "yes", "should": "should not",
}  # fmt: skip
_WORD = re.compile(rf"\b({'|'.join(_OPPOSITES)})\b")


def is_control(scaffold: str) -> bool:
    return scaffold.startswith(PREFIX)


def control_text(name: str) -> ScaffoldText:
    """The name under which a control's outcomes go, in the place of a scaffold."""
    return ScaffoldText(name=f"{PREFIX}{name}", text=None, digest=fingerprint(f"{PREFIX}{name}"))


def damage(text: str, how: Damage, *, seed: int) -> str | None:
    """The text made clearly worse; None where that cannot be done to it (too short, nothing to change)."""
    if how == "truncated":
        cut = text[: len(text) // 4].rstrip()
        return cut if len(cut.split()) >= 3 else None
    if how == "shuffled":
        words = text.split()
        mixed = words[:]
        random.Random(seed).shuffle(mixed)
        return " ".join(mixed) if len(words) >= 8 and mixed != words else None
    wrong = _WORD.sub(lambda m: _OPPOSITES[m[1]], text)
    wrong = _NUMBER.sub(lambda m: str(int(float(m[0]) * 7 + 3)) if len(m[0]) < 12 else m[0], wrong)
    return wrong if wrong != text else None


def damaged(seen: Observation, how: Damage, *, seed: int) -> Observation | None:
    """An observation that says the same, made worse."""
    text = damage(seen.answer, how, seed=seed)
    if text is None:
        return None
    return seen.with_(
        id=fingerprint([seen.id, how, seed]),
        arm="scaffolded",
        scaffold=f"{PREFIX}degraded-{how}",
        response=seen.response.with_(text=text),
        notes=(*seen.notes, f"degraded:{how}"),
    )


def placebo(scaffold: str) -> str:
    """Text as long as the scaffold, with its lines and headings, that says nothing about how to answer."""
    filler = "This part of the text is here for its length only and asks for nothing in particular. "
    lines = []
    for line in scaffold.splitlines():
        heading = re.match(r"\s*(\[[^\]]*\]|#+\s)", line)
        start = "[NOTE] " if heading else ""
        lines.append((start + filler * (len(line) // len(filler) + 1))[: max(len(line), len(start))])
    return "\n".join(lines)
