"""The same job file under Debian's fio and under `manometer fio`: what both did agrees."""

from __future__ import annotations

import json
import math
import os
from functools import partial
from pathlib import Path

from .fio_jobs import DIRECTIONS, Done, JobFile, job_files, work
from .lab import Lab
from .process import run
from .report import Report, Scenario

# A share of a random draw is within so many standard deviations of what was asked for.
SIGMAS = 5
# With fewer files than these the corpus has lost its comparisons.
LEAST_COMPARED = 25


def beside(job: JobFile, lab: Lab, report: Report) -> None:
    """One job file under both programs."""
    with lab.directory() as directory:
        theirs, ours = (directory / name for name in ("fio", "manometer"))
        job.prepare(theirs)
        job.prepare(ours)
        env = dict(os.environ) | {"HOME": str(directory), "XDG_STATE_HOME": str(directory / "state")}
        results = f"--results={directory / 'results.sqlite'}"
        program = {"fio": ["fio"], "manometer": [str(lab.manometer), "fio", results]}
        listed = job.with_lists() if {"offsets", "places"} & set(job.words) else job.text
        done = {
            "fio": work(program["fio"], listed, theirs, env, "figures"),
            "manometer": work(program["manometer"], listed, ours, env, "figures"),
        }
        for name, found in done.items():
            report.check(f"{name} ends well", found.code == 0, f"{found.code}: {found.errors}")
        if not (ours / "figures.json").is_file():
            return
        report.check("only JSON stands in the output", is_json(ours / "figures.json"))
        compare(job, done["fio"], done["manometer"], report)
        if {"counts", "layout"} <= set(job.words):
            by_experiment(job, lab, directory / "experiment", env, done["fio"], report)
        if "verify" in job.words:
            cross_verify(job, program, {"fio": theirs, "manometer": ours}, env, report)


def by_experiment(job: JobFile, lab: Lab, place: Path, env: dict[str, str], theirs: Done, report: Report) -> None:
    """The experiment file that the job file stands for does the same."""
    job.prepare(place)
    (place / "job.fio").write_text(job.text)
    here = ["sh", "-c", 'cd "$0" && exec "$@"', str(place), str(lab.manometer)]
    (place / "job.yaml").write_text(run([*here, "fio", "--convert", "job.fio"], env=env))
    results = f"--results={place / 'results.sqlite'}"
    document = json.loads(run([*here, "run", "job.yaml", results, "--output=json"], env=env))
    counted = dict.fromkeys(DIRECTIONS, 0)
    for cell in document["cells"]:
        for op in cell["result"]["ops"]:
            if op["op"] in counted:
                counted[op["op"]] += op["ok"]
    wanted = {way: sum(ways[way] for _, ways in theirs.each("total_ios")) for way in DIRECTIONS}
    report.equal("operations of the converted experiment", counted, wanted)
    report.equal("files and sizes of the converted experiment", Done(0, "", {}, place).layout(), theirs.layout())


def cross_verify(
    job: JobFile, program: dict[str, list[str]], places: dict[str, Path], env: dict[str, str], report: Report
) -> None:
    """Each program compares what the other wrote, and finds a byte that was changed behind its back."""
    for name, writer in (("fio", "manometer"), ("manometer", "fio")):
        found = work(program[name], job.verify_only(), places[writer], env, "again")
        report.check(f"{name} verifies what {writer} wrote", found.code == 0, found.errors)
        found.damage()
    # With some methods fio writes no sum, and finds nothing (`blind`).
    pairs = [("manometer", "manometer")]
    if "blind" not in job.words:
        pairs += [("fio", "manometer"), ("manometer", "fio")]
    for name, writer in pairs:
        found = work(program[name], job.verify_only(), places[writer], env, "damaged")
        # With several headers a block fio tells, but ends well.
        told = name == "fio" and "verify failed" in found.errors
        report.check(f"{name} finds a changed byte of {writer}'s", told or found.code != 0, found.errors)


def compare(job: JobFile, theirs: Done, ours: Done, report: Report) -> None:
    """All that the job file says is to agree."""
    for word in job.words:
        if word == "counts":
            report.equal("operations", ours.each("total_ios"), theirs.each("total_ios"))
            report.equal("bytes", ours.each("io_bytes"), theirs.each("io_bytes"))
        elif word == "bytes":
            report.equal("bytes", ours.each("io_bytes"), theirs.each("io_bytes"))
        elif word == "total":
            report.equal("operations of all directions", ours.total(), theirs.total())
        elif word.startswith("mix="):
            for name, done in (("fio", theirs), ("manometer", ours)):
                mix(name, done, float(word.removeprefix("mix=")) / 100, report)
        elif word == "offsets":
            compare_lists("operations and places", ours.lists(), theirs.lists(), report)
        elif word == "places":
            compare_lists("places", ours.places(), theirs.places(), report)
        elif word == "layout":
            report.equal("files and sizes", ours.layout(), theirs.layout())
        elif word == "data":
            report.equal("data", ours.data(), theirs.data())
        elif word not in ("verify", "blind"):
            report.check(f"{word} is something to compare", False)


def compare_lists(what: str, ours: dict, theirs: dict, report: Report) -> None:
    """The same files, and the same on each; a difference shows its first few."""
    report.check(f"there are {what}", bool(theirs) and all(theirs.values()))
    report.equal(f"files with {what}", sorted(ours), sorted(theirs))
    for name in sorted(set(ours) & set(theirs)):
        missing = sorted(theirs[name] - ours[name])[:5]
        extra = sorted(ours[name] - theirs[name])[:5]
        report.check(f"{what} on {name}", ours[name] == theirs[name], f"missing {missing}, too many {extra}")


def mix(name: str, done: Done, share: float, report: Report) -> None:
    """Reads are a share of all operations, as far as chance lets them."""
    for job, ways in done.each("total_ios"):
        count = sum(ways.values())
        bound = SIGMAS * math.sqrt(share * (1 - share) / max(count, 1))
        found = ways["read"] / max(count, 1)
        report.check(f"{name}'s share of reads of {job}", abs(found - share) <= bound, f"{found} of {count}")


def is_json(path: Path) -> bool:
    """The whole file is one document."""
    try:
        json.loads(path.read_text())
    except ValueError:
        return False
    return True


def enough(_lab: Lab, report: Report) -> None:
    """The corpus says of enough job files what is to agree."""
    count = len(job_files())
    report.check(f"at least {LEAST_COMPARED} job files are compared", count >= LEAST_COMPARED, count)


SCENARIOS: dict[str, Scenario] = {"fio corpus": enough} | {
    f"fio {job.path.stem}": partial(beside, job) for job in job_files()
}
