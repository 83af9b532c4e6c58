"""Whether a run is what it says: seals made first and opened truly, every verdict read again, every id recomputed."""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from abjudge.app.roles import read_judgment
from abjudge.domain.blinding import BASELINE_FIRST, Seal, opens, show
from abjudge.domain.cases import Case
from abjudge.domain.environments import closure
from abjudge.domain.fingerprints import fingerprint
from abjudge.domain.outcomes import (
    Judgment,
    Observation,
    Outcome,
    combine,
    mean_criteria,
    mean_totals,
    outcome_id,
)
from abjudge.domain.status import Status


def verify(manifest: Mapping[str, Any], records: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Everything that is wrong with a run, one sentence each; nothing where it is intact.

    A seal that was never opened is no fault: a run may be interrupted between the question and the answer.
    """
    audit = _Audit(manifest)
    for number, record in enumerate(records, start=1):
        audit.read(number, record)
    return tuple(audit.faults)


class _Audit:
    """Reads the records in order, since what matters is what stood there before."""

    def __init__(self, manifest: Mapping[str, Any]) -> None:
        self.manifest = dict(manifest)
        self.faults: list[str] = []
        self.seals: dict[str, Seal] = {}
        self.observations: dict[str, Observation] = {}
        self.judgments: dict[str, Judgment] = {}
        self.ids: set[str] = set()
        self.cases = {c["id"]: c for c in self.manifest.get("cases", []) if isinstance(c, dict) and "id" in c}
        digest = self.manifest.pop("digest", None)
        if digest != fingerprint(self.manifest):
            self.faults.append("manifest.json: the plan is not the one its digest was made for.")

    def read(self, number: int, record: Mapping[str, Any]) -> None:
        readers = {
            "seal": self._seal,
            "observation": self._observation,
            "judgment": self._judgment,
            "outcome": self._outcome,
        }
        body = {key: value for key, value in record.items() if key not in ("ts", "chain")}
        kind = str(body.get("kind"))
        if kind not in readers:
            self.faults.append(f"ledger.jsonl, record {number}: unknown kind {kind!r}.")
            return
        try:
            for fault in readers[kind](body):
                self.faults.append(f"ledger.jsonl, record {number} ({kind}): {fault}")
        except (ValidationError, KeyError, TypeError) as error:
            first = str(error).splitlines()[0]
            self.faults.append(f"ledger.jsonl, record {number} ({kind}): not readable as such: {first}.")

    def _seal(self, body: dict[str, Any]) -> Iterable[str]:
        body.pop("kind")
        sealed = Seal.model_validate(body)
        if sealed.trial in self.seals:
            yield f"trial {sealed.trial[:21]} was sealed twice."
        self.seals[sealed.trial] = sealed

    def _observation(self, body: dict[str, Any]) -> Iterable[str]:
        seen = Observation.model_validate(body)
        if seen.id in self.observations:
            yield f"the observation {seen.id[:21]} stands there twice."
        if seen.case_id not in self.cases:
            yield f"case {seen.case_id!r} is not in the manifest."
        self.observations[seen.id] = seen

    def _judgment(self, body: dict[str, Any]) -> Iterable[str]:
        judgment = Judgment.model_validate(body)
        sealed = self.seals.get(judgment.seal.trial)
        if sealed is None:
            yield "it was not sealed beforehand."
        elif sealed != judgment.seal:
            yield "its seal is not the one that was made beforehand."
        if judgment.id in self.judgments:
            yield f"the judgment {judgment.id[:21]} stands there twice."
        if not opens(judgment.seal, judgment.assignment, judgment.nonce):
            yield "nonce and assignment do not open its seal."
        yield from self._read_again(judgment)
        self.judgments[judgment.id] = judgment

    def _read_again(self, judgment: Judgment) -> Iterable[str]:
        pair = {"baseline": judgment.baseline, "scaffolded": judgment.scaffolded}
        missing = [arm for arm, seen in pair.items() if seen not in self.observations]
        if missing:
            yield f"the {' and '.join(missing)} observation it points at was not there before it."
            return
        if judgment.evaluator == "human" or judgment.response.status is not Status.COMPLETED:
            return
        case = self.cases.get(judgment.case_id, {})
        texts = {arm: self.observations[seen].answer for arm, seen in pair.items()}
        shown = show(
            str(case.get("prompt", "")),
            {"baseline": texts["baseline"], "scaffolded": texts["scaffolded"]},
            judgment.assignment,
            seed=int(self.manifest.get("seed", 0)),
            trial=judgment.seal.trial,
        )
        if read_judgment(judgment.response, shown) != judgment.reading:
            yield "the judge's reply, read again, does not come to the recorded verdict."

    def _outcome(self, body: dict[str, Any]) -> Iterable[str]:
        observations = {arm: self.observations[seen] for arm, seen in body["observations"].items()}
        judgments = tuple(self.judgments[seen] for seen in body["judgments"])
        outcome = Outcome.model_validate({**body, "observations": observations, "judgments": judgments})
        if outcome.id in self.ids:
            yield f"the outcome {outcome.id[:21]} stands there twice."
        self.ids.add(outcome.id)
        planned = self.cases.get(outcome.case.id)
        if planned is None or Case.model_validate(planned) != outcome.case:
            yield f"case {outcome.case.id!r} is not the one in the manifest."
        conditions = closure(outcome.subject, outcome.scaffold.digest, outcome.evaluator, outcome.environment)
        if conditions != outcome.closure:
            yield "its closure is not the fingerprint of its conditions."
        if outcome.id != outcome_id(outcome.closure, outcome.case, outcome.repetition, outcome.order):
            yield "its id does not follow from closure, case, repetition and order."
        if outcome.order != "both" and judgments:
            first = "baseline_first" if judgments[0].assignment == BASELINE_FIRST else "scaffolded_first"
            if first != outcome.order:
                yield "its order is not the one that was sealed."
        if outcome.verdict != combine(judgments)[0]:
            yield "its verdict does not follow from its judgments."
        if (outcome.totals, outcome.criteria) != (mean_totals(judgments), mean_criteria(judgments)):
            yield "its totals do not follow from its judgments."
        if (outcome.status is Status.COMPLETED) != (outcome.verdict is not None):
            yield "its status and its verdict contradict each other."
