"""Arranged situations, each with one thing that holds the load back: the verdict must name it, and never say another for sure.

Client and server share this machine's cores, and perhaps with other work. So the limits are set low, far below what the
cores can do, and the client goes before others (nice), so that what is arranged is what limits.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from . import verdict_doubtful as doubtful
from . import verdict_paths as paths
from .blocks import image, loop
from .ganesha import Ganesha
from .groups import disk_rate, processor_share
from .lab import Lab
from .manometer import SLACK_SECONDS, Manometer
from .place import delay_line, Place
from .process import Child, run
from .report import Report
from .verdict_ground import FIRST, ground, limit, READ, WRITE

TBF = paths.tbf()


def checked(lab: Lab, place: Place, url: str, *more: str, duration: str = "4s", block_size: str = "128KiB") -> dict[str, Any]:
    """Makes a short check of an export; its report's verdict."""
    load = ["--workers=1", "--lanes=8", "--dataset=32MiB", f"--block-size={block_size}", f"--duration={duration}"]
    command = place.client([*FIRST, str(lab.manometer), "check", f"--nfs={url}", *more, *load, "--output=json"])
    stem = place.directory / "check"
    child = Child(
        command, stem.with_suffix(".out"), env=Manometer(lab.manometer, place).env, separate_stderr=stem.with_suffix(".err")
    )
    try:
        code = child.wait(SLACK_SECONDS)
    finally:
        child.stop()
    if code != 0:
        raise RuntimeError(f"ended with {code}: {child.error_text()[-2000:]}")
    return dict(json.loads(child.text())["verdict"])


def check_limited(lab: Lab, report: Report) -> None:
    """Both ways through token buckets: a check names the network, of writes and of reads."""
    with ground(lab) as at:
        url = at.array()
        at.shape(at.near, "mmn1", *TBF)
        at.shape(at.far, "mmf1", *TBF)
        verdict = checked(lab, at.near, url)
        report.check("verdict.limit is network-bound", verdict["limit"] == "network-bound", verdict)
        said = [(best["phase"], best["limit"]["cause"]) for best in verdict["best"]]
        report.check("writes and reads: path-rate", said == [("write", "path-rate"), ("read", "path-rate")], verdict)
        report.check("evidence", all(best["limit"]["evidence"] for best in verdict["best"]), verdict)


def check_probe(lab: Lab, report: Report) -> None:
    """A check long enough tries half and twice as much in flight: an array that only takes its time has room."""
    with ground(lab) as at:
        verdict = checked(lab, at.near, at.array("*/nfs=latency:20ms"), duration="10s", block_size="16KiB")
        said = [(best["phase"], best["limit"]["cause"], best["limit"]["confidence"]) for best in verdict["best"]]
        report.check("writes and reads: depth, for sure", said == [("write", "depth", "high"), ("read", "depth", "high")], verdict)
        says = [best["limit"]["probe"]["says"] for best in verdict["best"]]
        report.check("probes found room", says == ["room", "room"], verdict)


def check_slow_path(lab: Lab, report: Report) -> None:
    """One of three cables carries a tenth of the others: a check names its address."""
    with ground(lab, cables=3) as at:
        url = at.array()
        for number in range(1, 4):
            rate = "8mbit" if number == 2 else "80mbit"
            for place, device in ((at.near, f"mmn{number}"), (at.far, f"mmf{number}")):
                at.shape(place, device, "tbf", "rate", rate, "burst", "32kb", "latency", "50ms")
        verdict = checked(lab, at.near, url, *(f"--data-vip={ip}" for ip in at.addresses))
        slow = {(path["data_vip"], path["phase"]) for path in verdict["slow_paths"]}
        wanted = {(at.addresses[1], "write"), (at.addresses[1], "read")}
        report.check("the slow path is named, and no other", slow == wanted, verdict)
        named = any(f"The path to {at.addresses[1]} is slower" in sentence for sentence in verdict["sentences"])
        report.check("in a sentence", named, verdict["sentences"])


def token_bucket(lab: Lab, **how: Any) -> dict[str, Any]:
    """Reads by CUBIC through a token bucket at the server's way out."""
    return paths.shaped_here(lab, paths.CUBIC, READ, **how)


def without_echoes(command: list[str]) -> list[str]:
    """A namespace of its own lets nobody send ICMP echoes (ping_group_range), and the program may not make packets itself."""
    return ["setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw", *command]


def token_bucket_without_echoes(lab: Lab) -> dict[str, Any]:
    """The same for a user who may not send echoes."""
    return token_bucket(lab, wrap=without_echoes)


def slow_array_without_echoes(lab: Lab) -> dict[str, Any]:
    """The array gives no more than 8 MB/s to a user who may not send echoes."""
    return slow_array(lab, wrap=without_echoes)


def shaped_class(lab: Lab) -> dict[str, Any]:
    """Writes by CUBIC through a class of a shaper at the client's way out."""
    with ground(lab) as at:
        url = at.array()
        paths.control(at.near, paths.CUBIC)
        at.shape(at.near, "mmn1", "handle", "1:", "htb", "default", "1")
        leaf = ["tc", "class", "add", "dev", "mmn1", "parent", "1:", "classid", "1:1", "htb", "rate", "80mbit", "ceil", "80mbit"]
        run(at.near.client(leaf))
        return limit(lab, at.near, url, WRITE)


def quota(lab: Lab) -> dict[str, Any]:
    """The client may use a tenth of a core."""
    with ground(lab) as at, processor_share(0.1) as group:
        return limit(lab, at.near, at.array(), READ, wrap=group.inside)


def others(lab: Lab) -> dict[str, Any]:
    """Other programs want all cores, as much as the client does."""
    with lab.directory() as directory, ExitStack() as stack:
        for number in range(6):
            busy = Child([*FIRST, "sh", "-c", "while :; do :; done"], directory / f"busy-{number}.log")
            stack.callback(partial(busy.stop, 0))
        return limit(lab, Place(directory), "null:", "ops: read, jobs: 2, queue_depth: 32, block_size: 4KiB, files: 4, file_size: 1MiB")


def slow_server(lab: Lab) -> dict[str, Any]:
    """The server may use a twentieth of a core."""
    # The group goes last: the server is in it.
    with processor_share(0.05) as group, ground(lab) as at:
        server = Ganesha(at.far, 2049, 20048, address=at.addresses[0])
        at.stack.callback(server.stop)
        (group.path / "cgroup.procs").write_text(str(server.child.pid))
        for task in Path(f"/proc/{server.child.pid}/task").iterdir():
            (group.path / "tasks").write_text(task.name) if (group.path / "tasks").exists() else None
        for child in children(server.child.pid):
            (group.path / "cgroup.procs").write_text(str(child))
        return limit(lab, at.near, server.url(), READ, options=", mount_port: 20048")


def children(parent: int) -> list[int]:
    """All processes below one."""
    found: list[int] = []
    for line in run(["ps", "-eo", "pid=,ppid="]).splitlines():
        pid, above = (int(word) for word in line.split())
        if above == parent:
            found += [pid, *children(pid)]
    return found


def slow_array(lab: Lab, **how: Any) -> dict[str, Any]:
    """The array gives no more than 8 MB/s."""
    with ground(lab) as at:
        return limit(lab, at.near, at.array("*/nfs=bandwidth:8MB/s"), READ, **how)


def lossy(lab: Lab) -> dict[str, Any]:
    """Two packets of a hundred are lost on their way to the client."""
    with ground(lab) as at:
        url = at.array()
        # BBR would not mind.
        paths.control(at.far, paths.CUBIC)
        paths.drop(at.near, "mmn1", "0.02")
        return limit(lab, at.near, url, READ)


def small_packets(lab: Lab) -> dict[str, Any]:
    """The cable carries packets of 576 bytes, and cards send each by itself."""
    with ground(lab, mtu=576) as at:
        for place, device in ((at.near, "mmn1"), (at.far, "mmf1")):
            run(place.client(["ip", "link", "set", device, "gso_max_segs", "1"]))
        return limit(lab, at.near, at.array(), READ)


def slow_path(lab: Lab) -> dict[str, Any]:
    """One of four cables carries a tenth of the others."""
    with ground(lab, cables=4) as at:
        url = at.array()
        for number in range(1, 5):
            rate = "4mbit" if number == 3 else "40mbit"
            at.shape(at.near, f"mmn{number}", "tbf", "rate", rate, "burst", "32kb", "latency", "50ms")
        # Each job has a connection through a cable of its own.
        more = ",".join(f"nfs://{ip}/bench" for ip in at.addresses[1:])
        workload = WRITE.replace("jobs: 1, queue_depth: 8", "jobs: 4, queue_depth: 4")
        found = limit(lab, at.near, url, workload, options=f", more_urls: '{more}'")
        return found | {"named": found["place"] == at.addresses[2]}


def too_few(lab: Lab) -> dict[str, Any]:
    """One operation at once, to an array that takes 5 ms for each."""
    with ground(lab) as at:
        url = at.array("*/nfs=latency:5ms")
        return limit(lab, at.near, url, READ.replace("queue_depth: 8", "queue_depth: 1"))


def nothing_there(lab: Lab) -> dict[str, Any]:
    """A target that does nothing: the worker is what takes time."""
    with lab.directory() as directory:
        return limit(lab, Place(directory), "null:", "ops: read, jobs: 1, queue_depth: 32, block_size: 4KiB, files: 4, file_size: 1MiB")


def slow_disk(lab: Lab) -> dict[str, Any]:
    """A control group allows 8 MB/s to a disk of this host."""
    with lab.directory() as directory, loop(image(directory / "disk.img", 64)) as device:
        with disk_rate(device, 8_000_000) as group:
            workload = "ops: write, jobs: 1, queue_depth: 8, block_size: 128KiB"
            return limit(lab, Place(directory), f"block://{device}", workload, options=", direct: true",
                         wrap=lambda command: group.inside([*command, f"--destroy={device}"]))


def low_rate(lab: Lab) -> dict[str, Any]:
    """Fifty operations a second are asked for, and done."""
    with ground(lab) as at:
        return limit(lab, at.near, at.array(), READ + ", rate: 50/s")


def small_window(lab: Lab) -> dict[str, Any]:
    """The server's sockets have room for 64 KiB, and packets are under way for 5 ms each way."""
    with ground(lab, cables=0) as at:
        run(at.far.client(["sh", "-c", "echo 4096 65536 65536 > /proc/sys/net/ipv4/tcp_rmem"]))
        line, address = delay_line(at.near, at.far, 5, FIRST)
        at.stack.callback(line.stop)
        at.addresses.append(address)
        return limit(lab, at.near, at.array(), WRITE)


@dataclass(frozen=True)
class Situation:
    """How it is arranged, and what must be said of it."""

    name: str
    arrange: Callable[[Lab], dict[str, Any]]
    bound: str
    causes: tuple[str, ...]

    def right(self, found: dict[str, Any]) -> bool:
        """Whether it was named: without a bound, that another is not."""
        named = found["bound"] == self.bound and found["cause"] in self.causes
        return (named or not self.bound) and bool(found.get("named", True))


SITUATIONS = [
    Situation("link limited by a token bucket (tbf)", token_bucket, "network", ("path-rate",)),
    Situation("limited link, echoes not allowed", token_bucket_without_echoes, "network", ("path-rate",)),
    Situation("link limited by a shaper's class (htb)", shaped_class, "network", ("path-rate",)),
    Situation("client with a processor quota", quota, "client", ("cpu-quota",)),
    Situation("client's cores busy with others", others, "client", ("other-programs",)),
    Situation("slow server", slow_server, "target", ("service", "not-taken")),
    Situation("array with limited bandwidth", slow_array, "target", ("service", "not-taken")),
    Situation("limited array, echoes not allowed", slow_array_without_echoes, "target", ("service", "not-taken")),
    Situation("lossy link", lossy, "network", ("loss",)),
    Situation("small packets", small_packets, "network", ("small-packets",)),
    Situation("one slow path of four", slow_path, "network", ("slow-path",)),
    Situation("too few operations in flight", too_few, "tool", ("depth",)),
    Situation("target that does nothing", nothing_there, "client", ("worker-full", "cores-full")),
    Situation("disk limited by a control group", slow_disk, "target", ("disk-quota",)),
    Situation("rate below the limit", low_rate, "none", ("rate",)),
    Situation("small receive window", small_window, "network", ("window",)),
    Situation("disk that others use", doubtful.others_on_the_disk, "unclear", ("foreign-load",)),
    Situation("card that others use", doubtful.others_on_the_card, "target", ("service", "not-taken")),
    Situation("eight agents on one host", doubtful.eight_agents, "client", ("cores-full",)),
    Situation("disk quota far above the load", doubtful.wide_disk_quota, "", ()),
    Situation("array with loss of 0.5 % beside it", doubtful.array_with_little_loss, "target", ("service", "not-taken")),
    Situation("array with loss of 1.5 % beside it", doubtful.array_with_some_loss, "target", ("service", "not-taken")),
    Situation("limited link under BBR, reads", paths.here_reads_bbr, "network", ("path-rate",)),
    Situation("limited link under BBR, writes", paths.here_writes_bbr, "network", ("path-rate",)),
    Situation("link limited at a second router, reads", paths.router_reads_cubic, "network", ("path-rate",)),
    Situation("link limited at a second router under BBR, writes", paths.router_writes_bbr, "network", ("path-rate",)),
    Situation("full link without a queue (BBR)", paths.without_a_queue, "network", ("path-rate",)),
    Situation("full longer link without a queue (BBR)", paths.longer_without_a_queue, "network", ("path-rate",)),
    Situation("full link with half the buffer (BBR)", paths.small_buffer_bbr, "network", ("path-rate",)),
    Situation("full longer link with twice the buffer (BBR)", paths.longer_wide_buffer_bbr, "network", ("path-rate",)),
    Situation("full link with a deep buffer (BBR)", paths.deep_buffer_bbr, "network", ("path-rate",)),
    Situation("full link with loss beside it (BBR)", paths.full_beside_loss, "network", ("path-rate",)),
    Situation("full link with a short queue", paths.short_queue, "network", ("path-rate",)),
    Situation("limited link, one echo a second", paths.few_echoes, "network", ("path-rate",)),
    Situation("limited array, half of the echoes lost", paths.half_of_the_echoes, "target", ("service", "not-taken")),
    Situation("window of megabytes", paths.two_megabytes, "network", ("window",)),
    Situation("window of megabytes on a long path", paths.long_two_megabytes, "network", ("window",)),
    Situation("two seconds of reads over a healthy link", paths.short_reads, "", ()),
    Situation("disk quota on reads while the load writes", doubtful.disk_quota_on_reads, "", ()),
    Situation("a rate with too few lanes", doubtful.one_lane_and_a_rate, "tool", ("depth",)),
    Situation("target that only takes its time", doubtful.takes_its_time, "target", ("service",)),
    Situation("target that only takes its time, with a probe", doubtful.probed_time, "tool", ("depth",)),
    Situation("array with limited bandwidth, with a probe", doubtful.probed_bandwidth, "target", ("service", "not-taken")),
]


def check(situation: Situation, lab: Lab, report: Report) -> None:
    """One situation once."""
    found = situation.arrange(lab)
    right = situation.right(found)
    print(f"     said: {found['sentence']}", flush=True)
    what = f"named as {situation.bound}/{'|'.join(situation.causes)}" if situation.bound else "what does not limit is not named"
    report.check(what, right, found)
    report.check("nothing wrong is said for sure", right or found["confidence"] != "high", found["sentence"])
    report.check("evidence and what to try next", bool(found["evidence"]) and bool(found["next"]), found)


SCENARIOS = {f"verdict {situation.name}": partial(check, situation) for situation in SITUATIONS} | {
    "verdict of a check through a limited link": check_limited,
    "verdict of a check with one slow path of three": check_slow_path,
    "verdict of a check that probes": check_probe,
}
