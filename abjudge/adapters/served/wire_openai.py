"""Reading a chat completion of the OpenAI shape, which most servers speak, each with its own small lies."""

from typing import Any

from abjudge.adapters.served.readings import Reading, count, finish_word, mapping, not_a_reply, string
from abjudge.domain.errors import Transient

JSON_TOOL = "json_tool_call"
"""The tool in which litellm hides a JSON Schema where a provider has no structured output: its input is the answer."""


def read(body: dict[str, Any]) -> Reading:
    """The first choice. Raises `Permanent` where the body is no completion; refusal and filter are readings."""
    if "choices" not in body:
        raise not_a_reply(body, "chat completion")
    usage = mapping(body.get("usage"))
    parts: dict[str, Any] = {
        "tokens_in": count(usage.get("prompt_tokens")),
        "tokens_out": count(usage.get("completion_tokens")),
        "tokens_cached": count(mapping(usage.get("prompt_tokens_details")).get("cached_tokens")),
        "tokens_reasoning": count(mapping(usage.get("completion_tokens_details")).get("reasoning_tokens")),
        "model": string(body.get("model")),
        "request_id": string(body.get("id")),
    }
    choices = body["choices"]
    choice = mapping(choices[0]) if isinstance(choices, list) and choices else None
    if choice is None:
        return Reading(faulty="no_choices", **parts)
    native = string(choice.get("native_finish_reason")) or string(choice.get("finish_reason"))
    finish, notes = finish_word(string(choice.get("finish_reason")))
    message = choice.get("message")
    text, thought, refusal = _said(message if isinstance(message, dict) else {"content": choice.get("text")})
    parts |= {"text": text, "reasoning": thought, "finish": finish, "native": native, "refusal": refusal}
    if finish == "content_filter":
        return Reading(blocked="content_filter", **parts)
    if native == "insufficient_system_resource":
        raise Transient("unavailable", "the provider ran out of resources in the middle of the answer.")
    if native in ("repetition", "repeat"):
        return Reading(faulty="repeat_limit", loop="RUNAWAY_LOOP", **parts)
    if not isinstance(message, dict) and not text:
        return Reading(faulty="no_message", **parts)
    called = message.get("tool_calls") if isinstance(message, dict) else None
    if called and not text and not refusal:
        answer = _answer_in_tool(called)
        if answer is None:
            return Reading(faulty="tool_calls", **parts)
        parts |= {"text": answer, "finish": "stop" if native == "tool_calls" else finish}
        notes = ()
    return Reading(notes=notes, **parts)


def _said(message: dict[str, Any]) -> tuple[str, str | None, str | None]:
    """Answer, thinking and refusal. Content may be a string, null, or a list of parts of which only some are text."""
    thought = string(message.get("reasoning_content")) or string(message.get("reasoning"))
    refusal = string(message.get("refusal"))
    content = message.get("content")
    if not isinstance(content, list):
        return content if isinstance(content, str) else "", thought, refusal
    texts, thoughts = [], []
    for part in content:
        part = {"type": "text", "text": part} if isinstance(part, str) else mapping(part)
        kind = part.get("type")
        if kind in ("text", "output_text"):
            texts.append(string(part.get("text")) or "")
        elif kind in ("thinking", "reasoning"):
            thoughts.append(_thinking(part.get("thinking") or part.get("text")))
        elif kind == "refusal":
            refusal = refusal or string(part.get("refusal"))
    return "".join(texts), "".join(thoughts) or thought, refusal


def _thinking(value: object) -> str:
    if isinstance(value, list):
        return "".join(string(mapping(part).get("text")) or "" for part in value)
    return value if isinstance(value, str) else ""


def _answer_in_tool(calls: object) -> str | None:
    first = mapping(calls[0]) if isinstance(calls, list) and calls else {}
    function = mapping(first.get("function"))
    return string(function.get("arguments")) if function.get("name") == JSON_TOOL else None


def sent(body: dict[str, Any]) -> dict[str, Any]:
    """What of the sampling a request body really holds."""
    cap = body.get("max_tokens", body.get("max_completion_tokens"))
    seed = body.get("seed", body.get("random_seed"))
    found = {"temperature": body.get("temperature"), "top_p": body.get("top_p"), "max_tokens": cap, "seed": seed}
    return found | {"stop": body.get("stop")}


class Fold:
    """Joins the events of a stream into the body that the same answer would have had unstreamed."""

    def __init__(self) -> None:
        self.done = False
        self._head: dict[str, Any] = {}
        self._usage: Any = None
        self._texts: dict[str, list[str]] = {"content": [], "reasoning_content": [], "refusal": []}
        self._tool: dict[str, Any] = {}
        self._choice: dict[str, Any] = {}
        self._seen = False

    def add(self, event: dict[str, Any]) -> str:
        """Takes one event; returns the piece of answer in it, for whoever watches."""
        self._head = {k: event[k] for k in ("id", "model") if event.get(k)} | self._head
        self._usage = event.get("usage") or self._usage
        choices = event.get("choices")
        choice = mapping(choices[0]) if isinstance(choices, list) and choices else {}
        self._seen = self._seen or bool(choice)
        for key in ("finish_reason", "native_finish_reason"):
            if choice.get(key):
                self._choice[key] = choice[key]
                # Not every server sends [DONE]: the finish reason is the end of the text, usage may follow.
                self.done = True
        delta = mapping(choice.get("delta")) or mapping(choice.get("message"))
        text, thought, refusal = _said(delta)
        for key, piece in (("content", text), ("reasoning_content", thought), ("refusal", refusal)):
            if piece:
                self._texts[key].append(piece)
        self._add_tool(delta.get("tool_calls"))
        return text

    def _add_tool(self, calls: object) -> None:
        for call in calls if isinstance(calls, list) else ():
            function = mapping(mapping(call).get("function"))
            self._tool.setdefault("name", "")
            self._tool["name"] += string(function.get("name")) or ""
            self._tool["arguments"] = self._tool.get("arguments", "") + (string(function.get("arguments")) or "")

    def end(self, marked: bool) -> None:
        """The stream is over; `marked` where its own end mark came (`[DONE]`)."""
        self.done = self.done or marked

    def body(self) -> dict[str, Any]:
        message: dict[str, Any] = {key: "".join(pieces) or None for key, pieces in self._texts.items()}
        if self._tool:
            message["tool_calls"] = [{"function": self._tool}]
        choice = {"finish_reason": None, **self._choice, "message": message}
        return {**self._head, "choices": [choice] if self._seen else [], "usage": self._usage}
