"""Control groups that limit processes, of either version, and that go away."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
PERIOD_US = 100_000


class Group:
    """A control group; `inside` wraps a command so that it runs in it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def inside(self, command: list[str]) -> list[str]:
        """The command, wrapped."""
        return ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(self.path), *command]

    def take(self, pid: int) -> None:
        """A running process goes into it, with all that it starts from then on."""
        (self.path / "cgroup.procs").write_text(str(pid))


@contextmanager
def group(controller: str) -> Iterator[tuple[Group, bool]]:
    """A fresh group of a controller (version 1), or of the whole hierarchy (version 2); which is said by the second."""
    first = (ROOT / controller).is_dir()
    above = ROOT / controller if first else ROOT
    if not first:
        (above / "cgroup.subtree_control").write_text(f"+{'io' if controller == 'blkio' else controller}")
    path = above / f"manometer-{os.getpid()}-{time.monotonic_ns()}"
    path.mkdir()
    try:
        yield Group(path), first
    finally:
        # What ran in it may take a moment to be gone.
        for _ in range(100):
            try:
                path.rmdir()
                break
            except OSError:
                time.sleep(0.05)


@contextmanager
def processor_share(share: float) -> Iterator[Group]:
    """A group that may use so much of one core."""
    with group("cpu") as (made, first):
        quota = int(share * PERIOD_US)
        if first:
            (made.path / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (made.path / "cpu.cfs_quota_us").write_text(str(quota))
        else:
            (made.path / "cpu.max").write_text(f"{quota} {PERIOD_US}")
        yield made


@contextmanager
def disk_rate(device: Path, bytes_per_s: int, reads: bool = False) -> Iterator[Group]:
    """A group that may write so many bytes a second to a block device, or read them."""
    with disk_rates([device], bytes_per_s, reads) as made:
        yield made


@contextmanager
def disk_rates(devices: Iterable[Path], bytes_per_s: int, reads: bool = False) -> Iterator[Group]:
    """A group that may write so many bytes a second to each of some block devices, or read them."""
    with group("blkio") as (made, first):
        for device in devices:
            number = device.stat().st_rdev
            name = f"{os.major(number)}:{os.minor(number)}"
            if first:
                (made.path / f"blkio.throttle.{'read' if reads else 'write'}_bps_device").write_text(f"{name} {bytes_per_s}")
            else:
                (made.path / "io.max").write_text(f"{name} {'r' if reads else 'w'}bps={bytes_per_s}")
        yield made
