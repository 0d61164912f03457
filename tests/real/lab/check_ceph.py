"""`manometer check` of a Ceph cluster whose OSDs have two addresses: RADOS and S3 through each, by pools and users of its own."""

from __future__ import annotations

import json
import signal
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from .api_checks import ask, service
from .ceph import POOL, Cluster
from .lab import Lab
from .manometer import Manometer, Outcome
from .place import Place
from .process import wait_until
from .provision_ceph_checks import Ours, lab_cluster, put_theirs
from .radosgw import Gateway
from .report import Report, Scenario

# Two OSDs behind the first address, one behind the second.
ADDRESSES = ("127.0.0.2", "127.0.0.2", "127.0.0.3")
FIRST, SECOND = "127.0.0.2", "127.0.0.3"
FIELDS = {"workers": 1, "lanes": 4, "object_size": "256KiB", "dataset": "32MiB"}
LOAD = [f"--{name.replace('_', '-')}={value}" for name, value in FIELDS.items()]
SECONDS = "2s"


def rows(document: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Protocol, address and result of each row."""
    return [(row["protocol"], row["data_vip"], row["result"]) for row in document["rows"]]


def requests(cluster: Cluster) -> list[int]:
    """Requests for data that each OSD served to clients."""
    dumps = [json.loads(cluster.ask("tell", f"osd.{number}", "perf", "dump", "osd")) for number in range(len(ADDRESSES))]
    return [int(dump["osd"]["op_w"] + dump["osd"]["op_r"]) for dump in dumps]


def checked(report: Report, what: str, outcome: Outcome, expected: list[tuple[str, str]]) -> dict[str, Any]:
    """A check that found everything in order."""
    report.equal(f"{what}: code", (outcome.code, outcome.stderr[-1500:] if outcome.code else ""), (0, ""))
    report.equal(f"{what}: rows", rows(outcome.document), [(*row, "SUCCESS") for row in expected])
    moved = [row[phase]["bytes"] for row in outcome.document["rows"] for phase in ("write", "read")]
    report.check(f"{what}: every phase moved data", all(moved), moved)
    return dict(outcome.document)


def one_address(cluster: Cluster, manometer: Manometer, report: Report) -> None:
    """Without a gateway, which has requests of its own, only the OSDs at the address serve requests for data."""
    before = requests(cluster)
    flags = ["--ceph", f"--ceph-conf={cluster.conf}", f"--data-vip={SECOND}", "--verify"]
    outcome = manometer.check(*LOAD, *flags, duration=SECONDS)
    document = checked(report, "one address", outcome, [("rados", SECOND)])
    report.contains("one address: no gateway", outcome.stderr, ["S3 is not checked", "--ceph-gateway"])
    served = [after - earlier for earlier, after in zip(before, requests(cluster), strict=True)]
    ops = sum(op["ok"] for phase in ("write", "read") for op in document["rows"][0][phase]["ops"].values())
    report.check("the OSDs at the other address served no data", served[:2] == [0, 0] and served[2] >= ops, (served, ops))


def placed(ours: Ours, manometer: Manometer) -> None:
    """Objects of a path lie in many placement groups, whose primary OSDs are at its address."""
    report, cluster = ours.report, ours.cluster
    flags = ["--ceph", f"--ceph-conf={cluster.conf}", f"--data-vip={SECOND}", "--skip-s3"]
    going = manometer.start_check(*LOAD, *flags, duration="60s")
    wait_until("objects", lambda: len(ours.objects()) > 40, 60, going.child)
    (pool,) = ours.pools()
    locators = {(line.split("\t")[2], line.split("\t")[0]) for line in ours.objects()}
    groups = [json.loads(cluster.ask("osd", "map", pool, *words, "--format=json")) for words in locators]
    report.equal("the primary OSDs of all objects", {group["acting_primary"] for group in groups}, {2})
    report.check("objects are in several placement groups", len({group["pgid"] for group in groups}) > 3, locators)
    caps = cluster.ask("auth", "get", f"client.{pool}")
    report.contains("the user's caps are for the pool", caps, [f"pool={pool}"])
    going.child.signal(signal.SIGKILL)
    going.finish()
    report.check("killed: a pool is left", ours.pools() == [pool], ours.pools())
    outcome = manometer.cleanup()
    report.equal("cleanup: code", (outcome.code, outcome.stderr[-1000:] if outcome.code else ""), (0, ""))
    ours.nothing_left("cleanup")


def whole(ours: Ours, manometer: Manometer) -> None:
    """RADOS and S3 through all addresses; with the tools behind a command, and no configuration here."""
    report, conf = ours.report, ours.cluster.conf
    expected = [("s3", "127.0.0.1"), ("rados", FIRST), ("rados", SECOND)]
    results = f"--results={manometer.place.directory}/results.sqlite"
    flags = ["--ceph", "--ceph-via-command=env", f"--ceph-option=--conf={conf}"]
    outcome = manometer.check(*LOAD, *flags, results, duration=SECONDS)
    document = checked(report, "all addresses", outcome, expected)
    report.contains("the cluster", document["array"]["management"], ["Ceph cluster "])
    report.equal("created: a pool and a user", [what.split(" manometer-")[0] for what in document["array"]["created"]], ["gateway user", "Ceph pool"])
    ours.nothing_left("all addresses")
    stored = manometer.start("show", "last", "--output=json", results).finish()
    report.equal("stored: code", stored.code, 0)


def refused(ours: Ours, manometer: Manometer) -> None:
    """What cannot be checked is said in one line."""
    conf = f"--ceph-conf={ours.cluster.conf}"
    for what, flags, parts in [
        ("no configuration", ["--ceph", "--ceph-conf=/missing/ceph.conf"], ["/missing/ceph.conf", "next: "]),
        ("an address of nobody", ["--ceph", conf, f"--data-vip={FIRST}", "--data-vip=127.0.0.9"], ["127.0.0.9", "127.0.0.2, 127.0.0.3", "next: "]),
        ("an option that ceph has not", ["--ceph", conf, "--ceph-option=--no-such"], ["next: "]),
        ("a pool that there is not", [f"--rados=rados://none-such?conf={ours.cluster.conf}"], ["no pool none-such", "next: "]),
    ]:
        outcome = manometer.check(*LOAD, *flags)
        ours.report.equal(f"{what}: code", outcome.code, 1)
        ours.report.contains(f"{what}: says so", outcome.stderr, parts)
        ours.nothing_left(what)


def by_service(lab: Lab, ours: Ours, directory: Path) -> None:
    """A check that was posted to a service, which must allow commands."""
    report = ours.report
    body = FIELDS | {"ceph": {"options": [f"--conf={ours.cluster.conf}"]}, "duration": SECONDS, "skip_s3": True}
    with service(lab, directory) as url:
        status, problem = ask(f"{url}/api/v3/checks", body)
        report.equal("commands are not allowed: status and field", (status, problem.get("field")), (422, "ceph"))
    with service(lab, directory, "--allow-command") as url:
        status, asked = ask(f"{url}/api/v3/checks", body)
        report.equal("posted: status", (status, asked.get("kind")), (202, "check"))
        path = f"{url}/api/v3/runs/{asked['id']}"
        wait_until("the check", lambda: ask(path)[1]["state"] not in ("queued", "running"), 90)
        run = ask(path)[1]
        report.equal("posted: end", (run["state"], run.get("reason")), ("finished", None))
        found = ask(f"{path}/result")[1]
        report.equal("posted: rows", rows(found), [("rados", FIRST, "SUCCESS"), ("rados", SECOND, "SUCCESS")])
    ours.nothing_left("posted")


def existing(ours: Ours, manometer: Manometer) -> None:
    """A pool that exists, through all addresses, then while an address has no OSD that is up."""
    report, cluster = ours.report, ours.cluster
    url = f"--rados={cluster.url(POOL)}"
    checked(report, "an existing pool", manometer.check(*LOAD, url, duration=SECONDS), [("rados", FIRST), ("rados", SECOND)])
    ours.nothing_left("an existing pool")
    cluster.osds[2].stop()
    cluster.ask("osd", "down", "2")
    outcome = manometer.check(*LOAD, url, duration=SECONDS)
    report.equal("a host that is down: code", outcome.code, 1)
    report.equal("a host that is down: rows", rows(outcome.document), [("rados", FIRST, "SUCCESS"), ("rados", SECOND, "FAILED TO CONNECT")])
    causes = [row["cause"] or "" for row in outcome.document["rows"]]
    report.contains("a host that is down: why", causes[1], [f"no OSD that is up has the public address {SECOND}"])


def ceph(lab: Lab, report: Report) -> None:
    """Paths to a cluster, beside an object of somebody else."""
    with ExitStack() as stack:
        directory = stack.enter_context(lab.directory())
        cluster = Cluster(directory / "ceph", stack, addresses=ADDRESSES)
        put_theirs(cluster, directory)
        manometer = Manometer(lab.manometer, Place(directory))
        one_address(cluster, manometer, report)
        ours = Ours(cluster, Gateway(cluster, stack), report)
        placed(ours, manometer)
        whole(ours, manometer)


def ceph_otherwise(lab: Lab, report: Report) -> None:
    """A cluster that is checked by a service, not at all, and by a pool that exists."""
    with lab_cluster(lab, report, ADDRESSES) as (ours, manometer):
        by_service(lab, ours, manometer.place.directory)
        refused(ours, manometer)
        existing(ours, manometer)


SCENARIOS: dict[str, Scenario] = {"check ceph": ceph, "check ceph otherwise": ceph_otherwise}
