"""A watched answer is the same as an unwatched one, and can be stopped."""

import json
import time

import pytest

from abjudge.domain.errors import Transient
from tests.support import bodies
from tests.support.asking import NAMES, ask, fault, served
from tests.support.scripted_server import Reply, ScriptedServer, events, lines

# litellm's own models, built while a request is translated; its own filter for this is undone by pytest.
pytestmark = pytest.mark.filterwarnings("ignore:.*ReadOnly.*:UserWarning")

WIRES = tuple(NAMES)


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
