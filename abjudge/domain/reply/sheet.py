"""One object of a judge's reply, held against the rubric: a score sheet, or the reason why it is none."""

import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from abjudge.domain.reply.lenient_json import canonical, join_surrogates
from abjudge.domain.rubrics import Rubric
from abjudge.domain.verdicts import Choice, Label, verdict_schema

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

LABELS: tuple[Label, Label] = ("A", "B")

_NOUN = r"(?:(?:response|assistant|answer|candidate|option|model|output)[ :_-]{0,2})?"
_LABEL = re.compile(rf"{_NOUN}([ab])")
_WINNER = re.compile(rf"(?:(?:the )?(?:winner|verdict)(?: is |: ?))?{_NOUN}([ab])(?: wins| is better)?")
_TIE = re.compile(r"(?:its )?(?:a )?(?:tie|tied|draw|equal)")
_CHOICES = re.compile(r"\s*(?:[|/,]|\bor\b)\s*")
_WHOLE = re.compile(r"-?[0-9]{1,9}(?:\.0{1,9})?")
_DECIMAL = re.compile(r"-?[0-9]{1,9}\.[0-9]{1,99}")
_FULLWIDTH = {0xFF10 + digit: str(digit) for digit in range(10)}
_DRESSING = str.maketrans("", "", "*`\"'“”‘’")
_RANGE = r"\d+\s*(?:-|–|to|\.\.)\s*\d+"
_PLACEHOLDER = re.compile(rf"<[^<>]*>|{_RANGE}|\.\.\.|…|int|integer|number|score|one sentence comparing a and b")
_PLACEHOLDER_BARE = re.compile(rf"<[^<>\n]{{1,60}}>|{_RANGE}|\.\.\.|…|\||integer\b|int\b")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SHORT = 100
_FIELDS = ("scores", "totals", "justifications", "verdict", "verdict_reason")


class NotAVerdictError(Exception):
    """Why an object is no verdict: a reason code and one line for people. Never leaves the reader."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Sheet:
    """A verdict that keeps to the rubric. `totals` are the sums of `scores`, whatever the judge wrote."""

    scores: dict[Label, dict[str, int]]
    totals: dict[Label, int]
    justifications: dict[str, str]
    verdict: Choice
    verdict_reason: str
    notes: tuple[str, ...]

    @property
    def counted(self) -> tuple[Any, ...]:
        """What enters any number; two sheets alike in this differ only in words."""
        return (self.verdict, *(tuple(self.scores[label].values()) for label in LABELS))

    @property
    def words(self) -> tuple[str, ...]:
        return (*self.justifications.values(), self.verdict_reason)


def claims_to_be_verdict(value: dict[str, Any]) -> bool:
    """Whether an object speaks as a verdict, well or badly: it has scores, or a verdict that is no wrapped object."""
    for key, item in value.items():
        name = _plain(key)
        if name == "scores" or (name == "verdict" and not isinstance(item, dict)):
            return True
    return False


def is_placeholder_at(text: str, pos: int) -> bool:
    """Whether reading broke at a form's blank (`<sum>`, `1-5`, `...`): the judge gave the form back unfilled."""
    # A range breaks after its first number, so look from there as well.
    return any(_PLACEHOLDER_BARE.match(text, at) for at in (pos, max(0, pos - 1)))


def read_sheet(value: dict[str, Any], rubric: Rubric) -> Sheet:
    """The sheet in `value`, or NotAVerdictError. Nothing is rounded, clamped, filled in or given to the other side."""
    notes: dict[str, None] = {}
    if isinstance(value.get("scores"), dict) and "properties" in value["scores"]:
        raise NotAVerdictError("placeholder_echo", "the JSON Schema came back instead of a verdict")
    fields = _renamed(value, _FIELDS, "key_normalized", "extra_key", notes)
    scores = _scores(fields, rubric, notes)
    totals: dict[Label, int] = {label: sum(scores[label].values()) for label in LABELS}
    if not _same_totals(fields.get("totals"), totals, notes):
        # Sums are ours to make: missing or wrong ones take nothing from what the judge said.
        notes["totals_recomputed"] = None
    justifications = _justifications(fields, rubric, notes)
    verdict = _verdict(fields, notes)
    reason = _text(fields, "verdict_reason", notes)
    if not reason.strip() or not all(text.strip() for text in justifications.values()):
        notes["blank_justification"] = None
    _agree(verdict, totals, notes)
    sheet = Sheet(scores, totals, justifications, verdict, reason, tuple(notes))
    _validate(sheet, rubric)
    return sheet


def tidy(text: str, notes: dict[str, None]) -> str:
    """`text` fit for any log: a lone surrogate kills a UTF-8 write, a NUL ends a C string."""
    if _SURROGATE.search(text):
        text = _SURROGATE.sub("\ufffd", join_surrogates(text))
        notes["lone_surrogate"] = None
    if "\0" in text:
        notes["nul_replaced"] = None
        text = text.replace("\0", "\ufffd")
    return text


def shown(value: Any) -> str:
    """A value in an error's one line: short, and printable anywhere."""
    text = ascii(value) if isinstance(value, str) else f"a list of {len(value)}" if isinstance(value, list) else ""
    text = text or (f"an object of {len(value)}" if isinstance(value, dict) else str(value)[:60])
    return text if len(text) <= 60 else text[:57] + "..."


def _plain(key: str) -> str:
    """A key without what no one means by it: case, blanks, invisible characters, the style of joining words."""
    if key.isascii() and key.isalpha():
        return key.lower()
    return re.sub(r"[\s_\-*`]+", "", _visible(key)).casefold()


def _visible(text: str) -> str:
    """A short text without its invisible characters. A long one is no name, label or number at all."""
    return "".join(char for char in text if unicodedata.category(char) != "Cf") if len(text) <= _SHORT else ""


def _renamed(
    value: dict[str, Any], names: tuple[str, ...], renamed: str, extra: str, notes: dict[str, None]
) -> dict[str, Any]:
    """`value` under the names we know; unknown keys are dropped with the note `extra`."""
    plain = [_plain(name) for name in names]
    # Names that differ only in case are told apart only where they are written exactly.
    spelled = {spelling: name for spelling, name in zip(plain, names, strict=True) if plain.count(spelling) == 1}
    known: dict[str, Any] = {}
    for key, item in value.items():
        name = key if key in names else spelled.get(_plain(key))
        if name is None:
            notes[extra] = None
            continue
        if name != key:
            notes[renamed] = None
        _store(known, name, item, notes)
    return known


def _store(known: dict[str, Any], name: str, item: Any, notes: dict[str, None]) -> None:
    if name in known:
        if canonical(known[name]) != canonical(item):
            raise NotAVerdictError("duplicate_key_conflict", f"{shown(name)} is given twice, with different values")
        notes["duplicate_key_same_value"] = None
    known[name] = item


def _by_label(value: Any, where: str, notes: dict[str, None]) -> dict[str, Any]:
    """The two sides of `scores` or `totals`. `1` and `first` are not read as A: a guess there swaps the sides."""
    if not isinstance(value, dict):
        raise NotAVerdictError("schema", f"{where}: expected an object with A and B")
    known: dict[str, Any] = {}
    for key, item in value.items():
        match = _LABEL.fullmatch(_undressed(key))
        if match is None:
            raise NotAVerdictError("schema", f"{where}: {shown(key)} is neither A nor B")
        label = match.group(1).upper()
        if label != key:
            notes["label_normalized"] = None
        _store(known, label, item, notes)
    for label in LABELS:
        if label not in known:
            raise NotAVerdictError("schema", f"{where}: {label} is missing")
    return known


def _scores(fields: dict[str, Any], rubric: Rubric, notes: dict[str, None]) -> dict[Label, dict[str, int]]:
    sides = _by_label(fields.get("scores"), "scores", notes)
    return {label: _side(sides[label], label, rubric, notes) for label in LABELS}


def _criteria(value: dict[str, Any], rubric: Rubric, notes: dict[str, None]) -> dict[str, Any]:
    return _renamed(value, rubric.names, "criterion_normalized", "extra_criterion", notes)


def _side(value: Any, label: Label, rubric: Rubric, notes: dict[str, None]) -> dict[str, int]:
    if not isinstance(value, dict):
        raise NotAVerdictError("schema", f"scores.{label}: expected an object of criteria")
    given = _criteria(value, rubric, notes)
    for name in rubric.names:
        if name not in given:
            raise NotAVerdictError("missing_criterion", f"scores.{label}: {name} is missing")
    return {name: _score(given[name], f"scores.{label}.{name}", rubric, notes) for name in rubric.names}


def _score(value: Any, where: str, rubric: Rubric, notes: dict[str, None]) -> int:
    number = _quoted(value, where, notes) if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, int | Decimal):
        raise NotAVerdictError("score_not_number", f"{where}: {shown(value)} is not a number")
    if isinstance(number, Decimal) and not number.is_finite():
        raise NotAVerdictError("score_not_finite", f"{where}: {shown(value)} is not finite")
    if isinstance(number, Decimal) and number != number.to_integral_value():
        raise NotAVerdictError("score_not_integer", f"{where}: {shown(value)} is not a whole number")
    if not rubric.low <= number <= rubric.high:
        raise NotAVerdictError("score_out_of_range", f"{where}: {shown(value)} is not in {rubric.low} to {rubric.high}")
    return int(number)


def _quoted(value: str, where: str, notes: dict[str, None]) -> Decimal | None:
    """A number in quotes. `+4` is none (it may be a difference), nor are `4/5`, `four` and `④`."""
    text = _visible(value).strip()
    if _PLACEHOLDER.fullmatch(text.casefold()):
        raise NotAVerdictError("placeholder_echo", f"{where}: {shown(value)} is the form's own text")
    narrow = text.translate(_FULLWIDTH)
    if not _WHOLE.fullmatch(narrow):
        return Decimal(narrow) if _DECIMAL.fullmatch(narrow) else None
    notes["score_string"] = None
    if narrow != text:
        notes["fullwidth_digits"] = None
    return Decimal(narrow)


def _same_totals(value: Any, totals: dict[Label, int], notes: dict[str, None]) -> bool:
    if not isinstance(value, dict):
        return False
    try:
        given = _by_label(value, "totals", notes)
    except NotAVerdictError as error:
        if error.reason == "duplicate_key_conflict":
            raise
        return False
    return all(not isinstance(given[label], bool) and given[label] == totals[label] for label in LABELS)


def _justifications(fields: dict[str, Any], rubric: Rubric, notes: dict[str, None]) -> dict[str, str]:
    value = fields.get("justifications")
    if not isinstance(value, dict):
        raise NotAVerdictError("schema", "justifications: expected an object of criteria")
    given = _criteria(value, rubric, notes)
    texts = {name: _text(given, name, notes, "justifications.") for name in rubric.names}
    if all(_PLACEHOLDER.fullmatch(text.strip().rstrip(".").casefold() or " ") for text in texts.values()):
        raise NotAVerdictError("placeholder_echo", "every justification is the form's own text")
    return texts


def _text(fields: dict[str, Any], name: str, notes: dict[str, None], where: str = "") -> str:
    text = fields.get(name)
    if not isinstance(text, str):
        state = "is missing" if name not in fields else "is not a text"
        raise NotAVerdictError("schema", f"{where}{name} {state}")
    return tidy(text, notes)


def _undressed(text: str) -> str:
    """A label without Markdown, quotes, brackets, invisible characters, width and case; lookalike letters stay."""
    bare = unicodedata.normalize("NFKC", _visible(text)).translate(_DRESSING)
    # Punctuation goes from the end only: "!A" may well mean "not A".
    for closing in (".!,;: ", "[]()<> ", ".!,;: "):
        bare = bare.strip(closing) if "[" in closing else bare.strip().rstrip(closing)
    return re.sub(r"[\s_]+", " ", bare).casefold()


def _verdict(fields: dict[str, Any], notes: dict[str, None]) -> Choice:
    if "verdict" not in fields:
        raise NotAVerdictError("schema", "verdict is missing")
    value = fields["verdict"]
    if isinstance(value, str):
        if value in ("A", "B", "tie"):
            return cast(Choice, value)
        text = _undressed(value)
        choice = "tie" if _TIE.fullmatch(text) else ""
        if match := _WINNER.fullmatch(text):
            choice = match.group(1).upper()
        if choice:
            notes["verdict_normalized"] = None
            return cast(Choice, choice)
        if set(_CHOICES.split(text)) >= {"a", "b", "tie"}:
            raise NotAVerdictError("placeholder_echo", f"verdict: {shown(value)} is the form's own text")
    raise NotAVerdictError("verdict_unknown", f"verdict: {shown(value)} is not one of A, B, tie")


def _agree(verdict: Choice, totals: dict[Label, int], notes: dict[str, None]) -> None:
    a, b = totals["A"], totals["B"]
    if verdict == "tie":
        if a != b:
            notes["tie_with_unequal_totals"] = None
    elif a == b:
        notes["winner_with_equal_totals"] = None
    elif (verdict == "A") != (a > b):
        # Either half may be the slip; to pick one silently is a coin toss.
        raise NotAVerdictError("verdict_contradicts_totals", f"verdict {verdict}, but the scores add up to {a} and {b}")


@cache
def _validator(rubric: Rubric) -> "Validator":
    from jsonschema import Draft202012Validator

    return Draft202012Validator(verdict_schema(rubric))


def _validate(sheet: Sheet, rubric: Rubric) -> None:
    """The schema has the last word, so that no reading can differ from what providers are asked to enforce."""
    value = {name: getattr(sheet, name) for name in _FIELDS}
    for error in _validator(rubric).iter_errors(value):
        raise NotAVerdictError("schema", f"{error.json_path}: {shown(error.message)}")
