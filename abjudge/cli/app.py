"""The commands, and how each of them ends: an exit code, and one paragraph where something was wrong."""

import contextlib
import os
import sys
from pathlib import Path
from typing import TextIO

import typer

from abjudge.cli import compare, figures, models, sweep, verify

app = typer.Typer(
    name="abjudge",
    help="Does this change to our LLM really help? A blind, sealed comparison of the same model with and without it.",
    epilog='Example: abjudge compare --prompt "How do I descale a kettle?" --both-orders',
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("compare", epilog=compare.EXAMPLE)(compare.command)
app.command("sweep", epilog=sweep.EXAMPLE)(sweep.command)
app.command("judge", epilog=sweep.JUDGE_EXAMPLE)(sweep.judge)
app.command("analyze", epilog=figures.ANALYZE_EXAMPLE)(figures.analyze)
app.command("power", epilog=figures.POWER_EXAMPLE)(figures.power)
app.command("report", epilog=figures.REPORT_EXAMPLE)(figures.report)
app.command("verify", epilog=verify.EXAMPLE)(verify.command)
app.add_typer(models.app, name="models")


@app.callback(invoke_without_command=True)
def root(context: typer.Context, version: bool = typer.Option(False, "--version", help="Print the version.")) -> None:
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"abjudge {installed('abjudge')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit


def run() -> None:
    """Run the command line. Output that the console's encoding lacks becomes `?`, never a crash.

    A standard stream that is not there is taken for the empty device; one that takes no more is exit 3.
    """
    sys.stdin = sys.stdin or Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 they live as long as the process
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
    code: object = 0
    try:
        app()
    except SystemExit as done:
        code = done.code
    except OSError:
        code = 3
    if not _flushed(sys.stdout):
        code = 3
    _flushed(sys.stderr)
    raise SystemExit(code)


def _flushed(stream: TextIO) -> bool:
    """Whether all of it was taken; if not, the rest goes nowhere, or Python would complain of it at exit."""
    try:
        stream.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return False
    return True
