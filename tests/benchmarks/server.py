"""A server of OpenAI's protocol that costs next to nothing, so that what is measured is the client.

    python -m tests.benchmarks.server [--latency MS] [--port PORT]

It prints its port and answers until it is killed. Every answer is made before the first request; nothing of a request
is parsed but its length and its model: `gpt-4o-mini` is the producer, `gpt-4o` the judge (names that litellm knows,
because it is slower with others). How a judge answers is chosen by the first part of the path, so that each tool is
given what it can read: `/promptfoo/v1/chat/completions`. `GET /stats` tells what was seen.
"""

import argparse
import asyncio
import gc
import json
import re
import resource
import time
from typing import Any

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_MODEL = re.compile(rb'"model" ?: ?"([^"]*)"')
JUDGE = b"gpt-4o"
_POINTS = (
    "Put a wide rubber band between the driver and the screw, press hard and turn slowly.",
    "Cut a slot across the head with a rotary tool and use a flat driver in it.",
    "Warm the screw with a soldering iron for half a minute: the glue or the resin lets go.",
    "Take a screw extractor: drill a small pilot hole, then turn the extractor against the clock.",
    "Grip what stands out of the wood with locking pliers and turn it by hand.",
)
CRITERIA = ("specificity", "posture", "depth", "actionability", "honesty")


def _verdict(winner: str) -> str:
    sheets = {name: dict.fromkeys(CRITERIA, 4 if name == winner else 3) for name in "AB"}
    return json.dumps(
        {
            "scores": sheets,
            "totals": {name: sum(sheet.values()) for name, sheet in sheets.items()},
            "justifications": dict.fromkeys(CRITERIA, f"{winner} says more that can be acted upon."),
            "verdict": winner,
            "verdict_reason": f"{winner} names steps, tools and limits.",
        }
    )


def _message(text: str | None = None, *, tool: str = "", **arguments: Any) -> dict[str, Any]:
    if not tool:
        return {"role": "assistant", "content": text, "refusal": None}
    call = {"id": "c1", "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _reply(message: dict[str, Any], model: str) -> bytes:
    finish = "tool_calls" if "tool_calls" in message else "stop"
    body = json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1700000000,
            "model": model,
            "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
            "usage": {"prompt_tokens": 90, "completion_tokens": 120, "total_tokens": 210},
        }
    )
    return _http(body)


def _http(body: str) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body.encode())}\r\n\r\n"
    return (head + body).encode()


_WHY = "The response names steps that can be carried out."
# The judge's answers by the first part of the path; the last ones are for whoever is not named here.
_JUDGES = {
    "autoevals": [_message(tool="select_choice", reasons=_WHY, choice="Yes")],
    "openevals": [_message(json.dumps({"reasoning": _WHY, "score": True}))],
    "pydantic-evals": [_message(tool="final_result", **{"reason": _WHY, "pass": True, "score": 1.0})],
    "inspect": [_message(f"{_WHY}\n\nGRADE: C")],
    "deepeval": [_message(json.dumps({"winner": "Alice", "reason": _WHY}))],
    "promptfoo": [_message(json.dumps({"reason": _WHY, "pass": True, "score": 1.0}))],
    "": [_message(_verdict("A")), _message(_verdict("B"))],
}
JUDGES = {name.encode(): [_reply(message, "gpt-4o") for message in said] for name, said in _JUDGES.items()}
ANSWERS = [_reply(_message(" ".join(_POINTS[n:] + _POINTS[:n])), "gpt-4o-mini") for n in range(len(_POINTS))]
REWRITTEN = _reply(_message(json.dumps({"rewritten_reason": _WHY})), "gpt-4o")
MODELS = _http(json.dumps({"object": "list", "data": [{"id": name} for name in ("gpt-4o-mini", "gpt-4o")]}))


class Counts:
    """What was seen since the start."""

    def __init__(self) -> None:
        self.calls = self.judged = self.in_flight = self.peak = self.connections = 0
        self.first = self.last = 0.0

    def as_json(self) -> str:
        used = resource.getrusage(resource.RUSAGE_SELF)
        seen = {"calls": self.calls, "judged": self.judged, "peak_in_flight": self.peak}
        span = {"span_s": self.last - self.first, "connections": self.connections}
        return json.dumps({**seen, **span, "server_cpu_s": used.ru_utime + used.ru_stime})


class Protocol(asyncio.Protocol):
    """One connection. Requests may come in pieces, and several at once."""

    def __init__(self, counts: Counts, latency_s: float) -> None:
        self._counts, self._latency_s = counts, latency_s
        self._loop = asyncio.get_running_loop()
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._counts.connections += 1
        self._transport: Any = transport

    def data_received(self, data: bytes) -> None:
        data = self._rest + data if self._rest else data
        while (end := data.find(b"\r\n\r\n")) >= 0:
            length = _LENGTH.search(data, 0, end)
            whole = end + 4 + (int(length[1]) if length else 0)
            if len(data) < whole:
                break
            self._answer(data[:whole] if len(data) > whole else data, end)
            data = data[whole:]
        self._rest = data

    def _answer(self, request: bytes, end: int) -> None:
        counts = self._counts
        if request.startswith(b"GET /stats"):
            self._transport.write(_http(counts.as_json()))
            return
        if not request.startswith(b"POST"):
            self._transport.write(MODELS)
            return
        counts.first = counts.first or time.perf_counter()
        counts.calls += 1
        counts.in_flight += 1
        counts.peak = max(counts.peak, counts.in_flight)
        reply = self._choose(request, end)
        if self._latency_s:
            self._loop.call_later(self._latency_s, self._send, reply)
        else:
            self._send(reply)

    def _choose(self, request: bytes, end: int) -> bytes:
        counts = self._counts
        model = _MODEL.search(request, end)
        if model is None or model[1] != JUDGE:
            return ANSWERS[counts.calls % len(ANSWERS)]
        counts.judged += 1
        if b"rewritten_reason" in request:
            return REWRITTEN
        replies = JUDGES.get(request[6 : request.find(b"/", 6)], JUDGES[b""])
        return replies[counts.judged % len(replies)]

    def _send(self, reply: bytes) -> None:
        self._transport.write(reply)
        self._counts.in_flight -= 1
        self._counts.last = time.perf_counter()


async def _serve(port: int, latency_s: float) -> None:
    counts = Counts()
    server = await asyncio.get_running_loop().create_server(
        lambda: Protocol(counts, latency_s), "127.0.0.1", port, backlog=2048
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    gc.freeze()
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--latency", type=float, default=0.0, help="milliseconds before each answer")
    parser.add_argument("--port", type=int, default=0)
    asked = parser.parse_args()
    asyncio.run(_serve(asked.port, asked.latency / 1000))


if __name__ == "__main__":
    main()
