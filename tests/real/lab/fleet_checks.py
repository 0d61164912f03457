"""Runs over a fleet by ssh and Slurm, against servers that count for themselves."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .fleet_net import PASSWORD, FleetNet
from .fleet_run import (
    arguments_of,
    BLOCK,
    experiment_file,
    FILE_BYTES,
    filer,
    FILES,
    Gateway,
    layout_of,
    network,
    NFS,
    nothing_left,
    OBJECT_BYTES,
    OBJECTS,
    processes_with,
    program,
    REPETITIONS,
    results,
    S3,
    secret_nowhere,
    SKEW_NS,
    skews_of,
    stages_of,
    total_of,
    unexplained_of,
    WAIT,
)
from .fleet_slurm import Slurm
from .lab import Lab
from .process import Child, wait_until
from .report import Report, Scenario
from .versity import ACCESS_KEY, SECRET_KEY


def nfs_over_ssh(lab: Lab, report: Report) -> None:
    """Four hosts read and write one NFS server: what they counted is what the server has and its card carried."""
    with network(lab) as net, filer(net) as server:
        experiment = experiment_file(net, NFS, repetitions=REPETITIONS)
        before = net.servers.counters()
        outcome = program(lab, net).start(*arguments_of(net, experiment, *net.ssh_flags())).finish(WAIT)
        if not report.equal("exit code", outcome.code, 0):
            raise RuntimeError(outcome.stderr[-3000:])
        after = net.servers.counters()
        stages = stages_of(outcome)
        hosts = len(net.hosts)
        data = hosts * FILES * FILE_BYTES
        report.equal("bytes filled", stages["prepare"][1], data)
        report.equal("bytes verified", stages["verify"][1], REPETITIONS * data)
        files = {f"lab-{host}" for host in range(hosts)}
        layout = layout_of(server.export)
        report.equal("directories of hosts at the server", {name.split("/")[0] for name in layout}, files)
        data_files = [size for size in layout.values() if size == FILE_BYTES]
        report.equal("files in full size at the server", len(data_files), hosts * FILES)
        ok, read = total_of(outcome)
        report.equal("bytes of operations", read, ok * BLOCK)
        # What was read is on the server's card, with headers and acknowledgements, and what was in flight at the end.
        sent = after["sent"] - before["sent"]
        read += stages["verify"][1]
        report.check("bytes that the server sent", read <= sent <= read * 1.1 + (1 << 20), f"{sent} for {read}")
        received = after["received"] - before["received"]
        report.check("bytes that the server received", data <= received, f"{received} for {data}")
        report.equal("hosts", [result["client"].get("hosts") for result in results(outcome)], [hosts] * REPETITIONS)
        skews_of(report, outcome)
        report.contains("every host is ready", outcome.stderr, [f"{hosts} hosts are ready"])
        nothing_left(net, report)


def s3_over_ssh(lab: Lab, report: Report) -> None:
    """Four hosts put and get objects: the gateway's own log counts the same requests."""
    with network(lab) as net:
        log = net.directory / "access.log"
        place = net.servers.place
        server = Gateway(lab, net, log)
        try:
            env = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY, "AWS_REGION": "us-east-1"}
            arguments = arguments_of(net, experiment_file(net, S3, repetitions=REPETITIONS), *net.ssh_flags())
            outcome = program(lab, net, env).start(*arguments).finish(WAIT)
            if not report.equal("exit code", outcome.code, 0):
                raise RuntimeError(outcome.stderr[-3000:])
            stages = stages_of(outcome)
            hosts = len(net.hosts)
            report.equal("objects put", stages["prepare"], (hosts * OBJECTS, hosts * OBJECTS * OBJECT_BYTES))
            report.equal("objects verified", stages["verify"][0], REPETITIONS * hosts * OBJECTS)
            lines = log.read_text().splitlines()
            puts = sum(" s3_PutObject " in line for line in lines)
            gets = sum(" s3_GetObject " in line for line in lines)
            flying = sum(int(result["client"]["in-flight-at-end"]) for result in results(outcome))
            wanted = total_of(outcome)[0] + stages["verify"][0]
            report.equal("puts in the server's log", puts, hosts * OBJECTS)
            # What was in flight when a measurement ended has reached the server, or not yet.
            report.check("gets in the server's log", wanted <= gets <= wanted + flying, (gets, wanted, flying))
            skews_of(report, outcome)
            left = [path for path in (place.directory / "versity" / "plumbing").rglob("*") if path.is_file()]
            report.equal("objects left behind", [str(path) for path in left], [])
            secret_nowhere(report, net, outcome, SECRET_KEY)
            nothing_left(net, report)
        finally:
            server.stop()


# Ahead of everything that has no such priority: hosts of a fleet have cores of their own.
OWN_CORES = ["chrt", "--rr", "5"]
# Who takes the machine's processors away does not tell its kernel. In one cell of about fifty that was seen; in so many of a run it
# is not by chance (once in some thousand runs), and the mechanism is at fault.
EXCUSED = 0.2
# Waiting for a core that people are told of.
NOTED_NS = 100_000


def start_skew(lab: Lab, report: Report) -> None:
    """Hosts that have cores start within a millisecond; what is more is told as the waiting for a core that it was."""
    for place, first, repetitions in (("cores of their own", OWN_CORES, 15), ("busy cores", [], 6)):
        with network(lab, first) as net, filer(net), busy(net, [] if first else ["nice", "-n", "-5"]):
            text = NFS.replace("queue_depth: 4", "rate: 20/s")
            experiment = experiment_file(net, text, repetitions=repetitions)
            outcome = program(lab, net).start(*arguments_of(net, experiment, *net.ssh_flags())).finish(WAIT)
            report.equal(f"{place}: exit code", outcome.code, 0) or print(outcome.stderr, flush=True)
            skews = skews_of(report, outcome)
            micros = [round(skew / 1000) for skew in skews]
            excused = int(EXCUSED * repetitions)
            late = sum(skew >= SKEW_NS for skew in unexplained_of(outcome))
            print(f"     start skew with {place}, in microseconds: {micros}", flush=True)
            report.check(f"{place}: more than a millisecond was for want of a core", late <= excused, (late, micros))
            waits = [result["client"]["start-skew.core-wait.ns"] for result in results(outcome)]
            if max(waits) > NOTED_NS:
                cell = str(1 + waits.index(max(waits)))
                show = ["show", "last", f"--cell={cell}", f"--results={net.directory}/results.sqlite"]
                told = program(lab, net).start(*show).finish(WAIT)
                report.contains(f"{place}: the longest wait is told", told.stdout, ["a worker waited", "for a core"])
            if first:
                report.check(f"{place}: the median", statistics.median(skews) < SKEW_NS, micros)
                over = sum(skew >= SKEW_NS for skew in skews)
                report.check(f"{place}: every cell but {excused} at most", over <= excused, micros)


@contextmanager
def busy(net: FleetNet, first: list[str]) -> Iterator[None]:
    """Two loops beside the hosts that do nothing but keep cores busy, when they are wanted."""
    command = [*first, "sh", "-c", "while :; do :; done"]
    loops = [Child(command, net.directory / f"loop-{number}") for number in range(2)] if first else []
    try:
        yield
    finally:
        for loop in loops:
            loop.stop(patience=0)


def launchers_agree(lab: Lab, report: Report) -> None:
    """The same experiment by local, ssh and slurm: the same counts and the same files."""
    with network(lab) as net, filer(net) as server:
        slurm = Slurm(net)
        try:
            first = net.hosts[:3]
            ssh = [f"--hosts={','.join(host.name for host in first)}", f"--ssh-option=-F {net.ssh_config}"]
            seen: dict[str, Any] = {}
            for name, flags in (("local", ["--local=3"]), ("ssh", ssh), ("slurm", ["--slurm=nodes=3"])):
                experiment = experiment_file(net, NFS, repetitions=REPETITIONS, directory=name)
                outcome = program(lab, net, slurm.env).start(*arguments_of(net, experiment, *flags)).finish(WAIT)
                if not report.equal(f"{name}: exit code", outcome.code, 0):
                    raise RuntimeError(outcome.stderr[-3000:])
                stages = stages_of(outcome)
                counts = {stage: stages[stage] for stage in ("prepare", "verify")}
                layout = layout_of(server.export).items()
                files = {path.removeprefix(name): size for path, size in layout if path.startswith(name)}
                seen[name] = (counts, files)
                skews_of(report, outcome)
            report.equal("files of three hosts", len(seen["local"][1]), 3 * FILES)
            for name in ("ssh", "slurm"):
                report.equal(f"{name} and local: counts of stages", seen[name][0], seen["local"][0])
                report.equal(f"{name} and local: files at the server", seen[name][1], seen["local"][1])
            wait_until("Slurm's queue to be empty", lambda: slurm.jobs() == [], 20)
            report.equal("jobs left in Slurm", slurm.jobs(), [])
            nothing_left(net, report)
        finally:
            slurm.stop()


def password(lab: Lab, report: Report) -> None:
    """A password for ssh works, and is seen nowhere while the run goes on."""
    with network(lab) as net, filer(net):
        secret = net.directory / "password"
        secret.touch(mode=0o600)
        secret.write_text(PASSWORD + "\n")
        flags = [*net.ssh_flags(), "--ssh-option=PubkeyAuthentication=no"]
        experiment = experiment_file(net, NFS, "3s")
        refused = program(lab, net).start(*arguments_of(net, experiment, *flags)).finish(WAIT)
        report.check("without the password nothing starts", refused.code != 0, refused.stderr[-500:])
        report.contains("and each host is named with advice", refused.stderr, ["host1", "host4", "--ssh-password-file"])
        started = program(lab, net).start(*arguments_of(net, experiment, *flags, f"--ssh-password-file={secret}"))
        seen: set[str] = set()
        deadline = time.monotonic() + WAIT
        while started.child.ended() is None and time.monotonic() < deadline:
            seen |= processes_with(PASSWORD)
            time.sleep(0.05)
        outcome = started.finish(5)
        report.equal("exit code with the password", outcome.code, 0)
        report.equal("processes that show it", seen, set())
        secret_nowhere(report, net, outcome, PASSWORD)
        nothing_left(net, report)


SCENARIOS: dict[str, Scenario] = {
    "fleet nfs over ssh": nfs_over_ssh,
    "fleet s3 over ssh": s3_over_ssh,
    "fleet start skew": start_skew,
    "fleet launchers agree": launchers_agree,
    "fleet password": password,
}
