"""The README proves itself."""

import os
import re
import subprocess
import sys
import zipfile

import pytest

from abjudge.adapters.embedded.store import default_root
from tests.support.readme import README, ROOT, commands, output, shape

# A newcomer's machine: no key, no address, no settings. The cache may be there: models are fetched once.
NEWCOMER = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR", "LANG") if name in os.environ}


def test_there_are_exactly_two_commands_one_for_the_job_and_one_for_the_tests():
    assert [command.split()[1] for command in commands()] == ["try", "test"]


def test_the_whole_way_to_a_first_run_fits_in_thirty_lines():
    before = README.read_text("utf-8").partition("<!-- output of make try: begin -->")[0]

    assert before.count("\n") <= 30


def test_the_output_that_is_shown_ends_in_a_verdict_by_two_models():
    assert "producer embedded/smollm2-135m" in output()
    assert "judge embedded/gemma3-270m" in output()
    assert "(verdict)" in shape(output())


@pytest.mark.parametrize("target", re.findall(r"\]\(((?!http)[^)#]+)\)", README.read_text("utf-8")))
def test_every_link_leads_to_something(target):
    assert (ROOT / target).exists()


@pytest.mark.slow
def test_the_first_command_in_a_fresh_clone_prints_what_the_readme_shows(tmp_path):
    clone = tmp_path / "abjudge"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    # Nothing answers at this address, so no Ollama of this machine takes the place of the models that are shown.
    world = {**NEWCOMER, "OLLAMA_API_BASE": "http://127.0.0.1:1", "ABJUDGE_CACHE_DIR": str(default_root().parent)}

    done = subprocess.run(
        commands()[0], shell=True, cwd=clone, env=world, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
    assert shape(done.stderr + done.stdout) == shape(output())
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_wheel_carries_its_prompts_and_schemas(tmp_path):
    build = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(tmp_path), str(ROOT)]
    subprocess.run([sys.executable, *build], check=True)

    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert "abjudge/_shared/system_prompts/blind_evaluator.md" in names
    assert "abjudge/_shared/batteries/prompts_general.csv" in names
    assert "abjudge/schemas/verdict.schema.json" in names
    assert "abjudge/py.typed" in names
