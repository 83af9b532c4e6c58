"""A comparison as a person reads it at the terminal: the verdict, the scores, the texts, and how far to trust it."""

import io
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from abjudge.domain.blinding import Arm
from abjudge.domain.display import excerpt, printable
from abjudge.domain.outcomes import Judgment, Observation, Outcome
from abjudge.domain.status import Status

ARMS: tuple[Arm, Arm] = ("baseline", "scaffolded")
_HEADLINES = {
    "baseline": "The judge prefers the baseline response",
    "scaffolded": "The judge prefers the scaffolded response",
    "tie": "The judge finds neither response better: a tie",
}


def render(outcomes: Sequence[Outcome], *, width: int = 80, colour: bool = False, lines: int = 12) -> str:
    """The report as text of at most `width` columns; each response is shown by its first `lines` lines."""
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=colour, no_color=not colour, highlight=False, emoji=False)
    shared: Observation | None = None
    for outcome in outcomes:
        console.rule(_text(f"scaffold {outcome.scaffold.name} | judge {outcome.evaluator.model}"), characters="-")
        console.print(_text(f"producer {outcome.subject.model}, seed {outcome.subject.sampling.seed}"))
        for arm in ARMS:
            seen = outcome.observations.get(arm)
            if seen is not None and seen is not shared and not (arm == "baseline" and _same(seen, shared)):
                _response(console, arm, seen, width, lines)
            if arm == "baseline":
                shared = seen
        _verdict(console, outcome)
        _trust(console, outcome)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _text(words: str, style: str = "") -> Text:
    """Words as they are shown: no markup is read in them, and nothing in them moves the cursor."""
    return Text(printable(words), style=style)


def _same(seen: Observation, shared: Observation | None) -> bool:
    return shared is not None and seen.id == shared.id


def _response(console: Console, arm: Arm, seen: Observation, width: int, lines: int) -> None:
    response = seen.response
    facts = [
        f"{response.tokens_out} tokens" if response.tokens_out is not None else None,
        f"{response.latency_s:.1f} s" if response.latency_s is not None else None,
        f"${response.cost_usd:.5f}" if response.cost_usd else None,
        "cut at the token cap" if response.truncated else None,
        "refused" if response.refused else None,
        f"{response.attempts} attempts" if response.attempts > 1 else None,
    ]
    known = ", ".join(fact for fact in facts if fact)
    console.print(_text(f"{arm.capitalize()} response{f' ({known})' if known else ''}", style="bold"))
    body = seen.answer if seen.usable else f"[{response.status.value}: {response.reason}] {response.message or ''}"
    console.print(Padding(_text(excerpt(body, lines=lines, width=width - 2)), (0, 0, 1, 2)))


def _verdict(console: Console, outcome: Outcome) -> None:
    if outcome.verdict is None:
        console.print(_text(f"No verdict: {outcome.status.value} ({outcome.reason}).", style="bold red"))
        if outcome.message:
            console.print(_text(printable(outcome.message)))
    else:
        looks = " in both orders." if outcome.order == "both" and outcome.verdict != "tie" else "."
        console.print(_text(_HEADLINES[outcome.verdict] + looks, style="bold green"))
        if "position_inconsistent" in outcome.notes:
            console.print("The two orders did not agree (position_inconsistent), so neither is believed.")
    if outcome.criteria and outcome.totals:
        table = Table(box=box.ASCII if console.no_color else box.SIMPLE, pad_edge=False, show_footer=True)
        table.add_column("criterion", footer="total")
        for arm in ARMS:
            table.add_column(arm, justify="right", footer=f"{outcome.totals[arm]:.1f}")
        for name, scores in outcome.criteria.items():
            table.add_row(name, *(f"{scores[arm]:.1f}" for arm in ARMS))
        console.print(table)
    for judgment in outcome.judgments:
        console.print(_text(_look(judgment)))


def _look(judgment: Judgment) -> str:
    where = f"A was {judgment.assignment.A}, B was {judgment.assignment.B}"
    reading = judgment.reading
    if reading.verdict is None:
        return f"- {where}: no verdict ({judgment.reason}). {printable(reading.detail or '')[:200]}".rstrip()
    repairs = f" [reply {reading.outcome}: {', '.join(reading.notes)}]" if reading.notes else ""
    reason = f' "{printable(reading.verdict_reason)[:160]}"' if reading.verdict_reason else ""
    return f"- {where}: the judge said {reading.verdict}.{reason}{repairs}"


def _trust(console: Console, outcome: Outcome) -> None:
    """What a reader must know before believing the headline."""
    lines = [f"the arms differ in {d}" for d in outcome.environment.differences]
    lines += [f"conflict: {c}" for c in outcome.environment.conflicts]
    lines += [f"caveat: {c}" for c in outcome.environment.caveats]
    for arm, seen in outcome.observations.items():
        lines += [f"{arm} may give itself away: {leak.kind} {printable(leak.text)!r}" for leak in seen.leaks]
        lines += [f"{arm}: {note}" for note in (*seen.notes, *seen.response.notes)]
    if outcome.status is Status.COMPLETED:
        lines.append("one comparison is an anecdote: it says nothing about other prompts.")
    console.print(_text("\nHow far to trust it", style="bold"))
    for line in lines:
        console.print(Padding(_text(f"- {line}"), (0, 0, 0, 2)))
    console.print()
