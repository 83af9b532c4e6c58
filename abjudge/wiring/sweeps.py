"""A sweep from a table of prompts and choices: the plan first, then the manifest, then everything that runs it."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from abjudge.adapters.case_order import shuffled
from abjudge.adapters.config_file import Config
from abjudge.adapters.engine_local import LocalEngine
from abjudge.adapters.ledger import RunFolder, read_manifest, read_records, utc_now
from abjudge.adapters.tables.prompt_table import check_prompts, stream_cases
from abjudge.adapters.tables.text_source import opened
from abjudge.app.bench import Bench
from abjudge.app.governor import Governed, Governor, Rules
from abjudge.app.known import Known, Seat, known_of
from abjudge.app.roles import COLUMNS
from abjudge.app.sweep import Sweep, governed
from abjudge.app.votes import HUMAN
from abjudge.domain.cases import Case
from abjudge.domain.errors import InputError
from abjudge.domain.plans import CONTROLS_EACH, SweepPlan
from abjudge.wiring.bench import wire
from abjudge.wiring.cast import GIVEN, Consent, Say
from abjudge.wiring.choices import Choices, SweepChoices

ASK_ABOVE = 500  # paid calls that a person is asked about


@dataclass(frozen=True)
class Cost:
    """What a plan may cost. `at_most` takes every answer as long as its cap; None where a price is not known."""

    calls: int
    paid_calls: int
    at_most: float | None


@dataclass(frozen=True)
class Prepared:
    """A sweep whose manifest is on the disk; `places` are its cases in the order in which they are run."""

    sweep: Sweep
    ledger: RunFolder
    out: Path
    left: int

    def places(self) -> Iterator[tuple[int, Case]]:
        return enumerate(read_manifest(self.out).cases())


Approve = Callable[[int, Cost], bool]


async def prepare_sweep(
    source: str,
    choices: Choices,
    sweep: SweepChoices,
    *,
    out: Path,
    environ: Mapping[str, str],
    config: Config,
    say: Say,
    consent: Consent,
    approve: Approve,
) -> Prepared:
    """Everything before the first paid call. `approve` is asked with the number of prompts and the cost.

    The table is read and checked whole first. Raises InputError for a table or a plan that is not in order and for a
    resumed run whose plan is another one.
    """
    if sweep.retry_errors and not sweep.resume:
        raise InputError("bad_choice", None, "--retry-errors goes with --resume: a new run has no errors yet.")
    header = read_manifest(out).header if sweep.resume else None
    chosen = _as_sweep(choices.over(config), sweep, header)
    with ExitStack() as files:
        text = files.enter_context(opened(source))
        picked: dict[str, Any] = {"prompt_column": sweep.prompt_column, "id_column": sweep.id_column}
        picked |= {"limit": sweep.limit, "sample": sweep.sample, "seed": chosen.seed}
        check = await asyncio.to_thread(check_prompts, text, **picked)
        if chosen.given and "placebo" in sweep.controls:
            raise InputError("bad_choice", None, "--controls placebo needs a producer, and these responses are given.")
        if chosen.given:
            await asyncio.to_thread(_check_pairs, stream_cases(text, **picked))
        bench = await wire(chosen, environ=environ, config=config, say=say, consent=consent)
        try:
            rules = Rules(concurrency=sweep.concurrency, caps=sweep.caps, budget_usd=sweep.budget)
            governor = Governor(rules)
            bench = replace(await governed(bench, governor), say=lambda _: None)
            plan = SweepPlan(
                repetitions=sweep.repeat,
                order=sweep.order,
                jury="panel" if sweep.panel else "rotate",
                controls=sweep.controls,
            )
            cost = _cost(bench, plan, check.selected)
            if sweep.budget is not None and cost.at_most is None:
                raise InputError(
                    "unknown_price",
                    None,
                    "--budget needs to know what a call costs, and litellm's price list lacks one of these models.",
                    hint="Leave --budget out, or choose models with a known price.",
                )
            header_now = _header(source, check.digest, plan, bench)
            if header is None:
                if not approve(check.selected, cost):
                    raise InputError("not_approved", None, "The plan was not approved; nothing was called.")
                ledger = RunFolder.create(out, header_now, shuffled(stream_cases(text, **picked), bench.seed))
            else:
                _same_plan(header, header_now, out)
                ledger = RunFolder.reopen(out)
        except BaseException:
            await bench.__aexit__()
            raise
    known = _known(out, plan, bench, check.selected, retry_errors=sweep.retry_errors) if sweep.resume else {}
    made = Sweep(plan, check.selected, bench, ledger, LocalEngine(), governor, known)
    done = sum(_is_done(plan, bench, check.selected, n, known.get(c.id)) for n, c in _places(out)) if known else 0
    return Prepared(made, ledger, out, check.selected - done)


def _check_pairs(cases: Iterable[Case]) -> None:
    """InputError where a table of pairs lacks a response."""
    for case in cases:
        for column in COLUMNS.values():
            if column not in case.extra:
                have = ", ".join(["prompt", *case.extra])
                said = f"The table has no column {column!r}; its columns are {have}."
                raise InputError("missing_column", 1, said, hint="Pairs need prompt, response_1 and response_2.")
            if not case.extra[column].strip():
                raise InputError("empty_response", None, f"The pair {case.id!r} has an empty {column}.")
        if case.extra.get("human", "").strip().lower() not in HUMAN:
            said = f"The pair {case.id!r} has human {case.extra['human']!r}, expected 1, 2, tie or nothing."
            raise InputError("bad_value", None, said)


def _as_sweep(chosen: Choices, sweep: SweepChoices, header: Mapping[str, Any] | None) -> Choices:
    """A comparison's choices with a sweep's defaults; a resumed run keeps its seed."""
    changes: dict[str, Any] = {"both_orders": sweep.order == "swap"}
    if chosen.retries is None:
        changes["retries"] = 3
    if chosen.seed is None and header is not None:
        changes["seed"] = int(header["seed"])
    return chosen.with_(**changes)


def _header(source: str, digest: str, plan: SweepPlan, bench: Bench) -> dict[str, Any]:
    return {
        "kind": "manifest",
        "version": 1,
        "created": utc_now(),
        "source": Path(source).name if source != "-" else "-",
        "source_digest": digest,
        "seed": bench.seed,
        "plan": plan.model_dump(mode="json"),
        "subject": bench.subject.model_dump(mode="json"),
        "scaffolds": [scaffold.name for scaffold in bench.scaffolds],
        "evaluators": [judge.card.model_dump(mode="json") for judge in bench.judges],
        "environment": bench.environment.model_dump(mode="json"),
    }


def _same_plan(then: Mapping[str, Any], now: Mapping[str, Any], out: Path) -> None:
    """InputError that names what differs, where a run would be gone on with under another plan."""
    ignored = {"created", "digest", "cases_count", "cases_digest", "source"}
    differing = [key for key in now if key not in ignored and then.get(key) != now[key]]
    if differing:
        details = "; ".join(_difference(key, then.get(key), now[key]) for key in differing)
        raise InputError(
            "another_plan",
            None,
            f"{out} was begun under another plan: {details}.",
            hint="Resume it with the choices it was begun with, or begin a new run with another --out.",
        )


def _difference(key: str, then: Any, now: Any) -> str:
    if isinstance(then, dict) and isinstance(now, dict):
        parts = [
            _difference(f"{key}.{part}", then.get(part), now.get(part)) for part in now if then.get(part) != now[part]
        ]
        return "; ".join(parts)
    return f"{key} was {then!r}, is {now!r}"[:300]


def _cost(bench: Bench, plan: SweepPlan, cases: int) -> Cost:
    """Calls and dollars of the plan; prompts are taken as 400 tokens long, answers as long as their caps."""
    judges = [judge for judge in bench.judges if judge.card.kind != "human"]
    jury = [judge for judge in judges if judge.card.kind == "model"]
    to_producer, to_jury = plan.calls(cases, len(bench.scaffolds), max(len(jury), 1))
    companions = len(judges) - len(jury)
    to_companions = cases * len(bench.scaffolds) * (2 if plan.order == "swap" else 1) * plan.repetitions * companions
    rates = {model.name: model.rate for model in bench.models if isinstance(model, Governed)}

    def dollars(name: str, calls: float, prompt: int, answer: int | None) -> float | None:
        rate = rates.get(name)
        return None if rate is None else calls * (prompt * rate.prompt + (answer or 4096) * rate.answer)

    cap = bench.subject.sampling.max_tokens
    looks = 2 if plan.order == "swap" else 1
    places = min(CONTROLS_EACH, cases)
    placebos = places * len(bench.scaffolds) if "placebo" in plan.controls else 0
    to_producer += placebos
    to_jury += (places * sum(kind in plan.controls for kind in ("null", "degraded")) + placebos) * looks * len(jury)
    if bench.subject.model == GIVEN:
        to_producer = 0
    parts = [
        (bench.subject.model, dollars(bench.subject.model, to_producer, 400, cap) if to_producer else 0.0, to_producer)
    ]
    for judge in judges:
        share = to_companions / max(companions, 1) if judge.card.kind == "companion" else to_jury / max(len(jury), 1)
        model = judge.card.model.partition("+")[0]
        answer = judge.card.sampling.max_tokens
        parts.append((model, dollars(model, share, 800 + 2 * (cap or 2048), answer), round(share)))
    costs = [cost for _, cost, _ in parts]
    paid = sum(calls for _, cost, calls in parts if cost is None or cost > 0)
    at_most = None if None in costs else sum(cost for cost in costs if cost is not None)
    return Cost(to_producer + to_jury + to_companions, paid, at_most)


def _places(out: Path) -> Iterator[tuple[int, Case]]:
    return enumerate(read_manifest(out).cases())


def _known(out: Path, plan: SweepPlan, bench: Bench, cases: int, *, retry_errors: bool) -> dict[str, Known]:
    places = {case.id: index for index, case in _places(out)}

    def is_done(case_id: str, seats: frozenset[Seat]) -> bool:
        return _is_done(plan, bench, cases, places[case_id], Known(settled=seats))

    return known_of(lambda: read_records(out), retry_errors=retry_errors, is_done=is_done)


def _is_done(plan: SweepPlan, bench: Bench, cases: int, index: int, known: Known | None) -> bool:
    """Whether every seat of the case in this place is settled. One with controls is looked at again."""
    if known is None or plan.controls_of(index, cases):
        return False
    jury = [judge.evaluator.name for judge in bench.judges if judge.card.kind != "companion"]
    names = [jury[n] for n in plan.judges_of(index, len(jury))]
    names += [judge.evaluator.name for judge in bench.judges if judge.card.kind == "companion"]
    wanted = {(s.name, name, n) for s in bench.scaffolds for name in names for n in range(plan.repetitions)}
    return wanted <= known.settled
