"""Arranged situations in which the first sign misleads: something is full, lost or limited, and is not what holds the load back."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import Any

from .blocks import image, loop
from .groups import disk_rate
from .lab import Lab
from .place import delay_line, Place
from .process import Child, run, wait_until
from .verdict_ground import FIRST, ground, limit, READ, WRITE


def doubted(found: dict[str, Any], words: str) -> dict[str, Any]:
    """It must also be a reason of the verdict, by name, and nothing may be said for sure of the target."""
    sure = found["bound"] == "target" and found["confidence"] == "high"
    return found | {"named": any(words in reason for reason in found["reasons"]) and not sure}


def others_on_the_disk(lab: Lab) -> dict[str, Any]:
    """Others read a disk of this host without a pause while one small read at once is made of it."""
    with lab.directory() as directory, loop(image(directory / "disk.img", 256)) as device, ExitStack() as stack:
        read = f"while :; do dd if={device} of=/dev/null bs=1M iflag=direct status=none; done"
        for number in range(2):
            child = Child([*FIRST, "sh", "-c", read], directory / f"others-{number}.log")
            stack.callback(partial(child.stop, 0))
        found = limit(lab, Place(directory), f"block://{device}", "ops: read, access: random, jobs: 1, queue_depth: 1, block_size: 4KiB",
                      options=", direct: true")
        return doubted(found, f"other programs use {device.name}")


def others_on_the_card(lab: Lab) -> dict[str, Any]:
    """Others receive 60 MB/s over the same cable while the array gives 8 MB/s."""
    with ground(lab) as at:
        url = at.array("*/nfs=bandwidth:8MB/s")
        server = Child(at.far.server(["iperf3", "-s", "--forceflush", "-B", at.addresses[0]]), at.directory / "iperf3-server.log")
        at.stack.callback(server.stop)
        wait_until("iperf3", lambda: "listening" in server.text().lower(), 10, server)
        arguments = ["-c", at.addresses[0], "-R", "-b", "480M", "-t", "120"]
        child = Child(at.near.client([*FIRST, "iperf3", *arguments]), at.directory / "iperf3.log")
        at.stack.callback(partial(child.stop, 0))
        return doubted(limit(lab, at.near, url, READ), "other programs use mmn1")


def eight_agents(lab: Lab) -> dict[str, Any]:
    """Eight agents on this host use all of its cores, for a target that does nothing."""
    with lab.directory() as directory:
        load = "ops: read, jobs: 1, queue_depth: 32, block_size: 4KiB, files: 4, file_size: 1MiB"
        return limit(lab, Place(directory), "null:", load, more=("--local=8",))


def wide_disk_quota(lab: Lab) -> dict[str, Any]:
    """A control group allows 20 GB/s to a disk of this host, far more than it does."""
    with lab.directory() as directory, loop(image(directory / "disk.img", 64)) as device:
        with disk_rate(device, 20_000_000_000) as group:
            workload = "ops: write, jobs: 1, queue_depth: 1, block_size: 4KiB"
            found = limit(lab, Place(directory), f"block://{device}", workload, options=", direct: true",
                          wrap=lambda command: group.inside([*command, f"--destroy={device}"]))
            return found | {"named": found["cause"] != "disk-quota"}


def array_beside_loss(lab: Lab, probability: str) -> dict[str, Any]:
    """The array gives no more than 20 MB/s, and the cable loses a little: it would give as much without."""
    with ground(lab) as at:
        url = at.array("*/nfs=bandwidth:20MB/s")
        drop = ["iptables", "-A", "INPUT", "-i", "mmn1", "-m", "statistic", "--mode", "random", "--probability", probability, "-j", "DROP"]
        run(at.near.client(drop))
        return limit(lab, at.near, url, READ)


def array_with_little_loss(lab: Lab) -> dict[str, Any]:
    """The array gives 20 MB/s, and five packets of a thousand are lost, which costs nothing."""
    return array_beside_loss(lab, "0.005")


def array_with_some_loss(lab: Lab) -> dict[str, Any]:
    """The array gives 20 MB/s, and fifteen packets of a thousand are lost, which costs nothing."""
    return array_beside_loss(lab, "0.015")


def long_link(lab: Lab, milliseconds: float, control: str, *qdisc: str) -> dict[str, Any]:
    """Writes over a path of some length through a narrow way out, with a congestion control."""
    with ground(lab, cables=0) as at:
        # A namespace may choose only what the kernel allows everybody.
        run(at.near.client(["sh", "-c", f"echo {control} > /proc/sys/net/ipv4/tcp_congestion_control"]))
        line, address = delay_line(at.near, at.far, milliseconds, FIRST)
        at.stack.callback(line.stop)
        at.addresses.append(address)
        if qdisc:
            at.shape(at.near, "mmdn", *qdisc)
        return limit(lab, at.near, at.array(), WRITE, measure="8s")


def without_a_queue(lab: Lab) -> dict[str, Any]:
    """Writes through 80 Mbit/s with 5 ms each way, by BBR, which keeps no queue."""
    return long_link(lab, 5, "bbr", "tbf", "rate", "80mbit", "burst", "32kb", "latency", "100ms")


def short_queue(lab: Lab) -> dict[str, Any]:
    """Writes through 80 Mbit/s with 10 ms each way, where packets queue for 20 ms at most."""
    return long_link(lab, 10, "reno", "tbf", "rate", "80mbit", "burst", "32kb", "latency", "20ms")


def window_of_megabytes(lab: Lab) -> dict[str, Any]:
    """The server's sockets have room for 2 MiB, and packets are under way for 100 ms each way."""
    with ground(lab, cables=0) as at:
        run(at.far.client(["sh", "-c", "echo 4096 2097152 2097152 > /proc/sys/net/ipv4/tcp_rmem"]))
        run(at.near.client(["sh", "-c", "echo 4096 16384 33554432 > /proc/sys/net/ipv4/tcp_wmem"]))
        line, address = delay_line(at.near, at.far, 100, FIRST)
        at.stack.callback(line.stop)
        at.addresses.append(address)
        many = WRITE.replace("queue_depth: 8", "queue_depth: 64")
        return limit(lab, at.near, at.array(), many, measure="12s")


def one_lane_and_a_rate(lab: Lab) -> dict[str, Any]:
    """A thousand operations a second are asked for on one lane, of an array that takes 5 ms for each."""
    with ground(lab) as at:
        url = at.array("*/nfs=latency:5ms")
        return limit(lab, at.near, url, READ.replace("queue_depth: 8", "queue_depth: 1") + ", rate: 1000/s")


def takes_its_time(lab: Lab) -> dict[str, Any]:
    """Eight operations at once, to an array that takes 20 ms for each, however many they are."""
    with ground(lab) as at:
        found = limit(lab, at.near, at.array("*/nfs=latency:20ms"), READ)
        both = "full or only takes this long" in found["sentence"]
        return found | {"named": both and found["confidence"] != "high"}
