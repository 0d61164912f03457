"""Child processes that always end: with their scenario, or with the harness if that is killed."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from .turns import SLOT

# SIGKILL when the harness ends, however it ends.
DIE_WITH_PARENT = ["setpriv", "--pdeathsig", "KILL"]


class Child:
    """A process in its own process group, with its output in a file.

    Not in its own session: the kernel divides each core between sessions first (`sched_autogroup_enabled`), and a worker that is
    pinned to the core that another session keeps busy may then wait for seconds.
    """

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        *,
        env: Mapping[str, str] | None = None,
        separate_stderr: Path | None = None,
    ) -> None:
        self.log = log
        self.errors = separate_stderr or log
        with log.open("wb") as out, self.errors.open("ab") as err:
            self._process = subprocess.Popen(
                [*DIE_WITH_PARENT, *command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=None if env is None else dict(env),
                process_group=0,
            )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def ended(self) -> int | None:
        """The exit code, or None while it runs."""
        return self._process.poll()

    def signal(self, number: int) -> None:
        """Sends a signal to the process itself."""
        self._process.send_signal(number)

    def wait(self, seconds: float) -> int:
        """Waits for the end; the exit code (negative: the signal that ended it)."""
        return self._process.wait(timeout=seconds)

    def stop(self, patience: float = 5) -> None:
        """Ends the whole group: politely, then by force after `patience` seconds."""
        if patience and self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)
            self._process.terminate()
            try:
                self._process.wait(timeout=patience)
            except subprocess.TimeoutExpired:
                pass
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait(timeout=5)

    def text(self) -> str:
        """All it has written to its log so far."""
        return self.log.read_text(errors="replace")

    def error_text(self) -> str:
        """All it has written to stderr so far."""
        return self.errors.read_text(errors="replace")


def wait_until(what: str, holds: Callable[[], bool], seconds: float, child: Child | None = None) -> None:
    """Polls until `holds`; fails after `seconds` or as soon as `child` has ended."""
    deadline = time.monotonic() + seconds
    while not holds():
        if child is not None and child.ended() is not None:
            raise RuntimeError(f"{what}: ended with {child.ended()}: {child.error_text()[-2000:]}")
        if time.monotonic() > deadline:
            tail = "" if child is None else child.error_text()[-2000:]
            raise RuntimeError(f"{what}: not within {seconds} s {tail}")
        time.sleep(0.02)


# Ports that no program is given for a connection of its own (those begin at 32768), so many for each scenario side by side.
FIRST_PORT, PORTS_EACH, MAX_SLOTS = 21_000, 1_000, 11
_given: set[int] = set()


def free_port(address: str = "127.0.0.1") -> int:
    """A TCP port nobody listens on at `address` right now, and which no scenario beside this one chooses."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    first = FIRST_PORT + int(os.environ.get(SLOT, "0")) % MAX_SLOTS * PORTS_EACH
    for port in random.sample(range(first, first + PORTS_EACH), PORTS_EACH):
        if port in _given:
            continue
        with socket.socket(family) as probe:
            try:
                probe.bind((address, port))
            except OSError:
                continue
            _given.add(port)
            return port
    raise RuntimeError(f"no port of {first} to {first + PORTS_EACH - 1} is free at {address}")


def run(command: Sequence[str], seconds: float = 60, env: Mapping[str, str] | None = None) -> str:
    """Runs a command to its end; its stdout. Raises with its stderr when it fails."""
    done = subprocess.run(
        list(command),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
        env=None if env is None else dict(env),
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def answers(address: str, port: int) -> bool:
    """Whether something accepts connections there."""
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        probe.settimeout(1)
        return probe.connect_ex((address, port)) == 0
