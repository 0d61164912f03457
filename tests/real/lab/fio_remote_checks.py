"""Job files whose data is elsewhere: NFS on nfs-ganesha, and blocks over TCP with Debian's fio on the other side."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

from .lab import Lab
from .nfs_checks import server
from .plot_checks import run
from .process import Child, free_port, wait_until
from .report import Report

GUIDE = Path(__file__).parents[3] / "examples/jobs/nfs-guide.fio"
CLONES = 10
CONNECTIONS = 3
MIB = 1 << 20
# Headers that the sender writes and the receiver compares.
VERIFIED = ("--verify=crc32c", "--do_verify=0")


def addresses(lab: Lab, report: Report) -> None:
    """The job of the guides to fio's nfs engine with several URLs, and several connections of each clone."""
    with server(lab) as (ganesha, _), lab.directory() as directory:
        url = f"{ganesha.url()}?version=3&nfsport={ganesha.nfs_port}&mountport={ganesha.mount_port}"
        text = GUIDE.read_text().replace("ioengine=nfs\n", f"ioengine=nfs\nnfs_connections={CONNECTIONS}\n")
        (directory / "several.fio").write_text(text.replace("=10s", "=3s").replace("=5s", "=0").replace("=100m", "=8m"))
        shown = ["--output-format=json", f"--output={directory / 'several.json'}"]
        child = Child(
            [str(lab.manometer), "fio", str(directory / "several.fio"), f"--results={directory / 'r.sqlite'}", *shown],
            directory / "several.log",
            env=os.environ | {"HOME": str(directory), "XDG_STATE_HOME": str(directory / "state"), "NFS_URL": f"{url},{url}"},
        )
        wait_until("connections", lambda: connections(ganesha.nfs_port) >= CLONES * CONNECTIONS, 30, child)
        report.check("each clone has its connections", True)
        report.equal("ends well", child.wait(60), 0) or print(child.text())
        job = only_job(directory / "several.json")
        for direction in ("write", "read"):
            moved = job[direction]
            report.check(f"{direction}: much was moved", moved["total_ios"] > 10 * CLONES, moved["total_ios"])
            report.equal(f"{direction}: whole blocks", moved["io_bytes"], moved["total_ios"] * 524_288)
        wanted = {f"myfiles..{number}.0": 8 * MIB for number in range(CLONES)}
        report.equal("nfs-ls sees the files of all clones and nothing else", ganesha.files("/"), wanted)


def connections(port: int) -> int:
    """Established connections of this machine to a port of its own."""
    count = 0
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        count += int(words[2].split(":")[1], 16) == port and words[3] == "01"
    return count


def layout(lab: Lab, report: Report) -> None:
    """What is read and missing is filled, what exists is read as it is, and what is to be unlinked goes."""
    with server(lab) as (ganesha, _), lab.directory() as directory:
        url = f"{ganesha.url()}?nfsport={ganesha.nfs_port}&mountport={ganesha.mount_port}"
        common = [f"--nfs_url={url}", "--ioengine=nfs", "--bs=64k", "--size=1m", "--results=results.sqlite"]
        fio = [lab.manometer, "fio", "--output-format=json"]
        durable = ["--fsync=4", "--end_fsync=1", "--verify=crc32c", "--filename=a/b/data"]
        written = run([*fio, "--name=w", *common, "--rw=randwrite", *durable], directory)
        report.equal("writes with verification end well", written.returncode, 0) or print(written.stderr)
        (job,) = json.loads(written.stdout)["jobs"]
        report.check("commits are counted", job["sync"]["total_ios"] > 0, job["sync"])
        report.equal("the file is where it was named", ganesha.files("/a/b"), {"data": MIB})
        checked = run(
            [*fio, "--name=v", *common, "--rw=read", "--verify=crc32c", "--filename=a/b/data"], directory
        )
        report.equal("another job verifies it", checked.returncode, 0) or print(checked.stderr)
        (ganesha.export / "a/b/data").open("r+b").write(b"damage")
        damaged = run(
            [*fio, "--name=v", *common, "--rw=read", "--verify=crc32c", "--filename=a/b/data"], directory
        )
        report.equal("damage is found", damaged.returncode, 1)
        read = run([*fio, "--name=r", *common, "--rw=randread", "--nrfiles=4", "--fsync=2"], directory)
        report.equal("files that are missing are filled and read", read.returncode, 0) or print(read.stderr)
        sizes = {name: size for name, size in ganesha.files("/").items() if name != "a"}
        report.equal("each in its size", sizes, {f"r.0.{number}": MIB // 4 for number in range(4)})
        gone = run([*fio, "--name=r", *common, "--rw=read", "--nrfiles=4", "--unlink=1"], directory)
        report.equal("and removed", (gone.returncode, list(ganesha.files("/"))), (0, ["a"]))
        strict = run([*fio, "--name=x", *common, "--rw=read", "--allow_file_create=0"], directory)
        report.check("unless that is not allowed", strict.returncode != 0 and "x.0.0" in strict.stderr, strict.stderr)


def only_job(path: Path) -> dict[str, Any]:
    """The one report of an output in fio's JSON."""
    text = path.read_text()
    (job,) = json.loads(text[text.index("{") :])["jobs"]
    return dict(job)


def blocks(lab: Lab, report: Report, *, receiver: str, sender: str, listens: str, more: tuple[str, ...] = ()) -> None:
    """One program sends blocks, another receives them; one of them listens.

    Without ping-pong fio's receiver counts blocks that came in parts as whole, and so may close too early.
    """
    with lab.directory() as directory:
        port = free_port()
        program = {
            # It keeps the state of its verification where it runs unless told otherwise.
            "fio": ["fio", f"--aux-path={directory}"],
            "manometer": [str(lab.manometer), "fio", f"--results={directory / 'results.sqlite'}"],
        }
        env = os.environ | {"HOME": str(directory), "XDG_STATE_HOME": str(directory / "state")}

        def command(role: str, name: str) -> list[str]:
            end = "--listen" if role == listens else "--hostname=127.0.0.1"
            direction = "--rw=read" if role == "receiver" else "--rw=write"
            given = [f"--name={role}", "--ioengine=net", "--protocol=tcp", f"--port={port}", end, direction]
            shown = ["--output-format=json", f"--output={directory / role}.json"]
            return [*program[name], *given, *more, "--bs=16k", "--size=4m", *shown]

        programs = {"receiver": receiver, "sender": sender}
        other = "sender" if listens == "receiver" else "receiver"
        first = Child(command(listens, programs[listens]), directory / f"{listens}.log", env=env)
        wait_until("a listener", lambda: listening(port), 30, first)
        second = Child(command(other, programs[other]), directory / f"{other}.log", env=env)
        ends = {listens: first.wait(60), other: second.wait(60)}
        report.equal("both end well", ends, {"receiver": 0, "sender": 0}) or print(first.text(), second.text())
        sent = only_job(directory / "sender.json")["write"]
        received = only_job(directory / "receiver.json")["read"]
        report.equal("blocks and bytes sent", (sent["total_ios"], sent["io_bytes"]), (256, 4 * MIB))
        found = (received["total_ios"], received["io_bytes"])
        report.equal("blocks and bytes received", found, (256, 4 * MIB))


def listening(port: int) -> bool:
    """Whether a process of this machine listens on a port."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    words = (line.split() for line in lines)
    return any(int(word[1].split(":")[1], 16) == port and word[3] == "0A" for word in words)


def pair(receiver: str, sender: str, listens: str, *more: str) -> partial[None]:
    """A scenario of two programs."""
    return partial(blocks, receiver=receiver, sender=sender, listens=listens, more=more)


SCENARIOS = {
    "fio nfs addresses": addresses,
    "fio nfs files": layout,
    "fio net from fio": pair("manometer", "fio", "receiver"),
    "fio net from fio that listens": pair("manometer", "fio", "sender"),
    "fio net verified from fio": pair("manometer", "fio", "receiver", *VERIFIED),
    "fio net ping-pong from fio": pair("manometer", "fio", "receiver", "--pingpong=1"),
    "fio net ping-pong to fio": pair("fio", "manometer", "receiver", "--pingpong=1"),
}
