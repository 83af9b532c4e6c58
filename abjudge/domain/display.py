"""Words of strangers made safe to show: what a model writes must not move the cursor or forge our own lines."""

import textwrap

_JOINERS = "\u200c\u200d"  # emoji and several scripts are wrong without them


def printable(text: str) -> str:
    """Without control, escape and bidirectional characters, each replaced by U+FFFD; new lines and tabs stay."""
    unified = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(
        c if c in "\n\t" or c in _JOINERS or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in unified
    )


def excerpt(text: str, *, lines: int, width: int) -> str:
    """The first `lines` lines as they will be shown at `width` columns, with a word on what was left out."""
    whole = printable(text).strip()
    shown: list[str] = []
    for line in whole.split("\n"):
        rows = textwrap.wrap(line, width) or [""]
        room = lines - len(shown)
        shown += rows[:room]
        if len(rows) > room:
            left = len("".join(whole.split())) - len("".join("".join(shown).split()))
            return "\n".join([*shown, f"[... {left} more characters]"])
    return "\n".join(shown)
