"""The comparisons: each case runs one side once and returns its sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from . import jobs, peers
from .measure import Sample
from .ours import Ours
from .servers import Servers

MIB = 1 << 20
WARP, CORE, BARE = "minio-go as warp", "minio-go core", "bare loop (bound)"
# Shares of the bound to reach: for bytes at 1 MiB and above, for operations below.
BOUND_LARGE, BOUND_SMALL = 0.95, 0.8
Side = Callable[[float], Sample]


@dataclass(frozen=True)
class Case:
    """Our side and theirs; both take the length of the window in seconds."""

    name: str
    unit: str
    peer: str
    goal: float | None
    ours: Side
    theirs: Side
    per_clock: bool = False


def bounded(case: Case, size: int, bare: Side) -> Case:
    """The same case with a bare loop beside it; its goal is the share of the bound to reach with blocks of this size."""
    return replace(case, peer=BARE, goal=BOUND_LARGE if size >= MIB else BOUND_SMALL, theirs=bare)


def all_cases(ours: Ours, manometer: Path, servers: Servers) -> list[Case]:
    """Every case, in the order of the design's table."""
    return [
        Case("null, QD 32", "ops", "fio null", 4, ours.null, peers.fio_null),
        *file_cases(ours),
        *names_cases(ours, servers),
        *job_cases(manometer),
        *nfs_cases(ours, servers),
        *s3_cases(ours, servers),
        *iscsi_cases(ours, servers),
        *tcp_cases(ours, servers),
        *rados_cases(ours, servers),
        *gluster_cases(manometer, servers),
    ]


def job_cases(manometer: Path) -> list[Case]:
    """Job files under both programs, as whole commands."""

    def case(what: str, job: str, unit: str, direct: bool, goal: float | None) -> Case:
        return Case(
            f"job file {what}",
            unit,
            "fio",
            goal,
            lambda seconds: jobs.job_file(jobs.ours(manometer), job, direct, seconds, unit),
            lambda seconds: jobs.job_file(jobs.fio(), job, direct, seconds, unit),
        )

    return [
        case("null", "null", "ops", False, 4),
        case("randread 4 KiB, page cache", "randread", "ops", False, None),
        case("randread 4 KiB, page cache, fastest flags", "randread-fastest", "ops", False, 1.1),
        case("randread 4 KiB, direct", "randread", "ops", True, None),
        case("randread 4 KiB, direct, fastest flags", "randread-fastest", "ops", True, 1.1),
        case("read 1 MiB, page cache", "read-1m", "bytes", False, None),
        case("read 1 MiB, direct", "read-1m", "bytes", True, None),
    ]


def file_cases(ours: Ours) -> list[Case]:
    """One file of 256 MiB; small blocks 32 in flight, large ones 8."""

    def case(name: str, op: str, size: int, direct: bool, flags: str, goal: float | None, reactor: str = "auto") -> Case:
        unit, depth = ("bytes", 8) if size >= MIB else ("ops", 32)
        return Case(
            name,
            unit,
            f"fio io_uring {flags}",
            goal,
            lambda seconds: ours.file(op, size, depth, direct, reactor, seconds, unit),
            lambda seconds: peers.fio_file(op, size, depth, direct, flags == "fastest", seconds, unit),
        )

    def bound(name: str, op: str, size: int, direct: bool) -> Case:
        unit, depth = ("bytes", 8) if size >= MIB else ("ops", 32)
        beside = case(name, op, size, direct, "default", None)
        return bounded(beside, size, lambda seconds: peers.bare_file(op, size, depth, direct, seconds, unit))

    small, large = "file random read 4 KiB", "file read 1 MiB"
    return [
        case(f"{small}, page cache", "randread", 4096, False, "default", None),
        case(f"{small}, page cache", "randread", 4096, False, "fastest", 1.1),
        case(f"{small}, direct", "randread", 4096, True, "default", 1.1),
        case(f"{small}, direct, batches", "randread", 4096, True, "fastest", 1.1, "uring+batch"),
        case(f"{small}, direct", "randread", 4096, True, "fastest", None),
        case(f"{large}, page cache", "read", MIB, False, "default", None),
        case(f"{large}, page cache", "read", MIB, False, "fastest", 1),
        case(f"{large}, direct", "read", MIB, True, "fastest", 1),
        bound(f"{small}, page cache", "randread", 4096, False),
        bound(f"{small}, direct", "randread", 4096, True),
        bound(f"{large}, page cache", "read", MIB, False),
        bound(f"{large}, direct", "read", MIB, True),
    ]


def names_cases(ours: Ours, servers: Servers) -> list[Case]:
    """Whole files of 4 KiB: on tmpfs 4 in flight, over NFS 32 on one connection."""

    def tmpfs(what: str, op: str) -> Case:
        return Case(
            f"tmpfs {what}",
            "ops",
            BARE,
            BOUND_SMALL,
            lambda seconds: ours.names(op, 4096, 4, seconds),
            lambda seconds: peers.bare_names(op, 4096, seconds),
        )

    def nfs(what: str, op: str) -> Case:
        return Case(
            f"NFS {what}",
            "ops",
            BARE,
            BOUND_SMALL,
            lambda seconds: ours.nfs_names(servers.nfs, op, 4096, 32, seconds),
            lambda seconds: peers.bare_nfs_files(servers.nfs, op, 4096, 32, seconds),
        )

    whats = [("create and remove 4 KiB files", "cycle"), ("read 4 KiB files", "read-file"), ("stat", "stat")]
    return [side(what, op) for side in (tmpfs, nfs) for what, op in whats]


def nfs_cases(ours: Ours, servers: Servers) -> list[Case]:
    """One connection; large blocks 8 in flight, small ops 32."""

    def case(name: str, unit: str, op: str, size: int, depth: int, goal: float | None, sink: str = "buffer") -> Case:
        return Case(
            name,
            unit,
            "libnfs",
            goal,
            lambda seconds: ours.nfs(servers.nfs, op, size, depth, sink, seconds, unit),
            lambda seconds: peers.libnfs(servers.nfs.libnfs_url, op, size, depth, seconds, unit),
        )

    def bound(name: str, unit: str, op: str, size: int, depth: int) -> Case:
        beside = case(name, unit, op, size, depth, None)
        return bounded(beside, size, lambda seconds: peers.bare_nfs(servers.nfs, op, size, depth, seconds, unit))

    def newer(name: str, unit: str, op: str, size: int, depth: int, goal: float) -> Case:
        def side(version: str) -> Side:
            return lambda seconds: ours.nfs(servers.nfs, op, size, depth, "buffer", seconds, unit, version)

        return Case(f"NFSv4.1 {name}", unit, "our NFSv3", goal, side("4.1"), side("3"))

    # The simulated array speaks version 3 only.
    versions = [
        newer("read 1 MiB", "bytes", "read", MIB, 8, 0.95),
        newer("GETATTR", "ops", "getattr", 0, 32, 0.8),
        newer("random read 4 KiB", "ops", "randread", 4096, 32, 0.8),
    ]
    return [
        *(versions if servers.nfs.v41 else []),
        case("NFS write 1 MiB", "bytes", "write", MIB, 8, 1.5),
        case("NFS read 1 MiB", "bytes", "read", MIB, 8, 1.5),
        case("NFS read 1 MiB, discard", "bytes", "read", MIB, 8, 3, "discard"),
        case("NFS GETATTR", "ops", "getattr", 0, 32, 2.5),
        case("NFS random read 4 KiB", "ops", "randread", 4096, 32, 2.5),
        bound("NFS write 1 MiB", "bytes", "write", MIB, 8),
        bound("NFS read 1 MiB", "bytes", "read", MIB, 8),
        bound("NFS GETATTR", "ops", "getattr", 0, 32),
        bound("NFS random read 4 KiB", "ops", "randread", 4096, 32),
    ]


def s3_cases(ours: Ours, servers: Servers) -> list[Case]:
    """Large objects over 4 connections, small ones over 16."""

    def case(name: str, op: str, size: int, goal: float | None, sink: str = "buffer", api: str = "warp") -> Case:
        unit, concurrency = ("bytes", 4) if size >= MIB else ("ops", 16)
        return Case(
            name,
            unit,
            WARP if api == "warp" else CORE,
            goal,
            lambda seconds: ours.s3(servers.s3, op, size, concurrency, sink, seconds, unit),
            lambda seconds: peers.minio_go(servers.s3, op, api, size, concurrency, seconds, unit),
        )

    def bound(op: str, size: int) -> Case:
        unit, concurrency = ("bytes", 4) if size >= MIB else ("ops", 16)
        beside = case(f"S3 {op.upper()} {'8 MiB' if size >= MIB else '4 KiB'}", op, size, None)
        return bounded(beside, size, lambda seconds: peers.bare_s3(servers.s3, op, size, concurrency, seconds, unit))

    return [
        case("S3 PUT 8 MiB", "put", 8 * MIB, 1.4),
        case("S3 GET 8 MiB", "get", 8 * MIB, 5),
        case("S3 GET 8 MiB, discard", "get", 8 * MIB, 10, "discard"),
        case("S3 GET 8 MiB", "get", 8 * MIB, None, api="core"),
        bound("put", 8 * MIB),
        bound("get", 8 * MIB),
        case("S3 PUT 4 KiB", "put", 4096, 10),
        case("S3 GET 4 KiB", "get", 4096, 10),
        bound("put", 4096),
        bound("get", 4096),
    ]


def iscsi_cases(ours: Ours, servers: Servers) -> list[Case]:
    """Reads of a unit of tgtd's in one session, which has one connection; large blocks 8 in flight, small ones 32."""

    def case(name: str, unit: str, op: str, size: int, depth: int, goal: float) -> Case:
        return Case(
            name,
            unit,
            "iscsi-perf",
            goal,
            lambda seconds: ours.iscsi(servers.iscsi, op, size, depth, seconds, unit),
            lambda seconds: peers.iscsi_perf(servers.iscsi.url, op, size, depth, seconds, unit),
        )

    def bound(name: str, unit: str, op: str, size: int, depth: int) -> Case:
        beside = case(name, unit, op, size, depth, 1)
        return bounded(beside, size, lambda seconds: peers.bare_iscsi(servers.iscsi, op, size, depth, seconds, unit))

    small, large = ("iSCSI random read 4 KiB", "ops", "randread", 4096, 32), ("iSCSI read 1 MiB", "bytes", "read", MIB, 8)
    return [case(*small, 1), case(*large, 1), bound(*small), bound(*large)]


def tcp_cases(ours: Ours, servers: Servers) -> list[Case]:
    """Sending, per second of wall time and per CPU-second."""

    def case(name: str, streams: int, per_clock: bool) -> Case:
        return Case(
            f"{name}, {'by the clock' if per_clock else 'per CPU-second'}",
            "bytes",
            "iperf3",
            1,
            lambda seconds: ours.tcp(servers.tcp_port, streams, seconds),
            lambda seconds: peers.iperf3(servers.iperf3_port, streams, seconds),
            per_clock,
        )

    return [
        case(name, streams, by) for name, streams in (("TCP 1 stream", 1), ("TCP 8 streams", 8)) for by in (False, True)
    ]


def rados_cases(ours: Ours, servers: Servers) -> list[Case]:
    """16 in flight in a pool of two copies; both per client CPU-second and by the clock."""

    def case(name: str, op: str, size: int, per_clock: bool) -> Case:
        unit = "bytes" if size >= MIB else "ops"
        return Case(
            f"RADOS {name}, {'by the clock' if per_clock else 'per CPU-second'}",
            unit,
            "rados bench",
            1,
            lambda seconds: ours.rados(servers.rados(), op, size, 16, seconds, unit),
            lambda seconds: jobs.rados_bench(servers.rados(), op, size, 16, seconds, unit),
            per_clock,
        )

    return [
        case(f"{what} {'4 MiB' if size >= MIB else '4 KiB'}", op, size, by)
        for what, op in (("write", "put"), ("random read", "get"))
        for size in (4 * MIB, 4096)
        for by in (False, True)
    ]


def gluster_cases(manometer: Path, servers: Servers) -> list[Case]:
    """16 in flight on a volume of four bricks, the same job under both programs; fio's engine that has the asynchronous calls."""

    def case(name: str, op: str, size: int, per_clock: bool) -> Case:
        unit = "bytes" if size >= MIB else "ops"

        def sample(program: list[str]) -> Callable[[float], Sample]:
            return lambda seconds: jobs.gluster_job(program, servers.gluster(), op, size, 16, seconds, unit)

        return Case(
            f"gfapi {name}, {'by the clock' if per_clock else 'per CPU-second'}",
            unit,
            "fio gfapi_async",
            1,
            sample(jobs.ours(manometer)),
            sample(jobs.fio()),
            per_clock,
        )

    return [
        case(f"{what} {'1 MiB' if size >= MIB else '4 KiB'}", op, size, by)
        for what, op in (("random write", "randwrite"), ("random read", "randread"))
        for size in (MIB, 4096)
        for by in (False, True)
    ]
