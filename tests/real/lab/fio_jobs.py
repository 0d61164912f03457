"""Job files, run by Debian's fio or by manometer in a directory of their own, and what they leave there."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .process import Child, run

JOB_FILES = Path(__file__).resolve().parents[2] / "fio"
BESIDE = re.compile(r"^[;#]\s*beside fio:\s*(.*)$", re.MULTILINE)
BEFORE = re.compile(r"^[;#]\s*before:\s*(.*)$", re.MULTILINE)
SECTION = re.compile(r"^\s*\[(.+)\]\s*$")
DIRECTIONS = ("read", "write", "trim")
JOB_SECONDS = 60


@dataclass(frozen=True)
class JobFile:
    """A job file of tests/fio, and what is to agree when both programs run it."""

    path: Path
    words: tuple[str, ...]

    @property
    def text(self) -> str:
        """As it stands in the file."""
        return self.path.read_text()

    def with_lists(self) -> str:
        """The same, where each job writes the list of its operations to a file of its own."""
        lines = []
        for number, line in enumerate(self.text.splitlines()):
            lines.append(line)
            if (section := SECTION.match(line)) and section[1] != "global":
                lines.append(f"write_iolog=list-{number}.ops")
        return "\n".join(lines) + "\n"

    def verify_only(self) -> str:
        """The same, where nothing is written but what was written is compared."""
        lines = []
        for line in self.text.splitlines():
            lines.append(line)
            if (section := SECTION.match(line)) and section[1] != "global":
                lines.append("verify_only")
        return "\n".join(lines) + "\n"

    def prepare(self, directory: Path) -> None:
        """Makes what the job file expects to be there."""
        directory.mkdir()
        for line in BEFORE.findall(self.text):
            run(["sh", "-c", f'cd "$0" && {line}', str(directory)])
        for include in self.path.parent.glob("*.inc"):
            (directory / include.name).write_text(include.read_text())


def job_files() -> list[JobFile]:
    """Those that say what is to agree."""
    found = []
    for path in sorted(JOB_FILES.rglob("*.fio")):
        if said := BESIDE.search(path.read_text()):
            found.append(JobFile(path, tuple(said[1].replace(",", " ").split())))
    return found


@dataclass(frozen=True)
class Done:
    """What a program did with a job file."""

    code: int
    errors: str
    document: dict[str, Any]
    directory: Path

    @property
    def jobs(self) -> list[dict[str, Any]]:
        """The figures of each job, in order."""
        return list(self.document.get("jobs", []))

    def each(self, figure: str) -> list[tuple[str, dict[str, int]]]:
        """A figure of each job and direction."""
        return [(job["jobname"], {way: int(job[way][figure]) for way in DIRECTIONS}) for job in self.jobs]

    def total(self) -> int:
        """Operations of all jobs and directions."""
        return sum(count for _, ways in self.each("total_ios") for count in ways.values())

    def lists(self) -> dict[str, Counter[tuple[str, int, int]]]:
        """For each file the operations on it, with their places, as the lists say."""
        found: dict[str, Counter[tuple[str, int, int]]] = {}
        for path in sorted(self.directory.glob("list-*.ops*")):
            for line in path.read_text().splitlines():
                words = line.split()
                if len(words) == 5 and words[2] in DIRECTIONS:
                    operations = found.setdefault(words[1].removeprefix(f"{self.directory}/"), Counter())
                    operations[words[2], int(words[3]), int(words[4])] += 1
        return found

    def places(self) -> dict[str, set[tuple[int, int]]]:
        """For each file the places of its operations, whatever was done there."""
        return {name: {(at, length) for _, at, length in found} for name, found in self.lists().items()}

    def _files(self) -> list[Path]:
        return sorted(path for path in self.directory.rglob("*") if path.is_file() and path.suffix not in OURS)

    def layout(self) -> dict[str, int]:
        """Names and sizes of the files."""
        return {str(path.relative_to(self.directory)): path.stat().st_size for path in self._files()}

    def damage(self) -> None:
        """Changes one byte in the middle of the first file."""
        path = self._files()[0]
        with path.open("r+b") as file:
            middle = path.stat().st_size // 2 + 1000
            file.seek(middle)
            byte = file.read(1)
            file.seek(middle)
            file.write(bytes([byte[0] ^ 0x10]))

    def data(self) -> dict[str, str]:
        """Names of the files, and sums of what is in them."""
        digest = {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in self._files()}
        return {str(path.relative_to(self.directory)): found for path, found in digest.items()}


# Endings of what the harness and logs put beside the jobs' files.
OURS = {".fio", ".yaml", ".inc", ".ops", ".json", ".out", ".err", ".sqlite", ".sqlite-wal", ".sqlite-shm", ".log", ".state"}


def work(command: list[str], text: str, directory: Path, env: dict[str, str], name: str) -> Done:
    """Runs `COMMAND … job.fio` in the directory."""
    (directory / "job.fio").write_text(text)
    figures = directory / f"{name}.json"
    begin = ["sh", "-c", 'cd "$0" && exec "$@"', str(directory), *command]
    arguments = ["--output-format=json", f"--output={figures}", "job.fio"]
    out, errors = directory / f"{name}.out", directory / f"{name}.err"
    child = Child([*begin, *arguments], out, env=env, separate_stderr=errors)
    try:
        code = child.wait(JOB_SECONDS)
    finally:
        child.stop()
    document = read_figures(figures.read_text() if figures.is_file() else "")
    return Done(code, (child.error_text() + child.text())[-2000:], document, directory)


def read_figures(text: str) -> dict[str, Any]:
    """The document; fio puts notes before it (axboe/fio#731), which nothing of ours may do."""
    begin = text.find("{")
    return {} if begin < 0 else dict(json.loads(text[begin:]))
