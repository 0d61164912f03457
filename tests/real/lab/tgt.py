"""tgtd, the iSCSI target in user space: units in files, accounts, and what its own tools see."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .blocks import image
from .place import Place
from .process import Child, answers, free_port, run, wait_until

NAME = "iqn.2026-01.lab:real"
MIB = 1 << 20


class Tgt:
    """A running tgtd with one target of two units, 64 and 16 MiB."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.port = free_port()
        # Of the file in /run through which tgtadm talks to it; /run is the scenario's own.
        self.control = str(random.randrange(1, 30_000))
        self.images = {1: image(place.directory / "lun1.img", 64), 2: image(place.directory / "lun2.img", 16)}
        self.accounts: list[list[str]] = []
        (place.run_directory / "tgtd").mkdir(exist_ok=True)
        self.child = self._started()

    def _started(self) -> Child:
        portal = f"portal=127.0.0.1:{self.port}"
        command = ["tgtd", "-f", "-C", self.control, "--iscsi", portal]
        child = Child(self.place.server(command), self.place.directory / "tgtd.log")
        wait_until("tgtd", lambda: answers("127.0.0.1", self.port), 30, child)
        self.admin("new", "target", "--tid", "1", "-T", NAME)
        for number, backing in self.images.items():
            self.admin("new", "logicalunit", "--tid", "1", "--lun", str(number), "-b", str(backing), "--bstype", "rdwr")
            thin = ["--lun", str(number), "--params", "thin_provisioning=1"]
            self.admin("update", "logicalunit", "--tid", "1", *thin)
        self.admin("bind", "target", "--tid", "1", "-I", "ALL")
        for account in self.accounts:
            self._bind(account)
        return child

    def admin(self, op: str, mode: str, *arguments: str) -> str:
        """What tgtadm says."""
        command = ["tgtadm", "-C", self.control, "--lld", "iscsi", "--op", op, "--mode", mode, *arguments]
        return run(self.place.server(command))

    def _bind(self, account: list[str]) -> None:
        user, secret, *direction = account
        self.admin("new", "account", "--user", user, "--password", secret)
        self.admin("bind", "account", "--tid", "1", "--user", user, *direction)

    def account(self, user: str, secret: str, *, outgoing: bool = False) -> None:
        """Whoever logs in must know a secret; with `outgoing`, the target proves that it knows one."""
        self.accounts.append([user, secret, *(["--outgoing"] if outgoing else [])])
        self._bind(self.accounts[-1])

    def url(self, lun: int = 1, user: str = "") -> str:
        """The unit's URL, which libiscsi's tools understand too."""
        return f"iscsi://{user}127.0.0.1:{self.port}/{NAME}/{lun}"

    def capacity(self, lun: int) -> int:
        """The unit's size as libiscsi sees it."""
        said = run(["iscsi-readcapacity16", "--size", self.url(lun)])
        return int(said.split()[-1])

    def sessions(self) -> int:
        """Initiators that are logged in."""
        return self.admin("show", "conn", "--tid", "1").count("Session:")

    def sessions_of(self, name: str) -> int:
        """Initiators that are logged in to the target with this name."""
        whole = self.admin("show", "target").split(f": {name}\n", 1)
        return whole[1].split("\nTarget ")[0].count("I_T nexus:") if len(whole) > 1 else 0

    def restart(self) -> None:
        """Kills it, and starts it again with the same units."""
        self.child.signal(signal.SIGKILL)
        self.child.stop(0)
        self.child = self._started()

    def content(self, lun: int) -> bytes:
        """What the unit's file holds."""
        return Path(self.images[lun]).read_bytes()


@contextmanager
def target(place: Place) -> Iterator[Tgt]:
    """A target that goes away."""
    tgt = Tgt(place)
    try:
        yield tgt
    finally:
        tgt.child.stop()
