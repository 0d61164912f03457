//! What the result must say of a target: who reads it should be able to set it up again.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use drivers::paths::DataAddress;

use super::net::NetTarget;
use super::nfs::NfsTarget;
use super::place::PATIENCE;
use super::s3::S3Target;
use super::{Opened, paths};

/// Names and values; what cannot be found out is left out or says why.
pub(super) fn of(opened: &Opened) -> BTreeMap<String, String> {
    let mut facts = of_kind(opened);
    let data = if opened.stays() { "stays after the run" } else { "in a place of the run's own" };
    facts.insert("data".to_owned(), data.to_owned());
    facts
}

fn of_kind(opened: &Opened) -> BTreeMap<String, String> {
    match opened {
        Opened::File(target) => target.driver.facts(),
        Opened::Nfs(target) => nfs(target),
        Opened::S3(target) => s3(target),
        Opened::Net(target) => net(target),
        Opened::Null(_) => named([("target", "null: every operation succeeds at once".to_owned())]),
        Opened::Sim(target) => {
            let script = target.script.iter().map(|(name, value)| (*name, value.clone()));
            named(script.chain([("clock", "virtual".to_owned())]))
        }
    }
}

fn named<'a>(facts: impl IntoIterator<Item = (&'a str, String)>) -> BTreeMap<String, String> {
    facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn net(target: &NetTarget) -> BTreeMap<String, String> {
    let config = target.driver.config();
    let role = if config.listen { "listens on" } else { "connects to" };
    let mut facts = named([
        ("protocol", "blocks over TCP".to_owned()),
        (role, config.address.to_string()),
        ("connections per job", config.connections_per_worker.to_string()),
        ("pingpong", config.ping_pong.to_string()),
    ]);
    if !config.listen {
        let addresses = shown(&config.addresses);
        facts.extend(named(paths::facts(&config.paths, &addresses, target.connections)));
    }
    facts
}

/// Addresses as they were given.
fn shown(addresses: &[DataAddress]) -> Vec<String> {
    let one = |address: &DataAddress| match address.port {
        Some(port) => SocketAddr::new(address.ip, port).to_string(),
        None => address.ip.to_string(),
    };
    addresses.iter().map(one).collect()
}

fn nfs(target: &NfsTarget) -> BTreeMap<String, String> {
    let config = target.driver.config();
    let mut facts = named([
        ("protocol", "NFS version 3 over TCP, in user space".to_owned()),
        ("export", config.export.clone()),
        match &config.named {
            Some(_) => ("files", "named by the job, below the export's root".to_owned()),
            None => ("directory", config.directory.clone()),
        },
        ("connections per job", config.connections_per_worker.to_string()),
        ("writes", if config.stable { "FILE_SYNC" } else { "UNSTABLE, made durable by COMMIT" }.to_owned()),
        ("uid", config.uid.to_string()),
        ("gid", config.gid.to_string()),
    ]);
    if !config.more.is_empty() {
        let others = config.more.iter().map(|other| format!("{} {}", other.server, other.export));
        facts.insert("further addresses".to_owned(), others.collect::<Vec<_>>().join(", "));
    }
    let addresses = shown(&config.addresses);
    facts.extend(named(paths::facts(&config.paths, &addresses, target.connections)));
    let seen = match target.driver.limits(PATIENCE) {
        Ok(limits) => named([
            ("address", limits.remote.to_string()),
            ("rtmax", limits.read_max.to_string()),
            ("wtmax", limits.write_max.to_string()),
            ("read size", limits.read_size.to_string()),
            ("write size", limits.write_size.to_string()),
        ]),
        Err(error) => {
            named([("address", config.server.to_string()), ("rtmax", format!("unknown: {}", error.detail))])
        }
    };
    facts.extend(seen);
    facts
}

fn s3(target: &S3Target) -> BTreeMap<String, String> {
    use drivers::s3::{PayloadSigning, Trust};
    let config = target.driver.config();
    let signing = match config.payload_signing {
        PayloadSigning::Unsigned => "unsigned",
        PayloadSigning::Signed => "SHA-256 in the signature",
        PayloadSigning::CrcTrailer => "CRC-64/NVME in a trailer",
        PayloadSigning::Crc32cTrailer => "CRC-32C in a trailer",
    };
    let mut facts = named([
        ("protocol", "S3 over HTTP/1.1, a connection for each operation in flight".to_owned()),
        ("endpoint", config.endpoint.to_string()),
        ("bucket", config.bucket.clone()),
        match config.blocks {
            Some(_) => ("objects", "one for each block: NAME_OFFSET_LENGTH".to_owned()),
            None => ("prefix", config.prefix.clone()),
        },
        ("region", config.region.clone()),
        ("addressing", if config.path_style { "path" } else { "virtual host" }.to_owned()),
        ("payload signing", signing.to_owned()),
        ("part size", config.part_size.to_string()),
    ]);
    let addresses: Vec<String> = target.driver.addresses().iter().map(ToString::to_string).collect();
    facts.insert("address".to_owned(), addresses.join(", "));
    facts.extend(named(paths::facts(&config.paths, &addresses, target.connections)));
    if config.endpoint.tls {
        let trust = match &config.tls.trust {
            Trust::System => "verified by the system's authorities".to_owned(),
            Trust::CaFile(path) => format!("verified by {}", path.display()),
            Trust::Fingerprint(_) => "verified by its fingerprint".to_owned(),
            Trust::Insecure => "not verified".to_owned(),
        };
        facts.insert("certificate".to_owned(), trust);
    }
    facts
}
