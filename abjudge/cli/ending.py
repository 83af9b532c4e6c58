"""How a command speaks and ends: what it prints on which stream, and with which exit code."""

import asyncio
import sys
import traceback
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, NoReturn

import typer

if TYPE_CHECKING:
    from abjudge.domain.errors import AbjudgeError

INTERRUPTED = 130


def say(text: str) -> None:
    """A line for a person, on standard error."""
    typer.echo(text, err=True)


def agreed(question: str) -> bool:
    """A person's yes; without a terminal nobody can give one."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    return typer.confirm(question, default=True, err=True)


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
    faults of abjudge; `debug` lets the traceback through.
    """
    from abjudge.domain.errors import AbjudgeError
    from abjudge.reports.documents import failure_document, to_json

    try:
        code = asyncio.run(work())
    except KeyboardInterrupt:
        say(f"Interrupted. {resume}".rstrip())
        code = INTERRUPTED
    except AbjudgeError as error:
        if debug:
            traceback.print_exc()
        say(f"{_title(error)}: {error}")
        if json:
            emit(to_json(failure_document(error)))
        code = error.exit_code
    except BrokenPipeError:
        raise
    except Exception as error:
        if debug:
            raise
        say(
            f"This is a fault of abjudge, not of your call: {type(error).__name__}: {error}. Run it again with --debug."
        )
        code = 3
    raise typer.Exit(code)


def _title(error: "AbjudgeError") -> str:
    """The word a reader can search the documentation for."""
    reason = getattr(error, "reason", None)
    return f"CallError ({reason})" if reason else type(error).__name__
