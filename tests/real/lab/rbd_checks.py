"""Ceph's images: every operation, sizes as rbd sees them, nothing left behind, what protects them, and every refusal in one line."""

from __future__ import annotations

import hashlib
import json
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from .ceph import POOL, Cluster
from .file_checks import result, start
from .lab import Lab
from .manometer import Manometer
from .place import Place, WithoutLibrary
from .process import run, wait_until
from .report import Report, Scenario

MIB = 1 << 20
THEIRS = ["blank", "theirs"]
CREATED = "create=32MiB"
LOADS = [
    (CREATED, "ops: {read: 40%, write: 60%}, block_size: 4KiB, queue_depth: 16, jobs: 2, verify: true"),
    (f"{CREATED}&image_object_size=1MiB&exclusive_lock=false", "ops: {read: 40%, write: 30%, trim: 20%, commit: 10%}, block_size: 64KiB, queue_depth: 8"),
    (f"{CREATED}&trim_zeroes=true&cache=true", "ops: {write: 60%, trim: 40%}, block_size: 4KiB, queue_depth: 8, fsync_every: 16"),
]


@contextmanager
def with_images(lab: Lab) -> Iterator[tuple[Cluster, Manometer]]:
    """A cluster with an image that holds a file system, and an empty one, and the program beside it."""
    with ExitStack() as stack:
        directory = stack.enter_context(lab.directory())
        cluster = Cluster(directory / "ceph", stack)
        content = directory / "content"
        with content.open("wb") as file:
            file.truncate(16 * MIB)
        run(["mkfs.ext4", "-q", "-F", str(content)])
        cluster.rbd("import", str(content), f"{POOL}/theirs")
        cluster.rbd("create", f"{POOL}/blank", "--size", "16M")
        # Whoever removes the first image of a pool makes its index of removed ones, which stays.
        cluster.rbd("create", f"{POOL}/first", "--size", "1M")
        cluster.rbd("rm", f"{POOL}/first", "--no-progress")
        yield cluster, Manometer(lab.manometer, Place(directory))


def url(cluster: Cluster, image: str = "", *options: str, pool: str = POOL) -> str:
    """The URL of an image, or of one that is created."""
    return "&".join([f"rbd://{pool}{image and '/'}{image}?conf={cluster.conf}", *options])


def image(lab: Lab, report: Report) -> None:
    """Loads, jobs, what protects images, a kill, and faults, on one cluster."""
    with with_images(lab) as (cluster, manometer):
        before = cluster.objects()
        for options, load in LOADS:
            outcome = start(manometer, url(cluster, "", options), load, stages=", verify: true" if "verify" in load else "").finish()
            report.equal(f"{load}: code", outcome.code, 0) or print(outcome.stderr[-2000:])
            total = result(outcome)["total"]
            report.check(f"{load}: no errors", total["ok"] > 0 and total["failed"] == 0, total)
            report.equal(f"{load}: images", cluster.images(), THEIRS)
            report.equal(f"{load}: objects", cluster.objects(), before)
        jobs(cluster, manometer, report)
        guarded(cluster, manometer, report)
        refused(cluster, manometer, report)
        before = cluster.objects()
        killed(cluster, manometer, report)
        report.equal("images at the end", cluster.images(), THEIRS)
        report.equal("objects at the end", cluster.objects(), before)


def jobs(cluster: Cluster, manometer: Manometer, report: Report) -> None:
    """Jobs of fio's engine: fio reads what we wrote, with its checksums, and we read what fio wrote."""
    flags = ["--name=job", "--ioengine=rbd", f"--pool={POOL}", "--rbdname=blank", "--clientname=admin", "--bs=64k", "--iodepth=8"]
    flags += ["--output-format=json", "--verify=crc32c"]
    conf = f"--conf={cluster.conf}"
    env = {"CEPH_CONF": str(cluster.conf)}

    def ours(*more: str) -> dict[str, Any]:
        outcome = manometer.start("fio", *flags, conf, *more).finish(60)
        report.equal(f"{more}: code", outcome.code, 0) or print(outcome.stderr[-2000:])
        return dict(json.loads(outcome.stdout)["jobs"][0])

    def theirs(*more: str) -> dict[str, Any]:
        return dict(json.loads(run(["env", *(f"{name}={value}" for name, value in env.items()), "fio", *flags, *more]))["jobs"][0])

    written = ours("--rw=randwrite", "--do_verify=1")
    report.equal("a job writes and reads all of it", (written["write"]["io_bytes"], written["read"]["io_bytes"]), (16 * MIB, 16 * MIB))
    read = theirs("--rw=read")
    report.equal("fio verifies it", (read["read"]["io_bytes"], read["error"]), (16 * MIB, 0))
    report.equal("fio writes", theirs("--rw=write", "--do_verify=0")["error"], 0)
    report.equal("we verify it", ours("--rw=randread")["read"]["io_bytes"], 16 * MIB)
    # Only whole objects are removed by a discard.
    report.equal("trims", ours("--rw=trim", "--verify=0", "--bs=4m")["trim"]["io_bytes"], 16 * MIB)
    used = json.loads(cluster.rbd("du", f"{POOL}/blank", "--format=json"))["images"][0]["used_size"]
    report.equal("what rbd du finds after trims", used, 0)


def guarded(cluster: Cluster, manometer: Manometer, report: Report) -> None:
    """What an image holds is overwritten only if that image is named, and not while another client has it open."""
    writes = "ops: write, queue_depth: 4, file_size: 8MiB"
    before = digest(cluster, manometer)
    for flags in ([], [f"--destroy=rbd://{POOL}/blank"]):
        outcome = start(manometer, url(cluster, "theirs"), writes, *flags).finish()
        report.check(f"refused with {flags}", outcome.code != 0, outcome.stdout[-500:])
        said = ["carries an ext2, ext3 or ext4 file system", f"--destroy rbd://{POOL}/theirs"]
        report.contains(f"says what it carries with {flags}", outcome.stderr, said)
    report.check("nothing was written", digest(cluster, manometer) == before)
    reading = start(manometer, url(cluster, "theirs"), "ops: read, queue_depth: 4", stages=", prepare: keep", measure="20s")
    wait_until("the load", lambda: "measure" in reading.child.error_text(), 60, reading.child)
    report.equal("who only reads is no watcher", watchers(cluster, "theirs"), 0)
    reading.child.signal(signal.SIGINT)
    report.check("reading alone needs no leave", result(reading.finish())["total"]["failed"] == 0)
    writing = start(manometer, url(cluster, "blank"), writes, measure="30s")
    wait_until("the load", lambda: "measure" in writing.child.error_text(), 60, writing.child)
    report.equal("who writes is a watcher", watchers(cluster, "blank"), 1)
    other = Manometer(manometer.program, Place(manometer.place.directory / "other"))
    outcome = start(other, url(cluster, "blank"), writes).finish()
    report.check("open elsewhere: refused", outcome.code != 0, outcome.stdout[-500:])
    report.contains("open elsewhere: says by whom", outcome.stderr, ["is open elsewhere (client.", "at 127.0.0.1"])
    writing.child.signal(signal.SIGINT)
    report.check("the first goes on", result(writing.finish())["total"]["failed"] == 0)
    named = start(manometer, url(cluster, "theirs"), writes, f"--destroy=rbd://{POOL}/theirs").finish()
    report.equal("named, it is written", (named.code, result(named)["total"]["failed"]), (0, 0))


def digest(cluster: Cluster, manometer: Manometer) -> str:
    """A hash of all that the image `theirs` holds."""
    copy = manometer.place.directory / "copy"
    cluster.rbd("export", f"{POOL}/theirs", str(copy), "--no-progress")
    found = hashlib.sha256(copy.read_bytes()).hexdigest()
    copy.unlink()
    return found


def watchers(cluster: Cluster, name: str) -> int:
    """How many clients have an image open for writing."""
    return len(json.loads(cluster.rbd("status", f"{POOL}/{name}", "--format=json"))["watchers"])


def killed(cluster: Cluster, manometer: Manometer, report: Report) -> None:
    """A killed run's image is what rbd sees, and cleanup removes it and no other."""
    options = ("create=64MiB", "image_object_size=2MiB")
    going = start(manometer, url(cluster, "", *options), "ops: {read: 50%, write: 50%}, file_size: 24MiB, queue_depth: 4", measure="60s")
    wait_until("the image", lambda: len(cluster.images()) == 3, 60, going.child)
    ours = next(name for name in cluster.images() if name not in THEIRS)
    report.check("it bears the run's name", ours.startswith("manometer-"), ours)

    def used() -> int:
        images = json.loads(cluster.rbd("du", f"{POOL}/{ours}", "--format=json"))["images"]
        return int(images[0]["used_size"])

    wait_until("the data set", lambda: used() == 24 * MIB, 60, going.child)
    info = json.loads(cluster.rbd("info", f"{POOL}/{ours}", "--format=json"))
    report.equal("size and object size, by rbd info", (info["size"], info["object_size"]), (64 * MIB, 2 * MIB))
    report.check("it has the usual features", "exclusive-lock" in info["features"], info["features"])
    going.child.signal(signal.SIGKILL)
    going.finish()
    report.equal("what a killed run left", cluster.images(), sorted([*THEIRS, ours]))
    # The cluster forgets the dead client after 30 seconds.
    report.equal("cleanup", manometer.start("cleanup").finish(120).code, 0)
    report.equal("what is left after it", cluster.images(), THEIRS)


def refused(cluster: Cluster, manometer: Manometer, report: Report) -> None:
    """What cannot be used is named in one line, and nothing is created."""
    directory = manometer.place.directory
    keyring, reader = directory / "wrong", directory / "reader"
    run(["ceph-authtool", "--create-keyring", str(keyring), "--gen-key", "-n", "client.admin"])
    caps = ["mon", "profile rbd", "osd", f"profile rbd-read-only pool={POOL}"]
    cluster.ask("auth", "get-or-create", "client.reader", *caps, "-o", str(reader))
    without = Manometer(manometer.program, WithoutLibrary(directory / "without", "librbd.so.1"))
    wrong_key, only_reads = f"keyring={keyring}", ("id=reader", f"keyring={reader}")
    for what, program, where, parts in [
        ("a wrong pool", manometer, url(cluster, "blank", pool="nothing"), ["no pool nothing", "ceph osd pool ls"]),
        ("a wrong pool to create in", manometer, url(cluster, "", CREATED, pool="nothing"), ["no pool nothing"]),
        ("a wrong image", manometer, url(cluster, "nothing"), ["there is no such image", f"rbd ls {POOL}"]),
        ("a wrong key", manometer, url(cluster, "", CREATED, wrong_key), ["refuse client.admin", "keyring"]),
        ("a missing library", without, url(cluster, "blank"), ["librbd.so.1", "install the package librbd1"]),
        ("a missing library to create", without, url(cluster, "", CREATED), ["librbd.so.1", "install the package librbd1"]),
        ("a wrong data pool", manometer, url(cluster, "", CREATED, "data_pool=nothing"), ["nothing is not there"]),
        ("caps that only read", manometer, url(cluster, "", CREATED, *only_reads), ["cannot be created", "caps"]),
        ("an image that is too small", manometer, url(cluster, "", "create=4MiB"), ["use at most 4194304"]),
    ]:
        outcome = start(program, where, "ops: write, file_size: 8MiB").finish()
        report.check(f"{what}: fails", outcome.code != 0, outcome.code)
        report.contains(f"{what}: says so", outcome.stderr, parts)
        lines = [line for line in outcome.stderr.splitlines() if parts[0] in line]
        report.check(f"{what}: in one line", bool(lines) and all(part in lines[0] for part in parts), lines)
        report.equal(f"{what}: images", cluster.images(), THEIRS)
    reads = start(manometer, url(cluster, "theirs", *only_reads), "ops: read, queue_depth: 4", stages=", prepare: keep").finish()
    report.equal("caps that only read suffice to read", (reads.code, result(reads)["total"]["failed"]), (0, 0))


SCENARIOS: dict[str, Scenario] = {"rbd image": image}
