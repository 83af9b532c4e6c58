"""The general battery: two hundred prompts that a sweep can run on, and does."""

import json
from collections import Counter
from pathlib import Path

import pytest

from abjudge.adapters.embedded.store import ModelStore
from abjudge.adapters.tables.prompt_table import read_table
from tests.cli.running import process

FILE = Path(__file__).parents[2] / "batteries" / "prompts_general.csv"


def test_the_battery_holds_twenty_prompts_of_each_of_ten_kinds():
    table = read_table(FILE)

    assert len({row["prompt"] for row in table.rows}) == 200
    assert set(Counter(row["category"] for row in table.rows).values()) == {20}
    assert table.notes == ()


@pytest.mark.slow
def test_a_sweep_on_the_embedded_models_runs_offline_to_its_end(tmp_path):
    if ModelStore().path_of("gemma3-270m") is None or ModelStore().path_of("smollm2-135m") is None:
        pytest.skip("the embedded models are not in the cache: make models")
    named = ("--producer", "embedded/smollm2-135m", "--judge", "embedded/gemma3-270m")

    short = ("--sample", "2", "--seed", "1", "--max-tokens", "48", "--order", "balanced")
    done = process("sweep", FILE, *named, *short, "--out", tmp_path / "run", "--json", timeout=900)

    summary = json.loads(done.out)
    assert done.code == 0, done.err
    assert summary["trials"] == 2 == summary["wins"] + summary["losses"] + summary["ties"] + summary["errors"]
    assert summary["conclusion"] == "cannot_say"
    assert any("tiny model" in caveat for caveat in summary["caveats"])
    assert process("verify", tmp_path / "run").code == 0
