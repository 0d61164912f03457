"""Where servers run: on the machine's own loopback, or in a network namespace made for one scenario.

Either way a server sees an empty /run of its own, so that the sockets and pid files it puts there
collide neither with the machine's nor with those of a run in parallel.
"""

from __future__ import annotations

import sys
from pathlib import Path

from .process import Child, run, wait_until

PRIVATE_RUN = 'mount --bind "$0" /run && exec "$@"'


class Place:
    """The machine's own network, with a private /run for servers."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.run_directory = directory / "run"
        self.run_directory.mkdir(parents=True, exist_ok=True)

    def server(self, command: list[str]) -> list[str]:
        """The command, wrapped so that it runs here as a server."""
        unshare = ["unshare", "--mount", "--propagation", "private"]
        return [*unshare, "sh", "-c", PRIVATE_RUN, str(self.run_directory), *command]

    def client(self, command: list[str]) -> list[str]:
        """The command, wrapped so that it runs here as a client."""
        return command

    def stop(self) -> None:
        """Removes the place."""


class WithHosts(Place):
    """The machine's own network, where clients see another hosts file."""

    def __init__(self, directory: Path, hosts: Path) -> None:
        super().__init__(directory)
        self._hosts = hosts

    def client(self, command: list[str]) -> list[str]:
        bind = 'mount --bind "$0" /etc/hosts && exec "$@"'
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", bind, str(self._hosts), *command]


class WithoutLibrary(Place):
    """The machine's own network, where clients cannot load a library."""

    def __init__(self, directory: Path, library: str) -> None:
        super().__init__(directory)
        self._library = library

    def client(self, command: list[str]) -> list[str]:
        cache = run(["ldconfig", "-p"]).splitlines()
        path = next(line.split(" => ")[1] for line in cache if self._library in line)
        hide = 'mount --bind /dev/null "$0" && exec "$@"'
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", hide, path, *command]


class Namespace(Place):
    """A network namespace with nothing in it but loopback, so that well-known ports are free."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        up = 'mount --bind "$0" /run && ip link set lo up && echo up && exec sleep infinity'
        unshare = ["unshare", "--net", "--mount", "--propagation", "private"]
        command = [*unshare, "sh", "-c", up, str(self.run_directory)]
        self._holder = Child(command, directory / "namespace.log")
        wait_until("network namespace", lambda: "up" in self._holder.text(), 10, self._holder)

    @property
    def pid(self) -> int:
        """The process that holds the namespaces."""
        return self._holder.pid

    def server(self, command: list[str]) -> list[str]:
        return ["nsenter", f"--target={self.pid}", "--net", "--mount", *command]

    def client(self, command: list[str]) -> list[str]:
        return ["nsenter", f"--target={self.pid}", "--net", *command]

    def stop(self) -> None:
        self._holder.stop()


def veth(near: Namespace, far: Namespace, number: int, mtu_near: int, mtu_far: int) -> tuple[str, str]:
    """Joins two namespaces by a cable of its own /24; the addresses of both ends."""
    names = (f"mmn{number}", f"mmf{number}")
    ends = ((near, names[0], f"10.99.{number}.1", mtu_near), (far, names[1], f"10.99.{number}.2", mtu_far))
    run(near.client(["ip", "link", "add", names[0], "type", "veth", "peer", "name", names[1], "netns", str(far.pid)]))
    for place, name, address, mtu in ends:
        run(place.client(["ip", "link", "set", name, "mtu", str(mtu), "up"]))
        run(place.client(["ip", "address", "add", f"{address}/24", "dev", name]))
    return ends[0][2], ends[1][2]


def delay_line(
    near: Namespace, far: Namespace, milliseconds: float, first: list[str], mtu: int = 1500
) -> tuple[Child, str]:
    """Joins two namespaces by a cable on which each packet is under way for so long; the address of the far end.

    `first` is put before the command: who carries the packets must not be late.
    """
    names = ("mmdn", "mmdf")
    ends = ((near, names[0], "10.98.0.1"), (far, names[1], "10.98.0.2"))
    arguments = [str(milliseconds), *(word for place, name, _ in ends for word in (str(place.pid), name))]
    child = Child([*first, sys.executable, "-m", "lab.delay_line", *arguments], near.directory / "delay_line.log")
    wait_until("the delay line", lambda: "ready" in child.text(), 10, child)
    for place, name, address in ends:
        run(place.client(["ip", "link", "set", name, "mtu", str(mtu), "up"]))
        run(place.client(["ip", "address", "add", f"{address}/24", "dev", name]))
    return child, ends[1][2]
