"""Every wire as it was recorded: whole and streamed, free and held to a schema."""

import asyncio
import json
import os

import pytest
from vcr.errors import CannotOverwriteExistingCassetteException

from abjudge.adapters.served.litellm_model import LiteLLMModel
from abjudge.app.compare import compare
from abjudge.app.roles import ask
from abjudge.domain.calls import Request, Sampling
from abjudge.domain.status import Status
from tests.fakes import CASE, FakeScaffold, ListLedger, make_bench
from tests.wires.conftest import FOLDER, RECORDING, cassette, player

WIRES = ("openai", "ollama", "ollama_chat", "gemini")
CAPITAL = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "sure": {"type": "integer", "minimum": 1, "maximum": 5}},
    "required": ["city", "sure"],
    "additionalProperties": False,
}


def model(origin):
    keys = {name: os.environ.get(name, "sk-not-a-key") for name in ("OPENAI_API_KEY", "GEMINI_API_KEY")}
    return LiteLLMModel(origin["model"], api_base=origin["base"], env=keys)


def question(user="Name the capital of France in one short sentence.", cap=48, **fields):
    return Request(
        system="Answer shortly.", user=user, sampling=Sampling(temperature=0.0, max_tokens=cap, seed=7), **fields
    )


def replay(name, origin, request, **options):
    """The response that the cassette holds for this request; every recorded exchange must have been used."""

    async def once():
        asked = model(origin)
        try:
            return await asked.complete(request, **options)
        finally:
            await asked.close()

    with cassette(name) as tape:
        response = asyncio.run(once())
    assert RECORDING or tape.all_played
    return response


@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_comes_with_its_reason_and_its_counts(wire, origins):
    response = replay(f"{wire}-whole", origins[wire], question())

    assert response.status is Status.COMPLETED
    assert response.text.strip()
    assert response.finish_reason in ("stop", "length")
    assert response.tokens_in > 5
    assert response.tokens_out > 0


@pytest.mark.parametrize("wire", WIRES)
def test_a_streamed_answer_comes_in_pieces_and_is_the_same_answer(wire, origins):
    pieces = []

    response = replay(f"{wire}-streamed", origins[wire], question(), watch=lambda text: bool(pieces.append(text)))

    assert "".join(pieces) == response.text
    assert len(pieces) > 1
    assert (response.status, response.truncated) == (Status.COMPLETED, response.finish_reason == "length")
    assert response.tokens_out > 0
    if "facade" in origins[wire]["from"] or "llama.cpp" in origins[wire]["from"]:
        assert response.text == replay(f"{wire}-whole", origins[wire], question()).text


@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_that_is_cut_says_so(wire, origins):
    response = replay(f"{wire}-cut", origins[wire], question("Tell a long story about a lighthouse.", cap=5))

    assert (response.finish_reason, response.truncated) == ("length", True)


@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_held_to_a_schema_obeys_it(wire, origins):
    asked = question("Give the capital of France and how sure you are, from 1 to 5.", reply_schema=CAPITAL)

    response = replay(f"{wire}-schema", origins[wire], asked)

    assert response.structured == "json_schema"
    assert set(json.loads(response.text)) == {"city", "sure"}


def test_a_whole_comparison_over_two_wires(origins):
    async def once():
        producer, judge = model(origins["ollama_chat"]), model(origins["openai"])
        try:
            bench = make_bench(producer, judge, scaffolds=[FakeScaffold("Answer in one word.", "text:one")])
            return await compare(CASE, bench, ListLedger())
        finally:
            await producer.close()
            await judge.close()

    with cassette("comparison") as tape:
        (outcome,) = asyncio.run(once())

    assert RECORDING or tape.all_played
    assert all(seen.usable for seen in outcome.observations.values())
    assert outcome.status in (Status.COMPLETED, Status.EVALUATOR_ERROR)


@pytest.mark.skipif(RECORDING, reason="nothing is missing while everything is recorded")
@pytest.mark.parametrize("wire", WIRES)
def test_a_request_that_was_never_recorded_fails_at_once_and_is_not_retried(wire, origins):
    tries = []

    async def once():
        asked = model(origins[wire])
        try:
            answer = asked.complete
            asked.complete = lambda request, **rest: tries.append(1) or answer(request, **rest)
            return await ask(asked, question("What was never asked?"), retries_allowed=3)
        finally:
            await asked.close()

    with player.use_cassette(f"{wire}-whole.yaml"), pytest.raises(CannotOverwriteExistingCassetteException):
        asyncio.run(once())

    assert len(tries) == 1


def test_no_cassette_holds_anything_like_a_secret():
    import re

    secret = re.compile(
        r"sk-[A-Za-z0-9_-]{6,}|AIza[\w-]{10,}|Bearer (?!REDACTED)\S+|(?i:[?&]key=(?!REDACTED)|set-cookie|openai-org)"
    )
    texts = {path.name: path.read_text("utf-8") for path in FOLDER.iterdir() if path.suffix in (".yaml", ".json")}

    assert len(texts) > 4 * len(WIRES)
    assert {name: secret.findall(text) for name, text in texts.items() if secret.search(text)} == {}
