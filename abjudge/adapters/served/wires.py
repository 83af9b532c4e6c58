"""The protocols a model may be spoken to over: where to ask, how to read, and how a stream is cut into events."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import quote

from abjudge.adapters.served import wire_anthropic, wire_gemini, wire_ollama, wire_openai
from abjudge.adapters.served.readings import Reading
from abjudge.domain.strict_json import read_json


class Fold(Protocol):
    """Joins the events of one stream into the unstreamed body, so that there is one reader for both."""

    done: bool

    def add(self, event: dict[str, Any]) -> str: ...

    def end(self, marked: bool) -> None: ...

    def body(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Wire:
    """One protocol. `read` takes the parsed body, `sent` says which sampling a request body holds.

    `path` and `stream_path` are put behind the address, `strip` are endings that people leave on it.
    """

    name: str
    read: Callable[[dict[str, Any]], Reading]
    sent: Callable[[dict[str, Any]], dict[str, Any]]
    fold: Callable[[], Fold]
    path: str
    stream_path: str
    strip: tuple[str, ...] = ()

    def base(self, address: str) -> str:
        address = address.rstrip("/")
        for ending in self.strip:
            address = address.removesuffix(ending).rstrip("/")
        return address

    def url(self, address: str, model: str, *, stream: bool = False) -> str:
        path = self.stream_path if stream else self.path
        return self.base(address) + path.format(model=quote(model, safe="/:@"))


OPENAI = Wire(
    "openai",
    wire_openai.read,
    wire_openai.sent,
    wire_openai.Fold,
    "/chat/completions",
    "/chat/completions",
    ("/chat/completions",),
)
OLLAMA_CHAT = Wire(
    "ollama_chat",
    wire_ollama.read_chat,
    wire_ollama.sent,
    wire_ollama.Fold,
    "/api/chat",
    "/api/chat",
    ("/api/chat", "/api"),
)
OLLAMA = Wire(
    "ollama",
    wire_ollama.read_generate,
    wire_ollama.sent,
    wire_ollama.Fold,
    "/api/generate",
    "/api/generate",
    ("/api/generate", "/api"),
)
GEMINI = Wire(
    "gemini",
    wire_gemini.read,
    wire_gemini.sent,
    wire_gemini.Fold,
    "/models/{model}:generateContent",
    "/models/{model}:streamGenerateContent?alt=sse",
)
ANTHROPIC = Wire(
    "anthropic",
    wire_anthropic.read,
    wire_anthropic.sent,
    wire_anthropic.Fold,
    "/v1/messages",
    "/v1/messages",
    ("/messages", "/v1"),
)

WIRES = {wire.name: wire for wire in (OPENAI, OLLAMA_CHAT, OLLAMA, GEMINI, ANTHROPIC)}


class Events:
    """Cuts the bytes of a stream into JSON events: server-sent events, or one object a line as Ollama does.

    Lines are found in bytes and decoded whole, because a chunk may end inside a character.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[str] = []
        self.ended = False
        self.unread: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[dict[str, Any]]:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            yield from self._line(line.rstrip(b"\r").decode("utf-8", "replace").removeprefix("\ufeff"))

    def close(self) -> Iterator[dict[str, Any]]:
        """What is left when the stream has ended: a last line without its line feed."""
        yield from self.feed(b"\n\n")

    def _line(self, line: str) -> Iterator[dict[str, Any]]:
        if line.startswith("data:"):
            self._data.append(line[5:].removeprefix(" "))
        elif not line:
            yield from self._flush()
        elif line.startswith("{"):
            yield from self._object(line)
        elif not line.startswith((":", "event:", "id:", "retry:")):
            self.unread.append(line)

    def _flush(self) -> Iterator[dict[str, Any]]:
        lines, self._data = [line for line in self._data if line], []
        # By the standard the lines of one event are joined; servers that forget the blank line put an event on each.
        events = lines if len(lines) > 1 and all(line[:1] in "{[" for line in lines) else ["\n".join(lines)]
        for data in filter(None, events):
            if data.strip() == "[DONE]":
                self.ended = True
            else:
                yield from self._object(data)

    def _object(self, text: str) -> Iterator[dict[str, Any]]:
        try:
            event = read_json(text)
        except ValueError:
            event = None
        if isinstance(event, dict):
            yield event
        else:
            self.unread.append(text)
