"""All of the world that comparisons need, in one value."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Self, TypeVar

from abjudge.app.fairness import NOTHING_DIFFERS
from abjudge.app.roles import GivenAnswers, Producer
from abjudge.domain.environments import Environment, EvaluatorCard, Subject
from abjudge.domain.outcomes import ScaffoldText
from abjudge.domain.records import Conditions
from abjudge.ports import Evaluator, Model, Scaffold

Say = Callable[[str], None]
T = TypeVar("T")


@dataclass(frozen=True)
class Judge:
    """A blind evaluator with the card that declares it."""

    evaluator: Evaluator
    card: EvaluatorCard


@dataclass(frozen=True)
class Bench:
    """Everything wired and known to answer. Leaving it closes all.

    `nonce` draws a secret for each seal; `say` tells a person what is being done.
    """

    producer: Producer | GivenAnswers
    subject: Subject
    scaffolds: tuple[Scaffold, ...]
    judges: tuple[Judge, ...]
    models: tuple[Model, ...]
    environment: Environment
    seed: int
    nonce: Callable[[], str]
    both_orders: bool = False
    say: Say = lambda _: None
    _conditions: dict[tuple[str, str], Conditions] = field(default_factory=dict, repr=False, compare=False)

    def conditions(self, scaffold: ScaffoldText, judge: Judge) -> Conditions:
        """The conditions of every Outcome under this scaffold text and this judge, worked out once."""
        key = (scaffold.digest, judge.evaluator.name)
        if key not in self._conditions:
            environment = self.environment
            if scaffold.name == "none":
                environment = environment.with_(differences=NOTHING_DIFFERS)
            self._conditions[key] = Conditions.of(self.subject, scaffold.digest, judge.card, environment)
        return self._conditions[key]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        closing = [model.close() for model in self.models] + [scaffold.close() for scaffold in self.scaffolds]
        await asyncio.gather(*closing)


async def all_done(work: Iterable[Awaitable[T]]) -> list[T]:
    """Like `asyncio.gather`, but a fault is raised when all have ended, so that nothing runs on behind it."""
    results = await asyncio.gather(*work, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if not isinstance(result, BaseException)]
