//! `ioengine=nfs`: a URL in libnfs form becomes a target.

use std::collections::BTreeMap;

use experiment::nearest;

use super::ValueKind::{Integer, Text};
use super::nfs_error::NfsJobError;
use super::{EngineJob, EngineOption, EngineTarget, JobEngine, JobEngines, OptionSupport, refused};
use crate::hosts::in_url;

const NFS: &[&str] = &["nfs"];

/// The engine for exports.
pub const ENGINES: JobEngines = JobEngines {
    engines: &[JobEngine {
        queues: true,
        ..JobEngine::new(
            "nfs",
            "nfs",
            OptionSupport::Differs(
                "our own client of NFSv3 and NFSv4.1: several connections, several servers",
            ),
            target,
        )
    }],
    options: &[
        EngineOption::differs(
            NFS,
            "nfs_url",
            Text,
            "a URL in libnfs form, or several with commas between them, of which the clones use one each in turn",
        ),
        EngineOption::ours(
            NFS,
            "nfs_version",
            Text,
            "3 or 4.1: the version of NFS, instead of in the URL; 3 unless given",
        ),
        EngineOption::ours(
            NFS,
            "nfs_connections",
            Integer(1, 4096),
            "connections of each clone to the server of its URL; 1 unless given",
        ),
    ],
};

fn target(job: &dyn EngineJob) -> EngineTarget {
    if job.operations().trims {
        let correction = "use rw=write or rw=randwrite";
        job.fault("rw", "ioengine=nfs has no trims".to_owned(), correction.to_owned());
    }
    // Several URLs may follow one another, separated by commas or blanks.
    let urls = job.text("nfs_url").unwrap_or("").split_whitespace().map(|url| url.trim_matches(','));
    let urls: Vec<&str> = urls.filter(|url| !url.is_empty()).collect();
    let version = job.text("nfs_version");
    if let Some(other) = version.filter(|version| !matches!(*version, "3" | "4.1")) {
        job.fault(
            "nfs_version",
            format!("nfs_version={other}: there is no such version here"),
            VERSIONS.to_owned(),
        );
    }
    match nfs_target(&urls.join(","), job.number("nfs_connections")) {
        Ok((url, mut options)) => {
            options.extend(version.map(|version| ("version".to_owned(), version.to_owned())));
            EngineTarget { url, options, file_names: None }
        }
        Err(error) => refused(job, "nfs_url", error.fault()),
    }
}

/// How to choose a version.
pub(super) const VERSIONS: &str = "write 3 or 4.1";

/// libnfs options that tune its internals and do not affect what is measured here.
const WITHOUT_EFFECT: [&str; 6] =
    ["autoreconnect", "auto-traverse-mounts", "debug", "dircache", "readdir-buffer", "tcp-syncnt"];

/// Unsupported libnfs options that would change what is done, with what to do instead.
const ABSENT: [(&str, &str); 8] = [
    ("if", "let the routes choose the interface"),
    ("pagecache", "take it out: nothing is cached here"),
    ("pagecache_ttl", "take it out: nothing is cached here"),
    ("readahead", "take it out: nothing is read ahead here"),
    ("retrans", "take it out: calls are sent again until the operation's deadline"),
    ("sec", "take it out: calls are made as AUTH_SYS"),
    ("timeo", "take it out: an operation's deadline holds"),
    ("xprtsec", "take it out: there is no TLS for NFS here"),
];

/// libnfs options and the equivalent option of the target.
const SAME: [(&str, &str); 5] = [
    ("uid", "uid"),
    ("gid", "gid"),
    ("mountport", "mount_port"),
    ("rsize", "read_size"),
    ("wsize", "write_size"),
];

/// The target of `nfs_url`: a URL in libnfs form
/// (`nfs://server[:port]/export?version=4.1&uid=…&gid=…&nfsport=…&mountport=…`), or several separated by commas, which
/// are assigned to the workers in turn. `connections` is the number of TCP connections per worker (`nfs_connections`).
///
/// # Errors
/// Which part of which URL cannot be used, and what to write instead.
fn nfs_target(
    nfs_url: &str,
    connections: Option<u64>,
) -> Result<(String, BTreeMap<String, String>), NfsJobError> {
    let mut parts = Vec::new();
    for piece in nfs_url.split(',') {
        match parts.last_mut() {
            // A comma inside an option, such as readdir-buffer=1000,2000.
            Some(last) if !piece.trim_start().starts_with("nfs:") => {
                let last: &mut String = last;
                last.push(',');
                last.push_str(piece);
            }
            _ => parts.push(piece.trim().to_owned()),
        }
    }
    let mut urls = parts.iter().map(|part| NfsUrl::parse(part));
    let first = urls.next().unwrap_or_else(|| NfsUrl::parse(""))?;
    let mut options = first.options.clone();
    let mut more = Vec::new();
    for url in urls {
        let url = url?;
        let shared = |url: &NfsUrl| -> BTreeMap<String, String> {
            url.options.clone().into_iter().filter(|(name, _)| name != "mount_port").collect()
        };
        if shared(&url) != shared(&first) {
            return Err(NfsJobError::Differs { url: url.plain, first: first.plain });
        }
        more.push(match url.options.get("mount_port") {
            Some(port) => format!("{}?mount_port={port}", url.plain),
            None => url.plain,
        });
    }
    if !more.is_empty() {
        options.insert("more_urls".to_owned(), more.join(","));
    }
    if let Some(count) = connections {
        if count == 0 {
            return Err(NfsJobError::NoConnections);
        }
        options.insert("connections".to_owned(), count.to_string());
    }
    Ok((first.plain, options))
}

/// One URL, with its options translated to the target's.
struct NfsUrl {
    /// `nfs://server[:port]/export`.
    plain: String,
    options: BTreeMap<String, String>,
}

impl NfsUrl {
    fn parse(url: &str) -> Result<Self, NfsJobError> {
        let wrong = |problem: &'static str| NfsJobError::Url { url: url.to_owned(), problem };
        let rest = url.strip_prefix("nfs://").ok_or_else(|| wrong("it does not begin with nfs://"))?;
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (server, path) = place.split_at(place.find('/').unwrap_or(place.len()));
        if server.contains('@') {
            return Err(NfsJobError::User);
        }
        if server.is_empty() || server.starts_with(':') {
            return Err(wrong("the server is missing"));
        }
        let path = path.trim_end_matches('/');
        if path.is_empty() {
            return Err(wrong("the export is missing"));
        }
        let (host, mut port) = match server.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
                (host, Some(port_of("the server's port", port)?))
            }
            _ => (server, None),
        };
        let host = if host.starts_with('[') { host.to_owned() } else { in_url(host) };
        let mut options = BTreeMap::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match name {
                "version" | "vers" if value == "3" => {}
                "version" | "vers" if value == "4.1" => {
                    options.insert("version".to_owned(), value.to_owned());
                }
                "version" | "vers" => {
                    return Err(NfsJobError::Version { name: name.to_owned(), value: value.to_owned() });
                }
                "nfsport" => port = Some(port_of("nfsport", value)?),
                _ if WITHOUT_EFFECT.contains(&name) => {}
                _ => match SAME.iter().find(|(theirs, _)| *theirs == name) {
                    Some((_, ours)) => {
                        let value = match name {
                            "mountport" => port_of(name, value)?.to_string(),
                            _ => number(name, value)?.to_string(),
                        };
                        options.insert((*ours).to_owned(), value);
                    }
                    None => return Err(unknown(name)),
                },
            }
        }
        let port = port.map_or_else(String::new, |port| format!(":{port}"));
        Ok(Self { plain: format!("nfs://{host}{port}{path}"), options })
    }
}

fn unknown(name: &str) -> NfsJobError {
    if let Some((_, instead)) = ABSENT.iter().find(|(absent, _)| *absent == name) {
        return NfsJobError::Unsupported { name: name.to_owned(), instead };
    }
    let known = SAME.iter().map(|(theirs, _)| *theirs).chain(["version", "nfsport"]).chain(WITHOUT_EFFECT);
    NfsJobError::Unknown { name: name.to_owned(), near: nearest(name, known) }
}

fn number(name: &str, value: &str) -> Result<u32, NfsJobError> {
    let least = u32::from(matches!(name, "rsize" | "wsize"));
    let number = value.parse().ok().filter(|number| *number >= least);
    number.ok_or_else(|| NfsJobError::Number { name: name.to_owned(), value: value.to_owned(), least })
}

fn port_of(name: &str, value: &str) -> Result<u16, NfsJobError> {
    let port = value.parse().ok().filter(|port| *port > 0);
    port.ok_or_else(|| NfsJobError::Port { name: name.to_owned(), value: value.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn urls_of_libnfs_become_targets() {
        for (text, url, options) in [
            ("nfs://127.0.0.1/nfs", "nfs://127.0.0.1/nfs", of(&[])),
            (
                "nfs://h/a/b/?version=3&uid=7&gid=8&nfsport=2050&mountport=2051&debug=1",
                "nfs://h:2050/a/b",
                of(&[("gid", "8"), ("mount_port", "2051"), ("uid", "7")]),
            ),
            ("nfs://h/a?version=4.1", "nfs://h/a", of(&[("version", "4.1")])),
            (
                "nfs://fd00::1/e?rsize=4096&wsize=8192",
                "nfs://[fd00::1]/e",
                of(&[("read_size", "4096"), ("write_size", "8192")]),
            ),
            (
                "nfs://a/e?mountport=5,nfs://[::1]:6/e?mountport=7&readdir-buffer=1,2,nfs://c/f",
                "nfs://a/e",
                of(&[("mount_port", "5"), ("more_urls", "nfs://[::1]:6/e?mount_port=7,nfs://c/f")]),
            ),
        ] {
            assert_eq!(nfs_target(text, None).unwrap(), (url.to_owned(), options), "{text}");
        }
        let (_, options) = nfs_target("nfs://a/e", Some(4)).unwrap();
        assert_eq!(options, of(&[("connections", "4")]));
    }

    #[test]
    fn what_cannot_be_mounted_is_named() {
        for (text, problem) in [
            ("", "does not begin with nfs://"),
            ("a/e", "does not begin with nfs://"),
            ("nfs://a", "the export is missing"),
            ("nfs:///e", "the server is missing"),
            ("nfs://me@a/e", "take out what stands before the @"),
            ("nfs://a/e?version=4", "write 3 or 4.1"),
            ("nfs://a/e?nfsport=0", "no port from 1 to 65535"),
            ("nfs://a/e?sec=krb5", "sec= of libnfs is not there"),
            ("nfs://a/e?uidd=5", "did you mean uid=?"),
            ("nfs://a/e?uid=x", "whole number"),
            ("nfs://a/e?uid=1,nfs://b/e", "another uid"),
        ] {
            let error = nfs_target(text, None).unwrap_err().to_string();
            assert!(error.contains(problem) && !error.contains('\n'), "{text}: {error}");
        }
        assert_eq!(nfs_target("nfs://a/e", Some(0)), Err(NfsJobError::NoConnections));
    }
}
