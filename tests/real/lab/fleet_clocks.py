"""Fleets whose wall clocks are set while they measure, and whose clocks began at different times.

Debian's libfaketime stands before the C library of what is to see another wall clock (its own README says how a file of
offsets is read anew at each call). The monotonic clock stays true, as it does when a clock is really set.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from .fleet_net import SERVERS, FleetNet
from .fleet_run import (
    arguments_of,
    BLOCK,
    experiment_file,
    filer,
    Gateway,
    layout_of,
    network,
    NFS,
    nothing_left,
    program,
    results,
    S3,
    total_of,
    WAIT,
)
from .lab import Lab
from .manometer import Manometer, Outcome
from .process import run, wait_until
from .report import Report, Scenario
from .versity import ACCESS_KEY, SECRET_KEY

HOUR = 3600
LIBRARY = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")
SECONDS = 5
# Clocks of one kernel are the same: an estimate that is off by more has been misled.
NEAR_NS = 20_000_000

# Two places, the second of which is made when the first has been measured.
TWO_PLACES = f"""
name: clocks
targets:
  one: "nfs://{SERVERS}/export"
  two: "nfs://{SERVERS}/small"
workloads:
  first: &reads {{target: one, ops: read, access: sequential, block_size: 64KiB, queue_depth: 4,
    files: 2, file_size: 4MiB, verify: true}}
  second: {{<<: *reads, target: two, file_size: 512KiB}}
stages: {{warm_up: 0s, measure: {SECONDS}s}}
steady: none
"""


class WallClock:
    """A wall clock that some programs see, and that can be set."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.set(0)

    def set(self, ahead: int) -> None:
        """So many seconds ahead of the true one, at once."""
        new = self._path.with_suffix(".new")
        new.write_text(f"{ahead:+d}\n")
        new.chmod(0o644)
        new.replace(self._path)

    @property
    def environment(self) -> dict[str, str]:
        """What makes a program see it."""
        return {
            "LD_PRELOAD": str(LIBRARY),
            "FAKETIME_TIMESTAMP_FILE": str(self._path),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    def ahead(self) -> float:
        """So many seconds it is ahead, for whoever sees it."""
        return int(run(["date", "+%s"], env=os.environ | self.environment)) - time.time()


def sweep() -> None:
    """Removes what libfaketime leaves in shared memory of programs that were replaced or killed."""
    for path in Path("/dev/shm").glob("*faketime_*"):
        if not Path(f"/proc/{path.name.rsplit('_', 1)[1]}").exists():
            path.unlink(missing_ok=True)


def _sees(processes: list[int]) -> bool:
    maps = [Path(f"/proc/{process}/maps").read_text() for process in processes]
    return bool(maps) and all(LIBRARY.name in text for text in maps)


def _clean(report: Report, outcome: Outcome, cells: int) -> list[dict[str, Any]]:
    """All hosts measured all the time, none was lost, and what is said of time fits."""
    report.equal("exit code", outcome.code, 0)
    report.check("no host is lost", "lost" not in outcome.stderr, outcome.stderr[-800:])
    report.equal("cells", len(outcome.document["cells"]), cells)
    found = results(outcome)
    for result in found:
        seconds = [stage["seconds"] for stage in result["stages"] if stage["name"] == "measure"]
        report.equal("seconds measured", [round(each, 3) for each in seconds], [SECONDS])
        counts = [host["total"]["ok"] for host in result["hosts"]]
        report.check("every host did its part", len(counts) == 4 and min(counts) > 0, counts)
        report.equal("the hosts are the whole", sum(counts), result["total"]["ok"])
        report.equal("failed", result["total"]["failed"], 0)
    ok, read = total_of(outcome)
    report.equal("bytes of operations", read, ok * BLOCK)
    last = None
    for cell in outcome.document["cells"]:
        began, ended = (datetime.fromisoformat(cell[name]) for name in ("started", "finished"))
        took = (ended - began).total_seconds()
        report.check("a cell takes as long as it took", SECONDS <= took < SECONDS + 60, (began, ended))
        report.check("cells come one after the other", last is None or last <= began, (last, began))
        last = ended
    return found


def _journal_times(net: FleetNet) -> list[float]:
    """When agents say that they made something, in seconds from now."""
    found = []
    for path in net.home.rglob("journal/*"):
        for line in path.read_text().splitlines() if path.is_file() else []:
            record = json.loads(line) if line.startswith("{") else {}
            found += [at - time.time() for at in _values(record, "at_s")]
    return found


def _values(record: Any, name: str) -> list[float]:
    if not isinstance(record, dict):
        return []
    own = [record[name]] if isinstance(record.get(name), int) else []
    return own + [value for inner in record.values() for value in _values(inner, name)]


def agent_clock_set(lab: Lab, report: Report) -> None:
    """The wall clock of one host is set an hour forward while it measures: nothing comes of it."""
    clocks: list[WallClock] = []

    def environments(directory: Path) -> Mapping[str, Mapping[str, str]]:
        clocks.append(WallClock(directory / "clock"))
        return {"host2": clocks[0].environment}

    with network(lab, environments=environments) as net, filer(net) as server:
        experiment = net.directory / "clocks.yaml"
        experiment.write_text(TWO_PLACES)
        started = program(lab, net).start(*arguments_of(net, str(experiment), *net.ssh_flags()))
        wait_until("the data", lambda: sum(layout_of(server.export).values()) >= 4 * (8 << 20), 90, started.child)
        time.sleep(2)
        host = net.hosts[1].processes("manometer agent")
        report.check("its agent sees the clock that is set", _sees(host), host)
        report.check("no other does", not _sees(net.hosts[0].processes("manometer agent")))
        clocks[0].set(HOUR)
        report.check("it is an hour ahead", abs(clocks[0].ahead() - HOUR) < 5, clocks[0].ahead())
        times: list[float] = []

        def seen() -> bool:
            times[:] = _journal_times(net)
            return any(at > HOUR / 2 for at in times)

        wait_until("the agent's own word for the new time", seen, 60, started.child)
        ahead = [at for at in times if at > HOUR / 2]
        others = [at for at in times if at <= HOUR / 2]
        report.check("one agent says so", len(ahead) == 1 and abs(ahead[0] - HOUR) < 60, times)
        report.check("the others' time is as it was", all(-120 < at < 5 for at in others), others)
        found = _clean(report, started.finish(WAIT), 2)
        for result in found:
            clock = next(host["clock"] for host in result["hosts"] if host["name"] == "host2")
            near = abs(clock["offset_ns"]) < NEAR_NS and clock["uncertainty_ns"] < NEAR_NS
            report.check("its clock is known as before", near and abs(clock["drift_ppm"]) < 200, clock)
        nothing_left(net, report)
    sweep()


def leader_clock_set(lab: Lab, report: Report) -> None:
    """The wall clock of the side that leads goes an hour forward in one cell, and back in the next."""
    with network(lab) as net, filer(net) as server:
        clock = WallClock(net.directory / "clock")
        leader = program(lab, net, clock.environment)
        experiment = experiment_file(net, NFS, f"{SECONDS}s", repetitions=2)
        started = leader.start(*arguments_of(net, experiment, *net.ssh_flags()))
        wait_until("the data", lambda: sum(layout_of(server.export).values()) >= 4 * (8 << 20), 90, started.child)
        time.sleep(2)
        report.check("it sees the clock that is set", _sees([started.child.pid]))
        clock.set(HOUR)
        report.check("it is an hour ahead", abs(clock.ahead() - HOUR) < 5, clock.ahead())
        wait_until("the second cell", lambda: _cells_begun(leader, net) == 2, 60, started.child)
        clock.set(0)
        report.check("it is back", abs(clock.ahead()) < 5, clock.ahead())
        _clean(report, started.finish(WAIT), 2)
        nothing_left(net, report)
    sweep()


def _cells_begun(leader: Manometer, net: FleetNet) -> int:
    """Cells of the run under way that have begun, as the results file says."""
    command = [str(leader.program), "export", "last", "--format=json", f"--results={net.directory}/results.sqlite"]
    document = json.loads(run(command))
    return sum(cell["state"] in ("running", "finished") for cell in document["cells"])


def signatures_need_the_time(lab: Lab, report: Report) -> None:
    """An object store refuses signatures of another hour: the host's clock is named as the reason."""
    clocks: list[WallClock] = []

    def environments(directory: Path) -> Mapping[str, Mapping[str, str]]:
        clocks.append(WallClock(directory / "clock"))
        return {"host2": clocks[0].environment}

    with network(lab, environments=environments) as net:
        server = Gateway(lab, net, net.directory / "access.log")
        try:
            env = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY, "AWS_REGION": "us-east-1"}
            arguments = arguments_of(net, experiment_file(net, S3, f"{SECONDS}s"), *net.ssh_flags())
            started = program(lab, net, env).start(*arguments)
            log = net.directory / "access.log"
            gets = "s3_GetObject"
            wait_until("the measurement", lambda: log.exists() and gets in log.read_text(), 90, started.child)
            clocks[0].set(HOUR)
            outcome = started.finish(WAIT)
            report.equal("exit code", outcome.code, 1)
            result = results(outcome)[0]
            failed = {host["name"]: host["total"]["failed"] for host in result["hosts"]}
            report.check("requests of that host fail", failed["host2"] > 0, failed)
            report.check("and of no other", sum(failed.values()) == failed["host2"], failed)
            said = outcome.stderr + outcome.stdout
            report.contains("the clock is the reason", said, ["clock is", "ahead of the server's"])
            # It cannot remove its objects either: its journal stays for later.
            report.contains("what cannot be removed is told", outcome.stderr, ["host2: cleaning up", "clock is"])
            nothing_left(net, report, killed=1)
        finally:
            server.stop()
    sweep()


# Clocks of the hosts, in seconds ahead of this machine's.
BOOTED = {"host1": 0, "host2": 100_000, "host3": 40_000_000, "host4": 7}

AGENT = """#!/bin/sh
case $1 in
{cases}
esac
exec nsenter --target="$process" --net unshare --time --monotonic="$ahead" --boottime="$ahead" "{program}" agent
"""


def other_boots(lab: Lab, report: Report) -> None:
    """Hosts whose monotonic clocks began at other times, on one kernel: they start together, all clocks told."""
    with network(lab) as net, filer(net):
        cases = "".join(
            f"{host.name}) process={host.place.pid} ahead={BOOTED[host.name]};;\n" for host in net.hosts
        )
        script = net.directory / "agent"
        script.write_text(AGENT.format(cases=cases, program=lab.manometer))
        script.chmod(0o755)
        hosts = ",".join(host.name for host in net.hosts)
        flags = [f"--hosts={hosts}", f"--launcher-command={script} {{host}}"]
        experiment = experiment_file(net, NFS, f"{SECONDS}s", repetitions=2)
        outcome = program(lab, net).start(*arguments_of(net, experiment, *flags)).finish(WAIT)
        for result in _clean(report, outcome, 2):
            clocks = {host["name"]: host["clock"] for host in result["hosts"]}
            off = {name: clocks[name]["offset_ns"] - ahead * 10**9 for name, ahead in BOOTED.items()}
            report.check("each clock is known", all(abs(each) < NEAR_NS for each in off.values()), off)
            skew = result["client"]["start-skew.ns"]
            waited = result["client"]["start-skew.core-wait.ns"]
            report.check("they start together", skew - waited < NEAR_NS, (skew, waited))
        nothing_left(net, report)


SCENARIOS: dict[str, Scenario] = {
    "fleet clock of an agent set": agent_clock_set,
    "fleet clock of the leader set": leader_clock_set,
    "fleet clock and signatures": signatures_need_the_time,
    "fleet clocks of other boots": other_boots,
}
