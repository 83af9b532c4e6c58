"""The world's places, played by values: a model that says what it is told to, a scaffold, a judge."""

import asyncio
import itertools
import json
from collections.abc import Callable, Sequence
from typing import Any

from abjudge.app.bench import Bench, Judge
from abjudge.app.roles import BlindEvaluator, Producer
from abjudge.domain.blinding import Shown
from abjudge.domain.calls import Limits, Price, Request, Response, Sampling
from abjudge.domain.cases import Case
from abjudge.domain.environments import Environment, EvaluatorCard, Subject
from abjudge.domain.errors import CallError
from abjudge.domain.families import Lineage
from abjudge.domain.records import Record
from abjudge.domain.rubrics import FIVE
from abjudge.domain.verdicts import VerdictReading
from abjudge.ports import Model, Scaffold, Watch

Reply = str | Response | CallError
CASE = Case(id="kettle", prompt="How do I descale a kettle?")


class FakeModel:
    """Answers with what `replies` gives for each request; a CallError is raised. Every request is kept."""

    def __init__(self, replies: Callable[[Request], Reply] | Sequence[Reply] | Reply, name: str = "fake/model") -> None:
        self.name = name
        self.requests: list[Request] = []
        self.closed = False
        self._replies = replies if callable(replies) else self._in_turn(replies)

    @staticmethod
    def _in_turn(replies: Sequence[Reply] | Reply) -> Callable[[Request], Reply]:
        stock = itertools.repeat(replies) if isinstance(replies, str | Response | CallError) else iter(replies)
        return lambda _: next(stock)

    async def preflight(self) -> None: ...

    async def complete(self, request: Request, *, watch: Watch | None = None) -> Response:
        self.requests.append(request)
        await asyncio.sleep(0)
        reply = self._replies(request)
        if isinstance(reply, CallError):
            raise reply
        return reply if isinstance(reply, Response) else Response(text=reply, finish_reason="stop", model=self.name)

    async def price(self) -> Price:
        return Price(prompt=0.0, answer=0.0)

    async def close(self) -> None:
        self.closed = True


class FakeScaffold:
    def __init__(self, text: str | CallError | None = "Think twice.", name: str = "text:fake") -> None:
        self.name, self._text = name, text

    async def retrieve(self, query: str) -> str | None:
        if isinstance(self._text, CallError):
            raise self._text
        return self._text

    async def close(self) -> None: ...


class FakeEvaluator:
    """Votes by a function of what is shown, and keeps what it was shown."""

    def __init__(self, vote: Callable[[Shown], str], name: str = "fake/judge") -> None:
        self.name, self._vote = name, vote
        self.shown: list[Shown] = []

    async def judge(self, shown: Shown) -> tuple[Response, VerdictReading]:
        self.shown.append(shown)
        verdict = self._vote(shown)
        return Response(text=verdict, model=self.name), VerdictReading.model_validate(
            {"outcome": "parsed", "verdict": verdict}
        )


class ListLedger:
    """Keeps the records, as JSON would give them back."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []

    def append(self, record: Record) -> None:
        self.records.append(json.loads(json.dumps(record.model_dump(mode="json"))))

    def append_once(self, record: Record) -> None:
        if record.model_dump(mode="json") not in self.records:
            self.append(record)

    def sync(self) -> None: ...

    def __enter__(self) -> "ListLedger":
        return self

    def __exit__(self, *_: object) -> None: ...


def verdict_json(a: int = 4, b: int = 3, verdict: str | None = None, **changes: Any) -> str:
    """A valid reply that gives every criterion of A the score `a` and of B the score `b`."""
    winner = verdict or ("A" if a > b else "B" if b > a else "tie")
    names = FIVE.names
    document = {
        "scores": {"A": dict.fromkeys(names, a), "B": dict.fromkeys(names, b)},
        "totals": {"A": a * len(names), "B": b * len(names)},
        "justifications": dict.fromkeys(names, "One names the part."),
        "verdict": winner,
        "verdict_reason": "It names the part.",
    }
    return json.dumps({**document, **changes})


def make_bench(
    producer: Model | None = None,
    judge: Any = None,
    *,
    scaffolds: Sequence[Scaffold] | None = None,
    both_orders: bool = False,
    seed: int = 1,
    limits: Limits | None = None,
    judges: Sequence[Any] | None = None,
) -> Bench:
    """A bench of fakes. `judge` is a Model that replies as a judge, or an Evaluator."""
    limits = limits or Limits()
    model = producer or FakeModel(lambda r: "scaffolded answer" if "SCAFFOLD" in r.user else "bare answer")
    made = tuple(_judge(j, limits) for j in (judges or [judge or FakeModel(verdict_json())]))
    subject = Subject(
        model=model.name,
        lineage=Lineage(family="fake", owners=("Fake",)),
        sampling=Sampling(),
        baseline_system="b",
        scaffolded_system="s",
    )
    return Bench(
        producer=Producer(model, "Answer.", "Answer. Use the scaffold.", Sampling(), limits),
        subject=subject,
        scaffolds=tuple(scaffolds) if scaffolds is not None else (FakeScaffold(),),
        judges=made,
        models=(model,),
        environment=Environment(versions={"abjudge": "test"}),
        seed=seed,
        nonce=iter(f"{n:032x}" for n in itertools.count(1)).__next__,
        both_orders=both_orders,
    )


def _judge(judge: Any, limits: Limits) -> Judge:
    evaluator = BlindEvaluator(judge, "Judge.", Sampling(), limits) if hasattr(judge, "complete") else judge
    return Judge(evaluator, EvaluatorCard(kind="model", model=evaluator.name))
