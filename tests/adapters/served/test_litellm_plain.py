"""The plain way, through litellm.acompletion, comes to the same as the direct one."""

from typing import Any

import pytest

from abjudge.adapters.served.litellm_model import LiteLLMModel
from abjudge.domain.errors import CallError, Transient
from tests.support import bodies
from tests.support.asking import NAMES, ask, fault, free_port, request, served
from tests.support.scripted_server import Reply, ScriptedServer

# litellm's own models, built while a request is translated; its own filter for this is undone by pytest.
pytestmark = pytest.mark.filterwarnings("ignore:.*ReadOnly.*:UserWarning")

WIRES = tuple(NAMES)


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
