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
    shown: list[str] = []
    for line in printable(text).strip().split("\n"):
        rows = [line[i : i + width] for i in range(0, len(line), width)] or [""]
        if len(shown) + len(rows) > lines:
            shown += rows[: lines - len(shown)]
            left = len(text) - sum(map(len, shown))
            return "\n".join([*shown, f"[... {max(left, 1)} more characters]"])
        shown += rows
    return "\n".join(shown)
