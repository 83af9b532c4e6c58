"""What is asked: one case, and a suite of them."""

from pydantic import Field

from abjudge.domain.fingerprints import fingerprint
from abjudge.domain.values import Value


class Case(Value):
    """One prompt with the name it goes by. `extra` keeps further columns of the file it came from."""

    id: str
    prompt: str
    category: str | None = None
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
