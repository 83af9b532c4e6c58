"""A run as one HTML page that opens from disk: no network, no script, light and dark. All words are escaped."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from abjudge.app.scores import Row
from abjudge.domain.display import printable
from abjudge.reports.run import trust_lines
from abjudge.reports.summary import Document, headline

MOST_ROWS = 2000  # beyond these `results.csv` is the better reader
_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; } caption { text-align: left; padding-bottom: .3rem; }
th, td { text-align: left; padding: .2rem .6rem; border-bottom: 1px solid #8884; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
.bar { background: linear-gradient(90deg, #888 0 0) center / 1px 100% no-repeat; height: 1.1rem; position: relative; }
.bar i { position: absolute; top: .3rem; height: .5rem; background: #4a7dbd; border-radius: .25rem; }
"""


def render_page(summary: Document, table: Sequence[Row], *, title: str) -> str:
    """The whole page. `table` is shown up to 2,000 rows, and what is left out is said."""
    figures = [
        (name, f["trials"], f["wins"], f["losses"], f["ties"], f["errors"], _share(f["win_rate"]), _bar(f["win_rate"]))
        for name, f in summary["scaffolds"].items()
    ]
    cells = [
        (category, name, f["trials"], _share(f["win_rate"]), _bar(f["win_rate"]))
        for category, by_scaffold in summary["categories"].items()
        for name, f in by_scaffold.items()
    ]
    shown = [
        (
            r.id,
            r.category or "",
            r.scaffold,
            r.verdict,
            r.baseline_total,
            r.scaffolded_total,
            r.reason or " ".join(r.notes),
        )
        for r in table[:MOST_ROWS]
    ]
    left = f"The first {len(shown)} of {len(table)}; all are in results.csv." if len(table) > len(shown) else ""
    interval = ("win rate, 95 % interval", "0 to 1, the line is one half")
    parts = [
        f"<h1>{_say(headline(summary))}</h1>",
        "<h2>By scaffold</h2>",
        _table(("scaffold", "prompts", "wins", "losses", "ties", "errors", *interval), figures),
        "<h2>How far to trust it</h2>",
        "<ul>" + "".join(f"<li>{_say(line)}</li>" for line in trust_lines(summary)) + "</ul>",
        "<h2>By kind of task</h2>" + _table(("kind", "scaffold", "prompts", *interval), cells) if cells else "",
        f"<h2>Every prompt</h2><p>{_say(left)}</p>",
        _table(("id", "kind", "scaffold", "verdict", "baseline", "scaffolded", "notes"), shown),
    ]
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{_say(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width">\n<style>{_STYLE}</style>\n</head>\n<body>\n'
        + "\n".join(part for part in parts if part)
        + "\n</body>\n</html>\n"
    )


class _Html(str):
    """Markup of ours, which is not escaped again."""


def _table(head: Iterable[str], lines: Iterable[Sequence[Any]]) -> str:
    body = "".join("<tr>" + "".join(_cell(value) for value in line) + "</tr>\n" for line in lines)
    return "<table>\n<tr>" + "".join(f'<th scope="col">{_say(word)}</th>' for word in head) + f"</tr>\n{body}</table>"


def _cell(value: Any) -> str:
    if isinstance(value, _Html):
        return f"<td>{value}</td>"
    if isinstance(value, int | float):
        return f'<td class="n">{value:g}</td>'
    return f"<td>{_say('' if value is None else str(value))}</td>"


def _share(rate: Mapping[str, Any]) -> str:
    return "" if rate["point"] is None else f"{rate['point']:.1%} ({rate['low']:.1%} to {rate['high']:.1%})"


def _bar(rate: Mapping[str, Any]) -> _Html:
    left, width = 100 * rate["low"], max(100 * (rate["high"] - rate["low"]), 0.5)
    return _Html(f'<div class="bar" aria-hidden="true"><i style="left:{left:.1f}%;width:{width:.1f}%"></i></div>')


def _say(text: str) -> str:
    return escape(printable(text))
