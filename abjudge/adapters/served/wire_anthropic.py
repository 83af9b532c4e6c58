"""Reading a message of Anthropic's shape: blocks of text, thinking and tool use."""

import json
from typing import Any

from abjudge.adapters.served.readings import Reading, count, finish_word, mapping, not_a_reply, string
from abjudge.adapters.served.wire_openai import JSON_TOOL
from abjudge.domain.strict_json import read_json


def read(body: dict[str, Any]) -> Reading:
    """All text blocks, joined. Raises `Permanent` where the body is no message."""
    blocks = body.get("content")
    if not isinstance(blocks, list):
        raise not_a_reply(body, "Anthropic message")
    usage = mapping(body.get("usage"))
    native = string(body.get("stop_reason"))
    text, thought, answer, called = _said(blocks)
    cached = count(usage.get("cache_read_input_tokens"))
    parts: dict[str, Any] = {
        "text": text,
        "reasoning": thought,
        "native": native,
        "tokens_in": _tokens_in(usage),
        "tokens_out": count(usage.get("output_tokens")),
        "tokens_cached": cached,
        "model": string(body.get("model")),
        "request_id": string(body.get("id")),
    }
    if native == "refusal":
        # A classifier of the provider's stepped in, not the model: what came before it is no answer.
        return Reading(blocked="refusal", finish="content_filter", **parts)
    if answer is not None and not text.strip():
        return Reading(finish="stop" if native == "tool_use" else finish_word(native)[0], **{**parts, "text": answer})
    if called and not text.strip():
        return Reading(faulty="tool_calls", **parts)
    finish, notes = finish_word(native)
    return Reading(finish=finish, notes=notes, **parts)


def _said(blocks: list[Any]) -> tuple[str, str | None, str | None, bool]:
    """Text, thinking, the answer in litellm's JSON tool, and whether another tool was called."""
    texts, thoughts, answer, called = [], [], None, False
    for block in map(mapping, blocks):
        kind = block.get("type")
        if kind == "text":
            texts.append(string(block.get("text")) or "")
        elif kind == "thinking":
            thoughts.append(string(block.get("thinking")) or "")
        elif kind == "tool_use" and block.get("name") == JSON_TOOL:
            answer = json.dumps(block.get("input"), ensure_ascii=False)
        elif kind == "tool_use":
            called = True
    return "".join(texts), "".join(thoughts) or None, answer, called


def _tokens_in(usage: dict[str, Any]) -> int | None:
    """The whole prompt: Anthropic counts what was read from or written to its cache apart from input_tokens."""
    fresh = count(usage.get("input_tokens"))
    if fresh is None:
        return None
    return fresh + sum(count(usage.get(f"cache_{k}_input_tokens")) or 0 for k in ("read", "creation"))


def sent(body: dict[str, Any]) -> dict[str, Any]:
    """What of the sampling a request body really holds."""
    found = {key: body.get(key) for key in ("temperature", "top_p", "max_tokens")}
    return found | {"seed": None, "stop": body.get("stop_sequences")}


class Fold:
    """Joins the events of a stream into the body that the same answer would have had unstreamed."""

    def __init__(self) -> None:
        self.done = False
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}

    def add(self, event: dict[str, Any]) -> str:
        """Takes one event; returns the piece of answer in it, for whoever watches."""
        kind = event.get("type")
        if kind == "message_start":
            self._message = dict(mapping(event.get("message")))
        elif kind == "content_block_start":
            self._blocks[event.get("index", 0)] = dict(mapping(event.get("content_block")))
        elif kind == "content_block_delta":
            return self._grow(self._blocks.setdefault(event.get("index", 0), {}), mapping(event.get("delta")))
        elif kind == "message_delta":
            self._message |= mapping(event.get("delta"))
            self._message["usage"] = {**mapping(self._message.get("usage")), **mapping(event.get("usage"))}
        elif kind == "message_stop":
            self.done = True
        elif kind == "message":
            # A server that does not stream answers with the whole message at once.
            self._message, self.done = event, True
            self._blocks = dict(enumerate(map(mapping, event.get("content") or ())))
            return read(event).text
        return ""

    @staticmethod
    def _grow(block: dict[str, Any], delta: dict[str, Any]) -> str:
        for kind, key in (("text", "text"), ("thinking", "thinking"), ("partial_json", "partial_json")):
            piece = string(delta.get(key))
            if piece:
                block[kind] = (block.get(kind) or "") + piece
                block.setdefault("type", kind)
        return string(delta.get("text")) or ""

    def end(self, marked: bool) -> None:
        """The end mark of this wire is the event `message_stop`."""

    def body(self) -> dict[str, Any]:
        blocks = [self._whole(block) for _, block in sorted(self._blocks.items())]
        return {**self._message, "content": blocks}

    @staticmethod
    def _whole(block: dict[str, Any]) -> dict[str, Any]:
        if "partial_json" not in block:
            return block
        try:
            return {**block, "input": read_json(block["partial_json"])}
        except ValueError:
            # Cut by the cap in the middle of the tool's input: what there is of it is the answer.
            return {"type": "text", "text": block["partial_json"]}
