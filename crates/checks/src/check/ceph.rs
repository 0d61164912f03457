//! A Ceph cluster: a pool and a user of its object gateway that its own tools create, reached through every public address.

use std::collections::BTreeMap;
use std::sync::Arc;

use experiment::{GatewayUser, ProvisionKind};
use fleet::launch::Say;
use provision::Run;
use provisioners::{CephCluster, ProvisionedItems, ToolAccess};
use runner::{Events, StopToken};
use targets::AccessKey;

use super::ceph_paths::{CephPaths, tool};
use super::plan;
use super::report::CheckedArray;
use super::request::{CephRequest, CheckRequest};
use super::row::CheckPhase;
use super::row_targets::RowTarget;
use crate::error::CheckError;

/// What is checked, where, and what was created for it.
type OnCluster = (Vec<RowTarget>, CheckedArray, ProvisionedItems);

/// Asks the cluster what there is, and creates a pool and a user of the gateway.
///
/// # Errors
/// The tools cannot be asked, there is nothing to check, or something cannot be created; what was created is removed again,
/// or stays in the journal.
pub fn provision(
    request: &CheckRequest,
    ceph: &CephRequest,
    run: &Run,
    stop: &StopToken,
    events: &Arc<dyn Events>,
) -> Result<OnCluster, CheckError> {
    let is_stopped = || stop.is_requested();
    let access = ToolAccess { login: ceph.login.clone(), stop: &is_stopped };
    let ask = tool(ceph, ProvisionKind::Radosgw(GatewayUser::default()));
    let cluster = CephCluster::ask(&ask, &access).map_err(|why| {
        CheckError::Failure(format!(
            "the Ceph cluster cannot be asked: {why}; next: run the command by hand; --ceph-via says on which host the tools \
             are, --ceph-option gives them options"
        ))
    })?;
    events.note(&format!("Ceph {}, cluster {}; run {}", cluster.version, cluster.fsid, run.id()));
    let paths = CephPaths::of(request, ceph, &cluster)?;
    for line in &paths.lines {
        events.note(line);
    }
    let mut targets = paths.rows(request, ceph, &cluster);
    let plan = plan::of_check(&request.load, &targets)?;
    let said = Arc::clone(events);
    let say: Say = Arc::new(move |line: &str| said.note(line));
    let items =
        ProvisionedItems::create(&plan, run, &ceph.login, &is_stopped, &say).map_err(CheckError::failure)?;
    let keys: BTreeMap<String, AccessKey> = items.keys().collect();
    let own = run.id().object_name();
    for (target, cells) in targets.iter_mut().zip(plan.cells.chunks_exact(CheckPhase::ALL.len())) {
        target.key = keys.get(&cells[0].target.name).cloned();
        target.url = plan.with_provisioned(&cells[0], &own).target.url;
    }
    let checked = CheckedArray {
        management: format!("Ceph cluster {}", cluster.fsid),
        api_version: cluster.version,
        address_choice: paths.lines,
        created: items.created(),
    };
    Ok((targets, checked, items))
}
