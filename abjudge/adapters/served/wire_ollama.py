"""Reading Ollama's two answers, `/api/chat` and `/api/generate`: one shape, the text under another name."""

from typing import Any

from abjudge.adapters.served.readings import (
    Reading,
    count,
    finish_word,
    mapping,
    not_a_reply,
    repeats_at_the_end,
    string,
)
from abjudge.domain.errors import Permanent, Transient


def read_chat(body: dict[str, Any]) -> Reading:
    if "message" not in body:
        raise not_a_reply(body, "Ollama chat")
    return _read(body, mapping(body["message"]), "content")


def read_generate(body: dict[str, Any]) -> Reading:
    if "response" not in body:
        raise not_a_reply(body, "Ollama generate")
    return _read(body, body, "response")


def _read(body: dict[str, Any], said: dict[str, Any], key: str) -> Reading:
    """Raises `Permanent` where the model was only loaded, for then no prompt reached it."""
    native = string(body.get("done_reason"))
    if native in ("load", "unload"):
        raise Permanent(
            "load_only",
            f"Ollama only {native}ed the model (done_reason {native}): no prompt reached it.",
            hint="The request held no message for the model. Send it again, and check the prompt if it comes again.",
        )
    text = said.get(key)
    parts: dict[str, Any] = {
        "text": text if isinstance(text, str) else "",
        "reasoning": string(said.get("thinking")),
        "native": native,
        # prompt_eval_count is left out where the prompt was cached; that is unknown, not 0.
        "tokens_in": count(body.get("prompt_eval_count")),
        "tokens_out": count(body.get("eval_count")),
        "model": string(body.get("model")),
    }
    if body.get("done") is False:
        return _incomplete(parts)
    finish, notes = finish_word(native)
    if said.get("tool_calls") and not parts["text"]:
        return Reading(faulty="tool_calls", finish=finish, **parts)
    return Reading(finish=finish, notes=notes, **parts)


def _incomplete(parts: dict[str, Any]) -> Reading:
    # Ollama before September 2026 stopped a model that had repeated one token 31 times, and answered 200 with
    # done:false: to a careless reader a short normal answer.
    if not parts["text"] and not parts["reasoning"]:
        raise Transient("incomplete_done_false", "The server ended the answer before it had begun (done: false).")
    looped = repeats_at_the_end(parts["text"] or parts["reasoning"] or "")
    return Reading(faulty="incomplete_done_false", loop="IDENTITY_LOOP" if looped else None, **parts)


def sent(body: dict[str, Any]) -> dict[str, Any]:
    """What of the sampling a request body really holds."""
    options = mapping(body.get("options"))
    found = {key: options.get(key) for key in ("temperature", "top_p", "seed", "stop")}
    return found | {"max_tokens": options.get("num_predict")}


class Fold:
    """Joins the lines of a stream into the body that the same answer would have had unstreamed."""

    def __init__(self) -> None:
        self.done = False
        self._last: dict[str, Any] = {}
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls: list[Any] = []

    def add(self, event: dict[str, Any]) -> str:
        """Takes one line; returns the piece of answer in it, for whoever watches."""
        said, key = (mapping(event["message"]), "content") if "message" in event else (event, "response")
        piece = string(said.get(key)) or ""
        self._text.append(piece)
        self._thinking.append(string(said.get("thinking")) or "")
        self._calls.extend(said.get("tool_calls") or ())
        self._last = {**self._last, **event}
        self.done = event.get("done") is True
        return piece

    def end(self, marked: bool) -> None:
        """Ollama has no end mark but `done`. A stream that stops in a repetition is its old repeat guard at work."""
        if not self.done and repeats_at_the_end("".join(self._text)):
            self._last["done"] = False
            self.done = True

    def body(self) -> dict[str, Any]:
        text, thinking = "".join(self._text), "".join(self._thinking)
        said = {"thinking": thinking, "tool_calls": self._calls}
        if "message" in self._last:
            return {**self._last, "message": {**mapping(self._last["message"]), **said, "content": text}}
        return {**self._last, **said, "response": text}
