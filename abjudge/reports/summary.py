"""What a run says, in numbers that carry their intervals: `summary.json`, and the same in words."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from abjudge import measure
from abjudge.app.controls import PREFIX
from abjudge.app.scores import Look, Result, Results, Row
from abjudge.app.votes import Vote

if TYPE_CHECKING:  # numpy and scipy take half a second, which a command without figures need not pay
    from abjudge.measure.controls import Control, Fitness
    from abjudge.measure.results import Interval

Document = dict[str, Any]


def summarise(results: Results, table: Sequence[Row]) -> Document:
    """The summary of a run. The figures at the top are over all scaffolds, with the prompt as the unit; `scaffolds`
    holds the same for each. wins + losses + ties + errors = trials, and a trial is a prompt under a scaffold.
    """
    fitness = _fitness(results.of(controls=True))
    names = list(dict.fromkeys(row.scaffold for row in table))
    several = {name: _figures([row for row in table if row.scaffold == name], fitness["state"]) for name in names}
    whole = several[names[0]] if len(names) == 1 else _figures(table, fitness["state"])
    return {
        **whole,
        "scaffolds": several,
        "categories": _cells(table),
        "judges": _judges(table),
        "companion": _companion(results.of(companions=True)),
        "controls": fitness,
        "errors_by_reason": _reasons(table),
        "cost": {"usd": results.cost_usd, "calls": results.calls, "unpriced_calls": results.unpriced},
        "conflicts": sorted(results.conflicts),
        "caveats": sorted(results.caveats),
    }


def headline(document: Document) -> str:
    """The one sentence of a run."""
    rate = document["win_rate"]
    words = {
        "scaffold_better": "Scaffold better",
        "baseline_better": "Baseline better",
        "no_difference_shown": "No difference shown",
        "cannot_say": "Cannot say",
    }[document["conclusion"]]
    if rate["point"] is None:
        return f"{words}: {document['reason'].rstrip('.')}."
    share = f"wins {rate['point']:.1%} of {rate['n']} prompts (a tie as half)"
    interval = f"95 % CI {rate['low']:.1%} to {rate['high']:.1%}"
    return f"{words}: the scaffold {share}, {interval}. Reason: {document['reason']}."


def agreement_with_people(votes: Sequence[Vote]) -> Document | None:
    """How far each judge, and all together, say what people say, call by call; None where nobody labelled a pair."""
    labelled = [vote for vote in votes if vote.human is not None and vote.score is not None]
    if not labelled:
        return None
    judges = dict.fromkeys(vote.judge for vote in labelled)
    whole = _agreement(labelled)
    return {**whole, "judges": {judge: _agreement([v for v in labelled if v.judge == judge]) for judge in judges}}


def _agreement(votes: Sequence[Vote]) -> Document:
    table = measure.confusion([vote.human for vote in votes], [vote.score for vote in votes])
    found = measure.agreement(table)
    agreed = sum(table[n][n] for n in range(3))
    return {"agreement": found.raw, "kappa": found.kappa, "ac1": found.ac1, "n": len(votes), "agreed": agreed}


def _figures(table: Sequence[Row], fitness: "Fitness") -> Document:
    verdicts = [row.verdict for row in table]
    prompts = _by_prompt(table)
    scores = [_mean_or_none([row.score for row in group]) for group in prompts.values()]
    pairs = [_orders(group) for group in prompts.values()]
    swapped = any(row.first is not None and row.second is not None for row in table)
    rate = measure.win_rate_ci(scores)
    missing = measure.missing_bounds(pairs) if swapped else None
    verdict = measure.conclude(
        low=rate.lo,
        high=rate.hi,
        n=rate.n,
        worst_low=missing.box_lo if missing else None,
        worst_high=missing.box_hi if missing else None,
        missing=missing.missing_first + missing.missing_second if missing else verdicts.count("error"),
        fitness=fitness,
    )
    return {
        "trials": len(table),
        "wins": verdicts.count("scaffolded"),
        "losses": verdicts.count("baseline"),
        "ties": verdicts.count("tie"),
        "errors": verdicts.count("error"),
        "win_rate": _estimate(rate),
        "p_value": rate.p_value,
        "position": _position(pairs) if swapped else None,
        "length": _length(table),
        "missing": missing.model_dump(mode="json") if missing else None,
        "conclusion": verdict.conclusion,
        "reason": verdict.reason,
        "caveats_of_conclusion": list(verdict.caveats),
    }


def _by_prompt(table: Iterable[Row]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in table:
        groups.setdefault(row.id, []).append(row)
    return groups


def _orders(group: Sequence[Row]) -> tuple[float | None, float | None]:
    """The mean scores of a prompt with the scaffolded response first and second; None where a row lacks one."""
    return _mean_or_none([row.first for row in group]), _mean_or_none([row.second for row in group])


def _mean_or_none(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if values and len(known) == len(values) else None


def _estimate(rate: "Interval") -> Document:
    return {"point": rate.estimate, "low": rate.lo, "high": rate.hi, "n": rate.n, "method": rate.method}


def _position(pairs: Sequence[tuple[float | None, float | None]]) -> Document:
    bias = measure.position_bias(pairs)
    return {
        "flip_rate": bias.strict_flip,
        "any_change": bias.any_change,
        "first_share": bias.first_pref,
        "low": bias.lo,
        "high": bias.hi,
        "n": bias.n,
        "p_value": bias.p_value,
    }


def _length(table: Sequence[Row]) -> Document:
    known = [row for row in table if row.baseline_length is not None and row.scaffolded_length is not None]
    gaps = [float((row.scaffolded_length or 0) - (row.baseline_length or 0)) for row in known]
    longer = measure.longer_wins([row.score for row in known], gaps)
    return {"longer_wins": longer.estimate, "low": longer.lo, "high": longer.hi, "n": longer.n}


def _cells(table: Sequence[Row]) -> dict[str, dict[str, Document]]:
    """Which scaffold lifts which kind of task: the interval of each cell, and nothing where there is none."""
    cells: dict[str, dict[str, list[Row]]] = {}
    for row in table:
        if row.category is not None:
            cells.setdefault(row.category, {}).setdefault(row.scaffold, []).append(row)
    return {
        category: {
            scaffold: _counts(group) | {"win_rate": _estimate(measure.win_rate_ci([row.score for row in group]))}
            for scaffold, group in by_scaffold.items()
        }
        for category, by_scaffold in sorted(cells.items())
    }


def _counts(group: Sequence[Row]) -> Document:
    verdicts = [row.verdict for row in group]
    return {
        "trials": len(group),
        "wins": verdicts.count("scaffolded"),
        "losses": verdicts.count("baseline"),
        "ties": verdicts.count("tie"),
        "errors": verdicts.count("error"),
    }


def _judges(table: Sequence[Row]) -> dict[str, Document]:
    """Each judge's own win rate over the prompts it saw, both orders of a prompt as one."""
    seen: dict[str, dict[str, list[Look]]] = {}
    for row in table:
        for result in row.results:
            seen.setdefault(result.evaluator, {}).setdefault(result.case_id, []).extend(result.looks)
    return {judge: _judge(list(prompts.values())) for judge, prompts in seen.items()}


def _judge(prompts: Sequence[Sequence[Look]]) -> Document:
    """A judge's win rate, and how often the place decided: flips, and calls won by what was shown first."""
    looks = [look for prompt in prompts for look in prompt]
    orders = [
        tuple(_balanced([look for look in prompt if look.scaffolded_first is place]) for place in (True, False))
        for prompt in prompts
    ]
    both = [(first, second) for first, second in orders if first is not None and second is not None]
    return {
        **_rate([_balanced(prompt) for prompt in prompts]),
        "calls": len(looks),
        "first_shown_won": sum(look.score == (1.0 if look.scaffolded_first else 0.0) for look in looks),
        "flips": sum(first != second for first, second in both),
        "position": _position(both) if both else None,
    }


def _companion(results: Iterable[Result]) -> dict[str, dict[str, int]] | None:
    """The scaffolded judges' verdicts, beside the independent ones and in no other figure."""
    verdicts: dict[str, list[str]] = {}
    for result in results:
        if not result.is_control:
            verdicts.setdefault(result.evaluator, []).append(result.verdict or "error")
    return {judge: {word: said.count(word) for word in sorted(set(said))} for judge, said in verdicts.items()} or None


def _reasons(table: Iterable[Row]) -> dict[str, int]:
    reasons = [row.reason or "unknown" for row in table if row.verdict == "error"]
    return {reason: reasons.count(reason) for reason in sorted(set(reasons))}


def _fitness(controls: Sequence[Result]) -> Document:
    """What the judges did with pairs whose right answer is known, and whether that makes them fit."""

    def scores(kind: str) -> list[float]:
        of_kind = [result for result in controls if result.scaffold.startswith(f"{PREFIX}{kind}")]
        return [look.score for result in of_kind for look in result.looks]

    made: list[Control] = []
    if null := scores("null"):
        made.append(measure.identical_control(sum(score != 0.5 for score in null), len(null)))
    if degraded := scores("degraded"):
        made.append(measure.degraded_control(sum(score == 0.0 for score in degraded), len(degraded)))
    document = measure.judge_fitness(made).model_dump(mode="json")
    placebo: dict[str, list[Look]] = {}
    for result in controls:
        if result.scaffold.startswith(f"{PREFIX}placebo:"):
            placebo.setdefault(result.case_id, []).extend(result.looks)
    # Above one half it is the scaffold's words that help, not that there are words.
    document["placebo"] = _rate([_balanced(looks) for looks in placebo.values()]) if placebo else None
    return document


def _balanced(looks: Sequence[Look]) -> float | None:
    """The mean score of a prompt, each order weighing the same; None where nothing was read."""
    by_order: dict[bool, list[float]] = {}
    for look in looks:
        by_order.setdefault(look.scaffolded_first, []).append(look.score)
    means = [sum(scores) / len(scores) for scores in by_order.values()]
    return sum(means) / len(means) if means else None


def _rate(scores: Sequence[float | None]) -> Document:
    rate = measure.win_rate_ci(scores)
    return {"win_rate": _estimate(rate), "p_value": rate.p_value}
