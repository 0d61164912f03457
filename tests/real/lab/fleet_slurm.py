"""A real Slurm over the hosts of a fleet: munged, slurmctld at the hub, a slurmd in each of the first hosts."""

from __future__ import annotations

import os
import secrets
import socket
from pathlib import Path

from .fleet_net import FIRST, LEADER, FleetNet
from .process import Child, run, wait_until

CONFIG = """
ClusterName=lab
SlurmctldHost={hostname}({leader})
SlurmctldPort=16817
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={directory}/munge.socket
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool-%n
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd-%n.pid
SlurmctldLogFile={directory}/slurmctld.log
SlurmdLogFile={directory}/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
KillWait=5
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
"""


class Slurm:
    """The daemons. Nodes are called as the hosts are."""

    def __init__(self, net: FleetNet, nodes: int = 3) -> None:
        self.net = net
        self.hosts = net.hosts[:nodes]
        self.directory = directory = net.directory / "slurm"
        (directory / "state").mkdir(parents=True)
        hostname = socket.gethostname().split(".")[0]
        text = CONFIG.format(hostname=hostname, leader=LEADER, directory=directory)
        for host in self.hosts:
            (directory / f"spool-{host.name}").mkdir()
            text += f"NodeName={host.name} NodeHostname={hostname} NodeAddr={host.address} Port=17000 "
            text += "CPUs=8 RealMemory=500\n"
        names = ",".join(host.name for host in self.hosts)
        text += f"PartitionName=lab Nodes={names} Default=YES MaxTime=INFINITE State=UP\n"
        self.config = directory / "slurm.conf"
        self.config.write_text(text)
        self.env = {"SLURM_CONF": str(self.config)}
        self._children: list[Child] = []
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self) -> None:
        directory = self.directory
        key = directory / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
        files = {"socket": "munge.socket", "pid-file": "munge.pid", "log-file": "munge.log", "seed-file": "munge.seed"}
        munged = ["munged", "--foreground", "--force", f"--key-file={key}", "--num-threads=4"]
        munged += [f"--{option}={directory / name}" for option, name in files.items()]
        self._run(self.net.hub.server(munged), "munged")
        wait_until("munged", (directory / "munge.socket").exists, 20, self._children[-1])
        self._run(self.net.hub.server(["slurmctld", "-D", "-f", str(self.config)]), "slurmctld")
        for host in self.hosts:
            slurmd = [*FIRST, "slurmd", "-D", "-N", host.name, "-f", str(self.config)]
            self._run(host.place.server(slurmd), f"slurmd-{host.name}")
        wait_until("Slurm's nodes", self._idle, 60)

    def _run(self, command: list[str], name: str) -> None:
        self._children.append(Child(command, self.directory / f"{name}.out", env=os.environ | self.env))

    def _idle(self) -> bool:
        try:
            states = self.ask("sinfo", "-h", "-N", "-o", "%t").split()
        except RuntimeError:
            return False
        return states == ["idle"] * len(self.hosts)

    def ask(self, *command: str) -> str:
        """What one of Slurm's own tools prints."""
        return run(self.net.hub.client(list(command)), 30, env=os.environ | self.env)

    def jobs(self) -> list[str]:
        """Jobs that are still there, with their states."""
        return self.ask("squeue", "-h", "-o", "%i %T").splitlines()

    def log(self) -> str:
        """What all daemons wrote."""
        return "".join(path.read_text(errors="replace") for path in sorted(Path(self.directory).glob("*.log")))

    def stop(self) -> None:
        """Stops the daemons, and with them what jobs are still there."""
        try:
            self.ask("scancel", "--user=root")
            wait_until("Slurm's queue to be empty", lambda: self.jobs() == [], 15)
        except (RuntimeError, OSError):
            pass  # it never came up, and is ended below
        for child in reversed(self._children):
            child.stop(patience=3)
