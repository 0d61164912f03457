"""The same job file under fio and under `manometer fio`, each as a whole command: the whole cost of the process counts."""

from __future__ import annotations

import os
import resource
from pathlib import Path

from .measure import Sample, client
from .peers import FILE_MIB, HERE, MIB, own_directory

JOBS = HERE / "jobs"


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


def cpu_seconds() -> float:
    """User and system time of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def fio() -> list[str]:
    """The peer."""
    return ["fio"]


def ours(manometer: Path) -> list[str]:
    """The only word that differs."""
    return [str(manometer), "fio"]
