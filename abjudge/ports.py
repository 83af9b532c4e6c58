"""The places where the world begins: a model, a scaffold, a judge, a ledger. Protocols only."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Protocol, Self, TypeVar

from abjudge.domain.blinding import Shown
from abjudge.domain.calls import Price, Request, Response
from abjudge.domain.records import Record
from abjudge.domain.verdicts import VerdictReading

Item = TypeVar("Item")
Result = TypeVar("Result")

Watch = Callable[[str], bool]
"""Called with every piece of text as it streams in; returning True stops the generation at once."""


class Model(Protocol):
    """Something that answers one request at a time, with no memory between them."""

    @property
    def name(self) -> str:
        """The name it was asked for by, such as `ollama_chat/gloss:v10`."""
        ...

    async def preflight(self) -> None:
        """Raise `CallError` if a call would fail for a reason that can be known without paying for one."""
        ...

    async def complete(self, request: Request, *, watch: Watch | None = None) -> Response:
        """One call, no retry. Raises `CallError` when nothing that can be called an answer came back.

        With `watch` the answer is streamed; what is returned is the same.
        """
        ...

    async def price(self) -> Price | None:
        """What its tokens cost; None where nobody knows."""
        ...

    async def close(self) -> None:
        """Let go of connections and memory. Safe to call twice."""
        ...


class Scaffold(Protocol):
    """Where the text comes from whose effect is measured."""

    @property
    def name(self) -> str: ...

    async def retrieve(self, query: str) -> str | None:
        """The scaffold for this prompt; None for the scaffold `none`. Raises `CallError`, never returns a blank."""
        ...

    async def close(self) -> None: ...


class Evaluator(Protocol):
    """A blind judge. What it is given names no arm, so no arm can reach its prompt."""

    @property
    def name(self) -> str: ...

    async def judge(self, shown: Shown) -> tuple[Response, VerdictReading]:
        """Raises `CallError` when the judge could not be asked; a reply that is no verdict is a reading."""
        ...


class Ledger(Protocol):
    """Where records go, in order, never to be changed."""

    def append(self, record: Record) -> None: ...

    def append_once(self, record: Record) -> None:
        """Append, unless the very same record stands there already."""
        ...

    def sync(self) -> None:
        """Force what was appended to the disk; blocks for as long as that takes."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class Engine(Protocol):
    """Where comparisons are carried out. The driver streams cases in and stays the only writer of the ledger."""

    def run(
        self, cases: Iterable[Item], work: Callable[[Item], Awaitable[Result]], *, at_once: int
    ) -> AsyncIterator[Result]:
        """The results as they come, in no order, with at most `at_once` cases under way. A fault ends the run."""
        ...
