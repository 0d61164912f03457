"""A Ceph cluster of this machine: one monitor, one manager, and OSDs that hold their objects in memory or on disks."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .place import Place
from .process import Child, free_port, run, wait_until

POOL = "bench"
ADDRESS = "127.0.0.1"
PLACEMENT_GROUPS = 16

CONFIGURATION = """[global]
fsid = {fsid}
mon host = [v2:{address}:{port},v1:{address}:{old_port}]
mon initial members = a
public addr = {address}
cluster addr = {address}
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
keyring = {directory}/keyring
log file = {directory}/log/$name.log
run dir = {directory}/run
admin socket = {directory}/run/$name.$pid.asok
osd pool default size = 2
osd pool default min size = 1
osd crush chooseleaf type = 0
osd pool default pg autoscale mode = off
mon allow pool delete = true
mon allow pool size one = true
mon warn on pool no redundancy = false
auth allow insecure global id reclaim = false
mon data avail warn = 1
mon data avail crit = 1
mon osd min down reporters = 1
paxos propose interval = 0.05
paxos min wait = 0.01
mgr stats period = 1
mgr tick period = 1
osd pg stat report interval max = 1
osd mon report interval = 1
osd heartbeat interval = 1
osd heartbeat grace = 5
[mon]
mon tick interval = 1
mon data = {directory}/mon
mon cluster log file = {directory}/log/cluster.log
[mgr]
mgr data = {directory}/mgr
mgr initial modules =
[osd]
osd data = {directory}/osd.$id
osd objectstore = memstore
memstore device bytes = {device_bytes}
memstore page set = false
bluestore block size = 1073741824
bluestore block create = true
osd memory target = 939524096
osd class load list = *
osd class default list = *
[client]
log file = {directory}/log/client.log
"""


@dataclass(frozen=True)
class OnDisk:
    """Where an OSD runs that keeps its objects on a disk."""

    # The file system of the disk.
    disk: Path
    address: str
    # Wraps the command, so that it runs on its host.
    wrap: Callable[[list[str]], list[str]]


class Cluster:
    """A running cluster with its admin's keyring: with so many OSDs in memory, each of `device_bytes`, or with one on each disk, or
    with one in memory at each of `addresses`.

    The monitor and the commands are at `place`, which has `address`. There is one pool of two copies, `bench`, unless disks are given.
    """

    def __init__(
        self,
        directory: Path,
        stack: ExitStack,
        osds: int = 3,
        device_bytes: int = 1 << 30,
        *,
        disks: Sequence[OnDisk] = (),
        addresses: Sequence[str] = (),
        place: Place | None = None,
        address: str = ADDRESS,
    ) -> None:
        self.directory = directory
        self._place = place
        self.conf = directory / "ceph.conf"
        keyring = directory / "keyring"
        for name in ["mon", "mgr", "run", "log"]:
            (directory / name).mkdir(parents=True)
        fsid, port, old_port = str(uuid.uuid4()), free_port(), free_port()
        self.conf.write_text(
            CONFIGURATION.format(
                fsid=fsid,
                address=address,
                port=port,
                old_port=old_port,
                directory=directory,
                device_bytes=device_bytes,
            )
        )
        self._env = os.environ | {"CEPH_CONF": str(self.conf)}
        every = [word for caps in ("mon", "osd", "mgr") for word in ("--cap", caps, "allow *")]
        self._run("ceph-authtool", "--create-keyring", str(keyring), "--gen-key", "-n", "mon.", "--cap", "mon", "allow *")
        self._run("ceph-authtool", str(keyring), "--gen-key", "-n", "client.admin", *every)
        of_monitor = f"[v2:{address}:{port},v1:{address}:{old_port}]"
        monitors = str(directory / "monmap")
        self._run("monmaptool", "--create", "--fsid", fsid, "--addv", "a", of_monitor, monitors)
        self._run("ceph-mon", "--mkfs", "-i", "a", "--monmap", monitors, "--keyring", str(keyring))
        # The monitor ends last: OSDs that end look for it.
        self._daemon(stack, self._here, "ceph-mon", "a")
        key = str(directory / "mgr" / "keyring")
        caps = ["mon", "allow profile mgr", "osd", "allow *", "mds", "allow *"]
        self.ask("auth", "get-or-create", "mgr.x", *caps, "-o", key)
        self._daemon(stack, self._here, "ceph-mgr", "x", "--keyring", key)
        if disks:
            self.osds = [self._osd(stack, number, on) for number, on in enumerate(disks)]
            return
        at = addresses or [address] * osds
        self.osds = [self._osd(stack, number, public=public) for number, public in enumerate(at)]
        self.ask("osd", "pool", "create", POOL, str(PLACEMENT_GROUPS), str(PLACEMENT_GROUPS), "replicated")
        self.ask("osd", "pool", "application", "enable", POOL, "manometer")
        wait_until("clean placement groups", self._is_clean, 60, self.osds[0])

    def url(self, pool: str = POOL, **options: str) -> str:
        """The URL of a pool."""
        query = "".join(f"&{name}={value}" for name, value in options.items())
        return f"rados://{pool}?conf={self.conf}{query}"

    def ask(self, *words: str) -> str:
        """What `ceph` answers."""
        return self._run("ceph", "--connect-timeout", "30", *words)

    def rados(self, *words: str) -> str:
        """What `rados` answers about the pool."""
        return self._run("rados", "-p", POOL, *words)

    def rbd(self, *words: str) -> str:
        """What `rbd` answers."""
        return self._run("rbd", *words)

    def images(self) -> list[str]:
        """Names of the images of the pool."""
        return sorted(self.rbd("ls", POOL).split())

    def objects(self) -> list[tuple[str, str]]:
        """Namespaces and names of all objects of the pool."""
        lines = self.rados("ls", "--all").splitlines()
        return sorted((namespace, name) for namespace, name in (line.split("\t")[:2] for line in lines))

    def size(self, namespace: str, name: str) -> int:
        """The size of an object."""
        return int(self.rados("-N", namespace, "stat", name).rsplit(" ", 1)[1])

    def usage(self) -> dict[str, Any]:
        """The pool's row of `rados df`."""
        pools = json.loads(self._run("rados", "df", "--format=json"))["pools"]
        return dict(next(pool for pool in pools if pool["name"] == POOL))

    def _osd(self, stack: ExitStack, number: int, on: OnDisk | None = None, public: str = ADDRESS) -> Child:
        directory = self.directory / f"osd.{number}"
        # The object store in memory adds up its bytes without a lock. When threads lose each other's updates, an empty OSD may count fewer
        # than none, and is full (MemStore::used_bytes).
        flags = [f"--public-addr={public}", "--osd-op-num-shards=1", "--osd-op-num-threads-per-shard=1"]
        if on is not None:
            directory.symlink_to(on.disk)
            flags = ["--osd-objectstore=bluestore", f"--public-addr={on.address}", f"--cluster-addr={on.address}"]
        directory.mkdir(exist_ok=on is not None)
        own, secret = str(uuid.uuid4()), self._run("ceph-authtool", "--gen-print-key").strip()
        secrets = directory / "secrets.json"
        secrets.write_text(json.dumps({"cephx_secret": secret}))
        self.ask("osd", "new", own, "-i", str(secrets))
        keyring = str(directory / "keyring")
        caps = ["--cap", "mon", "allow profile osd", "--cap", "osd", "allow *", "--cap", "mgr", "allow profile osd"]
        name = f"osd.{number}"
        self._run("ceph-authtool", "--create-keyring", keyring, "--name", name, "--add-key", secret, *caps)
        self._run("ceph-osd", "-i", str(number), "--mkfs", "--osd-uuid", own, "--keyring", keyring, *flags)
        wrap = self._here if on is None else on.wrap
        return self._daemon(stack, wrap, "ceph-osd", str(number), "--keyring", keyring, *flags)

    def _daemon(
        self, stack: ExitStack, wrap: Callable[[list[str]], list[str]], program: str, name: str, *flags: str
    ) -> Child:
        command = wrap([program, "-f", "-i", name, *flags])
        child = Child(command, self.directory / f"{program}.{name}.out", env=self._env)
        stack.callback(child.stop)
        return child

    def _here(self, command: list[str]) -> list[str]:
        return command if self._place is None else self._place.client(command)

    def _run(self, *command: str) -> str:
        return run(self._here(list(command)), env=self._env)

    def _is_clean(self) -> bool:
        groups = json.loads(self.ask("status", "--format=json"))["pgmap"]
        clean = {state["state_name"]: state["count"] for state in groups.get("pgs_by_state", [])}
        total = int(groups["num_pgs"])
        return total >= PLACEMENT_GROUPS and clean.get("active+clean") == total
