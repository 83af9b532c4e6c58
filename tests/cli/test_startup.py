"""What a start costs: nothing that the command does not need."""

import subprocess
import sys

import pytest

from tests.cli.running import CLEAN, process

# pydantic is not among them: typer imports it itself.
HEAVY = ("litellm", "openai", "aiohttp", "httpx", "numpy", "scipy", "jsonschema", "tenacity", "xllamacpp")


def imported_by(code: str) -> set[str]:
    """Which of the heavy packages are in `sys.modules` after this code."""
    script = (
        f"import sys\ntry:\n    {code}\nexcept SystemExit: pass\nprint(*(m for m in {HEAVY!r} if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], env=CLEAN, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("args", [["--help"], ["compare", "--help"], ["models", "--help"], ["--version"]])
def test_help_imports_nothing_heavy(args):
    assert imported_by(f"from abjudge.cli.app import app; app({args!r})") == set()


def test_importing_the_library_imports_nothing_heavy():
    assert imported_by("import abjudge") == set()


def test_a_call_that_is_refused_does_not_pay_for_litellm():
    args = ["compare", "--prompt", "x", "--producer", "openai/gpt-4o", "--judge", "openai/o3"]
    code = f"from abjudge.cli.app import app; app({args!r})"

    assert not imported_by(code) & {"litellm", "openai", "numpy", "xllamacpp"}


@pytest.mark.parametrize(
    "command",
    [
        (),
        ("compare",),
        ("verify",),
        ("models",),
        ("models", "fetch"),
        ("models", "list"),
        ("sweep",),
        ("judge",),
        ("analyze",),
        ("power",),
        ("report",),
    ],
)
def test_every_command_has_a_help_with_an_example(command):
    done = process(*command, "--help")

    assert done.code == 0
    assert "Example: abjudge" in done.out


def test_every_public_name_is_there():
    import abjudge

    assert all(getattr(abjudge, name) is not None for name in abjudge.__all__)
    with pytest.raises(AttributeError):
        abjudge.nothing  # noqa: B018 the look itself is the test
