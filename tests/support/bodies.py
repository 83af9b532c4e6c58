"""The same answer in each provider's words, whole and streamed."""

from typing import Any

from tests.support.scripted_server import events, lines


def openai(text: str | None = "Four.", finish: str | None = "stop", **message: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}
    usage = {"prompt_tokens": 41, "completion_tokens": 12, "total_tokens": 53}
    return {"id": "chatcmpl-1", "object": "chat.completion", "model": "m-2026", "choices": [choice], "usage": usage}


def ollama_chat(text: str = "Four.", **fields: Any) -> dict[str, Any]:
    counts = {"prompt_eval_count": 41, "eval_count": 12}
    message = {"role": "assistant", "content": text}
    return {"model": "m-2026", "message": message, "done": True, "done_reason": "stop", **counts, **fields}


def ollama(text: str = "Four.", **fields: Any) -> dict[str, Any]:
    counts = {"prompt_eval_count": 41, "eval_count": 12}
    return {"model": "m-2026", "response": text, "done": True, "done_reason": "stop", **counts, **fields}


def gemini(*parts: dict[str, Any], finish: str | None = "STOP", **fields: Any) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": list(parts or ({"text": "Four."},))}, "finishReason": finish}
    usage = {"promptTokenCount": 41, "candidatesTokenCount": 12, "totalTokenCount": 53}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m-2026", **fields}


def anthropic(*blocks: dict[str, Any], stop: str | None = "end_turn") -> dict[str, Any]:
    content = list(blocks or ({"type": "text", "text": "Four."},))
    usage = {"input_tokens": 41, "output_tokens": 12}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m-2026", "content": content}
    return {**message, "stop_reason": stop, "usage": usage}


WHOLE = {
    "openai": openai(),
    "ollama_chat": ollama_chat(),
    "ollama": ollama(),
    "gemini": gemini(),
    "anthropic": anthropic(),
}


def _openai_stream() -> list[bytes]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m-2026",
            "choices": choices,
        }

    usage = {**chunk({}), "choices": [], "usage": openai()["usage"]}
    return events(
        chunk({"role": "assistant", "content": "Fo"}), chunk({"content": "ur."}), chunk({}, "stop"), usage, done=True
    )


def _anthropic_stream() -> list[bytes]:
    start = {**anthropic(stop=None), "content": [], "usage": {"input_tokens": 41, "output_tokens": 1}}
    return events(
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Fo"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ur."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 12}},
        {"type": "message_stop"},
    )


STREAMED = {
    "openai": _openai_stream(),
    "ollama_chat": lines(
        {"model": "m-2026", "message": {"role": "assistant", "content": "Fo"}, "done": False},
        {"model": "m-2026", "message": {"role": "assistant", "content": "ur."}, "done": False},
        ollama_chat(""),
    ),
    "ollama": lines({"model": "m-2026", "response": "Fo", "done": False}, ollama("ur.")),
    "gemini": events(gemini({"text": "Fo"}, finish=None), gemini({"text": "ur."})),
    "anthropic": _anthropic_stream(),
}
