"""Runs the scenarios whose names contain one of the given patterns, or all."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from . import (
    file_checks,
    fio_checks,
    fio_remote_checks,
    fleet_checks,
    fleet_clocks,
    fleet_faults,
    interop_checks,
    network_checks,
    nfs_checks,
    path_checks,
    path_more_checks,
    plot_checks,
    s3_checks,
    verdict_checks,
)
from .lab import Lab
from .report import Report

SCENARIO_SECONDS = 180


def main() -> int:
    """The exit code: 0 only when something was checked and nothing failed."""
    parser = argparse.ArgumentParser(prog="tests/real")
    parser.add_argument("--manometer", type=Path, required=True)
    parser.add_argument("--versitygw", type=Path, required=True)
    parser.add_argument("patterns", nargs="*")
    given = parser.parse_args()
    for program in (given.manometer, given.versitygw):
        if not program.is_file():
            parser.error(f"{program} is missing")
    # A polite request to end also stops the servers and removes the directories.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    lab = Lab(given.manometer.resolve(), given.versitygw.resolve())
    report = Report()
    for name, scenario in (
        nfs_checks.SCENARIOS
        | s3_checks.SCENARIOS
        | path_checks.SCENARIOS
        | path_more_checks.SCENARIOS
        | interop_checks.SCENARIOS
        | file_checks.SCENARIOS
        | fio_checks.SCENARIOS
        | fio_remote_checks.SCENARIOS
        | plot_checks.SCENARIOS
        | fleet_checks.SCENARIOS
        | fleet_faults.SCENARIOS
        | fleet_clocks.SCENARIOS
        | network_checks.SCENARIOS
        | verdict_checks.SCENARIOS
    ).items():
        if not given.patterns or any(pattern in name for pattern in given.patterns):
            with report.scenario(name, SCENARIO_SECONDS):
                scenario(lab, report)
    return report.close()


sys.exit(main())
