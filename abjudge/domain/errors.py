"""The error tree. Every error answers one question: would trying again help?

    AbjudgeError
    ├── InputError          the call or an input file is wrong; nothing was called            exit 2
    │   └── FairnessError   the comparison that was asked for would not be a fair one         exit 2
    ├── CallError           a call to the world could not be carried out                      exit 3
    │   ├── Transient       a fault of transport: trying again may help (429, 5xx, time-out)
    │   └── Permanent       trying again would fail again (key, quota, unknown model, filter)
    ├── RunStopped          a run was stopped before its end; what was done is kept           exit 3
    └── LedgerError         a run folder cannot be written, or is not the one it should be    exit 3

Messages say what, where, what was expected and got, and what to do next. They never hold a key.
"""

from typing import ClassVar

from abjudge.domain.status import Status


class AbjudgeError(Exception):
    """The root of everything this package raises on purpose."""

    exit_code: ClassVar[int] = 3

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        self.message = message
        self.hint = hint
        super().__init__(message)

    def __str__(self) -> str:
        return f"{self.message} {self.hint}" if self.hint else self.message


class InputError(AbjudgeError):
    """The call or an input file is wrong, and nothing was called.

    `code` is a stable word for machines, `line` counts from 1 in the file (None where no line is to blame).
    """

    exit_code: ClassVar[int] = 2

    def __init__(self, code: str, line: int | None = None, message: str = "", *, hint: str | None = None) -> None:
        self.code = code
        self.line = line
        super().__init__(message, hint=hint)


class FairnessError(InputError):
    """The comparison that was asked for would not be fair, and no exception was declared."""


class CallError(AbjudgeError):
    """One call to the world failed. `status` says whose fault it was, `reason` is a stable word for machines."""

    retryable: ClassVar[bool] = False

    def __init__(
        self,
        reason: str,
        message: str,
        *,
        status: Status = Status.HARNESS_ERROR,
        retry_after_s: float | None = None,
        hint: str | None = None,
        text: str = "",
        loop: str | None = None,
    ) -> None:
        self.reason = reason
        self.status = status
        self.retry_after_s = retry_after_s
        self.text = text
        self.loop = loop
        self.attempts = 1
        super().__init__(message, hint=hint)


class Transient(CallError):
    """A fault of transport that a wait may cure: rate limit, 5xx, connect or read time-out, lost connection."""

    retryable: ClassVar[bool] = True


class Permanent(CallError):
    """A fault that would come again: missing or refused key, quota, unknown model, filter, malformed answer."""


class RunStopped(AbjudgeError):
    """A run ends before its plan does: budget spent, key refused, server gone. It can be resumed."""

    def __init__(self, reason: str, message: str, *, hint: str | None = None) -> None:
        self.reason = reason
        super().__init__(message, hint=hint)


class LedgerError(AbjudgeError):
    """A run folder cannot be written or is not the one it should be."""
