"""Whether a run is what it says: seals made first and opened truly, every verdict read again, every id recomputed."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from abjudge.app.replay import Replay
from abjudge.app.roles import read_judgment
from abjudge.domain.blinding import BASELINE_FIRST, Arm, opens, show
from abjudge.domain.cases import Case
from abjudge.domain.environments import closure
from abjudge.domain.fingerprints import fingerprint
from abjudge.domain.outcomes import Judgment, Observation, combine, mean_criteria, mean_totals, outcome_id
from abjudge.domain.records import Conditions, OutcomeRecord, Record
from abjudge.domain.status import Status


def verify(cases: Mapping[str, Case], seed: int, records: Iterable[tuple[int, Mapping[str, Any]]]) -> tuple[str, ...]:
    """Everything that is wrong with a run, one sentence each; nothing where it is intact.

    `records` are lines with their numbers, in order. A seal that was never opened is no fault: a run may be interrupted
    between the question and the answer.
    """
    audit = _Audit(cases, seed)
    faults: list[str] = []
    for number, line in records:
        try:
            record = audit.replay.parse(line)
            found = audit.check(record) if record else ()
            faults += [f"ledger.jsonl, line {number} ({line.get('kind')}): {fault}" for fault in found]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            first = str(error).splitlines()[0]
            faults.append(f"ledger.jsonl, line {number}: not readable as a record: {first}.")
    return tuple(faults)


class _Audit:
    """Reads the records in order, since what matters is what stood there before."""

    def __init__(self, cases: Mapping[str, Case], seed: int) -> None:
        self.replay = Replay()
        self._cases, self._seed = cases, seed
        self._done: dict[str, Status] = {}

    def check(self, record: Record) -> tuple[str, ...]:
        faults = tuple(self._faults(record))
        self.replay.take(record)
        return faults

    def _faults(self, record: Record) -> Iterator[str]:
        match record:
            case Observation():
                yield from self._observation(record)
            case Conditions():
                yield from self._conditions(record)
            case Judgment():
                yield from self._judgment(record)
            case OutcomeRecord():
                yield from self._outcome(record)

    def _observation(self, seen: Observation) -> Iterator[str]:
        before = self.replay.observations.get(seen.id)
        if before is not None and before.usable:
            yield f"the observation {seen.id[:21]} was there already, and had completed."
        if seen.case_id not in self._cases:
            yield f"case {seen.case_id!r} is not in the manifest."

    def _conditions(self, conditions: Conditions) -> Iterator[str]:
        parts = (conditions.subject, conditions.scaffold_digest, conditions.evaluator, conditions.environment)
        if conditions.closure != closure(*parts):
            yield "its closure is not the fingerprint of its conditions."

    def _judgment(self, judgment: Judgment) -> Iterator[str]:
        made = self.replay.seals.get(judgment.seal.trial, [])
        if not made:
            yield "it was not sealed beforehand."
        elif judgment.seal not in made:
            yield "its seal is not one that was made beforehand."
        before = self.replay.judgments.get(judgment.id)
        if before is not None and before.status is Status.COMPLETED:
            yield f"the judgment {judgment.id[:21]} was there already, and had completed."
        if not opens(judgment.seal, judgment.assignment, judgment.nonce):
            yield "nonce and assignment do not open its seal."
        yield from self._read_again(judgment)

    def _read_again(self, judgment: Judgment) -> Iterator[str]:
        pair = [self.replay.observations.get(seen) for seen in (judgment.baseline, judgment.scaffolded)]
        case = self._cases.get(judgment.case_id)
        if pair[0] is None or pair[1] is None or case is None:
            yield "an observation or a case that it points at was not there before it."
            return
        texts: dict[Arm, str] = {"baseline": pair[0].answer, "scaffolded": pair[1].answer}
        shown = show(case.prompt, texts, judgment.assignment, seed=self._seed, trial=judgment.seal.trial)
        if fingerprint(shown) != judgment.shown:
            yield "what the judge was shown is not what the responses say."
        if judgment.evaluator == "human" or judgment.response.status is not Status.COMPLETED:
            return
        if read_judgment(judgment.response, shown) != judgment.reading:
            yield "the judge's reply, read again, does not come to the recorded verdict."

    def _outcome(self, record: OutcomeRecord) -> Iterator[str]:
        case = self._cases.get(record.case_id)
        if case is None:
            yield f"case {record.case_id!r} is not in the manifest."
            return
        outcome = self.replay.outcome(record, case)
        if self._done.get(outcome.id) is Status.COMPLETED:
            yield f"the outcome {outcome.id[:21]} was there already, and had completed."
        self._done[outcome.id] = outcome.status
        if outcome.id != outcome_id(outcome.closure, outcome.case, outcome.repetition, outcome.order):
            yield "its id does not follow from closure, case, repetition and order."
        if outcome.order != "both" and outcome.judgments:
            first = "baseline_first" if outcome.judgments[0].assignment == BASELINE_FIRST else "scaffolded_first"
            if first != outcome.order:
                yield "its order is not the one that was sealed."
        verdict = combine(outcome.judgments)[0] if outcome.status is Status.COMPLETED else None
        if outcome.verdict != verdict or (outcome.status is Status.COMPLETED) != (verdict is not None):
            yield "its verdict does not follow from its judgments."
        totals, criteria = mean_totals(outcome.judgments), mean_criteria(outcome.judgments)
        if (outcome.totals, outcome.criteria) != (totals, criteria):
            yield "its totals do not follow from its judgments."
