"""Whether a comparison would be a fair one: refuse, or record the exception that somebody declared."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from abjudge.domain.environments import EvaluatorCard, Subject
from abjudge.domain.errors import FairnessError
from abjudge.domain.families import Lineage
from abjudge.domain.prompts import split_block


def check_system_prompts(baseline: str, scaffolded: str) -> None:
    """The two producer prompts must be the same, byte for byte, apart from the one marked block."""
    outside, _ = split_block(scaffolded, name="the scaffolded producer's system prompt")
    if outside == baseline:
        return
    changed = [
        line
        for line in difflib.unified_diff(baseline.splitlines(), outside.splitlines(), lineterm="", n=0)
        if line[:1] in "+-" and not line.startswith(("+++", "---"))
    ]
    first = f" First difference: {changed[0][:120]!r}." if changed else " They differ in white space at the end."
    raise FairnessError(
        "system_prompts_differ",
        None,
        "The two producers' system prompts differ outside the scaffold block, so the scaffold would not be the only "
        f"difference between the arms.{first}",
        hint="Make them equal outside the block, or replace only the baseline prompt: the other is then derived.",
    )


@dataclass(frozen=True)
class Doubt:
    """Why a judge may not be a stranger to the producer: `same_family`, or `unknown_family` where nobody can say."""

    code: Literal["same_family", "unknown_family"]
    message: str
    hint: str


def doubts(subject: Subject, judges: Sequence[EvaluatorCard]) -> tuple[Doubt, ...]:
    """At most one doubt for each judge; people raise none."""
    found = (_doubt(subject, judge) for judge in judges if judge.kind != "human")
    return tuple(doubt for doubt in found if doubt is not None)


def refuse(found: Sequence[Doubt]) -> None:
    """FairnessError for the first doubt, if there is one: nobody declared it."""
    if found:
        raise FairnessError(found[0].code, None, found[0].message, hint=found[0].hint)


def conflicts(found: Sequence[Doubt]) -> tuple[str, ...]:
    """The doubts as declared exceptions, for the Environment and every report."""
    return tuple(f"{doubt.message} Allowed by --allow-same-family." for doubt in found)


NOTHING_DIFFERS = ("nothing: both are asked the same (A versus A)",)


def differences(scaffold_names: Sequence[str]) -> tuple[str, ...]:
    """All in which the arms differ, in words. Model, address, sampling and caps are shared by construction."""
    if all(name == "none" for name in scaffold_names):
        return NOTHING_DIFFERS
    return (
        "the marked scaffold block of the system prompt",
        "the [COGNITIVE SCAFFOLD] block before the prompt",
    )


def _doubt(subject: Subject, judge: EvaluatorCard) -> Doubt | None:
    if judge.model.partition("+")[0] == subject.model:
        return Doubt(
            "same_family",
            f"{subject.model} would judge its own answers, whatever family is declared for it.",
            "Choose another judge with --judge, or declare the conflict with --allow-same-family.",
        )
    for role, model, lineage in (("producer", subject.model, subject.lineage), ("judge", judge.model, judge.lineage)):
        if lineage is None:
            return Doubt(
                "unknown_family",
                f"The family of the {role} {model} is not known, so nobody can say whether judge and producer are "
                "strangers.",
                f"Declare it: --{role}-family NAME (the base it was trained from, such as qwen or llama), "
                "or under [families] in abjudge.toml.",
            )
    shared = _shared(subject.lineage, judge.lineage)
    if not shared:
        return None
    return Doubt(
        "same_family",
        f"The judge {judge.model} and the producer {subject.model} come from one house ({', '.join(shared)}): "
        "such a judge tends to prefer its own kind.",
        "Choose a judge of another family with --judge, or declare the conflict with --allow-same-family.",
    )


def _shared(one: Lineage | None, other: Lineage | None) -> tuple[str, ...]:
    return one.shares_with(other) if one and other else ()
