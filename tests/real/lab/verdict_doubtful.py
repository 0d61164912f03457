"""Arranged situations in which the first sign misleads: something is full, lost or limited, and is not what holds the load back."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import Any

from .blocks import image, loop
from .groups import disk_rate
from .lab import Lab
from .place import Place
from .process import Child, run, wait_until
from .verdict_ground import FIRST, ground, limit, READ


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


def disk_quota(lab: Lab, bytes_per_s: int, reads: bool, queue_depth: int) -> dict[str, Any]:
    """Writes in a control group whose limit on the disk holds nothing back."""
    with lab.directory() as directory, loop(image(directory / "disk.img", 64)) as device:
        with disk_rate(device, bytes_per_s, reads) as group:
            workload = f"ops: write, jobs: 1, queue_depth: {queue_depth}, block_size: 4KiB"
            found = limit(lab, Place(directory), f"block://{device}", workload, options=", direct: true",
                          wrap=lambda command: group.inside([*command, f"--destroy={device}"]))
            return found | {"named": found["cause"] != "disk-quota"}


def wide_disk_quota(lab: Lab) -> dict[str, Any]:
    """A control group allows 20 GB/s to a disk of this host, far more than it does."""
    return disk_quota(lab, 20_000_000_000, reads=False, queue_depth=1)


def disk_quota_on_reads(lab: Lab) -> dict[str, Any]:
    """A control group allows 1 MB/s to be read from a disk of this host, which is written to."""
    return disk_quota(lab, 1_000_000, reads=True, queue_depth=8)


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


def one_lane_and_a_rate(lab: Lab) -> dict[str, Any]:
    """A thousand operations a second are asked for on one lane, of an array that takes 5 ms for each."""
    with ground(lab) as at:
        url = at.array("*/nfs=latency:5ms")
        return limit(lab, at.near, url, READ.replace("queue_depth: 8", "queue_depth: 1") + ", rate: 1000/s")


def takes_its_time(lab: Lab) -> dict[str, Any]:
    """Eight operations at once, to an array that takes 20 ms for each, however many they are."""
    with ground(lab) as at:
        found = limit(lab, at.near, at.array("*/nfs=latency:20ms"), READ)
        both = "saturated or just has this latency" in found["sentence"]
        return found | {"named": both and found["confidence"] != "high"}


def probed_time(lab: Lab) -> dict[str, Any]:
    """The same with a probe: twice as many give twice as much."""
    with ground(lab) as at:
        # Small ones, so that twice as many find the cores free.
        small = READ.replace("block_size: 128KiB", "block_size: 16KiB")
        found = limit(lab, at.near, at.array("*/nfs=latency:20ms"), small, probe="2s")
        return found | {"named": found["probe"]["says"] == "room"}


def probed_bandwidth(lab: Lab) -> dict[str, Any]:
    """The array gives no more than 8 MB/s, which a probe tries."""
    with ground(lab) as at:
        found = limit(lab, at.near, at.array("*/nfs=bandwidth:8MB/s"), READ, probe="2s")
        return found | {"named": found["probe"]["says"] == "full" and found["confidence"] == "high"}
