//! How `manometer check` tests a pool of a Ceph cluster: through each public address of its OSDs, with objects that have their
//! primary OSDs there.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use drivers::rados::RadosDriver;
use experiment::TargetUrl;
use metrics::ErrorKind;
use metrics::OpKind::{Get, Put};

use super::TargetError;
use super::check::{ArrayPlace, CheckTarget, CheckTraits, Through, no_other_form};
use super::rados::{CLUSTER, CONF, ID, KEYRING, KIND, MONITORS, PRIMARY_ADDRESS, USUAL_ID};
use super::rados_place::RadosPlace;

pub(super) static CHECK: CheckTraits = CheckTraits {
    kind: &KIND,
    write: Put,
    read: Get,
    on_array: ArrayPlace::Pool,
    unreachable: "FAILED TO CONNECT",
    trust: "",
    has_keys: false,
    next,
    other_form: no_other_form,
    named,
    through,
    addresses,
};

/// A prefix that no run has: nothing is read or written under it.
const NOBODY: &str = "manometer";

fn next(kind: ErrorKind, _: &str) -> Option<&'static str> {
    match kind {
        ErrorKind::AccessDenied => {
            Some("use a user whose caps let it read and write the pool (osd 'allow rwx pool=…')")
        }
        ErrorKind::TimedOut => Some(
            "look at `ceph health detail`: OSDs that do not answer, placement groups that are not active; or allow more time \
             with --op-timeout",
        ),
        _ => None,
    }
}

fn named(_: &str, url: &TargetUrl) -> Result<CheckTarget, TargetError> {
    let (host, options) = (String::new(), Default::default());
    Ok(CheckTarget { host, port: None, tls: false, name: url.authority().to_owned(), options })
}

fn through(target: &CheckTarget, address: IpAddr) -> Through {
    (format!("{}://{}", KIND.scheme, target.name), Some((PRIMARY_ADDRESS.name, address.to_string())))
}

/// The public addresses of the OSDs that are up.
fn addresses(target: &CheckTarget, limit: Duration) -> Result<Vec<IpAddr>, TargetError> {
    let text = |option: &str| target.options.get(option).cloned();
    let entry = RadosPlace {
        cluster: text(CLUSTER.name),
        conf: text(CONF.name).map(PathBuf::from),
        monitors: text(MONITORS.name),
        id: text(ID.name).unwrap_or_else(|| USUAL_ID.to_owned()),
        keyring: text(KEYRING.name).map(PathBuf::from),
        pool: target.name.clone(),
        namespace: String::new(),
        prefix: NOBODY.to_owned(),
    };
    let map = RadosDriver::new(entry.config(None))?.osd_map(limit)?;
    Ok(map.addresses().map(|(address, _)| address).collect())
}
