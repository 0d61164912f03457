"""iSCSI: logical units of tgtd, loaded from user space and seen by libiscsi's tools."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .file_checks import TOOLS, make, result, start
from .blocks import loop
from .lab import Lab
from .manometer import Manometer, Outcome
from .place import Place
from .process import run, wait_until
from .report import Report, Scenario
from .tgt import MIB, NAME, Tgt, target

SECRET, THEIRS = "our-long-secret", "their-long-secret"
WHOLE = "ops: {read: 60%, write: 40%}, block_size: 4KiB, queue_depth: 16, jobs: 2, verify: true"
MIXED = f"{WHOLE}, file_size: 8MiB"


@contextmanager
def served(lab: Lab, env: dict[str, str] | None = None) -> Iterator[tuple[Tgt, Manometer]]:
    """A target, and the program beside it."""
    with lab.directory() as directory:
        place = Place(directory)
        with target(place) as tgt:
            yield tgt, Manometer(lab.manometer, place, env)


def facts(outcome: Outcome) -> str:
    """Everything that the result says."""
    return json.dumps(outcome.document)


def operations(outcome: Outcome) -> dict[str, dict[str, Any]]:
    """The figures of each operation."""
    return {op["op"]: op for op in result(outcome)["ops"]}


def loaded(lab: Lab, report: Report) -> None:
    """All operations, both units, verified; sizes as libiscsi sees them; no session left."""
    with served(lab) as (tgt, manometer):
        for lun in (1, 2):
            report.equal(f"size of unit {lun}", tgt.capacity(lun), len(tgt.content(lun)))
            outcome = start(manometer, tgt.url(lun), WHOLE, stages=", verify: true", extra="gates: [errors == 0]").finish()
            report.equal(f"unit {lun}: code", (outcome.code, outcome.stderr[-500:] if outcome.code else ""), (0, ""))
            found = result(outcome)
            verify = next(stage for stage in found["stages"] if stage["name"] == "verify")
            report.equal(f"unit {lun}: verified bytes", verify["bytes"], tgt.capacity(lun))
            report.contains(f"unit {lun}: nothing wrong", verify["note"], [" 0 wrong, 0 unread"])
            said = [f"({tgt.capacity(lun)} bytes)", "IET", "VIRTUAL-DISK", '"HeaderDigest": "None"']
            report.contains(f"unit {lun}: facts", facts(outcome), said)
        every = "ops: {read: 20%, write: 20%, trim: 20%, commit: 20%, stat: 10%, write-zeroes: 10%}, block_size: 16KiB, queue_depth: 4"
        outcome = start(manometer, tgt.url(), every, extra="gates: [errors == 0]").finish()
        report.equal("every operation: code", (outcome.code, outcome.stderr[-500:] if outcome.code else ""), (0, ""))
        done = operations(outcome)
        report.equal("every operation ran", sorted(name for name, op in done.items() if op["ok"] > 0),
                     ["commit", "read", "stat", "trim", "write", "write-zeroes"])
        wait_until("no session", lambda: tgt.sessions() == 0, 10, tgt.child)
        report.equal("no session is left", tgt.sessions(), 0)


def zeroed(lab: Lab, report: Report) -> None:
    """Zeroes by WRITE SAME: as the unit's file holds them, among verified reads and writes, and not on a unit that carries something."""
    with served(lab) as (tgt, manometer):
        last = len(tgt.content(1)) // 4096
        checks = {"stages": ", verify: true", "extra": "gates: [errors == 0]"}
        part = "ops: write-zeroes, access: sequential, block_size: 64KiB, queue_depth: 4, file_size: 4MiB, verify: true"
        outcome = start(manometer, tgt.url(), part, **checks).finish()
        report.equal("zeroes alone: code", (outcome.code, outcome.stderr[-500:] if outcome.code else ""), (0, ""))
        report.check("several passes over the part", operations(outcome)["write-zeroes"]["ok"] > 3 * 64)
        report.check("all of the part is zeroes", not any(tgt.content(1)[: 4 * MIB]))
        mixed = "ops: {read: 40%, write: 30%, write-zeroes: 30%}, block_size: 4KiB, queue_depth: 16, verify: true"
        outcome = start(manometer, tgt.url(), mixed, **checks).finish()
        report.equal("among writes: code", (outcome.code, outcome.stderr[-500:] if outcome.code else ""), (0, ""))
        verify = next(stage for stage in result(outcome)["stages"] if stage["name"] == "verify")
        report.contains("among writes: nothing wrong", verify["note"], [" 0 wrong, 0 unread"])
        done = operations(outcome)
        content = tgt.content(1)
        empty = sum(not any(content[at * 4096 : (at + 1) * 4096]) for at in range(last))
        # Those that were in flight at the end are not counted.
        most = done["write-zeroes"]["ok"] + 16
        report.check("some blocks are zeroes", 0 < empty <= most, (empty, most))
        run(["mkfs.ext4", "-q", "-F", str(tgt.images[2])])
        before = tgt.content(2)
        outcome = start(manometer, tgt.url(2), "ops: write-zeroes, queue_depth: 4").finish()
        report.check("a file system is refused", outcome.code != 0, outcome.stdout[-500:])
        report.contains("and named", outcome.stderr + outcome.stdout, ["carries an ext", f"--destroy {tgt.url(2)}"])
        report.check("nothing was zeroed", tgt.content(2) == before)


def parameters(lab: Lab, report: Report) -> None:
    """Digests, solicited data, several sessions and large blocks, each verified."""
    with served(lab) as (tgt, manometer):
        refused = start(manometer, f"{tgt.url()}?data_digest=crc32c", MIXED).finish()
        report.contains("digests that the target refuses", refused.stderr, ["answers DataDigest=None"])

        def digests(value: str) -> None:
            for name in ("HeaderDigest", "DataDigest"):
                tgt.admin("update", "target", "--tid", "1", "--name", name, "--value", value)

        tgt.admin("update", "target", "--tid", "1", "--name", "InitialR2T", "--value", "No")
        for query in (
            "header_digest=crc32c&data_digest=crc32c",
            "immediate_data=false",
            "immediate_data=false&initial_r2t=true&burst_size=64KiB&outstanding_r2t=1",
            "sessions=4&first_burst=8KiB&receive_size=8KiB",
            "stable=true&keepalive=0s",
        ):
            digests("CRC32C" if "crc32c" in query else "None")
            for size in ("4KiB", "1MiB"):
                load = MIXED.replace("4KiB", size).replace("queue_depth: 16", "queue_depth: 4")
                checks = {"stages": ", verify: true", "extra": "gates: [errors == 0]"}
                outcome = start(manometer, f"{tgt.url()}?{query}", load, measure="1s", **checks).finish()
                report.equal(f"{query}, {size}", (outcome.code, outcome.stderr[-500:] if outcome.code else ""), (0, ""))
            if "crc32c" in query:
                report.contains("digests are agreed on", facts(outcome), ['"DataDigest": "CRC32C"'])


def guarded(lab: Lab, report: Report) -> None:
    """Whatever tools made on a unit, it is refused unless that very unit is named."""
    with served(lab) as (tgt, manometer):
        for tool, name in TOOLS:
            if tool[0] in ("mkfs.xfs", "mkfs.btrfs"):
                continue  # these need larger ones
            with loop(tgt.images[1]) as device:
                run(["wipefs", "--all", "--quiet", str(device)])
                make(tool, device)
            before = tgt.content(1)
            what = tool[0] + " " + tool[-1]
            for flags in ([], [f"--destroy={tgt.url(2)}"]):
                outcome = start(manometer, tgt.url(), "ops: write, queue_depth: 4", *flags).finish()
                report.check(f"{what}: refused with {flags}", outcome.code != 0, outcome.stdout[-500:])
                said = outcome.stderr + outcome.stdout
                report.contains(f"{what}: says what it carries", said, [f"carries {name}", f"--destroy {tgt.url()}"])
            report.check(f"{what}: nothing was written", tgt.content(1) == before)
        named = start(manometer, tgt.url(), "ops: write, queue_depth: 4", f"--destroy={tgt.url()}").finish()
        report.equal("named, it is written", (named.code, result(named)["total"]["failed"]), (0, 0))
        report.check("it was", tgt.content(1) != before)


def chap(lab: Lab, report: Report) -> None:
    """CHAP with the right secret, a wrong one, none, and in both directions."""
    with served(lab) as (tgt, manometer):
        tgt.account("me", SECRET)
        plain = dict(manometer.env)
        own = {"LIBISCSI_CHAP_USERNAME": "me", "LIBISCSI_CHAP_PASSWORD": SECRET}
        them = {"LIBISCSI_CHAP_TARGET_USERNAME": "it", "LIBISCSI_CHAP_TARGET_PASSWORD": THEIRS}
        wrong = {"LIBISCSI_CHAP_USERNAME": "me", "LIBISCSI_CHAP_PASSWORD": "another-secret"}

        def expect(what: str, env: dict[str, str], code: bool, *said: str, url: str = "") -> None:
            manometer.env = plain | env
            outcome = start(manometer, url or tgt.url(), MIXED, measure="1s").finish()
            report.equal(f"{what}: succeeds", outcome.code == 0, code)
            report.contains(f"{what}: says why", outcome.stderr + outcome.stdout, list(said))
            everything = outcome.stderr + outcome.stdout
            report.check(f"{what}: shows no secret", not any(s in everything for s in (SECRET, THEIRS)), everything)

        expect("right", own, True, "CHAP as me")
        expect("user in the URL", {"LIBISCSI_CHAP_PASSWORD": SECRET}, True, url=tgt.url(user="me@"))
        expect("wrong", wrong, False, "check the name and the secret for CHAP")
        expect("none", {}, False, "LIBISCSI_CHAP_USERNAME")
        expect("mutual, which the target does not know", own | them, False, "mutual CHAP")
        tgt.account("it", THEIRS, outgoing=True)
        expect("mutual", own | them, True, "(mutual)")
        them["LIBISCSI_CHAP_TARGET_PASSWORD"] = "not-their-secret"
        expect("mutual, wrong", own | them, False, "mutual CHAP")
        file = manometer.place.directory / "iscsid.conf"
        file.write_text(f"node.session.auth.username = me\nnode.session.auth.password = {SECRET}\n")
        expect("file", {}, True, "CHAP as me", url=f"{tgt.url()}?credentials_file={file}")
        results = (manometer.place.directory / "results.sqlite").read_bytes()
        report.check("no secret is in the results", not any(s.encode() in results for s in (SECRET, THEIRS)))


def restarted(lab: Lab, report: Report) -> None:
    """The target dies in the middle of a measurement and comes back: nothing fails but what its deadline ended."""
    with served(lab) as (tgt, manometer):
        going = start(manometer, tgt.url(), MIXED, stages=", verify: true", measure="6s")
        wait_until("the load", lambda: tgt.sessions() > 0, 30, going.child)
        wait_until("the measurement", lambda: "measur" in going.child.error_text(), 30, going.child)
        tgt.restart()
        outcome = going.finish()
        report.equal("code", (outcome.code, outcome.stderr[-800:] if outcome.code else ""), (0, ""))
        found = result(outcome)
        report.check("retries are counted", found["total"]["retries"] > 0, found["total"])
        report.equal("nothing failed", found["total"]["failed"], 0)
        verify = next(stage for stage in found["stages"] if stage["name"] == "verify")
        report.contains("nothing is wrong", verify["note"], [" 0 wrong, 0 unread"])


def killed(lab: Lab, report: Report) -> None:
    """A killed run leaves nothing on the target but data, and `cleanup` ends well."""
    with served(lab) as (tgt, manometer):
        going = start(manometer, tgt.url(), MIXED, measure="60s")
        wait_until("the load", lambda: tgt.sessions() > 0, 30, going.child)
        going.child.signal(signal.SIGKILL)
        going.finish()
        wait_until("no session", lambda: tgt.sessions() == 0, 10, tgt.child)
        outcome = manometer.cleanup()
        report.equal("cleanup", outcome.code, 0)
        report.equal("the next run", start(manometer, tgt.url(), MIXED).finish().code, 0)
        report.check("the other unit is as it was", not any(tgt.content(2)))


def missing(lab: Lab, report: Report) -> None:
    """A target or unit that is not there is answered with those that are."""
    with served(lab) as (tgt, manometer):
        for url, said in (
            (tgt.url().replace(":real", ":unreal"), [f"the portal offers {NAME}"]),
            (tgt.url(7), ["there is no such unit", "the target has LUN 0, 1, 2"]),
            (tgt.url(0), ["it is no disk but: storage array controller"]),
            (tgt.url().replace(str(tgt.port), "1"), ["cannot connect", "check the address and the port"]),
        ):
            outcome = start(manometer, url, MIXED).finish()
            report.check(f"{url}: refused", outcome.code != 0, outcome.stdout[-500:])
            report.contains(f"{url}: says what there is", outcome.stderr, said)


def shared(lab: Lab, report: Report) -> None:
    """Three hosts have a slice each, and each verifies its own."""
    with served(lab) as (tgt, manometer):
        fleet = "fleet: {local: 3, sharing: disjoint}\ngates: [errors == 0]"
        load = MIXED.replace("jobs: 2, ", "")
        outcome = start(manometer, tgt.url(), load, stages=", verify: true", extra=fleet).finish()
        report.equal("code", (outcome.code, outcome.stderr[-500:] if outcome.code else ""), (0, ""))
        content = tgt.content(1)
        slices = [content[part * 8 * MIB : (part + 1) * 8 * MIB] for part in range(8)]
        report.equal("slices that hold data", [any(part) for part in slices], [True] * 3 + [False] * 5)


def jobs(lab: Lab, report: Report) -> None:
    """A job for fio's engine libiscsi."""
    with served(lab) as (tgt, manometer):
        job = manometer.place.directory / "job.fio"
        name = tgt.url().replace(":", "\\:")
        job.write_text(
            f"[global]\nioengine=libiscsi\nfilename={name}\niodepth=8\nsize=16M\n"
            "[write]\nrw=randwrite\nbs=4k\nverify=crc32c\n[read]\nstonewall\nrw=read\nbs=1M\n[trim]\nstonewall\nrw=trim\nbs=64k\n"
        )
        results = manometer.place.directory / "fio.sqlite"
        outcome = manometer.start("fio", f"--results={results}", "--output-format=json", str(job)).finish()
        report.equal("code", (outcome.code, outcome.stderr[-500:] if outcome.code else ""), (0, ""))
        done = [
            {way: found[way]["total_ios"] for way in ("read", "write", "trim")} for found in outcome.document["jobs"]
        ]
        report.equal("operations", done, [
            {"read": 4096, "write": 4096, "trim": 0},
            {"read": 16, "write": 0, "trim": 0},
            {"read": 0, "write": 0, "trim": 256},
        ])
        report.check("what was trimmed is empty", not any(tgt.content(1)[: 16 * MIB]))


SCENARIOS: dict[str, Scenario] = {
    "iscsi loaded": loaded,
    "iscsi zeroed": zeroed,
    "iscsi parameters": parameters,
    "iscsi guarded": guarded,
    "iscsi chap": chap,
    "iscsi restarted": restarted,
    "iscsi killed": killed,
    "iscsi missing": missing,
    "iscsi shared": shared,
    "iscsi jobs": jobs,
}
