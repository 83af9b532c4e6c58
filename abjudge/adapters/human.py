"""A person at the terminal as the blind judge."""

import asyncio
import json
import sys
import threading
from collections.abc import Callable

from abjudge.domain.blinding import Shown
from abjudge.domain.calls import Response
from abjudge.domain.display import printable
from abjudge.domain.errors import InputError, Permanent
from abjudge.domain.rubrics import FIVE, Rubric
from abjudge.domain.verdicts import Choice, VerdictReading

Read = Callable[[str], str]
Write = Callable[[str], None]
_CHOICES: dict[str, Choice] = {"a": "A", "b": "B", "t": "tie", "tie": "tie"}


class HumanEvaluator:
    """Shows A and B, and asks for scores or just for A, B or tie. It never knows which arm is which."""

    name = "human"

    def __init__(self, read: Read, write: Write, *, rubric: Rubric = FIVE) -> None:
        self._read, self._write, self._rubric = read, write, rubric
        self._turn = asyncio.Lock()  # both orders are asked for at once, and a person reads one at a time

    async def judge(self, shown: Shown) -> tuple[Response, VerdictReading]:
        async with self._turn:
            reading = await _in_thread(lambda: self._vote(shown))
        text = json.dumps({"verdict": reading.verdict, "scores": reading.scores}, ensure_ascii=False)
        return Response(text=text, model="human"), reading

    def _vote(self, shown: Shown) -> VerdictReading:
        for title, text in (("REQUEST", shown.prompt), ("RESPONSE A", shown.a), ("RESPONSE B", shown.b)):
            self._write(f"\n=== {title} ===\n{printable(text)}\n")
        while True:
            answer = self._read("Which is better? a, b, t (tie), or s to score each criterion: ").strip().lower()
            if answer in _CHOICES:
                return VerdictReading(outcome="parsed", verdict=_CHOICES[answer])
            if answer in ("s", "score", "scores"):
                return self._scored()
            self._write("Please type a, b, t or s.\n")

    def _scored(self) -> VerdictReading:
        sheets = {label: {name: self._score(label, name) for name in self._rubric.names} for label in ("A", "B")}
        totals = {label: sum(sheet.values()) for label, sheet in sheets.items()}
        verdict: Choice = "tie" if totals["A"] == totals["B"] else "A" if totals["A"] > totals["B"] else "B"
        self._write(f"Totals: A {totals['A']}, B {totals['B']}: {verdict}.\n")
        return VerdictReading.model_validate(
            {"outcome": "parsed", "verdict": verdict, "totals": totals, "scores": sheets}
        )

    def _score(self, label: str, criterion: str) -> int:
        low, high = self._rubric.low, self._rubric.high
        while True:
            answer = self._read(f"{label} {criterion} ({low} to {high}): ").strip()
            if answer.isascii() and answer.isdigit() and low <= int(answer) <= high:
                return int(answer)
            self._write(f"Please type a whole number from {low} to {high}.\n")


def at_terminal() -> HumanEvaluator:
    """A judge on standard input; what is shown goes to standard error, so that standard output stays the result's."""
    if not sys.stdin.isatty():
        raise InputError(
            "no_terminal", None, "The judge 'human' needs a terminal to read the votes from.", hint="Or name a model."
        )
    return HumanEvaluator(_read_line, lambda text: print(text, file=sys.stderr, flush=True))  # noqa: T201 the terminal is this adapter's world


def _read_line(question: str) -> str:
    sys.stderr.write(question)
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise Permanent("end_of_input", "The input ended before a vote was given.")
    return line


async def _in_thread(work: Callable[[], VerdictReading]) -> VerdictReading:
    """Run blocking work where Ctrl-C need not wait for it: a daemon thread, which no exit joins."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[VerdictReading] = loop.create_future()

    def settle(result: VerdictReading | None, fault: BaseException | None) -> None:
        if done.done():
            return
        if fault is not None:
            done.set_exception(fault)
        elif result is not None:
            done.set_result(result)

    def run() -> None:
        try:
            result, fault = work(), None
        except Exception as error:
            result, fault = None, error
        loop.call_soon_threadsafe(settle, result, fault)

    threading.Thread(target=run, daemon=True, name="human-judge").start()
    return await done
