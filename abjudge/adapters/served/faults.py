"""Turning what went wrong on the way to a model into the error tree: would trying again help, and what to do next."""

import re
from dataclasses import dataclass, field
from typing import Any

from abjudge.adapters.served.readings import mapping
from abjudge.adapters.served.waits import Headers, wait_s
from abjudge.domain.errors import CallError, Permanent, Transient
from abjudge.domain.redaction import redact
from abjudge.domain.status import Status
from abjudge.domain.strict_json import read_json


@dataclass(frozen=True, slots=True)
class Origin:
    """Who was asked, and where: what an error message must name. `secrets` are what it must not."""

    name: str
    wire: str | None
    model: str
    base: str
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def say(self, text: str) -> str:
        return redact(text, self.secrets)

    def quote(self, text: str, limit: int = 160) -> str:
        """The first of `text` on one line, without secrets: redacted first, or a cut could leave half a key."""
        words = " ".join(self.say(text[:4000]).split())
        return words if len(words) <= limit else words[:limit] + "…"

    def sentence(self, text: str, limit: int = 160) -> str:
        words = self.quote(text, limit)
        return words if words.endswith((".", "!", "?", "…")) else f"{words}."


@dataclass(frozen=True, slots=True)
class Complaint:
    """An error body, read: the sentence, its codes in lower case, and everything it says in lower case."""

    message: str
    codes: frozenset[str]
    hay: str
    body: Any
    is_json: bool

    def says(self, *words: str) -> bool:
        return any(word in self.hay for word in words)


def complaint(text: str) -> Complaint:
    """Reads the error shapes of OpenAI, Azure, Gemini, Anthropic, Ollama, Mistral, llama.cpp and FastAPI; or none."""
    try:
        body = read_json(text)
    except ValueError:
        return Complaint(text, frozenset(), text.lower(), None, False)
    whole = body[0] if isinstance(body, list) and body else body
    error = mapping(whole).get("error", whole)
    fields = mapping(error)
    said = fields.get("message") or fields.get("detail") or fields.get("error")
    message = error if isinstance(error, str) else said if isinstance(said, str) else text
    inner = mapping(fields.get("innererror"))
    listed = fields.get("details")
    details = [mapping(d) for d in listed] if isinstance(listed, list) else []
    codes = (
        [fields.get(k) for k in ("code", "type", "status")] + [inner.get("code")] + [d.get("reason") for d in details]
    )
    return Complaint(message, frozenset(str(c).lower() for c in codes if c), text.lower(), body, True)


def hidden_error(body: dict[str, Any]) -> int | None:
    """The HTTP status an answer of 200 should have had, where it holds an error instead of a reply; else None."""
    error = body.get("error")
    choices = body.get("choices")
    first = mapping(choices[0]) if isinstance(choices, list) and choices else {}
    if first.get("finish_reason") == "error" or first.get("error"):
        error = first.get("error") or {"message": "the provider reported an error"}
    elif not error or any(body.get(k) for k in ("choices", "candidates", "message", "response")):
        return None
    code = mapping(error).get("code")
    code = int(code) if isinstance(code, str) and code.isdecimal() and code.isascii() and len(code) < 10 else code
    kinds = {"overloaded_error": 529, "rate_limit_error": 429, "authentication_error": 401, "not_found_error": 404}
    kinds |= {"invalid_request_error": 400, "permission_error": 403}
    if isinstance(code, int) and 400 <= code < 600:
        return code
    return kinds.get(str(mapping(error).get("type")), 500)


_FILTER_CODES = frozenset(
    (
        "content_filter",
        "content_policy_violation",
        "responsibleaipolicyviolation",
        "invalid_prompt",
        "content_filtered",
        "jailbreak",
        "moderation_blocked",
        "sensitive",
        "data_inspection_failed",
    )
)
_FILTER_WORDS = (
    "content management policy",
    "usage policy",
    "usage policies",
    "content policy",
    "safety system",
    "responsibleaipolicyviolation",
    "flagged as potentially",
    "requires moderation",
    '"jailbreak": {"filtered": true',
)
_QUOTA_CODES = frozenset(
    ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance")
)
_QUOTA_WORDS = (
    "credit balance is too low",
    "insufficient credits",
    "insufficient balance",
    "billing hard limit",
    "billing is not enabled",
    "enable billing",
    "requires billing",
    "out of credits",
    "payment required",
)
_CONTEXT_CODES = frozenset(("context_length_exceeded", "exceed_context_size_error", "model_context_window_exceeded"))
_CONTEXT_WORDS = (
    "maximum context length",
    "context window",
    "prompt is too long",
    "exceeds the available context size",
    "exceeds the maximum number of tokens",
    "input length exceeds",
    "input is too long",
    "context size has been",
    "context length",
    "requested tokens exceed context",
)
_KEY_WORDS = (
    "api key not valid",
    "api key expired",
    "api_key_invalid",
    "invalid api key",
    "incorrect api key",
    "invalid x-api-key",
    "no auth credentials",
)
_MEMORY_WORDS = ("requires more system memory", "out of memory", "unable to allocate", "cudamalloc failed")
_NO_MODEL = re.compile(
    r"model[^\n]{0,160}(not found|does not exist|not exist|not supported|unknown|not available|no access)"
)

_VERSIONED = re.compile(r"/v\d+[a-z]*\d*/?$")

_STATUS_REASONS = {408: "timeout", 409: "conflict", 425: "too_early", 429: "rate_limited", 500: "server_error"}
_STATUS_REASONS |= {502: "bad_gateway", 503: "unavailable", 504: "gateway_timeout", 529: "overloaded"}


def http_fault(origin: Origin, status: int, headers: Headers, text: str) -> CallError:
    """The error for an answer that is none, by what it says before what its status says.

    The status alone lies: a spent quota comes as 429 like a rate limit that a second cures, a model that looped comes
    as 500, a filter as 400, a wrong key as 400 too.
    """
    said = complaint(text)
    return (
        _of_the_subject(origin, said)
        or _of_the_request(origin, status, said)
        or _of_the_account(origin, status, headers, said)
        or _of_the_address(origin, status, headers, said)
        or _of_the_moment(origin, status, headers, said)
        or Permanent("bad_request", f"{_refused(origin, status)}: {origin.sentence(said.message, 300)}")
    )


def _refused(origin: Origin, status: int) -> str:
    return f"{origin.name} at {origin.say(origin.base)} answered HTTP {status}"


def _of_the_subject(origin: Origin, said: Complaint) -> CallError | None:
    if said.says("repeat limit", "repetition detected"):
        # The model looped, the harness did not fail; tried again it would only loop again.
        message = f"{origin.name} repeated itself until the server stopped it: {origin.sentence(said.message)}"
        return Permanent("repeat_limit", message, status=Status.SUBJECT_ERROR, loop="RUNAWAY_LOOP")
    return None


def _of_the_request(origin: Origin, status: int, said: Complaint) -> CallError | None:
    """Filtered, too long, or too large for the machine."""
    quoted = origin.sentence(said.message)
    if 400 <= status < 500 and status != 429 and (said.codes & _FILTER_CODES or said.says(*_FILTER_WORDS)):
        message = f"The provider's content filter refused the prompt for {origin.name}: {quoted}"
        return Permanent("content_filter", message, status=Status.BLOCKED)
    if said.codes & _CONTEXT_CODES or (status != 429 and said.says(*_CONTEXT_WORDS)):
        hint = "Shorten the prompt or the scaffold, or use a model with a larger context."
        return Permanent("context_overflow", f"The prompt does not fit into {origin.name}: {quoted}", hint=hint)
    if said.says(*_MEMORY_WORDS):
        hint = "Free memory on that machine, or use a smaller model."
        return Permanent("out_of_memory", f"The server has not enough memory for {origin.name}: {quoted}", hint=hint)
    if status == 413 or (status == 429 and said.says("request too large")):
        return Permanent("request_too_large", f"{_refused(origin, status)}, the request is too large: {quoted}")
    return None


def _of_the_account(origin: Origin, status: int, headers: Headers, said: Complaint) -> CallError | None:
    """Quota and key."""
    quoted = origin.sentence(said.message)
    if status == 402 or said.codes & _QUOTA_CODES or said.says(*_QUOTA_WORDS) or (status == 429 and _spent(said)):
        hint = "No retry cures this: look at the plan and the billing of that account."
        return Permanent("quota", f"The quota for {origin.name} is spent: {quoted}", hint=hint)
    if status == 407:
        return Permanent("proxy_refused", "The HTTP proxy asks for a password (HTTP 407).", hint="Check HTTPS_PROXY.")
    no_model = said.codes & {"model_not_found"}
    if (
        status == 401
        or (status in (400, 403) and said.says(*_KEY_WORDS))
        or (status == 403 and said.is_json and not no_model)
    ):
        hint = "Check the key and what it may be used for."
        return Permanent("key_refused", f"{_refused(origin, status)}, the key was refused: {quoted}", hint=hint)
    if status == 403 and not no_model:
        return Permanent(
            "forbidden", f"{_refused(origin, status)}: {quoted}", hint="A proxy or firewall may be in the way."
        )
    return None


def _spent(said: Complaint) -> bool:
    """Whether a 429 is a spent quota. Gemini says "exceeded your current quota" for a busy minute as well: its quotaId
    tells the two apart, and a limit of 0 is no limit that a wait could lift.
    """
    ids = re.findall(r'"quotaid":\s*"([^"]*)"', said.hay)
    if ids:
        return any("perday" in i for i in ids) or bool(re.search(r'"quotavalue":\s*"?0"?[,}\s]|limit: 0\b', said.hay))
    if "resource_exhausted" in said.codes or said.says("rate limit reached"):
        return said.says("per day", "limit: 0,") and not said.says("please try again in")
    return said.says("exceeded your current quota", "check your plan and billing", "monthly limit", "spending limit")


def _of_the_address(origin: Origin, status: int, headers: Headers, said: Complaint) -> CallError | None:
    """No such model, no such path, or somewhere else."""
    quoted = origin.sentence(said.message)
    if said.codes & {"model_not_found"} or (status in (400, 404) and said.is_json and _NO_MODEL.search(said.hay)):
        return model_not_found(origin, quoted)
    by_path = origin.wire == "anthropic" or (origin.wire == "gemini" and _VERSIONED.search(origin.base))
    if status == 404 and by_path and said.is_json:
        return model_not_found(origin, quoted)
    if status in (404, 405):
        return Permanent("not_found", f"{_refused(origin, status)}: {quoted}", hint=_path_hint(origin))
    if 300 <= status < 400:
        place = origin.quote(headers.get("Location", "somewhere else"))
        hint = "Nothing was sent there. If that is right, point --api-base at it."
        return Permanent("redirected", f"{_refused(origin, status)} and points to {place}.", hint=hint)
    return None


def model_not_found(origin: Origin, quoted: str = "") -> Permanent:
    """The model is not there; for Ollama with the command that fetches it."""
    local = origin.wire in ("ollama", "ollama_chat")
    hint = f"Fetch it with `ollama pull {origin.model}`." if local else "Check the model name for a typing error."
    what = f"The model '{origin.model}' ({origin.name}) was not found at {origin.say(origin.base)}"
    return Permanent("model_not_found", f"{what}: {quoted}" if quoted else f"{what}.", hint=hint)


def _path_hint(origin: Origin) -> str:
    base = origin.base.rstrip("/")
    if origin.wire == "openai" and not _VERSIONED.search(base):
        return f"The address probably lacks its version: try --api-base {origin.say(base)}/v1."
    if origin.wire == "gemini" and not _VERSIONED.search(base):
        return f"The address probably lacks its version: try --api-base {origin.say(base)}/v1beta."
    if origin.wire in ("ollama", "ollama_chat") and base.endswith("/v1"):
        return f"Ollama's own protocol has no /v1: try --api-base {origin.say(base.removesuffix('/v1'))}."
    return "Check the address and the provider prefix of the model name."


def _of_the_moment(origin: Origin, status: int, headers: Headers, said: Complaint) -> CallError | None:
    if status not in _STATUS_REASONS and status < 500:
        return None
    reason = _STATUS_REASONS.get(status, "server_error")
    wait = wait_s(headers, said.body, said.message)
    return Transient(reason, f"{_refused(origin, status)}: {origin.sentence(said.message)}", retry_after_s=wait)


def not_json(origin: Origin, text: str) -> CallError:
    """The error for a 200 whose body is no JSON object.

    A body that begins like JSON was cut on its way, which a retry may cure; a page will be a page again.
    """
    start = text.lstrip()[:1]
    if not start:
        return Transient("empty_body", f"{origin.name} at {origin.say(origin.base)} answered 200 with an empty body.")
    message = f"{origin.name} at {origin.say(origin.base)} answered 200 with a body that is not JSON"
    quoted = f'it begins with "{origin.quote(text, 80)}".'
    if start in "{[":
        return Transient("not_json", f"{message}, but the beginning of it: {quoted}")
    hint = "A proxy, a log-in page or another program answers at this address."
    return Permanent("not_json", f"{message}: {quoted}", hint=hint)
