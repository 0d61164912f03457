//! The paths to a Ceph cluster: the public addresses of its OSDs, and its object gateways; and what is created to test them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use drivers::Sink;
use drivers::s3::Endpoint;
use experiment::{CephPool, GatewayUser, PROVISION_TIMEOUT_MS, PROVISIONED, Provision, ProvisionKind};
use provisioners::{CephCluster, ObjectGateway};
use targets::{ArrayPlace, CheckTarget, CheckTraits};

use super::input_error::{CheckInputError, OptionStyle};
use super::request::{CephRequest, CheckRequest};
use super::row::DataAddressFacts;
use super::row_targets::RowTarget;
use crate::error::{CheckError, While};

/// Placement groups for each OSD, so that each is the primary of some.
const GROUPS_OF_OSD: usize = 8;
/// Max number of placement groups unless the user wants more.
const MAX_GROUPS: usize = 4096;

/// What a cluster's tool creates, called as the user wants.
pub fn tool(ceph: &CephRequest, wanted: ProvisionKind) -> Provision {
    Provision {
        wanted,
        options: ceph.options.clone(),
        via: ceph.via.clone(),
        timeout_ms: PROVISION_TIMEOUT_MS,
    }
}

/// Where a cluster is checked.
pub struct CephPaths {
    /// Addresses of OSDs.
    osds: BTreeSet<IpAddr>,
    /// Gateways, each with its addresses.
    gateways: Vec<(IpAddr, CheckTarget)>,
    /// All of it in words.
    pub lines: Vec<String>,
}

impl CephPaths {
    /// What can be checked of a cluster, of what the user wants.
    ///
    /// # Errors
    /// Nothing can, or not in this way.
    pub fn of(request: &CheckRequest, ceph: &CephRequest, cluster: &CephCluster) -> Result<Self, CheckError> {
        let is_wanted =
            |address: &IpAddr| request.data_vips.is_empty() || request.data_vips.contains(address);
        let checks = |place| checked(request, place).is_some();
        let mut found = Self { osds: BTreeSet::new(), gateways: Vec::new(), lines: Vec::new() };
        for (address, osds) in
            cluster.osds.addresses().filter(|(address, _)| checks(ArrayPlace::Pool) && is_wanted(address))
        {
            found.osds.insert(address);
            let all = osds.up.len() + osds.down.len();
            let noun = if all == 1 { "OSD" } else { "OSDs" };
            let down = match osds.down.len() {
                0 => String::new(),
                down => format!(", {down} of them down"),
            };
            found.lines.push(format!("{address}: {all} {noun}{down}"));
        }
        if let Some(protocol) = checked(request, ArrayPlace::Bucket) {
            let all = found_gateways(protocol, ceph, cluster, request)?;
            found.gateways = all.into_iter().filter(|(address, _)| is_wanted(address)).collect();
            for (address, target) in &found.gateways {
                found.lines.push(format!("{address}: object gateway {}", shown(target)));
            }
            if found.gateways.is_empty() {
                found.lines.push(
                    "S3 is not checked: the cluster knows of no object gateway there; next: name one with --ceph-gateway"
                        .to_owned(),
                );
            }
            if request.load.sink == Sink::Discard && found.gateways.iter().any(|(_, target)| target.tls) {
                return Err(CheckError::Usage(
                    CheckInputError::discard_over_tls(OptionStyle::Flags).to_string(),
                ));
            }
        }
        let is_known = |address: &IpAddr| {
            found.osds.contains(address) || found.gateways.iter().any(|(known, _)| known == address)
        };
        let unknown: Vec<String> =
            request.data_vips.iter().filter(|address| !is_known(address)).map(ToString::to_string).collect();
        if unknown.is_empty() && !(found.osds.is_empty() && found.gateways.is_empty()) {
            return Ok(found);
        }
        let known: Vec<String> = cluster.osds.addresses().map(|(address, _)| address.to_string()).collect();
        let osds = if known.is_empty() { "nowhere".to_owned() } else { format!("at {}", known.join(", ")) };
        let at = if unknown.is_empty() { String::new() } else { format!(" at {}", unknown.join(", ")) };
        Err(CheckError::Failure(format!(
            "nothing of the cluster can be checked{at}; its OSDs are {osds}; next: see `ceph osd dump`, and name their public \
             addresses with --data-vip, or none"
        )))
    }

    /// The rows, by address.
    pub fn rows(&self, request: &CheckRequest, ceph: &CephRequest, cluster: &CephCluster) -> Vec<RowTarget> {
        let mut rows = Vec::new();
        if let Some(protocol) = checked(request, ArrayPlace::Pool) {
            let provision = tool(ceph, ProvisionKind::Ceph(pool(ceph, cluster)));
            let mut target = CheckTarget {
                host: String::new(),
                port: None,
                tls: false,
                name: PROVISIONED.to_owned(),
                options: BTreeMap::new(),
            };
            if request.access(protocol).is_some_and(|access| !access.options.contains_key("conf")) {
                target.options.insert("monitors".to_owned(), cluster.monitors.clone());
            }
            rows.extend(
                self.osds.iter().map(|address| row(request, protocol, *address, &target, &provision)),
            );
        }
        if let Some(protocol) = checked(request, ArrayPlace::Bucket) {
            let provision = tool(ceph, ProvisionKind::Radosgw(GatewayUser::default()));
            rows.extend(self.gateways.iter().map(|(address, target)| {
                let place = shown(target);
                RowTarget { place, ..row(request, protocol, *address, target, &provision) }
            }));
        }
        rows.sort_by_key(|row| row.path.address);
        rows
    }
}

/// The protocol that checks what is created, unless it is left out.
fn checked(request: &CheckRequest, place: ArrayPlace) -> Option<&'static CheckTraits> {
    targets::checked().find(|protocol| protocol.on_array == place && request.access(protocol).is_some())
}

/// The gateways that the user named, or those of the cluster, with their addresses.
fn found_gateways(
    protocol: &CheckTraits,
    ceph: &CephRequest,
    cluster: &CephCluster,
    request: &CheckRequest,
) -> Result<Vec<(IpAddr, CheckTarget)>, CheckError> {
    if ceph.gateways.is_empty() {
        let known = cluster.gateways.iter().map(|ObjectGateway { address, tls }| {
            let endpoint = Endpoint { tls: *tls, host: address.ip().to_string(), port: address.port() };
            (address.ip(), bucket_behind(endpoint))
        });
        return Ok(known.collect());
    }
    let mut all = Vec::new();
    for target in &ceph.gateways {
        let addresses = protocol.addresses(target, &BTreeMap::new(), request.load.connect_timeout);
        all.extend(addresses.during("--ceph-gateway")?.into_iter().map(|address| (address, target.clone())));
    }
    Ok(all)
}

/// The bucket to be created behind a gateway.
pub(super) fn bucket_behind(Endpoint { tls, host, port }: Endpoint) -> CheckTarget {
    CheckTarget { host, port: Some(port), tls, name: PROVISIONED.to_owned(), options: BTreeMap::new() }
}

/// A gateway as its users write it.
fn shown(target: &CheckTarget) -> String {
    let scheme = if target.tls { "https" } else { "http" };
    let host = if target.host.contains(':') { format!("[{}]", target.host) } else { target.host.clone() };
    target.port.map_or_else(|| format!("{scheme}://{host}"), |port| format!("{scheme}://{host}:{port}"))
}

fn row(
    request: &CheckRequest,
    protocol: &'static CheckTraits,
    address: IpAddr,
    target: &CheckTarget,
    provision: &Provision,
) -> RowTarget {
    let path = DataAddressFacts { address, subnet: None, array_mtu: None };
    let none = BTreeMap::new();
    let usual = request.access(protocol).map_or(&none, |access| &access.options);
    let row = RowTarget::new(path, protocol, target, usual, None);
    RowTarget { provision: Some(provision.clone()), ..row }
}

/// The pool to be created. Its number of placement groups stays: the cluster would move data during the check otherwise.
fn pool(ceph: &CephRequest, cluster: &CephCluster) -> CephPool {
    let enough = (cluster.osds.count() * GROUPS_OF_OSD).next_power_of_two().min(MAX_GROUPS);
    CephPool {
        pg_num: Some(ceph.pg_num.unwrap_or(enough as u32)),
        settings: BTreeMap::from([("pg_autoscale_mode".to_owned(), "off".to_owned())]),
        ..CephPool::default()
    }
}

#[cfg(test)]
#[path = "ceph_paths_tests.rs"]
mod tests;
