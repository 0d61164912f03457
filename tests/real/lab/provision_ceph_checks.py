"""Pools and users of a Ceph cluster, and users of its object gateway, that runs create: seen by Ceph's tools, and gone afterwards."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from .ceph import POOL, Cluster
from .file_checks import result
from .lab import Lab
from .manometer import Manometer, Run
from .place import Place
from .process import run, wait_until
from .provision_checks import one_line, run_fails, start
from .radosgw import USER, Gateway
from .report import Report, Scenario

OBJECTS = "ops: {put: 40%, get: 40%, delete: 20%}, object_size: 64KiB, objects: 40, queue_depth: 4, verify: true"
IMAGE = "ops: {read: 50%, write: 50%}, block_size: 4KiB, queue_depth: 4, verify: true"
BUCKET_OBJECTS = "ops: {put: 30%, get: 50%, stat: 10%, delete: 10%}, object_size: 64KiB, objects: 40, queue_depth: 4, verify: true"

# Passes on what it is given, but first makes the user that it is asked to look for.
AHEAD = """#!/bin/sh
case "$*" in *"auth get client."*)
    for word; do case $word in client.*) "$1" "$2" auth get-or-create "$word" >/dev/null ;; esac; done ;;
esac
exec "$@"
"""


class Ours:
    """A cluster with a gateway, what was there before, and how runs provision on it."""

    def __init__(self, cluster: Cluster, gateway: Gateway, report: Report) -> None:
        self.cluster = cluster
        self.gateway = gateway
        self.report = report
        self.options = [f"--conf={cluster.conf}"]
        self.rados = f"rados://{{provisioned}}?conf={cluster.conf}"
        self.rbd = f"rbd://{{provisioned}}?conf={cluster.conf}&create=16MiB"
        self.s3 = f"s3://{{provisioned}}?endpoint={gateway.endpoint}"

    def ceph(self, **more: Any) -> dict[str, Any]:
        """A pool."""
        return {"ceph": {"pg_num": 8, "options": self.options, **more}}

    def radosgw(self, **more: Any) -> dict[str, Any]:
        """A user of the gateway."""
        return {"radosgw": {"options": self.options, **more}}

    def pools(self) -> list[str]:
        """Pools that bear a run's name; the gateway makes its own when it needs them."""
        return [name for name in self.cluster.ask("osd", "pool", "ls").split() if name.startswith("manometer-")]

    def objects(self) -> list[str]:
        """Lines of all objects in pools of runs: namespace, name, locator."""
        conf = f"--conf={self.cluster.conf}"
        return [line for pool in self.pools() for line in run(["rados", conf, "-p", pool, "ls", "--all"]).splitlines()]

    def users(self) -> list[str]:
        """Users of the cluster that bear a run's name."""
        users = json.loads(self.cluster.ask("auth", "ls", "--format=json"))["auth_dump"]
        return [user["entity"] for user in users if user["entity"].startswith("client.manometer-")]

    def nothing_left(self, when: str) -> None:
        """What is there is what was there before."""
        self.report.equal(f"{when}: CRUSH rules", self.cluster.ask("osd", "crush", "rule", "ls").split(), ["replicated_rule"])
        self.report.equal(f"{when}: pools and users", (self.pools(), self.users()), ([], []))
        self.report.equal(f"{when}: the gateway's", (self.gateway.users(), self.gateway.buckets()), ([USER], [self.gateway.bucket]))
        self.report.equal(f"{when}: somebody else's object", self.cluster.objects(), [("", "theirs")])


def put_theirs(cluster: Cluster, directory: Path) -> None:
    """An object of somebody else in the pool that is there."""
    value = directory / "value"
    value.write_text("value")
    cluster.rados("put", "theirs", str(value))


def ended(ours: Ours, going: Run, what: str) -> None:
    """A run that did its work and left nothing."""
    outcome = going.finish()
    ours.report.equal(f"{what}: code", (outcome.code, outcome.stderr[-1000:] if outcome.code else ""), (0, ""))
    total = result(outcome)["total"]
    ours.report.check(f"{what}: operations", total["ok"] > 0 and total["failed"] == 0, total)
    ours.nothing_left(what)


def setting(ours: Ours, pool: str, name: str) -> str:
    """A setting of a pool, as the monitors tell it."""
    return ours.cluster.ask("osd", "pool", "get", pool, name).split(": ")[1].strip()


def pools(ours: Ours, manometer: Manometer) -> None:
    """Pools for objects and images, from one host and from two."""
    report = ours.report
    fleet = "fleet: {local: 2, sharing: disjoint}"
    ours.cluster.ask("osd", "erasure-code-profile", "set", "k2m1", "k=2", "m=1", "crush-failure-domain=osd")
    for what, url, provision, load, extra in [
        ("objects", ours.rados, ours.ceph(size=2, settings={"compression_mode": "none"}), OBJECTS, ""),
        ("objects of two hosts", ours.rados, ours.ceph(), "ops: get, object_size: 64KiB, objects: 40, queue_depth: 4", fleet),
        ("erasure-coded objects", ours.rados, ours.ceph(erasure_code_profile="k2m1"), OBJECTS, ""),
        ("an image", ours.rbd, ours.ceph(application="rbd"), IMAGE, ""),
    ]:
        going = start(manometer, url, provision, load, measure="10s" if extra else "4s", more=extra)
        wait_until("the user", lambda: bool(ours.users()), 60, going.child)
        wait_until("objects", lambda: bool(ours.objects()), 60, going.child)
        (name,) = ours.pools()
        key = ours.cluster.ask("auth", "print-key", f"client.{name}").strip()
        if not extra:
            # The pool stays while it is looked at.
            going.child.signal(signal.SIGSTOP)
            looked_at(ours, what, name, key)
            going.resume()
        ended(ours, going, what)
        for file in [file for file in manometer.place.directory.glob("*.sqlite*")] + [file for file in manometer.state.rglob("*") if file.is_file()]:
            report.check(f"{what}: no key in {file.name}", key.encode() not in file.read_bytes())


def looked_at(ours: Ours, what: str, name: str, key: str) -> None:
    """A run's pool and its user, by Ceph's tools."""
    report = ours.report
    report.equal(f"{what}: pg_num", setting(ours, name, "pg_num"), "8")
    caps = ours.cluster.ask("auth", "get", f"client.{name}")
    report.contains(f"{what}: caps", caps, [f"pool={name}"])
    refused = run_fails(["rados", f"--conf={ours.cluster.conf}", f"--id={name}", f"--key={key}", "-p", POOL, "get", "theirs", "-"])
    report.check(f"{what}: its user may not read another pool", refused)
    if what == "objects":
        seen = (setting(ours, name, "size"), setting(ours, name, "compression_mode"))
        report.equal(f"{what}: size and setting", seen, ("2", "none"))


def buckets(ours: Ours, manometer: Manometer) -> None:
    """A user of the gateway whose bucket the run fills."""
    report = ours.report
    going = start(manometer, ours.s3, ours.radosgw(), BUCKET_OBJECTS, measure="10s")
    wait_until("the bucket", lambda: len(ours.gateway.buckets()) == 2, 60, going.child)
    (name,) = [name for name in ours.gateway.buckets() if name != ours.gateway.bucket]
    wait_until("objects", lambda: ours.gateway.counted(name)[0] >= 40, 60, going.child)
    report.check("the user bears the run's name", name.startswith("manometer-") and name in ours.gateway.users(), ours.gateway.users())
    ended(ours, going, "a bucket")


def killed(ours: Ours, manometer: Manometer) -> None:
    """What a killed run left goes with cleanup."""
    report = ours.report
    for what, url, provision, load, is_there in [
        ("a pool", ours.rados, ours.ceph(), OBJECTS, lambda: bool(ours.objects())),
        ("a bucket", ours.s3, ours.radosgw(), BUCKET_OBJECTS, lambda: len(ours.gateway.buckets()) == 2),
    ]:
        going = start(manometer, url, provision, load, measure="60s")
        wait_until("what the run creates", is_there, 60, going.child)
        going.child.signal(signal.SIGKILL)
        going.finish()
        report.check(f"killed: {what} is left", bool(ours.pools()) or len(ours.gateway.buckets()) == 2)
        outcome = manometer.cleanup()
        report.equal(f"cleanup of {what}", (outcome.code, outcome.stderr[-1000:] if outcome.code else ""), (0, ""))
        ours.nothing_left(f"cleanup of {what}")


def refused(ours: Ours, manometer: Manometer) -> None:
    """What cannot be provisioned is said in one line, and nothing is left."""
    report = ours.report
    directory = manometer.place.directory
    missing = [f"--conf={directory}/missing.conf"]
    for what, url, provision, load, parts in [
        ("a profile that is missing", ours.rados, ours.ceph(erasure_code_profile="none-such"), OBJECTS, ["none-such", "next: "]),
        ("a setting that there is not", ours.rados, ours.ceph(settings={"no_such": "1"}), OBJECTS, ["no_such", "next: "]),
        ("no configuration", ours.rados, ours.ceph(options=missing), OBJECTS, ["missing.conf", "next: "]),
        ("no configuration of the gateway", ours.s3, ours.radosgw(options=missing), BUCKET_OBJECTS, ["next: "]),
        ("a user of one's own", f"{ours.rados}&id=admin", ours.ceph(), OBJECTS, ["remove the option id"]),
    ]:
        outcome = start(manometer, url, provision, load).finish()
        report.check(f"{what}: fails", outcome.code != 0, outcome.code)
        report.contains(f"{what}: says so", outcome.stderr, parts)
        ours.nothing_left(what)
    ours.cluster.ask("tell", "mon.a", "config", "set", "mon_allow_pool_delete", "false")
    one_line(report, "pools that must stay", start(manometer, ours.rados, ours.ceph(), OBJECTS), ["provision: ", "mon_allow_pool_delete"])
    ours.nothing_left("pools that must stay")
    ours.cluster.ask("tell", "mon.a", "config", "set", "mon_allow_pool_delete", "true")
    script = directory / "ahead"
    script.write_text(AHEAD)
    script.chmod(0o755)
    going = start(manometer, ours.rados, ours.ceph(via={"command": [str(script)]}), OBJECTS)
    one_line(report, "a name that exists", going, ["exists already", "is left as it is"])
    report.check("a name that exists: it is left", len(ours.users()) == 1 and not ours.pools(), ours.users())
    for user in ours.users():
        ours.cluster.ask("auth", "rm", user)
    going = start(manometer, ours.rados, ours.ceph(), OBJECTS, flags=["--dry-run"])
    report.equal("a dry run: code", going.finish().code, 0)
    ours.nothing_left("a dry run")


@contextmanager
def lab_cluster(lab: Lab, report: Report, addresses: Sequence[str] = ()) -> Iterator[tuple[Ours, Manometer]]:
    """A cluster, with an OSD at each of the addresses if there are some, and a gateway, beside an object of somebody else."""
    with ExitStack() as stack:
        directory = stack.enter_context(lab.directory())
        cluster = Cluster(directory / "ceph", stack, addresses=addresses)
        put_theirs(cluster, directory)
        ours = Ours(cluster, Gateway(cluster, stack), report)
        yield ours, Manometer(lab.manometer, Place(directory))


def used(lab: Lab, report: Report) -> None:
    """Pools and buckets that runs use and remove."""
    with lab_cluster(lab, report) as (ours, manometer):
        pools(ours, manometer)
        buckets(ours, manometer)


def not_used(lab: Lab, report: Report) -> None:
    """Pools and buckets of runs that were killed or refused."""
    with lab_cluster(lab, report) as (ours, manometer):
        killed(ours, manometer)
        refused(ours, manometer)


SCENARIOS: dict[str, Scenario] = {"provision ceph": used, "provision ceph killed or refused": not_used}
