"""The distribution's packages that the comparisons need."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

# By a program or file of each.
PACKAGES = {
    "fio": "fio",
    "iperf3": "iperf3",
    "tgtd": "tgt",
    "iscsi-perf": "libiscsi-bin",
    "/usr/include/nfsc/libnfs.h": "libnfs-dev",
    "/usr/include/liburing.h": "liburing-dev",
}
# For the cases that need a Gluster volume, and a Ceph cluster.
GLUSTER = {"glusterd": "glusterfs-server", "glusterfs": "glusterfs-client", "fio": "fio"}
CEPH = {"ceph-mon": "ceph-mon", "ceph-mgr": "ceph-mgr", "ceph-osd": "ceph-osd", "rados": "ceph-common"}


def install(packages: dict[str, str]) -> None:
    """Installs those that are missing."""
    missing = [name for probe, name in packages.items() if not (shutil.which(probe) or Path(probe).is_file())]
    if not missing:
        return
    if os.geteuid() != 0:
        raise SystemExit(f"bench: install {' '.join(missing)} first, or run as root")
    subprocess.run(["apt-get", "update", "-qq"], check=True)
    command = ["apt-get", "-o", "DPkg::Lock::Timeout=600", "install", "-y", "-qq", "--no-install-recommends"]
    subprocess.run([*command, *missing], check=True, stdout=subprocess.DEVNULL)
