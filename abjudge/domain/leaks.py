"""Traces in a response that could tell a judge which arm wrote it: found and reported, never silently edited.

Thinking blocks are the one exception: they are no part of the answer, so the judge does not see them.
"""

import re
from collections.abc import Iterable
from typing import Literal

from abjudge.domain.values import Value

NGRAM = 8  # tokens; shorter runs are shared by chance between any two texts on one subject
_MARKER = re.compile(r"\[/?(?:END )?COGNITIVE SCAFFOLD\]|\bcognitive scaffold\b", re.IGNORECASE)
_BRACKETED = re.compile(r"\[[A-Z][A-Z0-9 _-]{2,60}\]|<[A-Za-z][\w-]{2,60}>")
_MOST_HEADINGS = 200
_OPEN = r"<(think|thinking|thought|reasoning|scratchpad)>"
_THINK_OPEN = re.compile(rf"(?:\A\s*|\n[ \t]*){_OPEN}", re.IGNORECASE)
_THINK_CLOSE_FIRST = re.compile(r"\A(?:(?!<think)[\s\S])*?</(think|thinking)>[ \t]*(?:\n|\Z)", re.IGNORECASE)
_TAG_NEXT = re.compile(rf"\s*{_OPEN}", re.IGNORECASE)
_CLOSE = {
    tag: re.compile(rf"</{tag}>", re.IGNORECASE) for tag in ("think", "thinking", "thought", "reasoning", "scratchpad")
}
_WORD = re.compile(r"\w+")


class Leak(Value):
    """One trace: what kind, and the words themselves (cut at 200 characters)."""

    kind: Literal["scaffold_marker", "scaffold_heading", "scaffold_ngram", "model_name"]
    text: str


def strip_thinking(text: str) -> tuple[str, str]:
    """The answer without thinking blocks, and the thinking.

    A block counts where its tag opens a line; a mention inside a sentence or code span is text. A block that is never
    closed reaches to the end; a closing tag that was never opened closes what stands before it, because chat templates
    often put the opening tag into the prompt.
    """
    if "<" not in text:
        return text, ""
    if not _THINK_OPEN.search(text) and (closed := _THINK_CLOSE_FIRST.match(text)):
        return text[closed.end() :].strip(), closed.group().strip()
    kept: list[str] = []
    thoughts: list[str] = []
    at = 0
    opened = _THINK_OPEN.search(text)
    while opened:
        close = _CLOSE[opened[1].lower()].search(text, opened.end())
        end = close.end() if close else len(text)
        kept.append(text[at : opened.start()])
        thoughts.append(text[opened.start() : end])
        at = end
        # What follows a block begins a line, as if the block had never been there.
        opened = _TAG_NEXT.match(text, at) or _THINK_OPEN.search(text, at)
    if not thoughts:
        return text, ""
    answer = "\n".join(part for part in (*kept, text[at:]) if part.strip())
    return answer.strip(), "".join(thoughts).strip()


def find_leaks(text: str, *, scaffold: str = "", prompt: str = "", names: Iterable[str] = ()) -> tuple[Leak, ...]:
    """Traces of the scaffold or of the model's name in `text` that the prompt did not bring in itself."""
    lowered = prompt.lower()
    found = [_leak("scaffold_marker", m.group()) for m in _MARKER.finditer(text) if m.group().lower() not in lowered]
    for heading in _headings(scaffold):
        if heading.lower() not in lowered and _spoken(heading, text):
            found.append(_leak("scaffold_heading", heading))
    found += [_leak("scaffold_ngram", run) for run in _shared_runs(text, scaffold, prompt)]
    for name in names:
        if name.lower() not in lowered and _spoken(name, text):
            found.append(_leak("model_name", name))
    return tuple(dict.fromkeys(found))


def _leak(kind: Literal["scaffold_marker", "scaffold_heading", "scaffold_ngram", "model_name"], text: str) -> Leak:
    return Leak(kind=kind, text=text[:200])


def _headings(scaffold: str) -> Iterable[str]:
    """Headings as they would be copied: in brackets, as a tag, or a Markdown heading of a bearable length."""
    found: dict[str, None] = {}
    for line in scaffold.splitlines():
        text = line.strip()
        if bracketed := _BRACKETED.match(text):
            found[bracketed.group()] = None
        elif text.startswith("#") and 5 <= len(text) <= 100:
            found[text] = None
        if len(found) >= _MOST_HEADINGS:
            break
    return found


def _spoken(word: str, text: str) -> bool:
    # A plain look first: it is linear and nearly always enough.
    if word.lower() not in text.lower():
        return False
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE) is not None


def _shared_runs(text: str, scaffold: str, prompt: str) -> list[str]:
    """The longest runs of at least NGRAM tokens that stand in the text and the scaffold but not in the prompt."""
    if not scaffold:
        return []
    known = _ngrams(_tokens(scaffold)) - _ngrams(_tokens(prompt))
    spans = [(m.start(), m.end()) for m in _WORD.finditer(text)]
    words = _tokens(text)
    runs: list[str] = []
    start: int | None = None
    for i in range(len(words) - NGRAM + 1):
        inside = tuple(words[i : i + NGRAM]) in known
        if inside and start is None:
            start = i
        elif not inside and start is not None:
            runs.append(text[spans[start][0] : spans[i + NGRAM - 2][1]])
            start = None
    if start is not None:
        runs.append(text[spans[start][0] : spans[-1][1]])
    return runs


def _tokens(text: str) -> list[str]:
    return [w.lower() for w in _WORD.findall(text)]


def _ngrams(words: list[str]) -> set[tuple[str, ...]]:
    return {tuple(words[i : i + NGRAM]) for i in range(len(words) - NGRAM + 1)}
