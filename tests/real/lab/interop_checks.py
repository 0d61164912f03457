"""Foreign clients that need what only this suite installs, against the simulated array."""

from __future__ import annotations

import os
from pathlib import Path

from .lab import Lab
from .process import Child
from .report import Report

INTEROP = Path(__file__).resolve().parents[3] / "interop" / "run.sh"


def suite(lab: Lab, report: Report, name: str) -> None:
    """Runs one part of interop/run.sh with the program under test."""
    with lab.directory() as directory:
        env = os.environ | {"MANOMETER": str(lab.manometer)}
        child = Child(["bash", str(INTEROP), name], directory / "interop.log", env=env)
        try:
            code = child.wait(170)
        finally:
            child.stop()
        report.equal(f"interop/run.sh {name} ends with 0", code, 0) or print(child.text()[-4000:])


def go_clients(lab: Lab, report: Report) -> None:
    suite(lab, report, "go")


def kubernetes_manifests(lab: Lab, report: Report) -> None:
    suite(lab, report, "kubernetes")


def libnfs_clients(lab: Lab, report: Report) -> None:
    suite(lab, report, "libnfs")


SCENARIOS = {
    "interop go": go_clients,
    "interop kubernetes": kubernetes_manifests,
    "interop libnfs": libnfs_clients,
}
