"""A cable with a length: what enters a TUN device in one network namespace leaves one in another some time later.

Kernels without the netem queueing discipline have no other delay that is not a queue.

usage: python3 -m lab.delay_line MILLISECONDS PID NAME PID NAME     processes that hold the namespaces, and their devices
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import select
import struct
import sys
import time
from collections import deque

CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
LARGEST_PACKET = 9216
# Packets on their way in one direction; more are lost, as on any cable's end.
MOST = 10_000


def enter(pid: int) -> None:
    """This process goes into the network namespace of another."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/proc/{pid}/ns/net", "rb") as namespace:
        if libc.setns(namespace.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")


def tun(pid: int, name: str) -> int:
    """A new TUN device in a namespace."""
    enter(pid)
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return device


def carry(ends: tuple[int, int], delay: float) -> None:
    """Carries packets both ways until this process is ended."""
    under_way: tuple[deque[tuple[float, bytes]], deque[tuple[float, bytes]]] = (deque(), deque())
    while True:
        now = time.monotonic()
        for packets, out in zip(under_way, reversed(ends), strict=True):
            while packets and packets[0][0] <= now:
                try:
                    os.write(out, packets.popleft()[1])
                except OSError:
                    continue  # the device is not up yet, or full: a packet is lost
        due = [packets[0][0] for packets in under_way if packets]
        ready, _, _ = select.select(ends, [], [], max(0.0, min(due) - time.monotonic()) if due else None)
        now = time.monotonic()
        for end, packets in zip(ends, under_way, strict=True):
            while end in ready:
                try:
                    packet = os.read(end, LARGEST_PACKET)
                except BlockingIOError:
                    break
                if len(packets) < MOST:
                    packets.append((now + delay, packet))


def main() -> None:
    """Makes the devices, says so, and carries packets."""
    milliseconds, pid_near, near, pid_far, far = sys.argv[1:]
    ends = (tun(int(pid_near), near), tun(int(pid_far), far))
    print("ready", flush=True)
    carry(ends, float(milliseconds) / 1000)


if __name__ == "__main__":
    main()
