"""How fast a run is written down and read back: lines and whole outcomes a second, medians over rounds.

    python -m tests.benchmarks.ledger [--outcomes 2000] [--rounds 5] [--folder DIR]

One outcome is five lines of about five kilobytes in all: two observations, the seal, the judgment, and the outcome that
points at them. They come from the real comparison with models that answer at once, are kept as values, and are then
appended by themselves. `outcome lines alone` is the last of the five, for those who count only that one.
"""

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from abjudge.adapters.ledger import LEDGER, RunFolder, chain_faults, read_records
from abjudge.app.compare import compare
from abjudge.app.scores import Results
from abjudge.domain.cases import Case
from abjudge.domain.records import OutcomeRecord, Record
from tests.fakes import FakeModel, FakeScaffold, make_bench, verdict_json

ANSWER = (
    "Put a wide rubber band between the driver and the screw, press hard and turn slowly. Cut a slot across the head "
    "with a rotary tool and use a flat driver in it. Warm the screw with a soldering iron for half a minute: the glue "
    "or the resin lets go. Take a screw extractor: drill a small pilot hole, then turn the extractor against the clock."
)


class Kept:
    """A ledger that keeps the records as they are."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self._once: set[type[Record]] = set()

    def append(self, record: Record) -> None:
        self.records.append(record)

    def append_once(self, record: Record) -> None:
        if type(record) not in self._once:  # there is one scaffold and one judge here
            self._once.add(type(record))
            self.records.append(record)

    def sync(self) -> None: ...

    def __enter__(self) -> "Kept":
        return self

    def __exit__(self, *_: object) -> None: ...


async def make_records(outcomes: int) -> list[Record]:
    """What a run of so many outcomes writes."""
    judge = FakeModel(verdict_json(), name="fake/judge")
    bench, kept = make_bench(FakeModel(ANSWER), judge, scaffolds=(FakeScaffold(),)), Kept()
    for n in range(outcomes):
        case = Case(id=f"p{n}", prompt=f"How do I deal with a stripped screw in house number {n}?")
        await compare(case, bench, kept, index=n)
    return kept.records


def timed(work: Callable[[], int]) -> tuple[float, float, int]:
    """Wall and CPU seconds, and what `work` counted."""
    wall, cpu = time.perf_counter(), time.process_time()
    count = work()
    return time.perf_counter() - wall, time.process_time() - cpu, count


def append(records: Sequence[Record], folder: Path) -> int:
    with RunFolder.create(folder, {"kind": "manifest", "seed": 1}, []) as ledger:
        for record in records:
            ledger.append(record)
    return len(records)


def read(folder: Path) -> int:
    return sum(1 for _ in read_records(folder))


def fold(folder: Path) -> int:
    results, count = Results(), 0
    for _, line in read_records(folder):
        results.take(line)
        count += 1
    return count


def check(folder: Path) -> int:
    assert chain_faults(folder) == []
    return (folder / LEDGER).read_bytes().count(b"\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--outcomes", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="on which disk (default: the system's place for temporary files)")
    asked = parser.parse_args()
    records = asyncio.run(make_records(asked.outcomes))
    alone = [record for record in records if isinstance(record, OutcomeRecord)]
    taken: dict[str, list[tuple[float, float, int]]] = {}
    with tempfile.TemporaryDirectory(dir=asked.folder) as where:
        for n in range(asked.rounds):
            whole, single = Path(where) / f"whole-{n}", Path(where) / f"single-{n}"
            works: dict[str, Callable[[], int]] = {
                "append, whole outcomes": lambda folder=whole: append(records, folder),
                "append, outcome lines alone": lambda folder=single: append(alone, folder),
                "read_records, whole outcomes": lambda folder=whole: read(folder),
                "read_records, outcome lines alone": lambda folder=single: read(folder),
                "read_records + Results.take": lambda folder=whole: fold(folder),
                "check of the chain": lambda folder=whole: check(folder),
            }
            for name, work in works.items():
                taken.setdefault(name, []).append(timed(work))
        size = (Path(where) / "whole-0" / LEDGER).stat().st_size
    per_outcome = len(records) / asked.outcomes
    print(
        f"{asked.outcomes} outcomes, {per_outcome:.1f} lines and {size / asked.outcomes:.0f} bytes each; "
        f"{asked.rounds} rounds, load {os.getloadavg()[0]:.1f}; medians, and the range of the rounds\n"
    )
    print("|what|lines/s|range|outcomes/s|µs CPU a line|")
    print("|---|---|---|---|---|")
    for name, runs in taken.items():
        rates = [count / wall for wall, _, count in runs]
        cpu = statistics.median(1e6 * used / count for _, used, count in runs)
        each = 1.0 if "alone" in name else per_outcome
        lines = statistics.median(rates)
        print(f"|{name}|{lines:,.0f}|{min(rates):,.0f} to {max(rates):,.0f}|{lines / each:,.0f}|{cpu:.0f}|")


if __name__ == "__main__":
    main()
