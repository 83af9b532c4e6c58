"""`abjudge sweep` against scripted servers: nothing lost, nothing paid for twice, every pair accounted for."""

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from contextlib import contextmanager

import pytest

from abjudge.adapters.ledger import LEDGER, RunFolder, read_records
from abjudge.adapters.tables.prompt_table import read_prompts
from tests.cli.running import abjudge
from tests.cli.test_compare import answer
from tests.fakes import verdict_json
from tests.support.bodies import ollama_chat, openai
from tests.support.nursery import Nursery
from tests.support.scripted_server import Reply, ScriptedServer

FAMILIES = ("--producer-family", "qwen", "--judge-family", "mistral")


@contextmanager
def table(tmp_path, count, **columns):
    path = tmp_path / "prompts.csv"
    lines = ["id,category,prompt"] + [f"p{n},{'ab'[n % 2]},How do I do thing number {n}?" for n in range(count)]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    yield path


@pytest.fixture
def prompts(tmp_path):
    with table(tmp_path, 12) as path:
        yield path


def arguments(server, prompts, out, *more):
    base = f"{server.url}/v1"
    named = ("--producer", "openai/one", "--judge", "openai/two", "--api-base", base, "--judge-api-base", base)
    scaffold = () if "--scaffold" in more else ("--scaffold", "text:Think.")
    return ("sweep", str(prompts), *named, *FAMILIES, *scaffold, "--out", str(out), *map(str, more))


def sweep(server, prompts, out, *more, **options):
    return abjudge(*arguments(server, prompts, out, *more), "--json", **options)


def posts(server):
    return [seen.json["messages"][-1]["content"] for seen in server.seen if seen.method == "POST"]


def add_up(summary):
    return summary["wins"] + summary["losses"] + summary["ties"] + summary["errors"] == summary["trials"]


def test_a_sweep_ends_with_a_summary_a_table_and_an_intact_run(prompts, tmp_path):
    with ScriptedServer(answer) as server:
        done = sweep(server, prompts, tmp_path / "run")

    assert (done.code, done.json["trials"], done.json["wins"]) == (0, 12, 12)
    assert add_up(done.json)
    assert done.json["conclusion"] == "scaffold_better"
    assert done.json["position"]["first_share"] == 0.5
    rows = read_prompts(tmp_path / "run" / "results.csv")
    assert [row["id"] for row in rows] == [f"p{n}" for n in range(12)]
    assert {row["verdict"] for row in rows} == {"scaffolded"}
    assert rows[3]["prompt"] == "How do I do thing number 3?"
    assert abjudge("verify", tmp_path / "run").code == 0


def test_the_same_reports_come_from_the_ledger_without_a_call(prompts, tmp_path):
    with ScriptedServer(answer) as server:
        first = sweep(server, prompts, tmp_path / "run")
    for name in ("results.csv", "summary.json", "report.html"):
        (tmp_path / "run" / name).unlink()

    again = abjudge("report", tmp_path / "run", "--json")

    assert again.json == first.json
    assert (tmp_path / "run" / "results.csv").exists()


def test_the_page_shows_a_strangers_words_as_words(tmp_path):
    path = tmp_path / "prompts.jsonl"
    path.write_text(
        json.dumps({"id": "<script>alert(1)</script>", "prompt": "x\u202ey", "category": "<b>"}) + "\n", "utf-8"
    )

    with ScriptedServer(answer) as server:
        sweep(server, path, tmp_path / "run", "--one-order")

    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "&lt;b&gt;" in page
    assert "http" not in page


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("id,prompt\n1,x\n1,y\n", "line 3"),
        ("id,prompt\n1,\n", "line 2"),
        ("id,promt\n1,x\n", "prompt"),
        ("id,prompt\n", "no"),
        ("", "empty"),
    ],
)
def test_a_table_that_is_not_in_order_is_refused_before_anything_is_called(tmp_path, body, words):
    path = tmp_path / "bad.csv"
    path.write_text(body, "utf-8")

    with ScriptedServer(answer) as server:
        done = sweep(server, path, tmp_path / "run")

    assert (done.code, server.seen) == (2, [])
    assert words in done.err
    assert not (tmp_path / "run").exists()


def test_the_plan_says_what_it_costs_and_what_it_can_show(prompts, tmp_path):
    with ScriptedServer(answer) as server:
        done = sweep(server, prompts, tmp_path / "run")

    assert "plan: 12 prompts, 48 calls" in done.err
    assert "only win rates of" in done.err


def test_faults_of_every_kind_end_with_every_pair_accounted_for(tmp_path):
    dice = random.Random(5)

    def troubled(seen):
        if seen.method == "GET":
            return Reply({"data": []})
        throw = dice.random()
        if throw < 0.05:
            return Reply({"error": "slow down"}, status=429, headers={"Retry-After": "0"})
        if throw < 0.10:
            return Reply({"error": "oops"}, status=500)
        if throw < 0.12:
            return Reply(openai("x"), end="reset")
        if throw < 0.17 and "<<<RESPONSE A" in seen.json["messages"][-1]["content"]:
            return Reply(openai("They are both lovely."))
        return answer(seen)

    with table(tmp_path, 60) as prompts, ScriptedServer(troubled) as server:
        done = sweep(server, prompts, tmp_path / "run", "--retries", "4")

    assert done.code == 0
    assert done.json["trials"] == 60
    assert add_up(done.json)
    assert 0 < done.json["errors"] < 15
    assert set(done.json["errors_by_reason"]) <= {"no_json", "unavailable", "connection_lost", "rate_limited"}
    assert abjudge("verify", tmp_path / "run").code == 0


def test_a_dead_server_ends_the_run_with_exit_3_and_the_way_on(tmp_path):
    with table(tmp_path, 300) as prompts, ScriptedServer(answer) as judge:
        with ScriptedServer(answer) as producer:
            base = (f"{producer.url}/v1", f"{judge.url}/v1")
            named = (
                "--producer",
                "openai/one",
                "--api-base",
                base[0],
                "--judge",
                "openai/two",
                "--judge-api-base",
                base[1],
            )
            command = (
                "sweep",
                prompts,
                *named,
                *FAMILIES,
                "--scaffold",
                "text:Think.",
                "--out",
                tmp_path / "run",
                "--json",
            )
            kill = iter(range(200))
            producer._script = lambda s: answer(s) if next(kill, None) is not None else Reply(b"", end="silent")
            done = abjudge(*command, "--retries", "1")
        errors = done.json["errors"]

    assert done.code == 3
    assert "--resume" in done.err
    assert 0 < done.json["wins"] < 300
    assert errors < 40


def test_a_quota_that_is_spent_stops_the_run_at_once(tmp_path):
    def broke(seen):
        if seen.method == "GET":
            return Reply({"data": []})
        return Reply({"error": {"code": "insufficient_quota", "message": "quota"}}, status=429)

    with table(tmp_path, 200) as prompts, ScriptedServer(broke) as server:
        done = sweep(server, prompts, tmp_path / "run", "--concurrency", "4")

    assert done.code == 3
    assert "quota" in done.err
    assert len(posts(server)) <= 8


def test_a_resumed_run_asks_only_for_what_is_missing(tmp_path):
    with table(tmp_path, 40) as prompts, ScriptedServer(answer) as server:
        whole = sweep(server, prompts, tmp_path / "whole", "--seed", "3")
        asked = Counter(posts(server))
        server.seen.clear()
        cut = tmp_path / "cut"
        sweep(server, prompts, cut, "--seed", "3")
        lines = (cut / LEDGER).read_bytes().splitlines(keepends=True)
        (cut / LEDGER).write_bytes(b"".join(lines[: len(lines) * 2 // 3]) + lines[-1][:50])
        kept = Counter(record["kind"] for _, record in read_records(cut))
        server.seen.clear()
        resumed = sweep(server, prompts, cut, "--resume")

    again = posts(server)
    paid = kept["observation"] + kept["judgment"]
    assert len(again) == sum(asked.values()) - paid
    assert (resumed.code, resumed.json["wins"]) == (0, whole.json["wins"])
    assert abjudge("verify", cut).code == 0


def test_a_run_that_is_done_is_resumed_without_a_call(prompts, tmp_path):
    with ScriptedServer(answer) as server:
        first = sweep(server, prompts, tmp_path / "run", "--controls", "null,degraded,placebo")
        server.seen.clear()
        again = sweep(server, prompts, tmp_path / "run", "--controls", "null,degraded,placebo", "--resume")

    assert posts(server) == []
    assert again.json == first.json


@pytest.mark.parametrize(
    ("more", "named"),
    [
        (("--scaffold", "text:Other."), "scaffolds"),
        (("--temperature", "0.5"), "subject"),
        (("--repeat", "2"), "plan"),
        (("--seed", "99"), "seed"),
        (("--limit", "5"), "source_digest"),
    ],
)
def test_another_plan_is_refused_and_the_difference_named(prompts, tmp_path, more, named):
    with ScriptedServer(answer) as server:
        sweep(server, prompts, tmp_path / "run", "--seed", "3")
        done = sweep(server, prompts, tmp_path / "run", "--resume", *more)

    assert done.code == 2
    assert named in done.err


def test_errors_are_run_again_only_when_asked(prompts, tmp_path):
    broken = iter([True])

    def once(seen):
        if seen.method == "POST" and "<<<RESPONSE A" in str(seen.json) and next(broken, False):
            return Reply(openai("Lovely."))
        return answer(seen)

    with ScriptedServer(once) as server:
        first = sweep(server, prompts, tmp_path / "run")
        server.seen.clear()
        plain = sweep(server, prompts, tmp_path / "run", "--resume")
        untouched = len(posts(server))
        retried = sweep(server, prompts, tmp_path / "run", "--resume", "--retry-errors")

    assert (first.json["errors"], plain.json["errors"], retried.json["errors"]) == (1, 1, 0)
    assert untouched == 0
    assert len(posts(server)) == 1
    assert abjudge("verify", tmp_path / "run").code == 0


def test_a_budget_without_known_prices_is_refused(prompts, tmp_path):
    with ScriptedServer(answer) as server:
        done = sweep(server, prompts, tmp_path / "run", "--budget", "1")

    assert (done.code, posts(server)) == (2, [])
    assert "price" in done.err


def test_a_budget_stops_the_run_before_it_is_exceeded(tmp_path):
    def ollama(seen):
        if seen.method == "GET":
            return Reply({"models": [{"name": "mistral:7b"}]})
        return Reply(ollama_chat(verdict_json(4, 3)))

    with table(tmp_path, 50) as prompts, ScriptedServer(answer) as server, ScriptedServer(ollama) as judge:
        done = abjudge(
            *("sweep", prompts, "--producer", "openai/gpt-4o-mini", "--api-base", f"{server.url}/v1"),
            *("--judge", "mistral:7b", "--judge-api-base", judge.url, "--out", tmp_path / "run"),
            *("--scaffold", "text:Think.", "--budget", "0.0019", "--concurrency", "4", "--json"),
        )

    assert done.code == 3
    assert "budget" in done.err
    assert 0 < done.json["cost"]["usd"] <= 0.0019
    assert 0 < done.json["trials"] < 50


def test_several_scaffolds_are_told_apart_by_scaffold_and_category(prompts, tmp_path):
    with ScriptedServer(answer) as server:
        done = sweep(server, prompts, tmp_path / "run", "--scaffold", "text:Think.", "--scaffold", "none")

    names = list(done.json["scaffolds"])
    assert len(names) == 2
    assert done.json["scaffolds"]["none"]["conclusion"] != "scaffold_better"
    assert done.json["trials"] == 24
    assert add_up(done.json)
    assert set(done.json["categories"]) == {"a", "b"}
    assert done.json["categories"]["a"][names[0]]["trials"] == 6
    bare = [p for p in posts(server) if "[COGNITIVE" not in p and "<<<" not in p]
    assert len(bare) == 12 + 12  # one baseline for each prompt, and the arm `none`


def test_judges_rotate_and_share_the_first_twenty(tmp_path):
    with table(tmp_path, 30) as prompts, ScriptedServer(answer) as server:
        done = sweep(server, prompts, tmp_path / "run", "--judge", "openai/three")

    looks = Counter(s.json["model"] for s in server.seen if "<<<RESPONSE A" in str(s.raw))
    assert looks == {"two": 2 * 25, "three": 2 * 25}
    assert set(done.json["judges"]) == {"openai/two", "openai/three"}


def test_a_panel_has_every_judge_on_every_prompt(prompts, tmp_path):
    with ScriptedServer(answer) as server:
        done = sweep(server, prompts, tmp_path / "run", "--judge", "openai/three", "--panel")

    assert sum("<<<RESPONSE A" in post for post in posts(server)) == 2 * 2 * 12
    assert done.json["trials"] == 12


def test_repetitions_are_asked_anew_and_count_as_one_prompt(prompts, tmp_path):
    with ScriptedServer(answer) as server:
        done = sweep(server, prompts, tmp_path / "run", "--repeat", "3")

    seeds = {s.json["seed"] for s in server.seen if s.method == "POST" and "<<<" not in str(s.raw)}
    assert len(seeds) == 3
    assert (done.json["trials"], done.json["win_rate"]["n"]) == (12, 12)


def test_a_balanced_order_shows_each_arm_first_half_of_the_time(tmp_path):
    with table(tmp_path, 24) as prompts, ScriptedServer(answer) as server:
        done = sweep(server, prompts, tmp_path / "run", "--order", "balanced")

    orders = Counter(r["order"] for _, r in read_records(tmp_path / "run") if r["kind"] == "outcome")
    assert orders == {"baseline_first": 12, "scaffolded_first": 12}
    assert done.json["position"] is None


def test_a_judge_that_sees_is_fit_and_one_that_always_takes_the_first_is_not(tmp_path):
    def blind(seen):
        if seen.method == "POST" and "<<<RESPONSE A" in str(seen.raw):
            return Reply(openai(verdict_json(5, 2)))
        return answer(seen)

    def sharp(seen):
        user = seen.json["messages"][-1]["content"] if seen.method == "POST" else ""
        if "<<<RESPONSE A" not in user:
            return Reply(openai(LONG)) if seen.method == "POST" else answer(seen)
        a, b = (part.partition("<<<END")[0].partition("\n")[2].strip() for part in user.split("<<<RESPONSE ")[1:3])
        if a == b:
            return Reply(openai(verdict_json(4, 4)))
        return Reply(openai(verdict_json(5, 2) if a == LONG else verdict_json(2, 5)))

    states = []
    with table(tmp_path, 30) as prompts:
        for number, script in enumerate((sharp, blind)):
            with ScriptedServer(script) as server:
                done = sweep(server, prompts, tmp_path / f"run{number}", "--controls", "null,degraded")
            states.append(done.json["controls"]["state"])
            assert done.json["trials"] == 30

    assert states == ["fit", "unfit"]
    assert done.json["conclusion"] == "cannot_say"


LONG = "Open the lid before you pour. It is safe up to 40 degrees. Never use more than 2 spoons, and close it again."


def test_a_placebo_of_equal_length_is_judged_against_the_scaffold(prompts, tmp_path):
    with ScriptedServer(answer) as server:
        done = sweep(server, prompts, tmp_path / "run", "--controls", "placebo")

    assert done.json["controls"]["placebo"]["win_rate"]["n"] == 12
    assert done.json["trials"] == 12


def test_a_companion_stands_beside_the_judge_and_in_no_figure(prompts, tmp_path):
    def contrary(seen):
        user = seen.json["messages"][-1]["content"] if seen.method == "POST" else ""
        if "<<<RESPONSE A" in user and "Beware" in user:
            return Reply(openai(verdict_json(3, 3)))
        return answer(seen)

    with ScriptedServer(contrary) as server:
        done = sweep(server, prompts, tmp_path / "run", "--companion-judge", "text:Beware of flattery.")

    ((name, verdicts),) = done.json["companion"].items()
    assert name.startswith("openai/two+text:")
    assert verdicts == {"tie": 12}
    assert (done.json["wins"], done.json["trials"], list(done.json["judges"])) == (12, 12, ["openai/two"])


def test_the_prompts_may_come_from_standard_input_and_be_sampled(tmp_path):
    lines = "".join(json.dumps({"id": n, "prompt": f"Question {n}?"}) + "\n" for n in range(50))
    with ScriptedServer(answer) as server:
        done = sweep(server, "-", tmp_path / "run", "--sample", "7", "--seed", "1", stdin=lines)
        again = sweep(server, "-", tmp_path / "again", "--sample", "7", "--seed", "1", stdin=lines)

    ids = [[row["id"] for row in read_prompts(tmp_path / name / "results.csv")] for name in ("run", "again")]
    assert (done.json["trials"], again.json["trials"]) == (7, 7)
    assert ids[0] == ids[1]


def pairs_table(tmp_path, rows):
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def judge(server, pairs, out, *more):
    named = ("--judge", "openai/two", "--judge-api-base", f"{server.url}/v1", "--judge-family", "mistral")
    return abjudge("judge", pairs, *named, "--out", out, *more, "--json")


def test_existing_responses_are_judged_by_the_same_machinery(tmp_path):
    rows = [
        {"id": n, "prompt": f"Q{n}?", "response_1": "a short answer", "response_2": "a long answer", "human": "2"}
        for n in range(11)
    ]
    pairs = pairs_table(tmp_path, rows)

    with ScriptedServer(answer) as server:
        done = judge(server, pairs, tmp_path / "run")
        asked = posts(server)
        again = judge(server, pairs, tmp_path / "run", "--resume")

    assert (done.code, done.json["trials"], done.json["wins"]) == (0, 11, 11)
    assert len(asked) == 22 == len(posts(server))
    assert all("<<<RESPONSE A" in post for post in asked)
    assert any("who wrote the responses" in caveat for caveat in done.json["caveats"])
    assert again.json == done.json
    assert abjudge("verify", tmp_path / "run").code == 0


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"prompt": "Q?", "response_1": "x"}, "response_2"),
        ({"prompt": "Q?", "response_1": "x", "response_2": " "}, "empty"),
    ],
)
def test_a_pair_that_lacks_a_response_is_refused_before_anything_is_called(tmp_path, row, words):
    with ScriptedServer(answer) as server:
        done = judge(server, pairs_table(tmp_path, [row]), tmp_path / "run")

    assert (done.code, posts(server)) == (2, [])
    assert words in done.err


def kill_and_resume(nursery, tmp_path, server, prompts, number, sig):
    """A sweep in a process of its own, killed at a random moment, then gone on with here."""
    out = tmp_path / f"run{number}"
    child = nursery.run(*arguments(server, prompts, out, "--concurrency", "4"))
    deadline = time.monotonic() + 60
    while not (out / LEDGER).exists() and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(random.Random(number).random() * 1.2)
    os.kill(child, sig)
    code = nursery.wait(child)
    before = {r["id"] for _, r in read_records(out) if r["kind"] == "outcome"}
    done = sweep(server, prompts, out, "--resume")
    records = [record for _, record in read_records(out)]
    outcomes = [r["id"] for r in records if r["kind"] == "outcome"]
    answers = [r["id"] for r in records if r["kind"] in ("observation", "judgment")]
    assert done.code == 0, done.err
    assert before <= set(outcomes)
    assert len(outcomes) == len(set(outcomes)) == 60
    assert len(answers) == len(set(answers)) == 60 * 4
    assert abjudge("verify", out).code == 0
    return code, len(before)


def slowly(seen):
    return Reply(answer(seen).body, delay_s=0.02)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(("sig", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -9)])
def test_a_sweep_that_is_stopped_half_way_loses_and_doubles_nothing(tmp_path, sig, code):
    with table(tmp_path, 60) as prompts, ScriptedServer(slowly) as server, Nursery() as nursery:
        assert kill_and_resume(nursery, tmp_path, server, prompts, 1, sig)[0] == code


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_hundred_kills_at_random_moments_lose_and_double_nothing(tmp_path):
    with table(tmp_path, 60) as prompts, ScriptedServer(slowly) as server, Nursery() as nursery:
        done = [kill_and_resume(nursery, tmp_path, server, prompts, n, signal.SIGKILL) for n in range(100)]

    assert {code for code, _ in done} <= {-9, 0}
    assert len({outcomes for _, outcomes in done}) > 10  # they were killed at different moments


def test_a_run_has_one_writer_at_a_time(prompts, tmp_path):
    with ScriptedServer(answer) as server:
        sweep(server, prompts, tmp_path / "run", "--seed", "3")
        server.seen.clear()
        with RunFolder.reopen(tmp_path / "run"):
            second = sweep(server, prompts, tmp_path / "run", "--resume")

    assert (second.code, posts(server)) == (2, [])
    assert "Another process" in second.err


def test_a_ledger_that_was_edited_is_not_gone_on_with_and_its_report_says_so(prompts, tmp_path):
    with ScriptedServer(answer) as server:
        sweep(server, prompts, tmp_path / "run")
        lines = (tmp_path / "run" / LEDGER).read_bytes().splitlines(keepends=True)
        (tmp_path / "run" / LEDGER).write_bytes(b"".join(lines[:4] + lines[5:]))
        done = sweep(server, prompts, tmp_path / "run", "--resume")

    report = abjudge("report", tmp_path / "run", "--json")
    assert done.code == 2
    assert "abjudge verify" in done.err
    assert "warning" in report.err
    assert report.json["trials"] > 0


def test_peoples_labels_in_a_table_of_pairs_are_held_against_the_judge(tmp_path):
    rows = [
        {"id": n, "prompt": f"Q{n}?", "response_1": "a short answer", "response_2": "a long answer", "human": human}
        for n, human in enumerate(["2", "2", "2", "1", "tie", ""])
    ]
    with ScriptedServer(answer) as server:
        done = judge(server, pairs_table(tmp_path, rows), tmp_path / "run")
        rows[0]["human"] = "maybe"
        wrong = judge(server, pairs_table(tmp_path, rows), tmp_path / "other")

    assert (done.json["human"]["agreed"], done.json["human"]["n"]) == (6, 10)
    assert (wrong.code, "maybe" in wrong.err) == (2, True)


def test_errors_can_only_be_tried_again_in_a_run_that_has_some(prompts, tmp_path):
    with ScriptedServer(answer) as server:
        assert sweep(server, prompts, tmp_path / "run", "--retry-errors").code == 2


def test_a_run_that_mostly_failed_is_not_done(prompts, tmp_path):
    def mostly(seen):
        if seen.method == "POST" and "<<<RESPONSE A" in str(seen.raw) and "number 1" not in str(seen.raw):
            return Reply(openai("Lovely."))
        return answer(seen)

    with ScriptedServer(mostly) as server:
        done = sweep(server, prompts, tmp_path / "run")

    assert done.json["wins"] == 3
    assert done.code == 3
    assert "--retry-errors" in done.err


def test_the_plan_counts_the_calls_of_the_controls(prompts, tmp_path):
    with ScriptedServer(answer) as server:
        done = sweep(server, prompts, tmp_path / "run", "--controls", "null,placebo")

    assert f"{len(posts(server))} calls" in done.err


def test_two_orders_that_contradict_each_other_are_refused(prompts, tmp_path):
    with ScriptedServer(answer) as server:
        done = sweep(server, prompts, tmp_path / "run", "--order", "swap", "--one-order")

    assert (done.code, posts(server)) == (2, [])
