import asyncio

import pytest

from abjudge.app.retries import call
from abjudge.domain.errors import CallError, Permanent, Transient


def attempts_of(faults, retries):
    """How many attempts were made, and how it ended."""
    stock = iter(faults)
    made = []

    async def attempt():
        made.append(1)
        fault = next(stock, None)
        if fault:
            raise fault
        return "done"

    try:
        result, counted = asyncio.run(call(attempt, retries=retries))
    except CallError as error:
        result, counted = error.reason, error.attempts
    assert counted == len(made)
    return result, counted


def again(reason="unavailable", after=0.0):
    return Transient(reason, "x", retry_after_s=after)


def test_one_shot_means_one_attempt():
    assert attempts_of([again()], retries=0) == ("unavailable", 1)


def test_a_fault_of_transport_is_tried_again_as_often_as_allowed():
    assert attempts_of([again(), again()], retries=2) == ("done", 3)
    assert attempts_of([again(), again(), again()], retries=2) == ("unavailable", 3)


@pytest.mark.parametrize("reason", ["quota", "key_refused", "bad_request", "content_filter", "repeat_limit"])
def test_what_would_fail_again_is_not_tried_again(reason):
    assert attempts_of([Permanent(reason, "x")], retries=5) == (reason, 1)


def test_a_server_that_asks_for_longer_than_anybody_waits_is_taken_at_its_word():
    assert attempts_of([again("rate_limited", after=3600.0)], retries=5) == ("rate_limited", 1)


def test_retry_after_is_waited_for():
    async def timed():
        loop = asyncio.get_running_loop()
        started = loop.time()
        stock = iter([again(after=0.2)])

        async def attempt():
            fault = next(stock, None)
            if fault:
                raise fault

        await call(attempt, retries=1)
        return loop.time() - started

    assert asyncio.run(timed()) >= 0.2
