import asyncio

import pytest

from abjudge.app.governor import Governed, Governor, Rules
from abjudge.domain.calls import Price, Request, Response, Sampling
from abjudge.domain.errors import CallError, Permanent, RunStopped, Transient
from tests.fakes import FakeModel

ASK = Request(system="", user="x", sampling=Sampling(max_tokens=100))


class Busy(FakeModel):
    """Counts how many calls are under way at once."""

    def __init__(self, replies="fine", name="fake/model", seconds=0.0):
        super().__init__(replies, name)
        self.now = self.most = 0
        self._seconds = seconds

    async def complete(self, request, *, watch=None):
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(self._seconds)
            return await super().complete(request)
        finally:
            self.now -= 1


def run_calls(model, calls, rules, price=None):
    """What each of `calls` calls at once came to, and the governor."""
    governor = Governor(rules)

    async def go():
        governed = Governed(model, governor, price)
        return await asyncio.gather(*(governed.complete(ASK) for _ in range(calls)), return_exceptions=True)

    return asyncio.run(go()), governor


@pytest.mark.parametrize(("concurrency", "caps", "most"), [(5, {}, 5), (50, {"fake": 3}, 3), (2, {"fake": 9}, 2)])
def test_no_more_calls_are_under_way_than_allowed(concurrency, caps, most):
    model = Busy()

    results, governor = run_calls(model, 40, Rules(concurrency=concurrency, caps=caps))

    assert model.most == most
    assert all(isinstance(result, Response) for result in results)
    assert governor.spent.calls == 40


def test_a_budget_is_never_exceeded_and_what_fits_is_spent():
    costly = FakeModel(Response(text="x", cost_usd=0.8))

    results, governor = run_calls(costly, 20, Rules(budget_usd=5.0), Price(prompt=0.0, answer=0.01))

    stopped = [result for result in results if isinstance(result, RunStopped)]
    assert governor.spent.cost_usd <= 5.0
    assert len(costly.requests) == 6  # five of at most 1 each cost 4 in all; one more of at most 1 fits, and then none
    assert {stop.reason for stop in stopped} == {"budget"}


@pytest.mark.parametrize("reason", ["quota", "key_refused", "model_not_found"])
def test_what_every_call_would_meet_stops_the_run_at_once(reason):
    model = FakeModel(Permanent(reason, "no"))

    results, _ = run_calls(model, 200, Rules(concurrency=4))

    assert len(model.requests) <= 4
    assert all(isinstance(result, CallError | RunStopped) for result in results)


def test_a_dead_server_is_probed_and_then_given_up():
    model = FakeModel(Transient("unreachable", "dead"))

    results, governor = run_calls(model, 500, Rules(concurrency=8, failures=10, pause_s=0.01, probes=3))

    assert len(model.requests) < 40
    assert governor.stopped is not None
    assert governor.stopped.reason == "unreachable"
    assert sum(isinstance(result, RunStopped) for result in results) > 450


def test_a_server_that_comes_back_is_gone_on_with():
    deaths = iter(range(15))
    model = FakeModel(lambda r: Transient("unavailable", "x") if next(deaths, None) is not None else "fine")

    results, governor = run_calls(model, 100, Rules(concurrency=4, failures=10, pause_s=0.01, probes=6))

    assert governor.stopped is None
    assert sum(isinstance(result, Response) for result in results) == 85


def test_after_a_429_all_wait_as_long_as_the_server_asks():
    times, refusals = [], iter(range(1))

    def reply(_):
        times.append(asyncio.get_running_loop().time())
        return Transient("rate_limited", "x", retry_after_s=0.3) if next(refusals, None) is not None else "fine"

    results, _ = run_calls(FakeModel(reply), 30, Rules(concurrency=1))

    assert times[1] - times[0] >= 0.3
    assert sum(isinstance(result, Response) for result in results) == 29


def test_occasional_faults_trip_nothing():
    turns = iter(range(10_000))
    model = FakeModel(lambda r: Transient("unavailable", "x") if next(turns) % 7 == 0 else "fine")

    results, governor = run_calls(model, 700, Rules(concurrency=16))

    assert governor.stopped is None
    assert sum(isinstance(result, Response) for result in results) == 600


def test_a_server_that_only_ever_says_429_is_given_up():
    model = FakeModel(Transient("rate_limited", "busy", retry_after_s=0.001))

    results, governor = run_calls(model, 400, Rules(concurrency=4, failures=10))

    assert governor.stopped is not None
    assert len(model.requests) < 60
    assert sum(isinstance(result, RunStopped) for result in results) > 300
