"""The peers: installing, building and running them."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .measure import Sample, client, cpu_seconds, output, sample
from .packages import PACKAGES, install
from .presigned import object_of
from .servers import S3, Iscsi, Nfs

HERE = Path(__file__).resolve().parent.parent
MIB = 1 << 20
# Bytes of a block of a logical unit.
UNIT_BLOCK = 512
# Size of the file that both sides read.
FILE_MIB = 256
# The fastest settings of fio's io_uring engine: everything registered, no clock, no map of what was read.
FIO_FASTEST = ["--fixedbufs", "--registerfiles", "--nonvectored=1", "--norandommap", "--gtod_reduce=1"]
# The bare loops, and the libraries that they link.
BARE: dict[str, list[str]] = {"http": [], "nfs": ["-lnfs"], "nfs_files": ["-lnfs"], "file": ["-luring"], "names": [], "iscsi": []}


def cache() -> Path:
    """Cache directory of built peers."""
    path = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "manometer-test"
    path.mkdir(parents=True, exist_ok=True)
    return path


def prepare() -> None:
    """Installs the packages that are missing and builds the small clients."""
    install(PACKAGES)
    source = HERE / "peers" / "nfs" / "nfs_peer.c"
    subprocess.run(["cc", "-O2", "-o", str(nfs_peer()), str(source), "-lnfs"], check=True)
    for what, libraries in BARE.items():
        bare_source = HERE / "peers" / "bare" / f"bare_{what}.c"
        subprocess.run(["cc", "-O2", "-o", str(bare(what)), str(bare_source), *libraries], check=True)
    subprocess.run(["go", "build", "-o", str(s3_peer()), "."], cwd=HERE / "peers" / "s3", check=True)


def nfs_peer() -> Path:
    """The libnfs client."""
    return cache() / "nfs_peer"


def s3_peer() -> Path:
    """The minio-go client."""
    return cache() / "s3_peer"


def bare(what: str) -> Path:
    """The client that only sends and receives, or only reads."""
    return cache() / f"bare_{what}"


def fio_null(seconds: float) -> Sample:
    """fio's null engine in one thread, 32 in flight, with the latency statistics it keeps by default."""
    command = ["fio", "--name=null", "--ioengine=null", "--iodepth=32", "--rw=randread", "--bs=4k", "--size=1g"]
    options = ["--time_based", f"--runtime={seconds}", "--ramp_time=0.5", "--thread", "--output-format=json"]
    job = client([*command, *options], seconds)["jobs"][0]
    elapsed = job["read"]["runtime"] / 1e3
    busy = (job["usr_cpu"] + job["sys_cpu"]) / 100 * elapsed
    return Sample(job["read"]["total_ios"], elapsed, busy, int(job["error"]))


@contextmanager
def own_directory() -> Iterator[Path]:
    """A directory on a disk that takes `O_DIRECT`; $MANOMETER_BENCH_DIR says which, /var/tmp without it."""
    where = os.environ.get("MANOMETER_BENCH_DIR", "/var/tmp")
    with tempfile.TemporaryDirectory(prefix="manometer-bench-", dir=where) as name:
        yield Path(name)


@contextmanager
def memory_directory() -> Iterator[Path]:
    """A directory on tmpfs."""
    with tempfile.TemporaryDirectory(prefix="manometer-bench-", dir="/dev/shm") as name:
        yield Path(name)


def bare_names(op: str, size: int, seconds: float) -> Sample:
    """The bare system calls, one after another, on one small file on tmpfs."""
    with memory_directory() as directory:
        return sample(client([str(bare("names")), str(directory), op, str(size), str(seconds)], seconds), "ops")


@contextmanager
def file_of_random_bytes() -> Iterator[Path]:
    """A written file in the page cache."""
    with own_directory() as directory:
        path = directory / "data"
        path.write_bytes(os.urandom(MIB) * FILE_MIB)
        os.sync()
        yield path


def fio_file(op: str, size: int, depth: int, direct: bool, fastest: bool, seconds: float, what: str) -> Sample:
    """fio's io_uring engine on a file that is written, and in the page cache, before the measurement."""
    flags = ["--ioengine=io_uring", f"--iodepth={depth}", f"--rw={op}", f"--bs={size}", f"--direct={int(direct)}"]
    if fastest:
        flags += FIO_FASTEST
        flags += [f"--iodepth_batch_submit={depth // 2}", f"--iodepth_batch_complete_max={depth}"]
    with file_of_random_bytes() as path:
        command = ["fio", "--name=file", f"--filename={path}", f"--size={FILE_MIB}m", "--thread", *flags]
        options = ["--time_based", f"--runtime={seconds}", "--ramp_time=0.5", "--invalidate=0", "--output-format=json"]
        job = client([*command, *options], seconds)["jobs"][0]
    read, elapsed = job["read"], job["read"]["runtime"] / 1e3
    busy = (job["usr_cpu"] + job["sys_cpu"]) / 100 * elapsed
    return Sample(read["total_ios"] if what == "ops" else read["io_bytes"], elapsed, busy, int(job["error"]))


def libnfs(url: str, op: str, size: int, depth: int, seconds: float, what: str) -> Sample:
    """The libnfs client: one connection, `depth` RPCs in flight, a file of 64 MiB."""
    return sample(client([str(nfs_peer()), url, op, str(size), str(depth), str(seconds), "64"], seconds), what)


def minio_go(s3: S3, op: str, api: str, size: int, concurrency: int, seconds: float, what: str) -> Sample:
    """The minio-go client: `concurrency` requests in flight, each on a connection of its own."""
    flags = {"endpoint": f"127.0.0.1:{s3.port}", "bucket": s3.bucket, "op": op, "api": api, "size": size}
    flags |= {"concurrency": concurrency, "seconds": seconds, "objects": objects(size)}
    return sample(
        client([str(s3_peer()), *(f"-{name}={value}" for name, value in flags.items())], seconds, s3.keys), what
    )


def bare_s3(s3: S3, op: str, size: int, concurrency: int, seconds: float, what: str) -> Sample:
    """The same GET or PUT as bytes sent and received by the kernel: the bound for every client."""
    path = object_of(s3, op.upper(), size)
    flags = [str(s3.port), op.upper(), path, str(size), str(concurrency), str(seconds)]
    return sample(client([str(bare("http")), *flags], seconds), what)


def bare_nfs(nfs: Nfs, op: str, size: int, depth: int, seconds: float, what: str, file_mib: int = 64) -> Sample:
    """The same calls, prepared beforehand, on one connection."""
    flags = [nfs.libnfs_url, str(nfs.nfs_port), op, str(size), str(depth), str(seconds), str(file_mib)]
    return sample(client([str(bare("nfs")), *flags], seconds), what)


def bare_nfs_files(nfs: Nfs, op: str, size: int, depth: int, seconds: float) -> Sample:
    """The same calls, prepared beforehand, on one connection: CREATE, WRITE and REMOVE of one file for each in flight, READ or GETATTR."""
    if op != "cycle":
        # One file of 1 MiB suffices: which bytes are read makes no difference to the client.
        return bare_nfs(nfs, {"read-file": "randread", "stat": "getattr"}[op], size, depth, seconds, "ops", file_mib=1)
    flags = [nfs.libnfs_url, str(nfs.nfs_port), str(size), str(depth), str(seconds)]
    return sample(client([str(bare("nfs_files")), *flags], seconds), "ops")


def bare_file(op: str, size: int, depth: int, direct: bool, seconds: float, what: str) -> Sample:
    """The same reads of a file of the same size: plain system calls from the page cache, io_uring for direct I/O."""
    with file_of_random_bytes() as path:
        flags = [str(path), op, str(size), str(depth), str(int(direct)), str(seconds)]
        return sample(client([str(bare("file")), *flags], seconds), what)


def bare_iscsi(unit: Iscsi, op: str, size: int, depth: int, seconds: float, what: str) -> Sample:
    """The same commands, prepared beforehand, in one session."""
    flags = [str(unit.port), unit.target, str(unit.lun), op, str(size), str(depth), str(seconds), str(unit.mib)]
    return sample(client([str(bare("iscsi")), *flags], seconds), what)


def iscsi_perf(url: str, op: str, size: int, depth: int, seconds: float, what: str) -> Sample:
    """libiscsi's own benchmark, which only reads, in whole seconds; its last line has the average."""
    whole = max(1, round(seconds))
    flags = [f"-b{size // UNIT_BLOCK}", f"-m{depth}", f"-t{whole}", *(["-r"] if op == "randread" else [])]
    before = cpu_seconds()
    said = output(["iscsi-perf", *flags, url], seconds)
    busy = cpu_seconds() - before
    found = re.findall(r"^iops average (\d+) ", said.replace("\r", "\n"), re.MULTILINE)
    if not found:
        raise RuntimeError(f"iscsi-perf has no average: {said[-300:]}")
    ops = int(found[-1]) * whole
    return Sample(ops if what == "ops" else ops * size, whole, busy, 0)


def objects(size: int) -> int:
    """How many objects of a size each side cycles through."""
    return 16 if size >= 1 << 20 else 512


def rados_objects(size: int) -> int:
    """How many objects of a size are read in random order: several for each operation in flight."""
    return 64 if size >= 1 << 20 else 512


def iperf3(port: int, streams: int, seconds: float) -> Sample:
    """iperf3 sending; its own figure for the sender's CPU."""
    command = ["iperf3", "--client=127.0.0.1", f"--port={port}", f"--parallel={streams}", f"--time={seconds:g}"]
    end = client([*command, "--omit=1", "--json"], seconds)["end"]
    sent = end["sum_sent"]
    busy = end["cpu_utilization_percent"]["host_total"] / 100 * sent["seconds"]
    return Sample(sent["bytes"], sent["seconds"], busy, 0)
