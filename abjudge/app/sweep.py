"""Many comparisons in one run: every case once, nothing paid for twice, stopped and resumed at will."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field, replace

from abjudge.app.bench import Bench, Judge, all_done
from abjudge.app.compare import compare
from abjudge.app.controls import DAMAGES, PREFIX, control_text, damaged, is_control, placebo
from abjudge.app.governor import Governed, Governor
from abjudge.app.known import NOTHING, Known
from abjudge.app.roles import BlindEvaluator, Producer
from abjudge.app.trial import Pair, Trial
from abjudge.domain.cases import Case
from abjudge.domain.fingerprints import fingerprint
from abjudge.domain.outcomes import Observation, Outcome, ScaffoldText
from abjudge.domain.plans import SweepPlan
from abjudge.domain.records import ScaffoldRecord
from abjudge.ports import Engine, Ledger

SYNC_S = 0.5


@dataclass(frozen=True)
class Sweep:
    """A sweep with all it needs. `known` is what a resumed run already holds, by case id."""

    plan: SweepPlan
    cases: int
    bench: Bench
    ledger: Ledger
    engine: Engine
    governor: Governor
    known: Mapping[str, Known] = field(default_factory=dict)

    async def run(self, cases: Iterable[tuple[int, Case]]) -> AsyncIterator[Outcome]:
        """The outcomes as they come, controls among them. Raises RunStopped when the run was stopped before its end."""
        syncing = asyncio.create_task(self._keep_synced())
        at_once = self.governor.rules.concurrency
        try:
            async for outcomes in self.engine.run(cases, self._case, at_once=at_once):
                for outcome in outcomes:
                    yield outcome
        finally:
            syncing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await syncing
            self.ledger.sync()

    async def _keep_synced(self) -> None:
        while True:
            await asyncio.sleep(SYNC_S)
            await asyncio.to_thread(self.ledger.sync)

    async def _case(self, place: tuple[int, Case]) -> tuple[Outcome, ...]:
        """One case: every scaffold, its judges, every repetition, and the controls of this place."""
        index, case = place
        known = self.known.get(case.id, NOTHING)
        jury = [judge for judge in self.bench.judges if judge.card.kind != "companion"]
        seats = [jury[n] for n in self.plan.judges_of(index, len(jury))]
        companions = [judge for judge in self.bench.judges if judge.card.kind == "companion"]
        bench = replace(self.bench, judges=(*seats, *companions))
        done = await all_done(
            compare(case, bench, self.ledger, repetition=n, index=index, known=known)
            for n in range(self.plan.repetitions)
        )
        outcomes = tuple(outcome for repetition in done for outcome in repetition)
        controls = self.plan.controls_of(index, self.cases)
        return (*outcomes, *await self._controls(index, case, outcomes, known)) if controls else outcomes

    async def _controls(
        self, index: int, case: Case, outcomes: tuple[Outcome, ...], known: Known
    ) -> tuple[Outcome, ...]:
        """The control pairs of this case, made from the answers it already has, before every judge."""
        answers = [seen for outcome in outcomes if outcome.repetition == 0 for seen in outcome.observations.values()]
        answers = [seen for seen in (*answers, *known.observations.values()) if seen.repetition == 0 and seen.usable]
        baseline = next((seen for seen in answers if seen.arm == "baseline"), None)
        pairs: list[tuple[str, Pair]] = []
        if baseline is not None and "null" in self.plan.controls:
            pairs.append(("null", {"baseline": baseline, "scaffolded": baseline}))
        if baseline is not None and "degraded" in self.plan.controls:
            pairs += self._degraded(index, baseline, known)
        if "placebo" in self.plan.controls:
            texts = {o.scaffold.name: o.scaffold for o in outcomes} | dict(known.scaffolds)
            pairs += await all_done(
                self._placebo(case, texts[name], real, known)
                for name, real in {seen.scaffold: seen for seen in answers if seen.arm == "scaffolded"}.items()
                if name in texts and texts[name].text is not None and not is_control(name)
            )
        seats = [
            (control_text(name), pair, judge)
            for name, pair in pairs
            for judge in self.bench.judges
            if judge.card.kind != "companion" and (f"{PREFIX}{name}", judge.evaluator.name, 0) not in known.settled
        ]
        return tuple(
            await all_done(
                Trial(case, text, judge, self.bench, self.ledger, known, 0, index).conduct(pair)
                for text, pair, judge in seats
            )
        )

    def _degraded(self, index: int, baseline: Observation, known: Known) -> list[tuple[str, Pair]]:
        """The answer and the same made worse, by the damage whose turn it is, or the next that can be done to it."""
        turns = (DAMAGES[(index + n) % len(DAMAGES)] for n in range(len(DAMAGES)))
        for how in turns:
            worse = damaged(baseline, how, seed=self.bench.seed + index)
            if worse is not None:
                if worse.id not in known.observations:
                    self.ledger.append(worse)
                return [(f"degraded-{how}", {"baseline": baseline, "scaffolded": worse})]
        return []

    async def _placebo(self, case: Case, scaffold: ScaffoldText, real: Observation, known: Known) -> tuple[str, Pair]:
        """The answer under a scaffold of equal length that says nothing, against the answer under the scaffold."""
        words = placebo(scaffold.text or "")
        empty = ScaffoldText(name=f"{PREFIX}placebo-text:{scaffold.name}", text=words, digest=fingerprint(words))
        self.ledger.append_once(ScaffoldRecord(scaffold=empty))
        name = self.bench.producer.observation_id(case, "scaffolded", empty, 0)
        seen = known.observations.get(name)
        if seen is None:
            seen = await self.bench.producer.respond(case, "scaffolded", empty, 0)
            self.ledger.append(seen)
        return f"placebo:{scaffold.name}", {"baseline": seen, "scaffolded": real}


async def governed(bench: Bench, governor: Governor) -> Bench:
    """The same bench, every call of which passes the governor."""
    by_model = {id(model): Governed(model, governor, await model.price()) for model in bench.models}

    def judge(seat: Judge) -> Judge:
        if not isinstance(seat.evaluator, BlindEvaluator):
            return seat
        return replace(seat, evaluator=replace(seat.evaluator, model=by_model[id(seat.evaluator.model)]))

    producer = bench.producer
    if isinstance(producer, Producer):
        producer = replace(producer, model=by_model[id(producer.model)])
    judges = tuple(judge(seat) for seat in bench.judges)
    return replace(bench, producer=producer, judges=judges, models=tuple(by_model.values()))
