"""The README's commands and the output it shows. As a program: run the first command and write its output in again."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
_BLOCK = re.compile(
    r"(<!-- output of make try: begin -->\n```text\n)(.*?)(```\n<!-- output of make try: end -->)", re.DOTALL
)

# Lines that come out alike whatever the models say. The rest is the models' own.
_KNOWN = re.compile(
    r"(producer|judge|scaffold|asking|judging|-{5,}|Baseline response|Scaffolded response|\||How far to trust it)"
)


def commands() -> list[str]:
    return re.findall(r"^\$ (make .*)$", README.read_text("utf-8"), re.MULTILINE)


def output() -> str:
    found = _BLOCK.search(README.read_text("utf-8"))
    assert found is not None, "the README shows no output"
    return found[2]


def shape(text: str) -> list[str]:
    """What must be the same from run to run: our own lines, without numbers, reasons and the models' words."""
    lines = []
    for line in text.splitlines():
        if line.startswith(("The judge prefers", "The judge finds", "No verdict")):
            lines.append("(verdict)")
        elif line.startswith("- A was"):
            lines.append("(look)")
        elif _KNOWN.match(line):
            lines.append(re.sub(r"\(.*\)|:.*|[\d.]+| +", " ", line).strip())
    return lines


def main() -> None:
    # Without the outer make's settings, which would print the folder's name.
    world = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        commands()[0], shell=True, cwd=ROOT, env=world, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    print(done.stdout)
    if done.returncode:
        sys.exit(done.returncode)
    text = README.read_text("utf-8")
    README.write_text(_BLOCK.sub(lambda m: m[1] + done.stdout.strip() + "\n" + m[3], text), "utf-8")


if __name__ == "__main__":
    main()
