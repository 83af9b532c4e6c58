"""Which objects of a reply speak as verdicts, and which of those are the judge's own."""

import html
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from abjudge.domain.reply.lenient_json import canonical, read_value
from abjudge.domain.reply.scan import Found, Scan, scan
from abjudge.domain.reply.sheet import NotAVerdictError, claims_to_be_verdict, is_placeholder_at, read_sheet
from abjudge.domain.rubrics import Rubric

# Past so many different verdicts there is none anyway, and each costs a look through both candidates.
_DIFFERENT_AT_MOST = 16
_LAYERS = 3


@dataclass(frozen=True, slots=True)
class Claim:
    """An object that speaks as a verdict. `start` and `end` are those of the outermost value that holds it."""

    start: int
    end: int
    value: dict[str, Any]
    notes: tuple[str, ...]
    conflict: str | None
    meaning: Any


def claims_in(seen: Scan) -> Iterator[Claim]:
    """The claims among a reply's objects, in order: as they stand, wrapped, or written as text in a tool call."""
    for found in seen.objects:
        for value, steps, conflict in _within(found.read.value, (), found.read.conflict, _LAYERS):
            meaning = (canonical(value), conflict)
            yield Claim(found.start, found.read.end, value, (*steps, *found.read.notes), conflict, meaning)


def _within(
    value: Any, steps: tuple[str, ...], conflict: str | None, layers: int
) -> Iterator[tuple[dict[str, Any], tuple[str, ...], str | None]]:
    claims = isinstance(value, dict) and claims_to_be_verdict(value)
    if claims:
        yield value, steps, conflict
    items = value.values() if isinstance(value, dict) else value
    for item in items:
        if isinstance(item, dict | list):
            yield from _within(item, (*steps, "unwrapped"), conflict, layers)
        elif isinstance(item, str) and not claims and layers and item.lstrip()[:1] == "{":
            inner = read_value(item)
            if inner.state == "whole" and not item[inner.end :].strip():
                deeper = (*steps, "unwrapped", "double_encoded", *inner.notes)
                yield from _within(inner.value, deeper, conflict or inner.conflict, layers - 1)


def only_claim(seen: Scan, candidates: tuple[str, str], rubric: Rubric) -> tuple[Claim, tuple[str, ...]] | None:
    """The judge's one verdict and notes on what was set aside; None where nothing claims to be a verdict.

    Raises NotAVerdictError where only a candidate's words came back, or where two claims differ.
    """
    claims = list(claims_in(seen))
    if not claims:
        return None
    different: dict[Any, Claim] = {}
    for claim in claims:
        different.setdefault(claim.meaning, claim)
    if len(different) > _DIFFERENT_AT_MOST:
        raise NotAVerdictError("multiple_verdicts", "the reply holds many verdict objects that differ")
    notes: list[str] = []
    squeezed = [_squeezed(candidate) for candidate in candidates]
    own = _not_quoted(seen.text, different, candidates, rubric, notes)
    own = _not_blank(own, rubric, notes)
    meanings = {claim.meaning for claim in own}
    if sum(claim.meaning in meanings for claim in claims) > 1:
        notes.append("duplicate_object")
    if not _agree(own, rubric, notes) or any(_is_rival(seen.text, part, squeezed) for part in seen.broken):
        raise NotAVerdictError("multiple_verdicts", "the reply holds verdict objects that differ")
    return own[0], tuple(notes)


def _not_quoted(
    text: str, different: dict[Any, Claim], candidates: tuple[str, str], rubric: Rubric, notes: list[str]
) -> list[Claim]:
    """The claims that stand in no candidate, in whatever spelling."""
    quoted = {meaning for candidate in candidates if "{" in candidate for meaning in _meanings(candidate, rubric)}
    squeezed = [_squeezed(candidate) for candidate in candidates]

    def is_quoted(claim: Claim) -> bool:
        words = _squeezed(text[claim.start : claim.end])
        return (
            claim.meaning in quoted
            or _said(claim.value, rubric) in quoted
            or any(words in candidate for candidate in squeezed)
        )

    own = [claim for claim in different.values() if not is_quoted(claim)]
    if not own:
        raise NotAVerdictError(
            "verdict_is_candidate_echo", "the only verdict in the reply stands in a candidate's text"
        )
    if len(own) < len(different):
        notes.append("candidate_echo_ignored")
    return own


def _meanings(candidate: str, rubric: Rubric) -> Iterator[Any]:
    views = {candidate, candidate.replace('\\"', '"'), html.unescape(candidate)}
    for view in views:
        for claim in claims_in(scan(view, thinking=False)):
            yield claim.meaning
            yield _said(claim.value, rubric)


def _said(value: dict[str, Any], rubric: Rubric) -> Any:
    """What a claim says once its spelling is repaired; one that says nothing equals nothing."""
    try:
        sheet = read_sheet(value, rubric)
    except NotAVerdictError:
        return object()
    return (sheet.counted, sheet.words)


def _not_blank(claims: list[Claim], rubric: Rubric, notes: list[str]) -> list[Claim]:
    """Without the form that some judges repeat before they fill it in, unless the form is all there is."""

    def is_blank(claim: Claim) -> bool:
        try:
            read_sheet(claim.value, rubric)
        except NotAVerdictError as error:
            return error.reason == "placeholder_echo"
        return False

    filled = [claim for claim in claims if not is_blank(claim)] if len(claims) > 1 else claims
    if not filled or len(filled) == len(claims):
        return claims
    notes.append("placeholder_echo_ignored")
    return filled


def _agree(claims: list[Claim], rubric: Rubric, notes: list[str]) -> bool:
    # Two different verdict objects are no verdict: a judge that quotes a candidate would otherwise win the
    # coin toss for us. Two that differ in words alone give the same scores to the same side: the first stands.
    if len(claims) == 1:
        return True
    if any(claim.conflict for claim in claims):
        return False
    try:
        sheets = [read_sheet(claim.value, rubric) for claim in claims]
    except NotAVerdictError:
        return False
    if len({sheet.words for sheet in sheets}) > 1:
        notes.append("justifications_differ")
    return len({sheet.counted for sheet in sheets}) == 1


def _is_rival(text: str, part: Found, squeezed: list[str]) -> bool:
    """Whether an object that is not JSON was to be a verdict too. A form quoted with its blanks was not."""
    if not is_broken_claim(part) or is_placeholder_at(text, part.read.end):
        return False
    words = _squeezed(text[part.start : part.read.end])
    return not any(words in candidate for candidate in squeezed)


def is_broken_claim(part: Found) -> bool:
    """Whether what could be read of a broken object speaks as a verdict."""
    return isinstance(part.read.value, dict) and claims_to_be_verdict(part.read.value)


def _squeezed(text: str) -> str:
    return "".join(text.split())
