"""The embedded models: heads of files and grammars on crafted values, and (slow) the real models themselves.

No test here expects a certain text: it may differ between processors.
"""

import asyncio
import contextlib
import json
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abjudge.adapters.embedded import grammar
from abjudge.adapters.embedded.chat import EmbeddedChat
from abjudge.adapters.embedded.gguf import read_gguf_head
from abjudge.adapters.embedded.store import CATALOGUE, ModelStore
from abjudge.domain.calls import Request, Response, Sampling
from abjudge.domain.errors import Permanent, Transient
from abjudge.domain.rubrics import FIVE
from abjudge.domain.status import Status
from abjudge.domain.verdicts import verdict_schema

VERDICT = verdict_schema(FIVE)


# --- the head of a GGUF file


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def key(name: str, kind: int, value: bytes) -> bytes:
    return text(name) + struct.pack("<I", kind) + value


def gguf(*keys: bytes, tensors: bytes = b"", n_tensors: int = 0, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, n_tensors, len(keys)) + b"".join(keys) + tensors


HEAD = (
    key("general.architecture", 8, text("tiny")),
    key("general.name", 8, text("Tiny One")),
    key("tiny.context_length", 4, struct.pack("<I", 512)),
    key("tokens", 9, struct.pack("<IQ", 8, 2) + text("a") + text("bc")),
    key("scores", 9, struct.pack("<IQ", 6, 3) + struct.pack("<3f", 1, 2, 3)),
    key("tokenizer.chat_template", 8, text("{{ messages }}")),
)
TENSOR = text("w") + struct.pack("<IQIQ", 1, 4, 0, 64)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "model.gguf"


def test_the_head_tells_what_the_model_is(file: Path) -> None:
    file.write_bytes(gguf(*HEAD))

    head = read_gguf_head(file)

    assert (head.architecture, head.name, head.context, head.has_chat_template) == ("tiny", "Tiny One", 512, True)


def test_a_model_without_a_template_has_none(file: Path) -> None:
    file.write_bytes(gguf(*HEAD[:-1]))

    assert not read_gguf_head(file).has_chat_template


def test_tensors_beyond_the_end_mean_that_the_file_was_cut(file: Path) -> None:
    whole = gguf(*HEAD, tensors=TENSOR, n_tensors=1) + bytes(200)
    file.write_bytes(whole)
    read_gguf_head(file)
    file.write_bytes(whole[:-180])

    with pytest.raises(Permanent, match="it was cut"):
        read_gguf_head(file)


BAD = {
    "empty": b"",
    "no magic": b"PK\x03\x04" + bytes(100),
    "old version": gguf(*HEAD, version=1),
    "big endian": b"GGUF" + struct.pack(">IQQ", 3, 0, 0),
    "many keys": b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 60),
    "many tensors": b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 0),
    "long text": gguf(struct.pack("<Q", 1 << 62)),
    "long array": gguf(key("a", 9, struct.pack("<IQ", 8, 1 << 62))),
    "unknown type": gguf(key("a", 99, b"")),
    "nested arrays": gguf(key("a", 9, struct.pack("<IQ", 9, 1) * 50)),
    "not utf-8": gguf(struct.pack("<Q", 2) + b"\xff\xff" + struct.pack("<IB", 0, 1)),
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD)
def test_garbage_is_refused_with_the_path_and_the_next_step(file: Path, content: bytes) -> None:
    file.write_bytes(content)

    with pytest.raises(Permanent) as caught:
        read_gguf_head(file)

    assert caught.value.reason == "bad_model_file"
    assert str(file) in str(caught.value)


def test_a_head_cut_anywhere_is_refused(file: Path) -> None:
    whole = gguf(*HEAD)
    for end in range(len(whole)):
        file.write_bytes(whole[:end])

        with pytest.raises(Permanent):
            read_gguf_head(file)


def test_a_bad_file_fails_the_call_and_not_the_process(file: Path) -> None:
    pytest.importorskip("xllamacpp")
    file.write_bytes(gguf(*HEAD, tensors=TENSOR, n_tensors=1) + bytes(500))  # a good head, and nothing behind it

    async def ask() -> None:
        chat = EmbeddedChat("embedded/bad", file, context=128)
        try:
            await chat.complete(Request(system="", user="Hello"))
        finally:
            await chat.close()

    with pytest.raises(Permanent) as caught:
        asyncio.run(ask())

    assert caught.value.reason == "bad_model_file"


def test_preflight_names_the_missing_file(file: Path) -> None:
    pytest.importorskip("xllamacpp")

    with pytest.raises(Permanent, match="models fetch") as caught:
        asyncio.run(EmbeddedChat("embedded/none", file, context=128).preflight())

    assert caught.value.reason == "embedded_missing"


def test_preflight_names_the_missing_library(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(Permanent, match=r"abjudge\[embedded\]") as caught:
        asyncio.run(EmbeddedChat("embedded/none", file, context=128).preflight())

    assert caught.value.reason == "embedded_missing"


# --- narrowing a verdict

SHEET = st.fixed_dictionaries({name: st.integers(1, 5) for name in FIVE.names})


def a_verdict(schema: dict[str, Any], choice: str) -> dict[str, Any]:
    parts = schema["properties"]
    words = dict.fromkeys(FIVE.names, "It names the numbers.")
    return {
        "scores": parts["scores"]["const"],
        "totals": parts["totals"]["const"],
        "justifications": words,
        "verdict": choice,
        "verdict_reason": "It is the better one.",
    }


@given(a=SHEET, b=SHEET)
def test_whatever_the_scores_only_agreeing_verdicts_are_left(a: dict[str, int], b: dict[str, int]) -> None:
    schema = grammar.narrow(VERDICT, {"scores": {"A": a, "B": b}})

    total_a, total_b = sum(a.values()), sum(b.values())
    allowed = set(schema["properties"]["verdict"]["enum"])
    expected = {"A", "B", "tie"} if total_a == total_b else {"A" if total_a > total_b else "B", "tie"}
    assert allowed == expected
    assert schema["properties"]["totals"] == {"const": {"A": total_a, "B": total_b}}
    for choice in allowed:
        jsonschema.validate(a_verdict(schema, choice), schema)
        jsonschema.validate(a_verdict(schema, choice), VERDICT)


def test_narrowing_leaves_the_schema_itself_alone_and_keeps_its_order() -> None:
    before = json.dumps(VERDICT)
    sheet = dict.fromkeys(FIVE.names, 3)

    narrowed = grammar.narrow(VERDICT, {"scores": {"A": sheet, "B": sheet}})

    assert json.dumps(VERDICT) == before
    assert list(narrowed["properties"]) == list(VERDICT["properties"])


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"properties": {"scores": 1}}, {"properties": {"a": {}}}])
def test_other_schemas_are_no_verdicts(schema: dict[str, Any]) -> None:
    assert grammar.is_verdict(VERDICT)
    assert not grammar.is_verdict(schema)


# --- the real models

slow = pytest.mark.slow


def chat_of(name: str, *, context: int = 2048) -> EmbeddedChat:
    pytest.importorskip("xllamacpp")
    path = ModelStore().path_of(name)
    if path is None:
        pytest.skip(f"embedded/{name} is not in the cache: run `abjudge models fetch {name} --yes`")
    return EmbeddedChat(f"embedded/{name}", path, context=context, sha256=CATALOGUE[name].sha256)


class Bench:
    """A model and a loop to ask it on."""

    def __init__(self, chat: EmbeddedChat) -> None:
        self.chat = chat
        self.runner = asyncio.Runner()

    def ask(self, user: str, *, system: str = "", watch: Any = None, timeout_s: float = 120, **more: Any) -> Response:
        schema = more.pop("reply_schema", None)
        request = Request(system=system, user=user, sampling=Sampling(**more), reply_schema=schema, timeout_s=timeout_s)
        return self.runner.run(self.chat.complete(request, watch=watch))


@pytest.fixture(scope="module", params=list(CATALOGUE))
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    made = Bench(chat_of(request.param))
    yield made
    made.runner.run(made.chat.close())
    made.runner.close()


@slow
def test_an_answer_says_how_it_was_made(bench: Bench) -> None:
    answer = bench.ask("Count to three.", system="Be brief.", max_tokens=5, temperature=0, seed=2**32)

    assert answer.status is Status.COMPLETED
    assert (answer.finish_reason, answer.truncated, answer.tokens_out) == ("length", True, 5)
    assert answer.tokens_in is not None and answer.tokens_in > 5
    assert answer.cost_usd == 0.0
    assert answer.sampling == Sampling(temperature=0, max_tokens=5, seed=1)
    assert answer.resolved_model is not None and "sha256:" in answer.resolved_model


@slow
def test_a_stop_string_ends_it(bench: Bench) -> None:
    answer = bench.ask("Write a long story.", max_tokens=200, temperature=0, stop=("e",))

    assert answer.finish_reason == "stop"
    assert "e" not in answer.text


@slow
def test_the_same_seed_gives_the_same_text_whatever_came_between(bench: Bench) -> None:
    first = bench.ask("Tell me of the sea.", max_tokens=30, temperature=0.9, seed=7)
    bench.ask("Tell me of the mountains.", max_tokens=10, temperature=0.9, seed=8)
    second = bench.ask("Tell me of the sea.", max_tokens=30, temperature=0.9, seed=7)

    assert first.text == second.text


@slow
def test_calls_at_once_get_each_its_own_answer(bench: Bench) -> None:
    alone = [bench.ask(f"Tell me of {it}.", max_tokens=12, temperature=0.9, seed=7).text for it in ("war", "peace")]

    async def both() -> list[str]:
        asked = [
            Request(system="", user=f"Tell me of {it}.", sampling=Sampling(max_tokens=12, temperature=0.9, seed=7))
            for it in ("war", "peace")
        ]
        return [r.text for r in await asyncio.gather(*(bench.chat.complete(one) for one in asked))]

    assert bench.runner.run(both()) == alone


@slow
def test_a_verdict_is_whole_and_does_not_contradict_itself(bench: Bench) -> None:
    answer = bench.ask(
        "PROMPT: Why is my bread dense?\n\nRESPONSE A: It rose for too short a time.\n\nRESPONSE B: Who knows.",
        system="Score two responses from 1 to 5 on each criterion and name the better one. Return JSON only.",
        reply_schema=VERDICT,
        max_tokens=700,
        temperature=0,
        seed=1,
    )

    verdict = json.loads(answer.text)
    jsonschema.validate(verdict, VERDICT)
    totals = {label: sum(sheet.values()) for label, sheet in verdict["scores"].items()}
    assert verdict["totals"] == totals
    assert verdict["verdict"] == "tie" or totals[verdict["verdict"]] == max(totals.values())
    assert (answer.structured, answer.finish_reason) == ("grammar", "stop")


@slow
def test_any_other_schema_is_obeyed_too(bench: Bench) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}, "required": ["n"]}

    answer = bench.ask("A number.", reply_schema={**schema, "additionalProperties": False}, max_tokens=60, seed=1)

    assert answer.structured == "grammar"
    jsonschema.validate(json.loads(answer.text), schema)


@slow
def test_a_watch_ends_it_at_once(bench: Bench) -> None:
    pieces: list[str] = []

    def enough(piece: str) -> bool:
        pieces.append(piece)
        return len(pieces) == 4

    answer = bench.ask("Write a long story.", max_tokens=400, temperature=0, watch=enough)

    assert answer.finish_reason == "aborted"
    assert answer.text == "".join(pieces)
    assert len(pieces) == 4


@slow
def test_what_a_watch_raises_reaches_the_caller(bench: Bench) -> None:
    def broken(piece: str) -> bool:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        bench.ask("Write a long story.", max_tokens=400, watch=broken)


@slow
def test_a_prompt_beyond_the_context_is_refused_with_numbers(bench: Bench) -> None:
    with pytest.raises(Permanent, match="2048") as caught:
        bench.ask("word " * 3000)

    assert caught.value.reason == "context_overflow"


@slow
def test_time_runs_out_also_while_the_prompt_is_read(bench: Bench) -> None:
    started = time.monotonic()

    with pytest.raises(Transient) as caught:
        bench.ask("word " * 1900, timeout_s=0.2)

    assert caught.value.reason == "timeout"
    assert time.monotonic() - started < 5


@slow
def test_a_cancelled_call_leaves_the_model_free(bench: Bench) -> None:
    async def give_up() -> None:
        request = Request(system="", user="Write a long story.", sampling=Sampling(max_tokens=1500))
        await asyncio.wait_for(bench.chat.complete(request), 0.5)

    with pytest.raises(TimeoutError):
        bench.runner.run(give_up())
    started = time.monotonic()
    bench.ask("Hello", max_tokens=1)

    assert time.monotonic() - started < 5


@slow
def test_the_loop_runs_on_while_a_model_answers(bench: Bench) -> None:
    async def ticks() -> AsyncIterator[float]:
        while True:
            yield time.monotonic()
            await asyncio.sleep(0.01)

    async def longest_pause() -> float:
        request = Request(system="", user="word " * 400, sampling=Sampling(max_tokens=20))
        task = asyncio.create_task(bench.chat.complete(request))
        last, longest = time.monotonic(), 0.0
        async for now in ticks():
            last, longest = now, max(longest, now - last)
            if task.done():
                return longest
        return longest

    assert bench.runner.run(longest_pause()) < 0.5


@slow
def test_a_closed_model_can_be_closed_again_and_asked_again() -> None:
    bench = Bench(chat_of("smollm2-135m"))
    bench.ask("Hello", max_tokens=1)
    bench.runner.run(bench.chat.close())
    bench.runner.run(bench.chat.close())

    assert bench.ask("Hello", max_tokens=1).tokens_out == 1
    bench.runner.run(bench.chat.close())


@slow
def test_a_file_that_is_not_the_one_that_was_fetched_is_refused() -> None:
    path = ModelStore().path_of("smollm2-135m")
    if path is None:
        pytest.skip("embedded/smollm2-135m is not in the cache: run `abjudge models fetch smollm2-135m --yes`")
    chat = EmbeddedChat("embedded/smollm2-135m", path, context=512, sha256="0" * 64)

    with pytest.raises(Permanent) as caught:
        asyncio.run(chat.complete(Request(system="", user="Hello")))

    assert caught.value.reason == "model_checksum"
    assert "models fetch smollm2-135m" in str(caught.value)


LONG_CALL = """
import asyncio, sys
from pathlib import Path
from abjudge.adapters.embedded.chat import EmbeddedChat
from abjudge.domain.calls import Request, Sampling
async def main():
    chat = EmbeddedChat("embedded/it", Path(sys.argv[1]), context=4096)
    await chat.complete(Request(system="", user="Hello", sampling=Sampling(max_tokens=1)))
    print("ready", flush=True)
    await chat.complete(Request(system="", user=sys.argv[2] * 3000, sampling=Sampling(max_tokens=1000)))
asyncio.run(main())
"""


@slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_process_and_llama_cpp_prints_nothing(number: signal.Signals) -> None:
    path = ModelStore().path_of("smollm2-135m")
    if path is None:
        pytest.skip("embedded/smollm2-135m is not in the cache: run `abjudge models fetch smollm2-135m --yes`")
    process = subprocess.Popen(
        [sys.executable, "-c", LONG_CALL, str(path), "word "], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    time.sleep(1)

    sent = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=30)

    assert time.monotonic() - sent < 4
    assert process.returncode == -number
    assert out == ""
    assert "KeyboardInterrupt" in err if number is signal.SIGINT else err == ""


def open_ports() -> set[str]:
    """Inodes of the TCP sockets of this process that listen; other processes share the tables."""
    mine = set()
    for fd in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # the descriptor that lists the folder is gone by now
            mine.add(str(fd.readlink()))
    rows = [
        row.split() for table in ("tcp", "tcp6") for row in Path(f"/proc/self/net/{table}").read_text().splitlines()
    ]
    return {row[9] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in mine}


@slow
@pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="looks into /proc")
def test_no_port_is_open_and_no_socket_file_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = open_ports()
    bench = Bench(chat_of("smollm2-135m"))

    bench.ask("Hello", max_tokens=1)

    assert open_ports() == before
    assert list(tmp_path.iterdir()) == []
    bench.runner.run(bench.chat.close())
