"""A small HTTP server on loopback that says what a test tells it to say, also what no honest server would."""

import asyncio
import json
import socket
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

Script = Callable[["Seen"], "Reply"]


@dataclass(frozen=True)
class Seen:
    """One request as it arrived."""

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.raw)


@dataclass(frozen=True)
class Reply:
    """One answer. `chunks` are sent one by one, `pause_s` apart; `claimed` overrides the Content-Length.

    `end` says how it ends: "whole"; "drop", closed before the end; "reset", cut off with a TCP reset; "silent",
    closed without a single byte.
    """

    body: Any = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    chunks: Sequence[bytes] = ()
    delay_s: float = 0.0
    pause_s: float = 0.0
    claimed: int | None = None
    end: str = "whole"

    @property
    def payload(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()


def lines(*objects: Any) -> list[bytes]:
    """Newline-delimited JSON, as Ollama streams."""
    return [json.dumps(o).encode() + b"\n" for o in objects]


def events(*objects: Any, done: bool = False) -> list[bytes]:
    """Server-sent events, with OpenAI's end mark where `done`."""
    sent = [b"data: " + json.dumps(o).encode() + b"\n\n" for o in objects]
    return [*sent, b"data: [DONE]\n\n"] if done else sent


class ScriptedServer:
    """Answers with `script` in order, the last one for ever; or asks a function. Requests are kept in `seen`."""

    def __init__(self, *script: Reply | Any) -> None:
        self._script: Script = script[0] if len(script) == 1 and callable(script[0]) else self._in_turn(script)
        self.seen: list[Seen] = []
        self.connections = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    @staticmethod
    def _in_turn(script: Sequence[Any]) -> Script:
        left = [r if isinstance(r, Reply) else Reply(r) for r in script]
        return lambda seen: left.pop(0) if len(left) > 1 else left[0]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(self._serve, "127.0.0.1", 0), self._loop
        ).result()
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._shut(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _shut(self) -> None:
        self._server.close()
        others = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while (seen := await self._receive(reader)) is not None:
                self.seen.append(seen)
                if not await self._send(self._script(seen), writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    @staticmethod
    async def _receive(reader: asyncio.StreamReader) -> Seen | None:
        head = await reader.readline()
        if not head:
            return None
        method, path, _ = head.decode().split(" ", 2)
        headers: dict[str, str] = {}
        while (line := (await reader.readline()).decode().strip()) != "":
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        return Seen(method, path, headers, raw)

    @staticmethod
    async def _send(reply: Reply, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection can be used again."""
        await asyncio.sleep(reply.delay_s)
        if reply.end == "silent":
            return False
        headers = {"Content-Type": "application/json", **reply.headers}
        if reply.chunks:
            headers["Transfer-Encoding"] = "chunked"
        else:
            headers["Content-Length"] = str(len(reply.payload) if reply.claimed is None else reply.claimed)
        head = f"HTTP/1.1 {reply.status} X\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items())
        writer.write(head.encode() + b"\r\n")
        for chunk in reply.chunks:
            writer.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            await writer.drain()
            await asyncio.sleep(reply.pause_s)
        if not reply.chunks:
            writer.write(reply.payload)
        elif reply.end == "whole":
            writer.write(b"0\r\n\r\n")
        await writer.drain()
        if reply.end == "reset":
            # SO_LINGER with zero seconds makes close() send a reset instead of a farewell.
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        return reply.end == "whole" and reply.claimed is None
