"""How a command speaks and ends: what it prints on which stream, and with which exit code."""

import asyncio
import contextlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from abjudge.domain.display import printable

if TYPE_CHECKING:
    from abjudge.domain.errors import AbjudgeError

INTERRUPTED = 130


def say(text: str) -> None:
    """A line for a person, on standard error; a stream that takes none is no reason to lose a result."""
    with contextlib.suppress(OSError, ValueError):
        typer.echo(printable(text), err=True)


def agreed(question: str) -> bool:
    """A person's yes; without a terminal nobody can give one, and the end of the input is a no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    say(f"{question} [Y/n]")
    answer = sys.stdin.readline()
    return answer != "" and answer.strip().lower() in ("", "y", "yes")


def emit(text: str) -> None:
    """The result, on standard output, as UTF-8 whatever the console speaks."""
    sys.stdout.flush()
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:  # a stream that somebody put in the place of the console
        sys.stdout.write(f"{text}\n")
        return
    binary.write(f"{text}\n".encode("utf-8", "replace"))
    binary.flush()


def carry_out(work: Callable[[], Coroutine[Any, Any, int]], *, json: bool, debug: bool, resume: str = "") -> NoReturn:
    """Run a command's work and end the process with its exit code.

    Errors of ours become one paragraph (with `json`, also a failure document on standard output). Others are told as
    faults of abjudge; `debug` shows the traceback.
    """
    from abjudge.domain.errors import AbjudgeError

    try:
        code = _run(work)
    except KeyboardInterrupt:
        say(f"Interrupted. {resume}".rstrip())
        if json:
            _emit_failure(None, "interrupted", "The command was interrupted.", INTERRUPTED)
        _leave(INTERRUPTED)
    except AbjudgeError as error:
        if debug:
            traceback.print_exc()
        say(f"{_title(error)}: {error}")
        code = error.exit_code
        if json:
            _emit_failure(getattr(error, "status", None), _reason(error), str(error), code)
    except BrokenPipeError:
        raise
    except Exception as error:
        if debug:
            traceback.print_exc()
        told = f"{type(error).__name__}: {error}"
        say(f"This is a fault of abjudge, not of your call: {told}. Run it again with --debug.")
        code = 3
        if json:
            _emit_failure(None, "internal", told, code)
    raise typer.Exit(code)


def _run(work: Callable[[], Coroutine[Any, Any, int]]) -> int:
    """The work in a loop of its own. The first Ctrl-C lets it put its things away, the second ends it on the spot."""
    loop = asyncio.new_event_loop()
    with _interruptible():
        task = loop.create_task(work())
        try:
            code = loop.run_until_complete(task)
        except KeyboardInterrupt:
            # Closing sessions and ledgers is the tasks' own work; threads that import or generate are not waited for.
            for left in asyncio.all_tasks(loop):
                left.cancel()
            with contextlib.suppress(BaseException):
                loop.run_until_complete(asyncio.wait_for(_ended(loop), 2.0))
            raise
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
    return code


async def _ended(loop: asyncio.AbstractEventLoop) -> None:
    others = asyncio.all_tasks(loop) - {asyncio.current_task()}
    await asyncio.gather(*others, return_exceptions=True)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """SIGINT and SIGTERM raise KeyboardInterrupt once, wherever the main thread is; the next one does not wait."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    seen: list[int] = []

    def interrupt(number: int, frame: object) -> None:
        seen.append(number)
        if len(seen) > 1:
            os._exit(INTERRUPTED)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        if not seen:  # otherwise the process is about to end, and a further Ctrl-C must still find this handler
            for number, handler in before.items():
                signal.signal(number, handler)


def _leave(code: int) -> NoReturn:
    """End without waiting for threads that cannot be stopped, such as an import or a native call."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _emit_failure(status: object, reason: str, message: str, code: int) -> None:
    from abjudge.reports.documents import failure_document, to_json

    emit(to_json(failure_document(status, reason, message, code)))


def _reason(error: "AbjudgeError") -> str:
    return str(getattr(error, "reason", None) or getattr(error, "code", None) or "failed")


def _title(error: "AbjudgeError") -> str:
    """The word a reader can search the documentation for."""
    reason = getattr(error, "reason", None)
    return f"CallError ({reason})" if reason else type(error).__name__
