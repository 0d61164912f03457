"""The servers that both sides use, pinned to a core of their own."""

from __future__ import annotations

import functools
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from email.message import Message
from pathlib import Path

from .measure import SERVER_CORE, core, on_core
from .packages import CEPH, GLUSTER, install

# SIGKILL for the server when the benchmark ends, however it ends.
DIE_WITH_PARENT = ["setpriv", "--pdeathsig", "KILL"]


def free_port() -> int:
    """A TCP port that is free right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(what: str, holds: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """Waits for a condition; fails when the server ends first, or after 30 s."""
    deadline = time.monotonic() + 30
    while not holds():
        if process.poll() is not None:
            raise RuntimeError(f"{process.args!r} ended with {process.returncode}")
        if time.monotonic() > deadline:
            raise RuntimeError(f"{what}: not within 30 s")
        time.sleep(0.02)


def accepts(port: int) -> bool:
    """Whether anything listens on the port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def started(command: Sequence[str], env: dict[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a server on the server's core for as long as the block lasts."""
    process = subprocess.Popen(
        on_core(SERVER_CORE, [*DIE_WITH_PARENT, *command]),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env=os.environ | (env or {}),
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def listening(command: Sequence[str], port: int, env: dict[str, str] | None = None) -> Iterator[None]:
    """The same, once it listens on the port."""
    with started(command, env) as process:
        wait_until(f"{command[0]} listens", lambda: accepts(port), process)
        yield


@dataclass(frozen=True)
class Nfs:
    """An export that both sides mount."""

    export: str
    nfs_port: int
    mount_port: int
    # Whether the server also speaks version 4.1.
    v41: bool = False

    @property
    def libnfs_url(self) -> str:
        """The export in libnfs' form."""
        return f"nfs://127.0.0.1{self.export}?version=3&nfsport={self.nfs_port}&mountport={self.mount_port}"


@dataclass(frozen=True)
class S3:
    """A bucket that both sides use."""

    port: int
    bucket: str
    access_key: str
    secret_key: str

    @property
    def keys(self) -> dict[str, str]:
        """The keys as environment variables."""
        return {"AWS_ACCESS_KEY_ID": self.access_key, "AWS_SECRET_ACCESS_KEY": self.secret_key}


@dataclass(frozen=True)
class Rados:
    """A pool that both sides use."""

    conf: Path
    name: str


@dataclass(frozen=True)
class Gluster:
    """A volume that both sides use."""

    host: str
    name: str
    mount: Path

    def lay_out(self, name: str, mebibytes: int) -> None:
        """Makes a file of random bytes in it, unless it is there."""
        file = self.mount / name
        if not file.exists() or file.stat().st_size != mebibytes << 20:
            file.write_bytes(os.urandom(1 << 20) * mebibytes)


@dataclass(frozen=True)
class Iscsi:
    """A logical unit of tgtd's, a file of random bytes."""

    port: int
    target: str
    lun: int
    mib: int
    # As libiscsi's tools take it.
    url: str


@dataclass(frozen=True)
class Servers:
    """All running servers."""

    nfs: Nfs
    s3: S3
    iscsi: Iscsi
    # A Ceph cluster starts when it is first asked for: its daemons would take time of the core from all other cases.
    rados: Callable[[], Rados]
    gluster: Callable[[], Gluster]
    tcp_port: int
    iperf3_port: int


LAB = Path(__file__).resolve().parents[2] / "tests" / "real"
UNIT_MIB = 64


@contextmanager
def iscsi_target(directory: Path) -> Iterator[Iscsi]:
    """tgtd as the real-server tests start it, on the server's core."""
    sys.path.insert(0, str(LAB))
    from lab.place import Place
    from lab.tgt import NAME, target

    with target(Place(directory)) as tgt:
        tgt.images[1].write_bytes(os.urandom(1 << 20) * UNIT_MIB)
        move = ["taskset", "--all-tasks", "--cpu-list", "--pid", core(SERVER_CORE), str(tgt.child.pid)]
        subprocess.run(move, check=True, stdout=subprocess.DEVNULL)
        yield Iscsi(tgt.port, NAME, 1, UNIT_MIB, tgt.url(1))


def ceph(directory: Path, stack: ExitStack) -> Callable[[], Rados]:
    """Starts a Ceph cluster as the real-server tests do, on the server's core, with room for what a window writes."""

    @functools.cache
    def start() -> Rados:
        install(CEPH)
        sys.path.insert(0, str(LAB))
        from lab.ceph import POOL, Cluster

        # Daemons inherit the core.
        cores = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {int(core(SERVER_CORE))})
        try:
            # What has started ends with a failure, and the next case tries again.
            with ExitStack() as daemons:
                place = Path(tempfile.mkdtemp(prefix="ceph-", dir=directory))
                # Nominal: a cluster near its limit refuses writes, and removals too, until its next report of what is free.
                cluster = Cluster(place / "ceph", daemons, device_bytes=64 << 30)
                stack.push(daemons.pop_all())
        finally:
            os.sched_setaffinity(0, cores)
        return Rados(cluster.conf, POOL)

    return start


def volume(directory: Path, stack: ExitStack) -> Callable[[], Gluster]:
    """Starts a Gluster volume of four bricks as the real-server tests do, on the server's core."""

    @functools.cache
    def start() -> Gluster:
        install(GLUSTER)
        sys.path.insert(0, str(LAB))
        from lab.gluster_costs import VOLUME, Volume

        # Daemons inherit the core.
        cores = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {int(core(SERVER_CORE))})
        try:
            with ExitStack() as daemons:
                started = Volume(Path(tempfile.mkdtemp(prefix="gluster-", dir=directory)), daemons)
                stack.push(daemons.pop_all())
        finally:
            os.sched_setaffinity(0, cores)
        return Gluster(started.address, VOLUME, started.mount)

    return start


@contextmanager
def tcp_receivers(bench: Path) -> Iterator[tuple[int, int]]:
    """Our receiver and iperf3's; their ports."""
    ours, theirs = free_port(), free_port()
    with (
        listening([str(bench), "tcp-receive", f"--on=127.0.0.1:{ours}"], ours),
        listening(["iperf3", "--server", f"--port={theirs}", "--logfile=/dev/null"], theirs),
    ):
        yield ours, theirs


@contextmanager
def real_servers(lab: Path, versitygw: Path, bench: Path) -> Iterator[Servers]:
    """nfs-ganesha and versitygw, as the real-server tests start them."""
    sys.path.insert(0, str(lab))
    from lab.ganesha import Ganesha
    from lab.place import Place

    keys = {"ROOT_ACCESS_KEY_ID": "benchaccesskey", "ROOT_SECRET_ACCESS_KEY": "benchsecretkey"}
    with tempfile.TemporaryDirectory(prefix="manometer-bench-") as name, ExitStack() as stack:
        directory = Path(name)
        data = directory / "buckets"
        (data / "bench").mkdir(parents=True)
        ganesha = Ganesha(Place(directory), free_port(), free_port())
        stack.callback(ganesha.stop)
        pid = str(ganesha.child.pid)
        move = ["taskset", "--all-tasks", "--cpu-list", "--pid", core(SERVER_CORE), pid]
        subprocess.run(move, check=True, stdout=subprocess.DEVNULL)
        port = free_port()
        command = [str(versitygw), f"--port=127.0.0.1:{port}", "--quiet", "posix", str(data)]
        stack.enter_context(listening(command, port, keys))
        unit = stack.enter_context(iscsi_target(directory / "iscsi"))
        rados, gluster = ceph(directory, stack), volume(directory, stack)
        tcp = stack.enter_context(tcp_receivers(bench))
        s3 = S3(port, "bench", "benchaccesskey", "benchsecretkey")
        yield Servers(Nfs("/export", ganesha.nfs_port, ganesha.mount_port, v41=True), s3, unit, rados, gluster, *tcp)


@contextmanager
def array(manometer: Path, bench: Path) -> Iterator[Servers]:
    """The simulated array with one file system, one bucket and the keys to it."""
    with tempfile.TemporaryDirectory(prefix="manometer-bench-") as name, ExitStack() as stack:
        ready = Path(name) / "ready.json"
        flags = ["--management=127.0.0.1:0", "--plain-http", "--data=127.0.0.1", f"--ready-file={ready}"]
        command = [str(manometer), "array", *flags, "--capacity=6GiB"]
        process = stack.enter_context(started(command))
        wait_until(f"{ready} exists", ready.exists, process)
        facts = json.loads(ready.read_text())
        keys = targets(facts["management_url"], facts["token"])
        data = facts["data"][0]
        unit = stack.enter_context(iscsi_target(Path(name) / "iscsi"))
        rados, gluster = ceph(Path(name), stack), volume(Path(name), stack)
        tcp = stack.enter_context(tcp_receivers(bench))
        s3 = S3(data["s3_port"], "bench", keys["name"], keys["secret_access_key"])
        yield Servers(Nfs("/bench", data["nfs_port"], data["mount_port"]), s3, unit, rados, gluster, *tcp)


def targets(url: str, token: str) -> dict[str, str]:
    """Creates what both sides use, through the array's own management API; returns the access key."""

    def post(path: str, body: object, headers: dict[str, str]) -> tuple[dict[str, str], Message]:
        data = json.dumps(body).encode()
        headers |= {"Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(f"{url}{path}", data, headers), timeout=10) as answer:
            return dict(json.loads(answer.read() or "{}").get("items", [{}])[0]), answer.headers

    session = {"x-auth-token": post("/api/login", {}, {"api-token": token})[1]["x-auth-token"]}
    nfs = {"v3_enabled": True, "rules": "*(rw,no_root_squash)"}
    post("/api/2.29/file-systems?names=bench", {"provisioned": 4 << 30, "nfs": nfs}, session)
    post("/api/2.29/object-store-accounts?names=bench", {}, session)
    post("/api/2.29/object-store-users?names=bench/bench&full_access=true", {}, session)
    post("/api/2.29/buckets?names=bench", {"account": {"name": "bench"}}, session)
    return post("/api/2.29/object-store-access-keys", {"user": {"name": "bench/bench"}}, session)[0]
