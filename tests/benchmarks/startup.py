"""What a start costs beside its parts, side by side in one run: medians and differences, no verdict.

Run with `make bench`. Each round runs every command once, so that a change in the machine's speed meets them all.
"""

import statistics
import subprocess
import sys
import time

ROUNDS = 15
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "python -c 'import typer'": ["-c", "import typer"],
    "abjudge --help": ["-m", "abjudge", "--help"],
    "abjudge compare --help": ["-m", "abjudge", "compare", "--help"],
    "abjudge compare (nothing listens)": [
        *("-m", "abjudge", "compare", "--prompt", "x", "--producer", "ollama_chat/x"),
        *("--api-base", "http://127.0.0.1:1"),
    ],
}


def seconds(args: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, *args], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return time.perf_counter() - started


def main() -> None:
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(ROUNDS):
        for name, args in COMMANDS.items():
            times[name].append(seconds(args))
    base = times["python -c 'import typer'"]
    print(f"{'command':<36} {'median s':>9} {'min':>7} {'max':>7} {'more than typer':>16}")
    for name, taken in times.items():
        more = statistics.median(one - other for one, other in zip(taken, base, strict=True))
        print(f"{name:<36} {statistics.median(taken):>9.3f} {min(taken):>7.3f} {max(taken):>7.3f} {more:>+16.3f}")


if __name__ == "__main__":
    main()
