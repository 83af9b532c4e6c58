"""`abjudge verify`: whether a run is what it says."""

from pathlib import Path

import typer

from abjudge.cli import options
from abjudge.cli.ending import carry_out, emit, say
from abjudge.domain.display import printable

EXAMPLE = "Example: abjudge verify runs/first"


def command(run: options.RunFolder, json: options.Json = False, debug: options.Debug = False) -> None:
    """Check seals, fingerprints and ledger of a run; exit 0 if it is intact, 1 if not."""
    carry_out(lambda: _verify(run, json), json=json, debug=debug)


async def _verify(run: Path, json: bool) -> int:
    from abjudge.reports.documents import to_json
    from abjudge.wiring import is_finished, verify_run

    faults = verify_run(run)
    finished = is_finished(run)
    if json:
        emit(to_json({"run": str(run), "intact": not faults, "finished": finished, "faults": list(faults)}))
    else:
        for fault in faults:
            say(fault)
        state = f"not intact ({len(faults)} faults)" if faults else "intact"
        open_end = "" if finished else ", but not finished: it was interrupted, or its end was cut off"
        typer.echo(printable(f"{run}: {state}{open_end}"))
    return 1 if faults else 0
