"""NFS against nfs-ganesha."""

from __future__ import annotations

import signal
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from .ganesha import Ganesha
from .lab import Lab
from .manometer import Manometer, Outcome, Run
from .place import Namespace, Place
from .process import free_port, wait_until
from .report import Report

BLOCK_BYTES = 256 << 10
SMALL = ("--skip-s3", "--connections=2", "--workers=1", f"--block-size={BLOCK_BYTES >> 10}KiB")


@contextmanager
def server(lab: Lab, *, portmapper: bool = False, address: str = "127.0.0.1") -> Iterator[tuple[Ganesha, Manometer]]:
    """A server and the program beside it; with a portmapper in a namespace of their own."""
    with ExitStack() as stack:
        directory = stack.enter_context(lab.directory())
        place: Place
        if portmapper:
            place = Namespace(directory)
            stack.callback(place.stop)
            ganesha = Ganesha(place, 2049, 20048, address=address, portmapper=True)
        else:
            place = Place(directory)
            ganesha = Ganesha(place, free_port(), free_port(), address=address)
        stack.callback(ganesha.stop)
        yield ganesha, Manometer(lab.manometer, place)


def succeeded(report: Report, outcome: Outcome, protocol: str) -> None:
    """Checks that a run ended well, with something written and read."""
    report.equal("exit code 0", outcome.code, 0) or print(outcome.stderr)
    row = outcome.rows[0]
    report.equal("result", (row["protocol"], row["result"]), (protocol, "SUCCESS"))
    for phase in ("write", "read"):
        report.check(f"{phase} moved bytes", row[phase]["bytes"] > 0, row)


def observed_run(lab: Lab, report: Report, *flags: str, portmapper: bool = False) -> None:
    """Runs with verification, and looks with nfs-ls at what is there while it is there."""
    with server(lab, portmapper=portmapper) as (ganesha, manometer):
        where = [f"--nfs={ganesha.url()}", *ganesha.port_flags()]
        # The window goes on while the program is paused: it is long, and the pause is short.
        run = manometer.start_check(*where, *SMALL, "--dataset=256MiB", "--verify", *flags, duration="5s")
        run.pause_after_write()
        directories = ganesha.files("/")
        name = next(iter(directories))
        seen = ganesha.files(f"/{name}")
        beneath = {path.name: path.stat().st_size for path in (ganesha.export / name).iterdir()}
        largest = max((ganesha.export / name).iterdir(), key=lambda path: path.stat().st_size)
        with largest.open("rb") as file:
            sample = file.read(1 << 20)
        run.resume()
        outcome = run.finish()
        report.equal("one directory while it runs", len(directories), 1)
        report.check("the directory carries our name", name.startswith("manometer-"), name)
        report.equal("nfs-ls and the file system agree", seen, beneath)
        report.check("data is incompressible", len(zlib.compress(sample, 1)) > 0.99 * len(sample))
        succeeded(report, outcome, "nfs")
        written = outcome.rows[0]["written"]
        report.equal("files counted by nfs-ls", len(seen), written["objects"])
        report.equal("bytes counted by nfs-ls", sum(seen.values()), written["bytes"])
        report.equal("nothing left", ganesha.files("/"), {})


def wait_for_files(ganesha: Ganesha, run: Run) -> None:
    """Waits until the write phase has made files."""
    wait_until("files", lambda: any(ganesha.export.glob("manometer-*/*")), 30, run.child)


def given_ports_uring(lab: Lab, report: Report) -> None:
    observed_run(lab, report, "--reactor=uring")


def given_ports_epoll(lab: Lab, report: Report) -> None:
    observed_run(lab, report, "--reactor=epoll")


def with_portmapper(lab: Lab, report: Report) -> None:
    observed_run(lab, report, portmapper=True)


def stable_writes(lab: Lab, report: Report) -> None:
    observed_run(lab, report, "--stable")


def ipv6(lab: Lab, report: Report) -> None:
    with server(lab, address="::1") as (ganesha, manometer):
        run = [f"--nfs={ganesha.url()}", *ganesha.port_flags(), *SMALL, "--verify"]
        succeeded(report, manometer.check(*run), "nfs")
        report.equal("nothing left", list(ganesha.export.iterdir()), [])


def ipv6_portmapper(lab: Lab, report: Report) -> None:
    with server(lab, address="::1", portmapper=True) as (ganesha, manometer):
        succeeded(report, manometer.check(f"--nfs={ganesha.url()}", *SMALL, "--verify"), "nfs")
        report.equal("nothing left", list(ganesha.export.iterdir()), [])


def discarding(lab: Lab, report: Report) -> None:
    with server(lab) as (ganesha, manometer):
        run = [f"--nfs={ganesha.url()}", *ganesha.port_flags(), *SMALL, "--sink=discard"]
        succeeded(report, manometer.check(*run), "nfs")
        report.equal("nothing left", ganesha.files("/"), {})


def damage(path: Path) -> None:
    """Changes one byte of every block, so that whichever block is read next shows it."""
    with path.open("r+b") as file:
        for at in range(BLOCK_BYTES // 2, path.stat().st_size, BLOCK_BYTES):
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ 1]))


def damage_is_found(lab: Lab, report: Report) -> None:
    """A byte changed behind the program's back must not pass verification."""
    with server(lab) as (ganesha, manometer):
        run = manometer.start_check(f"--nfs={ganesha.url()}", *ganesha.port_flags(), *SMALL, "--verify", duration="3s")
        run.pause_after_write()
        for path in ganesha.export.glob("manometer-*/*"):
            damage(path)
        run.resume()
        outcome = run.finish()
        report.equal("exit code 1", outcome.code, 1)
        report.contains("says what is wrong", outcome.stderr + outcome.stdout, ["verif"])
        report.equal("nothing left", ganesha.files("/"), {})


def refusals(lab: Lab, report: Report) -> None:
    """An export that is read-only, missing, or too small gives one clear line each."""
    with server(lab) as (ganesha, manometer):
        cases = {"readonly": ["read-only"], "missing": ["missing"], "small": ["space"]}
        for export, words in cases.items():
            outcome = manometer.check(f"--nfs={ganesha.url(export)}", *ganesha.port_flags(), *SMALL, duration="3s")
            report.equal(f"{export}: exit code 1", outcome.code, 1)
            report.contains(f"{export}: the cause", outcome.stderr, words)
            report.check(f"{export}: no Rust in the message", "Err(" not in outcome.stderr, outcome.stderr)
        report.equal("small: nothing left", [path.name for path in ganesha.small.iterdir()], [])
        nobody = free_port()
        flags = [f"--nfs={ganesha.url()}", f"--nfs-port={nobody}", f"--mount-port={nobody}", *SMALL]
        outcome = manometer.check(*flags)
        report.equal("nobody listens: exit code 1", outcome.code, 1)
        report.contains("nobody listens: the cause", outcome.stderr, ["refused"])


def killed(lab: Lab, report: Report, *flags: str) -> None:
    """After kill -9 the journal is enough to remove everything."""
    with server(lab) as (ganesha, manometer):
        where = [f"--nfs={ganesha.url()}", *ganesha.port_flags()]
        run = manometer.start_check(*where, *SMALL, *flags, duration="20s")
        wait_for_files(ganesha, run)
        run.child.signal(signal.SIGKILL)
        run.finish()
        report.equal("the directory is left behind", len(ganesha.files("/")), 1)
        cleanup = manometer.cleanup()
        report.equal("cleanup ends with 0", cleanup.code, 0) or print(cleanup.stderr)
        report.equal("nothing left", ganesha.files("/"), {})
        report.equal("a second cleanup ends with 0", manometer.cleanup().code, 0)


def interrupted(lab: Lab, report: Report) -> None:
    """Ctrl-C and SIGTERM end the run soon and remove what it made."""
    for number in (signal.SIGINT, signal.SIGTERM):
        with server(lab) as (ganesha, manometer):
            run = manometer.start_check(f"--nfs={ganesha.url()}", *ganesha.port_flags(), *SMALL, duration="50s")
            wait_for_files(ganesha, run)
            run.child.signal(number)
            outcome = run.finish(20)
            report.check(f"{number.name}: does not end with 0", outcome.code != 0, outcome.code)
            report.equal(f"{number.name}: nothing left", ganesha.files("/"), {})


def server_killed(lab: Lab, report: Report) -> None:
    """A server that dies in the middle is an error in bounded time; cleanup finishes the job later."""
    with server(lab) as (ganesha, manometer):
        run = manometer.start_check(f"--nfs={ganesha.url()}", *ganesha.port_flags(), *SMALL, duration="5s")
        wait_for_files(ganesha, run)
        ganesha.child.stop(patience=0)
        outcome = run.finish(120)
        report.equal("exit code 1", outcome.code, 1)
        report.check("says why", "connect" in outcome.stderr.lower(), outcome.stderr)
        ganesha.start()
        report.equal("cleanup ends with 0", manometer.cleanup().code, 0)
        report.equal("nothing left", ganesha.files("/"), {})


V41 = "--nfs-version=4.1"


def session_uring(lab: Lab, report: Report) -> None:
    observed_run(lab, report, V41, "--reactor=uring")


def session_epoll(lab: Lab, report: Report) -> None:
    observed_run(lab, report, V41, "--reactor=epoll", "--stable")


def session_killed(lab: Lab, report: Report) -> None:
    killed(lab, report, V41)


SCENARIOS = {
    "nfs 4.1 io_uring": session_uring,
    "nfs 4.1 epoll, stable": session_epoll,
    "nfs 4.1 kill -9": session_killed,
    "nfs given ports, io_uring": given_ports_uring,
    "nfs given ports, epoll": given_ports_epoll,
    "nfs portmapper": with_portmapper,
    "nfs stable writes": stable_writes,
    "nfs IPv6": ipv6,
    "nfs IPv6 portmapper": ipv6_portmapper,
    "nfs discard": discarding,
    "nfs damage is found": damage_is_found,
    "nfs refusals": refusals,
    "nfs kill -9": killed,
    "nfs interrupted": interrupted,
    "nfs server killed": server_killed,
}
