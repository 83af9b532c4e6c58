"""The library's verbs: what the commands do, without printing."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from abjudge.app.compare import compare as run_compare
from abjudge.domain.cases import single_case
from abjudge.domain.errors import InputError
from abjudge.domain.outcomes import Outcome
from abjudge.wiring import Choices, open_ledger, read_config, wire
from abjudge.wiring import read_prompts as read_table_of_prompts


async def compare(
    prompt: str,
    *,
    producer: str | None = None,
    judge: str | tuple[str, ...] | None = None,
    scaffold: str | tuple[str, ...] | None = None,
    out: str | Path | None = None,
    config: str | Path | None = None,
    environ: Mapping[str, str] | None = None,
    fetch: bool = False,
    **choices: Any,
) -> tuple[Outcome, ...]:
    """Ask the producer twice, bare and with each scaffold, and let each judge decide blind.

    Returns one Outcome for each scaffold and judge, scaffolds outermost; a trial that failed is an Outcome too, with a
    `status` other than `completed` and no verdict. `choices` are the further fields of `wiring.Choices` (`both_orders`,
    `seed`, `temperature`, `max_tokens`, `timeout_s` in seconds, `retries`, `api_base`, `judge_api_base`,
    `allow_same_family`, `producer_family`, `judge_family`, `producer_system`, `scaffolded_system`, `judge_system`).
    With `fetch` an embedded model that is not in the cache is downloaded.

    Raises InputError for a call that makes no fair comparison and CallError where a model cannot be had; in both cases
    nothing was paid for.
    """
    if not isinstance(prompt, str):
        raise InputError("bad_prompt", None, f"The prompt must be text, got {type(prompt).__name__}.")
    if "timeout" in choices:
        choices["timeout_s"] = choices.pop("timeout")
    chosen = Choices.of(producer=producer, judges=_names(judge), scaffolds=_names(scaffold), **choices)
    settings, _ = read_config(Path(config) if config else None)
    case = single_case(prompt)
    bench = await wire(
        chosen, environ=os.environ if environ is None else environ, config=settings, consent=lambda _: fetch
    )
    async with bench:
        with open_ledger(Path(out) if out else None, bench, [case]) as ledger:
            return await run_compare(case, bench, ledger)


def read_prompts(path: str | Path) -> list[dict[str, str]]:
    """The rows of a CSV or JSONL file of prompts, every column as text and in the order of the file.

    Raises InputError(code, line, message) where the file is not in order; `line` counts from 1 in the file.
    """
    return read_table_of_prompts(path)


def compare_sync(prompt: str, **options: Any) -> tuple[Outcome, ...]:
    """`compare` for code that runs no event loop; the same arguments, result and errors."""
    return asyncio.run(compare(prompt, **options))


def _names(given: str | tuple[str, ...] | list[str] | None) -> tuple[str, ...]:
    return () if given is None else (given,) if isinstance(given, str) else tuple(given)
