"""The servers both sides talk to, held to a core of their own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from .measure import SERVER_CORE, on_core

# SIGKILL for the server when the bench itself ends, however it ends.
DIE_WITH_PARENT = ["setpriv", "--pdeathsig", "KILL"]


def free_port() -> int:
    """A TCP port nobody listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    """Waits until something accepts connections on the port."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if process.poll() is not None:
            raise RuntimeError(f"{process.args!r} ended with {process.returncode}")
        time.sleep(0.05)
    raise RuntimeError(f"nobody listens on {port} after 30 s")


@contextmanager
def running(command: Sequence[str], port: int, env: dict[str, str] | None = None) -> Iterator[None]:
    """Runs a server on the server's core for as long as the block lasts."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            on_core(SERVER_CORE, [*DIE_WITH_PARENT, *command]),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=os.environ | (env or {}),
        )
        try:
            wait_for(port, process)
            yield
        finally:
            process.terminate()
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
