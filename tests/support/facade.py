"""The embedded model behind other people's doors: llama.cpp's own OpenAI server, and in front of it Ollama's and
Gemini's published shapes.

No package speaks these protocols rightly in front of a small local model, so this front does, for recording cassettes
and for live tests on loopback. It shows our reading of the published shapes; it does not show how a real Ollama or
Gemini behaves beyond them.
"""

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

MODEL = "smollm2:135m"


@contextmanager
def llama_server(path: Path, port: int = 0) -> Iterator[str]:
    """llama.cpp's OpenAI-compatible server on loopback; yields its address without `/v1`."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.model_alias = {MODEL}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_parallel = 1
    params.n_ctx = 2048
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.ui = False
    params.offline = True
    params.verbosity = -1
    server = xllamacpp.Server(params)
    try:
        yield server.listening_address
    finally:
        del server


@contextmanager
def facade(llama: str, port: int = 0) -> Iterator[str]:
    """Ollama's `/api/*` and Gemini's `/v1beta/*` in front of a llama.cpp server; yields the address."""

    class Handler(_Handler):
        upstream = urlsplit(llama).netloc

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def both_apart(path: Path, llama_port: int, front_port: int) -> Iterator[tuple[str, str]]:
    """Both servers in a process of their own, so that what they say to each other is not recorded with the rest."""
    command = [sys.executable, "-m", "tests.support.facade", str(path), str(llama_port), str(front_port)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        llama, front = process.stdout.readline().split()
        yield llama, front
    finally:
        process.communicate()  # closing its standard input ends it


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    upstream = ""

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        if self.path == "/api/tags":
            self._json({"models": [{"name": MODEL, "model": MODEL, "size": 98362432}]})
        elif self.path.startswith("/v1beta/models/"):
            self._json({"name": self.path.removeprefix("/v1beta/"), "supportedGenerationMethods": ["generateContent"]})
        else:
            self._json({"error": "not found"}, 404)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        route = urlsplit(self.path).path
        if route == "/api/show":
            self._json({"model_info": {"general.architecture": "llama", "llama.context_length": 8192}})
        elif route in ("/api/chat", "/api/generate"):
            self._ollama(body, chat=route == "/api/chat")
        elif route.endswith(":generateContent"):
            self._gemini(body)
        elif route.endswith(":streamGenerateContent"):
            self._gemini_stream(body)
        else:
            self._json({"error": "not found"}, 404)

    def _ollama(self, body: dict[str, Any], *, chat: bool) -> None:
        ask = _from_ollama(body, chat=chat)
        started = time.monotonic_ns()

        def words(text: str) -> dict[str, Any]:
            return {"message": {"role": "assistant", "content": text}} if chat else {"response": text}

        def closing(reason: str, usage: dict[str, int]) -> dict[str, Any]:
            return {
                "done": True,
                "done_reason": reason,
                "total_duration": time.monotonic_ns() - started,
                "load_duration": 0,
                "prompt_eval_count": usage["prompt_tokens"],
                "eval_count": usage["completion_tokens"],
            }

        head = {"model": body["model"], "created_at": "2026-12-01T00:00:00.000000Z"}
        if body.get("stream", True):
            lines = (
                {**head, **words(text), **(closing(reason, usage) if usage else {"done": False})}
                for text, reason, usage in self._pieces(ask)
            )
            self._chunked((json.dumps(line).encode() + b"\n" for line in lines), "application/x-ndjson")
        else:
            text, reason, usage = self._whole(ask)
            self._json({**head, **words(text), **closing(reason, usage)})

    def _gemini(self, body: dict[str, Any]) -> None:
        self._json(self._gemini_answer(*self._whole(_from_gemini(body))))

    def _gemini_stream(self, body: dict[str, Any]) -> None:
        events = (self._gemini_answer(*piece) for piece in self._pieces(_from_gemini(body)))
        self._chunked((b"data: " + json.dumps(event).encode() + b"\r\n\r\n" for event in events), "text/event-stream")

    def _gemini_answer(self, text: str, reason: str, usage: dict[str, int] | None) -> dict[str, Any]:
        candidate: dict[str, Any] = {"content": {"parts": [{"text": text}], "role": "model"}, "index": 0}
        answer: dict[str, Any] = {"candidates": [candidate], "modelVersion": "gemini-2.5-flash", "responseId": "r-1"}
        if usage:
            candidate["finishReason"] = {"length": "MAX_TOKENS"}.get(reason, "STOP")
            answer["usageMetadata"] = {
                "promptTokenCount": usage["prompt_tokens"],
                "candidatesTokenCount": usage["completion_tokens"],
                "totalTokenCount": usage["prompt_tokens"] + usage["completion_tokens"],
            }
        return answer

    def _whole(self, ask: dict[str, Any]) -> tuple[str, str, dict[str, int]]:
        answer = json.loads(self._upstream(ask).read())
        choice = answer["choices"][0]
        return choice["message"]["content"], choice["finish_reason"], answer["usage"]

    def _pieces(self, ask: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, int] | None]]:
        """Text as it comes, and at the end an empty piece with the reason and the counts."""
        reason = "stop"
        for line in self._upstream({**ask, "stream": True, "stream_options": {"include_usage": True}}):
            if not line.startswith(b"data: {"):
                continue
            event = json.loads(line[6:])
            for choice in event.get("choices", []):
                reason = choice.get("finish_reason") or reason
                if text := choice["delta"].get("content"):
                    yield text, "", None
            if event.get("usage"):
                yield "", reason, event["usage"]

    def _upstream(self, ask: dict[str, Any]) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(self.upstream, timeout=120)
        connection.request("POST", "/v1/chat/completions", json.dumps(ask), {"Content-Type": "application/json"})
        return connection.getresponse()

    def _json(self, document: dict[str, Any], status: int = 200) -> None:
        content = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _chunked(self, parts: Iterator[bytes], kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for part in parts:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.wfile.write(b"0\r\n\r\n")


def _from_ollama(body: dict[str, Any], *, chat: bool) -> dict[str, Any]:
    options = body.get("options", {})
    if chat:
        messages = [{"role": m["role"], "content": m["content"]} for m in body["messages"]]
    else:
        system = [{"role": "system", "content": body["system"]}] if body.get("system") else []
        messages = [*system, {"role": "user", "content": body["prompt"]}]
    return _ask(
        messages,
        temperature=options.get("temperature"),
        top_p=options.get("top_p"),
        seed=options.get("seed"),
        max_tokens=options.get("num_predict"),
        stop=options.get("stop"),
        schema=body.get("format"),
    )


def _from_gemini(body: dict[str, Any]) -> dict[str, Any]:
    config = body.get("generationConfig", {})
    system = body.get("systemInstruction") or body.get("system_instruction")
    messages = [{"role": "system", "content": _text(system)}] if system else []
    roles = {"user": "user", "model": "assistant"}
    messages += [{"role": roles[c.get("role", "user")], "content": _text(c)} for c in body["contents"]]
    return _ask(
        messages,
        temperature=config.get("temperature"),
        top_p=config.get("topP") or config.get("top_p"),
        seed=config.get("seed"),
        max_tokens=config.get("maxOutputTokens") or config.get("max_output_tokens"),
        stop=config.get("stopSequences") or config.get("stop_sequences"),
        schema=config.get("responseJsonSchema") or config.get("response_json_schema") or config.get("responseSchema"),
    )


def _text(content: dict[str, Any]) -> str:
    return "".join(part.get("text", "") for part in content["parts"])


def _ask(messages: list[dict[str, str]], *, schema: Any = None, **options: Any) -> dict[str, Any]:
    ask: dict[str, Any] = {"model": MODEL, "messages": messages}
    ask |= {key: value for key, value in options.items() if value is not None}
    if isinstance(schema, dict):
        ask["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}
    elif schema == "json":
        ask["response_format"] = {"type": "json_object"}
    return ask


if __name__ == "__main__":
    with llama_server(Path(sys.argv[1]), int(sys.argv[2])) as own, facade(own, int(sys.argv[3])) as door:
        print(own, door, flush=True)
        sys.stdin.read()
