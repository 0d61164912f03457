"""What the programs of a cluster may change is made ours: mounts, kernel settings, the network."""

from __future__ import annotations

import subprocess
from pathlib import Path

# Where container programs keep what they share with nobody else's.
OWN_DIRECTORIES = ["/run", "/var/log", "/var/lib/cni"]
# What a kubelet sets for the whole machine; here it sets a copy.
KERNEL_SETTINGS = [
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
]

# The nodes' addresses, and the network namespace of each: the first is the one that we are in.
ADDRESSES = ["10.80.0.1", "10.80.0.2"]


def run(*command: str) -> None:
    """Runs a command that must succeed."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.strip()}")


def mounts(work: Path) -> None:
    """Puts our own directories and files over the machine's. Nothing of it is seen outside."""
    # A kubelet wants mounts to be shared: among ours.
    run("mount", "--make-rprivate", "/")
    run("mount", "--make-rshared", "/")
    for directory in OWN_DIRECTORIES:
        Path(directory).mkdir(parents=True, exist_ok=True)
        run("mount", "-t", "tmpfs", "tmpfs", directory)
    copies = work / "settings"
    copies.mkdir()
    for name in KERNEL_SETTINGS:
        setting = Path("/proc/sys") / name
        copy = copies / name.replace("/", "-")
        copy.write_text(setting.read_text())
        run("mount", "--bind", str(copy), str(setting))


def network() -> None:
    """Two networks with a cable between them; the second is reached by `inside`."""
    Path("/run/netns").mkdir()
    run("ip", "netns", "add", "second")
    run("ip", "link", "add", "node0", "type", "veth", "peer", "name", "node1", "netns", "second")
    for number, place in enumerate([[], ["-n", "second"]]):
        run("ip", *place, "link", "set", "lo", "up")
        run("ip", *place, "addr", "add", f"{ADDRESSES[number]}/24", "dev", f"node{number}")
        run("ip", *place, "link", "set", f"node{number}", "up")
        # A kubelet looks for a default route.
        run("ip", *place, "route", "add", "default", "via", ADDRESSES[1 - number])


def inside(number: int, command: list[str]) -> list[str]:
    """The command in a node's network. (`ip netns exec` would hide the control groups.)"""
    return command if number == 0 else ["nsenter", "--net=/run/netns/second", *command]
