"""Where in a reply its JSON objects stand, and what of the reply was only thinking."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from abjudge.domain.reply.lenient_json import Read, read_value

_OPENING = r"<(?:think|thinking|thought|reasoning|analysis)>|\[THINK\]|◁think▷|<\|channel\|>(?:analysis|commentary)"
_CLOSING = r"</(?:think|thinking|thought|reasoning|analysis)>|\[/THINK\]|◁/think▷|<\|channel\|>final(?:<\|message\|>)?"
# A brace opens an object only before a short key, a comment, its close or the end of the text; a bracket counts only
# before such a brace. All else is prose and shell. Saying so here keeps a megabyte of "{" inside the regex engine, and
# a stray quote from swallowing the reply.
_BRACE = (
    r"\{(?=[\s\u200b\u2060\ufeff]*+(?:"
    r'"[^"\\{}\n]{0,200}+(?:"|\\|\Z)'
    r"|'[^'\\{}\n]{0,200}+(?:'|\\|\Z)"
    r"|[“”‘][^”’{}\n]{0,200}+(?:[”’]|\Z)"
    r"|[A-Za-z_$][\w$]{0,200}+\s*+(?::|\Z)|//|/\*|#|/\Z|\}|\Z))"
)
_OBJECT = rf"\[(?=\s*+{_BRACE})|{_BRACE}"
_OBJECTS = re.compile(_OBJECT)
_MARKS = re.compile(rf"(?P<object>{_OBJECT})|(?P<opening>{_OPENING})|(?P<closing>{_CLOSING})", re.IGNORECASE)
_CLOSINGS = re.compile(_CLOSING, re.IGNORECASE)
_FENCE_BEFORE = re.compile(r"(?:`+|~{3,})[ \t]*[\w+-]*\s*\Z")
_FENCE_AFTER = re.compile(r"\s*(?:`+|~{3,})")
_FENCE_REACH = 80
_BROKEN_AT_MOST = 20_000
_WORK_AT_LEAST = 100_000


@dataclass(frozen=True, slots=True)
class Found:
    """An object, or an array of objects, and its place."""

    start: int
    read: Read


@dataclass(slots=True)
class Scan:
    """A reply taken apart. Objects inside thinking are left out; `tangled` means that reading was given up."""

    text: str
    objects: list[Found] = field(default_factory=list)
    broken: list[Found] = field(default_factory=list)
    thoughts: list[tuple[int, int]] = field(default_factory=list)
    cut: bool = False
    cut_in_thought: bool = False
    tangled: bool = False


def scan(text: str, *, thinking: bool = True) -> Scan:
    """Every complete JSON object of `text` that stands in no other, in order; linear in the length of `text`."""
    seen = Scan(text)
    hopeless: set[int] = set()
    work, budget = 0, max(3 * len(text), _WORK_AT_LEAST)
    marks, pos = _MARKS if thinking else _OBJECTS, 0
    while mark := marks.search(text, pos):
        pos = mark.end()
        if thinking and not mark.group("object"):
            after = _think(seen, mark)
            if after is None:
                break
            pos = after
            continue
        if mark.start() in hopeless:
            continue
        read = read_value(text, mark.start())
        work += read.end - mark.start()
        if work > budget or len(seen.broken) > _BROKEN_AT_MOST:
            # Braces laid so that each one costs a long or a vain reading. To read only some of them could miss a
            # second verdict, so none is read.
            seen.tangled = True
            break
        if read.state == "whole":
            seen.objects.append(Found(mark.start(), read))
            pos = read.end
        else:
            seen.cut = seen.cut or read.state == "cut"
            if seen.cut and thinking and not _CLOSINGS.search(text, pos):
                break  # whatever stands within the cut, only a closing think tag could make it matter
            seen.broken.append(Found(mark.start(), read))
            hopeless |= read.opened
            if read.state == "deep":
                pos = read.end
    return seen


def _think(seen: Scan, mark: re.Match[str]) -> int | None:
    """Take a think tag into account; where to read on, or None where the thinking never ends."""
    if mark.group("opening"):
        close = _CLOSINGS.search(seen.text, mark.end())
        if close is None:
            seen.cut_in_thought = not seen.cut
            seen.thoughts.append((mark.start(), len(seen.text)))
            return None
        seen.thoughts.append((mark.start(), close.end()))
        return close.end()
    # Chat templates often put the opening tag into the prompt: a close alone makes all before it thinking.
    seen.objects.clear()
    seen.broken.clear()
    seen.cut = False
    seen.thoughts[:] = [(0, mark.end())]
    return mark.end()


def outside(text: str, spans: list[tuple[int, int]]) -> Iterator[str]:
    """The pieces of `text` between `spans`, which are in order and apart; one more piece than spans."""
    pos = 0
    for start, end in spans:
        yield text[pos:start]
        pos = end
    yield text[pos:]


def with_fence(text: str, start: int, end: int) -> tuple[int, int, bool]:
    """The span grown over the code fence around it, and whether there is one; its closing half may be missing."""
    window = max(0, start - _FENCE_REACH)
    before = _FENCE_BEFORE.search(text[window:start])
    if before is None:
        return start, end, False
    after = _FENCE_AFTER.match(text[end : end + _FENCE_REACH])
    return window + before.start(), end + (after.end() if after else 0), True
