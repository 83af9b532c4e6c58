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
    whole = text.strip()
    # Nothing beyond this can be shown; wrapping a line of ten million characters takes a minute.
    near = printable(whole[: 2 * lines * (width + 1)])
    shown: list[str] = []
    for line in near.split("\n"):
        rows = textwrap.wrap(line, width) or [""]
        room = lines - len(shown)
        shown += rows[:room]
        if len(rows) > room:
            break
    else:
        if len(whole) <= len(near):
            return "\n".join(shown)
    left = sum(map(len, whole.split())) - sum(map(len, "".join(shown).split()))
    return "\n".join([*shown, f"[... {max(left, 1)} more characters]"])
