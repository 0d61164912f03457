"""A Gluster volume through libgfapi: every operation, counts and sizes as a mount sees them, what the bricks counted, nothing left
behind, and every refusal in one line."""

from __future__ import annotations

import json
import signal
from contextlib import ExitStack
from pathlib import Path

from .file_checks import result, start
from .gluster_costs import BRICKS, VOLUME, Volume
from .lab import Lab
from .manometer import Manometer
from .place import Place, WithoutLibrary
from .process import run, wait_until
from .report import Report, Scenario

LIBRARY = "libgfapi.so.0"
LOADS = [
    "ops: {read: 50%, write: 50%}, files: 8, file_size: 4MiB, block_size: 64KiB, queue_depth: 16, jobs: 2, verify: true",
    "ops: {create: 12%, write-file: 10%, write: 8%, append: 8%, commit: 4%, truncate: 6%, trim: 4%, access: 4%, chmod: 4%, stat: 4%, "
    "open: 4%, close: 4%, setxattr: 4%, getxattr: 4%, link: 4%, rename: 4%, symlink: 4%, readlink: 2%, mkdir: 4%, rmdir: 2%}, "
    "files: 16, file_size: 64KiB, block_size: 4KiB, queue_depth: 8",
    "ops: {read-file: 50%, overwrite: 30%, list: 10%, readdir: 10%}, files: 500, file_size: 16KiB, queue_depth: 8",
    "ops: {truncate-overwrite: 50%, stat: 50%}, files: 16, file_size: 64KiB, queue_depth: 8",
    "ops: {create: 60%, remove: 40%}, files: 16, file_size: 4KiB, queue_depth: 8",
    "ops: {write-file: 40%, read-file: 30%, rename: 20%, stat: 10%}, works_on: own, file_size: 16KiB, queue_depth: 8, verify: true",
]


def sizes(directory: Path) -> list[int]:
    """The sizes of all files below a directory but the one that marks it."""
    return [path.stat().st_size for path in directory.rglob("*") if path.is_file() and path.name != ".manometer"]


def volume(lab: Lab, report: Report) -> None:
    """Loads, the bricks' counts, jobs, a kill and refusals, on one volume."""
    with ExitStack() as stack:
        directory = stack.enter_context(lab.directory())
        gluster = Volume(directory, stack)
        manometer = Manometer(lab.manometer, Place(directory))
        theirs = gluster.mount / "manometer-theirs"
        theirs.mkdir()
        (theirs / "0000000000000001").write_text("theirs")
        for load in LOADS:
            for url in (gluster.url, f"{gluster.url}?depth=2&directories=4"):
                outcome = start(manometer, url, load).finish()
                report.equal(f"{url} {load}: code", outcome.code, 0) or print(outcome.stderr[-2000:])
                total = result(outcome)["total"]
                report.check(f"{load}: no errors", total["ok"] > 0 and total["failed"] == 0, total)
                report.equal("what is left", left(gluster), [theirs.name])
        counted(gluster, manometer, report)
        jobs(gluster, manometer, report)
        killed(gluster, manometer, report)
        refused(gluster, manometer, report)
        report.equal("what is left in the end", left(gluster), [theirs.name])
        report.equal("others' files", (theirs / "0000000000000001").read_text(), "theirs")


def left(gluster: Volume) -> list[str]:
    """Names in the volume's root."""
    return sorted(path.name for path in gluster.mount.iterdir())


def counted(gluster: Volume, manometer: Manometer, report: Report) -> None:
    """The bricks count one CREATE for each."""
    directory = manometer.place.directory
    file, results = directory / "counted.yaml", directory / "counted.sqlite"
    target = f"{{url: '{gluster.url}', accounting: {{gluster: {{volume: {VOLUME}, options: ['{gluster.socket}']}}}}}}"
    file.write_text(
        f"targets: {{t: {target}}}\nworkloads: {{create: {{ops: create, file_size: 4KiB}}}}\n"
        "stages: {warm_up: 0s, measure: {at_least: 2s, at_most: 2s}}\nsteady: none\ngates: [errors == 0]\n"
    )
    outcome = manometer.start("run", str(file), f"--results={results}").finish()
    report.equal("accounting: code", outcome.code, 0) or print(outcome.stdout, outcome.stderr)
    [calls] = manometer.cells(results)[0]["result"]["server_calls"]
    found = {one["procedure"]: one for one in calls["procedures"]}
    near = abs(found["CREATE"]["calls_per_op"] - 1) < 0.2
    report.check("one CREATE for each", near, found["CREATE"]["calls_per_op"])
    report.equal("every brick has its own counts", len(found["LOOKUP"]["servers"]), BRICKS)


def jobs(gluster: Volume, manometer: Manometer, report: Report) -> None:
    """Jobs of fio's engine: files have the names and sizes that fio gives them, and fio reads what we wrote."""
    before = left(gluster)
    # fio's engine without async reads only one of several files.
    flags = ["--ioengine=gfapi_async", f"--volume={VOLUME}", f"--brick={gluster.address}", "--bs=64k", "--iodepth=8", "--size=8m"]
    flags += ["--output-format=json", "--name=job", "--nrfiles=2"]
    outcome = manometer.start("fio", *flags, "--rw=randwrite", "--verify=crc32c", "--do_verify=1").finish(60)
    report.equal("a job that writes and verifies: code", outcome.code, 0) or print(outcome.stderr[-2000:])
    made = [gluster.mount / "job.0.0", gluster.mount / "job.0.1"]
    report.equal("a job's files, by the mount", [path.stat().st_size for path in made], [4 << 20, 4 << 20])
    theirs = json.loads(run(["fio", *flags, "--rw=read"]))["jobs"][0]
    report.equal("what fio reads of them", (theirs["read"]["io_bytes"], theirs["error"]), (8 << 20, 0))
    outcome = manometer.start("fio", *flags, "--rw=read", "--allow_file_create=0", "--unlink=1").finish(60)
    ours = json.loads(outcome.stdout)["jobs"][0]
    report.equal("what we read of them", (outcome.code, ours["read"]["io_bytes"]), (0, 8 << 20))
    report.equal("unlink removes them", left(gluster), before)


def killed(gluster: Volume, manometer: Manometer, report: Report) -> None:
    """A killed run's files are what a mount and the bricks see, and cleanup removes them and no others."""
    before = left(gluster)
    going = start(manometer, gluster.url, "ops: read, files: 200, file_size: 100KiB, queue_depth: 4", measure="60s")

    def complete() -> bool:
        own = [path for path in gluster.mount.glob("manometer-*") if path.name not in before]
        return bool(own) and sizes(own[0]) == [102_400] * 200

    wait_until("the data set", complete, 60, going.child)
    going.child.signal(signal.SIGKILL)
    going.finish()
    [own] = [path for path in gluster.mount.glob("manometer-*") if path.name not in before]
    report.equal("files that a killed run left, by the mount", sizes(own), [102_400] * 200)
    on_bricks = [sizes(brick / own.name) for brick in gluster.bricks]
    report.equal("their bytes on the bricks", sum(map(sum, on_bricks)), 200 * 102_400)
    report.check("every brick has some", all(on_bricks), [len(files) for files in on_bricks])
    report.equal("cleanup", manometer.cleanup().code, 0)
    report.equal("what is left after it", left(gluster), before)


def refused(gluster: Volume, manometer: Manometer, report: Report) -> None:
    """What cannot be used is named in one line, and nothing is created."""
    before = left(gluster)
    directory = manometer.place.directory
    without = Manometer(manometer.program, WithoutLibrary(Path(directory) / "without", LIBRARY))
    host = f"gluster://{gluster.address}"
    for what, program, url, parts in [
        ("a wrong volume", manometer, f"{host}/nothing", ["no volume nothing", "gluster volume info"]),
        ("a wrong directory", manometer, f"{gluster.url}/missing", ["/missing does not exist", "next: create it"]),
        ("nothing listens", manometer, f"{host}:9/{VOLUME}", ["port 9: Connection refused", "that glusterd runs there"]),
        ("a silent host", manometer, f"gluster://192.0.2.1/{VOLUME}", ["192.0.2.1 port 24007", "next: check the host"]),
        ("a missing library", without, gluster.url, [LIBRARY, "install the package libgfapi0"]),
    ]:
        outcome = start(program, url, "ops: create").finish()
        report.check(f"{what}: fails", outcome.code != 0, outcome.code)
        report.contains(f"{what}: says so", outcome.stderr, parts)
        lines = [line for line in outcome.stderr.splitlines() if parts[0] in line]
        report.check(f"{what}: in one line", bool(lines) and all(part in lines[0] for part in parts), lines)
    report.equal("nothing was created", left(gluster), before)


SCENARIOS: dict[str, Scenario] = {"gluster volume": volume}
