"""The roles of a comparison: a producer that answers bare or scaffolded, and a blind judge."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from abjudge.app import retries
from abjudge.domain.blinding import Arm, Shown
from abjudge.domain.calls import Limits, Request, Response, Sampling
from abjudge.domain.cases import Case
from abjudge.domain.errors import CallError
from abjudge.domain.fingerprints import fingerprint
from abjudge.domain.leaks import find_leaks, strip_thinking
from abjudge.domain.outcomes import Observation, ScaffoldText
from abjudge.domain.prompts import inject
from abjudge.domain.reply.reader import parse_verdict
from abjudge.domain.rubrics import FIVE, Rubric
from abjudge.domain.status import Status
from abjudge.domain.verdicts import VerdictReading, verdict_schema
from abjudge.ports import Model, Scaffold

Clock = Callable[[], float]


async def ask(model: Model, request: Request, *, retries_allowed: int, clock: Clock = time.monotonic) -> Response:
    """One request with its retries. A call that failed is a Response with a status and a reason, never an answer."""
    started = clock()
    try:
        response, attempts = await retries.call(lambda: model.complete(request), retries=retries_allowed)
    except CallError as error:
        return Response(
            status=error.status,
            reason=error.reason,
            message=str(error),
            text=error.text,
            loop=error.loop,
            blocked=error.status is Status.BLOCKED,
            model=model.name,
            sampling=request.sampling,
            latency_s=clock() - started,
            attempts=error.attempts,
        )
    return response if attempts == 1 else response.with_(attempts=response.attempts + attempts - 1)


@dataclass(frozen=True)
class Producer:
    """The model under test. Both arms go through the same model, sampling and limits; only the scaffold differs."""

    model: Model
    baseline_system: str
    scaffolded_system: str
    sampling: Sampling
    limits: Limits
    own_names: tuple[str, ...] = ()

    def request(self, case: Case, arm: Arm, scaffold: ScaffoldText | None, repetition: int = 0) -> Request:
        """What the arm is asked. The baseline takes no scaffold; a scaffold without text asks both arms the same.

        Each repetition has a seed of its own, or it would get the same words again.
        """
        seed = None if self.sampling.seed is None else self.sampling.seed + repetition
        text = scaffold.text if scaffold and arm == "scaffolded" else None
        return Request(
            system=self.baseline_system if text is None else self.scaffolded_system,
            user=case.prompt if text is None else inject(text, case.prompt),
            sampling=self.sampling.model_copy(update={"seed": seed}),
            timeout_s=self.limits.timeout_s,
        )

    def observation_id(self, case: Case, arm: Arm, scaffold: ScaffoldText | None, repetition: int) -> str:
        """The name of what this arm will say, known before it is asked."""
        return self._id(self.request(case, arm, scaffold, repetition), case, arm, repetition)

    async def respond(
        self, case: Case, arm: Arm, scaffold: ScaffoldText | None, repetition: int = 0, *, name: str | None = None
    ) -> Observation:
        """What the arm says. `name` is its `observation_id`, where it is known already."""
        request = self.request(case, arm, scaffold, repetition)
        response = await ask(self.model, request, retries_allowed=self.limits.retries)
        answer, thinking = strip_thinking(response.text)
        if response.status is Status.COMPLETED and not answer.strip():
            reason = "empty_content_thinking_only" if thinking else "empty"
            response = response.with_(status=Status.SUBJECT_ERROR, reason=response.reason or reason)
        words = scaffold.text if scaffold else None
        return Observation(
            id=name or self._id(request, case, arm, repetition),
            case_id=case.id,
            arm=arm,
            scaffold=scaffold.name if scaffold else None,
            scaffold_digest=scaffold.digest if scaffold else None,
            repetition=repetition,
            response=response,
            leaks=find_leaks(answer, scaffold=words or "", prompt=case.prompt, names=self.own_names),
            notes=("thinking_hidden_from_judge",) if thinking else (),
        )

    def _id(self, request: Request, case: Case, arm: Arm, repetition: int) -> str:
        asked = {"system": request.system, "user": request.user, "sampling": request.sampling}
        return fingerprint([self.model.name, asked, case.id, arm, repetition])


COLUMNS: dict[Arm, str] = {"baseline": "response_1", "scaffolded": "response_2"}


@dataclass(frozen=True)
class GivenAnswers:
    """In the producer's place where the responses exist already, in columns of the table; response 2 is under test."""

    limits: Limits

    def observation_id(self, case: Case, arm: Arm, scaffold: ScaffoldText | None, repetition: int) -> str:
        return fingerprint(["given", case.id, arm, case.extra[COLUMNS[arm]]])

    async def respond(
        self, case: Case, arm: Arm, scaffold: ScaffoldText | None, repetition: int = 0, *, name: str | None = None
    ) -> Observation:
        """What stands in the table. Nothing is asked, so repetitions are judged anew and answered once."""
        text = case.extra[COLUMNS[arm]]
        answer, thinking = strip_thinking(text)
        empty = {"status": Status.SUBJECT_ERROR, "reason": "empty"} if not answer.strip() else {}
        return Observation(
            id=name or self.observation_id(case, arm, scaffold, repetition),
            case_id=case.id,
            arm=arm,
            scaffold=scaffold.name if scaffold else None,
            scaffold_digest=scaffold.digest if scaffold else None,
            repetition=0,
            response=Response.model_validate({"text": text, "model": "given", "cost_usd": 0.0, "attempts": 0, **empty}),
            leaks=find_leaks(answer, prompt=case.prompt),
            notes=("thinking_hidden_from_judge",) if thinking else (),
        )


@dataclass(frozen=True)
class BlindEvaluator:
    """A model as judge. It is given what is shown, and nothing that names an arm.

    With a `scaffold` it is a companion: a judge that is itself given guidance, beside the independent one.
    """

    model: Model
    system: str
    sampling: Sampling
    limits: Limits
    rubric: Rubric = FIVE

    scaffold: Scaffold | None = None

    @property
    def name(self) -> str:
        return f"{self.model.name}+{self.scaffold.name}" if self.scaffold else self.model.name

    async def judge(self, shown: Shown) -> tuple[Response, VerdictReading]:
        """The judge's reply as seen, and what it comes to. A call that failed gives a reading with its reason.

        A companion judge reads its own scaffold first; CallError where that cannot be had.
        """
        message = judge_message(shown)
        if self.scaffold is not None:
            scaffold = self.scaffold
            text, _ = await retries.call(lambda: scaffold.retrieve(shown.prompt), retries=self.limits.retries)
            message = inject(text, message) if text else message
        request = Request(
            system=self.system,
            user=message,
            sampling=self.sampling,
            reply_schema=verdict_schema(self.rubric),
            timeout_s=self.limits.timeout_s,
        )
        response = await ask(self.model, request, retries_allowed=self.limits.retries)
        return response, read_judgment(response, shown, self.rubric)


def judge_message(shown: Shown) -> str:
    """The judge's user message: the request and both responses as data between marks."""
    parts = (
        shown.quoted("REQUEST", shown.prompt),
        shown.quoted("RESPONSE A", shown.a),
        shown.quoted("RESPONSE B", shown.b),
        "Compare RESPONSE A and RESPONSE B. Reply with the JSON object only.",
    )
    return "\n\n".join(parts)


def read_judgment(response: Response, shown: Shown, rubric: Rubric = FIVE) -> VerdictReading:
    """A reply that did not complete is no verdict, whatever words came with it."""
    if response.status is Status.BLOCKED:
        return VerdictReading.error("judge_blocked", response.message)
    if response.status is not Status.COMPLETED:
        return VerdictReading.error(response.reason or "failed", response.message)
    return parse_verdict(
        response.text,
        candidate_a=shown.a,
        candidate_b=shown.b,
        finish_reason=response.finish_reason,
        refusal=response.refusal,
        rubric=rubric,
    )
