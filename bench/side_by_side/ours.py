"""Our side: the `bench` binary, which drives the engine and the drivers that `manometer check` uses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .measure import Sample, client, sample
from .peers import FILE_MIB, memory_directory, objects, own_directory, rados_objects
from .servers import S3, Iscsi, Nfs, Rados


@dataclass(frozen=True)
class Ours:
    """The binary."""

    program: Path

    def _run(
        self, command: str, seconds: float, unit: str, flags: list[str], env: dict[str, str] | None = None
    ) -> Sample:
        arguments = [str(self.program), command, f"--seconds={seconds}", "--workers=1", *flags]
        return sample(client(arguments, seconds, env), unit)

    def null(self, seconds: float) -> Sample:
        """The load loop over a driver that does nothing."""
        return self._run("null", seconds, "ops", ["--lanes=32"])

    def file(self, op: str, size: int, depth: int, direct: bool, reactor: str, seconds: float, unit: str) -> Sample:
        """A file of 256 MiB in a directory of its own."""
        what = [f"--op={op}", f"--block={size}", f"--lanes={depth}", f"--data-mib={FILE_MIB}", f"--reactor={reactor}"]
        with own_directory() as directory:
            flags = [f"--directory={directory}", *what, *(["--direct"] if direct else [])]
            return self._run("file", seconds, unit, flags)

    def names(self, op: str, size: int, depth: int, seconds: float) -> Sample:
        """Whole small files on tmpfs."""
        with memory_directory() as directory:
            flags = [f"--directory={directory}", f"--names={op}", f"--block={size}", f"--lanes={depth}"]
            return self._run("file", seconds, "ops", flags)

    def nfs(
        self, nfs: Nfs, op: str, size: int, depth: int, sink: str, seconds: float, unit: str, version: str = "3"
    ) -> Sample:
        """One connection, `depth` ops in flight, files of 64 MiB in total."""
        what = [f"--nfs-version={version}", f"--op={op}", f"--block={size or 4096}", f"--lanes={depth}", f"--sink={sink}"]
        return self._nfs(nfs, seconds, unit, [*what, "--data-mib=64"])

    def nfs_names(self, nfs: Nfs, op: str, size: int, depth: int, seconds: float) -> Sample:
        """Whole small files over one connection, `depth` operations in flight."""
        return self._nfs(nfs, seconds, "ops", [f"--names={op}", f"--block={size}", f"--lanes={depth}"])

    def _nfs(self, nfs: Nfs, seconds: float, unit: str, what: list[str]) -> Sample:
        """A load over one connection."""
        ports = [f"--nfs-port={nfs.nfs_port}", f"--mount-port={nfs.mount_port}"]
        where = ["--server=127.0.0.1", f"--export={nfs.export}", *ports, "--connections=1"]
        return self._run("nfs", seconds, unit, [*where, *what])

    def s3(self, s3: S3, op: str, size: int, concurrency: int, sink: str, seconds: float, unit: str) -> Sample:
        """`concurrency` requests in flight, each on a connection of its own."""
        where = [f"--endpoint=http://127.0.0.1:{s3.port}", f"--bucket={s3.bucket}"]
        what = [
            f"--op={op}",
            f"--size={size}",
            f"--lanes={concurrency}",
            f"--sink={sink}",
            f"--objects={objects(size)}",
        ]
        return self._run("s3", seconds, unit, [*where, *what], s3.keys)

    def iscsi(self, unit: Iscsi, op: str, size: int, depth: int, seconds: float, what: str) -> Sample:
        """One session, `depth` reads in flight."""
        where = [f"--portal=127.0.0.1:{unit.port}", f"--target={unit.target}", f"--lun={unit.lun}"]
        return self._run("iscsi", seconds, what, [*where, f"--op={op}", f"--block={size}", f"--lanes={depth}"])

    def rados(self, pool: Rados, op: str, size: int, depth: int, seconds: float, unit: str) -> Sample:
        """Puts of ever new objects, or gets of some in random order."""
        where = [f"--conf={pool.conf}", f"--pool={pool.name}"]
        count = rados_objects(size) if op == "get" else 1 << 20
        what = [f"--op={op}", f"--size={size}", f"--lanes={depth}", f"--objects={count}"]
        return self._run("rados", seconds, unit, [*where, *what])

    def tcp(self, port: int, streams: int, seconds: float) -> Sample:
        """Sends over some streams."""
        return self._run(
            "tcp-send", seconds, "bytes", [f"--to=127.0.0.1:{port}", f"--lanes={streams}", "--block=131072"]
        )
