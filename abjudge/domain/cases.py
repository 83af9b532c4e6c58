"""What is asked: one case, and a suite of them."""

from pydantic import Field

from abjudge.domain.errors import InputError
from abjudge.domain.fingerprints import fingerprint
from abjudge.domain.strict_json import whole_characters
from abjudge.domain.values import Value


class Case(Value):
    """One prompt with the name it goes by. `row` is its place in the file; `extra` keeps further columns of it."""

    id: str
    prompt: str
    category: str | None = None
    row: int = 0
    extra: dict[str, str] = Field(default_factory=dict)

    @property
    def digest(self) -> str:
        return fingerprint({"id": self.id, "prompt": self.prompt})


class Suite(Value):
    """A named, versioned set of cases."""

    name: str
    revision: int = 1
    cases: tuple[Case, ...]

    @property
    def digest(self) -> str:
        return fingerprint({"name": self.name, "revision": self.revision, "cases": [c.digest for c in self.cases]})


def single_case(prompt: str) -> Case:
    """The one case of a comparison. A blank prompt is refused: some servers take it for a request to load the model."""
    if not prompt.strip():
        raise InputError("empty_prompt", None, "The prompt is empty.", hint="Give it with --prompt or --prompt-file.")
    if whole_characters(prompt) != prompt:
        raise InputError(
            "encoding", None, "The prompt holds bytes that are no UTF-8.", hint="Save or type it as UTF-8."
        )
    if "\x00" in prompt:
        raise InputError("nul_byte", None, "The prompt holds a NUL byte.")
    return Case(id="prompt", prompt=prompt)
