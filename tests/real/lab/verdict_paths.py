"""Arranged paths: full, long, lossy, or without echoes, under one congestion control or the other, shaped here or at a router."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .lab import Lab
from .place import delay_line, Namespace, veth
from .process import run
from .verdict_ground import FIRST, Ground, ground, limit, READ, WRITE

CUBIC, BBR = "cubic", "bbr"
# What packets of a bulk load fill without many of them: a delay line carries each by itself.
JUMBO = 9000


def tbf(rate: str = "80mbit", latency: str = "50ms") -> list[str]:
    """A token bucket with a queue of so much time."""
    return ["tbf", "rate", rate, "burst", "32kb", "latency", latency]


def control(place: Namespace, name: str) -> None:
    """All connections through this namespace's routes use a congestion control; fails where the kernel has none of that name.

    By route: a namespace may choose by `sysctl` only what the machine allows everybody, and that list is the machine's. The kernel
    loads the module itself.
    """
    for route in run(place.client(["ip", "-4", "route", "show"])).splitlines():
        run(place.client(["ip", "route", "replace", *route.split(), "congctl", name]))


@contextmanager
def line(lab: Lab, milliseconds: float, mtu: int = 1500) -> Iterator[Ground]:
    """Client and server with a cable between them on which packets are under way for so long each way."""
    with ground(lab, cables=0) as at:
        carrier, address = delay_line(at.near, at.far, milliseconds, FIRST, mtu)
        at.stack.callback(carrier.stop)
        at.addresses.append(address)
        yield at


@contextmanager
def chain(lab: Lab, name: str) -> Iterator[tuple[Ground, Namespace]]:
    """Client and server with two routers between them; the second router too: `mmn3` is its way to the server, `mmf2` the way back."""
    with ground(lab) as at:
        # The cable of the ground leads to the first router; what is behind it is new.
        first, second = at.far, Namespace(at.directory / "second")
        at.stack.callback(second.stop)
        server = Namespace(at.directory / "server")
        at.stack.callback(server.stop)
        veth(first, second, 2, 1500, 1500)
        _, address = veth(second, server, 3, 1500, 1500)
        for router in (first, second):
            run(router.client(["sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"]))
        ways = ((at.near, "default", "10.99.1.2"), (first, "10.99.3.0/24", "10.99.2.2"))
        for place, to, by in (*ways, (second, "10.99.1.0/24", "10.99.2.1"), (server, "default", "10.99.3.1")):
            run(place.client(["ip", "route", "add", to, "via", by]))
        for end in (at.near, server):
            control(end, name)
        at.far, at.addresses = server, [address]
        yield at, second


def shaped_here(lab: Lab, name: str, load: str, **how: Any) -> dict[str, Any]:
    """A token bucket of 80 Mbit/s at the way out of whoever sends."""
    with ground(lab) as at:
        url = at.array()
        for end in (at.near, at.far):
            control(end, name)
        end, device = (at.near, "mmn1") if load == WRITE else (at.far, "mmf1")
        at.shape(end, device, *tbf())
        return limit(lab, at.near, url, load, **how)


def here_reads_bbr(lab: Lab) -> dict[str, Any]:
    """Reads by BBR through a token bucket at the server's way out."""
    return shaped_here(lab, BBR, READ)


def here_writes_bbr(lab: Lab) -> dict[str, Any]:
    """Writes by BBR through a token bucket at the client's way out."""
    return shaped_here(lab, BBR, WRITE)


def router_reads_cubic(lab: Lab) -> dict[str, Any]:
    """Reads by CUBIC through a router two hops away that lets 80 Mbit/s through."""
    with chain(lab, CUBIC) as (at, router):
        at.shape(router, "mmf2", *tbf())
        return limit(lab, at.near, at.array(), READ)


def router_writes_bbr(lab: Lab) -> dict[str, Any]:
    """Writes by BBR through a router two hops away that lets 80 Mbit/s through."""
    with chain(lab, BBR) as (at, router):
        at.shape(router, "mmn3", *tbf())
        return limit(lab, at.near, at.array(), WRITE)


def long_link(lab: Lab, milliseconds: float, name: str, qdisc: list[str]) -> dict[str, Any]:
    """Writes over a path of some length through a narrow way out."""
    with line(lab, milliseconds) as at:
        control(at.near, name)
        at.shape(at.near, "mmdn", *qdisc)
        return limit(lab, at.near, at.array(), WRITE, measure="5s")


def without_a_queue(lab: Lab) -> dict[str, Any]:
    """Writes through 80 Mbit/s with 5 ms each way and 100 ms of buffer, by BBR, which keeps no queue."""
    return long_link(lab, 5, BBR, tbf(latency="100ms"))


def longer_without_a_queue(lab: Lab) -> dict[str, Any]:
    """Writes through 80 Mbit/s with 10 ms each way and 50 ms of buffer, by BBR."""
    return long_link(lab, 10, BBR, tbf())


def small_buffer_bbr(lab: Lab) -> dict[str, Any]:
    """Writes through 80 Mbit/s with 5 ms each way and 50 ms of buffer, by BBR."""
    return long_link(lab, 5, BBR, tbf())


def longer_wide_buffer_bbr(lab: Lab) -> dict[str, Any]:
    """Writes through 80 Mbit/s with 10 ms each way and 100 ms of buffer, by BBR."""
    return long_link(lab, 10, BBR, tbf(latency="100ms"))


def deep_buffer_bbr(lab: Lab) -> dict[str, Any]:
    """Writes through 20 Mbit/s with 5 ms each way and 2 s of buffer, by BBR."""
    return long_link(lab, 5, BBR, tbf("20mbit", "2s"))


def short_queue(lab: Lab) -> dict[str, Any]:
    """Writes by CUBIC through 80 Mbit/s with 10 ms each way, where packets queue for 20 ms at most."""
    return long_link(lab, 10, CUBIC, tbf(latency="20ms"))


def full_beside_loss(lab: Lab) -> dict[str, Any]:
    """Writes by BBR through 80 Mbit/s with 5 ms each way, of which one packet of a hundred is lost: BBR does not mind."""
    with line(lab, 5) as at:
        control(at.near, BBR)
        at.shape(at.near, "mmdn", *tbf())
        drop(at.far, "mmdf", "0.01")
        return limit(lab, at.near, at.array(), WRITE, measure="5s")


def drop(place: Namespace, device: str, probability: str, *what: str) -> None:
    """Some of the packets that come in by a card are lost."""
    chance = ["-m", "statistic", "--mode", "random", "--probability", probability]
    run(place.client(["iptables", "-A", "INPUT", "-i", device, *what, *chance, "-j", "DROP"]))


def few_echoes(lab: Lab) -> dict[str, Any]:
    """Reads through a token bucket, where the server answers one echo a second."""
    with ground(lab) as at:
        url = at.array()
        for end in (at.near, at.far):
            control(end, CUBIC)
        at.shape(at.far, "mmf1", *tbf())
        echo = ["iptables", "-A", "INPUT", "-p", "icmp", "--icmp-type", "echo-request"]
        run(at.far.client([*echo, "-m", "limit", "--limit", "1/s", "--limit-burst", "1", "-j", "ACCEPT"]))
        run(at.far.client([*echo, "-j", "DROP"]))
        return limit(lab, at.near, url, READ)


def half_of_the_echoes(lab: Lab) -> dict[str, Any]:
    """The array gives no more than 8 MB/s, and every second echo is lost."""
    with ground(lab) as at:
        url = at.array("*/nfs=bandwidth:8MB/s")
        drop(at.far, "mmf1", "0.5", "-p", "icmp")
        return limit(lab, at.near, url, READ)


def two_megabytes(lab: Lab) -> dict[str, Any]:
    """The server's sockets have room for 2 MiB, and packets are under way for 25 ms each way."""
    return window_of_megabytes(lab, 25)


def long_two_megabytes(lab: Lab) -> dict[str, Any]:
    """The same with 100 ms each way."""
    return window_of_megabytes(lab, 100)


def window_of_megabytes(lab: Lab, milliseconds: float) -> dict[str, Any]:
    """Writes to sockets with room for 2 MiB."""
    with line(lab, milliseconds, JUMBO) as at:
        run(at.far.client(["sh", "-c", "echo 4096 2097152 2097152 > /proc/sys/net/ipv4/tcp_rmem"]))
        run(at.near.client(["sh", "-c", "echo 4096 16384 33554432 > /proc/sys/net/ipv4/tcp_wmem"]))
        many = WRITE.replace("queue_depth: 8", "queue_depth: 64")
        return limit(lab, at.near, at.array(), many, measure="8s" if milliseconds > 50 else "5s")


def short_reads(lab: Lab) -> dict[str, Any]:
    """Reads of two seconds over a healthy cable, as fast as this machine can: nothing on the way may be named."""
    with ground(lab) as at:
        found = limit(lab, at.near, at.array(), READ, measure="2s")
        return found | {"named": found["bound"] != "network" and (found["bound"] == "client" or found["confidence"] != "high")}
