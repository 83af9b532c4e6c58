"""One translated request, kept as a form whose two texts and seed are filled in for each call.

litellm's translation costs a millisecond and depends on the shape of a request, not on its words. It is made once for
each shape, with marks in place of the words, and every further call of that shape only fills in the blanks.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from abjudge.adapters.served.wires import Wire
from abjudge.domain.calls import Request, Sampling
from abjudge.domain.errors import Permanent

SYSTEM_MARK = "abjudge-system-text-6e1f0c52"
USER_MARK = "abjudge-user-text-6e1f0c52"
SEED_MARK = 1726354819
_MARKS = re.compile(f"({SYSTEM_MARK}|{USER_MARK}|{SEED_MARK})")

# The smallest context that Ollama gives a model by default; a prompt that is longer is cut without a word.
OLLAMA_DEFAULT_CTX = 2048


@dataclass(frozen=True, slots=True)
class Shape:
    """What of a request decides its translation. `schema` is the JSON Schema as JSON, `mode` how it is asked for."""

    system: bool
    sampling: Sampling
    schema: str | None
    mode: str | None
    stream: bool
    stream_usage: bool
    num_ctx: int | None

    @property
    def messages(self) -> list[dict[str, str]]:
        system = [{"role": "system", "content": SYSTEM_MARK}] if self.system else []
        return [*system, {"role": "user", "content": USER_MARK}]

    @property
    def params(self) -> dict[str, Any]:
        """The sampling under OpenAI's names, without what is not asked for."""
        asked = {k: v for k, v in self.sampling.model_dump().items() if v is not None}
        stop = list(asked.pop("stop"))
        return asked | ({"stop": stop} if stop else {})

    @property
    def response_format(self) -> dict[str, Any] | None:
        if self.schema is None or self.mode is None:
            return None
        if self.mode == "json_object":
            return {"type": "json_object"}
        schema = json.loads(self.schema)
        named = {"name": schema.get("title", "reply"), "schema": schema, "strict": closed(schema)}
        return {"type": "json_schema", "json_schema": named}


def shape_of(
    request: Request, *, mode: str | None, stream: bool, stream_usage: bool = True, num_ctx: int | None = None
) -> Shape:
    schema = request.reply_schema
    seeded = request.sampling.seed is not None
    return Shape(
        system=bool(request.system),
        sampling=request.sampling.model_copy(update={"seed": SEED_MARK}) if seeded else request.sampling,
        # Several providers refuse a schema for its "$schema" alone.
        schema=None if schema is None else json.dumps({k: v for k, v in schema.items() if k != "$schema"}),
        mode=mode if schema is not None else None,
        stream=stream,
        stream_usage=stream_usage,
        num_ctx=num_ctx,
    )


def closed(schema: Any) -> bool:
    """Whether OpenAI's strict mode takes this schema: every object names all its keys and allows no other."""
    if isinstance(schema, list):
        return all(map(closed, schema))
    if not isinstance(schema, dict):
        return True
    if "properties" in schema:
        wanted = set(schema.get("required", ())) == set(schema["properties"])
        return (
            wanted and schema.get("additionalProperties") is False and all(map(closed, schema["properties"].values()))
        )
    return schema.get("type") != "object" and all(map(closed, schema.values()))


@dataclass(frozen=True, slots=True)
class Plan:
    """A translated request: `pieces` is its JSON, cut at the marks. `sampling` is what it really sends."""

    pieces: tuple[str, ...]
    headers: Mapping[str, str] = field(repr=False)
    sampling: Sampling
    structured: str | None
    notes: tuple[str, ...]

    def body(self, request: Request) -> bytes:
        texts = {SYSTEM_MARK: request.system, USER_MARK: request.user}
        seed = str(request.sampling.seed)
        filled = (
            json.dumps(texts[piece])[1:-1] if piece in texts else seed if piece == str(SEED_MARK) else piece
            for piece in self.pieces
        )
        return "".join(filled).encode("ascii")

    def sampling_for(self, request: Request) -> Sampling:
        seed = request.sampling.seed if self.sampling.seed is not None else None
        return self.sampling.model_copy(update={"seed": seed})


def make_plan(shape: Shape, wire: Wire, body: dict[str, Any], headers: Mapping[str, str], name: str) -> Plan:
    """The plan for a translated `body`. Raises `Permanent` where the translation lost a parameter on its way."""
    sampling, notes = _compare(shape.sampling, wire.sent(body), name)
    if wire.name == "gemini" and shape.system and not {"system_instruction", "systemInstruction"} & set(body):
        notes += ("system_text_in_user_turn",)
    if shape.num_ctx is not None:
        notes += (f"num_ctx:{shape.num_ctx}",)
    pieces = tuple(_MARKS.split(json.dumps(body)))
    if USER_MARK not in pieces:
        raise Permanent("bad_translation", f"The prompt was lost in the translation for {name}.")
    return Plan(pieces, dict(headers), sampling, shape.mode, notes)


def _compare(asked: Sampling, sent: dict[str, Any], name: str) -> tuple[Sampling, tuple[str, ...]]:
    """What is really sent, and notes on what differs. A parameter that matters is never dropped in silence."""
    really = {key: sent.get(key) for key in ("temperature", "top_p", "max_tokens", "seed")}
    stop = sent.get("stop")
    really["stop"] = (stop,) if isinstance(stop, str) else tuple(stop or ())
    notes: list[str] = []
    for key, wanted in asked.model_dump().items():
        got = really[key]
        if wanted in (None, ()):
            if got not in (None, ()):
                notes.append(f"{key}_required:{got}")
        elif key == "seed" and got is None:
            notes.append("seed_not_supported")
        elif got in (None, ()) or (key == "stop" and set(got) != set(wanted)):
            raise unsupported(key, name)
        elif got != wanted:
            notes.append(f"{key}_sent_as:{got}")
    return Sampling(**really), tuple(notes)


def unsupported(key: str, name: str, why: str = "") -> Permanent:
    message = f"{name} does not take the parameter {key}{f': {why}' if why else ''}."
    return Permanent("unsupported_parameter", message, hint=f"Leave {key} unset for this model, or use another.")


_NAMES_THE_SCHEMA = re.compile(
    r"response_?format|json_?schema|json_?object|\bschema\b|\bformat\b|structured.?output|grammar|response_?mime|"
    r"responseSchema|output_format|tool_choice",
    re.IGNORECASE,
)


def refuses_the_schema(reason: str, message: str) -> bool:
    """Whether an error complains of how the reply's shape was asked for, so that asking in a weaker way may work."""
    if reason == "server_error":
        return bool(re.search(r"grammar|json.?schema|for format", message, re.IGNORECASE))
    return reason == "bad_request" and bool(_NAMES_THE_SCHEMA.search(message))


def room_for(request: Request) -> int:
    """Tokens that a call may need, estimated high: two bytes a token, and the answer."""
    return (len(request.system.encode()) + len(request.user.encode())) // 2 + (request.sampling.max_tokens or 512) + 64


def looks_cut(request: Request, tokens_in: int | None, num_ctx: int | None) -> bool:
    """Whether Ollama may have cut the prompt: its count fills the context, or is far too small for the text.

    Older servers leave cached tokens out of the count, so this is a suspicion and only ever a note.
    """
    if tokens_in is None:
        return False
    size = len(request.system.encode()) + len(request.user.encode())
    return tokens_in >= (num_ctx or OLLAMA_DEFAULT_CTX) or (size > 4096 and tokens_in * 12 < size)
