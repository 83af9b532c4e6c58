"""The limits of a whole run: how many calls at once, how fast after a 429, how much money, and when to stop."""

import asyncio
import itertools
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from abjudge.domain.calls import Price, Request, Response
from abjudge.domain.errors import CallError, RunStopped, Transient
from abjudge.ports import Model, Watch

# Faults that every further call would meet as well: going on would only make ten thousand errors of one.
FATAL = frozenset({"key_missing", "key_refused", "quota", "model_not_found", "unsupported_parameter", "bad_model_file"})


@dataclass(frozen=True)
class Rules:
    """`concurrency` calls at once in all, `caps` for single providers; US dollars that may be spent, None for no limit.

    After `failures` faults in a row a provider is left alone; it is probed after `pause_s` seconds, each time twice as
    long, and after `probes` probes in vain the run stops.
    """

    concurrency: int = 32
    caps: Mapping[str, int] = field(default_factory=dict)
    budget_usd: float | None = None
    failures: int = 10
    pause_s: float = 1.0
    probes: int = 4


@dataclass
class Spent:
    """What a run has cost so far. `unpriced` calls came back without a known cost."""

    calls: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0


@dataclass
class _Ticket:
    """One call that waits for its turn, or has it."""

    number: int
    lane: "_Lane"
    worst_usd: float
    granted: "asyncio.Future[None]"


class Governor:
    """Every call of a run passes here. One governor for a run, whatever the number of workers.

    A turn is handed to the call that has waited longest among those whose provider takes calls; none is woken in vain.
    """

    def __init__(self, rules: Rules, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.rules = rules
        self.spent = Spent()
        self.stopped: RunStopped | None = None
        self._clock = clock
        self._lanes: dict[str, _Lane] = {}
        self._free = rules.concurrency
        self._reserved = 0.0
        self._numbers = itertools.count()

    def stop(self, reason: RunStopped) -> None:
        """No new call begins; those under way end and are recorded. The first reason stands."""
        self.stopped = self.stopped or reason
        for lane in self._lanes.values():
            while lane.queue:
                ticket = lane.queue.popleft()
                if not ticket.granted.done():
                    ticket.granted.set_exception(self.stopped)

    @asynccontextmanager
    async def slot(self, provider: str, worst_usd: float) -> AsyncIterator["_Lane"]:
        """Room for one call that costs at most `worst_usd`. Raises RunStopped once the run has been stopped."""
        if self.stopped is not None:
            raise self.stopped
        lane = self._lanes.setdefault(provider, _Lane(self, provider))
        ticket = _Ticket(next(self._numbers), lane, worst_usd, asyncio.get_running_loop().create_future())
        lane.queue.append(ticket)
        self._hand_out()
        try:
            await ticket.granted
        except asyncio.CancelledError:
            if ticket.granted.done() and not ticket.granted.cancelled():
                self._give_back(ticket)
            raise
        try:
            yield lane
        finally:
            self._give_back(ticket)

    def _give_back(self, ticket: _Ticket) -> None:
        self._free += 1
        ticket.lane.busy -= 1
        self._reserved -= ticket.worst_usd
        self._hand_out()

    def _hand_out(self) -> None:
        """Give turns for as long as there is room, money and a provider that takes calls."""
        while self._free > 0:
            ready = [lane for lane in self._lanes.values() if lane.has_waiting() and lane.open()]
            if not ready:
                break
            lane = min(ready, key=lambda one: one.queue[0].number)
            ticket = lane.queue[0]
            if not self._affords(ticket.worst_usd):
                break
            lane.queue.popleft()
            self._free -= 1
            lane.busy += 1
            self._reserved += ticket.worst_usd
            ticket.granted.set_result(None)
        for lane in self._lanes.values():
            lane.wake_later()

    def _affords(self, worst_usd: float) -> bool:
        budget = self.rules.budget_usd
        if budget is None or self.spent.cost_usd + self._reserved + worst_usd <= budget:
            return True
        if self._reserved <= 0:  # nothing under way could still turn out cheaper than it was reserved
            self.stop(_budget(budget, self.spent.cost_usd))
        return False


class _Lane:
    """One provider: how many calls it takes, whether it is paused, and whether it has stopped answering."""

    def __init__(self, governor: Governor, provider: str) -> None:
        self.provider = provider
        self.busy = 0
        self._governor = governor
        self._cap = governor.rules.caps.get(provider, governor.rules.concurrency)
        self._allowed = float(self._cap)
        self._until = 0.0
        self._streak = 0
        self._probes = 0
        self._refused = 0
        self._slowed = 0.0
        self._alarm: asyncio.TimerHandle | None = None
        self.queue: deque[_Ticket] = deque()

    def has_waiting(self) -> bool:
        """Whether a call waits here; those whose task was cancelled do not."""
        while self.queue and self.queue[0].granted.done():
            self.queue.popleft()
        return bool(self.queue)

    def wake_later(self) -> None:
        """Look again when the pause is over."""
        if self.paused and self._alarm is None and self.queue:
            wait = max(self._until - self._governor._clock(), 0.0)
            self._alarm = asyncio.get_running_loop().call_later(wait + 0.001, self._wake)

    def _wake(self) -> None:
        self._alarm = None
        self._governor._hand_out()

    @property
    def paused(self) -> bool:
        return self._until > self._governor._clock()

    @property
    def tripped(self) -> bool:
        return self._streak >= self._governor.rules.failures

    def open(self) -> bool:
        limit = 1 if self.tripped else max(1, int(self._allowed))
        return not self.paused and self.busy < min(self._cap, limit)

    def good(self, response: Response) -> None:
        """A call came back. After a 429 the lane opens again by a little with each answer."""
        self._streak = self._probes = self._refused = 0
        self._allowed = min(float(self._cap), self._allowed + 1.0 / max(self._allowed, 1.0))
        spent = self._governor.spent
        spent.calls += 1
        if response.cost_usd is None:
            spent.unpriced += 1
        else:
            spent.cost_usd += response.cost_usd

    def bad(self, error: CallError) -> None:
        """A call failed. All workers back off together; what would fail for ever stops the run."""
        governor, now = self._governor, self._governor._clock()
        governor.spent.calls += 1
        if error.reason in FATAL:
            governor.stop(_fatal(self.provider, error))
            return
        if error.reason == "rate_limited":
            wait = error.retry_after_s if error.retry_after_s is not None else 1.0
            self._until = max(self._until, now + min(wait, 300.0))
            self._refused += 1
            if self._refused >= rules_refusals(governor.rules):
                governor.stop(_breaker(self.provider, error, self._refused))
            if now >= self._slowed:  # one cut for a burst of refusals, which all tell of the same moment
                self._allowed = max(1.0, self._allowed / 2)
                self._slowed = self._until + 0.5
            return
        if not isinstance(error, Transient):
            return
        self._streak += 1
        if not self.tripped:
            return
        rules = governor.rules
        if self._probes >= rules.probes:
            governor.stop(_breaker(self.provider, error, self._streak))
        elif not self.paused:
            self._until = now + rules.pause_s * 2**self._probes
            self._probes += 1


@dataclass(frozen=True)
class Governed:
    """A model whose every call passes the governor."""

    model: Model
    governor: Governor
    rate: Price | None

    @property
    def name(self) -> str:
        return self.model.name

    async def preflight(self) -> None:
        await self.model.preflight()

    async def complete(self, request: Request, *, watch: Watch | None = None) -> Response:
        worst = self.rate.worst(request) if self.rate else 0.0
        async with self.governor.slot(self.name.partition("/")[0], worst) as lane:
            try:
                response = await self.model.complete(request, watch=watch)
            except CallError as error:
                lane.bad(error)
                raise
            lane.good(response)
            return response

    async def price(self) -> Price | None:
        return self.rate

    async def close(self) -> None:
        await self.model.close()


def rules_refusals(rules: Rules) -> int:
    """How many 429s in a row, without one answer between them, mean that waiting does not help."""
    return 2 * rules.concurrency + 3 * rules.failures


def _budget(budget: float, spent: float) -> RunStopped:
    return RunStopped("budget", f"The next call could exceed the budget of ${budget:g}; ${spent:.4f} are spent.")


def _fatal(provider: str, error: CallError) -> RunStopped:
    return RunStopped(error.reason, f"{provider} refuses every call: {error}")


def _breaker(provider: str, error: CallError, streak: int) -> RunStopped:
    return RunStopped("unreachable", f"{provider} failed {streak} times in a row and did not come back: {error}")
