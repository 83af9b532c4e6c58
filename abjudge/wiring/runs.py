"""Runs on disk: opening a new one, checking an old one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from abjudge.adapters.ledger import (
    MemoryLedger,
    RunFolder,
    chain_faults,
    is_closed,
    read_manifest,
    read_records,
    utc_now,
)
from abjudge.adapters.tables.vote_table import read_votes
from abjudge.app.bench import Bench
from abjudge.app.scores import Results, Row, rows
from abjudge.app.verify import verify
from abjudge.app.votes import as_results, as_votes
from abjudge.domain.cases import Case
from abjudge.domain.errors import InputError, LedgerError
from abjudge.ports import Ledger
from abjudge.reports.documents import to_json
from abjudge.reports.page import render_page
from abjudge.reports.results_csv import write_results
from abjudge.reports.summary import Document, agreement_with_people, summarise


def open_ledger(out: Path | None, bench: Bench, cases: Sequence[Case]) -> Ledger:
    """A new run folder with its manifest on the disk; without a folder, a ledger in memory."""
    if out is None:
        return MemoryLedger()
    plan = {
        "kind": "manifest",
        "version": 1,
        "created": utc_now(),
        "seed": bench.seed,
        "order": "swap" if bench.both_orders else "single",
        "repetitions": 1,
        "subject": bench.subject.model_dump(mode="json"),
        "scaffolds": [scaffold.name for scaffold in bench.scaffolds],
        "evaluators": [judge.card.model_dump(mode="json") for judge in bench.judges],
        "environment": bench.environment.model_dump(mode="json"),
    }
    return RunFolder.create(out, plan, cases)


def verify_run(folder: Path) -> tuple[str, ...]:
    """Everything that is wrong with the run in `folder`; empty where it is intact. InputError where there is no run."""
    try:
        manifest = read_manifest(folder)
        fault = manifest.fault()
        chain = chain_faults(folder)
        if fault is not None:
            return (fault, *chain)
        cases = {case.id: case for case in manifest.cases()}
        return (*chain, *verify(cases, int(manifest.header["seed"]), read_records(folder)))
    except InputError as error:
        if error.code == "no_run":
            raise
        return (str(error),)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        return (f"manifest.json: not readable as a plan: {type(error).__name__}: {str(error).splitlines()[0]}.",)


def is_finished(folder: Path) -> bool:
    """Whether a run was brought to its end, and not interrupted or cut off."""
    return is_closed(folder)


COLUMNS = (
    *("id", "scaffold", "verdict", "baseline_total", "scaffolded_total", "status", "reason", "category", "score"),
    *("score_scaffold_first", "score_scaffold_second", "baseline_length", "scaffolded_length", "judges", "outcomes"),
    *("failed", "notes", "cost_usd", "prompt"),
)


def write_reports(folder: Path) -> Document:
    """Rebuild `results.csv`, `summary.json` and `report.html` of a run from its ledger, without a call.

    The summary is returned.
    """
    cases = {case.id: case for case in read_manifest(folder).cases()}
    results = Results()
    for _, line in read_records(folder):
        results.take(line)
    table = rows(results.of(), cases)
    with _replaced(folder / "results.csv") as out:
        out.writelines(write_results((_cells(row, cases[row.id]) for row in table), COLUMNS))
    summary = _summary(results, table, cases)
    with _replaced(folder / "summary.json") as out:
        out.write(to_json(summary) + "\n")
    with _replaced(folder / "report.html") as out:
        out.write(render_page(summary, table, title=f"abjudge: {folder.name}"))
    return summary


def analyse(path: Path) -> Document:
    """The summary of a run's folder, or of a CSV of votes that came from elsewhere; nothing is written."""
    if path.is_dir():
        cases = {case.id: case for case in read_manifest(path).cases()}
        results = Results()
        for _, line in read_records(path):
            results.take(line)
        return _summary(results, rows(results.of(), cases), cases)
    votes = read_votes(path)
    results, cases = as_results(votes)
    summary = summarise(results, rows(results.of(), cases))
    return summary | {"human": agreement_with_people(votes)}


def _summary(results: Results, table: list[Row], cases: dict[str, Case]) -> Document:
    return summarise(results, table) | {"human": agreement_with_people(as_votes(results, cases))}


def doubts_of(folder: Path) -> list[str]:
    """Where the ledger is not as it was written; a report built from such a one says so."""
    return chain_faults(folder)


def _cells(row: Row, case: Case) -> dict[str, object]:
    cells = {name: getattr(row, name, None) for name in COLUMNS}
    joined = {"judges": " ".join(row.judges), "notes": " ".join(row.notes), "prompt": case.prompt}
    return cells | joined | {"score_scaffold_first": row.first, "score_scaffold_second": row.second}


@contextmanager
def _replaced(path: Path) -> Iterator[TextIO]:
    """A report is written beside the old one and takes its place whole."""
    fresh = path.with_name(f".{path.name}.new")
    try:
        with fresh.open("w", encoding="utf-8", errors="replace", newline="") as out:
            yield out
        fresh.replace(path)
    except OSError as error:
        raise LedgerError(f"{path} cannot be written: {error.strerror}.") from error
    finally:
        fresh.unlink(missing_ok=True)
