"""Starts the cluster in the namespaces that we are in, runs the scenarios, ends it."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from lab.report import Report

from . import private
from .cluster import Cluster
from .scenarios import SCENARIOS, Bench

# The longest that one scenario may take, in seconds.
PATIENCE = 240


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--manometer", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("patterns", nargs="*")
    arguments = parser.parse_args()
    private.mounts(arguments.work)
    private.network()
    cluster = Cluster(arguments.programs, arguments.work)
    report = Report()
    began = time.monotonic()
    try:
        try:
            cluster.begin()
            bench = Bench(cluster, arguments.manometer)
        except Exception:
            cluster.tell()
            raise
        print(f"     two nodes are ready after {time.monotonic() - began:.1f} s", flush=True)
        for name, scenario in SCENARIOS.items():
            if not arguments.patterns or any(pattern in name for pattern in arguments.patterns):
                failed = report.failed
                with report.scenario(name, PATIENCE):
                    scenario(bench, report)
                if report.failed > failed:
                    cluster.tell()
    finally:
        cluster.end()
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
