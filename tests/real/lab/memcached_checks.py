"""memcached: values set, fetched and verified; nothing of ours left, and nothing of others touched."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from .file_checks import start
from .lab import Lab
from .manometer import Manometer
from .place import Place
from .process import Child, answers, free_port, wait_until
from .report import Report, Scenario

THEIRS = ["manometer", "manometer-aaaaaaab:0000000000000000", "theirs"]


class Refused(Exception):
    """The server's one line in place of an answer."""


class Cache:
    """A running server that holds three values of somebody else's."""

    def __init__(self, place: Place) -> None:
        self.port = free_port()
        self.url = f"memcached://127.0.0.1:{self.port}"
        command = ["memcached", "-u", "root", "-l", "127.0.0.1", "-p", str(self.port), "-m", "256"]
        self.child = Child(place.server(command), place.directory / "memcached.log")
        wait_until("memcached", lambda: answers("127.0.0.1", self.port), 30, self.child)
        for key in THEIRS:
            self.ask(f"set {key} 0 0 5\r\nvalue", "STORED")

    def ask(self, command: str, last: str) -> list[str]:
        """The lines that it answers, without the last one; a refusal is an error."""
        lines: list[str] = []
        with socket.create_connection(("127.0.0.1", self.port), 10) as connection:
            connection.sendall(f"{command}\r\n".encode())
            with connection.makefile("r") as answer:
                while (line := answer.readline().strip()) != last:
                    if not line:
                        raise OSError(f"memcached closed the connection after {lines}")
                    if line.startswith(("BUSY", "ERROR", "SERVER_ERROR", "CLIENT_ERROR")):
                        raise Refused(line)
                    lines.append(line)
        return lines

    def keys(self) -> list[str]:
        """Every key that is there. While the server's own crawler is at work it refuses to list them, and is asked again."""
        lines: list[str] = []

        def listed() -> bool:
            try:
                lines[:] = self.ask("lru_crawler metadump all", "END")
            except Refused as refusal:
                if not str(refusal).startswith("BUSY"):
                    raise
                return False
            return True

        wait_until("a list of keys", listed, 30, self.child)
        return sorted(line.split()[0].removeprefix("key=").replace("%3A", ":") for line in lines)


@contextmanager
def cached(lab: Lab) -> Iterator[tuple[Cache, Manometer]]:
    """A server and the program beside it."""
    with ExitStack() as stack:
        place = Place(stack.enter_context(lab.directory()))
        cache = Cache(place)
        stack.callback(cache.child.stop)
        yield cache, Manometer(lab.manometer, place)


MIXED = "ops: {get: 70%, put: 20%, delete: 10%}, object_size: 20KiB, objects: 500, queue_depth: 8, verify: true"


def verified(lab: Lab, report: Report) -> None:
    """A mix with verification ends well, and only what was there before is left."""
    with cached(lab) as (cache, manometer):
        for load in (MIXED, "ops: put, object_size: 512KiB, objects: 20", "ops: get, object_size: 100, objects: 3000"):
            outcome = start(manometer, cache.url, load).finish()
            report.equal(f"{load}: code", outcome.code, 0)
            report.equal(f"{load}: what is left", cache.keys(), THEIRS)


def killed(lab: Lab, report: Report) -> None:
    """What a killed run left is removed by `manometer cleanup`, nothing else."""
    with cached(lab) as (cache, manometer):
        load = "ops: get, object_size: 4KiB, objects: 3000"
        going = start(manometer, cache.url, load, measure="60s")
        wait_until("the data set", lambda: len(cache.keys()) >= 3000, 30, going.child)
        going.child.signal(signal.SIGKILL)
        going.finish()
        report.check("keys are left", len(cache.keys()) >= 3000, len(cache.keys()))
        outcome = manometer.cleanup()
        report.equal("cleanup", outcome.code, 0)
        report.equal("what is left", cache.keys(), THEIRS)


SCENARIOS: dict[str, Scenario] = {"memcached verified": verified, "memcached killed": killed}
