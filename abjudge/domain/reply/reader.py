"""What a judge's reply comes to: parse first, repair only what changes no meaning, guess nothing."""

import html
import re

from abjudge.domain.reply.claims import Claim, claims_in, is_broken_claim, only_claim
from abjudge.domain.reply.lenient_json import read_value
from abjudge.domain.reply.scan import Scan, outside, scan, with_fence
from abjudge.domain.reply.sheet import NotAVerdictError, Sheet, is_placeholder_at, read_sheet
from abjudge.domain.rubrics import FIVE, Rubric
from abjudge.domain.verdicts import VerdictReading

# Notes on a reply that was a verdict as it stood: seen and told, but not repaired.
OBSERVATIONS = frozenset(
    {"blank_justification", "lone_surrogate", "nul_replaced", "tie_with_unequal_totals", "winner_with_equal_totals"}
)

_BLOCKED = frozenset({"content_filter", "safety", "recitation", "blocklist", "prohibited_content", "spii"})
_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"})
_REFUSAL = re.compile(
    r"\b(?:i'm sorry|i am sorry|i apologi[sz]e"
    r"|i (?:can't|cannot|can not|won't|will not|couldn't|must decline|decline)\b"
    r"|(?:unable|not able) to\b|not comfortable\b|as an ai\b)"
)
_REFUSAL_REACH = 400
_HTML = re.compile(r"\{\s*+&(?:quot|#34|#x22|apos|#39|#x27);", re.IGNORECASE)
_BLANK = "\ufeff\u200b \t\r\n"
_LAYERS = 3
_SCALAR_REACH = 1000


def parse_verdict(
    reply: str | None,
    *,
    candidate_a: str = "",
    candidate_b: str = "",
    finish_reason: str | None = None,
    refusal: str | None = None,
    rubric: Rubric = FIVE,
) -> VerdictReading:
    """Read a judge's reply; never raises, whatever the text.

    Give the candidates as the judge saw them under A and B: a verdict copied out of one of them is not the judge's, and
    without them that cannot be known. `finish_reason` is the provider's word: where it says that the reply was cut
    (`length`) there is no verdict, however complete the text looks. A missing score, a fraction, a second opinion, a
    winner with the lower total are `evaluator_error` with a `reason`, never a tie and never a number.
    """
    if not isinstance(reply, str | None):
        return VerdictReading.error("no_json", f"the reply is no text but {type(reply).__name__}")
    candidate_a, candidate_b = (text if isinstance(text, str) else "" for text in (candidate_a, candidate_b))
    finish = finish_reason.casefold() if isinstance(finish_reason, str) else ""
    if finish in _BLOCKED:
        return VerdictReading.error("judge_blocked", "the provider's filter stopped the judge")
    if finish == "refusal" or (isinstance(refusal, str) and refusal.strip()):
        return VerdictReading.error("judge_refused", "the judge declined")
    cut = finish in _CUT
    if reply is None or not reply.strip().strip(_BLANK):
        if cut:
            return VerdictReading.error("truncated", "the token limit was reached before the first word")
        return VerdictReading.error("empty", "the reply has no text")
    try:
        sheet, notes = _read(reply, (candidate_a, candidate_b), rubric, cut, _LAYERS)
    except NotAVerdictError as error:
        return VerdictReading.error(error.reason, error.detail)
    return VerdictReading(
        outcome="parsed" if OBSERVATIONS.issuperset(notes) else "repaired",
        verdict=sheet.verdict,
        totals=sheet.totals,
        scores=sheet.scores,
        notes=tuple(dict.fromkeys(notes)),
        justifications=sheet.justifications,
        verdict_reason=sheet.verdict_reason,
    )


def _read(
    text: str, candidates: tuple[str, str], rubric: Rubric, cut: bool, layers: int
) -> tuple[Sheet, tuple[str, ...]]:
    seen = scan(text)
    if seen.cut_in_thought:
        raise NotAVerdictError("truncated_in_thinking", "the thinking has no end, so the verdict never came")
    if cut or seen.cut:
        raise NotAVerdictError("truncated", "the reply was cut, and a cut reply is never completed")
    if seen.tangled:
        raise NotAVerdictError("not_json", "the reply is too tangled to be read whole")
    only = only_claim(seen, candidates, rubric)
    thought = ("think_block",) if seen.thoughts else ()
    if only is None:
        sheet, notes = _read_inside(seen, candidates, rubric, layers)
        return sheet, (*thought, *notes)
    claim, aside = only
    if claim.conflict is not None:
        raise NotAVerdictError("duplicate_key_conflict", "a key is given twice, with different values")
    sheet = read_sheet(claim.value, rubric)
    return sheet, (*thought, *aside, *_around(seen, claim), *claim.notes, *sheet.notes)


def _around(seen: Scan, chosen: Claim) -> list[str]:
    """Notes on what stands around the verdict. Fences, other verdict objects and thinking are not text."""
    places = sorted({(claim.start, claim.end) for claim in claims_in(seen)})
    fenced = [with_fence(seen.text, start, end) for start, end in places]
    start, end, has_fence = fenced[places.index((chosen.start, chosen.end))]
    spans = sorted([*seen.thoughts, *((begin, stop) for begin, stop, _ in fenced)])
    pieces = [piece.strip() for piece in outside(seen.text, spans)]
    notes = []
    if pieces[0].startswith("\ufeff"):
        notes.append("byte_order_mark")
        pieces[0] = pieces[0].strip(_BLANK)
    if has_fence:
        notes.append("code_fence")
    before = spans.index((start, end)) + 1
    if any(pieces[:before]):
        notes.append("leading_text")
    if any(pieces[before:]):
        notes.append("trailing_text")
    return notes


def _read_inside(seen: Scan, candidates: tuple[str, str], rubric: Rubric, layers: int) -> tuple[Sheet, tuple[str, ...]]:
    """A verdict under one more coat: a JSON text inside a JSON string, or JSON escaped for HTML."""
    body, fence = _unfenced("".join(outside(seen.text, seen.thoughts)).strip().strip(_BLANK))
    if layers and body.startswith('"'):
        outer = read_value(body)
        if outer.state == "whole" and isinstance(outer.value, str) and not body[outer.end :].strip():
            sheet, notes = _read(outer.value, candidates, rubric, False, layers - 1)
            return sheet, (*fence, "double_encoded", *outer.notes, *notes)
        if outer.state == "cut" and body[1:].lstrip().startswith("{"):
            raise NotAVerdictError("truncated", "the reply was cut inside a JSON string")
    if layers and _HTML.search(body):
        sheet, notes = _read(html.unescape(body), candidates, rubric, False, layers - 1)
        return sheet, (*fence, "html_entities", *notes)
    raise _why_none(seen, body)


def _unfenced(text: str) -> tuple[str, tuple[str, ...]]:
    first, _, rest = text.partition("\n")
    for fence in ("```", "~~~"):
        if first.startswith(fence):
            return rest.rstrip().removesuffix(fence).strip(), ("code_fence",)
    return text, ()


def _why_none(seen: Scan, body: str) -> NotAVerdictError:
    """Why a reply that is whole holds nothing that speaks as a verdict: the cause a person would act on."""
    if not body:
        return NotAVerdictError("empty", "nothing follows the thinking" if seen.thoughts else "the reply has no text")
    broken = next((part for part in seen.broken if is_broken_claim(part)), None)
    if broken and is_placeholder_at(seen.text, broken.read.end):
        return NotAVerdictError("placeholder_echo", "the judge gave the form back unfilled")
    if broken:
        return NotAVerdictError("not_json", f"the verdict object is not JSON from character {broken.read.end} on")
    if _REFUSAL.search(body[:_REFUSAL_REACH].replace("’", "'").casefold()):
        return NotAVerdictError("judge_refused", "the judge declined in its own words")
    if body.startswith("{") and seen.broken:
        return NotAVerdictError("not_json", f"the object is not JSON from character {seen.broken[0].read.end} on")
    if seen.objects:
        return NotAVerdictError("schema", "the object has neither scores nor a verdict")
    if body.startswith("{"):
        return NotAVerdictError("not_json", "the reply begins like an object and is none")
    value = read_value(body[:_SCALAR_REACH])
    if value.state == "whole" and not body[value.end :].strip():
        return NotAVerdictError("schema", "the reply is JSON, but not an object")
    return NotAVerdictError("no_json", "the reply holds no JSON object")
