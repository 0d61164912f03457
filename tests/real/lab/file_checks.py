"""Files and block devices: what protects them, and faults of the storage itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .blocks import fill, image, loop, mounted, ramfs, small_disk, truncate_behind
from .lab import Lab
from .manometer import Manometer, Outcome, Run
from .place import Place
from .process import run, wait_until
from .report import Report, Scenario

# What each tool leaves on a device, and what is said of it.
TOOLS = [
    (["mkfs.ext4", "-q", "-F"], "an ext2, ext3 or ext4 file system"),
    (["mkfs.xfs", "-q", "-f"], "an XFS file system"),
    (["mkfs.btrfs", "-q", "-f"], "a Btrfs file system"),
    (["mkfs.vfat"], "a FAT file system"),
    (["mkswap", "--quiet"], "swap space"),
    (["sfdisk", "--quiet", "--label", "dos"], "a partition table (MBR)"),
    (["sfdisk", "--quiet", "--label", "gpt"], "a partition table (GPT)"),
    (["pvcreate", "--quiet", "--yes"], "an LVM physical volume"),
]


@contextmanager
def started(lab: Lab) -> Iterator[tuple[Path, Manometer]]:
    """A directory and the program."""
    with lab.directory() as directory:
        yield directory, Manometer(lab.manometer, Place(directory))


def start(
    manometer: Manometer, url: str, workload: str, *flags: str, stages: str = "", extra: str = "", measure: str = "2s"
) -> Run:
    """Starts `manometer run` with one cell."""
    directory = manometer.place.directory
    file = directory / "experiment.yaml"
    file.write_text(
        f"""name: real
targets:
  here: {{url: "{url}"}}
workloads:
  load: {{{workload}}}
stages: {{warm_up: 0s, measure: {measure}{stages}}}
steady: none
{extra}
"""
    )
    return manometer.start("run", str(file), f"--results={directory / 'results.sqlite'}", "--output=json", *flags)


def result(outcome: Outcome) -> dict[str, Any]:
    """The only cell's result."""
    return dict(outcome.document["cells"][0]["result"])


def check_errors(report: Report, outcome: Outcome, kind: str, pattern: str) -> None:
    """Errors of one kind were counted and reported with their place; the rest succeeded."""
    found = result(outcome)
    report.check("some operations succeeded", found["total"]["ok"] > 0, found["total"])
    report.equal("every error has its kind", list(found["total"]["errors"]), [kind])
    counted = found["total"]["errors"].get(kind, 0)
    report.check("errors are counted", counted > 0 and found["total"]["failed"] == counted, found["total"])
    samples = [sample["detail"] for sample in found["error_samples"]]
    report.check("errors say where", any(re.search(pattern, text) for text in samples), samples)


def guarded_devices(lab: Lab, report: Report) -> None:
    """Whatever tools made on a device, it is refused unless that very device is named."""
    with started(lab) as (directory, manometer):
        for number, (tool, name) in enumerate(TOOLS):
            backing = image(directory / f"{number}.img", 300 if "xfs" in tool[0] else 128)
            with loop(backing) as device:
                make(tool, device)
                before = backing.read_bytes()
                outcome = start(manometer, f"block://{device}", "ops: write, queue_depth: 4").finish()
                what = tool[0] + " " + tool[-1]
                report.check(f"{what}: refused", outcome.code != 0, outcome.stdout[-500:])
                said = outcome.stderr + outcome.stdout
                report.contains(f"{what}: says what it carries", said, [f"carries {name}", f"--destroy {device}"])
                report.check(f"{what}: nothing was written", backing.read_bytes() == before)


def make(tool: list[str], device: Path) -> None:
    """Puts something on a device with somebody else's tool."""
    if tool[0] != "sfdisk":
        run([*tool, str(device)])
        return
    # One partition over all of it.
    run(["sh", "-c", f"echo ';' | {' '.join(tool)} {device}"])


def mounted_device(lab: Lab, report: Report) -> None:
    """A mounted device is refused; another named in --destroy does not help; unmounted and named it is written."""
    with started(lab) as (directory, manometer), loop(image(directory / "disk.img", 64)) as device:
        run(["mkfs.ext4", "-q", "-F", str(device)])
        with mounted(device, directory / "mnt") as path:
            (path / "precious").write_text("precious")
            for flags in ([], ["--destroy=/dev/null"]):
                outcome = start(manometer, f"block://{device}", "ops: write", *flags).finish()
                report.check(f"refused with {flags}", outcome.code != 0, outcome.stdout[-500:])
                report.contains("says where it is mounted", outcome.stderr + outcome.stdout, [f"is mounted at {path}"])
            report.equal("the file is intact", (path / "precious").read_text(), "precious")
        reading = start(manometer, f"block://{device}", "ops: read, queue_depth: 4", stages=", prepare: keep").finish()
        report.equal("reading alone needs no leave", reading.code, 0)
        named = start(manometer, f"block://{device}", "ops: write, queue_depth: 4", f"--destroy={device}").finish()
        report.equal("named, it is written", (named.code, result(named)["total"]["failed"]), (0, 0))


def device_errors(lab: Lab, report: Report) -> None:
    """EIO from a device is counted with its offset and the run goes on, or stops when told to."""
    with started(lab) as (directory, manometer):
        backing = image(directory / "disk.img", 16)
        with loop(backing) as device:
            truncate_behind(backing, 8)
            where = rf"read of 4096 bytes at \d+, {device}: Input/output error"
            reads = "ops: read, block_size: 4KiB, queue_depth: 4"
            outcome = start(manometer, f"block://{device}", reads, stages=", prepare: keep").finish()
            report.equal("the run goes on", outcome.code, 0)
            check_errors(report, outcome, "server-fault", where)
            offsets = [
                int(found.group(1))
                for sample in result(outcome)["error_samples"]
                if (found := re.search(r" at (\d+),", sample["detail"]))
            ]
            report.check("offsets lie where the device fails", offsets and min(offsets) >= 8 << 20, offsets)
            stopped = start(
                manometer, f"block://{device}", reads, stages=", prepare: keep", extra="errors: stop"
            ).finish()
            report.equal("told to stop, it stops", stopped.code, 1)


def full_disk(lab: Lab, report: Report) -> None:
    """A full disk fails the preparation in one line, and is counted with offsets when it fills up under load."""
    with started(lab) as (directory, manometer), small_disk(directory, 24) as disk:
        load = "ops: write, block_size: 64KiB, queue_depth: 4, file_size: 64MiB"
        outcome = start(manometer, f"file://{disk}", load).finish()
        report.equal("too large a data set is refused before it begins", outcome.code, 1)
        report.contains("with what there is", outcome.stderr, ["takes 64.0 MiB", "are free", "next: use fewer or smaller files"])
        outcome = start(manometer, f"file://{disk}", load, "--no-preflight").finish()
        report.equal("too large a data set fails", outcome.code, 1)
        said = outcome.stderr + outcome.stdout
        report.contains("says how far it came", said, ["no-space", "prepare wrote only", "free some space"])
        left = [path.name for path in disk.iterdir() if path.name != "lost+found"]
        report.equal("nothing is left", left, [])
        thin = image(disk / "thin.img", 64)
        fill(disk, leave_mib=2)
        outcome = start(manometer, f"block://{thin}?direct=false", load, stages=", prepare: keep").finish()
        report.equal("the run goes on", outcome.code, 0)
        check_errors(report, outcome, "no-space", rf"write of 65536 bytes at \d+, {thin}: ")


def vanished_files(lab: Lab, report: Report) -> None:
    """Files that somebody removes meanwhile are not found from then on; the others go on."""
    with started(lab) as (directory, manometer):
        target = directory / "target"
        target.mkdir()
        load = "ops: {read: 50%, stat: 50%}, block_size: 4KiB, queue_depth: 4, files: 16, file_size: 64KiB"
        going = start(manometer, f"file://{target}", load, measure="12s")
        # It tells every few seconds how the measurement goes.
        wait_until("measuring", lambda: "measure " in going.child.error_text(), 30, going.child)
        [vanishing] = target.glob("manometer-*/0000000000000003")
        vanishing.unlink()
        outcome = going.finish()
        report.equal("the run goes on", outcome.code, 0)
        check_errors(report, outcome, "not-found", r"stat, .*/0000000000000003: No such file")
        report.equal("the rest is cleaned up", list(target.iterdir()), [])


def without_attributes(lab: Lab, report: Report) -> None:
    """A file system without extended attributes is refused before anything is made in it."""
    workload = "ops: {setxattr: 50%, getxattr: 50%}, files: 10, file_size: 4KiB"
    with started(lab) as (directory, manometer):
        with ramfs(directory / "ram") as path:
            outcome = start(manometer, f"file://{path}", workload).finish()
            report.check("refused", outcome.code != 0, outcome.stdout[-500:])
            said = outcome.stderr + outcome.stdout
            report.contains("says why", said, [f"directory {path}: its file system has no extended attributes"])
            report.equal("nothing is left", list(path.iterdir()), [])
        with small_disk(directory, 64) as path:
            outcome = start(manometer, f"file://{path}", workload).finish()
            report.equal("on ext4 all succeed", (outcome.code, result(outcome)["total"]["failed"]), (0, 0))


SCENARIOS: dict[str, Scenario] = {
    "file-guard": guarded_devices,
    "file-mounted": mounted_device,
    "file-eio": device_errors,
    "file-full": full_disk,
    "file-vanished": vanished_files,
    "file-attributes": without_attributes,
}
