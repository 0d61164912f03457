"""Four agents that write, append to, read, rename and remove their own files over both versions of NFS: every read is verified,
and the tree at the end is what the counters say."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

from .ganesha import served
from .lab import Lab
from .manometer import SLACK_SECONDS, Run
from .process import run
from .report import Report

AGENTS = 4
LANES = 2
OPERATIONS = 1200
SECONDS = 25
FILE_BYTES = 16384
# A lane pauses after so many operations until the window ends, so everything it did falls within the window.
EXPERIMENT = """
targets: {{t: {{{target}, depth: 2, directories: 3, lookup: {lookup}}}}}
workloads:
  churn:
    works_on: own
    ops: {{write-file: 17%, append: 20%, read-file: 25%, stat: 8%, overwrite: 5%, rename: 15%, remove: 10%}}
    file_size: {size}
    block_size: 4KiB
    queue_depth: {lanes}
    verify: true
    think: {{pause: 1m, after: {operations}}}
stages: {{warm_up: 0s, measure: {{at_least: {seconds}s, at_most: {seconds}s}}}}
steady: none
gates: [errors == 0]
"""


def settled(export: Path, churn: Run) -> list[tuple[str, str, int]]:
    """Place, name and size of each file, as find lists them once nothing changes any more."""
    deadline = time.monotonic() + SECONDS + SLACK_SECONDS
    seen, since = "", time.monotonic()
    while time.monotonic() < deadline and churn.child.ended() is None:
        try:
            now = run(["find", str(export), "-type", "f", "-printf", "%P %s\\n"])
        except RuntimeError:
            continue  # Something was removed while find looked.
        if now != seen:
            seen, since = now, time.monotonic()
        elif seen and time.monotonic() - since > 3:
            lines = (line.split() for line in seen.splitlines())
            return [(path.split("/")[0], path.split("/")[-1], int(size)) for path, size in lines]
        time.sleep(0.2)
    raise RuntimeError(f"the tree did not settle: {churn.child.error_text()}")


def churned(lab: Lab, report: Report, version: str, lookup: str) -> None:
    with served(lab) as (ganesha, manometer):
        directory = manometer.place.directory
        file, results = directory / "experiment.yaml", directory / "results.sqlite"
        file.write_text(
            EXPERIMENT.format(
                target=ganesha.target(version), lookup=lookup, size=FILE_BYTES, lanes=LANES, operations=OPERATIONS, seconds=SECONDS
            )
        )
        churn = manometer.start("run", str(file), f"--local={AGENTS}", f"--results={results}")
        files = settled(ganesha.export, churn)
        outcome = churn.finish(SECONDS + SLACK_SECONDS)
        report.equal("exit code 0", outcome.code, 0) or print(outcome.stdout, outcome.stderr)
        result = manometer.cells(results)[0]["result"]
        done = Counter({op["op"]: op["ok"] for op in result["ops"]})
        report.equal("all operations fall within the window", sum(done.values()), AGENTS * LANES * OPERATIONS)
        report.equal("no operation failed, and no read was wrong", result["total"]["failed"], 0)
        kinds = {"write-file", "create", "append", "read-file", "stat", "overwrite", "rename", "remove"}
        report.equal("every operation ran", set(done), kinds)
        wanted = done["write-file"] + done["create"] - done["remove"]
        report.equal("find sees as many files as the counters say", len(files), wanted)
        report.equal("no name occurs twice in a place", len({(where, name) for where, name, _ in files}), wanted)
        report.equal("each agent has a place of its own", len({where for where, _, _ in files}), AGENTS)
        short = sum(size < FILE_BYTES for _, _, size in files)
        report.equal("files are whole, but for one that each lane appends to", short <= AGENTS * LANES, True)
        report.equal("and none is longer", max(size for _, _, size in files), FILE_BYTES)
        report.equal("nothing left", list(ganesha.export.iterdir()), [])


def version_3(lab: Lab, report: Report) -> None:
    """With handles that are kept."""
    churned(lab, report, "3", "cached")


def version_4_1(lab: Lab, report: Report) -> None:
    """With each path walked again."""
    churned(lab, report, "4.1", "each_component")


SCENARIOS = {"nfs own files": version_3, "nfs 4.1 own files": version_4_1}
