"""Reading Gemini's `generateContent`: a filter, a spent budget and an answer look almost the same here."""

from typing import Any

from abjudge.adapters.served.readings import Reading, count, mapping, not_a_reply, string

_FILTERED = frozenset(
    (
        "SAFETY",
        "RECITATION",
        "PROHIBITED_CONTENT",
        "BLOCKLIST",
        "SPII",
        "LANGUAGE",
        "MODEL_ARMOR",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
    )
)
_FINISH = {"STOP": "stop", "MAX_TOKENS": "length", **dict.fromkeys(_FILTERED, "content_filter")}
_UNSAID = ("", "BLOCK_REASON_UNSPECIFIED", "FINISH_REASON_UNSPECIFIED")


def read(body: dict[str, Any]) -> Reading:
    """The first candidate. Raises `Permanent` where the body is no answer of Gemini's."""
    if not {"candidates", "promptFeedback", "usageMetadata"} & set(body):
        raise not_a_reply(body, "Gemini")
    usage = mapping(body.get("usageMetadata"))
    thoughts = count(usage.get("thoughtsTokenCount"))
    parts: dict[str, Any] = {
        "tokens_in": count(usage.get("promptTokenCount")),
        "tokens_out": _tokens_out(usage, thoughts),
        "tokens_cached": count(usage.get("cachedContentTokenCount")),
        "tokens_reasoning": thoughts,
        "model": string(body.get("modelVersion")),
        "request_id": string(body.get("responseId")),
    }
    # blockReason "" means: not blocked.
    block = mapping(body.get("promptFeedback")).get("blockReason")
    if isinstance(block, str) and block not in _UNSAID:
        return Reading(blocked=block, finish="content_filter", native=block, **parts)
    candidates = body.get("candidates")
    if not isinstance(candidates, list) or not candidates:
        return Reading(faulty="no_candidates", **parts)
    return _candidate(mapping(candidates[0]), parts)


def _candidate(candidate: dict[str, Any], parts: dict[str, Any]) -> Reading:
    native = string(candidate.get("finishReason"))
    native = None if native in _UNSAID else native
    text, thought, called = _said(mapping(candidate.get("content")).get("parts"))
    parts |= {"text": text, "reasoning": thought, "native": native}
    if native in _FILTERED:
        return Reading(blocked=native, finish="content_filter", **parts)
    if native in _FINISH or (called and not text):
        finish = _FINISH.get(native or "")
        return Reading(faulty="tool_calls" if called and not text else None, finish=finish, **parts)
    if native == "OTHER" and not text:
        # "OTHER" without a word of answer is how terms-of-service filters speak; the model was not heard.
        return Reading(blocked="OTHER", finish="content_filter", **parts)
    note = f"finish_reason_unknown:{native}" if native else "finish_reason_missing"
    return Reading(faulty=native if native and not text else None, notes=(note,), **parts)


def _said(listed: object) -> tuple[str, str | None, bool]:
    """Answer, thoughts, and whether a tool was called. A part marked `thought` is never glued to the answer."""
    texts: list[str] = []
    thoughts: list[str] = []
    called = False
    for part in listed if isinstance(listed, list) else ():
        part = mapping(part)
        called = called or "functionCall" in part
        piece = string(part.get("text")) or ""
        (thoughts if part.get("thought") is True else texts).append(piece)
    return "".join(texts), "".join(thoughts) or None, called


def _tokens_out(usage: dict[str, Any], thoughts: int | None) -> int | None:
    """What is billed as output: thoughts are, and candidatesTokenCount leaves them out, but not on every server."""
    spoken, total, prompt = (
        count(usage.get(k)) for k in ("candidatesTokenCount", "totalTokenCount", "promptTokenCount")
    )
    if thoughts is None:
        return spoken
    if spoken is None:
        return thoughts if total is not None and prompt is not None and total == prompt + thoughts else None
    inclusive = total is not None and prompt is not None and total == prompt + spoken
    return spoken if inclusive else spoken + thoughts


def sent(body: dict[str, Any]) -> dict[str, Any]:
    """What of the sampling a request body really holds; litellm writes these names in snake case."""
    config = mapping(body.get("generationConfig"))

    def either(snake: str, camel: str) -> Any:
        return config.get(snake, config.get(camel))

    return {
        "temperature": config.get("temperature"),
        "top_p": either("top_p", "topP"),
        "max_tokens": either("max_output_tokens", "maxOutputTokens"),
        "seed": config.get("seed"),
        "stop": either("stop_sequences", "stopSequences"),
    }


class Fold:
    """Joins the events of a stream into the body that the same answer would have had unstreamed."""

    def __init__(self) -> None:
        self.done = False
        self._body: dict[str, Any] = {}
        self._parts: list[Any] = []
        self._finish: str | None = None

    def add(self, event: dict[str, Any]) -> str:
        """Takes one event; returns the piece of answer in it, for whoever watches."""
        self._body |= event
        candidates = event.get("candidates")
        candidate = mapping(candidates[0]) if isinstance(candidates, list) and candidates else {}
        parts = mapping(candidate.get("content")).get("parts")
        self._parts.extend(parts if isinstance(parts, list) else ())
        self._finish = string(candidate.get("finishReason")) or self._finish
        block = mapping(event.get("promptFeedback")).get("blockReason")
        self.done = self._finish is not None or bool(block)
        return _said(parts)[0]

    def end(self, marked: bool) -> None:
        """Gemini has no end mark of its own but the finish reason."""

    def body(self) -> dict[str, Any]:
        if "candidates" not in self._body:
            return self._body
        candidate = {"content": {"parts": self._parts}, "finishReason": self._finish}
        return {**self._body, "candidates": [candidate]}
