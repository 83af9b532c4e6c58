"""Text that a spreadsheet would run as a formula, made harmless, and the exact way back."""

import re

GUARD = "'"

# What spreadsheets look past before they look for a sign, and the signs, full width and small forms included.
# OWASP, "CSV Injection"; a cell that begins with a tab or a line end is on that list for itself.
_SKIPPED = r"\s\x00-\x20\x7f-\xa0\"'`\u00ad\u200b-\u200f\u2028-\u202f\u2060-\u2069\ufeff"
_SIGNS = r"=+\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b"
_RUNS = re.compile(f"[{_SKIPPED}]*[{_SIGNS}]|[\t\r\n]")
# What a CSV in UTF-8 cannot hold, or what readers cut the text at.
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")
_ESCAPED = re.compile(r"\\(\\|u[0-9a-f]{4})")


def guarded(text: str) -> str:
    """`text` as a cell that no spreadsheet runs. `unguarded` gives it back exactly, for any text.

    1. Where it holds a NUL or half a surrogate pair, these are written `\\u0000` or `\\ud83d`, every backslash is
       doubled, and `'\\` is put before.
    2. Otherwise a text that would run, or that begins with an apostrophe, gets an apostrophe put before it.
    3. Every other text stays as it is.
    """
    if _UNWRITABLE.search(text):
        return GUARD + "\\" + _UNWRITABLE.sub(_escape, text.replace("\\", "\\\\"))
    return GUARD + text if text.startswith(GUARD) or _RUNS.match(text) else text


def unguarded(cell: str) -> str:
    """What `guarded` was given: drop one leading apostrophe; after `'\\` also undo the escapes."""
    if not cell.startswith(GUARD):
        return cell
    if not cell.startswith("\\", 1):
        return cell[1:]
    return _ESCAPED.sub(lambda found: "\\" if found[1] == "\\" else chr(int(found[1][1:], 16)), cell[2:])


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
