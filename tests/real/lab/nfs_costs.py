"""Every operation over both versions of NFS, in a tree of directories: the RPCs that manometer counts are those that
nfs-ganesha counts."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path

from .ganesha import Ganesha, served
from .lab import Lab
from .manometer import Run
from .report import Report

LANES = 4
# The directories of the last level.
TREE = "depth: 2, directories: 2"
LEAVES = ["00/00", "00/01", "01/00", "01/01"]
DATA_FILES = 4
# A lane pauses after so many operations until the window ends, so everything it did falls within the window.
EXPERIMENT = """
targets: {{t: {{{target}}}}}
workloads:
  all:
    ops: {{create: 7%, write-file: 3%, write: 4%, overwrite: 1%, append: 5%, read: 5%, commit: 5%, stat: 5%, access: 5%, chmod: 5%, {more},
           link: 5%, rename: 10%, symlink: 5%, readlink: 5%, mkdir: 10%, rmdir: 3%, list: 2%, readdir: 1%,
           remove: 4%}}
    files: {files}
    file_size: 64KiB
    block_size: 4KiB
    queue_depth: {lanes}
    think: {{pause: 1m, after: {operations}}}
stages: {{warm_up: 0s, measure: {{at_least: {seconds}s, at_most: {seconds}s}}}}
steady: none
gates: [errors == 0]
"""
LEVELS = 4
DEEP = """
targets: {{t: {{{target}}}}}
workloads: {{read: {{ops: read, files: {{names: {names}}}, block_size: 64KiB, file_size: 64KiB, queue_depth: 4}}}}
matrix: {{target.lookup: [cached, each_component]}}
stages: {{prepare: keep, warm_up: 500ms, measure: {{at_least: 1s, at_most: 1s}}}}
steady: none
gates: [errors == 0]
"""
# Only version 4.1 has opens.
MORE = {"3": "truncate: 10%", "4.1": "truncate: 5%, open: 3%, close: 2%"}
EXISTING = """
targets: {{t: {{{target}}}}}
workloads:
  all:
    ops: {{read: 15%, read-file: 15%, {opens}, access: 10%, readlink: 10%, readdir: 10%, list: 10%}}
    files: {{tree: top}}
    queue_depth: 4
stages: {{warm_up: 0s, measure: {{at_least: 2s, at_most: 2s}}}}
steady: none
gates: [errors == 0]
"""
OPERATIONS = (
    "read write overwrite append write-file create commit stat remove list readdir access chmod truncate rename link symlink readlink mkdir"
    " rmdir"
).split()


def settled(ganesha: Ganesha, run: Run, version: str, least: int) -> Counter[str]:
    """What the server has counted once at least so many calls came, and for a second no more."""
    deadline = time.monotonic() + 20
    seen: Counter[str] = Counter()
    since = time.monotonic()
    while time.monotonic() < deadline and run.child.ended() is None:
        now = ganesha.statistics(version)
        # A session that idles is renewed.
        now.pop("SEQUENCE", None)
        if now != seen:
            seen, since = now, time.monotonic()
        elif sum(seen.values()) >= least and time.monotonic() - since > 1:
            return seen
        time.sleep(0.1)
    raise RuntimeError(f"the server's counts did not settle: {seen} {run.child.error_text()}")


def tree(export: Path) -> Counter[str]:
    """What is in the last level of the run's tree, by type."""
    found: Counter[str] = Counter()
    for path in export.glob("manometer-*/*/*/*"):
        found["directory" if path.is_dir() and not path.is_symlink() else "name"] += 1
    return found


class Counts:
    """One run: what it counts, and what the server and its file system show during the pause at the end."""

    def __init__(self, lab: Lab, version: str, operations: int, seconds: int) -> None:
        with served(lab, statistics=True) as (ganesha, manometer):
            directory = manometer.place.directory
            target = f"{ganesha.target(version)}, {TREE}"
            # Version 4.1 walks the path each time.
            if version != "3":
                target += ", lookup: each_component"
            file, results = directory / "experiment.yaml", directory / "results.sqlite"
            text = EXPERIMENT.format(
                target=target,
                files=DATA_FILES,
                lanes=LANES,
                operations=operations,
                seconds=seconds,
                more=MORE[version],
            )
            file.write_text(text)
            run = manometer.start("run", str(file), f"--results={results}")
            self.theirs = settled(ganesha, run, version, LANES * operations)
            self.tree = tree(ganesha.export)
            names = ganesha.files("/")
            self.listed = sum(len(ganesha.files(f"/{next(iter(names))}/{leaf}")) for leaf in LEAVES)
            self.outcome = run.finish()
            self.left = list(ganesha.export.iterdir())
            result = manometer.cells(results)[0]["result"]
            self.done = Counter({op["op"]: op["ok"] for op in result["ops"]})
            self.ours: Counter[str] = Counter()
            for op in result["ops"]:
                for procedure in op["procedures"]:
                    self.ours[procedure["procedure"].upper()] += procedure["calls"]


def operations_of(compounds: Counter[str], opened: int) -> Counter[str]:
    """The operations within COMPOUNDs that have these names; SEQUENCE is in all of them. So many OPENs left a file open; the
    others created one, and closed it at once."""
    expected = Counter(compounds)
    expected["GETATTR"] += compounds["LOOKUP"]
    expected["GETFH"] += compounds["LOOKUP"] + compounds["OPEN"]
    expected["CLOSE"] += compounds["OPEN"] - opened
    expected["SAVEFH"] += compounds["RENAME"] + compounds["LINK"]
    expected["PUTFH"] += sum(compounds.values()) + compounds["RENAME"] + compounds["LINK"]
    return expected


def costs(lab: Lab, report: Report, version: str) -> None:
    """Two runs that differ only in the number of operations: the server's counts differ by what these cost."""
    few, many = Counts(lab, version, 1, 4), Counts(lab, version, 300, 5)
    for run in (few, many):
        report.equal("exit code 0", run.outcome.code, 0) or print(run.outcome.stdout, run.outcome.stderr)
        report.equal("nothing left", run.left, [])
    report.equal("all operations fall within the window", sum(many.done.values()), LANES * 300)
    opens = [] if version == "3" else ["open", "close"]
    report.equal("every operation ran", sorted(many.done), sorted(OPERATIONS + opens))
    calls = many.ours - few.ours
    expected = calls if version == "3" else operations_of(calls, many.done["open"] - few.done["open"])
    fewer = few.ours - many.ours
    report.equal("no procedure is called less", fewer, Counter())
    for name in sorted(expected | (many.theirs - few.theirs)):
        got, wanted = many.theirs[name] - few.theirs[name], expected[name]
        report.equal(f"{name} as often as the server counts", wanted, got)
    done = many.done
    names = DATA_FILES + done["create"] + done["write-file"] + done["link"] + done["symlink"] - done["remove"]
    directories = done["mkdir"] - done["rmdir"]
    report.equal("the tree is what the counts say", many.tree, Counter(name=names, directory=directories))
    report.equal("nfs-ls sees it too", many.listed, names + directories)


def version_3(lab: Lab, report: Report) -> None:
    costs(lab, report, "3")


def version_4_1(lab: Lab, report: Report) -> None:
    costs(lab, report, "4.1")


def lookups(lab: Lab, report: Report) -> None:
    """Files four levels deep: a LOOKUP for each level of every read, or none for files whose handles are kept."""
    with served(lab) as (ganesha, manometer):
        directory = manometer.place.directory
        names = [f"{'level/' * (LEVELS - 1)}{number}" for number in range(DATA_FILES)]
        (ganesha.export / names[0]).parent.mkdir(parents=True)
        for name in names:
            (ganesha.export / name).write_bytes(bytes(65536))
        file, results = directory / "experiment.yaml", directory / "results.sqlite"
        for version in ("3", "4.1"):
            file.write_text(DEEP.format(target=ganesha.target(version), names=json.dumps(names)))
            outcome = manometer.start("run", str(file), f"--results={results}").finish()
            report.equal("exit code 0", outcome.code, 0) or print(outcome.stdout, outcome.stderr)
            for cell, wanted in zip(manometer.cells(results), (0, LEVELS), strict=True):
                [read] = cell["result"]["ops"]
                calls = {one["procedure"]: one["calls_per_op"] for one in read["procedures"]}
                report.equal(f"NFS {version}, {cell['name']}: LOOKUPs a read", calls.get("lookup", 0), wanted)
                report.equal(f"NFS {version}, {cell['name']}: READs a read", calls["read"], 1)


def contents(export: Path) -> dict[str, tuple[int, int]]:
    """Size and time of last change of everything below an export."""
    return {
        str(path.relative_to(export)): (path.lstat().st_size, path.lstat().st_mtime_ns) for path in export.rglob("*")
    }


def existing_tree(lab: Lab, report: Report) -> None:
    """A tree that exists is read in every way, and no call that could change it reaches the server."""
    for version in ("3", "4.1"):
        with served(lab, statistics=True) as (ganesha, manometer):
            directory = manometer.place.directory
            for number in range(60):
                parent = ganesha.export / f"top/{number % 5}/{number % 3}"
                parent.mkdir(parents=True, exist_ok=True)
                (parent / f"file {number}").write_bytes(bytes(1000 * number))
                (parent / f"link {number}").symlink_to("/nowhere")
            before = contents(ganesha.export)
            opens = "stat: 30%" if version == "3" else "stat: 10%, open: 10%, close: 10%"
            file, results = directory / "experiment.yaml", directory / "results.sqlite"
            file.write_text(EXISTING.format(target=ganesha.target(version), opens=opens))
            outcome = manometer.start("run", str(file), f"--results={results}").finish()
            report.equal("exit code 0", outcome.code, 0) or print(outcome.stdout, outcome.stderr)
            done = Counter({
                op["op"]: op["ok"] for op in manometer.cells(results)[0]["result"]["ops"]
            })
            wanted = ["access", "list", "read", "read-file", "readdir", "readlink", "stat"]
            if version != "3":
                wanted += ["close", "open"]
            report.equal(f"NFS {version}: every operation ran", sorted(done), sorted(wanted))
            report.equal(f"NFS {version}: the tree is as it was", contents(ganesha.export), before)
            counted = ganesha.statistics(version)
            changing = {"WRITE", "CREATE", "MKDIR", "SYMLINK", "REMOVE", "RMDIR", "RENAME", "LINK", "SETATTR", "COMMIT"}
            changed = {name: count for name, count in counted.items() if name in changing and count}
            report.equal(f"NFS {version}: no call that changes anything", changed, {})
            report.equal(f"NFS {version}: what was opened is closed", counted["OPEN"], counted["CLOSE"])
            report.check(f"NFS {version}: files were opened", version == "3" or counted["OPEN"] >= done["open"], counted)


SCENARIOS = {
    "nfs existing tree": existing_tree,
    "nfs operations": version_3,
    "nfs 4.1 operations": version_4_1,
    "nfs lookups": lookups,
}
