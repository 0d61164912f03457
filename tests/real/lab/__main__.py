"""Runs the scenarios whose names contain one of the given patterns, or all."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from .lab import Lab
from .report import Report
from .suite import scenarios
from .turns import Entry, Turns

SCENARIO_SECONDS = 180
# What a scenario that hangs may take to stop its servers.
SLACK_SECONDS = 60
AT_ONCE = 4
# The environment variable that says how often each scenario runs, one at a time, to count how often it is right.
REPEAT = "MANOMETER_REPEAT"


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="tests/real")
    parser.add_argument("--manometer", type=Path, required=True)
    parser.add_argument("--versitygw", type=Path, required=True)
    parser.add_argument("--minio", type=Path, required=True)
    parser.add_argument(
        "--at-once", type=int, default=AT_ONCE, help=f"scenarios side by side, but those that measure [{AT_ONCE}]"
    )
    # How the scenarios' own processes are told which it is, and where to count.
    parser.add_argument("--scenario", help=argparse.SUPPRESS)
    parser.add_argument("--tally", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("patterns", nargs="*")
    given = parser.parse_args()
    for program in (given.manometer, given.versitygw, given.minio):
        if not program.is_file():
            parser.error(f"{program} is missing")
    return given


def level() -> None:
    """Takes back the priority that an earlier scenario gave the whole session (`verdict_ground.FIRST`): beside a busy program of
    a session that goes first, servers with sessions of their own and the kernel's network threads starve."""
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text("0")


def one(given: argparse.Namespace) -> int:
    """Runs one scenario in this process."""
    level()
    lab = Lab(given.manometer.resolve(), given.versitygw.resolve(), given.minio.resolve())
    report = Report()
    scenario = next(run for entry, run in scenarios().items() if entry.name == given.scenario)
    with report.scenario(given.scenario, SCENARIO_SECONDS):
        scenario(lab, report)
    report.tally.write(given.tally)
    return 0


def main() -> int:
    """The exit code: 0 only when something was checked and nothing failed."""
    given = arguments()
    # A polite request to end also stops the servers and removes the directories.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if given.scenario:
        return one(given)
    wanted = [
        entry
        for entry in scenarios()
        if not given.patterns or any(pattern in entry.name for pattern in given.patterns)
    ]

    def command(entry: Entry, tally: Path) -> list[str]:
        # It is asked to end when the harness ends, however that ends.
        programs = [f"--manometer={given.manometer}", f"--versitygw={given.versitygw}", f"--minio={given.minio}"]
        again = [*programs, f"--scenario={entry.name}", f"--tally={tally}"]
        return ["setpriv", "--pdeathsig", "TERM", sys.executable, "-m", "lab", *again]

    turns = Turns(command, given.at_once, SCENARIO_SECONDS + SLACK_SECONDS)
    times = os.environ.get(REPEAT, "1")
    if not times.isdigit() or times == "0":
        print(f"tests/real: {REPEAT}={times} is no number of times; next: {REPEAT}=10", file=sys.stderr)
        return 2
    return turns.all(wanted) if times == "1" else turns.repeated(wanted, int(times))


sys.exit(main())
