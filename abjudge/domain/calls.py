"""One call to a model: what is asked, and what was seen to come back."""

from typing import Any

from pydantic import Field

from abjudge.domain.status import Status
from abjudge.domain.values import Value


class Sampling(Value):
    """How the model draws its tokens. None means: not sent, the provider's own default holds."""

    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1)
    seed: int | None = Field(default=None, ge=0)
    stop: tuple[str, ...] = ()


class Limits(Value):
    """How long one call may take (seconds) and how often a fault of transport is tried again (0: one shot)."""

    timeout_s: float = Field(default=120.0, gt=0)
    retries: int = Field(default=0, ge=0)


class Request(Value):
    """What one call asks. `reply_schema`, a JSON Schema, constrains the reply where the provider can do so."""

    system: str
    user: str
    sampling: Sampling = Sampling()
    reply_schema: dict[str, Any] | None = None
    timeout_s: float = 120.0


class Response(Value):
    """What was seen of one call, before anyone judges it. Unknown stays None; nothing is invented.

    `text` is the answer as it came, thinking apart (`reasoning`); `finish_reason` is ours (stop, length,
    content_filter, aborted), `native_finish_reason` the provider's own word. Times are seconds, cost is US dollars.
    `sampling` is what was really sent. `status` and `reason` say how the call ended; `text` of a call that did not
    complete is kept as evidence and is never judged.
    """

    text: str = ""
    status: Status = Status.COMPLETED
    reason: str | None = None
    message: str | None = None
    finish_reason: str | None = None
    native_finish_reason: str | None = None
    truncated: bool = False
    refused: bool = False
    blocked: bool = False
    refusal: str | None = None
    reasoning: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    latency_s: float | None = None
    cost_usd: float | None = None
    model: str = ""
    resolved_model: str | None = None
    request_id: str | None = None
    sampling: Sampling = Sampling()
    structured: str | None = None
    attempts: int = 1
    stop_token_leak: tuple[str, ...] = ()
    loop: str | None = None
    notes: tuple[str, ...] = ()


class Price(Value):
    """US dollars for one token of prompt and of answer; zero for a model that nobody bills."""

    prompt: float
    answer: float

    def worst(self, request: Request) -> float:
        """The most that a call can cost: a token for every two bytes of prompt, and the whole cap of the answer."""
        sent = len(request.system.encode("utf-8", "replace")) + len(request.user.encode("utf-8", "replace"))
        return sent / 2 * self.prompt + (request.sampling.max_tokens or 4096) * self.answer
