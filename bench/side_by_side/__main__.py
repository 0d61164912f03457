"""Runs the cases in alternating pairs and prints the table."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from . import peers
from .cases import Case, all_cases
from .measure import Sample
from .ours import Ours
from .servers import Servers, array, real_servers
from .table import Line, render

ROOT = Path(__file__).resolve().parents[2]


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="bench/run", description="manometer beside its peers, in alternating pairs")
    parser.add_argument("--quick", action="store_true", help="one round of half-second windows: does everything work?")
    parser.add_argument("--rounds", type=int, default=5, help="pairs for each case [5]")
    parser.add_argument("--seconds", type=float, default=3, help="length of a measured window [3]")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument(
        "--servers", choices=("array", "real"), default="array", help="simulated array, or nfs-ganesha and versitygw"
    )
    parser.add_argument("--json", type=Path, help="also write every sample here")
    parser.add_argument(
        "--binaries", type=Path, help="directory with `bench` and `manometer`, instead of building them"
    )
    parser.add_argument(
        "--profile", choices=("release", "profiling"), default="release", help="profiling: with names for perf [release]"
    )
    given = parser.parse_args()
    if given.quick:
        given.rounds, given.seconds = 1, 1
    return given


def build(profile: str) -> tuple[Path, Path]:
    """Builds `bench` and `manometer` with one of cargo's profiles."""
    packages = ["-p", "bench", "-p", "manometer"]
    subprocess.run(["cargo", "build", f"--profile={profile}", "--locked", "--quiet", *packages], cwd=ROOT, check=True)
    directory = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / profile
    return directory / "bench", directory / "manometer"


@contextmanager
def chosen_servers(kind: str, bench: Path, manometer: Path) -> Iterator[Servers]:
    """The requested servers."""
    if kind == "array":
        with array(manometer, bench) as servers:
            yield servers
    else:
        with real_servers(ROOT / "tests" / "real", peers.cache() / "versitygw-v1.8.0" / "versitygw", bench) as servers:
            yield servers


def machine(built: str) -> list[str]:
    """What a reader needs to know about the environment and the versions."""
    model = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        "?",
    )
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    return [
        f"{model}, {len(os.sched_getaffinity(0))} cores, Linux {platform.release()}, loopback, load average {load} at the start",
        f"built: {built}",
        "client held to core 1, server to core 0; rates are for one second of client CPU, unless by the clock",
    ]


def run(case: Case, rounds: int, seconds: float) -> Line:
    """All rounds of one case; the side that goes first alternates."""
    ours: list[Sample] = []
    theirs: list[Sample] = []
    for number in range(rounds):
        sides = [(case.ours, ours), (case.theirs, theirs)]
        for side, samples in sides if number % 2 == 0 else reversed(sides):
            samples.append(side(seconds))
    return Line(case.name, case.unit, case.peer, case.goal, ours, theirs, case.per_clock)


def main() -> int:
    """The exit code: 1 when a case could not be run; a missed goal is no error."""
    given = arguments()
    bench, manometer = (given.binaries / "bench", given.binaries / "manometer") if given.binaries else build(given.profile)
    peers.prepare()
    notes = machine(f"binaries of {given.binaries}" if given.binaries else f"cargo's profile {given.profile}")
    lines: list[Line] = []
    failed: list[str] = []
    with chosen_servers(given.servers, bench, manometer) as servers:
        for case in all_cases(Ours(bench), manometer, servers):
            if given.only.lower() not in f"{case.name} ({case.peer})".lower():
                continue
            try:
                line = run(case, given.rounds, given.seconds)
            except (RuntimeError, subprocess.TimeoutExpired, KeyError, ZeroDivisionError) as error:
                failed.append(f"{case.name}: {error}")
                print(f"{case.name}: {error}", file=sys.stderr, flush=True)
                continue
            lines.append(line)
            print(
                f"{case.name} ({case.peer}): {', '.join(f'{ratio:.2f}' for ratio in line.ratios)}",
                file=sys.stderr,
                flush=True,
            )
    if lines:
        print(render(lines))
    print("\n".join(f"- {note}" for note in notes))
    if given.json:
        given.json.write_text(
            json.dumps({"machine": notes, "cases": [line.document() for line in lines]}, indent=1) + "\n"
        )
    return 1 if failed or not lines else 0


if __name__ == "__main__":
    sys.exit(main())
