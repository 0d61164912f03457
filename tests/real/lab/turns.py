"""Scenarios run as processes of their own: several side by side, some of those that measure alone, and failures once more.

A scenario against real servers may fail because of the machine it shares. Those that failed are run once more, alone, at the
end, which is said; so many failures as `MAX_REPEATED` in one run are not chance, and the run fails.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

MAX_REPEATED = 3
# Number of scenarios that are named as the longest ones.
LONGEST = 10

# How long a scenario that was asked to end may take to stop its servers.
PATIENCE_SECONDS = 30

# The environment variable in which a scenario finds which of those side by side it is.
SLOT = "MANOMETER_LAB_SLOT"


class Turn(Enum):
    """What else may run beside a scenario, in the order of the turns."""

    # It measures nothing.
    BESIDE_OTHERS = "beside others"
    # It measures something that leaves most of the processors idle: others of this kind may run.
    BESIDE_MEASURING = "beside others that measure"
    # It measures, or is limited by, the processors or the disk of this machine.
    ALONE = "alone"


@dataclass(frozen=True)
class Entry:
    """A scenario by its name."""

    name: str
    turn: Turn = Turn.BESIDE_OTHERS
    # Its outcome depends on nothing but the program: a failure is never excused.
    timing_free: bool = False


@dataclass(frozen=True)
class Tally:
    """Checks of one scenario."""

    passed: int
    failed: int

    @property
    def good(self) -> bool:
        """Something was checked, and all of it held."""
        return self.failed == 0 and self.passed > 0

    @staticmethod
    def read(path: Path) -> Tally:
        """What a scenario wrote at its end; one failure when it wrote nothing."""
        try:
            told = json.loads(path.read_text())
            return Tally(int(told["passed"]), int(told["failed"]))
        except (OSError, ValueError, KeyError):
            return Tally(0, 1)

    def write(self, path: Path) -> None:
        """Leaves it for the process that started the scenario."""
        path.write_text(json.dumps({"passed": self.passed, "failed": self.failed}))


@dataclass(frozen=True)
class Ticks:
    """Time of this machine's processors since boot, in ticks (proc(5))."""

    busy: int
    total: int

    @staticmethod
    def now() -> Ticks:
        """As the kernel tells it."""
        user, nice, system, idle, waiting, *others = (int(word) for word in Path("/proc/stat").read_text().split()[1:9])
        busy = user + nice + system + sum(others)
        return Ticks(busy, busy + idle + waiting)

    def busy_since(self, before: Ticks) -> float:
        """The share of processor time that was used."""
        return (self.busy - before.busy) / max(1, self.total - before.total)


class Running:
    """A scenario under way: a process group with its output in a file; in the harness's session, for the reason told at `Child`."""

    def __init__(self, entry: Entry, command: list[str], directory: Path, slot: int) -> None:
        self.entry = entry
        self.slot = slot
        self._directory = directory
        self._began = time.monotonic()
        self._log = (directory / "log").open("w+b")
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            env=os.environ | {SLOT: str(slot)},
            process_group=0,
        )

    def seconds(self) -> float:
        """How long it has been under way."""
        return time.monotonic() - self._began

    def ended(self, seconds: float) -> bool:
        """Whether it has ended; one that runs longer than so many seconds is ended."""
        if self._process.poll() is None and self.seconds() > seconds:
            self.stop()
        return self._process.poll() is not None

    def tally(self) -> Tally:
        """Prints all that it said, whole; what it counted."""
        self._log.seek(0)
        said = self._log.read().decode(errors="replace")
        self._log.close()
        tally = Tally.read(self._directory / "tally")
        sys.stdout.write(said)
        if not (self._directory / "tally").exists():
            print(f"FAIL {self.entry.name}: ended with {self._process.returncode} before it had counted its checks")
        sys.stdout.flush()
        return tally

    def stop(self) -> None:
        """Asks it to end, so that it stops its servers; then makes it."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


class Turns:
    """Runs scenarios. `command` gives the arguments that run one, and leave its tally in a file."""

    def __init__(self, command: Callable[[Entry, Path], list[str]], at_once: int, seconds: float) -> None:
        self._command = command
        self._at_once = max(1, at_once)
        self._seconds = seconds
        self._took: dict[Entry, float] = {}

    def all(self, entries: Iterable[Entry]) -> int:
        """Runs them all and prints the closing lines; the exit code: 0 only when something was checked and all of it held."""
        given = list(entries)
        tallies: dict[Entry, Tally] = {}
        for turn in Turn:
            tallies |= self._turn(turn, [entry for entry in given if entry.turn is turn])
        excusable = [entry for entry in given if not tallies[entry].good and not entry.timing_free]
        for entry in excusable[:MAX_REPEATED]:
            print(f"repeated: {entry.name}", flush=True)
            tallies |= dict(self._together([entry], 1))
        longest = sorted(self._took, key=lambda entry: -self._took[entry])[:LONGEST]
        print("longest:", ", ".join(f"{entry.name} {self._took[entry]:.0f} s" for entry in longest))
        for entry in given:
            if not tallies[entry].good:
                print(f"failed: {entry.name}", flush=True)
        passed, failed = (sum(getattr(tally, kind) for tally in tallies.values()) for kind in ("passed", "failed"))
        print(f"{passed} passed, {failed} failed", flush=True)
        if len(excusable) >= MAX_REPEATED:
            print(f"failed: {len(excusable)} scenarios failed at first; {MAX_REPEATED} are too many for chance", flush=True)
        good = all(tally.good for tally in tallies.values()) and len(excusable) < MAX_REPEATED
        return 0 if good and passed > 0 else 1

    def repeated(self, entries: Iterable[Entry], times: int) -> int:
        """Runs each so often, one after the other, and prints how often it was good; the exit code: 0 only when it always was."""
        given = list(entries)
        counts = dict.fromkeys((entry.name for entry in given), 0)
        for _ in range(times):
            for entry in given:
                counts[entry.name] += sum(tally.good for _, tally in self._together([entry], 1))
        for name, good in counts.items():
            print(f"{good} of {times}: {name}", flush=True)
        return 0 if given and all(good == times for good in counts.values()) else 1

    def _turn(self, turn: Turn, entries: list[Entry]) -> dict[Entry, Tally]:
        """Runs the scenarios of a turn, and prints how long they took and what they left of the processors."""
        if not entries:
            return {}
        began, ticks_before = time.monotonic(), Ticks.now()
        tallies = dict(self._together(entries, 1 if turn is Turn.ALONE else self._at_once))
        seconds, busy = time.monotonic() - began, Ticks.now().busy_since(ticks_before)
        print(f"turn: {len(entries)} scenarios {turn.value}, {seconds:.0f} s, processors {busy:.0%} busy", flush=True)
        return tallies

    def _together(self, entries: list[Entry], at_once: int) -> Iterator[tuple[Entry, Tally]]:
        """Runs these side by side, `at_once` at a time, and gives each as it ends."""
        waiting = list(reversed(entries))
        free = list(range(min(at_once, len(entries))))
        running: list[Running] = []
        with tempfile.TemporaryDirectory(prefix="manometer-turns-") as name:
            try:
                while waiting or running:
                    while waiting and free:
                        entry = waiting.pop()
                        directory = Path(name) / str(len(waiting))
                        directory.mkdir()
                        command = self._command(entry, directory / "tally")
                        running.append(Running(entry, command, directory, free.pop()))
                    for one in [one for one in running if one.ended(self._seconds)]:
                        running.remove(one)
                        free.append(one.slot)
                        self._took[one.entry] = one.seconds()
                        yield one.entry, one.tally()
                    time.sleep(0.05)
            finally:
                for one in running:
                    one.stop()
