"""What every scenario is given: the programs, and a directory that goes away."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Lab:
    """The programs under test and beside it."""

    manometer: Path
    versitygw: Path
    minio: Path

    @contextmanager
    def directory(self) -> Iterator[Path]:
        """A fresh directory on the temporary file system, removed at the end."""
        path = Path(tempfile.mkdtemp(prefix="manometer-real-"))
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)
