"""JSON as models write it: read what has one meaning, name each liberty taken, and stop where a guess would begin."""

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

# Counted, not recursed: a reply of a hundred thousand brackets must not reach the interpreter's own stack.
MAX_DEPTH = 32

_BLANK = re.compile(r"[ \t\n\r]*+")
_ODD_BLANK = re.compile(r"[\s\u200b\u2060\ufeff]++")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_WORD = re.compile(r"-?[A-Za-z_$][\w$]*+")
_HEX4 = re.compile(r"[0-9a-fA-F]{4}")
_HEX_CUT = re.compile(r"[0-9a-fA-F]{0,3}\Z")
_WORD_CUT = re.compile(r"[\w.+-]{0,9}\Z")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
# A typographic opening quote is answered only by its own closing one. Text with quotes nested in it then
# fails on the next token, which is right: where such a string ends is anyone's guess.
_QUOTES = {'"': '"', "'": "'", "“": "”", "”": "”", "‘": "’"}
_PLAIN = {close: re.compile(rf"[^{close}\\\x00-\x1f]*+") for close in _QUOTES.values()}
_QUOTE_NOTES = {"'": "single_quotes", "“": "smart_quotes", "”": "smart_quotes", "‘": "smart_quotes"}
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}
_PYTHON_WORDS: dict[str, Any] = {"True": True, "False": False, "None": None}
_NOT_FINITE = {
    word: Decimal(word) for word in ("NaN", "nan", "Infinity", "-Infinity", "inf", "-inf")
}  # kept as values, so that the reader can say what is wrong instead of "not JSON"
_OPEN = object()


@dataclass(frozen=True, slots=True)
class Read:
    """What stands at one place of a text.

    `whole`: `value` is complete and ends before `end`. `deep`: complete too, but nested beyond `MAX_DEPTH`, so there is
    no `value`. `cut`: the text ended first. `broken`: at `end` stands something that has no one meaning. In the last
    two `value` is what had been read of the outermost container, for diagnosis only, and `opened` are the places of
    the brackets still open: starting from any of them fails in the same way. Numbers are `int` or `Decimal`, exact,
    and may be NaN. `conflict` is a key that was given two values.
    """

    state: Literal["whole", "deep", "cut", "broken"]
    value: Any
    end: int
    notes: tuple[str, ...] = ()
    conflict: str | None = None
    opened: frozenset[int] = frozenset()


def read_value(text: str, start: int = 0) -> Read:
    """The JSON value at `start`, leading blanks allowed; whatever follows it is left alone. Never raises."""
    reader = _Reader(text, start)
    try:
        value = reader.run()
    except _StopError as stop:
        opened = frozenset(frame.start for frame in reader.stack)
        return Read("cut" if stop.cut else "broken", reader.rest(), reader.pos, (), reader.conflict, opened)
    if reader.deepest > MAX_DEPTH:
        return Read("deep", None, reader.pos)
    return Read("whole", value, reader.pos, tuple(reader.notes), reader.conflict)


def canonical(value: Any) -> Any:
    """A hashable form in which two values are equal when they mean the same: `4` is `4.0`, but `true` is not `1`."""
    if isinstance(value, dict):
        return ("object", frozenset((key, canonical(item)) for key, item in value.items()))
    if isinstance(value, list):
        return ("array", tuple(canonical(item) for item in value))
    if isinstance(value, bool) or value is None:
        return ("word", str(value))
    if isinstance(value, Decimal) and value.is_nan():
        return ("number", "NaN")
    return ("text", value) if isinstance(value, str) else ("number", value)


class _StopError(Exception):
    def __init__(self, cut: bool) -> None:
        self.cut = cut


class _Frame:
    __slots__ = ("holder", "key", "start")

    def __init__(self, start: int, holder: dict[str, Any] | list[Any]) -> None:
        self.start = start
        self.holder = holder
        self.key = ""


class _Reader:
    """One pass, no way back: every method moves `pos` forward or stops."""

    def __init__(self, text: str, pos: int) -> None:
        self.text = text
        self.pos = pos
        self.stack: list[_Frame] = []
        self.deepest = 0
        self.notes: dict[str, None] = {}
        self.conflict: str | None = None

    def run(self) -> Any:
        value = self._value()
        while value is _OPEN or self.stack:
            if value is _OPEN:
                value = self._value()
            else:
                self._put(value)
                value = self._after_member()
        return value

    def rest(self) -> Any:
        """What had been read when reading stopped: the outermost container, with its last key even if without value."""
        if not self.stack or self.deepest > MAX_DEPTH:
            return None
        frame = self.stack[0]
        if isinstance(frame.holder, dict) and frame.key:
            frame.holder.setdefault(frame.key, None)
        return frame.holder

    def _note(self, name: str) -> None:
        self.notes[name] = None

    def _peek(self) -> str:
        """The next character that means something."""
        text = self.text
        while True:
            char = text[self.pos : self.pos + 1]
            if "#" != char != "/" and "!" <= char <= "~":  # nearly always: no need to ask the regex engine
                return char
            blank = _BLANK.match(text, self.pos)
            self.pos = blank.end() if blank else self.pos
            if self.pos >= len(text):
                raise _StopError(cut=True)
            char = text[self.pos]
            if char in "/#":
                self._comment(char)
            elif odd := _ODD_BLANK.match(text, self.pos):
                self._note("odd_whitespace")
                self.pos = odd.end()
            else:
                return char

    def _comment(self, char: str) -> None:
        two = self.text[self.pos : self.pos + 2]
        if char == "/" and two not in ("//", "/*"):
            raise _StopError(cut=two == "/")
        mark = "*/" if two == "/*" else "\n"
        end = self.text.find(mark, self.pos + 2 if char == "/" else self.pos)
        if end < 0:
            self.pos = len(self.text)
            raise _StopError(cut=True)
        self._note("comments")
        self.pos = end + len(mark)

    def _value(self) -> Any:
        char = self._peek()
        if char == "{" or char == "[":
            self.stack.append(_Frame(self.pos, {} if char == "{" else []))
            self.deepest = max(self.deepest, len(self.stack))
            self.pos += 1
            return self._member()
        if char in _QUOTES:
            return self._string(char)
        if number := _NUMBER.match(self.text, self.pos):
            self.pos = number.end()
            return _number(number.group())
        return self._word()

    def _member(self) -> Any:
        """After an opening bracket or a comma: the close, or the key of what comes next."""
        frame = self.stack[-1]
        is_object = isinstance(frame.holder, dict)
        if self._peek() == ("}" if is_object else "]"):
            self.pos += 1
            self.stack.pop()
            return frame.holder
        if is_object:
            frame.key = self._key()
        return _OPEN

    def _after_member(self) -> Any:
        frame = self.stack[-1]
        char = self._peek()
        if char == ",":
            self.pos += 1
            closed = self._member()
            if closed is not _OPEN:
                self._note("trailing_comma")
            return closed
        if char != ("}" if isinstance(frame.holder, dict) else "]"):
            raise self._stop()
        return self._member()

    def _key(self) -> str:
        char = self._peek()
        if char in _QUOTES:
            key = self._string(char)
        elif word := _WORD.match(self.text, self.pos):
            self._note("unquoted_keys")
            self.pos = word.end()
            key = word.group()
        else:
            raise self._stop()
        if self._peek() != ":":
            raise self._stop()
        self.pos += 1
        return key

    def _put(self, value: Any) -> None:
        frame = self.stack[-1]
        if isinstance(frame.holder, list):
            frame.holder.append(value)
            return
        if frame.key in frame.holder and self.deepest <= MAX_DEPTH and self.conflict is None:
            if canonical(frame.holder[frame.key]) == canonical(value):
                self._note("duplicate_key_same_value")
            else:
                self.conflict = frame.key
        frame.holder[frame.key] = value

    def _word(self) -> Any:
        match = _WORD.match(self.text, self.pos)
        word = match.group() if match else ""
        if word in _PYTHON_WORDS:
            self._note("python_literals")
        for table in (_WORDS, _PYTHON_WORDS, _NOT_FINITE):
            if word in table:
                self.pos += len(word)
                return table[word]
        raise self._stop()

    def _string(self, quote: str) -> str:
        if quote in _QUOTE_NOTES:
            self._note(_QUOTE_NOTES[quote])
        text, close, parts, paired = self.text, _QUOTES[quote], [], False
        self.pos += 1
        while True:
            plain = _PLAIN[close].match(text, self.pos)
            if plain:
                parts.append(plain.group())
                self.pos = plain.end()
            if self.pos >= len(text):
                raise _StopError(cut=True)
            char = text[self.pos]
            if char == close:
                self.pos += 1
                joined = "".join(parts)
                return join_surrogates(joined) if paired else joined
            if char == "\\":
                part = self._escape(close)
                paired = paired or "\ud800" <= part <= "\udfff"
                parts.append(part)
            else:
                self._note("control_char_in_string")
                parts.append("\ufffd" if char == "\0" else char)
                self.pos += 1

    def _escape(self, close: str) -> str:
        text, at = self.text, self.pos + 1
        if at >= len(text):
            raise _StopError(cut=True)
        char = text[at]
        self.pos = at + 1
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char == "u":
            if code := _HEX4.match(text, at + 1):
                self.pos = at + 5
                return chr(int(code.group(), 16))
            if _HEX_CUT.match(text, at + 1):
                raise _StopError(cut=True)
        if char == close:
            return char
        # A backslash before anything else can only be meant as a backslash ("\d", "C:\users"); before an
        # apostrophe it is a habit of other languages.
        self._note("invalid_escape")
        if char == "'":
            return char
        self.pos = at
        return "\\"

    def _stop(self) -> _StopError:
        """A half-written word or number at the very end is a cut, not a fault."""
        return _StopError(cut=_WORD_CUT.match(self.text, self.pos) is not None)


def _number(literal: str) -> int | Decimal:
    # Exact: a float would round 4.00000000000000000001 to 4, and int() refuses, by raising, more than 4,300 digits.
    if len(literal) < 18 and literal.lstrip("-").isdigit():
        return int(literal)
    try:
        return Decimal(literal)
    except InvalidOperation:  # an exponent beyond anything
        return Decimal("-Infinity" if literal.startswith("-") else "Infinity")


def join_surrogates(text: str) -> str:
    """Halves that stand side by side become the character they encode; a half alone stays."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
