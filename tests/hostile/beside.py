"""Alternates runs alone and beside hostile clients, and compares their figures. The clients run on the service's host, so what
they cost a load themselves is part of it."""

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
# What is beside a run: nothing, or hostile clients.
ALONE, HOSTILE = KINDS = ("alone", "hostile")


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
def hostile_clients(port: int, run: str, answers: Counter[str]) -> Iterator[None]:
    """Clients beside a run, until the end of this; what they got is added to the answers."""
    command = [sys.executable, str(Path(__file__).with_name("clients.py")), str(port), run]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    said: list[str] = []
    try:
        yield
    finally:
        said += process.communicate(timeout=60)[0].splitlines()
    if process.returncode != 0:
        sys.exit(f"the clients failed: {'; '.join(said)}")
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
    with hostile_clients(port, run, answers) if kind == HOSTILE else nullcontext():
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
    found: Ratios = {}
    try:
        (directory / "data").mkdir()
        experiment = EXPERIMENT.format(data=directory / "data")
        with service(directory / "state", directory / "data") as (client, port, pid):
            answers: Counter[str] = Counter()
            measured(client, port, experiment, ALONE, answers)
            alone = peak_mib(pid)
            for number in range(rounds):
                print(f"round {number + 1} of {rounds}", flush=True)
                # The order changes, so that a drift of the machine cancels.
                order = KINDS if number % 2 else reversed(KINDS)
                runs = {kind: measured(client, port, experiment, kind, answers) for kind in order}
                for metric, ratio, width in figures(client, runs[ALONE], runs[HOSTILE]):
                    found.setdefault(metric, []).append((ratio, width))
            beside_mib = peak_mib(pid)
    finally:
        shutil.rmtree(directory)
    code = judge(found)
    bodies = sum(count for status, count in answers.items() if status.isdigit())
    served = answers["events"] > 0 and answers["slow, ended"] > 0 and answers["huge, refused"] > 0
    print(f"\nmemory: at most {alone} MiB alone, {beside_mib} MiB beside them; {bodies} mutated bodies")
    if beside_mib > alone + MAX_GROWTH_MIB:
        sys.exit(f"the clients cost more than {MAX_GROWTH_MIB} MiB")
    if bodies < MIN_BODIES or not served:
        print(f"too little was sent: {dict(answers)}")
        code = code or 2
    sys.exit(code)


def interval_95(values: list[float]) -> tuple[float, float, float]:
    """The Hodges-Lehmann estimate of the centre of paired differences, and its interval of 95 % by Wilcoxon's signed-rank
    test with the normal approximation (Hollander, Wolfe and Chicken, "Nonparametric Statistical Methods", section 3.2 and 3.3):
    a run that something else disturbed counts by its rank, not by its size."""
    count = len(values)
    walsh = sorted((values[i] + values[j]) / 2 for i in range(count) for j in range(i, count))
    spread = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
    cut = max(int(len(walsh) / 2 - statistics.NormalDist().inv_cdf(0.975) * spread), 0)
    return statistics.median(walsh), walsh[cut], walsh[-1 - cut]


def judge(ratios: Ratios) -> int:
    """Prints what is known of each figure.

    Returns 0 if all stay within the interval of one run, 1 if one does not, 2 if the rounds cannot tell.
    """
    print(f"\n{'figure':8}{'hostile / alone':>16}  {'95 % interval':18}one run's interval")
    code = 0
    for metric in METRICS:
        found = ratios[metric]
        ratio, low, high = (math.exp(log) for log in interval_95([math.log(ratio) for ratio, _ in found]))
        width = statistics.median(width for _, width in found)
        if 1 - width <= low and high <= 1 + width:
            word = "stays within it"
        elif high < 1 - width or low > 1 + width:
            word, code = "changes", 1
        else:
            word, code = "inconclusive", code or 2
        print(f"{metric:8}{ratio:16.3f}  {low:.3f} .. {high:.3f}    ± {100 * width:.1f} %: {word}")
    return code


main(int(sys.argv[1]))
