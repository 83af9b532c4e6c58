"""`abjudge compare` from its arguments to what it prints, on scripted servers."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

from tests.cli.running import CLEAN, abjudge, process
from tests.fakes import verdict_json
from tests.support.bodies import ollama_chat, openai
from tests.support.scripted_server import Reply, ScriptedServer

SCHEMA = json.loads((Path(__file__).parents[2] / "abjudge/schemas/compare.schema.json").read_text("utf-8"))
FAMILIES = ("--producer-family", "qwen", "--judge-family", "mistral")


@pytest.fixture
def world():
    """A server that produces and judges by OpenAI's wire: scaffolded answers are longer, and the judge likes them."""
    with ScriptedServer(answer) as server:
        yield server


def answer(seen):
    if seen.method == "GET":
        return Reply({"data": []})
    user = seen.json["messages"][-1]["content"]
    if "<<<RESPONSE A" in user:
        first, second = ("a long answer" in part for part in user.split("<<<RESPONSE ")[1:3])
        return Reply(openai(verdict_json(3 + 2 * (first and not second), 3 + 2 * (second and not first))))
    return Reply(openai("a long answer" if "[COGNITIVE SCAFFOLD]" in user else "a short answer"))


def compare(server, *more, prompt="How do I descale a kettle?", **options):
    base = f"{server.url}/v1"
    named = ("--producer", "openai/one", "--judge", "openai/two", "--api-base", base, "--judge-api-base", base)
    asked = ("--prompt", prompt) if prompt is not None else ()
    return abjudge("compare", *asked, *named, *FAMILIES, "--scaffold", "text:Think.", *more, **options)


def test_a_comparison_ends_with_a_verdict_in_words(world):
    done = compare(world, "--both-orders")

    assert done.code == 0
    assert "The judge prefers the scaffolded response in both orders." in done.out
    assert "a long answer" in done.out


def test_json_is_the_whole_outcome_and_nothing_else(world):
    done = compare(world, "--both-orders", "--json")

    jsonschema.validate(done.json, SCHEMA, cls=jsonschema.Draft202012Validator)
    assert (done.code, done.json["status"], done.json["verdict"]) == (0, "completed", "scaffolded")
    assert len(done.json["judgments"]) == 2
    assert done.json["totals"] == {"baseline": 15, "scaffolded": 25}


def test_the_pattern_has_its_four_keys_and_nothing_else(world):
    done = compare(world, "--format", "pattern")

    assert list(done.json) == ["user_message", "baseline_response", "ejentum_response", "evaluation"]
    assert done.json["evaluation"]["mapping"][done.json["evaluation"]["verdict"]] == "ejentum"


def test_the_same_seed_shows_the_same_order_and_asks_the_same(world):
    orders = [compare(world, "--seed", str(n), "--json").json["order"] for n in (1, 1, 2, 3, 4, 5, 6)]
    asked = [s.json for s in world.seen if s.method == "POST"]

    assert orders[0] == orders[1]
    assert len(set(orders)) == 2
    assert sorted(map(str, asked[:3])) == sorted(map(str, asked[3:6]))


def test_both_arms_are_asked_alike_but_for_the_scaffold(world):
    compare(world, "--temperature", "0.3", "--max-tokens", "99", "--seed", "5")

    bare, scaffolded = sorted((s.json for s in world.seen if s.method == "POST"), key=lambda j: len(str(j)))[:2]
    settings = [{k: v for k, v in asked.items() if k != "messages"} for asked in (bare, scaffolded)]
    assert settings[0] == settings[1]
    assert (settings[0]["temperature"], settings[0]["seed"]) == (0.3, 5)
    assert bare["messages"][-1]["content"] == "How do I descale a kettle?"


def test_a_kept_run_is_verified_and_never_written_over(world, tmp_path):
    first = compare(world, "--out", tmp_path / "run")
    again = compare(world, "--out", tmp_path / "run")

    assert (first.code, again.code) == (0, 2)
    assert "never written over" in again.err
    assert abjudge("verify", tmp_path / "run").code == 0
    ledger = tmp_path / "run" / "ledger.jsonl"
    ledger.write_text(ledger.read_text("utf-8").replace("a long answer", "a wise answer"), "utf-8")
    assert abjudge("verify", tmp_path / "run").code == 1
    assert abjudge("verify", tmp_path / "run", "--json").json["intact"] is False


def test_several_scaffolds_give_one_comparison_each(world):
    done = compare(world, "--scaffold", "none", "--json")

    assert [o["scaffold"]["name"][:5] for o in done.json["outcomes"]] == ["text:", "none"]
    assert sum("[COGNITIVE SCAFFOLD]" not in str(s.json) for s in world.seen if s.method == "POST") >= 2
    jsonschema.validate(done.json, SCHEMA, cls=jsonschema.Draft202012Validator)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "Give the prompt once"),
        (("--prompt", "x", "--prompt-file", "y"), "Give the prompt once"),
        (("--prompt", "  "), "The prompt is empty"),
        (("--prompt-file", "no/such/file"), "no file"),
        (("--prompt", "x", "--producer", "gpt-4o"), "Did you mean 'openai/gpt-4o'?"),
        (("--prompt", "x", "--producer", "embedded/nope"), "smollm2-135m"),
        (("--prompt", "x", "--producer", "human"), "not produce"),
        (("--prompt", "x", "--scaffold", "fil:x"), "Did you mean 'file'?"),
        (("--prompt", "x", "--timeout", "0"), "--timeout"),
        (("--prompt", "x", "--temperature", "nan"), "--temperature"),
        (("--prompt", "x", "--no-such-option"), "No such option"),
        (("--prompt", "x", "--producer", "openai/gpt-4o", "--judge", "openai/o3"), "OpenAI"),
        (("--prompt", "x", "--judge", "human", "--producer", "ollama_chat/qwen3"), "terminal"),
        (("--prompt", "x", "--producer", "ollama_chat/qwen3", "--api-base", "127.0.0.1:8080"), "begin with http://"),
        (("--prompt", "x", "--config", "none.toml"), "no file"),
        (("--prompt", "x", "--judge-system", "no/file.md"), "no file"),
    ],
)
def test_a_call_that_is_wrong_is_told_in_one_paragraph_with_exit_2(args, words):
    done = abjudge("compare", *args)

    assert (done.code, done.out) == (2, "")
    assert words in " ".join(done.err.split())
    assert "Traceback" not in done.err


def test_a_dead_server_is_told_at_once_with_exit_3():
    done = abjudge("compare", "--prompt", "x", "--producer", "ollama_chat/x", "--api-base", "http://127.0.0.1:1")

    assert done.code == 3
    assert "Nothing listens at http://127.0.0.1:1" in done.err


def test_a_missing_key_names_its_variable_and_with_json_leaves_one_document():
    done = abjudge("compare", "--prompt", "x", "--producer", "openai/gpt-4o", "--judge", "gemini/x", "--json")

    assert (done.code, done.json["reason"]) == (3, "key_missing")
    assert "OPENAI_API_KEY" in done.err
    jsonschema.validate(done.json, SCHEMA, cls=jsonschema.Draft202012Validator)


def test_a_key_never_shows(world, tmp_path):
    key = "sk-live-0123456789abcdef"
    with ScriptedServer(lambda s: Reply({"error": {"message": f"bad key {key}"}}, status=400)) as angry:
        done = compare(angry, "--json", "--out", tmp_path / "run", env={"OPENAI_API_KEY": key})

    written = "".join(p.read_text("utf-8") for p in (tmp_path / "run").iterdir())
    assert done.code == 3
    assert key not in done.out + done.err + written


def test_a_judge_that_says_nothing_readable_is_exit_3_and_no_verdict():
    def mute(seen):
        return Reply({"data": []}) if seen.method == "GET" else Reply(openai("Lovely, both."))

    with ScriptedServer(mute) as server:
        done = compare(server, "--json")

    assert (done.code, done.json["status"], done.json["verdict"]) == (3, "evaluator_error", None)


@pytest.mark.parametrize(("retries", "code", "requests"), [("0", 3, 1), ("2", 0, 4)])
def test_a_fault_of_transport_is_retried_only_when_asked(retries, code, requests):
    faults = iter([True])

    def flaky(seen):
        if seen.method == "POST" and "[COGNITIVE" not in str(seen.json) and next(faults, False):
            return Reply({"error": "busy"}, status=503, headers={"Retry-After": "0"})
        return answer(seen)

    with ScriptedServer(flaky) as server:
        done = compare(server, "--retries", retries)
        asked = [s for s in server.seen if s.method == "POST"]

    assert done.code == code
    assert len(asked) == (2 if code else requests)


def test_the_prompt_may_come_from_a_file_or_from_standard_input(world, tmp_path):
    file = tmp_path / "prompt.txt"
    file.write_text("\ufeffWie entkalke ich einen Kessel?\n", "utf-8")

    from_file = compare(world, "--prompt-file", file, "--json", prompt=None)
    from_stdin = compare(world, "--json", prompt="-", stdin="Wie entkalke ich einen Kessel?\n")

    assert from_file.json["case"]["prompt"] == from_stdin.json["case"]["prompt"] == "Wie entkalke ich einen Kessel?\n"


def test_a_bare_tag_is_ollamas_chat():
    def ollama(seen):
        if seen.method == "GET":
            return Reply({"models": [{"name": "qwen3:8b"}]})
        return Reply(ollama_chat("a long answer" if "[COGNITIVE" in str(seen.json) else "a short answer"))

    with ScriptedServer(ollama) as producer, ScriptedServer(answer) as judge:
        done = abjudge(
            *("compare", "--prompt", "x", "--producer", "qwen3:8b", "--api-base", producer.url, "--json"),
            *("--judge", "openai/two", "--judge-api-base", f"{judge.url}/v1", "--judge-family", "mistral"),
        )
        paths = {s.path for s in producer.seen}

    assert (done.code, done.json["subject"]["model"]) == (0, "ollama_chat/qwen3:8b")
    assert paths == {"/api/tags", "/api/chat"}


def test_with_nothing_named_a_running_ollama_is_used_and_the_choice_is_told():
    def ollama(seen):
        if seen.method == "GET":
            return Reply({"models": [{"name": "nomic-embed-text"}, {"name": "qwen3:8b"}, {"name": "mistral:7b"}]})
        if "<<<RESPONSE A" in str(seen.json):
            return Reply(ollama_chat(verdict_json()))
        return Reply(ollama_chat("fine"))

    with ScriptedServer(ollama) as server:
        done = abjudge("compare", "--prompt", "x", "--json", env={"OLLAMA_API_BASE": server.url})

    assert done.code == 0
    assert "producer ollama_chat/qwen3:8b: Ollama runs at" in done.err
    assert "judge ollama_chat/mistral:7b" in done.err


def test_the_settings_file_stands_for_options_and_the_command_line_wins(world, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("abjudge.toml").write_text('both_orders = true\nseed = 3\nscaffold = "none"\n', "utf-8")

    done = compare(world, "--seed", "4", "--json")

    assert done.json["order"] == "both"
    assert done.json["subject"]["sampling"]["seed"] == 4
    assert done.json["scaffold"]["name"].startswith("text:")
    assert "settings from abjudge.toml" in done.err


def test_a_key_from_the_settings_file_opens_the_door_and_never_shows(world, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("abjudge.toml").write_text('[keys]\nOPENAI_API_KEY = "sk-from-the-file-0123"\n', "utf-8")

    done = compare(world, "--json", "--out", tmp_path / "run")

    assert world.seen[-1].headers["authorization"] == "Bearer sk-from-the-file-0123"
    written = "".join(p.read_text("utf-8") for p in (tmp_path / "run").iterdir())
    assert "sk-from-the-file" not in done.out + done.err + written


def test_a_provider_that_nobody_knows_is_told_before_anybody_is_paid(world):
    base = f"{world.url}/v1"
    named = ("--producer", "openai/one", "--api-base", base, "--judge", "nobody/two", *FAMILIES)

    done = abjudge("compare", "--prompt", "x", *named, "--scaffold", "text:Think.")

    assert (done.code, [s.method for s in world.seen if s.method == "POST"]) == (2, [])
    assert "nobody/two" in done.err


def test_a_declared_conflict_is_printed_in_the_report(world):
    base = f"{world.url}/v1"
    done = abjudge(
        *("compare", "--prompt", "x", "--producer", "openai/gpt-4o", "--judge", "openai/gpt-4o-mini"),
        *("--api-base", base, "--judge-api-base", base, "--allow-same-family", "--scaffold", "text:Think."),
    )

    assert done.code == 0
    assert "conflict:" in done.out
    assert "OpenAI" in done.out


def test_without_a_terminal_there_is_neither_colour_nor_carriage_return(world):
    done = compare(world)

    assert "\x1b" not in done.out + done.err
    assert "\r" not in done.out + done.err


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_ends_with_130_and_what_was_done_is_kept(tmp_path):
    def slow(seen):
        if seen.method == "GET":
            return Reply({"data": []})
        return Reply(openai("x"), delay_s=0.0 if "[COGNITIVE" in str(seen.json) else 30.0)

    with ScriptedServer(slow) as server:
        base = f"{server.url}/v1"
        child = subprocess.Popen(
            [
                *(sys.executable, "-m", "abjudge", "compare", "--prompt", "x", "--producer", "openai/one"),
                *("--judge", "openai/two", "--api-base", base, "--judge-api-base", base, *FAMILIES),
                *("--scaffold", "text:Think.", "--out", str(tmp_path / "run")),
            ],
            env=CLEAN,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        deadline = time.monotonic() + 60
        ledger = tmp_path / "run" / "ledger.jsonl"
        while not (ledger.exists() and b"observation" in ledger.read_bytes()) and time.monotonic() < deadline:
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=30)

    assert (child.returncode, out) == (130, "")
    assert "Interrupted" in err
    assert "Traceback" not in err
    assert b'"kind":"observation"' in ledger.read_bytes()
    assert abjudge("verify", tmp_path / "run").code == 0


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")
def test_a_person_at_a_terminal_judges_blind(world):
    parent, child = pty.openpty()
    base = f"{world.url}/v1"
    running = subprocess.Popen(
        [
            *(sys.executable, "-m", "abjudge", "compare", "--prompt", "x", "--producer", "openai/one", "--json"),
            *("--judge", "human", "--api-base", base, "--producer-family", "qwen", "--scaffold", "text:Think."),
        ],
        env=CLEAN,
        stdin=child,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.write(parent, b"a\n")
    out, err = running.communicate(timeout=60)
    os.close(parent)
    os.close(child)

    outcome = json.loads(out)
    assert running.returncode == 0
    assert outcome["verdict"] == outcome["judgments"][0]["assignment"]["A"]
    assert "RESPONSE A" in err
    assert "baseline" not in err.partition("=== REQUEST")[2]


def test_a_console_that_knows_no_unicode_gets_question_marks_and_no_crash():
    def foreign(seen):
        if "<<<RESPONSE A" in str(seen.raw) or seen.method == "GET":
            return answer(seen)
        return Reply(openai("漢字 → a long answer a short answer"))

    with ScriptedServer(foreign) as server:
        base = f"{server.url}/v1"
        done = process(
            *("compare", "--prompt", "Größe → 漢字?", "--producer", "openai/one", "--judge", "openai/two"),
            *("--api-base", base, "--judge-api-base", base, *FAMILIES, "--scaffold", "text:Think."),
            env={"PYTHONIOENCODING": "cp1252"},
        )

    assert done.code == 0
    assert "?? ? a long answer" in done.out
