"""The adapter over litellm: one request a call, nothing hidden, nothing dropped in silence."""

import asyncio
import json
import socket
import subprocess
import sys
import time
from typing import Any

import pytest

from abjudge.adapters.served.litellm_model import LiteLLMModel
from abjudge.domain.calls import Request, Sampling
from abjudge.domain.errors import Transient
from abjudge.domain.verdicts import verdict_schema
from tests.support import bodies
from tests.support.asking import NAMES, ask, fault, request, served
from tests.support.scripted_server import Reply, ScriptedServer

# litellm's own models, built while a request is translated; its own filter for this is undone by pytest.
pytestmark = pytest.mark.filterwarnings("ignore:.*ReadOnly.*:UserWarning")

WIRES = tuple(NAMES)


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
    names: list[Any] = []
    open_door, look_up = socket.socket.connect, socket.getaddrinfo

    def watched(self: socket.socket, address: Any) -> None:
        doors.append(address[1])
        open_door(self, address)

    class Watched(socket.socket):
        connect = watched

    monkeypatch.setattr(socket, "socket", Watched)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **k: (names.append(a[0]), look_up(*a, **k))[1])
    ports = []
    for wire in WIRES:
        with ScriptedServer(bodies.WHOLE[wire]) as server:
            ask(served(wire, server, name=f"{wire}/a-model-nobody-knows"))
            ports.append(server.port)

    assert (doors, names) == (ports, [])


def test_a_call_prints_nothing_and_an_error_neither() -> None:
    program = """
import sys
from tests.support import bodies
from tests.support.asking import ask, fault, served
from tests.support.scripted_server import Reply, ScriptedServer
for wire in bodies.WHOLE:
    with ScriptedServer(bodies.WHOLE[wire], Reply({"error": "no"}, 500)) as server:
        model = served(wire, server, name=f"{wire}/a-model-nobody-knows")
        ask(model)
        fault(model)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert (done.stdout, done.stderr) == ("", "")


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


def test_a_long_prompt_gets_a_context_that_holds_it_and_a_short_one_is_left_alone() -> None:
    with ScriptedServer(bodies.ollama_chat()) as server:
        short = ask(served("ollama_chat", server))
        long = ask(served("ollama_chat", server), request("word " * 2000))
        declared = ask(served("ollama_chat", server, declared_context=1024))

    assert [s.json["options"].get("num_ctx") for s in server.seen] == [None, 8192, 1024]
    assert (short.notes, declared.notes) == ((), ("num_ctx:1024",))
    # 41 tokens for 10,000 characters: the server kept the end of the prompt and threw away the rest.
    assert long.notes == ("num_ctx:8192", "prompt_may_be_cut")
