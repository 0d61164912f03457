"""Fleets of which something breaks: an agent, the side that leads, a cable, the program on the hosts."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

from .fleet_net import FleetNet
from .fleet_run import (
    arguments_of,
    experiment_file,
    FILE_BYTES,
    filer,
    FILES,
    gone,
    layout_of,
    network,
    NFS,
    nothing_left,
    program,
    WAIT,
)
from .fleet_slurm import Slurm
from .ganesha import Ganesha
from .lab import Lab
from .manometer import Run
from .process import run, wait_until
from .report import Report, Scenario


def _started(lab: Lab, net: FleetNet, server: Ganesha, *flags: str) -> Run:
    """A run whose measurement has begun on all hosts, and which removes its data at its end."""
    text = NFS.replace(', directory: "{directory}-{{index}}"', "")
    started = program(lab, net).start(*arguments_of(net, experiment_file(net, text, "12s"), *net.ssh_flags(), *flags))
    wait_until("the hosts", lambda: "hosts are ready" in started.child.error_text(), 90, started.child)
    full = len(net.hosts) * FILES * FILE_BYTES
    wait_until("the data", lambda: sum(layout_of(server.export).values()) >= full, 60, started.child)
    time.sleep(3)
    return started


def agent_killed(lab: Lab, report: Report) -> None:
    """An agent that is killed is a named event, and the others go on; or the run stops, as asked."""
    for policy, codes in (("go-on", (0, 1)), ("stop", (1,))):
        with network(lab) as net, filer(net) as server:
            started = _started(lab, net, server, f"--on-host-failure={policy}")
            for process in net.hosts[2].processes("manometer agent"):
                os.kill(process, signal.SIGKILL)
            outcome = started.finish(WAIT)
            report.check(f"{policy}: exit code", outcome.code in codes, f"{outcome.code}: {outcome.stderr[-800:]}")
            report.contains(f"{policy}: the host is named", outcome.stderr, ["host3"])
            nothing_left(net, report, killed=1)
            report.equal(f"{policy}: files left at the server", layout_of(server.export), {})


def coordinator_killed(lab: Lab, report: Report) -> None:
    """When the side that leads is gone, agents end within seconds and remove what they made."""
    with network(lab) as net, filer(net) as server:
        started = _started(lab, net, server)
        report.check("agents work", not gone(net))
        started.child.signal(signal.SIGKILL)
        started.child.stop(patience=0)
        nothing_left(net, report)
        report.equal("files left at the server", layout_of(server.export), {})


def killed_in_the_queue(lab: Lab, report: Report) -> None:
    """More nodes than Slurm has: a request whose asker is killed is taken out of the queue."""
    with network(lab) as net:
        slurm = Slurm(net, nodes=2)
        try:
            text = NFS + "fleet: {{slurm: {{nodes: 3}}, start_timeout: 5s}}\n"
            started = program(lab, net, slurm.env).start(*arguments_of(net, experiment_file(net, text)))
            wait_until("the request", lambda: any("PENDING" in job for job in slurm.jobs()), 60, started.child)
            started.child.signal(signal.SIGKILL)
            started.child.stop(patience=0)
            try:
                wait_until("the queue to be empty", lambda: slurm.jobs() == [], 60)
            except RuntimeError:
                pass  # said by what is left
            report.equal("requests left in Slurm's queue", slurm.jobs(), [])
        finally:
            slurm.stop()


def link_cut(lab: Lab, report: Report) -> None:
    """A cable that is out for five seconds is not the end of a host."""
    with network(lab) as net, filer(net) as server:
        started = _started(lab, net, server)
        net.hosts[1].cut()
        time.sleep(5)
        net.hosts[1].mend()
        outcome = started.finish(WAIT)
        report.check("the run ends by itself", outcome.code in (0, 1), outcome.stderr[-800:])
        report.equal("the cell is there", outcome.document["cells"][0]["state"], "finished")
        nothing_left(net, report)
        report.equal("files left at the server", layout_of(server.export), {})


def link_lost(lab: Lab, report: Report) -> None:
    """A cable that stays out is the end of a host, by name and in time, and not of the run."""
    with network(lab) as net, filer(net) as server:
        started = _started(lab, net, server)
        net.hosts[1].cut()
        outcome = started.finish(WAIT)
        report.contains("the host is named", outcome.stderr, ["host2"])
        report.equal("the cell is there", outcome.document["cells"][0]["state"], "finished")
        net.hosts[1].mend()
        nothing_left(net, report, killed=1)


def other_program(lab: Lab, report: Report) -> None:
    """What is no agent at all is refused by name, before anything is written, with what it said instead."""
    with network(lab) as net, filer(net) as server:
        other = net.directory / "other"
        other.write_text("#!/bin/sh\necho manometer 0.0.1\n")
        other.chmod(0o755)
        arguments = arguments_of(net, experiment_file(net, NFS), *net.ssh_flags(), f"--agent-binary={other}")
        outcome = program(lab, net).start(*arguments).finish(WAIT)
        report.equal("exit code", outcome.code, 1)
        report.contains("what came instead is said", outcome.stderr, ["host1", "manometer 0.0.1"])
        report.equal("files at the server", layout_of(server.export), {})
        nothing_left(net, report)


def _aged(lab: Lab, directory: Path) -> tuple[Path, str, str]:
    """The real program, which says everywhere that it is another version; that version, and the true one.

    Both have the same length, so that nothing else in the file moves.
    """
    true = run([str(lab.manometer), "--version"]).split()[-1]
    other = re.sub(r"[1-9](?=[.0]*$)", lambda digit: "8" if digit[0] == "9" else "9", true)
    if other == true or len(other) != len(true):
        raise RuntimeError(f"no other version of the length of {true}")
    # Texts in the program stand next to others; the same bytes elsewhere are something else.
    word = re.compile(rb"(?<=[!-~])(?<![0-9.])" + re.escape(true.encode()) + rb"(?![0-9.])")
    aged, count = word.subn(other.encode(), lab.manometer.read_bytes())
    path = directory / "aged"
    path.write_bytes(aged)
    path.chmod(0o755)
    said = run([str(path), "--version"]).split()[-1]
    if count == 0 or said != other:
        raise RuntimeError(f"the program still says {said} after {count} places were changed")
    return path, other, true


def other_version(lab: Lab, report: Report) -> None:
    """A real agent of another version is replaced where this program is copied, and refused by name where it is not."""
    with network(lab) as net, filer(net) as server:
        aged, other, true = _aged(lab, net.directory)
        arguments = arguments_of(net, experiment_file(net, NFS), *net.ssh_flags())
        outcome = program(lab, net).start(*arguments, f"--agent-binary={aged}").finish(WAIT)
        report.equal("exit code", outcome.code, 1)
        wanted = ["host1", f"manometer {other}", f"this is {true}", "install the same version"]
        report.contains("both versions are said, and what to do", outcome.stderr, wanted)
        report.equal("files at the server", layout_of(server.export), {})
        nothing_left(net, report)

        # It lies where the hosts look for the copy of this program.
        outcome = program(lab, net).start(*arguments).finish(WAIT)
        report.equal("a copy works", outcome.code, 0)
        copies = [path for path in net.home.rglob("manometer") if path.is_file()]
        report.equal("copies", len(copies), 1)
        for copy in copies:
            copy.write_bytes(aged.read_bytes())
        outcome = program(lab, net).start(*arguments).finish(WAIT)
        report.equal("exit code with the other version in its place", outcome.code, 0)
        report.contains("it is copied anew", outcome.stderr, ["copied this program there"])
        same = [copy.read_bytes() == lab.manometer.read_bytes() for copy in copies]
        report.equal("the copy is this program", same, [True])
        nothing_left(net, report)


def disk_full(lab: Lab, report: Report) -> None:
    """A server without space is said so, by the hosts that met it, and what was written is removed."""
    with network(lab) as net, filer(net) as server:
        text = NFS.replace(', directory: "{directory}-{{index}}"', "").replace("/export", "/small")
        text = text.replace("file_size: 4MiB", "file_size: 16MiB")
        flags = [*net.ssh_flags(), "--no-preflight"]
        outcome = program(lab, net).start(*arguments_of(net, experiment_file(net, text), *flags)).finish(WAIT)
        report.equal("exit code", outcome.code, 1)
        report.contains("the reason is said", outcome.stderr, ["space", "host"])
        report.equal("files left at the server", layout_of(server.small), {})
        nothing_left(net, report)


SCENARIOS: dict[str, Scenario] = {
    "fleet agent killed": agent_killed,
    "fleet coordinator killed": coordinator_killed,
    "fleet killed in the queue": killed_in_the_queue,
    "fleet link cut": link_cut,
    "fleet link lost": link_lost,
    "fleet other program": other_program,
    "fleet other version": other_version,
    "fleet disk full": disk_full,
}
