"""The program under test: started, paused between its phases, and its answer read."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .place import Place
from .process import Child, wait_until

# What a run may take beyond its phases: set-up, drains, removal, on a machine that is busy.
SLACK_SECONDS = 60


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def document(self) -> dict[str, Any]:
        """The JSON on stdout."""
        return dict(json.loads(self.stdout))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row for each address and protocol."""
        return list(self.document["rows"])


class Manometer:
    """The binary with a state directory of its own, so that each scenario has its own journal."""

    def __init__(self, program: Path, place: Place, env: Mapping[str, str] | None = None) -> None:
        self.program = program
        self.place = place
        self.state = place.directory / "state"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "FB_"))}
        self.env = kept | {"XDG_STATE_HOME": str(self.state), "HOME": str(place.directory)} | dict(env or {})
        # What every check of this scenario is given.
        self.flags: list[str] = []
        self._runs = 0

    def start(self, *arguments: str) -> Run:
        """Starts `manometer ARGUMENTS`."""
        self._runs += 1
        stem = self.place.directory / f"manometer-{self._runs}"
        command = self.place.client([str(self.program), *arguments])
        return Run(Child(command, stem.with_suffix(".out"), env=self.env, separate_stderr=stem.with_suffix(".err")))

    def check(self, *arguments: str, duration: str = "1s", wait: float = SLACK_SECONDS) -> Outcome:
        """Runs `manometer check` in JSON to its end."""
        return self.start_check(*arguments, duration=duration).finish(wait)

    def start_check(self, *arguments: str, duration: str = "1s") -> Run:
        """Starts `manometer check` in JSON."""
        return self.start("check", "--output=json", f"--duration={duration}", *self.flags, *arguments)

    def cells(self, results: Path) -> list[dict[str, Any]]:
        """The cells of the last run, as exported from a results file."""
        outcome = self.start("export", "last", "--output=json", f"--results={results}").finish()
        return list(outcome.document["cells"])

    def cleanup(self) -> Outcome:
        """Runs `manometer cleanup`."""
        return self.start("cleanup").finish(SLACK_SECONDS)


class Run:
    """One run of the program."""

    def __init__(self, child: Child) -> None:
        self.child = child

    def wait_after_write(self, seconds: float = 30) -> None:
        """Waits until the program has told how the write phase ended."""
        told = re.compile(r"\bwrite\b.*/s")
        wait_until("end of write", lambda: bool(told.search(self.child.error_text())), seconds, self.child)

    def pause_after_write(self) -> None:
        """Stops the program with SIGSTOP as soon as it has told how the write phase ended."""
        self.wait_after_write()
        self.child.signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Lets a paused program go on."""
        self.child.signal(signal.SIGCONT)

    def finish(self, seconds: float = SLACK_SECONDS) -> Outcome:
        """Waits for the end."""
        try:
            code = self.child.wait(seconds)
        finally:
            self.child.stop()
        return Outcome(code, self.child.text(), self.child.error_text())
