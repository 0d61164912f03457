"""Alternates runs alone, beside other work, and beside hostile clients, and compares their figures.

What is judged is hostile clients against other work that keeps the processors as busy: the clients run on the service's host,
and what their own processor time costs a load there is not the service's doing.
"""

from __future__ import annotations

import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import permutations
from pathlib import Path

from manometer_client import Client

# One core is the load's; the service's threads and the clients share what remains.
EXPERIMENT = """
name: beside
targets: {{t: 'file://{data}'}}
workloads: {{w: {{ops: read, access: random, queue_depth: 1, block_size: 4KiB, file_size: 64MiB}}}}
stages: {{warm_up: 1s, measure: {{at_least: 5s, at_most: 5s}}}}
steady: none
"""
# What the clients may add to the service's memory at its peak, as in crates/cli/tests/serve_hostile.rs.
MAX_GROWTH_MIB = 160
# Mutated bodies that must have been answered for the result to say something.
MIN_BODIES = 10_000
METRICS = ("rate", "p50", "p99", "mean")
# Fewer rounds than this say nothing about four figures.
MIN_ROUNDS = 8
# What is beside a run: nothing, as much work as hostile clients are that does not reach the service, or these.
ALONE, BUSY, HOSTILE = KINDS = ("alone", "busy", "hostile")


@contextmanager
def service(state: Path, data: Path) -> Iterator[tuple[Client, int, int]]:
    """A service on a free port, its client, port and process."""
    command = [os.environ["MANOMETER"], "serve", "--listen", "127.0.0.1:0", "--directory", str(state)]
    command += ["--allow-local", "--allow-path", str(data)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        lines = (line for line in process.stderr if "listening on http" in line)
        line = next(lines, None) or sys.exit("the service did not start")
        port = int(line.split("listening on http://", 1)[1].split()[0].rsplit(":", 1)[1])
        # Further messages must not fill the pipe.
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield Client(f"http://127.0.0.1:{port}", timeout=120), port, process.pid
    finally:
        process.terminate()
        process.wait(timeout=60)


@contextmanager
def program(name: str, *arguments: str) -> Iterator[list[str]]:
    """A program of this directory beside a run; when it has been told to stop, what it said is in the list."""
    command = [sys.executable, str(Path(__file__).with_name(name)), *arguments]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    said: list[str] = []
    try:
        yield said
    finally:
        said += process.communicate(timeout=60)[0].splitlines()
    if process.returncode != 0:
        sys.exit(f"{name} failed: {'; '.join(said)}")


@contextmanager
def hostile_clients(port: int, run: str, answers: Counter[str]) -> Iterator[None]:
    """Clients beside a run; what they got is added to the answers."""
    with program("clients.py", str(port), run) as said:
        yield
    print(f"    clients: {said[0]}", flush=True)
    for part in said[0].split("; "):
        count, _, what = part.partition(" ")
        if count.isdigit():
            answers[what] += int(count)


def peak_mib(pid: int) -> int:
    """The most memory that the process had so far."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) // 1024


def measured(client: Client, port: int, experiment: str, kind: str, answers: Counter[str]) -> str:
    """A run with what is beside it."""
    run = client.post(experiment)["id"]
    beside = {ALONE: nullcontext, BUSY: lambda: program("busy.py"), HOSTILE: lambda: hostile_clients(port, run, answers)}
    with beside[kind]():
        state = client.wait(run, timeout=300)
    if state["state"] != "finished":
        sys.exit(f"run {run} ended as {state['state']}: {state.get('reason')}")
    return run


def figures(client: Client, reference: str, beside: str) -> Iterator[tuple[str, float, float]]:
    """Each figure's name, its ratio (beside / reference), and the half-width of its interval in the reference."""
    for metric in METRICS:
        (cell,) = client.compare(beside, reference, metric=metric)["cells"]
        (before,), (after,) = cell["a"], cell["b"]
        width = (before["high"] - before["low"]) / 2 / before["mean"] if before["high"] is not None else 0.0
        yield metric, after["mean"] / before["mean"], width


Ratios = dict[str, list[tuple[float, float]]]


def main(rounds: int) -> None:
    if rounds < MIN_ROUNDS:
        sys.exit(f"ROUNDS: write {MIN_ROUNDS} or more")
    directory = Path(tempfile.mkdtemp(prefix="manometer-hostile-", dir="/dev/shm"))
    ratios: dict[tuple[str, str], Ratios] = {pair: {} for pair in ((BUSY, ALONE), (HOSTILE, ALONE), (HOSTILE, BUSY))}
    try:
        (directory / "data").mkdir()
        experiment = EXPERIMENT.format(data=directory / "data")
        with service(directory / "state", directory / "data") as (client, port, pid):
            answers: Counter[str] = Counter()
            measured(client, port, experiment, ALONE, answers)
            alone = peak_mib(pid)
            orders = list(permutations(KINDS))
            for number in range(rounds):
                print(f"round {number + 1} of {rounds}", flush=True)
                # The order changes, so that a drift of the machine cancels.
                order = orders[number % len(orders)]
                runs = {kind: measured(client, port, experiment, kind, answers) for kind in order}
                for (beside, reference), found in ratios.items():
                    for metric, ratio, width in figures(client, runs[reference], runs[beside]):
                        found.setdefault(metric, []).append((ratio, width))
            beside_mib = peak_mib(pid)
    finally:
        shutil.rmtree(directory)
    codes = {pair: judge(*pair, found) for pair, found in ratios.items()}
    code = codes[HOSTILE, BUSY]
    bodies = sum(count for status, count in answers.items() if status.isdigit())
    served = answers["events"] > 0 and answers["slow, ended"] > 0 and answers["huge, refused"] > 0
    print(f"\nmemory: at most {alone} MiB alone, {beside_mib} MiB beside them; {bodies} mutated bodies")
    if beside_mib > alone + MAX_GROWTH_MIB:
        sys.exit(f"the clients cost more than {MAX_GROWTH_MIB} MiB")
    if bodies < MIN_BODIES or not served:
        print(f"too little was sent: {dict(answers)}")
        code = code or 2
    sys.exit(code)


def t_95(degrees: int) -> float:
    """Student's t for a two-sided interval of 95 %, by the expansion of Cornish and Fisher (within 0.5 % from 7 degrees on)."""
    z = statistics.NormalDist().inv_cdf(0.975)
    return z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)


def judge(beside: str, reference: str, ratios: Ratios) -> int:
    """Prints what is known of each figure.

    Returns 0 if all stay within the interval of one run, 1 if one does not, 2 if the rounds cannot tell.
    """
    print(f"\n{'figure':8}{f'{beside} / {reference}':>16}  {'95 % interval':18}one run's interval")
    code = 0
    for metric in METRICS:
        found = ratios[metric]
        logs = [math.log(ratio) for ratio, _ in found]
        mean, error = statistics.mean(logs), statistics.stdev(logs) / math.sqrt(len(logs)) * t_95(len(logs) - 1)
        width = statistics.mean(width for _, width in found)
        ratio, low, high = math.exp(mean), math.exp(mean - error), math.exp(mean + error)
        if 1 - width <= low and high <= 1 + width:
            word = "stays within it"
        elif high < 1 - width or low > 1 + width:
            word, code = "changes", 1
        else:
            word, code = "inconclusive", code or 2
        print(f"{metric:8}{ratio:16.3f}  {low:.3f} .. {high:.3f}    ± {100 * width:.1f} %: {word}")
    return code


main(int(sys.argv[1]))
