"""System prompts as text: placeholders to fill, and the one block in which two producers may differ."""

import re
from collections.abc import Mapping

from abjudge.domain.errors import InputError
from abjudge.domain.rubrics import Rubric

BLOCK_BEGIN = "<!-- scaffold block: begin -->"
BLOCK_END = "<!-- scaffold block: end -->"
_PLACEHOLDER = re.compile(r"\{\{([^{}]*)\}\}")
_MARKS = re.compile(r"\[(?:END )?COGNITIVE SCAFFOLD\]", re.IGNORECASE)


def fill(template: str, values: Mapping[str, str], *, name: str) -> str:
    """Replace each `{{word}}`. One with no value is an InputError that names file and line."""
    for match in _PLACEHOLDER.finditer(template):
        if match[1].strip() not in values:
            number = template.count("\n", 0, match.start()) + 1
            known = ", ".join(sorted(values)) or "none"
            raise InputError(
                "unfilled_placeholder",
                number,
                f"{name}, line {number}: nothing fills the placeholder {match[0]!r}; this prompt knows: {known}.",
                hint="Remove it, or write the text that belongs there.",
            )
    return _PLACEHOLDER.sub(lambda m: values[m[1].strip()], template)


def split_block(text: str, *, name: str) -> tuple[str, str]:
    """The text without its marked block, and the block without its marks ('' where there is none)."""
    if text.count(BLOCK_BEGIN) != text.count(BLOCK_END) or text.count(BLOCK_BEGIN) > 1:
        raise InputError("scaffold_block", None, f"{name}: expected one block from {BLOCK_BEGIN!r} to {BLOCK_END!r}.")
    if BLOCK_BEGIN not in text:
        return text, ""
    before, rest = text.split(BLOCK_BEGIN)
    if BLOCK_END not in rest:
        raise InputError("scaffold_block", None, f"{name}: the scaffold block ends before it begins.")
    block, after = rest.split(BLOCK_END)
    return before + after.removeprefix("\n"), block.removeprefix("\n")


def without_marks(text: str) -> str:
    """The text as it is sent: the block stays, the marks around it go."""
    for mark in (BLOCK_BEGIN, BLOCK_END):
        text = text.replace(f"{mark}\n", "").replace(mark, "")
    return text


def holds_marks(scaffold: str) -> bool:
    """Whether a scaffold could end its own block, so that the rest of it would pass for the request."""
    return _MARKS.search(scaffold) is not None


def inject(scaffold: str, prompt: str) -> str:
    """The scaffolded producer's user message: the scaffold in its block, then the prompt verbatim."""
    return f"[COGNITIVE SCAFFOLD]\n{scaffold}\n[END COGNITIVE SCAFFOLD]\n\n{prompt}"


def criteria_lines(rubric: Rubric) -> str:
    return "\n".join(f"- {c.name}: {c.question}" for c in rubric.criteria)


def verdict_shape(rubric: Rubric) -> str:
    """The verdict's layout as the judge reads it: short names, no values that could be copied as an answer."""
    sheet = ", ".join(f'"{name}": n' for name in rubric.names)
    sentences = ", ".join(f'"{name}": "..."' for name in rubric.names)
    return (
        f'{{"scores": {{"A": {{{sheet}}},\n            "B": {{{sheet}}}}},\n'
        ' "totals": {"A": sum, "B": sum},\n'
        f' "justifications": {{{sentences}}},\n'
        ' "verdict": "A" or "B" or "tie", "verdict_reason": "..."}\n'
        'where n is a score, sum adds up one response\'s scores, and each "..." is one sentence that compares A and B.'
    )
