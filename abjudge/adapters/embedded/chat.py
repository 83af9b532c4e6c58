"""A small language model inside this process: llama.cpp through xllamacpp, no network, no key, one thread.

Calls to one model are answered one after another by one worker thread, each with an empty cache: so the same seed
gives the same text, whatever was asked before. Different models run side by side.
"""

import asyncio
import atexit
import contextlib
import functools
import hashlib
import importlib.util
import json
import queue
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from abjudge.adapters.embedded import grammar
from abjudge.adapters.embedded.gguf import GgufHead, read_gguf_head
from abjudge.adapters.embedded.native import load_server
from abjudge.domain.calls import Price, Request, Response, Sampling
from abjudge.domain.errors import CallError, Permanent, Transient
from abjudge.domain.status import Status
from abjudge.domain.strict_json import read_json, whole_characters
from abjudge.ports import Watch

# A small model without a limit may go on until its context is full, minutes later. Recorded as sent.
MAX_TOKENS = 1024

# llama.cpp takes 32 bits, and reads the highest number as "draw a seed yourself".
SEEDS = 0xFFFF_FFFF

_alive: "set[EmbeddedChat]" = set()


@functools.cache  # registered once, and not by an import
def _mind_the_exit() -> None:
    atexit.register(_stop_all)


def _stop_all() -> None:
    # Native threads that still run while the interpreter is taken down crash it; a batch is over in half a second.
    for chat in list(_alive):
        chat.stop(wait_s=2.0)


@dataclass
class _Job:
    request: Request
    watch: Watch | None
    future: "Future[Response]" = field(default_factory=Future)
    stopped: bool = False


@dataclass
class _Seen:
    """What came back of one generation so far."""

    text: str = ""
    reasoning: str = ""
    finish: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    fault: BaseException | None = None


class EmbeddedChat:
    """One GGUF file as a `Model`. Loaded at the first call, and let go by `close`.

    `path` is the file and `context` the tokens that prompt and answer share (less where the model was trained on
    less). `sha256` is the hash that the file must have, where one is known. A file with a chat
    template is asked through it; one without gets system text, user text and an answer cue as plain text. `watch` is
    called on the worker thread.

    Where the reply schema is that of a verdict, the answer is generated twice: first for the scores, then whole with
    the scores as constants and only such totals and verdicts as agree with them (see `grammar.narrow`).
    """

    def __init__(self, name: str, path: Path, *, context: int, sha256: str | None = None) -> None:
        self._name = name
        self._path = path
        self._context = context
        self._sha256 = sha256
        self._head: GgufHead | None = None
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._worker: threading.Thread | None = None
        self._current: _Job | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._name

    async def preflight(self) -> None:
        await asyncio.to_thread(self._check)

    async def complete(self, request: Request, *, watch: Watch | None = None) -> Response:
        job = _Job(request, watch)
        self._submit(job)
        try:
            return await asyncio.wrap_future(job.future)
        finally:
            job.stopped = True  # cancelled: the generation ends at its next token or batch

    async def price(self) -> Price:
        return Price(prompt=0.0, answer=0.0)

    async def close(self) -> None:
        await asyncio.to_thread(self.stop, wait_s=10.0)

    def stop(self, *, wait_s: float) -> None:
        """Stop what is running and let go of the model, waiting `wait_s` at the most. The next call loads it anew."""
        with self._lock:
            worker, self._worker = self._worker, None
            jobs, self._jobs = self._jobs, queue.SimpleQueue()
            if (job := self._current) is not None:
                job.stopped = True
            _alive.discard(self)
        with contextlib.suppress(queue.Empty):
            while (waiting := jobs.get_nowait()) is not None:
                if waiting.future.set_running_or_notify_cancel():
                    waiting.future.set_exception(_closed(self._name))
        if worker is not None:
            jobs.put(None)
            worker.join(wait_s)

    def _submit(self, job: _Job) -> None:
        with self._lock:
            self._jobs.put(job)
            if self._worker is None:
                # A daemon: a thread that the interpreter waits for would hold up Ctrl-C.
                self._worker = threading.Thread(target=self._work, args=(self._jobs,), name=self._name, daemon=True)
                self._worker.start()
                _alive.add(self)
                _mind_the_exit()

    def _work(self, jobs: "queue.SimpleQueue[_Job | None]") -> None:
        server: Any = None
        while (job := jobs.get()) is not None:
            if not job.future.set_running_or_notify_cancel():
                continue
            self._current = job
            try:
                server = server or self._load(job)
                if job.stopped:
                    raise _closed(self._name)
                job.future.set_result(self._answer(server, job))
            except BaseException as exc:
                job.future.set_exception(exc)
            finally:
                self._current = None

    def _check(self) -> GgufHead:
        if importlib.util.find_spec("xllamacpp") is None:
            raise Permanent(
                "embedded_missing",
                f"{self._name} runs inside abjudge through xllamacpp, which is not installed.",
                hint="Run `pip install 'abjudge[embedded]'`.",
            )
        if not self._path.is_file():
            raise Permanent(
                "embedded_missing",
                f"The file of {self._name} is not there: {self._path}.",
                hint=f"Run `abjudge models fetch {self._name.removeprefix('embedded/')}`, or correct the path.",
            )
        return read_gguf_head(self._path)

    def _load(self, job: _Job) -> Any:
        self._head = self._check()
        # Hashed at every load, a third of a second: a file that was damaged since it was fetched must not be certified.
        digest = hashlib.sha256()
        with self._path.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
                if job.stopped:
                    raise _closed(self._name)
        if self._sha256 not in (None, digest.hexdigest()):
            raise Permanent(
                "model_checksum",
                f"The file of {self._name} is not the one that was fetched: {self._path}.",
                hint=f"Fetch it again with `abjudge models fetch {self._name.removeprefix('embedded/')} --yes`.",
            )
        self._sha256 = digest.hexdigest()
        if job.stopped:  # the last moment: a load cannot be stopped
            raise _closed(self._name)
        return load_server(self._path, context=min(self._context, self._head.context or self._context))

    def _answer(self, server: Any, job: _Job) -> Response:
        started = time.monotonic()
        request, schema = job.request, job.request.reply_schema
        drafted = _Seen()
        if schema is not None and grammar.is_verdict(schema):
            drafted = self._generate(server, job, grammar.only(schema, "scores"), started, watch=None)
            if drafted.finish != "stop":
                return self._response(request, drafted, started, notes=("cut before the scores were complete",))
            try:
                schema = grammar.narrow(schema, read_json(drafted.text))
            except (ValueError, KeyError, TypeError, AttributeError):
                return self._response(request, drafted, started, notes=("the grammar was not obeyed",))
        seen = self._generate(server, job, schema, started, watch=job.watch, warm=drafted.finish is not None)
        if seen.tokens_out is not None and drafted.tokens_out is not None:
            seen.tokens_out += drafted.tokens_out  # both were generated; the prompt is counted once
        return self._response(request, seen, started)

    def _generate(
        self,
        server: Any,
        job: _Job,
        schema: grammar.Schema | None,
        started: float,
        *,
        watch: Watch | None,
        warm: bool = False,
    ) -> _Seen:
        seen, timeout_s = _Seen(), job.request.timeout_s

        def on_chunk(chunk: dict[str, Any]) -> bool:
            # xllamacpp swallows what a callback raises, and goes on: keep it, and stop.
            try:
                piece = _take(chunk, seen)
                if job.stopped:
                    raise _closed(self._name)
                if piece and watch is not None and watch(piece):
                    seen.finish = "aborted"
                elif seen.finish is None and time.monotonic() - started > timeout_s:
                    raise _timed_out(self._name, timeout_s, seen.text)
            except BaseException as exc:
                seen.fault = exc
            return seen.fault is not None or seen.finish == "aborted"

        body = self._body(job.request, schema, warm=warm)
        ask = server.handle_chat_completions if "messages" in body else server.handle_completions
        ask(body, on_chunk)
        if seen.fault is not None:
            raise seen.fault
        if seen.finish is None:
            raise Permanent("embedded_failed", f"{self._name} stopped without an end.", text=seen.text)
        return seen

    def _body(self, request: Request, schema: grammar.Schema | None, *, warm: bool) -> dict[str, Any]:
        sent = _sent(request.sampling)
        body: dict[str, Any] = sent.model_dump(exclude_none=True, exclude={"stop"})
        if sent.stop:
            body["stop"] = list(sent.stop)
        if schema is not None:
            # Not `response_format`: the plain endpoint ignores it without a word.
            body["grammar"] = "%llguidance {}\nstart: %json " + json.dumps(grammar.compact(schema))
        # Progress is asked for because the callback is the only place where a call can be stopped, and without it the
        # first one comes after the whole prompt. An empty cache, because a warm one depends on what was asked before;
        # the second half of a verdict always comes after its first.
        body |= {"stream": True, "stream_options": {"include_usage": True}, "timings_per_token": True}
        body |= {"return_progress": True, "cache_prompt": warm}
        if self._head is not None and self._head.has_chat_template:
            system = [{"role": "system", "content": whole_characters(request.system)}] if request.system else []
            return body | {"messages": [*system, {"role": "user", "content": whole_characters(request.user)}]}
        texts = [whole_characters(text) for text in (request.system, request.user) if text]
        return body | {"prompt": "\n\n".join([*texts, "Answer:\n"])}

    def _response(self, request: Request, seen: _Seen, started: float, notes: tuple[str, ...] = ()) -> Response:
        structured = None
        if request.reply_schema is not None and seen.finish == "stop":
            # llama.cpp drops a grammar it cannot read and answers freely: so look, rather than believe.
            structured = "grammar" if _obeys(seen.text, request.reply_schema) else None
            notes = notes if structured or notes else ("the grammar was not obeyed",)
        empty = not seen.text.strip() and seen.finish != "aborted"
        head = self._head
        return Response(
            text=seen.text,
            status=Status.SUBJECT_ERROR if empty else Status.COMPLETED,
            reason="empty" if empty else None,
            message=f"{self._name} answered with nothing." if empty else None,
            finish_reason=seen.finish,
            native_finish_reason=None if seen.finish == "aborted" else seen.finish,
            truncated=seen.finish == "length",
            reasoning=seen.reasoning or None,
            tokens_in=seen.tokens_in,
            tokens_out=seen.tokens_out,
            latency_s=time.monotonic() - started,
            cost_usd=0.0,
            model=self._name,
            resolved_model=f"{(head and head.name) or self._path.stem} sha256:{(self._sha256 or '')[:16]}",
            sampling=_sent(request.sampling),
            structured=structured,
            notes=notes,
        )


def _sent(asked: Sampling) -> Sampling:
    seed = None if asked.seed is None else asked.seed % SEEDS
    return asked.with_(max_tokens=asked.max_tokens or MAX_TOKENS, seed=seed)


def _take(chunk: dict[str, Any], seen: _Seen) -> str:
    """Add one piece of the stream to what was seen and return its text. Raises `Permanent` for an error in it."""
    if error := chunk.get("error"):
        raise _refused(error)
    if usage := chunk.get("usage"):
        seen.tokens_in, seen.tokens_out = usage.get("prompt_tokens"), usage.get("completion_tokens")
    elif timings := chunk.get("timings"):
        seen.tokens_out = timings.get("predicted_n", seen.tokens_out)
    if progress := chunk.get("prompt_progress"):
        seen.tokens_in = progress.get("total")
    piece = ""
    for choice in chunk.get("choices", ()):
        delta = choice.get("delta") or {}
        piece += choice.get("text") or delta.get("content") or ""
        seen.reasoning += delta.get("reasoning_content") or ""
        seen.finish = choice.get("finish_reason") or seen.finish
    seen.text += piece
    return piece


def _refused(error: dict[str, Any]) -> CallError:
    if error.get("type") == "exceed_context_size_error":
        return Permanent(
            "context_overflow",
            f"The prompt has {error.get('n_prompt_tokens')} tokens, and the model takes {error.get('n_ctx')} for "
            "prompt and answer together. Nothing was cut.",
            hint="Shorten the prompt or the scaffold, or take a model with a longer context.",
        )
    return Permanent("embedded_refused", f"llama.cpp refused the call: {error.get('message')}")


def _closed(name: str) -> Permanent:
    return Permanent("closed", f"{name} was closed or interrupted before it had answered.")


def _timed_out(name: str, timeout_s: float, text: str) -> Transient:
    return Transient(
        "timeout",
        f"{name} was not done after {timeout_s:g} s.",
        hint="Give it more with --timeout, or fewer tokens with --max-tokens.",
        text=text,
    )


def _obeys(text: str, schema: dict[str, Any]) -> bool:
    import jsonschema

    try:
        jsonschema.validate(read_json(text), schema)
    except (ValueError, jsonschema.ValidationError, jsonschema.SchemaError):
        return False
    return True
