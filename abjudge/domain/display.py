"""Words of strangers made safe to show: what a model writes must not move the cursor or forge our own lines."""

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
    used = 0
    for line in whole.split("\n"):
        rows = [line[i : i + width] for i in range(0, len(line), width)] or [""]
        room = lines - len(shown)
        shown += rows[:room]
        used += sum(map(len, rows[:room])) + 1
        if len(rows) > room:
            return "\n".join([*shown, f"[... {len(whole) - used + 1} more characters]"])
    return "\n".join(shown)
