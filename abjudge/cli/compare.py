"""`abjudge compare`: one prompt, two responses, one blind verdict."""

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abjudge.cli import options
from abjudge.cli.ending import agreed, carry_out, emit, say

if TYPE_CHECKING:
    from abjudge.domain.outcomes import Outcome

EXAMPLE = (
    'Example: abjudge compare --prompt "How do I descale a kettle?" --producer ollama_chat/qwen3:8b '
    "--judge gemini/gemini-2.5-flash --scaffold file:procedure.md --both-orders"
)


class Format(StrEnum):
    text = "text"
    json = "json"
    pattern = "pattern"


BOTH_ORDERS: options.Group = {
    "both_orders": (
        "both_orders",
        Annotated[bool | None, typer.Option("--both-orders/--one-order", help="Judge the pair in both orders.")],
        None,
    )
}


@options.takes(chosen=options.PRODUCER | options.EVALUATOR | BOTH_ORDERS)
def command(
    chosen: dict[str, Any],
    prompt: Annotated[str | None, typer.Option(help="The prompt; - reads it from standard input.")] = None,
    prompt_file: Annotated[Path | None, typer.Option(help="A UTF-8 file with the prompt.")] = None,
    out: options.Out = None,
    config: options.ConfigFile = None,
    json: options.Json = False,
    format: Annotated[Format, typer.Option(help="text, json, or pattern: the Ejentum pattern's keys.")] = Format.text,
    yes: options.Yes = False,
    debug: options.Debug = False,
) -> None:
    """Ask one model twice, bare and with a scaffold, and let a blind judge decide."""
    shape = Format.json if json else format
    carry_out(
        lambda: _compare(chosen, (prompt, prompt_file), out, config, shape, yes),
        json=shape is not Format.text,
        debug=debug,
        resume="What came back before is in the ledger." if out else "Nothing was judged.",
    )


async def _compare(
    said: dict[str, Any],
    source: tuple[str | None, Path | None],
    out: Path | None,
    config: Path | None,
    shape: Format,
    yes: bool,
) -> int:
    from abjudge.app.compare import compare
    from abjudge.domain.cases import single_case
    from abjudge.domain.status import Status
    from abjudge.wiring import Choices, open_ledger, read_config, wire

    case = single_case(_prompt(*source))
    settings, path = read_config(config)
    if path is not None:
        say(f"settings from {path}")
    bench = await wire(
        Choices.of(**said),
        environ=os.environ,
        config=settings,
        say=say,
        consent=lambda q: yes or agreed(f"{q} Fetch it now?"),
    )
    async with bench:
        with open_ledger(out, bench, [case]) as ledger:
            outcomes = await compare(case, bench, ledger)
    _print(outcomes, shape)
    if out is not None:
        say(f"run kept in {out}; check it with: abjudge verify {out}")
    return 0 if all(outcome.status is Status.COMPLETED for outcome in outcomes) else 3


def _prompt(text: str | None, file: Path | None) -> str:
    """The prompt from the one place that was named."""
    from abjudge.domain.errors import InputError
    from abjudge.wiring import read_text

    if (text is None) == (file is None):
        raise InputError("no_prompt", None, "Give the prompt once: --prompt TEXT, --prompt - or --prompt-file PATH.")
    if file is not None:
        return read_text(file, what="--prompt-file")
    if text != "-":
        return text or ""
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("encoding", None, f"Standard input is not UTF-8 (byte {error.start}).") from error


def _print(outcomes: "tuple[Outcome, ...]", shape: Format) -> None:
    import shutil

    from abjudge.reports.documents import outcome_document, pattern_document, to_json
    from abjudge.reports.terminal import render

    if shape is Format.json:
        emit(to_json(outcome_document(outcomes)))
    elif shape is Format.pattern:
        emit(to_json(pattern_document(outcomes)))
        for caveat in dict.fromkeys(c for o in outcomes for c in (*o.environment.conflicts, *o.environment.caveats)):
            say(f"caveat: {caveat}")  # the pattern has no place for it
    else:
        colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        width = min(shutil.get_terminal_size((80, 24)).columns, 100) if sys.stdout.isatty() else 80
        typer.echo(render(outcomes, width=max(width, 40), colour=colour))
