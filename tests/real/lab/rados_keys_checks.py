"""Keys of Ceph's objects (omap) and methods of object classes (exec): what rados sees of them, and what a cluster does not have."""

from __future__ import annotations

from .ceph import POOL, Cluster
from .file_checks import result, start
from .lab import Lab
from .manometer import Manometer
from .rados_checks import THEIRS, clustered
from .report import Report, Scenario

OBJECTS = 12
DATA = f"objects: {OBJECTS}, object_size: 4KiB"
KEYS = 20
VALUE_BYTES = 50
NAMES = [f"key.{number:06}" for number in range(KEYS)]
# How a class reads a text: its length in four bytes, then the text.
COUNT_UP = "".join(len(text).to_bytes(4, "little").hex() + text.encode().hex() for text in ("counted", "1"))


def kept(number: int) -> str:
    """The name of an object that stays."""
    return f"kept.{number:016x}"


def more(lab: Lab, report: Report) -> None:
    """Keys and methods on one cluster."""
    with clustered(lab) as (cluster, manometer):
        mixed(cluster, manometer, report)
        keys(cluster, manometer, report)
        damaged(cluster, manometer, report)
        methods(cluster, manometer, report)
        lacking(cluster, manometer, report)


def mixed(cluster: Cluster, manometer: Manometer, report: Report) -> None:
    """Everything beside each other, on objects of the run's own, which go with their keys."""
    url = cluster.url(clients="2", exec_class="hello", exec_method="say_hello", exec_input="world")
    load = f"ops: {{omap-set: 25%, omap-get: 35%, exec: 20%, put: 10%, get: 10%}}, {DATA}, queue_depth: 6, jobs: 2, verify: true"
    outcome = start(manometer, url, load).finish()
    report.equal("a mix: code", outcome.code, 0) or print(outcome.stderr[-2000:])
    ops = {op["op"]: (op["ok"] > 0, op["failed"]) for op in result(outcome)["ops"]}
    names = ["omap-set", "omap-get", "exec", "put", "get"]
    report.equal("a mix: every operation, no errors", ops, dict.fromkeys(names, (True, 0)))
    report.equal("a mix: what is left", cluster.objects(), THEIRS)


def keys(cluster: Cluster, manometer: Manometer, report: Report) -> None:
    """Every object has the keys, with values of the right size that depend on object and key, and are the same again."""
    url = cluster.url(directory="kept", omap_keys=str(KEYS), omap_value_size=str(VALUE_BYTES))
    before: list[bytes] = []
    for load in ("ops: omap-get", "ops: {omap-set: 60%, put: 40%}"):
        outcome = start(manometer, url, f"{load}, {DATA}, queue_depth: 4").finish()
        report.equal(f"{load}: code", outcome.code, 0) or print(outcome.stderr[-2000:])
        total = result(outcome)["total"]
        report.check(f"{load}: no errors", total["ok"] > 0 and total["failed"] == 0, total)
        found = [cluster.rados("listomapkeys", kept(number)).split() for number in range(OBJECTS)]
        report.equal(f"{load}: keys by rados", found, [NAMES] * OBJECTS)
        values = [value(cluster, manometer, kept(number), name) for number in (0, OBJECTS - 1) for name in NAMES]
        report.equal(f"{load}: sizes of values by rados", {len(value) for value in values}, {VALUE_BYTES})
        report.equal(f"{load}: different values", len(set(values)), 2 * KEYS)
        report.check(f"{load}: the same values again", not before or values == before)
        before = values


def value(cluster: Cluster, manometer: Manometer, name: str, key: str) -> bytes:
    """The value of a key."""
    file = manometer.place.directory / "found"
    cluster.rados("getomapval", name, key, str(file))
    return file.read_bytes()


def damaged(cluster: Cluster, manometer: Manometer, report: Report) -> None:
    """A value that somebody changed, and a key that somebody removed, are found."""
    url = cluster.url(directory="kept", omap_keys=str(KEYS), omap_value_size=str(VALUE_BYTES))

    def reading(verify: str) -> tuple[list[str], str]:
        load = f"ops: omap-get, {DATA}, queue_depth: 4, verify: {verify}"
        outcome = start(manometer, url, load, stages=", prepare: keep, verify: false").finish()
        found = result(outcome)
        return list(found["total"]["errors"]), " ".join(sample["detail"] for sample in found["error_samples"])

    report.equal("kept keys are right", reading("true"), ([], ""))
    cluster.rados("setomapval", kept(3), NAMES[7], "x" * VALUE_BYTES)
    report.equal("a changed value is only found by verification", reading("false"), ([], ""))
    errors, details = reading("true")
    report.equal("a changed value", errors, ["corrupt"])
    report.contains("a changed value: where", details, [kept(3)[5:], f"the value of {NAMES[7]}"])
    cluster.rados("rmomapkey", kept(3), NAMES[7])
    errors, details = reading("false")
    report.equal("a removed key", errors, ["not-found"])
    report.contains("a removed key: where", details, [kept(3), f"7 of {KEYS} keys are set"])


def methods(cluster: Cluster, manometer: Manometer, report: Report) -> None:
    """Calls as the objects count them, and a method that changes data."""
    url = cluster.url(directory="kept", exec_class="numops", exec_method="add", exec_input=f"hex:{COUNT_UP}")
    outcome = start(manometer, url, f"ops: exec, {DATA}, queue_depth: 4").finish()
    report.equal("a method that counts: code", outcome.code, 0) or print(outcome.stderr[-2000:])
    total = result(outcome)["total"]
    report.check("a method that counts: no errors", total["ok"] > 0 and total["failed"] == 0, total)
    counted = sum(float(value(cluster, manometer, kept(number), "counted").decode()) for number in range(OBJECTS))
    # Those that end after the window are not the load's.
    report.check("calls that the objects counted", total["ok"] <= counted <= total["ok"] + 4, (total["ok"], counted))
    url = cluster.url(directory="kept", exec_class="hello", exec_method="turn_it_to_11")
    outcome = start(manometer, url, f"ops: exec, {DATA}", measure="1s").finish()
    report.equal("a method that writes: code", outcome.code, 0) or print(outcome.stderr[-2000:])
    file = manometer.place.directory / "found"
    for number in (0, OBJECTS - 1):
        cluster.rados("get", kept(number), str(file))
        data = file.read_bytes()
        report.check(f"object {number} is in capitals", len(data) > 64 and data == data.upper(), data[:64])
    url = cluster.url(directory="kept", exec_class="hello", exec_method="say_hello", exec_input="world", exec_output_size="10B")
    found = result(start(manometer, url, f"ops: exec, {DATA}", measure="1s").finish())
    report.equal("an output that is too long", list(found["total"]["errors"]), ["length"])
    report.contains("it is named", found["error_samples"][0]["detail"], ["hello.say_hello", "exec_output_size (10 bytes)"])
    for number in range(OBJECTS):
        cluster.rados("rm", kept(number))
    report.equal("what is left of kept objects", cluster.objects(), THEIRS)


def lacking(cluster: Cluster, manometer: Manometer, report: Report) -> None:
    """What the cluster does not have, or not for this user, is named in one line before anything is created."""
    reader = manometer.place.directory / "reader"
    cluster.ask("auth", "get-or-create", "client.reader", "mon", "allow r", "osd", f"allow r pool={POOL}", "-o", str(reader))
    cluster.ask("osd", "erasure-code-profile", "set", "two", "k=2", "m=1", "crush-failure-domain=osd")
    cluster.ask("osd", "pool", "create", "coded", "8", "8", "erasure", "two")
    hello = {"exec_class": "hello", "exec_method": "say_hello"}
    counting = {"exec_class": "numops", "exec_method": "add"}
    as_reader = {"id": "reader", "keyring": str(reader)}
    for what, url, op, parts in [
        ("a wrong class", cluster.url(**hello | {"exec_class": "helo"}), "exec", ["no object class helo with a method say_hello"]),
        ("a wrong method", cluster.url(**hello | {"exec_method": "say"}), "exec", ["no object class hello with a method say;"]),
        ("a forbidden method", cluster.url(**counting, **as_reader), "exec", ["numops.add: Operation not permitted", "caps"]),
        ("no class", cluster.url(), "exec", ["exec needs the option exec_class"]),
        ("a pool without keys", cluster.url("coded"), "omap-set", ["pool coded is erasure-coded"]),
    ]:
        outcome = start(manometer, url, f"ops: {op}, {DATA}").finish()
        report.check(f"{what}: fails", outcome.code != 0, outcome.code)
        lines = [line for line in outcome.stderr.splitlines() if parts[0] in line]
        report.equal(f"{what}: in one line", len(lines), 1) or print(outcome.stderr[-2000:])
        report.contains(f"{what}: says so", outcome.stderr, parts)
    report.equal("nothing was created", cluster.objects(), THEIRS)


SCENARIOS: dict[str, Scenario] = {"rados keys and methods": more}
