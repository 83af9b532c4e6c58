"""When a call is tried again: only after a fault of transport, and only as often as somebody allowed."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt, wait_exponential_jitter

from abjudge.domain.errors import CallError, Transient

T = TypeVar("T")

LONGEST_WAIT_S = 300.0
_backoff = wait_exponential_jitter(multiplier=0.5, max=30.0, jitter=0.5)


async def call(attempt: Callable[[], Awaitable[T]], *, retries: int) -> tuple[T, int]:
    """The result of `attempt`, and how many attempts it took; at most `retries` more after the first.

    Only `Transient` is tried again. A server's Retry-After is honoured as it stands; one above five minutes is taken
    as a refusal, because a person waits. The error that is raised in the end carries `attempts`.
    """
    # Nearly every call succeeds at once, and tenacity's machinery costs more than all the rest of it.
    try:
        return await attempt(), 1
    except Transient as error:
        if retries == 0:
            raise
        first: Transient | None = error
    attempts = 0
    try:
        async for trial in AsyncRetrying(
            retry=retry_if_exception_type(Transient) & _bearable,
            stop=stop_after_attempt(retries + 1),
            wait=_wait,
            reraise=True,
        ):
            with trial:
                attempts += 1
                if first is not None:
                    fault, first = first, None
                    raise fault
                result = await attempt()
        return result, attempts
    except CallError as error:
        error.attempts = attempts
        raise


def _bearable(state: RetryCallState) -> bool:
    error = state.outcome.exception() if state.outcome else None
    return not (isinstance(error, CallError) and (error.retry_after_s or 0) > LONGEST_WAIT_S)


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after_s if isinstance(error, CallError) else None
    return _backoff(state) if asked is None else asked
