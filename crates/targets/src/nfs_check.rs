//! How `manometer check` tests an export.

use std::net::IpAddr;

use experiment::TargetUrl;
use metrics::ErrorKind;
use metrics::OpKind::{Read, Write};
use wire::nfs3::Status;

use super::TargetError;
use super::check::{ArrayPlace, CheckTarget, CheckTraits, Through, host_address, no_other_form};
use super::hosts::{host_and_port, in_url};
use super::nfs::KIND;

pub(super) static CHECK: CheckTraits = CheckTraits {
    kind: &KIND,
    write: Write,
    read: Read,
    on_array: ArrayPlace::Export,
    unreachable: "MOUNT FAILED",
    trust: "",
    has_keys: false,
    next,
    other_form: no_other_form,
    named,
    through,
    addresses: host_address,
};

/// A file reached the largest size that the server allows (RFC 1813, NFS3ERR_FBIG); this says nothing about free space.
const TOO_LARGE: &str = "this file would be larger than the server lets one be: its file system's maximum (maxfilesize \
                         in FSINFO) or the server process's limit (ulimit -f); raise that, or write less with \
                         --dataset";

fn next(kind: ErrorKind, detail: &str) -> Option<&'static str> {
    match kind {
        _ if detail.contains(&Status::FBIG.to_string()) => Some(TOO_LARGE),
        ErrorKind::AccessDenied => {
            Some("let this client and user in by the export's rules, or choose the user with --uid and --gid")
        }
        _ => None,
    }
}

fn named(text: &str, url: &TargetUrl) -> Result<CheckTarget, TargetError> {
    let (host, port) = host_and_port(text, url.authority(), KIND.example)?;
    let name = url.path().to_owned();
    Ok(CheckTarget { host, port, tls: false, name, options: Default::default() })
}

fn through(target: &CheckTarget, address: IpAddr) -> Through {
    let port = target.port.map(|port| format!(":{port}")).unwrap_or_default();
    // Escapes the character that introduces URL escapes and the one that begins the query.
    let export = target.name.trim_start_matches('/').replace('%', "%25").replace('?', "%3F");
    (format!("{}://{}{port}/{export}", KIND.scheme, in_url(&address.to_string())), None)
}
