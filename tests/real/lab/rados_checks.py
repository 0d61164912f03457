"""Ceph over RADOS: every operation, counts and sizes as rados sees them, nothing left behind, and every refusal in one line."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from .ceph import POOL, Cluster
from .file_checks import result, start
from .lab import Lab
from .manometer import Manometer
from .place import Place, WithoutLibrary
from .process import run, wait_until
from .report import Report, Scenario

THEIRS = [("", "manometer-aaaaaaab.0000000000000000"), ("", "theirs")]
LOADS = [
    "ops: {put: 40%, get: 40%, delete: 20%}, object_size: 100KiB, objects: 50, queue_depth: 8, verify: true",
    "ops: {read: 40%, write: 40%, stat: 10%, list: 10%}, file_size: 1MiB, files: 8, block_size: 64KiB, queue_depth: 8, "
    "jobs: 2, verify: true",
    "ops: {create: 30%, append: 40%, truncate: 10%, remove: 20%}, file_size: 64KiB, files: 8, block_size: 4KiB, queue_depth: 8",
]


@contextmanager
def clustered(lab: Lab) -> Iterator[tuple[Cluster, Manometer]]:
    """A cluster that holds two objects of somebody else's, and the program beside it."""
    with ExitStack() as stack:
        directory = stack.enter_context(lab.directory())
        cluster = Cluster(directory / "ceph", stack)
        value = directory / "value"
        value.write_text("value")
        for _, name in THEIRS:
            cluster.rados("put", name, str(value))
        yield cluster, Manometer(lab.manometer, Place(directory))


def pool(lab: Lab, report: Report) -> None:
    """Loads, faults, a kill, and a pool that is full, on one cluster."""
    with clustered(lab) as (cluster, manometer):
        for load in LOADS:
            outcome = start(manometer, cluster.url(clients="2"), load).finish()
            report.equal(f"{load}: code", outcome.code, 0) or print(outcome.stderr[-2000:])
            total = result(outcome)["total"]
            report.check(f"{load}: no errors", total["ok"] > 0 and total["failed"] == 0, total)
            report.equal(f"{load}: what is left", cluster.objects(), THEIRS)
        jobs(cluster, manometer, report)
        killed(cluster, manometer, report)
        refused(cluster, manometer, report)
        full(cluster, manometer, report)


def jobs(cluster: Cluster, manometer: Manometer, report: Report) -> None:
    """Jobs of fio's engine: objects have the names and sizes that fio gives them, and fio reads what we wrote."""
    flags = ["--ioengine=rados", f"--pool={POOL}", "--clientname=admin", f"--conf={cluster.conf}", "--bs=64k", "--iodepth=8"]
    flags += ["--size=8m", "--output-format=json"]
    write = ["--name=job", "--rw=randwrite", "--nrfiles=2", "--verify=crc32c", "--do_verify=1"]
    outcome = manometer.start("fio", *flags, *write).finish(60)
    report.equal("a job that writes and verifies: code", outcome.code, 0) or print(outcome.stderr[-2000:])
    made = [("", "job.0.0"), ("", "job.0.1")]
    report.equal("a job's objects", cluster.objects(), sorted([*THEIRS, *made]))
    report.equal("the size of one, by rados stat", cluster.size("", "job.0.0"), 4 << 20)
    read = ["--name=job", "--rw=read", "--nrfiles=2"]
    theirs = json.loads(run(["fio", *flags, *read]))["jobs"][0]
    report.equal("what fio reads of them", (theirs["read"]["io_bytes"], theirs["error"]), (8 << 20, 0))
    outcome = manometer.start("fio", *flags, *read, "--allow_file_create=0", "--unlink=1").finish(60)
    ours = json.loads(outcome.stdout)["jobs"][0]
    report.equal("what we read of them", (outcome.code, ours["read"]["io_bytes"]), (0, 8 << 20))
    report.equal("unlink removes them", cluster.objects(), THEIRS)
    outcome = manometer.start("fio", *flags, "--name=job", "--rw=write", "--pool=nothing").finish(60)
    report.contains("a wrong pool in a job", outcome.stderr, ["no pool nothing"])


def killed(cluster: Cluster, manometer: Manometer, report: Report) -> None:
    """A killed run's objects are what rados sees, and cleanup removes them and no others."""
    load = "ops: get, object_size: 100KiB, objects: 300, queue_depth: 4"
    going = start(manometer, cluster.url(), load, measure="60s")
    wait_until("the data set", lambda: len(cluster.objects()) >= 302, 60, going.child)
    wait_until("statistics", lambda: cluster.usage()["num_objects"] == 302, 30, going.child)
    report.equal("bytes that rados df counts", cluster.usage()["size_bytes"] // 102_400, 300)
    going.child.signal(signal.SIGKILL)
    going.finish()
    ours = [item for item in cluster.objects() if item not in THEIRS]
    report.equal("objects that a killed run left", len(ours), 300)
    namespace, name = ours[-1]
    report.check("they bear the run's name", name.startswith(f"{namespace}.") and "manometer-" in namespace, ours[-1])
    report.equal("the size of one, by rados stat", cluster.size(namespace, name), 102_400)
    secret = cluster.ask("auth", "print-key", "client.admin").strip()
    for file in manometer.state.rglob("*"):
        if file.is_file():
            report.check(f"no key in {file.name}", secret.encode() not in file.read_bytes())
    report.equal("cleanup", manometer.cleanup().code, 0)
    report.equal("what is left after it", cluster.objects(), THEIRS)


def refused(cluster: Cluster, manometer: Manometer, report: Report) -> None:
    """What cannot be used is named in one line, and nothing is created."""
    directory = manometer.place.directory
    keyring = directory / "wrong"
    run(["ceph-authtool", "--create-keyring", str(keyring), "--gen-key", "-n", "client.admin"])
    reader = directory / "reader"
    caps = ["mon", "allow r", "osd", f"allow r pool={POOL}"]
    cluster.ask("auth", "get-or-create", "client.reader", *caps, "-o", str(reader))
    silent = f"rados://{POOL}?monitors=127.0.0.1:9&keyring={cluster.directory}/keyring"
    without = Manometer(manometer.program, WithoutLibrary(directory / "without", "librados.so.2"))
    for what, program, url, parts in [
        ("a wrong pool", manometer, cluster.url("nothing"), ["no pool nothing", "ceph osd pool ls"]),
        ("a wrong key", manometer, cluster.url(keyring=str(keyring)), ["refuse client.admin", "keyring"]),
        ("a wrong user", manometer, cluster.url(id="nobody"), ["refuse client.nobody"]),
        ("a silent monitor", manometer, silent, ["no monitor answered within 10s", "mon_host"]),
        ("a missing library", without, cluster.url(), ["librados.so.2", "install the package librados2"]),
    ]:
        outcome = start(program, url, "ops: put, objects: 4").finish()
        report.check(f"{what}: fails", outcome.code != 0, outcome.code)
        report.contains(f"{what}: says so", outcome.stderr, parts)
        lines = [line for line in outcome.stderr.splitlines() if parts[0] in line]
        report.check(f"{what}: in one line", all(part in lines[0] for part in parts[:2]) if lines else False, lines)
    outcome = start(manometer, cluster.url(id="reader", keyring=str(reader)), "ops: put, objects: 4", measure="1s").finish()
    found = result(outcome)
    report.equal("caps that only read: every error", list(found["total"]["errors"]), ["access-denied"])
    samples = [sample["detail"] for sample in found["error_samples"]]
    report.check("caps that only read: said so", all("ceph auth get" in detail for detail in samples), samples)
    report.equal("nothing was created", cluster.objects(), THEIRS)


def full(cluster: Cluster, manometer: Manometer, report: Report) -> None:
    """What needs space on a full pool fails at once, and what lies there is removed all the same."""
    cluster.ask("osd", "pool", "set-quota", POOL, "max_bytes", "5000000")
    load = "ops: {put: 60%, delete: 40%}, object_size: 256KiB, objects: 20"
    total = result(start(manometer, cluster.url(), load, measure="8s").finish(90))["total"]
    report.equal("a full pool is named", list(total["errors"]), ["no-space"])
    report.equal("a full pool: what is left", cluster.objects(), THEIRS)


def osd_down(lab: Lab, report: Report) -> None:
    """An OSD that dies under a load delays operations; none fails, and no content is lost."""
    with clustered(lab) as (cluster, manometer):
        load = "ops: {put: 50%, get: 50%}, object_size: 64KiB, objects: 100, queue_depth: 8, verify: true"
        going = start(manometer, cluster.url(), load, measure="12s")
        wait_until("the load", lambda: len(cluster.objects()) >= 102, 60, going.child)
        cluster.osds[1].signal(signal.SIGKILL)
        outcome = going.finish()
        report.equal("code", outcome.code, 0) or print(outcome.stderr[-2000:])
        total = result(outcome)["total"]
        report.check("no errors", total["ok"] > 0 and total["failed"] == 0, total)
        report.contains("the monitors miss one", cluster.ask("osd", "stat"), ["2 up"])
        report.equal("what is left", cluster.objects(), THEIRS)


SCENARIOS: dict[str, Scenario] = {"rados pool": pool, "rados osd down": osd_down}
