"""A run as a person reads it at the terminal: one sentence, the counts, and how far to trust it."""

from typing import Any

from abjudge.domain.display import printable
from abjudge.reports.summary import Document, headline


def render_run(summary: Document) -> str:
    """Plain lines of at most 100 columns."""
    lines = [headline(summary), ""]
    lines += _table(summary)
    lines += ["", "How far to trust it", *(f"- {line}" for line in trust_lines(summary))]
    return "\n".join(printable(line) for line in lines) + "\n"


def _table(summary: Document) -> list[str]:
    head = f"{'scaffold':<28} {'prompts':>7} {'wins':>6} {'losses':>6} {'ties':>6} {'errors':>6}  win rate (95 % CI)"
    return [head, *(_line(name, figures) for name, figures in summary["scaffolds"].items())]


def _line(name: str, figures: Document) -> str:
    counts = " ".join(f"{figures[key]:>6}" for key in ("wins", "losses", "ties", "errors"))
    return f"{name[:28]:<28} {figures['trials']:>7} {counts}  {_share(figures['win_rate'])}"


def _share(rate: Document) -> str:
    if rate["point"] is None:
        return "-"
    return f"{rate['point']:.1%} ({rate['low']:.1%} to {rate['high']:.1%})"


def trust_lines(summary: Document) -> list[str]:
    """What a reader must know before believing the headline, a line each."""
    fitness, position, length = summary["controls"], summary["position"], summary["length"]
    lines = [f"judge: {fitness['state']}", *(f"judge: {reason}" for reason in fitness["reasons"])]
    if position and position["first_share"] is not None:
        flips = f", flips {position['flip_rate']:.1%}" if position["flip_rate"] is not None else ""
        lines.append(
            f"position: the first place wins {position['first_share']:.1%} (p {position['p_value']:.3f}){flips}"
        )
    if length["longer_wins"] is not None:
        lines.append(f"length: the longer response wins {length['longer_wins']:.1%} of {length['n']} prompts")
    if summary["missing"] and summary["missing"]["warn"]:
        lines.append(f"missing: {summary['missing']['missing_share']:.1%} of the calls, or more in one order")
    if fitness["placebo"]:
        lines.append(f"against a placebo scaffold of equal length: {_share(fitness['placebo']['win_rate'])}")
    for judge, figures in summary["judges"].items() if len(summary["judges"]) > 1 else ():
        lines.append(f"judge {judge}: {_share(figures['win_rate'])}")
    for judge, counts in (summary["companion"] or {}).items():
        lines.append(f"companion {judge}, in no figure above: {_counts(counts)}")
    lines += [f"errors: {count} x {reason}" for reason, count in summary["errors_by_reason"].items()]
    lines += [f"conflict: {text}" for text in summary["conflicts"]]
    lines += [f"caveat: {text}" for text in (*summary["caveats"], *summary["caveats_of_conclusion"])]
    if summary.get("human"):
        for judge, found in summary["human"]["judges"].items():
            kappa = "" if found["kappa"] is None else f", kappa {found['kappa']:.2f}"
            lines.append(f"people: {judge} agrees on {found['agreed']} of {found['n']} calls{kappa}")
    cost = summary["cost"]
    unknown = f", {cost['unpriced_calls']} calls without a known price" if cost["unpriced_calls"] else ""
    return [*lines, f"cost: ${cost['usd']:.4f} in {cost['calls']} calls{unknown}"]


def _counts(counts: dict[str, Any]) -> str:
    return ", ".join(f"{word} {count}" for word, count in counts.items())
