"""A process that has litellm loaded and forks a child for each command it is told, so that starts cost nothing.

It reads a line of JSON and answers with one: `{"run": [ARGS]}` gives the child's pid, `{"wait": PID}` how it ended
(an exit code, or minus the signal).
"""

import json
import os
import subprocess
import sys
from typing import Any, Self

from tests.cli.running import CLEAN


class Nursery:
    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.nursery"],
            env=CLEAN,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(self, *args: object) -> int:
        """Start `abjudge ARGS` and give its pid."""
        return self._ask({"run": [str(arg) for arg in args]})

    def wait(self, pid: int) -> int:
        return self._ask({"wait": pid})

    def _ask(self, words: dict[str, Any]) -> int:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        return int(json.loads(self._process.stdout.readline()))


def _child(args: list[str]) -> None:
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
    sys.argv = ["abjudge", *args]
    from abjudge.cli import main

    main()


def _serve() -> None:
    from abjudge.adapters.served.litellm_model import _litellm

    _litellm()
    for line in sys.stdin:
        words = json.loads(line)
        if "wait" in words:
            _, status = os.waitpid(words["wait"], 0)
            answer = os.waitstatus_to_exitcode(status)
        elif (answer := os.fork()) == 0:
            _child(words["run"])
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    _serve()
