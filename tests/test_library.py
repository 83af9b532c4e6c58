"""The library does what the command does, without a word on any stream."""

import asyncio

import pytest

import abjudge
from tests.cli.test_compare import answer
from tests.support.scripted_server import ScriptedServer


def options(server):
    base = f"{server.url}/v1"
    return {
        "producer": "openai/one",
        "judge": "openai/two",
        "scaffold": "text:Think.",
        "api_base": base,
        "judge_api_base": base,
        "producer_family": "qwen",
        "judge_family": "mistral",
        "environ": {"PATH": ""},
    }


def test_compare_returns_the_outcome_and_prints_nothing(capfd):
    with ScriptedServer(answer) as server:
        (outcome,) = asyncio.run(abjudge.compare("How do I?", both_orders=True, **options(server)))

    assert (outcome.status, outcome.verdict) == (abjudge.Status.COMPLETED, "scaffolded")
    assert capfd.readouterr() == ("", "")


def test_the_sync_wrapper_gives_the_same():
    with ScriptedServer(answer) as server:
        (one,) = abjudge.compare_sync("How do I?", seed=1, **options(server))
        (other,) = abjudge.compare_sync("How do I?", seed=1, **options(server))

    assert one.id == other.id
    assert one.verdict == other.verdict


@pytest.mark.parametrize("wrong", [{"seed": -1}, {"no_such": 1}, {"scaffold": "fil:x"}, {"judge": ("openai/two",) * 2}])
def test_a_wrong_call_is_an_input_error(wrong):
    with ScriptedServer(answer) as server, pytest.raises(abjudge.InputError):
        abjudge.compare_sync("x", **{**options(server), **wrong})


def test_parse_verdict_is_public():
    assert abjudge.parse_verdict("").reason == "empty"
