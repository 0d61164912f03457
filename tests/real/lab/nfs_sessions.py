"""Sessions of NFSv4.1 against nfs-ganesha: expired leases, restarts within and beyond the grace period, a thousand opens."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .ganesha import LEASE_SECONDS, Ganesha, served
from .lab import Lab
from .manometer import Manometer, Run
from .process import wait_until
from .report import Report

EXPERIMENT = """
targets: {{t: {{url: 'nfs://127.0.0.1:{port}/export', version: '4.1', stable: true}}}}
workloads:
  all: {{{workload}}}
stages: {{warm_up: 0s, measure: {{at_least: {seconds}s, at_most: {seconds}s}}{verify}}}
steady: none
gates: [errors == 0]
"""
WRITES = "ops: {write: 50%, read: 50%}, files: 4, file_size: 1MiB, block_size: 16KiB, queue_depth: 8, jobs: 2, verify: true"

CREATES = "ops: create, queue_depth: 63, jobs: 16, files: 1, file_size: 4KiB"


def start(manometer: Manometer, ganesha: Ganesha, workload: str, seconds: int, verify: bool) -> tuple[Run, Path]:
    """Starts a run; also where its results go."""
    directory = manometer.place.directory
    file, results = directory / "experiment.yaml", directory / "results.sqlite"
    more = ", verify: true" if verify else ""
    file.write_text(EXPERIMENT.format(port=ganesha.nfs_port, workload=workload, seconds=seconds, verify=more))
    return manometer.start("run", str(file), f"--results={results}"), results


def finished(report: Report, manometer: Manometer, run: Run, results: Path) -> dict[str, Any]:
    """Checks that a run ended well; its only cell's result."""
    outcome = run.finish()
    report.equal("exit code 0", outcome.code, 0) or print(outcome.stdout, outcome.stderr)
    return dict(manometer.cells(results)[0]["result"])


def interrupted(
    lab: Lab, report: Report, meanwhile: Callable[[Ganesha], None], *, graceless: bool, stopped: bool = True
) -> None:
    """Does something to the server in the middle of a load that is verified, with the program `stopped` for so long.

    Writes are durable at once: unstable ones that the server forgets are rightly an error (verifier-changed).
    """
    with served(lab, graceless=graceless, statistics=True) as (ganesha, manometer):
        run, results = start(manometer, ganesha, WRITES, 12, verify=True)
        wait_until("load", lambda: ganesha.statistics("4.1")["WRITE"] > 500, 30, run.child)
        if stopped:
            run.child.signal(signal.SIGSTOP)
        # A server that restarts counts from 0.
        before: Counter[str] = Counter()
        meanwhile(ganesha)
        if stopped:
            before = ganesha.statistics("4.1")
            run.child.signal(signal.SIGCONT)
        wait_until("load", lambda: ganesha.statistics("4.1")["WRITE"] > before["WRITE"] + 500, 30, run.child)
        new = ganesha.statistics("4.1")["EXCHANGE_ID"] - before["EXCHANGE_ID"]
        report.check("every worker becomes a new client", new >= 2, new)
        result = finished(report, manometer, run, results)
        report.equal("no errors", result["total"]["failed"], 0)
        report.check("the repetitions are counted", result["total"]["retries"] > 0, result["total"])
        report.equal("nothing left", list(ganesha.export.iterdir()), [])


def expired(lab: Lab, report: Report) -> None:
    interrupted(lab, report, lambda _: time.sleep(LEASE_SECONDS + 3), graceless=True)


def restart(ganesha: Ganesha) -> None:
    ganesha.child.stop(patience=0)
    ganesha.start()


def within_grace(lab: Lab, report: Report) -> None:
    """A server that restarts loses clients and sessions, and has a grace period: the run goes on after it."""
    interrupted(lab, report, restart, graceless=False, stopped=False)


def beyond_grace(lab: Lab, report: Report) -> None:
    """The grace period has passed when the program comes back."""

    def restart_and_wait(ganesha: Ganesha) -> None:
        restart(ganesha)
        wait_until("end of the grace period", lambda: "NOT IN GRACE" in ganesha.log.read_text(), 30, ganesha.child)

    interrupted(lab, report, restart_and_wait, graceless=False)


def thousand_opens(lab: Lab, report: Report) -> None:
    """The server grants 64 slots to a session: 16 sessions have 1,008 OPENs in flight."""
    with served(lab, statistics=True) as (ganesha, manometer):
        run, results = start(manometer, ganesha, CREATES, 2, verify=False)
        result = finished(report, manometer, run, results)
        created = result["total"]["ok"]
        report.check("more than 1,008 files were created", created > 1008, created)
        report.equal("no errors", result["total"]["failed"], 0)
        counted = ganesha.statistics("4.1")
        report.equal("every OPEN was closed", counted["OPEN"], counted["CLOSE"])
        report.check("the server counts every OPEN", counted["OPEN"] >= created, counted)
        report.equal("nothing left", list(ganesha.export.iterdir()), [])


SCENARIOS = {
    "nfs 4.1 expired lease": expired,
    "nfs 4.1 server restart": within_grace,
    "nfs 4.1 restart beyond grace": beyond_grace,
    "nfs 4.1 1,000 opens": thousand_opens,
}
