"""A Gluster volume of four bricks: the accounting shows what `lookup-optimize` saves on every file that is created."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

from .lab import Lab
from .manometer import Manometer
from .place import Place
from .process import Child, run, wait_until
from .report import Report

# glusterd refuses 127.0.0.1 as the host of a brick.
ADDRESS = "127.0.0.62"
BRICKS = 4
VOLUME = "gv"

DAEMON = """volume management
    type mgmt/glusterd
    option working-directory {0}/lib
    option run-directory {0}/run
    option glusterd-sockfile {0}/run/glusterd.socket
    option transport-type socket
    option transport.socket.bind-address {1}
    option transport.socket.listen-port 24007
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


class Volume:
    """A started volume of this host, mounted by FUSE."""

    def __init__(self, directory: Path, stack: ExitStack) -> None:
        self.mount = directory / "mount"
        bricks = [directory / f"brick{number}" for number in range(BRICKS)]
        for path in [self.mount, directory / "lib", directory / "run", *bricks]:
            path.mkdir()
        self.socket = f"--glusterd-sock={directory}/run/glusterd.socket"
        configuration = directory / "glusterd.vol"
        configuration.write_text(DAEMON.format(directory, ADDRESS))
        files = ["-f", str(configuration), "-l", str(directory / "glusterd.log"), "-p", str(directory / "glusterd.pid")]
        daemon = Child(["glusterd", "-N", *files], directory / "glusterd.out")
        stack.callback(daemon.stop)
        wait_until("glusterd", self.answers, 60, daemon)
        self.ask("volume", "create", VOLUME, *[f"{ADDRESS}:{brick}" for brick in bricks], "force")
        stack.callback(self.ask, "volume", "delete", VOLUME)
        self.ask("volume", "start", VOLUME)
        stack.callback(self.ask, "volume", "stop", VOLUME, "force")
        server = [f"--volfile-server={ADDRESS}", f"--volfile-id={VOLUME}", f"--log-file={directory}/mount.log"]
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
        except RuntimeError:
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
            exported = manometer.start("export", "last", "--output=json", f"--results={results}").finish()
            [counted] = json.loads(exported.stdout)["cells"][0]["result"]["server_calls"]
            calls = {one["procedure"]: one for one in counted["procedures"]}
            for name, wanted in [("CREATE", 1), ("LOOKUP", expected)]:
                found = calls[name]["calls_per_op"]
                near = abs(found - wanted) < 0.2
                report.equal(f"lookup-optimize {setting}: {wanted} {name} a create, found {found:.2f}", near, True)
            report.equal("every brick has its own counts", len(calls["LOOKUP"]["servers"]), BRICKS)
            report.equal("the profile is stopped again", volume.profiled(), False)
            report.equal("nothing left", list(volume.mount.glob("manometer-*")), [])


SCENARIOS = {"gluster lookups": lookups}
