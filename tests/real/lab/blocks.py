"""Loop devices and small file systems on them, which always go away."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .process import run

MIB = 1 << 20


def image(path: Path, mib: int) -> Path:
    """A sparse file of a size."""
    with path.open("wb") as file:
        file.truncate(mib * MIB)
    return path


@contextmanager
def loop(backing: Path) -> Iterator[Path]:
    """A loop device over a file."""
    device = Path(run(["losetup", "--find", "--show", str(backing)]).strip())
    try:
        yield device
    finally:
        run(["losetup", "--detach", str(device)])


@contextmanager
def mounted(device: Path, at: Path) -> Iterator[Path]:
    """A file system, mounted."""
    at.mkdir(exist_ok=True)
    run(["mount", str(device), str(at)])
    try:
        yield at
    finally:
        run(["umount", str(at)])


@contextmanager
def ramfs(at: Path) -> Iterator[Path]:
    """A file system in memory that has no extended attributes."""
    at.mkdir()
    run(["mount", "-t", "ramfs", "none", str(at)])
    try:
        yield at
    finally:
        run(["umount", str(at)])


@contextmanager
def small_disk(directory: Path, mib: int) -> Iterator[Path]:
    """An ext4 file system of a size that is soon full."""
    with loop(image(directory / "disk.img", mib)) as device:
        run(["mkfs.ext4", "-q", "-F", "-m", "0", str(device)])
        with mounted(device, directory / "disk") as path:
            yield path


def fill(directory: Path, leave_mib: int) -> None:
    """Takes all space of a file system but this much, so that it is full after a few writes, however slow they are."""
    space = os.statvfs(directory)
    with (directory / "filler").open("wb") as filler:
        os.posix_fallocate(filler.fileno(), 0, space.f_bavail * space.f_frsize - leave_mib * MIB)


def truncate_behind(backing: Path, mib: int) -> None:
    """Cuts a loop device's file short: what lies beyond can no longer be read."""
    os.truncate(backing, mib * MIB)
