"""The adapter over litellm: one request a call, nothing hidden, nothing dropped in silence, no secret said aloud."""

import asyncio
import gzip
import json
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from abjudge.adapters.litellm_model import LiteLLMModel
from abjudge.adapters.waits import wait_s
from abjudge.domain.calls import Request, Sampling
from abjudge.domain.errors import CallError, InputError, Permanent, Transient
from abjudge.domain.verdicts import verdict_schema
from tests.support import bodies
from tests.support.asking import KEY, NAMES, ask, fault, look, request, served
from tests.support.scripted_server import Reply, ScriptedServer, events, lines

# litellm's own models, built while a request is translated; its own filter for this is undone by pytest.
pytestmark = pytest.mark.filterwarnings("ignore:.*ReadOnly.*:UserWarning")

WIRES = tuple(NAMES)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# One call, one request.


@pytest.mark.parametrize("wire", WIRES)
def test_one_call_is_one_request_and_carries_the_prompt_and_the_sampling(wire: str) -> None:
    sampling = Sampling(temperature=0.5, top_p=0.9, max_tokens=9, seed=7, stop=("END",))
    with ScriptedServer(bodies.WHOLE[wire]) as server:
        response = ask(served(wire, server), request('Say "é" 😀\n{x}', sampling=sampling))

    assert len(server.seen) == server.connections == 1
    assert "Answer shortly." in json.dumps(server.seen[0].json)
    assert (response.text, response.tokens_in, response.tokens_out) == ("Four.", 41, 12)
    assert (response.finish_reason, response.model, response.attempts) == ("stop", NAMES[wire], 1)
    seeded = wire != "anthropic"
    assert response.sampling == sampling.with_(seed=7 if seeded else None)
    assert response.notes == (() if seeded else ("seed_not_supported",))


def test_the_words_of_every_call_arrive_unaltered() -> None:
    texts = ['Say "é" 😀\n\t{x}\\', "</s>", "abjudge-system-text-6e1f0c52", "1726354819", "a" * 2_000_000]
    with ScriptedServer(bodies.openai()) as server:
        model = served("openai", server)

        async def all_of_them() -> None:
            for seed, text in enumerate(texts):
                await model.complete(Request(system=text, user=text, sampling=Sampling(seed=seed)))
            await model.close()

        asyncio.run(all_of_them())

    said = [[m["content"] for m in s.json["messages"]] for s in server.seen]
    assert said == [[text, text] for text in texts]
    assert [s.json["seed"] for s in server.seen] == list(range(len(texts)))


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_failing_server_is_asked_once_only(status: int) -> None:
    with ScriptedServer(Reply({"error": {"message": "no"}}, status)) as server:
        error = fault(served("openai", server))

    assert isinstance(error, Transient)
    assert len(server.seen) == 1


def test_nothing_is_connected_to_but_the_server_that_was_named(monkeypatch: pytest.MonkeyPatch) -> None:
    doors: list[Any] = []
    sys.addaudithook(
        lambda event, args: doors.append(args[-1]) if event == "socket.connect" and doors is not None else None
    )
    names: list[Any] = []
    looked_up = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **k: (names.append(a[0]), looked_up(*a, **k))[1])
    ports = set()
    for wire in WIRES:
        with ScriptedServer(bodies.WHOLE[wire]) as server:
            ask(served(wire, server, name=f"{wire}/a-model-nobody-knows"))
            ports.add(server.port)

    assert {door[1] for door in doors} <= ports
    assert names == []


def test_a_model_outlives_the_loop_it_was_used_in() -> None:
    with ScriptedServer(bodies.openai()) as server:
        model = served("openai", server)

        first = asyncio.run(model.complete(request()))
        second = asyncio.run(model.complete(request()))
        asyncio.run(model.close())
        asyncio.run(model.close())

    assert first.text == second.text == "Four."


def test_cancelling_a_call_cancels_it() -> None:
    async def give_up(model: LiteLLMModel) -> float:
        task = asyncio.create_task(model.complete(request()))
        await asyncio.sleep(0.1)
        task.cancel()
        started = time.perf_counter()
        with pytest.raises(asyncio.CancelledError):
            await task
        await model.close()
        return time.perf_counter() - started

    with ScriptedServer(Reply(bodies.openai(), delay_s=5)) as server:
        assert asyncio.run(give_up(served("openai", server))) < 1


# Faults of transport.


def test_nobody_listening_is_transient_and_names_the_address() -> None:
    base = f"http://127.0.0.1:{free_port()}"

    error = fault(LiteLLMModel("ollama_chat/x", api_base=base, env={}))

    assert isinstance(error, Transient)
    assert (error.reason, base in str(error), "ollama serve" in str(error)) == ("unreachable", True, True)


def test_a_host_that_does_not_exist_is_unreachable() -> None:
    error = fault(LiteLLMModel("openai/x", api_base="http://no-such-host.invalid/v1", env={}))

    assert (type(error), error.reason) == (Transient, "unreachable")


BROKEN = {
    "closed without a byte": Reply(end="silent"),
    "reset in the body": Reply(json.dumps(bodies.openai())[:50], claimed=500, end="reset"),
    "shorter than claimed": Reply(json.dumps(bodies.openai()), claimed=9999, end="drop"),
    "chunks without an end": Reply(chunks=[b'{"choices": ['], end="drop"),
    "gzip that is none": Reply(b"not gzip at all", headers={"Content-Encoding": "gzip"}),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_connection_that_breaks_is_a_fault_of_transport(how: str) -> None:
    with ScriptedServer(BROKEN[how]) as server:
        error = fault(served("openai", server))

    assert (type(error), error.reason) == (Transient, "connection_lost")
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    "reply",
    [Reply(bodies.openai(), delay_s=5), Reply(chunks=[b" "] * 50, pause_s=0.1)],
    ids=["says nothing", "says it byte by byte"],
)
def test_a_slow_server_meets_the_limit(reply: Reply) -> None:
    with ScriptedServer(reply) as server:
        started = time.perf_counter()
        error = fault(served("openai", server), request(timeout_s=0.3))

    assert (type(error), error.reason) == (Transient, "timeout")
    assert time.perf_counter() - started < 2


def test_a_gzipped_answer_is_read() -> None:
    body = gzip.compress(json.dumps(bodies.openai()).encode())
    with ScriptedServer(Reply(body, headers={"Content-Encoding": "gzip"})) as server:
        assert ask(served("openai", server)).text == "Four."


RETRY_INFO = {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": [{"retryDelay": "34.5s"}]}}


@pytest.mark.parametrize(
    ("wire", "headers", "body", "wait"),
    [
        ("openai", {"Retry-After": "7"}, {}, 7.0),
        ("openai", {"retry-after-ms": "1500", "retry-after": "2"}, {}, 1.5),
        ("gemini", {}, RETRY_INFO, 34.5),
        ("openai", {}, {"error": {"message": "Please try again in 1m2.5s."}}, 62.5),
        ("openai", {"Retry-After": "soon"}, {}, None),
    ],
)
def test_the_wait_that_is_asked_for_is_handed_on(wire: str, headers: Any, body: Any, wait: float | None) -> None:
    with ScriptedServer(Reply(body, 429, headers)) as server:
        error = fault(served(wire, server))

    assert (error.retryable, error.retry_after_s) == (True, wait)


def test_a_wait_until_a_date_is_counted_from_now() -> None:
    now = datetime(2026, 12, 1, 9, 0, tzinfo=UTC)

    def wait(value: str) -> float | None:
        return wait_s({"Retry-After": value}, now=now)

    assert wait("Tue, 01 Dec 2026 09:01:30 GMT") == 90.0
    assert wait("Tue, 01 Dec 2026 08:00:00 GMT") == 0.0
    assert wait("-3") == 0.0
    assert wait("nan") is None


# Streams.


@pytest.mark.parametrize("wire", WIRES)
def test_a_watched_answer_is_the_same_as_an_unwatched_one(wire: str) -> None:
    pieces: list[str] = []
    with ScriptedServer(bodies.WHOLE[wire]) as server:
        whole = ask(served(wire, server))
    with ScriptedServer(Reply(chunks=bodies.STREAMED[wire], headers={"Content-Type": "text/event-stream"})) as server:
        streamed = ask(served(wire, server), watch=lambda piece: pieces.append(piece) is not None)

    apart = {"latency_s": 0.0}
    assert pieces == ["Fo", "ur."]
    assert streamed.with_(**apart) == whole.with_(**apart)
    assert len(server.seen) == 1


@pytest.mark.parametrize("wire", WIRES)
def test_a_watcher_that_has_seen_enough_ends_the_answer_at_once(wire: str) -> None:
    with ScriptedServer(Reply(chunks=bodies.STREAMED[wire], pause_s=0.4)) as server:
        started = time.perf_counter()
        response = ask(served(wire, server), watch=lambda piece: True)

    assert (response.text, response.finish_reason, response.status) == ("Fo", "aborted", "completed")
    assert time.perf_counter() - started < 1.9


@pytest.mark.parametrize("wire", WIRES)
def test_a_stream_without_its_end_mark_is_a_lost_connection(wire: str) -> None:
    marks = {"openai": 2, "ollama_chat": 2, "ollama": 1, "gemini": 1, "anthropic": 7}
    with ScriptedServer(Reply(chunks=bodies.STREAMED[wire][: marks[wire]])) as server:
        error = fault(served(wire, server), watch=lambda piece: False)

    assert (type(error), error.reason) == (Transient, "connection_lost")


def test_a_stream_is_read_however_its_bytes_are_cut() -> None:
    whole = b"".join(bodies.STREAMED["openai"]).replace(b"Fo", "Fö".encode()).replace(b"\n", b"\r\n")
    with ScriptedServer(Reply(chunks=[whole[i : i + 1] for i in range(len(whole))])) as server:
        assert ask(served("openai", server), watch=lambda piece: False).text == "Four.".replace("o", "ö")


def test_a_server_that_does_not_stream_is_read_all_the_same() -> None:
    for wire in WIRES:
        pieces: list[str] = []
        body = json.dumps(bodies.WHOLE[wire], indent=1)
        with ScriptedServer(body) as server:
            response = ask(served(wire, server), watch=lambda piece, heard=pieces: heard.append(piece) is not None)

        assert (response.text, pieces) == ("Four.", ["Four."])


def test_an_error_in_the_middle_of_a_stream_is_that_error() -> None:
    for wire, sent in {
        "openai": events({"error": {"message": "busy", "code": 503}}),
        "anthropic": events({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}),
        "ollama_chat": lines({"message": {"content": "a"}, "done": False}, {"error": "busy"}),
    }.items():
        with ScriptedServer(Reply(chunks=sent)) as server:
            assert isinstance(fault(served(wire, server), watch=lambda piece: False), Transient)


def test_a_stream_that_ollama_cut_in_a_loop_is_the_subjects_loop() -> None:
    sent = lines(*({"message": {"content": "G"}, "done": False} for _ in range(31)))
    with ScriptedServer(Reply(chunks=sent)) as server:
        response = ask(served("ollama_chat", server), watch=lambda piece: False)

    assert (response.status, response.reason, response.loop) == (
        "subject_error",
        "incomplete_done_false",
        "IDENTITY_LOOP",
    )


def test_a_server_that_knows_no_stream_options_is_asked_without_them() -> None:
    no = Reply({"error": {"message": "Unknown parameter: 'stream_options'"}}, 400)
    with ScriptedServer(no, Reply(chunks=bodies.STREAMED["openai"])) as server:
        response = ask(served("openai", server), watch=lambda piece: False)

    assert ["stream_options" in s.json for s in server.seen] == [True, False]
    assert (response.attempts, response.notes) == (2, ("stream_usage_rejected",))


# Sampling and schema.


def test_a_parameter_that_the_model_does_not_take_is_refused_before_anything_is_sent() -> None:
    with ScriptedServer(bodies.openai()) as server:
        cold = fault(served("openai", server, name="openai/gpt-5-mini"), request(sampling=Sampling(temperature=0)))
        top = fault(served("openai", server, name="openai/gpt-5-mini"), request(sampling=Sampling(top_p=0.5)))

    assert (cold.reason, top.reason) == ("unsupported_parameter", "unsupported_parameter")
    assert ("temperature" in str(cold), "top_p" in str(top), server.seen) == (True, True, [])


def test_a_cap_that_the_protocol_requires_is_told() -> None:
    with ScriptedServer(bodies.anthropic()) as server:
        response = ask(served("anthropic", server), request(sampling=Sampling()))

    assert (response.sampling.max_tokens, response.notes) == (4096, ("max_tokens_required:4096",))


@pytest.mark.parametrize(
    ("wire", "name", "structured", "key"),
    [
        ("openai", "openai/gpt-4o-mini", "json_schema", "response_format"),
        ("openai", "openai/a-server-of-my-own", "json_schema", "response_format"),
        ("ollama_chat", "ollama_chat/gloss:v10", "json_schema", "format"),
        ("ollama", "ollama/gloss:v10", "json_schema", "format"),
        ("gemini", "gemini/gemini-2.5-flash", "json_schema", "generationConfig"),
        ("gemini", "gemini/a-new-one", "json_object", "generationConfig"),
        ("anthropic", "anthropic/claude-sonnet-4-5", "json_schema", "output_format"),
        ("anthropic", "anthropic/claude-3-haiku-20240307", "json_schema", "tools"),
    ],
)
def test_the_shape_of_the_reply_is_asked_for_as_strictly_as_the_provider_can(
    wire: str, name: str, structured: str, key: str
) -> None:
    with ScriptedServer(bodies.WHOLE[wire]) as server:
        response = ask(served(wire, server, name=name), request(reply_schema=verdict_schema()))

    sent = server.seen[0].json
    assert response.structured == structured
    assert ("verdict_reason" in json.dumps(sent[key])) == (structured == "json_schema")
    assert "$schema" not in json.dumps(sent)


def test_a_server_that_refuses_the_schema_is_asked_in_a_weaker_way_and_not_again() -> None:
    no = Reply({"error": {"message": "response_format.type 'json_schema' is unavailable now"}}, 400)
    with ScriptedServer(no, bodies.openai(), bodies.openai()) as server:
        model = served("openai", server)

        async def twice() -> list[Any]:
            answers = [await model.complete(request(reply_schema=verdict_schema())) for _ in range(2)]
            await model.close()
            return answers

        first, second = asyncio.run(twice())

    assert (first.attempts, first.structured, first.notes) == (2, "json_object", ("schema_mode_rejected",))
    assert (second.attempts, second.structured, second.notes) == (1, "json_object", ())
    assert [s.json["response_format"]["type"] for s in server.seen] == ["json_schema", "json_object", "json_object"]


# Ollama's silent cut.


def test_a_long_prompt_gets_a_context_that_holds_it_and_a_short_one_is_left_alone() -> None:
    with ScriptedServer(bodies.ollama_chat()) as server:
        short = ask(served("ollama_chat", server))
        long = ask(served("ollama_chat", server), request("word " * 2000))
        declared = ask(served("ollama_chat", server, declared_context=1024))

    assert [s.json["options"].get("num_ctx") for s in server.seen] == [None, 8192, 1024]
    assert (short.notes, declared.notes) == ((), ("num_ctx:1024",))
    # 41 tokens for 10,000 characters: the server kept the end of the prompt and threw away the rest.
    assert long.notes == ("num_ctx:8192", "prompt_may_be_cut")


# Keys and addresses.


SECRETS = ("hunter2-secret", KEY)


def test_no_secret_is_said_in_any_error() -> None:
    said = f"Bad key {KEY}; Authorization: Bearer {KEY}; see https://x.test/?key={KEY}"
    with ScriptedServer(lambda seen: Reply({"error": {"message": said + " hunter2-secret"}}, 401)) as server:
        base = server.url.replace("http://", "http://me:hunter2-secret@") + "/v1"
        model = served("openai", server, api_base=base)
        errors = [str(fault(model)), str(pytest.raises(CallError, look, model).value), repr(model), repr(vars(model))]

    assert not [s for s in SECRETS for e in errors[:3] if s in e]
    assert server.seen[0].headers["authorization"].startswith("Basic ")


def test_a_missing_key_names_its_variable_and_nothing_is_sent() -> None:
    for name, variable in {
        "openai/gpt-4o": "OPENAI_API_KEY",
        "gemini/gemini-2.5-flash": "GEMINI_API_KEY",
        "anthropic/claude-sonnet-4-5": "ANTHROPIC_API_KEY",
        "groq/llama-3.1-8b-instant": "GROQ_API_KEY",
    }.items():
        model = LiteLLMModel(name, env={})
        for act in (look, fault):
            error = act(model) if act is fault else pytest.raises(Permanent, act, model).value

            assert isinstance(error, Permanent)
            assert (error.reason, variable in str(error)) == ("key_missing", True)


def test_a_server_of_ones_own_needs_no_key() -> None:
    with ScriptedServer(bodies.openai()) as server:
        assert ask(served("openai", server, api_key=None)).text == "Four."


def test_the_environment_is_litellms_own() -> None:
    with ScriptedServer(bodies.ollama_chat()) as ollama, ScriptedServer(bodies.openai()) as other:
        ask(LiteLLMModel("ollama_chat/x", env={"OLLAMA_API_BASE": ollama.url}))
        ask(LiteLLMModel("openai/x", env={"OPENAI_BASE_URL": f"{other.url}/v1", "OPENAI_API_KEY": KEY}))

    assert (ollama.seen[0].path, other.seen[0].path) == ("/api/chat", "/v1/chat/completions")
    assert other.seen[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    "base",
    ["127.0.0.1:11434", "ftp://x", "http://", "http://x:99999", "http://x:a", "http:// x", "http://x:0", "http://x/?key=s3cr3t-value", "http://[::1"],
)  # fmt: skip
def test_an_address_that_is_none_is_a_malformed_call(base: str) -> None:
    model = LiteLLMModel("openai/x", api_base=base, env={})

    for act in (look, ask):
        error = pytest.raises(InputError, act, model).value

        assert (error.code, error.exit_code, "s3cr3t-value" in str(error)) == ("bad_api_base", 2, False)


def test_a_provider_that_nobody_knows_is_a_malformed_call() -> None:
    error = pytest.raises(InputError, ask, LiteLLMModel("nonsense/x", env={})).value

    assert error.code == "unknown_provider"


# Preflight.


def test_preflight_finds_a_dead_address_at_once_and_without_litellm() -> None:
    base = f"http://127.0.0.1:{free_port()}"
    started = time.perf_counter()

    error = pytest.raises(Transient, look, LiteLLMModel("ollama_chat/x", api_base=base, env={})).value

    assert time.perf_counter() - started < 1
    assert (
        str(error)
        == f"Nothing listens at {base} (ollama_chat/x). Start it with `ollama serve`, or point --api-base elsewhere."
    )


def test_preflight_asks_ollama_whether_the_model_is_there() -> None:
    tags = {"models": [{"name": "gloss:latest"}, {"name": "llama3.2:3b"}]}
    with ScriptedServer(tags) as server:
        look(LiteLLMModel("ollama_chat/gloss", api_base=server.url, env={}))
        look(LiteLLMModel("ollama/llama3.2:3b", api_base=server.url, env={}))
        error = pytest.raises(Permanent, look, LiteLLMModel("ollama_chat/gloss:v10", api_base=server.url, env={})).value

    assert (error.reason, "`ollama pull gloss:v10`" in str(error)) == ("model_not_found", True)
    assert {(s.method, s.path) for s in server.seen} == {("GET", "/api/tags")}


def test_preflight_hears_a_refused_key_on_every_wire() -> None:
    paths = {
        "openai": "/v1/models",
        "gemini": "/v1beta/models/gemini-2.5-flash",
        "anthropic": "/v1/models/claude-sonnet-4-5",
    }
    for wire, path in paths.items():
        with ScriptedServer(Reply({"error": {"message": "no"}}, 401)) as server:
            error = pytest.raises(Permanent, look, served(wire, server)).value

        assert (error.reason, server.seen[0].path) == ("key_refused", path)


@pytest.mark.parametrize(
    "reply", [Reply("no", 404), Reply("no", 405), Reply("<html>"), Reply("", 503), Reply(end="silent")]
)
def test_preflight_lets_pass_what_it_cannot_decide(reply: Reply) -> None:
    for wire in WIRES:
        with ScriptedServer(reply) as server:
            look(served(wire, server))


def test_importing_and_preflight_load_neither_litellm_nor_more_than_they_need() -> None:
    program = f"""
import asyncio, sys
from abjudge.adapters.litellm_model import LiteLLMModel
from abjudge.adapters.waits import wait_s
print("litellm" in sys.modules, "aiohttp" in sys.modules)
try:
    asyncio.run(LiteLLMModel("openai/x", api_base="http://127.0.0.1:{free_port()}/v1", env={{}}).preflight())
except Exception as error:
    print(type(error).__name__)
print("litellm" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert (done.stdout.split(), done.stderr) == (["False", "False", "Transient", "False"], "")


# The plain way, through litellm.acompletion.


@pytest.mark.parametrize("wire", WIRES)
def test_the_direct_way_and_litellms_own_agree(wire: str) -> None:
    with ScriptedServer(bodies.WHOLE[wire]) as server:
        direct, plain = ask(served(wire, server)), ask(served(wire, server, plain=True))
        paths = {s.path for s in server.seen}

    same = ("text", "status", "tokens_in", "tokens_out", "finish_reason", "truncated", "cost_usd", "sampling")
    assert {k: getattr(plain, k) for k in same} == {k: getattr(direct, k) for k in same}
    assert len(server.seen) == 2
    assert len(paths) == 1


@pytest.mark.parametrize(
    "reply",
    [
        Reply({"error": {"message": "Rate limit reached", "code": "rate_limit_exceeded"}}, 429, {"Retry-After": "7"}),
        Reply({"error": {"message": "exceeded", "code": "insufficient_quota"}}, 429),
        Reply({"error": {"message": "filtered", "code": "content_filter"}}, 400),
        Reply({"error": {"message": "The model `m` does not exist", "code": "model_not_found"}}, 404),
        Reply({"error": {"message": "maximum context length is 9", "code": "context_length_exceeded"}}, 400),
        Reply({"error": {"message": "no"}}, 401),
        Reply({"error": {"message": "no"}}, 503),
    ],
    ids=lambda reply: f"{reply.status}-{reply.body['error'].get('code')}",
)
def test_the_direct_way_and_litellms_own_name_a_fault_alike(reply: Reply) -> None:
    with ScriptedServer(reply) as server:
        direct, plain = fault(served("openai", server)), fault(served("openai", server, plain=True))

    def verdict(error: CallError) -> tuple[Any, ...]:
        return type(error), error.reason, error.status, error.retry_after_s

    assert verdict(plain) == verdict(direct)
    assert len(server.seen) == 2


def test_the_plain_way_meets_a_dead_address_and_a_limit_as_the_direct_way_does() -> None:
    base = f"http://127.0.0.1:{free_port()}/v1"
    dead = fault(LiteLLMModel("openai/x", api_base=base, env={}, plain=True))
    with ScriptedServer(Reply(bodies.openai(), delay_s=3)) as server:
        slow = fault(served("openai", server, plain=True), request(timeout_s=0.3))

    assert [(type(e), e.reason) for e in (dead, slow)] == [(Transient, "unreachable"), (Transient, "timeout")]


def test_the_plain_way_streams() -> None:
    pieces: list[str] = []
    with ScriptedServer(
        Reply(chunks=bodies.STREAMED["openai"], headers={"Content-Type": "text/event-stream"})
    ) as server:
        response = ask(served("openai", server, plain=True), watch=lambda piece: pieces.append(piece) is not None)

    assert (response.text, response.finish_reason, "".join(pieces)) == ("Four.", "stop", "Four.")
