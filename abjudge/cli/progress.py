"""How far a run is: one line that is written over at a terminal, a line every ten seconds elsewhere."""

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from abjudge.app.governor import Spent
    from abjudge.domain.outcomes import Outcome

EVERY_S = 10.0


class Progress:
    """Counts outcomes as they come and tells a person, on standard error."""

    def __init__(self, total: int, spent: "Spent", *, clock: Callable[[], float] = time.monotonic) -> None:
        self._total, self._spent, self._clock = total, spent, clock
        self._begun = self._told = clock()
        self._terminal = sys.stderr.isatty()
        self._cases: set[str] = set()
        self.errors = 0
        self.judged = 0

    def take(self, outcome: "Outcome") -> None:
        self._cases.add(outcome.case.id)
        if outcome.verdict is None:
            self.errors += 1
        else:
            self.judged += 1
        now = self._clock()
        if now - self._told >= (0.2 if self._terminal else EVERY_S):
            self._told = now
            self._tell(now)

    def close(self) -> None:
        self._tell(self._clock())
        if self._terminal:
            sys.stderr.write("\n")

    def _tell(self, now: float) -> None:
        done = len(self._cases)
        rate = done / max(now - self._begun, 1e-9)
        left = (self._total - done) / rate if rate > 0 else 0.0
        cost = f"${self._spent.cost_usd:.4f}" + ("+" if self._spent.unpriced else "")
        line = (
            f"{done}/{self._total} prompts, {rate:.1f}/s, {_span(left)} left, "
            f"{self._spent.calls} calls, {cost}, {self.errors} errors"
        )
        sys.stderr.write(f"\r{line:<79}" if self._terminal else f"{line}\n")
        sys.stderr.flush()


def _span(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole} s" if whole < 120 else f"{whole // 60} min" if whole < 7200 else f"{whole / 3600:.1f} h"
