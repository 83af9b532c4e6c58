"""Running the command line, in this process or as one of its own."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from abjudge.cli.app import app

# Nothing of the person who runs the tests: no keys, no addresses, no settings.
_PASSED_ON = ("PATH", "HOME", "TMPDIR", "SYSTEMROOT", "VIRTUAL_ENV", "LANG", "LITELLM_LOCAL_MODEL_COST_MAP")
CLEAN = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def abjudge(*args: str | Path, env: dict[str, str] | None = None, stdin: str | bytes | None = None) -> Ended:
    """The command in this process, with an environment that holds nothing but `env`."""
    kept = dict.fromkeys(os.environ)
    runner = CliRunner(env={**kept, **CLEAN, "OLLAMA_API_BASE": "http://127.0.0.1:1", **(env or {})})
    result = runner.invoke(app, [str(a) for a in args], input=stdin)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ended(result.exit_code, result.stdout, result.stderr)


def process(*args: str | Path, env: dict[str, str] | None = None, cwd: Path | None = None, **options: Any) -> Ended:
    """The command as a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "abjudge", *map(str, args)],
        env={**CLEAN, "OLLAMA_API_BASE": "http://127.0.0.1:1", **(env or {})},
        cwd=cwd,
        capture_output=True,
        text=True,
        encoding="utf-8",
        **{"stdin": subprocess.DEVNULL, "timeout": 120, **options},
    )
    return Ended(done.returncode, done.stdout, done.stderr)
