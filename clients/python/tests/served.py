"""`manometer serve` on a free port."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import tempfile
from types import TracebackType


class Served:
    """A running service; a context manager. Its directory stays until the end, also over restarts."""

    def __init__(self, *flags: str) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="manometer-client-")
        self._flags = flags
        self.directory = pathlib.Path(self._directory.name)

    def start(self, listen: str = "127.0.0.1:0") -> None:
        state = self.directory / "state"
        command = [os.environ["MANOMETER"], "serve", "--listen", listen, "--directory", str(state), *self._flags]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={"HOME": str(self.directory)})
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if found := re.search(r"listening on (https?://(\S+))", line):
                self.url, self.address = found[1], found[2]
                return
        raise RuntimeError(f"the service ended with {self._process.wait()}")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stderr is not None
        self._process.stderr.close()

    def __enter__(self) -> Served:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.kill()
        self._directory.cleanup()
