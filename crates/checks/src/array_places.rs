//! What an array creates for data to be stored in, and where its data addresses serve it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use provision::Targets;
use serde::Deserialize;
use targets::{AccessKey, ArrayPlace};

/// What an array has created or lent: its name there, and its credentials.
pub type ArrayPlaces = BTreeMap<ArrayPlace, (String, Option<AccessKey>)>;

/// Data addresses that serve something on non-default ports: the port, and any other ports as options.
pub type AddressPorts = BTreeMap<(IpAddr, ArrayPlace), (u16, BTreeMap<String, String>)>;

/// A data address of the simulated array, as listed in its ready file.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct SimulatedAddress {
    /// The address.
    pub ip: IpAddr,
    /// TCP port of NFS.
    pub nfs_port: u16,
    /// TCP port of MOUNT.
    pub mount_port: u16,
    /// TCP port of the portmapper.
    pub portmap_port: u16,
    /// TCP port of S3 without TLS.
    pub s3_port: u16,
}

impl SimulatedAddress {
    /// The ports on which it serves each place.
    pub fn ports(self) -> AddressPorts {
        let beside = [("mount_port", self.mount_port), ("portmap_port", self.portmap_port)];
        let beside = beside.map(|(name, port)| (name.to_owned(), port.to_string()));
        BTreeMap::from([
            ((self.ip, ArrayPlace::Export), (self.nfs_port, BTreeMap::from(beside))),
            ((self.ip, ArrayPlace::Bucket), (self.s3_port, BTreeMap::new())),
        ])
    }
}

/// The places among the targets that an array has created or lent.
pub fn places(made: Targets) -> ArrayPlaces {
    let export = made.export.map(|export| (ArrayPlace::Export, (export, None)));
    let bucket = made.bucket.map(|access| {
        let key = AccessKey::from(&access);
        (ArrayPlace::Bucket, (access.bucket, Some(key)))
    });
    export.into_iter().chain(bucket).collect()
}
