"""What one answer came to: its parts as the provider sent them, and the rules that hold for every provider."""

import re
from dataclasses import dataclass
from typing import Any

from abjudge.domain.calls import Response
from abjudge.domain.errors import Permanent
from abjudge.domain.status import Status


@dataclass(frozen=True, slots=True)
class Reading:
    """The parts of an answer. Token counts that were not sent are None; `native` is the provider's own finish word.

    `blocked` is the provider's word where its filter stepped in, `faulty` the reason where the subject gave no answer.
    """

    text: str = ""
    finish: str | None = None
    native: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    tokens_reasoning: int | None = None
    model: str | None = None
    request_id: str | None = None
    blocked: str | None = None
    faulty: str | None = None
    loop: str | None = None
    notes: tuple[str, ...] = ()


_FINISH = {
    **dict.fromkeys(("stop", "end_turn", "stop_sequence", "eos", "eos_token", "complete", "completed"), "stop"),
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens", "model_length"), "length"),
    "model_context_window_exceeded": "length",
    **dict.fromkeys(("content_filter", "safety"), "content_filter"),
}

_MESSAGES = {
    "empty_after_reasoning": "The whole allowance of output tokens went into hidden reasoning. Raise max_tokens.",
    "empty_content_thinking_only": "The model thought, and then gave no answer.",
    "empty": "The model answered with no text.",
    "no_choices": "The provider answered without any choice to read.",
    "no_candidates": "The provider answered without any candidate to read.",
    "no_message": "The provider answered with a choice that holds no message.",
    "tool_calls": "The model called a tool instead of answering; no tool was offered.",
    "incomplete_done_false": "The server ended the answer before the model was done (done: false).",
    "repeat_limit": "The model repeated itself until the server stopped it.",
}


def finish_word(native: str | None) -> tuple[str | None, tuple[str, ...]]:
    """Our word for a provider's finish word, and a note where there is none: an unknown word is no `stop`."""
    if native is None:
        return None, ("finish_reason_missing",)
    ours = _FINISH.get(native.lower())
    return ours, () if ours else (f"finish_reason_unknown:{native}",)


def conclude(reading: Reading, *, asked: str = "") -> Response:
    """The Response that this reading stands for. `asked` is the prompt: chat tokens that it holds are no leak."""
    status, reason = _status(reading)
    return Response(
        text=reading.text or (reading.refusal or ""),
        status=status,
        reason=reason,
        message=None if reason is None else _MESSAGES.get(reason, f"The provider withheld the answer ({reason})."),
        finish_reason=reading.finish,
        native_finish_reason=reading.native,
        truncated=reading.finish == "length",
        refused=reading.refusal is not None and status is Status.COMPLETED,
        blocked=status is Status.BLOCKED,
        refusal=reading.refusal,
        reasoning=reading.reasoning or None,
        tokens_in=reading.tokens_in,
        tokens_out=reading.tokens_out,
        resolved_model=reading.model,
        request_id=reading.request_id,
        stop_token_leak=leaked_tokens(reading.text, asked),
        loop=reading.loop,
        notes=reading.notes,
    )


def _status(reading: Reading) -> tuple[Status, str | None]:
    if reading.blocked:
        return Status.BLOCKED, reading.blocked
    if reading.faulty:
        return Status.SUBJECT_ERROR, reading.faulty
    if reading.text.strip() or reading.refusal or reading.finish == "aborted":
        return Status.COMPLETED, None
    if reading.reasoning or reading.tokens_reasoning:
        return Status.SUBJECT_ERROR, (
            "empty_after_reasoning" if reading.finish == "length" else "empty_content_thinking_only"
        )
    return Status.SUBJECT_ERROR, "empty"


def count(value: object) -> int | None:
    """A token count as sent; None for everything that is not one, so that an unknown count never becomes 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if value >= 0 and value == value // 1 else None


def mapping(value: object) -> dict[str, Any]:
    """`value` where it is an object, else an empty one: providers send null where they have nothing to say."""
    return value if isinstance(value, dict) else {}


def string(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def not_a_reply(body: object, wire: str) -> Permanent:
    """The error for JSON that is no answer of this wire: another kind of server answers at this address."""
    keys = ", ".join(list(body)[:6]) if isinstance(body, dict) else type(body).__name__
    return Permanent(
        "bad_response",
        f"The server answered with JSON that is no {wire} reply (it holds: {keys or 'nothing'}).",
        hint="Check the provider prefix of the model name and the address.",
    )


_CHAT_TOKENS = re.compile(
    r"<\|[a-z_]{2,32}\|>|<\|(?:START|END)_OF_TURN_TOKEN\|>|<(?:start|end)_of_turn>|<｜[^<>｜]{2,40}｜>"
    r"|\[/?INST\]|<</?SYS>>|<eos>|<bos>|</s>"
)


def leaked_tokens(text: str, asked: str = "") -> tuple[str, ...]:
    """The chat template's own tokens in an answer, each once, in the order in which they first stand.

    Tokens that the prompt itself speaks of are left out, and so is `</s>` where `<s>` opens it: that is HTML.
    """
    if "<" not in text and "[" not in text:
        return ()
    found = dict.fromkeys(_CHAT_TOKENS.findall(text))
    return tuple(t for t in found if t not in asked and not (t == "</s>" and "<s>" in text))


def repeats_at_the_end(text: str, *, least: int = 8, longest_unit: int = 120) -> bool:
    """Whether `text` ends in one unit said over and over, as a server's repeat guard leaves it (31 tokens or fewer)."""
    tail = text.rstrip()[-least * longest_unit :]
    return any(
        tail.endswith(tail[-size:] * least) and tail[-size:].strip()
        for size in range(1, min(longest_unit, len(tail) // least) + 1)
    )
