"""Alternates runs alone, beside hostile clients of another service, and beside hostile clients of their own service, and compares their figures.

The other service is the control: it costs the machine what the clients cost it, and shares nothing else with the run.
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
from contextlib import contextmanager
from dataclasses import dataclass
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
# What the other service does meanwhile, so that its events can be read: next to nothing.
IDLE = """
name: elsewhere
targets: {t: 'sim:?latency=1ms'}
workloads: {w: {ops: read, file_size: 1MiB, rate: 1/s}}
stages: {warm_up: 1s, measure: {at_least: 5s, at_most: 5s}}
steady: none
"""
# What the clients may add to the service's memory at its peak, as in crates/cli/tests/serve_hostile.rs.
MAX_GROWTH_MIB = 160
# Mutated bodies that must have been answered for the result to say something.
MIN_BODIES = 10_000
METRICS = ("rate", "p50", "p99", "mean")
# Fewer rounds than this say nothing about four figures.
MIN_ROUNDS = 8
# Where the hostile clients are, in each round.
WHERE = ("alone", "elsewhere", "beside")
# A run of the first kind is compared with one of the second.
COMPARED = (("beside", "elsewhere"), ("beside", "alone"), ("elsewhere", "alone"))


@dataclass
class Service:
    """A service that runs."""

    client: Client
    port: int
    pid: int


@contextmanager
def service(state: Path, data: Path) -> Iterator[Service]:
    """A service on a free port."""
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
        yield Service(Client(f"http://127.0.0.1:{port}", timeout=120), port, process.pid)
    finally:
        process.terminate()
        process.wait(timeout=60)


@contextmanager
def hostile_clients(port: int, run: str, answers: Counter[str]) -> Iterator[None]:
    """Clients beside a run; what they got is added to the answers."""
    script = Path(__file__).with_name("clients.py")
    process = subprocess.Popen(
        [sys.executable, str(script), str(port), run], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield
    finally:
        said, _ = process.communicate(timeout=60)
        print(f"    clients: {said.strip()}", flush=True)
        for part in said.partition("\n")[0].split("; "):
            count, _, what = part.partition(" ")
            if count.isdigit():
                answers[what] += int(count)
    if process.returncode != 0:
        sys.exit("a hostile client got an answer that it did not expect")


def peak_mib(pid: int) -> int:
    """The most memory that the process had so far."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) // 1024


def finished(client: Client, run: str) -> None:
    """Waits for a run, which must succeed."""
    state = client.wait(run, timeout=300)
    if state["state"] != "finished":
        sys.exit(f"run {run} ended as {state['state']}: {state.get('reason')}")


class Bench:
    """The service that is measured, the other one, and what the clients got from each."""

    def __init__(self, own: Service, other: Service, experiment: str) -> None:
        self.own, self.other, self.experiment = own, other, experiment
        self.answers: dict[str, Counter[str]] = {"beside": Counter(), "elsewhere": Counter()}

    def measured(self, where: str) -> str:
        """A run, with clients as said: "alone", "elsewhere" or "beside"."""
        run = self.own.client.post(self.experiment)["id"]
        if where == "alone":
            finished(self.own.client, run)
        elif where == "beside":
            with hostile_clients(self.own.port, run, self.answers[where]):
                finished(self.own.client, run)
        else:
            idle = self.other.client.post(IDLE)["id"]
            with hostile_clients(self.other.port, idle, self.answers[where]):
                finished(self.own.client, run)
            finished(self.other.client, idle)
        return run


def figures(client: Client, before_run: str, after_run: str) -> Iterator[tuple[str, float, float]]:
    """Each figure's name, its ratio (after / before), and the half-width of its interval in the run before."""
    for metric in METRICS:
        (cell,) = client.compare(after_run, before_run, metric=metric)["cells"]
        (before,), (after,) = cell["a"], cell["b"]
        width = (before["high"] - before["low"]) / 2 / before["mean"] if before["high"] is not None else 0.0
        yield metric, after["mean"] / before["mean"], width


def main(rounds: int) -> None:
    if rounds < MIN_ROUNDS:
        sys.exit(f"ROUNDS: write {MIN_ROUNDS} or more")
    directory = Path(tempfile.mkdtemp(prefix="manometer-hostile-", dir="/dev/shm"))
    ratios: dict[tuple[str, str], dict[str, list[tuple[float, float]]]] = {pair: {} for pair in COMPARED}
    try:
        (directory / "data").mkdir()
        experiment = EXPERIMENT.format(data=directory / "data")
        with (
            service(directory / "state", directory / "data") as own,
            service(directory / "other", directory / "data") as other,
        ):
            bench = Bench(own, other, experiment)
            bench.measured("alone")
            alone = peak_mib(own.pid)
            for number in range(rounds):
                print(f"round {number + 1} of {rounds}", flush=True)
                # The order rotates, so that a drift of the machine cancels.
                order = [WHERE[(number + place) % len(WHERE)] for place in range(len(WHERE))]
                runs = {where: bench.measured(where) for where in order}
                for pair in COMPARED:
                    for metric, ratio, width in figures(own.client, runs[pair[1]], runs[pair[0]]):
                        ratios[pair].setdefault(metric, []).append((ratio, width))
            beside = peak_mib(own.pid)
    finally:
        shutil.rmtree(directory)
    code = 0
    for pair in COMPARED:
        worse = judge(*pair, ratios[pair])
        # What the clients cost the machine is no fault of the service.
        code = max(code, worse) if "beside" in pair else code
    for where, answers in bench.answers.items():
        bodies = sum(count for status, count in answers.items() if status.isdigit())
        print(f"{where}: {bodies} mutated bodies, {dict(answers)}")
        if bodies < MIN_BODIES or not (answers["events"] and answers["slow, ended"] and answers["huge, refused"]):
            print("too little was sent")
            code = max(code, 2)
    print(f"memory: at most {alone} MiB alone, {beside} MiB beside them")
    if beside > alone + MAX_GROWTH_MIB:
        sys.exit(f"the clients cost more than {MAX_GROWTH_MIB} MiB")
    sys.exit(code)


def t_95(degrees: int) -> float:
    """Student's t for a two-sided interval of 95 %, by the expansion of Cornish and Fisher (within 0.5 % from 7 degrees on)."""
    z = statistics.NormalDist().inv_cdf(0.975)
    return z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)


def judge(after: str, before: str, ratios: dict[str, list[tuple[float, float]]]) -> int:
    """Prints what is known of each figure.

    Returns 0 if all stay within the interval of one run, 2 if the rounds cannot tell, 3 if one does not.
    """
    print(f"\n{'figure':8}{f'{after} / {before}':>20}  {'95 % interval':18}one run's interval")
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
            word, code = "changes", 3
        else:
            word, code = "inconclusive", max(code, 2)
        print(f"{metric:8}{ratio:20.3f}  {low:.3f} .. {high:.3f}    ± {100 * width:.1f} %: {word}")
    return code


main(int(sys.argv[1]))
