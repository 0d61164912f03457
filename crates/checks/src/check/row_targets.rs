//! From addresses, exports and buckets to the list of targets to check, in report order.

use std::collections::BTreeMap;
use std::net::IpAddr;

use experiment::Provision;
use provision::DataInterface;
use targets::{AccessKey, CheckTarget, CheckTraits, Secrets, TargetError};

use super::request::{CheckAccess, CheckRequest, ExistingTarget};
use super::row::DataAddressFacts;
use crate::array_places::{AddressPorts, ArrayPlaces};

/// A future row: an address, a protocol, and how to reach it.
#[derive(Clone, Debug)]
pub struct RowTarget {
    /// The address and what is known about it.
    pub path: DataAddressFacts,
    /// The protocol.
    pub protocol: &'static CheckTraits,
    /// The export, the bucket or the pool; what tells it from others with its protocol and address.
    pub place: String,
    /// The target through this address, as in an experiment file; without credentials.
    pub url: String,
    /// Its options.
    pub options: BTreeMap<String, String>,
    /// Its credentials, if it needs any.
    pub key: Option<AccessKey>,
    /// What the check creates for it by the tools of a server.
    pub provision: Option<Provision>,
}

impl RowTarget {
    /// Protocol and address, such as `nfs 10.0.0.1`.
    pub fn label(&self) -> String {
        format!("{} {}", self.protocol.kind.scheme, self.path.address)
    }

    pub(super) fn new(
        path: DataAddressFacts,
        protocol: &'static CheckTraits,
        target: &CheckTarget,
        usual: &BTreeMap<String, String>,
        key: Option<AccessKey>,
    ) -> Self {
        let (url, options) = protocol.through(target, path.address, usual);
        Self { path, protocol, place: target.name.clone(), url, options, key, provision: None }
    }
}

/// The rows of an array: one per address and protocol.
pub fn on_array(
    request: &CheckRequest,
    addresses: &[DataInterface],
    made: &ArrayPlaces,
    ports: &AddressPorts,
) -> Vec<RowTarget> {
    let facts = |address: IpAddr| {
        let known = addresses.iter().find(|known| known.address == address);
        DataAddressFacts {
            address,
            subnet: known.map(|known| known.subnet.clone()),
            array_mtu: known.and_then(|known| known.mtu),
        }
    };
    let chosen: Vec<DataAddressFacts> = if request.data_vips.is_empty() {
        addresses.iter().map(|known| facts(known.address)).collect()
    } else {
        request.data_vips.iter().copied().map(facts).collect()
    };
    let row = |path: &DataAddressFacts, protocol: &'static CheckTraits| {
        let access = request.access(protocol)?;
        let (name, key) = made.get(&protocol.on_array)?;
        let (port, options) = match ports.get(&(path.address, protocol.on_array)) {
            Some((port, options)) => (Some(*port), options.clone()),
            None => (access.port, BTreeMap::new()),
        };
        let (host, tls, name) = (path.address.to_string(), access.tls, name.clone());
        let target = CheckTarget { host, port, tls, name, options };
        Some(RowTarget::new(path.clone(), protocol, &target, &access.options, key.clone()))
    };
    chosen
        .iter()
        .flat_map(|path| targets::checked().filter_map(move |protocol| row(path, protocol)))
        .collect()
}

/// The addresses of a target are not known.
#[derive(Debug, thiserror::Error)]
#[error("--{scheme}: {why}")]
pub struct RowAddressError {
    /// The flag that names the target.
    pub scheme: &'static str,
    /// Why.
    pub why: TargetError,
}

/// The rows of existing targets. `secrets` has credentials for the scheme of each protocol that needs them.
///
/// # Errors
/// A host has no address, or a cluster does not answer.
pub fn existing(
    request: &CheckRequest,
    given: &[ExistingTarget],
    secrets: &dyn Secrets,
) -> Result<Vec<RowTarget>, RowAddressError> {
    let mut rows = Vec::new();
    for protocol in targets::checked() {
        let Some(access) = request.access(protocol) else { continue };
        let key = secrets.key(protocol.kind.scheme);
        for ExistingTarget { target, .. } in given.iter().filter(|one| std::ptr::eq(one.protocol, protocol)) {
            let target = CheckTarget { port: target.port.or(access.port), ..target.clone() };
            for address in addresses(request, access, &target)? {
                let path = DataAddressFacts { address, subnet: None, array_mtu: None };
                rows.push(RowTarget::new(path, protocol, &target, &access.options, key.clone()));
            }
        }
    }
    Ok(rows)
}

/// The addresses that the user named, else those that the target itself is known to have.
fn addresses(
    request: &CheckRequest,
    access: &CheckAccess,
    target: &CheckTarget,
) -> Result<Vec<IpAddr>, RowAddressError> {
    if !request.data_vips.is_empty() {
        return Ok(request.data_vips.clone());
    }
    let found = access.protocol.addresses(target, &access.options, request.load.connect_timeout);
    found.map_err(|why| RowAddressError { scheme: access.protocol.kind.scheme, why })
}
