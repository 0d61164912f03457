"""What runs create on servers by the servers' own tools: seen by these tools while it is there, gone afterwards, and nothing else touched."""

from __future__ import annotations

import json
import signal
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from .blocks import image, loop, mounted
from .file_checks import result
from .gluster_checks import sizes
from .gluster_costs import VOLUME, Volume
from .iscsi_checks import served
from .lab import Lab
from .manometer import Manometer, Run
from .place import Place
from .process import run, wait_until
from .report import Report, Scenario
from .tgt import NAME, Tgt

FILES = "ops: {create: 30%, write-file: 30%, stat: 20%, remove: 20%}, works_on: own, file_size: 16KiB, queue_depth: 4"
READ_FILES = "ops: read, files: 40, file_size: 100KiB, queue_depth: 4, verify: true"
BLOCKS = "ops: {read: 50%, write: 50%}, block_size: 4KiB, queue_depth: 8, verify: true"

# Runs what it is given, but first makes what it is asked to look for.
FASTER = """#!/bin/sh
case $3 in *' -e '*) for path; do case $path in /*) mkdir -p "$path" ;; esac; done ;; esac
exec "$@"
"""


def start(
    manometer: Manometer, url: str, provision: dict[str, Any], load: str, measure: str = "2s", more: str = "", flags: list[str] | None = None
) -> Run:
    """Starts a run with one cell on what it provisions."""
    directory = manometer.place.directory
    file = directory / "experiment.yaml"
    target = json.dumps({"url": url, "provision": provision})
    file.write_text(
        f"targets: {{t: {target}}}\nworkloads: {{w: {{{load}}}}}\nstages: {{warm_up: 0s, measure: {measure}}}\nsteady: none\n"
        f"gates: [errors == 0]\n{more}\n"
    )
    return manometer.start("run", str(file), f"--results={directory / 'results.sqlite'}", "--output=json", *(flags or []))


def faster(directory: Path) -> dict[str, Any]:
    """A way to the server on which somebody else is faster."""
    script = directory / "faster"
    script.write_text(FASTER)
    return {"command": ["sh", str(script)]}


def one_line(report: Report, what: str, going: Run, parts: list[str]) -> None:
    """The run fails, and one line says all of this."""
    outcome = going.finish()
    report.check(f"{what}: fails", outcome.code != 0, outcome.code)
    lines = [line for line in outcome.stderr.splitlines() if all(part in line for part in parts)]
    report.check(f"{what}: says so in one line", len(lines) == 1, outcome.stderr[-1000:])


class Ours:
    """Directories for the bricks of volumes that runs create."""

    def __init__(self, gluster: Volume, directory: Path) -> None:
        self.gluster = gluster
        self.url = f"gluster://{gluster.address}/{{provisioned}}"
        self.directories = [directory / f"ours{number}" for number in (1, 2)]
        for path in self.directories:
            path.mkdir()

    def provision(self, **more: Any) -> dict[str, Any]:
        """A volume over these directories."""
        bricks = [f"{self.gluster.address}:{path}" for path in self.directories]
        return {"gluster": {"bricks": bricks, "force": True, "options": [self.gluster.socket], **more}}

    def volumes(self) -> list[str]:
        """All volumes, as gluster lists them."""
        return sorted(self.gluster.ask("volume", "list").split())

    def left(self) -> list[str]:
        """What is in the directories of the bricks."""
        return [entry.name for path in self.directories for entry in path.iterdir()]

    def one(self) -> str:
        """The only volume of a run."""
        return next((name for name in self.volumes() if name.startswith("manometer-")), "")


def gluster(lab: Lab, report: Report) -> None:
    """Volumes beside one that is somebody else's."""
    with ExitStack() as stack:
        directory = stack.enter_context(lab.directory())
        ours = Ours(Volume(directory, stack), directory)
        manometer = Manometer(lab.manometer, Place(directory))

        def nothing_left(when: str) -> None:
            report.equal(f"{when}: volumes", ours.volumes(), [VOLUME])
            report.equal(f"{when}: directories of bricks", ours.left(), [])

        mirrored = ours.provision(replica=2, settings={"performance.io-cache": "off"})
        for provision, load in [(ours.provision(), FILES), (mirrored, READ_FILES)]:
            going = start(manometer, ours.url, provision, load, measure="4s")
            wait_until("the volume", lambda: bool(ours.one()) and "Started" in ours.gluster.ask("volume", "info", ours.one()), 60, going.child)
            info = ours.gluster.ask("volume", "info", ours.one())
            if provision is mirrored:
                report.contains("as gluster sees it", info, ["Number of Bricks: 1 x 2 = 2", "performance.io-cache: off"])
            outcome = going.finish()
            report.equal(f"{load}: code", (outcome.code, outcome.stderr[-1000:] if outcome.code else ""), (0, ""))
            report.check(f"{load}: operations", result(outcome)["total"]["ok"] > 0)
            nothing_left(load)
        going = start(manometer, ours.url, mirrored, READ_FILES, flags=["--dry-run"])
        report.equal("a dry run: code", going.finish().code, 0)
        nothing_left("a dry run")
        stopped_and_killed(ours, mirrored, manometer, report)
        nothing_left("cleanup")
        for what, provision, parts in [
            ("copies on one host", ours.provision(replica=2, force=False), ["volume create", "Multiple bricks", "next: "]),
            ("no such directory", ours.provision(bricks=[f"{ours.gluster.address}:/nowhere/b"]), ["Failed to create brick directory", "next: "]),
            ("a setting that there is not", ours.provision(settings={"no.such": "1"}), ["no.such", "next: "]),
            ("no gluster", ours.provision(via={"command": "/nowhere/sh"}), ["/nowhere/sh cannot be started", "next: "]),
            ("bricks elsewhere", ours.provision(bricks_via={"command": ["chroot", str(directory / "lib")]}), ["next: "]),
        ]:
            one_line(report, what, start(manometer, ours.url, provision, FILES), ["provision: ", *parts])
            nothing_left(what)
        going = start(manometer, ours.url, ours.provision(bricks_via=faster(directory)), FILES)
        one_line(report, "a name that exists", going, ["exists already", "is left as it is"])
        report.check("a name that exists: it is left", all(name.startswith("manometer-") for name in ours.left()) and len(ours.left()) == 2)
        report.equal("a name that exists: volumes", ours.volumes(), [VOLUME])


def stopped_and_killed(ours: Ours, provision: dict[str, Any], manometer: Manometer, report: Report) -> None:
    """A volume goes when its run is stopped, and with cleanup when it is killed."""
    for how in (signal.SIGINT, signal.SIGKILL):
        going = start(manometer, ours.url, provision, READ_FILES, measure="60s")

        def filled() -> bool:
            own = [path for path in ours.directories[0].glob("manometer-*/manometer-*")]
            return bool(own) and sizes(own[0]) == [102_400] * 40

        wait_until("the data set", filled, 60, going.child)
        going.child.signal(how)
        if how == signal.SIGINT:
            going.child.signal(how)
        going.finish()
        if how == signal.SIGINT:
            report.equal("stopped: volumes", ours.volumes(), [VOLUME])
            report.equal("stopped: directories of bricks", ours.left(), [])
    report.check("killed: the volume is left", bool(ours.one()), ours.volumes())
    outcome = manometer.cleanup()
    report.equal("cleanup: code", (outcome.code, outcome.stderr[-1000:] if outcome.code else ""), (0, ""))


def targets_of(tgt: Tgt) -> list[str]:
    """The names of all targets, as tgtadm shows them."""
    lines = tgt.admin("show", "target").splitlines()
    return [line.split(": ", 1)[1] for line in lines if line.startswith("Target ")]


def accounts_of(tgt: Tgt) -> list[str]:
    """The accounts, as tgtadm shows them."""
    return [line.strip() for line in tgt.admin("show", "account").splitlines()[1:] if line.strip()]


def tgt(lab: Lab, report: Report) -> None:
    """Targets beside one that is somebody else's."""
    with served(lab) as (server, manometer):
        luns = manometer.place.directory / "luns"
        luns.mkdir()
        url = f"iscsi://127.0.0.1:{server.port}/{{provisioned}}"

        def provision(**more: Any) -> dict[str, Any]:
            reached = {"options": ["-C", server.control], "via": {"command": server.place.server([])}}
            return {"tgt": {"directory": str(luns), "size": "8MiB", **reached, **more}}

        def nothing_left(when: str) -> None:
            found = (targets_of(server), accounts_of(server), [path.name for path in luns.iterdir()])
            report.equal(f"{when}: targets, accounts and files", found, ([NAME], [], []))

        def ours() -> str:
            return next((name for name in targets_of(server) if name != NAME), "")

        fleet = "fleet: {local: 2, sharing: disjoint}"
        for what, more, extra in [("open", {}, ""), ("with a secret", {"chap": True}, ""), ("with a secret, by a fleet", {"chap": True}, fleet)]:
            going = start(manometer, url, provision(**more), f"{BLOCKS}, file_size: {'4' if extra else '8'}MiB", measure="4s", more=extra)
            wait_until("the target", lambda: bool(ours()) and server.sessions_of(ours()) > 0, 60, going.child)
            shown = server.admin("show", "target")
            report.contains(f"{what}: as tgtadm sees it", shown, [ours(), f"Backing store path: {luns}/manometer-"])
            if more:
                report.check(f"{what}: it has an account", accounts_of(server) == [ours().rsplit(":", 1)[1]], accounts_of(server))
                refused = run_fails(["iscsi-inq", f"iscsi://127.0.0.1:{server.port}/{ours()}/1"])
                report.check(f"{what}: nobody gets in without it", refused)
            outcome = going.finish()
            report.equal(f"{what}: code", (outcome.code, outcome.stderr[-1000:] if outcome.code else ""), (0, ""))
            report.check(f"{what}: operations", result(outcome)["total"]["ok"] > 0)
            nothing_left(what)
        going = start(manometer, url, provision(chap=True), BLOCKS, measure="60s")
        wait_until("sessions", lambda: bool(ours()) and server.sessions_of(ours()) > 0, 60, going.child)
        going.child.signal(signal.SIGKILL)
        going.finish()
        report.check("killed: the target is left", bool(ours()), targets_of(server))
        report.equal("cleanup", manometer.cleanup().code, 0)
        nothing_left("cleanup")
        for what, wrong, parts in [
            ("a directory that is missing", provision(directory="/nowhere/luns"), ["/nowhere/luns", "next: "]),
            ("no tgtd", provision(options=["-C", "31999"]), ["tgtadm", "next: "]),
        ]:
            one_line(report, what, start(manometer, url, wrong, BLOCKS), ["provision: ", *parts])
            nothing_left(what)
        ahead = faster(manometer.place.directory)
        via = {"command": [*server.place.server([]), *ahead["command"]]}
        going = start(manometer, url, provision(via=via), BLOCKS)
        one_line(report, "a name that exists", going, ["exists already", "is left as it is"])
        report.equal("a name that exists: targets", targets_of(server), [NAME])
        report.equal("a name that exists: it is left", len(list(luns.iterdir())), 1)


def tgt_device(lab: Lab, report: Report) -> None:
    """A block device as the unit: what it holds is guarded, what uses it is seen, and it stays."""
    with served(lab) as (server, manometer):
        directory = manometer.place.directory
        url = f"iscsi://127.0.0.1:{server.port}/{{provisioned}}"
        backing = image(directory / "device.img", 16)
        with loop(backing) as device:
            run(["mkfs.ext4", "-q", "-F", str(device)])
            reached = {"options": ["-C", server.control], "via": {"command": server.place.server([])}}
            provision = {"tgt": {"device": str(device), "direct": True, **reached}}
            load = f"{BLOCKS}, file_size: 16MiB"
            destroy = [f"--destroy={url}"]
            before = backing.read_bytes()
            one_line(report, "data", start(manometer, url, provision, load), ["carries an ext", f"--destroy {url}"])
            report.equal("data: it is left as it is", backing.read_bytes() == before, True)
            with mounted(device, directory / "mounted") as at:
                going = start(manometer, url, provision, load, flags=destroy)
                one_line(report, "mounted", going, [str(device), f"mounted at {at}", "next: "])
            server.admin("new", "logicalunit", "--tid", "1", "--lun", "7", "-b", str(device))
            going = start(manometer, url, provision, load, flags=destroy)
            one_line(report, "a unit of another target", going, [str(device), f"a unit of {NAME}", "next: "])
            server.admin("delete", "logicalunit", "--tid", "1", "--lun", "7")
            outcome = start(manometer, url, provision, load, flags=destroy).finish()
            report.equal("with --destroy: code", (outcome.code, outcome.stderr[-1000:] if outcome.code else ""), (0, ""))
            report.check("with --destroy: operations", result(outcome)["total"]["ok"] > 0)
            report.equal("nothing of the target is left", targets_of(server), [NAME])
            report.check("the device stays", device.is_block_device() and backing.read_bytes()[1024:2048] != before[1024:2048])
        missing = {"tgt": {"device": str(directory / "missing"), **reached}}
        one_line(report, "no device", start(manometer, url, missing, load), ["is no block device", "next: "])


def run_fails(command: list[str]) -> bool:
    """Whether a command fails."""
    try:
        run(command)
    except RuntimeError:
        return True
    return False


SCENARIOS: dict[str, Scenario] = {"provision gluster": gluster, "provision tgt": tgt, "provision tgt device": tgt_device}
