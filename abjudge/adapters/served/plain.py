"""The plain way to a model, `litellm.acompletion`: for providers that sign their requests or speak a wire of their own.

litellm itself is handed in, so that this module can be read and imported without it. What comes back has been through
litellm's hands and knows less: it invents token counts that a server leaves out, and rewrites finish words.
"""

import json
import re
from typing import Any

from abjudge.adapters.served import wire_openai
from abjudge.adapters.served.exchange import Watch, aborted
from abjudge.adapters.served.faults import Origin, http_fault
from abjudge.adapters.served.plans import unsupported
from abjudge.adapters.served.readings import Reading, mapping
from abjudge.domain.errors import CallError, Permanent, Transient


async def ask_plainly(
    litellm: Any, origin: Origin, arguments: dict[str, Any], timeout_s: float, watch: Watch | None = None
) -> Reading:
    """One `acompletion`, without any of litellm's own retries. Raises `CallError`."""
    try:
        # litellm's defaults would send a failing OpenAI request three times; both are needed to switch that off.
        answer = await litellm.acompletion(
            **arguments, timeout=timeout_s, num_retries=0, max_retries=0, stream=watch is not None
        )
        if watch is not None:
            return await _follow(answer, watch, origin)
    except IndexError:
        # litellm reads choices[0] of an answer that has none.
        return Reading(faulty="no_choices")
    except CallError:
        raise
    except Exception as error:
        raise _fault(litellm, origin, error, timeout_s) from error
    return wire_openai.read(_body(answer))


async def _follow(stream: Any, watch: Watch, origin: Origin) -> Reading:
    fold = wire_openai.Fold()
    async for chunk in stream:
        piece = fold.add(chunk.model_dump())
        if piece and watch(piece):
            await stream.aclose()
            return aborted(wire_openai.read(fold.body()))
    if not fold.done:
        raise Transient("connection_lost", f"The stream of {origin.name} ended without its end mark.")
    return wire_openai.read(fold.body())


def _body(answer: Any) -> dict[str, Any]:
    """litellm's answer in the shape of the wire; what it moved aside (native finish word, refusal) is put back."""
    body: dict[str, Any] = answer.model_dump()
    for choice in body.get("choices") or ():
        aside = mapping(choice.get("provider_specific_fields"))
        choice["native_finish_reason"] = aside.get("native_finish_reason")
        message = mapping(choice.get("message"))
        message.setdefault("refusal", mapping(message.get("provider_specific_fields")).get("refusal"))
    return body


_REFUSED = re.compile(
    r"connection refused|cannot connect to host|connect call failed|all connection attempts failed|name or service",
    re.IGNORECASE,
)


# "litellm.NotFoundError: OpenAIException - " says nothing that the status does not say.
_PREFIX = re.compile(r"^(?:litellm\.)?(?:\w+: )*\w*Exception - ")


def _fault(litellm: Any, origin: Origin, error: Exception, timeout_s: float) -> CallError:
    """litellm's exceptions have no common root and lie about their kind: they are read by status, cause and words."""
    text = _PREFIX.sub("", str(getattr(error, "message", error)))
    causes = _chain(error)
    if isinstance(error, litellm.UnsupportedParamsError):
        return unsupported(_parameter(text), origin.name, origin.quote(text.partition("To drop these")[0]))
    if isinstance(error, litellm.Timeout | TimeoutError):
        return Transient("timeout", f"No whole answer from {origin.name} within {timeout_s:g} s.")
    if any(isinstance(cause, json.JSONDecodeError) for cause in causes):
        return Permanent("not_json", f"{origin.name} answered with a body that is not JSON: {origin.quote(text)}")
    if _REFUSED.search(" ".join(map(str, causes))):
        return Transient("unreachable", f"{origin.name} cannot be reached: {origin.quote(text)}")
    status = getattr(error, "status_code", None)
    given = _given_body(error, text)
    if given is None and (isinstance(error, litellm.APIConnectionError) or text.startswith("Connection error")):
        return Transient("connection_lost", f"The connection to {origin.name} was lost: {origin.quote(text)}")
    if not isinstance(status, int):
        return Permanent("bad_response", f"{origin.name}: litellm could not read the answer: {origin.quote(text)}")
    headers = getattr(error, "litellm_response_headers", None)
    headers = headers or getattr(getattr(error, "response", None), "headers", None) or {}
    return http_fault(origin, status, dict(headers), given or text)


def _chain(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and at not in chain:
        chain.append(at)
        at = at.__cause__ or at.__context__
    return chain


def _given_body(error: Exception, text: str) -> str | None:
    """The provider's own error body, where litellm kept it, else the JSON in its sentence."""
    answered = getattr(getattr(error, "response", None), "text", None)
    if isinstance(answered, str) and answered.strip():
        return answered
    start = text.find("{")
    try:
        return json.dumps(json.JSONDecoder().raw_decode(text[start:])[0]) if start >= 0 else None
    except ValueError:
        return None


def _parameter(text: str) -> str:
    named = re.search(r"parameters?: \[?'?(\w+)", text) or re.search(r"\b(temperature|top_p|stop|max_tokens)\b", text)
    return named[1] if named else "sampling"
