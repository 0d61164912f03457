"""nfs-ganesha with its VFS backend: one export to write to, one read-only, one that is soon full."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .lab import Lab
from .manometer import Manometer
from .place import Namespace, Place
from .portmap import FakePortmapper
from .process import Child, free_port, run, wait_until

CORE = """
NFS_CORE_PARAM {{
    Protocols = 3, 4; {bind} NFS_Port = {nfs_port}; MNT_Port = {mount_port};
    NLM_Port = 0; Rquota_Port = 0;
    Enable_NLM = false; Enable_RQUOTA = false; Enable_UDP = false; mount_path_pseudo = true; {statistics}
}}
NFS_KRB5 {{ Active_krb5 = false; }}
NFSv4 {{ Graceless = {graceless}; Grace_Period = {lease}; Lease_Lifetime = {lease}; RecoveryRoot = {recovery}; }}
LOG {{ Default_Log_Level = EVENT; }}
"""

EXPORT = """
EXPORT {{
    Export_Id = {number}; Path = {path}; Pseudo = /{name};
    Access_Type = {access}; Squash = No_Root_Squash; SecType = sys; Protocols = 3, 4; Transports = TCP;
    MaxRead = 1048576; MaxWrite = 1048576; PrefRead = 1048576; PrefWrite = 1048576;
    FSAL {{ Name = VFS; }}
}}
"""

SMALL_EXPORT_MIB = 48
# Also the grace period.
LEASE_SECONDS = 5

# Counts of calls are asked for over a bus of its own.
STATISTICS = "Enable_NFS_Stats = true; Enable_FULLV3_Stats = true; Enable_FULLV4_Stats = true;"
BUS = """<busconfig><type>custom</type><listen>{address}</listen><auth>EXTERNAL</auth><policy context="default">
<allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/><allow user="*"/></policy></busconfig>
"""

# rpcbind changes its user, which loses the signal that ends it with its parent; the first process
# of a PID namespace takes all others with it.
RPCBIND = ["unshare", "--pid", "--fork", "--kill-child", "sh", "-c", "rpcbind -f -w & wait"]


class Ganesha:
    """A running server. `portmapper` says whether a real rpcbind takes its registrations."""

    def __init__(
        self,
        place: Place,
        nfs_port: int,
        mount_port: int,
        *,
        address: str = "127.0.0.1",
        portmapper: bool = False,
        graceless: bool = True,
        statistics: bool = False,
    ) -> None:
        self.place = place
        self.nfs_port = nfs_port
        self.mount_port = mount_port
        self.url_host = f"[{address}]" if ":" in address else address
        self.portmapper = portmapper
        directory = place.directory / "ganesha"
        self.export = directory / "export"
        self._small = directory / "small"
        for path in (self.export, directory / "readonly", self._small, directory / "recovery"):
            path.mkdir(parents=True)
        config = directory / "ganesha.conf"
        exports = [("export", "RW"), ("readonly", "RO"), ("small", "RW")]
        # With nothing but loopback, ganesha's look-up of any Bind_addr fails (AI_ADDRCONFIG), and
        # inside a namespace listening on every address is harmless.
        bind = "" if isinstance(place, Namespace) else f"Bind_addr = {address};"
        config.write_text(
            CORE.format(
                bind=bind,
                nfs_port=nfs_port,
                mount_port=mount_port,
                recovery=directory / "recovery",
                graceless=str(graceless).lower(),
                lease=LEASE_SECONDS,
                statistics=STATISTICS if statistics else "",
            )
            + "".join(
                EXPORT.format(number=number, path=directory / name, name=name, access=access)
                for number, (name, access) in enumerate(exports, start=1)
            )
        )
        self._portmap: FakePortmapper | Child
        if portmapper:
            (place.run_directory / "rpcbind").mkdir()
            self._portmap = Child(place.server(RPCBIND), directory / "rpcbind.log")
            wait_until("rpcbind", (place.run_directory / "rpcbind.sock").exists, 10, self._portmap)
        else:
            self._portmap = FakePortmapper(place.run_directory / "rpcbind.sock")
        self._directory = directory
        self.log = directory / "ganesha.log"
        self._bus: Child | None = None
        self._env = dict(os.environ)
        if statistics:
            socket = directory / "bus"
            self._env["DBUS_SYSTEM_BUS_ADDRESS"] = f"unix:path={socket}"
            bus = directory / "bus.conf"
            bus.write_text(BUS.format(address=f"unix:path={socket}"))
            command = ["dbus-daemon", f"--config-file={bus}", "--nofork", "--nopidfile"]
            self._bus = Child(command, directory / "bus.log")
            wait_until("dbus-daemon", socket.exists, 10, self._bus)
        self.start()

    def start(self) -> None:
        """Starts the server, also again after its process was stopped; the small export is new then."""
        log = self.log
        log.write_text("")
        command = (
            f"mount -t tmpfs -o size={SMALL_EXPORT_MIB}m tmpfs {self._small} && exec ganesha.nfsd "
            f"-F -f {self._directory}/ganesha.conf -p {self._directory}/ganesha.pid -L {log}"
        )
        private = ["unshare", "--mount", "--propagation", "private", "sh", "-c", command]
        self.child = Child(self.place.server(private), self._directory / "stdout.log", env=self._env)
        wait_until("nfs-ganesha", lambda: "NFS SERVER INITIALIZED" in log.read_text(), 30, self.child)

    @property
    def small(self) -> Path:
        """The small export, seen through the server's own mounts."""
        return Path(f"/proc/{self.child.pid}/root{self._small}")

    def url(self, export: str = "export") -> str:
        """The export as `manometer check --nfs` takes it."""
        return f"nfs://{self.url_host}/{export}"

    def target(self, version: str = "3") -> str:
        """The export as a target in an experiment file."""
        more = f"mount_port: {self.mount_port}" if version == "3" else f"version: '{version}'"
        return f"url: 'nfs://{self.url_host}:{self.nfs_port}/export', {more}"

    def port_flags(self) -> list[str]:
        """How manometer is told the ports; nothing when the portmapper knows them."""
        if self.portmapper:
            return []
        return [f"--nfs-port={self.nfs_port}", f"--mount-port={self.mount_port}"]

    def files(self, path: str) -> dict[str, int]:
        """Names and sizes below `path`, as libnfs' nfs-ls sees them over the wire."""
        given = f"?version=3&nfsport={self.nfs_port}&mountport={self.mount_port}"
        url = f"{self.url('export')}{path}{'' if self.portmapper else given}"
        listing: dict[str, int] = {}
        for line in run(self.place.client(["nfs-ls", url]), 30).splitlines():
            words = line.split()  # mode, links, uid, gid, size, name
            listing[words[5]] = int(words[4])
        return listing

    def statistics(self, version: str) -> Counter[str]:
        """Calls so far by procedure, with version 4.1 by operation."""
        method = "GetFULLV3Stats" if version == "3" else "GetFULLV4Stats"
        call = ["dbus-send", "--system", "--print-reply", "--dest=org.ganesha.nfsd", "/org/ganesha/nfsd/ExportMgr"]
        text = run([*call, f"org.ganesha.nfsd.exportstats.{method}"], 10, self._env)
        found = re.findall(r'struct \{\s+string "(\w+)"\s+uint64 (\d+)', text)
        return Counter({name: int(count) for name, count in found if name != "None"})

    def stop(self) -> None:
        """Stops the server, its portmapper and its bus."""
        self.child.stop()
        if self._bus:
            self._bus.stop()
        if isinstance(self._portmap, Child):
            self._portmap.stop(patience=0)  # unshare, which holds it, ignores polite requests
        else:
            self._portmap.stop()


@contextmanager
def served(lab: Lab, *, graceless: bool = True, statistics: bool = False) -> Iterator[tuple[Ganesha, Manometer]]:
    """A server on free ports of the loopback address, and the program beside it."""
    with lab.directory() as directory:
        place = Place(directory)
        ganesha = Ganesha(place, free_port(), free_port(), graceless=graceless, statistics=statistics)
        try:
            yield ganesha, Manometer(lab.manometer, place)
        finally:
            ganesha.stop()
