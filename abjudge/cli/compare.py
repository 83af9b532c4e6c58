"""`abjudge compare`: one prompt, two responses, one blind verdict."""

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from abjudge.cli.ending import agreed, carry_out, emit, say

if TYPE_CHECKING:
    from abjudge.domain.outcomes import Outcome
    from abjudge.wiring import Choices

EXAMPLE = (
    'Example: abjudge compare --prompt "How do I descale a kettle?" --producer ollama_chat/qwen3:8b '
    "--judge gemini/gemini-2.5-flash --scaffold file:procedure.md --both-orders"
)


class Format(StrEnum):
    text = "text"
    json = "json"
    pattern = "pattern"


def command(
    prompt: Annotated[str | None, typer.Option(help="The prompt; - reads it from standard input.")] = None,
    prompt_file: Annotated[Path | None, typer.Option(help="A UTF-8 file with the prompt.")] = None,
    producer: Annotated[
        str | None, typer.Option(help="Model under test: a litellm string, name:tag, embedded/…")
    ] = None,
    judge: Annotated[list[str] | None, typer.Option(help="Judge of another family, or human. Repeatable.")] = None,
    scaffold: Annotated[
        list[str] | None,
        typer.Option(
            help="ejentum:MODE, file:PATH, text:STRING, http:URL or none. Repeatable; one baseline is shared."
        ),
    ] = None,
    both_orders: Annotated[
        bool | None, typer.Option("--both-orders/--one-order", help="Judge the pair in both orders.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the blinding and of the models.")] = None,
    temperature: Annotated[
        float | None, typer.Option(min=0, help="Of the producer; the provider's default if not given.")
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Cap of each response.")] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds that one call may take (120).")] = None,
    retries: Annotated[int | None, typer.Option(min=0, help="Tries again after faults of transport (0).")] = None,
    api_base: Annotated[str | None, typer.Option(help="Address of the producer's server.")] = None,
    judge_api_base: Annotated[str | None, typer.Option(help="Address of the judge's server.")] = None,
    allow_same_family: Annotated[
        bool | None, typer.Option("--allow-same-family", help="Declare the conflict of a related judge.")
    ] = None,
    producer_family: Annotated[str | None, typer.Option(help="Family of a producer that the table lacks.")] = None,
    judge_family: Annotated[str | None, typer.Option(help="Family of a judge that the table lacks.")] = None,
    producer_system: Annotated[str | None, typer.Option(help="Path of the producer's system prompt.")] = None,
    scaffolded_system: Annotated[str | None, typer.Option(help="Path of the scaffolded one.")] = None,
    judge_system: Annotated[str | None, typer.Option(help="Path of the judge's system prompt.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder to keep the run in; must not hold one.")] = None,
    config: Annotated[Path | None, typer.Option(help="Instead of abjudge.toml in the working folder.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the whole Outcome as JSON.")] = False,
    format: Annotated[
        Format, typer.Option(help="text, json, or pattern (the Ejentum pattern's four keys).")
    ] = Format.text,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Fetch small models without asking.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Ask one model twice, bare and with a scaffold, and let a blind judge decide."""
    from abjudge.wiring import Choices

    chosen = Choices(
        producer=producer,
        judges=tuple(judge or ()),
        scaffolds=tuple(scaffold or ()),
        api_base=api_base,
        judge_api_base=judge_api_base,
        both_orders=both_orders,
        seed=seed,
        temperature=temperature,
        max_tokens=max_tokens,
        timeout_s=timeout,
        retries=retries,
        allow_same_family=allow_same_family,
        producer_family=producer_family,
        judge_family=judge_family,
        producer_system=producer_system,
        scaffolded_system=scaffolded_system,
        judge_system=judge_system,
    )
    shape = Format.json if json else format
    carry_out(
        lambda: _compare(chosen, (prompt, prompt_file), out, config, shape, yes),
        json=shape is not Format.text,
        debug=debug,
        resume="Nothing was judged; what came back before is in the ledger." if out else "",
    )


async def _compare(
    chosen: "Choices",
    source: tuple[str | None, Path | None],
    out: Path | None,
    config: Path | None,
    shape: Format,
    yes: bool,
) -> int:
    from abjudge.app.compare import compare
    from abjudge.domain.status import Status
    from abjudge.library import as_case
    from abjudge.wiring import open_ledger, read_config, wire

    case = as_case(_prompt(*source))
    settings, path = read_config(config)
    if path is not None:
        say(f"settings from {path}")
    bench = await wire(
        chosen, environ=os.environ, config=settings, say=say, consent=lambda q: yes or agreed(f"{q} Fetch it now?")
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
    else:
        colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        width = min(shutil.get_terminal_size((80, 24)).columns, 100) if sys.stdout.isatty() else 80
        typer.echo(render(outcomes, width=max(width, 40), colour=colour))
