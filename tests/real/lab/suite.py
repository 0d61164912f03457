"""All scenarios, and what else may run beside each."""

from __future__ import annotations

from types import ModuleType

from . import (
    api_checks,
    check_ceph,
    file_checks,
    fio_checks,
    fio_remote_checks,
    fleet_checks,
    fleet_clocks,
    fleet_faults,
    gluster_checks,
    gluster_costs,
    interop_checks,
    iscsi_checks,
    memcached_checks,
    metrics_checks,
    network_checks,
    nfs_checks,
    nfs_costs,
    nfs_mix,
    nfs_passes,
    nfs_sessions,
    osd_study,
    path_checks,
    path_more_checks,
    plot_checks,
    provision_ceph_checks,
    provision_checks,
    rados_checks,
    rados_keys_checks,
    radosgw_checks,
    rbd_checks,
    s3_checks,
    s3_operation_checks,
    s3_policy_checks,
    storperf_checks,
    verdict_checks,
)
from .report import Scenario
from .turns import Entry, Turn

# These wait for servers, disks and faults; what they check are contents, counts and messages.
BESIDE_OTHERS: list[ModuleType] = [
    fleet_faults,
    gluster_costs,
    nfs_checks,
    nfs_costs,
    nfs_mix,
    nfs_passes,
    nfs_sessions,
    s3_checks,
    s3_operation_checks,
    s3_policy_checks,
    memcached_checks,
    iscsi_checks,
    rados_checks,
    rados_keys_checks,
    gluster_checks,
    rbd_checks,
    provision_checks,
    provision_ceph_checks,
    check_ceph,
    radosgw_checks,
    interop_checks,
    api_checks,
    file_checks,
    fio_checks,
    fio_remote_checks,
    plot_checks,
    storperf_checks,
    metrics_checks,
]
# These measure links and paths that are limited far below what this machine can do.
BESIDE_MEASURING: list[ModuleType] = [path_checks, path_more_checks, network_checks, verdict_checks]
# These measure speeds, clocks or skews.
ALONE: list[ModuleType] = [fleet_checks, fleet_clocks, osd_study]
ALSO_ALONE = {
    # It holds the length of a job under load against ten seconds.
    "fio nfs guide",
    # The processors are the limit here, or nearly.
    "verdict client with a processor quota",
    "verdict client's cores busy with others",
    "verdict small packets",
    "verdict one slow path of four",
    "verdict too few operations in flight",
    "verdict target that does nothing",
    "verdict card that others use",
    "verdict eight agents on one host",
    "verdict a rate with too few lanes",
    # The disk is looked at, which is the whole machine's.
    "verdict disk limited by a control group",
    "verdict disk that others use",
    "verdict disk quota far above the load",
    "verdict disk quota on reads while the load writes",
}
# Nothing in these depends on when something happens.
TIMING_FREE: list[ModuleType] = [fio_checks]
ALSO_TIMING_FREE = {"paths wrong sources", "api client types", "interop kubernetes", "file-guard", "fio shapes"}


def turn(module: ModuleType, name: str) -> Turn:
    """What else may run beside this scenario."""
    if module in ALONE or name in ALSO_ALONE:
        return Turn.ALONE
    return Turn.BESIDE_MEASURING if module in BESIDE_MEASURING else Turn.BESIDE_OTHERS


def scenarios() -> dict[Entry, Scenario]:
    """Every scenario with what is known of it."""
    found: dict[Entry, Scenario] = {}
    for module in BESIDE_OTHERS + BESIDE_MEASURING + ALONE:
        for name, scenario in module.SCENARIOS.items():
            timing_free = module in TIMING_FREE or name in ALSO_TIMING_FREE
            found[Entry(name, turn(module, name), timing_free)] = scenario
    unknown = (ALSO_ALONE | ALSO_TIMING_FREE) - {entry.name for entry in found}
    if unknown:
        raise KeyError(f"suite.py names scenarios that do not exist: {', '.join(sorted(unknown))}")
    return found
