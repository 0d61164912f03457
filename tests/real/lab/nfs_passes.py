"""Command lines of smallfile over both versions of NFS: what they leave on the server's disk is what smallfile would leave."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

from .ganesha import served
from .lab import Lab
from .report import Report

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
THREADS = 3
FILES = 50
FILE_KIB = 24
USUAL = f"--threads {THREADS} --files {FILES} --file-size {FILE_KIB} --record-size 8 --files-per-dir 10 --stonewall N"
# What each operation leaves below file_srcdir and file_dstdir: files, links and directories of files.
LEFT = {
    "create": (THREADS * FILES, 0, 0, 0),
    "append": (THREADS * FILES, 0, 0, 0),
    "read": (THREADS * FILES, 0, 0, 0),
    "chmod": (THREADS * FILES, 0, 0, 0),
    "symlink": (THREADS * FILES, 0, THREADS * FILES, 0),
    "mkdir": (THREADS * FILES, 0, THREADS * FILES, THREADS * FILES),
    "ls-l": (THREADS * FILES, 0, THREADS * FILES, THREADS * FILES),
    "rmdir": (THREADS * FILES, 0, THREADS * FILES, 0),
    "rename": (0, THREADS * FILES, THREADS * FILES, 0),
    "delete-renamed": (0, 0, THREADS * FILES, 0),
}


def left(export: Path) -> tuple[int, int, int, int]:
    """Files in either tree, links, and directories of files."""
    files = {"file_srcdir": 0, "file_dstdir": 0}
    links = directories = 0
    for path in export.rglob("*"):
        if path.is_symlink():
            links += 1
        elif path.is_file():
            files[path.relative_to(export).parts[0]] += 1
        elif path.name.endswith(".d"):
            directories += 1
    return files["file_srcdir"], files["file_dstdir"], links, directories


def passes(lab: Lab, report: Report, version: str) -> None:
    with served(lab) as (ganesha, manometer):
        directory = manometer.place.directory
        more = f"mount_port={ganesha.mount_port}" if version == "3" else "version=4.1"
        top = f"nfs://127.0.0.1:{ganesha.nfs_port}/export?{more}"
        results, document = directory / "results.sqlite", directory / "out.json"

        def smallfile(operation: str) -> None:
            line = ["smallfile", "--operation", operation, "--top", top, *USUAL.split()]
            outcome = manometer.start(*line, f"--results={results}", "--output-json", str(document)).finish()
            report.equal(f"{operation}: exit code 0", outcome.code, 0) or print(outcome.stdout, outcome.stderr)
            threads = json.loads(document.read_text())["results"]["in-thread"].values()
            report.equal(f"{operation}: all files", sum(int(thread["files"]) for thread in threads), THREADS * FILES)

        for operation, wanted in LEFT.items():
            smallfile(operation)
            report.equal(f"{operation}: what is there then", left(ganesha.export), wanted)
            sources = [path for path in ganesha.export.glob("file_srcdir/**/*") if path.is_file()]
            if operation in ("create", "append"):
                size = FILE_KIB * 1024 * (2 if operation == "append" else 1)
                report.equal(f"{operation}: sizes", {path.stat().st_size for path in sources}, {size})
                path = sources[0].relative_to(ganesha.export)
                name = re.fullmatch(r"file_srcdir/([^/]+)/thrd_\d\d/d_\d{3}/_\1_\d\d_\d+_", str(path))
                report.equal(f"{operation}: paths are smallfile's", name is not None, True) or print(path)
            if operation == "chmod":
                modes = {stat.S_IMODE(path.stat().st_mode) for path in sources}
                report.equal("chmod: permissions", modes, {0o646})
            if operation == "symlink":
                links = [path for path in ganesha.export.rglob("*.s")]
                resolved = {os.path.realpath(path) for path in links}
                report.equal("symlink: each leads to a file", resolved, {str(path) for path in sources})
        smallfile("create")
        smallfile("cleanup")
        report.equal("cleanup leaves nothing", list(ganesha.export.iterdir()), [])
        line = ["smallfile", "--operation", "setxattr", "--top", top, "--xattr-count", "1"]
        refused = manometer.start(*line, f"--results={results}").finish()
        one = refused.stderr.strip()
        report.equal("setxattr is refused in one line", (refused.code, one.count("\n"), "setxattr" in one), (2, 0, True))


def version_3(lab: Lab, report: Report) -> None:
    """With MOUNT and version 3."""
    passes(lab, report, "3")


def version_4_1(lab: Lab, report: Report) -> None:
    """With sessions."""
    passes(lab, report, "4.1")


def io500(lab: Lab, report: Report) -> None:
    """The example with IO500's phases, on an export."""
    with served(lab) as (ganesha, manometer):
        directory = manometer.place.directory
        target = f"nfs://127.0.0.1:{ganesha.nfs_port}/export?mount_port={ganesha.mount_port}"
        settings = [f"target={target}", "processes=2", "easy_bytes=1MiB", "easy_files=60", "hard_files=60"]
        settings += ["hard_bytes=1880320", "hard_stride=94016"]
        for phase in ("ior-hard-write", "ior-hard-read"):
            settings += [f"workloads.{phase}.stages.measure.{bound}=1s" for bound in ("at_least", "at_most")]
        results = f"--results={directory / 'results.sqlite'}"
        flags = [word for setting in settings for word in ("--set", setting)]
        outcome = manometer.start("run", str(EXAMPLES / "experiments" / "io500-like.yaml"), results, *flags).finish()
        report.equal("exit code 0", outcome.code, 0) or print(outcome.stdout, outcome.stderr)
        exported = manometer.start("export", "last", "--output=json", results).finish()
        cells = exported.document["cells"]
        failed = [cell["name"] for cell in cells if cell["result"] is None or cell["result"]["total"]["failed"]]
        report.equal("every phase ends without an error", (len(cells), failed), (13, []))
        said = subprocess.run(
            [sys.executable, str(EXAMPLES / "io500_score.py")], input=exported.stdout, capture_output=True, text=True, timeout=60
        )
        report.contains("a score", said.stdout, ["unofficial score: bandwidth", "mdtest-hard-delete"])
        report.equal("no file stays", [path for path in ganesha.export.rglob("*") if path.is_file()], [])


SCENARIOS = {"nfs smallfile": version_3, "nfs 4.1 smallfile": version_4_1, "nfs io500": io500}
