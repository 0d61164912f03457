"""Programs that read what fio writes, given what `manometer fio` writes: fio-plot, fio's own scripts, and fio."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from pathlib import Path

from .lab import Lab
from .nfs_checks import server
from .report import Report

TOOLS = Path(sys.executable).parent
DEPTHS = (1, 4, 16)
GUIDE = Path(__file__).resolve().parents[3] / "examples" / "jobs" / "nfs-guide.fio"

# Options that fio-plot looks for must stand in the job file, as they must for fio's own output.
JOB = """
[global]
ioengine=null
size=64m
bs=4k
time_based=1
runtime=2
rate_iops=2000
[bench]
rw=randrw
iodepth={depth}
numjobs=1
write_bw_log=logs/randrw-iodepth-{depth}-numjobs-1
write_iops_log=logs/randrw-iodepth-{depth}-numjobs-1
write_lat_log=logs/randrw-iodepth-{depth}-numjobs-1
log_avg_msec=100
write_hist_log=hist/bench
log_hist_msec=500
"""

# Something of each kind of key: commits, errors that are counted, steady state, a group, all directions together.
SHAPES = """
[global]
size=1m
bs=4k
[files]
description=reads, writes and commits
filename=shapes.data
rw=randrw
fsync=8
time_based=1
runtime=4
rate_iops=200
continue_on_error=all
lat_percentiles=1
steadystate=iops:50%
steadystate_duration=2
[trims]
stonewall
ioengine=null
rw=trim
numjobs=2
group_reporting
percentile_list=50:99.9
"""


def run(arguments: list[object], directory: Path, more: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """A program in a directory, all that it needs below it, with `more` in its environment."""
    env = os.environ | {
        "HOME": str(directory),
        "XDG_STATE_HOME": str(directory / "state"),
        "MPLCONFIGDIR": str(directory / "matplotlib"),
        "MPLBACKEND": "agg",
    }
    return subprocess.run(
        [str(argument) for argument in arguments],
        cwd=directory,
        env=env | (more or {}),
        text=True,
        capture_output=True,
        timeout=150,
    )


def fio(lab: Lab, directory: Path, job: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """`manometer fio` on a job file, with the results file in the directory."""
    (directory / "job.fio").write_text(job)
    return run([lab.manometer, "fio", "job.fio", "--results=results.sqlite", *arguments], directory)


def colours(picture: Path) -> int:
    """How many different bytes a PNG's first image data hold: an empty canvas has few."""
    data, at, pixels = picture.read_bytes(), 8, b""
    while at < len(data):
        length, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        if kind == b"IDAT":
            pixels += data[at + 8 : at + 8 + length]
        at += 12 + length
    return len(set(zlib.decompress(pixels)))


def plots(lab: Lab, report: Report) -> None:
    """fio-plot draws bars, a histogram and lines over time."""
    with lab.directory() as directory:
        for name in ("json", "logs", "hist"):
            (directory / name).mkdir()
        for depth in DEPTHS:
            name = f"json/randrw-iodepth-{depth}-numjobs-1.json"
            done = fio(lab, directory, JOB.format(depth=depth), "--output-format=json", f"--output={name}")
            report.equal(f"depth {depth} ends well", (done.returncode, done.stdout), (0, ""))
        depths = [str(depth) for depth in DEPTHS]
        common = ["-T", "manometer", "-r", "randrw", "-n", "1"]
        for name, arguments in {
            "bars": ["-i", "json", "-l", "-d", *depths, "-f", "read", "--show-cpu", "--show-data"],
            "histogram": ["-i", "json", "-H", "-d", "4", "-f", "read"],
            "bandwidth and rate": ["-i", "logs", "-g", "-t", "bw", "iops", "-d", "4"],
            "latencies": ["-i", "logs", "-g", "-t", "lat", "clat", "-d", "1", "4"],
        }.items():
            picture = directory / f"{name.replace(' ', '-')}.png"
            done = run([TOOLS / "fio-plot", *common, *arguments, "-o", picture], directory)
            report.equal(f"fio-plot draws {name}", done.returncode, 0) or print(done.stdout[-2000:], done.stderr[-2000:])
            drawn = picture.is_file() and colours(picture) > 8
            report.check(f"{name}: something is in the picture", drawn, picture)
            keep(picture)


def nfs_guide(lab: Lab, report: Report) -> None:
    """The job of guides to fio's nfs engine, as it stands: ten jobs and their connections write, then read; fio-plot draws it."""
    with server(lab) as (ganesha, _), lab.directory() as directory:
        (directory / "json").mkdir()
        url = f"{ganesha.url()}?nfsport={ganesha.nfs_port}&mountport={ganesha.mount_port}"
        done = run(
            [
                *(lab.manometer, "fio", GUIDE, "--results=results.sqlite", f"--journal-dir={directory / 'journal'}"),
                *("--output-format=json", "--output=json/guide.json"),
            ],
            directory,
            {"NFS_URL": url},
        )
        report.equal("it ends well", (done.returncode, done.stdout), (0, "")) or print(done.stderr[-3000:])
        names = sorted(path.name for path in ganesha.export.iterdir())
        # fio's clients have no names: its files have an empty one.
        report.equal("a file of each job is there, by the format", len([n for n in names if n.startswith("myfiles.")]), 10)
        jobs = json.loads((directory / "json/guide.json").read_text())["jobs"]
        # No stonewall parts the two, so that they report as one, as in fio.
        report.equal("one group reports", [(job["jobname"], job["error"]) for job in jobs], [("write", 0)])
        for way in ("write", "read"):
            figures = jobs[0][way]
            report.check(f"{way} moved data", figures["io_bytes"] > 0, figures["io_bytes"])
            report.check(f"{way} took ten seconds", abs(figures["runtime"] - 10_000) < 500, figures["runtime"])
            times = figures["lat_ns"].get("percentile", {})
            ordered = list(times.values()) == sorted(times.values()) and len(times) == 17
            report.check(f"{way} has percentiles", ordered, times)
        picture = directory / "guide.png"
        common = ["-T", "NFS", "-i", "json", "-r", "write", "-n", "10", "-d", "10", "-f", "write"]
        done = run([TOOLS / "fio-plot", *common, "-l", "--show-cpu", "-o", picture], directory)
        report.equal("fio-plot draws it", done.returncode, 0) or print(done.stdout[-2000:], done.stderr[-2000:])
        report.check("something is in the picture", picture.is_file() and colours(picture) > 8, picture)
        keep(picture)


def keep(picture: Path) -> None:
    """Copies a picture to where a person wants to look at it."""
    where = os.environ.get("MANOMETER_PICTURES")
    if where and picture.is_file():
        (Path(where) / picture.name).write_bytes(picture.read_bytes())


def scripts(lab: Lab, report: Report) -> None:
    """The scripts that Debian installs with fio read buckets and histogram logs."""
    with lab.directory() as directory:
        for name in ("logs", "hist"):
            (directory / name).mkdir()
        done = fio(lab, directory, JOB.format(depth=4), "--output-format=json+", "--output=plus.json")
        report.equal("the job ends well", done.returncode, 0)
        total = json.loads((directory / "plus.json").read_text())["jobs"][0]
        ops = sum(total[way]["total_ios"] for way in ("read", "write"))
        to_csv = [sys.executable, "/usr/bin/fio_jsonplus_clat2csv", "plus.json", "buckets.csv"]
        report.equal("fio_jsonplus_clat2csv ends well", run(to_csv, directory).returncode, 0)
        said = run([*to_csv, "--validate"], directory)
        report.contains("and finds its figures again", said.stdout, ["validated"])
        script = directory / "fiologparser_hist.py"
        script.write_bytes(subprocess.run(["zcat", f"/usr/share/doc/fio/{script.name}.gz"], capture_output=True).stdout)
        log = "hist/bench_clat_hist.1.log"
        said = run([sys.executable, script, "--noweight", "-i", "500", log], directory)
        report.equal("fiologparser_hist ends well", said.returncode, 0) or print(said.stderr[-2000:])
        rows = [line.split(", ") for line in said.stdout.splitlines()[1:]]
        report.equal("and counts every operation", sum(int(row[1]) for row in rows), ops)


def shapes(lab: Lab, report: Report) -> None:
    """The same job file under Debian's fio: the same keys, the same types; the same fields of each terse version."""
    with lab.directory() as directory:
        (directory / "ours").mkdir()
        (directory / "theirs").mkdir()
        for form in ("json+", *(f"terse --terse-version={n}" for n in (2, 3, 4, 5))):
            arguments = f"--output-format={form} --output=figures".split()
            done = fio(lab, directory / "ours", SHAPES, *arguments)
            report.equal(f"{form} ends well", done.returncode, 0) or print(done.stderr[-2000:])
            (directory / "theirs/job.fio").write_text(SHAPES)
            run(["fio", "job.fio", *arguments], directory / "theirs")
            ours, theirs = ((directory / side / "figures").read_text() for side in ("ours", "theirs"))
            if form == "json+":
                ours, theirs = keys(json.loads(ours)), keys(json.loads(theirs))
                report.equal("keys that only one of the two has", sorted(ours.keys() ^ theirs.keys()), [])
                both = ours.keys() & theirs.keys()
                report.equal("types that differ", [key for key in both if ours[key] != theirs[key]], [])
            else:
                fields = [[line.count(";") for line in text.splitlines()] for text in (ours, theirs)]
                report.equal(f"fields of {form}", *fields)


def keys(value: object, at: str = "") -> dict[str, str]:
    """Every path of a document with its type. Left out: what is ours, buckets, and what differs by nature: lists of a steady
    state, percentiles of a submission, disks that had nothing to do, options that fio does not show (those without a value)."""
    found: dict[str, str] = {}
    if isinstance(value, dict):
        for name, inner in value.items():
            if name not in ("manometer", "bins", "data", "disk_util", "slat_ns", "job options"):
                found |= keys(inner, f"{at}/{name}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            found |= keys(inner, f"{at}/{number}")
    return found | {at: type(value).__name__}


def replays(lab: Lab, report: Report) -> None:
    """fio replays the operations that manometer wrote down."""
    job = "[w]\nfilename=replay.data\nsize=1m\nbs=4k\nrw=randwrite\nfsync=16\niodepth=8\nioengine=io_uring\nwrite_iolog=list\n"
    with lab.directory() as directory:
        report.equal("the job ends well", fio(lab, directory, job).returncode, 0)
        for name, program in {"fio": ["fio"], "manometer": [lab.manometer, "fio", "--results=results.sqlite"]}.items():
            replay = ["--name=again", "--read_iolog=list", "--replay_no_stall=1", "--ioengine=psync"]
            done = run([*program, *replay, "--output-format=json", f"--output={name}.json"], directory)
            report.equal(f"{name} replays it", done.returncode, 0) or print(done.stderr[-2000:])
            figures = json.loads((directory / f"{name}.json").read_text())["jobs"][0]
            found = (figures["write"]["total_ios"], figures["write"]["io_bytes"])
            report.equal(f"{name} does every write", found, (256, 1 << 20))


SCENARIOS = {"fio-plot": plots, "fio nfs guide": nfs_guide, "fio scripts": scripts, "fio shapes": shapes, "fio replay": replays}
