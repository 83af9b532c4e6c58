"""Runs on disk: opening a new one, checking an old one."""

from collections.abc import Sequence
from pathlib import Path

from abjudge.adapters.ledger import MemoryLedger, RunFolder, chain_faults, read_manifest, read_records, utc_now
from abjudge.app.bench import Bench
from abjudge.app.verify import verify
from abjudge.domain.cases import Case
from abjudge.domain.errors import InputError
from abjudge.ports import Ledger


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
