"""All scenarios, and which of them run beside others."""

from __future__ import annotations

from types import ModuleType

from . import (
    api_checks,
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
    nfs_sessions,
    osd_study,
    path_checks,
    path_more_checks,
    plot_checks,
    provision_checks,
    rados_checks,
    rados_keys_checks,
    rbd_checks,
    s3_checks,
    s3_operation_checks,
    s3_policy_checks,
    storperf_checks,
    verdict_checks,
)
from .report import Scenario
from .turns import Entry

# These wait for servers, disks and faults; what they check are contents, counts and messages.
BESIDE_OTHERS: list[ModuleType] = [
    fleet_faults,
    gluster_costs,
    nfs_checks,
    nfs_costs,
    nfs_mix,
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
    interop_checks,
    api_checks,
    file_checks,
    fio_checks,
    fio_remote_checks,
    plot_checks,
    storperf_checks,
    metrics_checks,
]
# These measure speeds, clocks or skews.
ALONE: list[ModuleType] = [
    path_checks,
    path_more_checks,
    fleet_checks,
    fleet_clocks,
    network_checks,
    osd_study,
    verdict_checks,
]
# It holds the length of a job under load against ten seconds.
ALSO_ALONE = {"fio nfs guide"}
# Nothing in these depends on when something happens.
TIMING_FREE: list[ModuleType] = [fio_checks]
ALSO_TIMING_FREE = {"paths wrong sources", "api client types", "interop kubernetes", "file-guard", "fio shapes"}


def scenarios() -> dict[Entry, Scenario]:
    """Every scenario with what is known of it; those that run alone come last."""
    found: dict[Entry, Scenario] = {}
    for module in BESIDE_OTHERS + ALONE:
        for name, scenario in module.SCENARIOS.items():
            alone = module in ALONE or name in ALSO_ALONE
            timing_free = module in TIMING_FREE or name in ALSO_TIMING_FREE
            found[Entry(name, alone, timing_free)] = scenario
    return found
