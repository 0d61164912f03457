"""The same job file under fio and under `manometer fio`, each as a whole command: the whole cost of the process counts."""

from __future__ import annotations

import json
import os
from pathlib import Path

from .measure import Sample, client, cpu_seconds, output
from .peers import FILE_MIB, HERE, MIB, own_directory, rados_objects
from .servers import Gluster, Rados

JOBS = HERE / "jobs"
GLUSTER_MIB = 256


def job_file(program: list[str], job: str, direct: bool, seconds: float, what: str) -> Sample:
    """Runs a file of `bench/jobs` on a file of random bytes, which is in the page cache; `what` is `ops` or `bytes`."""
    with own_directory() as directory:
        data = directory / "data"
        data.write_bytes(os.urandom(MIB) * FILE_MIB)
        os.sync()
        env = {
            "FILE": str(data),
            "DIRECT": str(int(direct)),
            "SECONDS": str(max(1, round(seconds))),
            # Our results go to a directory that is removed.
            "XDG_DATA_HOME": str(directory),
            "XDG_STATE_HOME": str(directory),
        }
        before = cpu_seconds()
        document = client([*program, "--output-format=json", str(JOBS / f"{job}.fio")], seconds, env)
        busy = cpu_seconds() - before
    done = document["jobs"][0]
    read, elapsed = done["read"], done["read"]["runtime"] / 1e3
    return Sample(read["total_ios"] if what == "ops" else read["io_bytes"], elapsed, busy, int(done["error"]))


def gluster_job(
    program: list[str], volume: Gluster, op: str, size: int, depth: int, seconds: float, what: str
) -> Sample:
    """A job of fio's engine gfapi_async on a file of the volume, which is laid out before."""
    flags = ["--ioengine=gfapi_async", f"--volume={volume.name}", f"--brick={volume.host}", "--name=bench", "--filename=bench"]
    flags += [f"--rw={op}", f"--bs={size}", f"--iodepth={depth}", f"--size={GLUSTER_MIB}m", "--randrepeat=0", "--norandommap"]
    # fio does not wait for the process of such a job, whose time would not be counted: it stays in one process.
    flags += ["--time_based", f"--runtime={max(1, round(seconds))}", "--output-format=json", "--refill_buffers=0", "--thread=1"]
    volume.lay_out("bench", GLUSTER_MIB)
    with own_directory() as directory:
        # Our results go to a directory that is removed.
        env = {"XDG_DATA_HOME": str(directory), "XDG_STATE_HOME": str(directory)}
        before = cpu_seconds()
        document = client([*program, *flags], seconds, env)
        busy = cpu_seconds() - before
    done = document["jobs"][0]
    side = done["write" if op.endswith("write") else "read"]
    moved = side["total_ios"] if what == "ops" else side["io_bytes"]
    return Sample(moved, side["runtime"] / 1e3, busy, int(done["error"]))


def rados_bench(pool: Rados, op: str, size: int, depth: int, seconds: float, what: str) -> Sample:
    """rados' own benchmark: it writes ever new objects, or reads some in random order."""
    command = ["rados", f"--conf={pool.conf}", f"--pool={pool.name}"]
    name = ["--run-name", f"bench-{os.getpid()}"]
    write = [*name, "-t", str(depth), "-b", str(size), "--no-cleanup", "--format=json"]
    whole = str(max(1, round(seconds)))
    try:
        if op == "put":
            load, done = ["bench", whole, "write", *write], "total_writes_made"
        else:
            output([*command, "bench", "60", "write", *write, f"--max-objects={rados_objects(size)}"], seconds + 60)
            load = ["bench", whole, "rand", *name, "-t", str(depth), "--no-verify", "--format=json"]
            done = "total_reads_made"
        before = cpu_seconds()
        said = output([*command, *load], seconds)
        busy = cpu_seconds() - before
    finally:
        output([*command, "cleanup", *name], seconds + 60)
    document = json.loads(said[said.index("{") :])
    ops = int(document[done])
    return Sample(ops if what == "ops" else ops * size, float(document["total_time_run"]), busy, 0)


def fio() -> list[str]:
    """The peer."""
    return ["fio"]


def ours(manometer: Path) -> list[str]:
    """The only word that differs."""
    return [str(manometer), "fio"]
