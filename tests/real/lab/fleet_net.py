"""Four hosts with addresses of their own, a fifth for servers, and one from which they are led, joined by a bridge.

Each is a network namespace with an sshd, where wanted a slurmd, and its own idea of who the users are. Nothing is
added to the machine's own network or to its list of users.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from .place import Namespace
from .process import Child, run, wait_until

PREFIX = "10.77.0"
SERVERS = f"{PREFIX}.5"
LEADER = f"{PREFIX}.10"
USER = "labuser"
PASSWORD = "lab-Secret-7391"

SSHD = """
Port 22
ListenAddress {address}
HostKey {key}
PidFile {run}/sshd.pid
AuthorizedKeysFile {authorized}
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication yes
KbdInteractiveAuthentication no
UsePAM no
MaxStartups 200
"""

# Ahead of whatever else the machine does: hosts of a fleet do not share processors with others.
FIRST = ["nice", "-n", "-15"]

# A user of these hosts alone: their lists of users are copies with one line more.
BIND_USERS = 'mount --bind "$0/passwd" /etc/passwd && mount --bind "$0/shadow" /etc/shadow'


class Host:
    """A namespace with an address on the bridge."""

    def __init__(self, hub: Namespace, directory: Path, name: str, address: str) -> None:
        self.name = name
        self.address = address
        self.place = Namespace(directory / name)
        self._hub = hub
        self.port = f"p-{name}"
        self.sshd: Child | None = None
        cable = ["type", "veth", "peer", "name", "eth0", "netns", str(self.place.pid)]
        run(hub.client(["ip", "link", "add", self.port, *cable]))
        run(hub.client(["ip", "link", "set", self.port, "master", "bridge0", "up"]))
        run(self.place.client(["ip", "address", "add", f"{address}/24", "dev", "eth0"]))
        run(self.place.client(["ip", "link", "set", "eth0", "up"]))

    def cut(self) -> None:
        """Pulls the cable."""
        run(self._hub.client(["ip", "link", "set", self.port, "down"]))

    def mend(self) -> None:
        """Puts the cable back."""
        run(self._hub.client(["ip", "link", "set", self.port, "up"]))

    def counters(self) -> dict[str, int]:
        """Bytes that the host's card received and sent."""
        text = run(self.place.client(["cat", "/proc/net/dev"]))
        fields = next(line for line in text.splitlines() if "eth0:" in line).split(":")[1].split()
        return {"received": int(fields[0]), "sent": int(fields[8])}

    def processes(self, pattern: str) -> list[int]:
        """Processes of this host's network whose command line holds the pattern."""
        wanted = os.stat(f"/proc/{self.place.pid}/ns/net").st_ino
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if not entry.name.isdigit() or os.stat(entry / "ns/net").st_ino != wanted:
                    continue
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if pattern in command:
                found.append(int(entry.name))
        return found


class Hub(Namespace):
    """Where a fleet is led from: what runs here goes ahead of whatever else the machine does."""

    def __init__(self, directory: Path, first: list[str]) -> None:
        super().__init__(directory)
        self._first = first

    def client(self, command: list[str]) -> list[str]:
        return [*super().client([]), *self._first, *command]


class FleetNet:
    """The hub, the hosts, and the way from the hub to them by ssh.

    `first` is put before what runs on the hosts and the hub, `environments` into what ssh starts on the hosts so named.
    """

    def __init__(
        self,
        directory: Path,
        hosts: int = 4,
        first: list[str] | None = None,
        environments: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self._first = FIRST if first is None else first
        self._environments = environments or {}
        # The hosts' user must reach its home directory.
        directory.chmod(0o755)
        self.directory = directory
        self.hub = Hub(directory / "hub", self._first)
        self._children: list[Child] = []
        self.hosts: list[Host] = []
        run(self.hub.client(["ip", "link", "add", "bridge0", "type", "bridge"]))
        run(self.hub.client(["ip", "address", "add", f"{LEADER}/24", "dev", "bridge0"]))
        run(self.hub.client(["ip", "link", "set", "bridge0", "up"]))
        try:
            self.servers = Host(self.hub, directory, "servers", SERVERS)
            for number in range(1, hosts + 1):
                self.hosts.append(Host(self.hub, directory, f"host{number}", f"{PREFIX}.{number}"))
            self._ssh()
        except BaseException:
            self.stop()
            raise

    @property
    def home(self) -> Path:
        """The home directory of the hosts' user."""
        return self.directory / "home"

    @property
    def ssh_config(self) -> Path:
        """A configuration of ssh in which the hosts have names."""
        return self.directory / "ssh" / "config"

    def _ssh(self) -> None:
        ssh = self.directory / "ssh"
        ssh.mkdir()
        for name in ("host", "id"):
            run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(ssh / name)])
        (ssh / "authorized").write_text((ssh / "id.pub").read_text())
        (ssh / "authorized").chmod(0o644)
        key = " ".join((ssh / "host.pub").read_text().split()[:2])
        (ssh / "known").write_text("".join(f"{host.address} {key}\n" for host in self.hosts))
        self._users(ssh)
        self.ssh_config.write_text(
            "".join(f"Host {host.name}\n  HostName {host.address}\n" for host in self.hosts)
            + f"Host *\n  User {USER}\n  IdentityFile {ssh}/id\n  IdentitiesOnly yes\n  IdentityAgent none\n"
            + f"  UserKnownHostsFile {ssh}/known\n  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n"
        )
        for host in self.hosts:
            (host.place.run_directory / "sshd").mkdir()
            config = ssh / f"sshd-{host.name}"
            settings = SSHD.format(
                address=host.address,
                key=ssh / "host",
                run=host.place.run_directory,
                authorized=ssh / "authorized",
            )
            variables = self._environments.get(host.name, {})
            if variables:
                settings += "SetEnv " + " ".join(f"{name}={value}" for name, value in variables.items()) + "\n"
            config.write_text(settings)
            run(host.place.server(["sh", "-c", BIND_USERS, str(ssh)]))
            command = host.place.server([*self._first, "/usr/sbin/sshd", "-D", "-e", "-f", str(config)])
            child = host.sshd = Child(command, ssh / f"{host.name}.log")
            self._children.append(child)
            wait_until(f"sshd of {host.name}", lambda child=child: "listening" in child.text(), 20, child)

    def _users(self, ssh: Path) -> None:
        self.home.mkdir()
        number = 64001
        os.chown(self.home, number, number)
        openssl = ["openssl", "passwd", "-6", "-stdin"]
        made = subprocess.run(openssl, input=PASSWORD, capture_output=True, text=True, check=True, timeout=20)
        hashed = made.stdout.strip()
        passwd = Path("/etc/passwd").read_text() + f"{USER}:x:{number}:{number}::{self.home}:/bin/sh\n"
        (ssh / "passwd").write_text(passwd)
        (ssh / "passwd").chmod(0o644)
        (ssh / "shadow").touch(mode=0o600)
        (ssh / "shadow").write_text(Path("/etc/shadow").read_text() + f"{USER}:{hashed}:19000:0:99999:7:::\n")

    def ssh_flags(self) -> list[str]:
        """How manometer is told of the hosts, with a key."""
        return [f"--hosts={','.join(host.name for host in self.hosts)}", f"--ssh-option=-F {self.ssh_config}"]

    def stop(self) -> None:
        """Stops the servers and removes the networks."""
        for child in self._children:
            child.stop(patience=0)
        for host in [*self.hosts, *([self.servers] if hasattr(self, "servers") else [])]:
            host.place.stop()
        self.hub.stop()
