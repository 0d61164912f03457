"""One measurement of one side, and the summary of several."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CLIENT_CORE = 1
SERVER_CORE = 0


@dataclass(frozen=True)
class Sample:
    """The work of one side in its window."""

    amount: float  # ops, or bytes
    seconds: float
    cpu_seconds: float
    errors: int

    @property
    def per_cpu_second(self) -> float:
        """Ops or bytes per second of client CPU time, user and system."""
        return self.amount / self.cpu_seconds

    @property
    def per_second(self) -> float:
        """Ops or bytes per second of wall time."""
        return self.amount / self.seconds


@dataclass(frozen=True)
class Spread:
    """Median, min and max of some rounds."""

    median: float
    low: float
    high: float

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        """The spread of at least one value."""
        return Spread(statistics.median(values), min(values), max(values))


def core(number: int) -> str:
    """The n-th core that this process may use, or the only one."""
    cores = sorted(os.sched_getaffinity(0))
    return str(cores[number % len(cores)])


def on_core(number: int, command: Sequence[str]) -> list[str]:
    """The command, pinned to the n-th core."""
    return ["taskset", "--cpu-list", core(number), *command]


def output(command: Sequence[str], seconds: float, env: Mapping[str, str] | None = None) -> str:
    """Runs a client on its core; its output."""
    done = subprocess.run(
        on_core(CLIENT_CORE, command),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds + 60,
        env=None if env is None else dict(os.environ) | dict(env),
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {(done.stderr or done.stdout).strip()}")
    return done.stdout.strip()


def cpu_seconds() -> float:
    """User and system time of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def client(command: Sequence[str], seconds: float, env: Mapping[str, str] | None = None) -> Any:
    """Runs a client on its core; the last line of its output as JSON, or all of it when that is one document."""
    text = output(command, seconds, env)
    return json.loads(text if text.startswith("{\n") else text.splitlines()[-1])


def sample(line: Mapping[str, Any], what: str) -> Sample:
    """A JSON line of `bench` or of a peer as a sample; `what` is `ops` or `bytes`."""
    return Sample(float(line[what]), float(line["seconds"]), float(line["cpu_seconds"]), int(line.get("errors", 0)))
