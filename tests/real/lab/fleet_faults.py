"""Fleets of which something breaks: an agent, the side that leads, a cable, the program on the hosts."""

from __future__ import annotations

import os
import signal
import time

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
from .ganesha import Ganesha
from .lab import Lab
from .manometer import Run
from .process import wait_until
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


def other_version(lab: Lab, report: Report) -> None:
    """An agent that is another program is refused by name, before anything is written."""
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


def disk_full(lab: Lab, report: Report) -> None:
    """A server without space is said so, by the hosts that met it, and what was written is removed."""
    with network(lab) as net, filer(net) as server:
        text = NFS.replace(', directory: "{directory}-{{index}}"', "").replace("/export", "/small")
        text = text.replace("file_size: 4MiB", "file_size: 16MiB")
        outcome = program(lab, net).start(*arguments_of(net, experiment_file(net, text), *net.ssh_flags())).finish(WAIT)
        report.equal("exit code", outcome.code, 1)
        report.contains("the reason is said", outcome.stderr, ["space", "host"])
        report.equal("files left at the server", layout_of(server.small), {})
        nothing_left(net, report)


SCENARIOS: dict[str, Scenario] = {
    "fleet agent killed": agent_killed,
    "fleet coordinator killed": coordinator_killed,
    "fleet link cut": link_cut,
    "fleet link lost": link_lost,
    "fleet other version": other_version,
    "fleet disk full": disk_full,
}
