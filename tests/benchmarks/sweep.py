"""A sweep by abjudge and by its peers, as whole processes, side by side against one fast server.

    python -m tests.benchmarks.sweep [--tools NAME,...] [--suite NAME,...] [--rounds 3] [--keep FILE] [--show FILE]

Each run has a server and a folder of its own. A round runs every tool once, so that a change in the machine's speed
meets them all. Measured: wall time and the CPU seconds of the process and all its children (wait4), its largest
resident set, and, by the server, how many calls came, how many at once, and the time from the first request to the
last answer.
The peers' environments are made by `peers.sh`; one that is not there is left out, and said so. Every run is a line of
the file --keep; --show prints the tables of such a file without running anything.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
PEERS = Path(os.environ.get("PEERS") or CACHE / "abjudge-peers")
TIME_LIMIT_S = 580
# In the order in which they are run and shown.
TOOLS = (
    *("aiohttp", "abjudge", "openai", "litellm"),
    *("autoevals", "openevals", "pydantic-evals", "inspect", "deepeval", "promptfoo"),
)
# Bare clients that abjudge's own environment holds as well.
OURS = ("aiohttp", "openai", "litellm")
# No tool may look for the network or tell anybody of its use.
QUIET = {
    "OPENAI_API_KEY": "none",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "DEEPEVAL_NO_INSPECT_PROMPT": "1",
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
    "HF_HUB_OFFLINE": "1",
    "DO_NOT_TRACK": "1",
}


@dataclass(frozen=True)
class Job:
    """One thing to measure: `prompts` x 2 responses x 1 verdict."""

    tool: str
    prompts: int
    latency_ms: int = 0
    concurrency: int = 32


@dataclass(frozen=True)
class Run:
    """What one run of a job cost. `span_s` is from the first request to the last answer, as the server saw it."""

    tool: str
    prompts: int
    latency_ms: int
    concurrency: int
    wall_s: float
    cpu_s: float
    rss_mb: float
    load: float
    code: int
    calls: int
    peak_in_flight: int
    span_s: float
    connections: int
    server_cpu_s: float

    @property
    def job(self) -> Job:
        return Job(self.tool, self.prompts, self.latency_ms, self.concurrency)

    @property
    def latency_bound_s(self) -> float:
        return self.calls / self.concurrency * self.latency_ms / 1000


def suites(tools: list[str]) -> dict[str, list[Job]]:
    """The jobs by what they are to show."""
    return {
        "call": [Job(tool, n) for n in (200, 1000) for tool in tools],
        "latency": [Job(tool, 1000, latency_ms=200) for tool in tools],
        "wide": [Job(tool, 1000, latency_ms=200, concurrency=256) for tool in tools if tool in ("aiohttp", "abjudge")],
        "long": [Job(tool, n) for n in (1000, 10_000) for tool in tools if tool == "abjudge"],
    }


def write_prompts(path: Path, count: int) -> None:
    kinds = ("a stripped screw", "a jammed zip", "a dripping tap", "a warped door", "a stuck jar")
    with path.open("w", encoding="utf-8") as file:
        file.write("id,category,prompt\n")
        for n in range(count):
            kind = kinds[n % len(kinds)]
            file.write(f'p{n},repair {n % 4},"How do I deal with {kind} in house number {n}, with what is at hand?"\n')


def command(job: Job, base: str, prompts: Path, out: Path) -> tuple[list[str], dict[str, str]]:
    """What is run, and what it needs in its environment besides."""
    if job.tool == "abjudge":
        models = ["--producer", "openai/gpt-4o-mini", "--judge", "openai/gpt-4o", "--allow-same-family"]
        where = ["--api-base", base, "--judge-api-base", base, "--out", str(out / "run")]
        how = ["--scaffold", "text:Think about what could go wrong before you answer.", "--order", "balanced"]
        more = ["--concurrency", str(job.concurrency), "--seed", "1", "--yes"]
        return [sys.executable, "-m", "abjudge", "sweep", str(prompts), *models, *where, *how, *more], {}
    rest = [str(HERE / "peers.py"), job.tool, base, str(prompts), str(out), str(job.concurrency)]
    home = PEERS / job.tool
    if not (home / ".ready").exists():
        return [sys.executable, "-P", *rest], {}
    if job.tool == "promptfoo":
        config = out / "config"
        config.mkdir()
        return [sys.executable, "-P", *rest], {"PEER": str(home), "PROMPTFOO_CONFIG_DIR": str(config)}
    return [str(home / "bin" / "python"), "-P", *rest], {}


@contextmanager
def server(latency_ms: int) -> Iterator[int]:
    """The port of a server in a process of its own."""
    args = [sys.executable, "-P", str(HERE / "server.py"), "--latency", str(latency_ms)]
    with subprocess.Popen(args, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


def measure(job: Job) -> Run:
    """One run. What the tool said is shown where it failed."""
    out = Path(tempfile.mkdtemp(prefix="bench-"))
    try:
        write_prompts(out / "prompts.csv", job.prompts)
        with server(job.latency_ms) as port:
            args, more = command(job, f"http://127.0.0.1:{port}/{job.tool}/v1", out / "prompts.csv", out)
            load = os.getloadavg()[0]
            said = out / "said.txt"
            started = time.perf_counter()
            with said.open("wb") as stream:
                process = subprocess.Popen(
                    args,
                    stdin=subprocess.DEVNULL,
                    stdout=stream,
                    stderr=stream,
                    env={**os.environ, **QUIET, **more},
                    # A tool that writes where it stands does so in its own folder.
                    cwd=None if job.tool == "abjudge" else out,
                    start_new_session=True,
                )
            status, used = _wait(process)
            wall = time.perf_counter() - started
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/stats") as reply:
                seen = json.load(reply)
        if status != 0:
            print(f"{job.tool}: ended with {status}\n{said.read_text('utf-8', 'replace')[-2000:]}", file=sys.stderr)
        return Run(
            **asdict(job),
            wall_s=wall,
            cpu_s=used.ru_utime + used.ru_stime,
            rss_mb=used.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10),
            load=load,
            code=status,
            calls=seen["calls"],
            peak_in_flight=seen["peak_in_flight"],
            span_s=seen["span_s"],
            connections=seen["connections"],
            server_cpu_s=seen["server_cpu_s"],
        )
    finally:
        shutil.rmtree(out, ignore_errors=True)


def _wait(process: "subprocess.Popen[bytes]") -> tuple[int, Any]:
    """wait4 with a time limit: the usage is of the process and of every child that it waited for."""
    end = time.monotonic() + TIME_LIMIT_S
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, used
        if time.monotonic() > end:
            os.killpg(process.pid, 9)
            end = float("inf")
        time.sleep(0.01)


def there(tool: str) -> bool:
    return tool == "abjudge" or tool in OURS or (PEERS / tool / ".ready").exists()


def tables(runs: list[Run]) -> str:
    """The figures as Markdown: medians over the rounds, and the range of the load."""
    by_job: dict[Job, list[Run]] = defaultdict(list)
    for run in runs:
        if run.code == 0:
            by_job[run.job].append(run)
    parts = [_call_table(by_job), _latency_table(by_job, 32), _latency_table(by_job, 256), _long_table(by_job)]
    loads = [run.load for run in runs]
    failed = [f"{run.tool} ({run.prompts} prompts) ended with {run.code}" for run in runs if run.code]
    parts.append(f"{len(runs)} runs, load before them {min(loads):.1f} to {max(loads):.1f}. {'; '.join(failed)}")
    return "\n\n".join(part for part in parts if part)


def _median(runs: list[Run], name: str) -> float:
    return statistics.median(getattr(run, name) for run in runs)


def _rows(head: str, rows: list[list[str]]) -> str:
    if not rows:
        return ""
    columns = head.split("|")
    lines = [head, "|".join(["---"] * len(columns)), *("|".join(row) for row in rows)]
    return "\n".join(f"|{line}|" for line in lines)


def _call_table(by_job: dict[Job, list[Run]]) -> str:
    """What a call costs. Without the start: the difference of 1,000 and 200 prompts, by the calls between them."""
    rows, base = [], 0.0
    for tool in TOOLS:
        few, many = by_job.get(Job(tool, 200)), by_job.get(Job(tool, 1000))
        if not few or not many:
            continue
        marginal = 1000 * (_median(many, "cpu_s") - _median(few, "cpu_s")) / (many[0].calls - few[0].calls)
        whole = [1000 * run.cpu_s / run.calls for run in many]
        base = base or marginal
        rows.append(
            [
                tool,
                f"{many[0].calls:,}",
                f"{marginal:.2f}",
                f"{marginal / base:.1f}",
                f"{statistics.median(whole):.2f}",
                f"{min(whole):.2f} to {max(whole):.2f}",
                f"{_median(many, 'wall_s'):.1f}",
                f"{1000 / _median(many, 'span_s'):,.0f}",
                f"{_median(few, 'rss_mb'):.0f} → {_median(many, 'rss_mb'):.0f}",
                f"{len(few)}, {len(many)}",
            ]
        )
    head = (
        "tool|calls|CPU ms a call, start taken out|× bare|CPU ms a call, all included|range|wall s"
        "|comparisons/s|MB, 200 → 1,000 prompts|runs"
    )
    return _rows(head, rows)


def _latency_table(by_job: dict[Job, list[Run]], concurrency: int) -> str:
    """What is left of the rate that the latency allows; for tools that keep more calls in flight, of theirs too."""
    rows = []
    for tool in TOOLS:
        runs = by_job.get(Job(tool, 1000, 200, concurrency))
        if not runs:
            continue
        times = [run.span_s / run.latency_bound_s for run in runs]
        own = statistics.median(run.span_s / (run.calls / run.peak_in_flight * run.latency_ms / 1000) for run in runs)
        rows.append(
            [
                tool,
                f"{runs[0].calls:,}",
                f"{_median(runs, 'span_s'):.1f}",
                f"{statistics.median(times):.2f}",
                f"{min(times):.2f} to {max(times):.2f}",
                f"{max(run.peak_in_flight for run in runs)}",
                f"{own:.2f}",
                f"{1000 / _median(runs, 'span_s'):.1f}",
                f"{_median(runs, 'wall_s'):.1f}",
                f"{_median(runs, 'cpu_s'):.1f}",
                f"{_median(runs, 'connections'):.0f}",
                f"{len(runs)}",
            ]
        )
    head = (
        f"tool|calls|span s|× latency bound of {concurrency}|range|calls at once|× bound of its own calls at once"
        "|comparisons/s|wall s|CPU s|connections|runs"
    )
    return _rows(head, rows)


def _long_table(by_job: dict[Job, list[Run]]) -> str:
    rows = []
    few, many = by_job.get(Job("abjudge", 1000)), by_job.get(Job("abjudge", 10_000))
    if few and many:
        for name, runs in (("1,000", few), ("10,000", many)):
            figures = [_median(runs, key) for key in ("wall_s", "cpu_s", "rss_mb")]
            rows.append([name, *(f"{figure:.1f}" for figure in figures), f"{len(runs)}"])
        ratios = [_median(many, key) / _median(few, key) for key in ("wall_s", "cpu_s", "rss_mb")]
        rows.append(["ratio", *(f"{ratio:.2f}" for ratio in ratios), ""])
    return _rows("prompts|wall s|CPU s|MB|runs", rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--suite", default="call,latency,wide,long", help="any of call, latency, wide, long")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "abjudge-bench.jsonl")
    parser.add_argument("--show", type=Path, help="print the tables of this file, and run nothing")
    asked = parser.parse_args()
    if asked.show:
        lines = asked.show.read_text("utf-8").splitlines()
        print(tables([Run(**json.loads(line)) for line in lines]))
        return
    tools = [tool for tool in asked.tools.split(",") if there(tool)]
    for tool in set(asked.tools.split(",")) - set(tools):
        print(f"{tool}: left out, not in {PEERS} (sh tests/benchmarks/peers.sh {tool})", file=sys.stderr)
    jobs = [job for name, some in suites(tools).items() if name in asked.suite.split(",") for job in some]
    runs = []
    for _ in range(asked.rounds):
        for job in jobs:
            run = measure(job)
            runs.append(run)
            with asked.keep.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(run)) + "\n")
            what = f"{job.tool}, {job.prompts} prompts, {job.concurrency} at once, {job.latency_ms} ms"
            cost = f"wall {run.wall_s:.1f} s, CPU {run.cpu_s:.1f} s, {run.rss_mb:.0f} MB"
            print(f"{what}: {cost}, {run.calls} calls in {run.span_s:.1f} s, load {run.load:.1f}", file=sys.stderr)
    print(tables(runs))


if __name__ == "__main__":
    main()
