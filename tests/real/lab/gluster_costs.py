"""A Gluster volume of four bricks: the accounting shows what `lookup-optimize` saves on every file that is created, and what
each operation of files costs."""

from __future__ import annotations

import random
import socket
import subprocess
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from .lab import Lab
from .manometer import SLACK_SECONDS, Manometer, Run
from .place import Place
from .process import Child, run, wait_until
from .report import Report

PORT = 24007
BRICKS = 4
VOLUME = "gv"

DAEMON = """volume management
    type mgmt/glusterd
    option working-directory {0}/lib
    option run-directory {0}/run
    option glusterd-sockfile {0}/run/glusterd.socket
    option transport-type socket
    option transport.socket.bind-address {1}
    option transport.socket.listen-port {2}
    option transport.address-family inet
    option ping-timeout 0
    option event-threads 1
end-volume
"""
EXPERIMENT = """
targets: {{t: {{url: 'file://{mount}', accounting: {{gluster: {{volume: {volume}, options: ['{socket}']}}}}}}}}
workloads: {{create: {{ops: create, file_size: 4KiB}}}}
stages: {{warm_up: 0s, measure: {{at_least: 2s, at_most: 2s}}}}
steady: none
gates: [errors == 0]
"""

# A lane pauses after so many operations until the window ends, so everything it did falls within the window.
LANES = 4
EACH = 200
SECONDS = 15
DATA_FILES = 4
EVERYTHING = """
targets: {{t: {{url: 'file://{mount}', depth: 1, directories: 2, accounting: {{gluster: {{volume: {volume}, options: ['{socket}']}}}}}}}}
workloads:
  all:
    ops: {{create: 7%, write-file: 4%, write: 4%, overwrite: 2%, read-file: 2%, append: 5%, read: 4%, commit: 4%, stat: 4%,
           access: 4%, chmod: 4%, truncate: 6%, setxattr: 4%, getxattr: 4%, open: 4%, close: 4%, link: 5%, rename: 5%, symlink: 5%,
           readlink: 4%, mkdir: 5%, rmdir: 3%, list: 1%, readdir: 1%, trim: 1%, remove: 4%}}
    files: {files}
    file_size: 64KiB
    block_size: 4KiB
    queue_depth: {lanes}
    think: {{pause: 2m, after: {operations}}}
  again:
    ops: {{truncate-overwrite: 50%, stat: 50%}}
    files: {files}
    file_size: 64KiB
    queue_depth: {lanes}
    think: {{pause: 2m, after: {operations}}}
stages: {{warm_up: 0s, measure: {{at_least: {seconds}s, at_most: {seconds}s}}}}
steady: none
gates: [errors == 0]
"""
OPERATIONS = (
    "read write create commit stat remove list trim access chmod truncate rename link symlink readlink mkdir rmdir append"
    " readdir setxattr getxattr open close write-file overwrite read-file"
).split()
# What bricks count at least once for each of these operations: those whose answer no cache of the kernel gives.
CAUSES = {
    "CREATE": ["create", "write-file"],
    "LINK": ["link"],
    "RENAME": ["rename"],
    "SYMLINK": ["symlink"],
    "UNLINK": ["remove"],
    "SETXATTR": ["setxattr"],
    "FSYNC": ["commit"],
    "DISCARD": ["trim"],
    "WRITE": ["write", "append"],
}


def free_address() -> str:
    """An address on which no glusterd of another scenario listens; 127.0.0.1 is refused as the host of a brick."""
    for _ in range(100):
        address = f"127.0.{random.randrange(62, 250)}.{random.randrange(1, 250)}"
        with socket.socket() as listener:
            try:
                listener.bind((address, PORT))
            except OSError:
                continue
            return address
    raise RuntimeError(f"no address has port {PORT} free")


class Volume:
    """A started volume of this host, mounted by FUSE."""

    def __init__(self, directory: Path, stack: ExitStack) -> None:
        self.mount = directory / "mount"
        address = free_address()
        self.address = address
        self.url = f"gluster://{address}/{VOLUME}"
        self.bricks = [directory / f"brick{number}" for number in range(BRICKS)]
        for path in [self.mount, directory / "lib", directory / "run", *self.bricks]:
            path.mkdir()
        self.socket = f"--glusterd-sock={directory}/run/glusterd.socket"
        configuration = directory / "glusterd.vol"
        configuration.write_text(DAEMON.format(directory, address, PORT))
        files = ["-f", str(configuration), "-l", str(directory / "glusterd.log"), "-p", str(directory / "glusterd.pid")]
        daemon = Child(["glusterd", "-N", *files], directory / "glusterd.out")
        stack.callback(daemon.stop)
        # It runs a few programs before it answers, which takes half a minute on a busy machine.
        wait_until("glusterd", self.answers, 180, daemon)
        self.ask("volume", "create", VOLUME, *[f"{address}:{brick}" for brick in self.bricks], "force")
        stack.callback(self.ask, "volume", "delete", VOLUME)
        self.ask("volume", "start", VOLUME)
        stack.callback(self.ask, "volume", "stop", VOLUME, "force")
        server = [f"--volfile-server={address}", f"--volfile-id={VOLUME}", f"--log-file={directory}/mount.log"]
        # The kernel asks for known names again after a second, on every brick: on a slow machine that is many LOOKUPs a create.
        server += ["--entry-timeout=600", "--attribute-timeout=600"]
        run(["glusterfs", *server, str(self.mount)])
        stack.callback(run, ["umount", str(self.mount)])

    def ask(self, *words: str) -> str:
        """What gluster answers."""
        return run(["gluster", "--mode=script", self.socket, *words])

    def answers(self) -> bool:
        """Whether the daemon does."""
        try:
            self.ask("pool", "list")
        except (RuntimeError, subprocess.TimeoutExpired):
            return False
        return True

    def profiled(self) -> bool:
        """Whether somebody counts its file operations."""
        return "diagnostics.count-fop-hits: on" in self.ask("volume", "info", VOLUME)


def lookups(lab: Lab, report: Report) -> None:
    """With `lookup-optimize` a create takes one LOOKUP, without it one more on every brick."""
    with ExitStack() as stack:
        directory = stack.enter_context(lab.directory())
        volume = Volume(directory, stack)
        manometer = Manometer(lab.manometer, Place(directory))
        file, results = directory / "experiment.yaml", directory / "results.sqlite"
        file.write_text(EXPERIMENT.format(mount=volume.mount, volume=VOLUME, socket=volume.socket))
        for setting, expected in [("on", 1), ("off", 1 + BRICKS)]:
            volume.ask("volume", "set", VOLUME, "cluster.lookup-optimize", setting)
            outcome = manometer.start("run", str(file), f"--results={results}").finish()
            report.equal("exit code 0", outcome.code, 0) or print(outcome.stdout, outcome.stderr)
            [counted] = manometer.cells(results)[0]["result"]["server_calls"]
            calls = {one["procedure"]: one for one in counted["procedures"]}
            for name, wanted in [("CREATE", 1), ("LOOKUP", expected)]:
                found = calls[name]["calls_per_op"]
                near = abs(found - wanted) < 0.2
                report.equal(f"lookup-optimize {setting}: {wanted} {name} a create, found {found:.2f}", near, True)
            report.equal("every brick has its own counts", len(calls["LOOKUP"]["servers"]), BRICKS)
            report.equal("the profile is stopped again", volume.profiled(), False)
            report.equal("nothing left", list(volume.mount.glob("manometer-*")), [])


def settled(mount: Path, churn: Run) -> Counter[str]:
    """What is in the last level of the run's tree, by type, once nothing changes any more."""
    deadline = time.monotonic() + SECONDS + SLACK_SECONDS
    seen, since = "", time.monotonic()
    while time.monotonic() < deadline and churn.child.ended() is None:
        try:
            now = run(["find", str(mount), "-mindepth", "3", "-printf", "%y %P\\n"])
        except RuntimeError:
            continue  # Something was removed while find looked.
        if now != seen:
            seen, since = now, time.monotonic()
        elif len(seen.splitlines()) > DATA_FILES and time.monotonic() - since > 3:
            return Counter("directory" if line.startswith("d") else "name" for line in seen.splitlines())
        time.sleep(0.2)
    raise RuntimeError(f"the tree did not settle: {churn.child.error_text()}")


def operations(lab: Lab, report: Report) -> None:
    """Every operation of files on a volume that the kernel mounted: the bricks count what manometer did."""
    with ExitStack() as stack:
        directory = stack.enter_context(lab.directory())
        volume = Volume(directory, stack)
        manometer = Manometer(lab.manometer, Place(directory))
        file, results = directory / "experiment.yaml", directory / "results.sqlite"
        text = EVERYTHING.format(
            mount=volume.mount,
            volume=VOLUME,
            socket=volume.socket,
            files=DATA_FILES,
            lanes=LANES,
            operations=EACH,
            seconds=SECONDS,
        )
        file.write_text(text)
        churn = manometer.start("run", str(file), f"--results={results}")
        tree = settled(volume.mount, churn)
        outcome = churn.finish(2 * SECONDS + SLACK_SECONDS)
        report.equal("exit code 0", outcome.code, 0) or print(outcome.stdout, outcome.stderr)
        everything, whole = (cell["result"] for cell in manometer.cells(results))
        done = Counter({op["op"]: op["ok"] for op in everything["ops"]})
        report.equal("all operations fall within the window", sum(done.values()), LANES * EACH)
        report.equal("every operation ran", sorted(done), sorted(OPERATIONS))
        again = Counter({op["op"]: op["ok"] for op in whole["ops"]})
        report.equal("files are emptied and written again", sorted(again), ["stat", "truncate-overwrite"])
        report.equal("and nothing else happens then", sum(again.values()), LANES * EACH)
        report.equal("no operation failed", (everything["total"]["failed"], whole["total"]["failed"]), (0, 0))
        names = DATA_FILES + done["create"] + done["write-file"] + done["link"] + done["symlink"] - done["remove"]
        wanted = Counter(name=names, directory=done["mkdir"] - done["rmdir"])
        report.equal("find sees the tree that the counts say", tree, wanted)
        [counted] = everything["server_calls"]
        calls = Counter({one["procedure"]: one["calls"] for one in counted["procedures"]})
        for name, causes in CAUSES.items():
            least = sum(done[cause] for cause in causes)
            report.equal(f"{name}: at least the {least} that were made, found {calls[name]}", calls[name] >= least, True)
        # The kernel sends these as they are, and the volume makes one of one.
        for name in ("CREATE", "SYMLINK", "DISCARD"):
            report.equal(f"{name} as often as it was made", calls[name], sum(done[cause] for cause in CAUSES[name]))
        for name in ("MKDIR", "RMDIR"):
            report.equal(f"{name} on every brick", calls[name], BRICKS * done[name.lower()])
        report.equal("nothing left", list(volume.mount.glob("manometer-*")), [])


SCENARIOS = {"gluster lookups": lookups, "gluster operations": operations}
