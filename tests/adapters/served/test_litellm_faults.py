"""What a call to a served model comes to when the network, the server or the clock is against it."""

import gzip
import json
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from abjudge.adapters.served.litellm_model import LiteLLMModel
from abjudge.adapters.served.waits import wait_s
from abjudge.domain.errors import Transient
from tests.support import bodies
from tests.support.asking import NAMES, ask, fault, free_port, request, served
from tests.support.scripted_server import Reply, ScriptedServer

# litellm's own models, built while a request is translated; its own filter for this is undone by pytest.
pytestmark = pytest.mark.filterwarnings("ignore:.*ReadOnly.*:UserWarning")

WIRES = tuple(NAMES)


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
