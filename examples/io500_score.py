#!/usr/bin/env python3
"""The score of a run with IO500's phases, by IO500's formula. It is unofficial: see docs/io500-like.md.

  manometer export last --output json | examples/io500_score.py

Reads the export of a run of examples/experiments/io500-like.yaml on standard input. Ends with 1 if a phase is missing,
did not finish, or had failed operations.
"""

import argparse
import json
import math
import sys

# In IO500's order, with the operation that counts: bytes for the phases of ior, files for the others.
PHASES = [
    ("ior-easy-write", None),
    ("mdtest-easy-write", "write-file"),
    ("ior-hard-write", None),
    ("mdtest-hard-write", "write-file"),
    ("find", "stat"),
    ("ior-easy-read", None),
    ("mdtest-easy-stat", "stat"),
    ("ior-hard-read", None),
    ("mdtest-hard-stat", "stat"),
    ("mdtest-easy-delete", "remove"),
    ("mdtest-hard-read", "read-file"),
    ("mdtest-hard-delete", "remove"),
]
# IO500 requires that each writing phase takes this long.
REQUIRED_S = 300


def geometric_mean(values):
    """
    >>> round(geometric_mean([1, 10, 100]), 9)
    10.0
    >>> geometric_mean([0, 5])
    0.0
    """
    if min(values) <= 0:
        return 0.0
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def score(gib_per_s, kiops):
    """Bandwidth, metadata and total of IO500.

    >>> [round(figure, 9) for figure in score([1, 2, 4, 8], [10] * 8)]
    [2.828427125, 10.0, 5.318295897]
    """
    bandwidth, metadata = geometric_mean(gib_per_s), geometric_mean(kiops)
    return bandwidth, metadata, math.sqrt(bandwidth * metadata)


def figures(export):
    """Rate and length of each phase: (name, unit, rate, seconds).

    >>> total = {"bytes": 2**31, "failed": 0}
    >>> cell = lambda name: {"name": name, "state": "finished", "result": {"measured_s": 2.0, "total": total,
    ...     "ops": [{"op": op, "ok": 5000} for op in ("write-file", "read-file", "stat", "remove")]}}
    >>> found = figures({"cells": [cell(name) for name, _ in PHASES]})
    >>> found[0], found[1]
    (('ior-easy-write', 'GiB/s', 1.0, 2.0), ('mdtest-easy-write', 'kIOPS', 2.5, 2.0))
    >>> figures({"cells": []})
    Traceback (most recent call last):
    ValueError: the phase ior-easy-write is missing; next: run all workloads of examples/experiments/io500-like.yaml
    """
    # A name may end with the point of a matrix; the last of several repetitions counts.
    cells = {cell["name"].split()[0]: cell for cell in export["cells"]}
    found = []
    for name, op in PHASES:
        cell = cells.get(name)
        if cell is None:
            raise ValueError(f"the phase {name} is missing; next: run all workloads of examples/experiments/io500-like.yaml")
        result = cell.get("result")
        if cell["state"] != "finished" or not result:
            raise ValueError(f"the phase {name} has no result (it is {cell['state']}); next: run it again")
        if result["total"]["failed"]:
            raise ValueError(f"{result['total']['failed']} operations of the phase {name} failed; next: see `manometer show`")
        seconds = result["measured_s"]
        if op is None:
            found.append((name, "GiB/s", result["total"]["bytes"] / seconds / 2**30, seconds))
        else:
            files = sum(each["ok"] for each in result["ops"] if each["op"] == op)
            found.append((name, "kIOPS", files / seconds / 1000, seconds))
    return found


def main():
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    try:
        found = figures(json.load(sys.stdin))
    except (ValueError, KeyError) as fault:
        sys.exit(f"io500_score: {fault}")
    for name, unit, rate, seconds in found:
        print(f"{name:18}  {rate:12.6f} {unit}  {seconds:8.3f} s")
    of = lambda wanted: [rate for _, unit, rate, _ in found if unit == wanted]
    bandwidth, metadata, total = score(of("GiB/s"), of("kIOPS"))
    print(f"unofficial score: bandwidth {bandwidth:.6f} GiB/s, IOPS {metadata:.6f} kIOPS, total {total:.6f}")
    short = [name for name, _, _, seconds in found if name.endswith("-write") and seconds < REQUIRED_S]
    if short:
        print(f"shorter than the {REQUIRED_S} s that IO500 requires: {', '.join(short)}")


if __name__ == "__main__":
    main()
