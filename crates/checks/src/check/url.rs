//! Targets as people write them: `nfs://host/export`, `s3://bucket?endpoint=…`, `https://host/bucket`.

use std::net::Ipv6Addr;

use drivers::s3::Endpoint;

/// An export: `nfs://host[:port]/export`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NfsUrl {
    /// Name or address, without brackets.
    pub host: String,
    /// Port of NFS; `None` to ask the portmapper.
    pub port: Option<u16>,
    /// Path of the export, with its leading slash.
    pub export: String,
}

/// A bucket: `s3://bucket?endpoint=https://host[:port]` or `https://host[:port]/bucket`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct S3Url {
    /// Scheme, host and port.
    pub endpoint: Endpoint,
    /// The bucket.
    pub bucket: String,
}

const NFS_FORM: &str = "write nfs://host/export or nfs://host:port/export";
const S3_FORM: &str = "write s3://bucket?endpoint=https://host[:port] or https://host[:port]/bucket";

impl NfsUrl {
    /// Reads `--nfs`.
    ///
    /// # Errors
    /// One line with the text, what is wrong with it and how to write it.
    pub fn read(text: &str) -> Result<Self, String> {
        let shown = if text.contains('@') { "…" } else { text };
        let wrong = |problem: &str| format!("--nfs {shown:?}: {problem}; {NFS_FORM}");
        let rest = text.strip_prefix("nfs://").ok_or_else(|| wrong("it does not begin with nfs://"))?;
        let slash = rest.find('/').ok_or_else(|| wrong("the export is missing"))?;
        let (authority, export) = rest.split_at(slash);
        if export.contains(['?', '#']) {
            return Err(wrong("an export has no ? or #"));
        }
        let (host, port) = authority_of(authority).map_err(|problem| wrong(&problem))?;
        Ok(Self { host, port, export: export.to_owned() })
    }
}

impl S3Url {
    /// Reads `--s3`.
    ///
    /// # Errors
    /// One line with the text, what is wrong with it and how to write it.
    pub fn read(text: &str) -> Result<Self, String> {
        // What stands before an @ may be a password: it is not repeated.
        let shown = if text.contains('@') { "…" } else { text };
        let wrong = |problem: &str| format!("--s3 {shown:?}: {problem}; {S3_FORM}");
        let (endpoint, bucket) = if let Some(rest) = text.strip_prefix("s3://") {
            let (bucket, query) = rest.split_once('?').ok_or_else(|| wrong("?endpoint= is missing"))?;
            let endpoint = query.strip_prefix("endpoint=").ok_or_else(|| wrong("?endpoint= is missing"))?;
            (endpoint, bucket)
        } else {
            let scheme = ["https://", "http://"].into_iter().find(|scheme| text.starts_with(scheme));
            let scheme = scheme.ok_or_else(|| wrong("it does not begin with s3://, https:// or http://"))?;
            let slash = text[scheme.len()..].find('/').ok_or_else(|| wrong("the bucket is missing"))?;
            let (endpoint, path) = text.split_at(scheme.len() + slash);
            (endpoint, path.trim_start_matches('/').trim_end_matches('/'))
        };
        if bucket.is_empty() {
            return Err(wrong("the bucket is missing"));
        }
        if !bucket.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c)) {
            return Err(wrong(&format!("{bucket:?} is no name of a bucket")));
        }
        let endpoint = endpoint.parse::<Endpoint>().map_err(|error| wrong(&error.to_string()))?;
        Ok(Self { endpoint, bucket: bucket.to_owned() })
    }
}

/// `host`, `host:port`, `[IPv6]` or `[IPv6]:port`.
fn authority_of(text: &str) -> Result<(String, Option<u16>), String> {
    if text.contains('@') {
        return Err("a user or password does not belong there".into());
    }
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let (inside, after) = rest.split_once(']').ok_or("the bracket is not closed")?;
        let address: Ipv6Addr = inside.parse().map_err(|_| format!("{inside:?} is no IPv6 address"))?;
        let port = match after {
            "" => None,
            _ => Some(after.strip_prefix(':').ok_or("after the bracket only :port may follow")?),
        };
        (address.to_string(), port)
    } else {
        match text.split_once(':') {
            Some((host, port)) => (host.to_owned(), Some(port)),
            None => (text.to_owned(), None),
        }
    };
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
    if host.is_empty() || !host.chars().all(allowed) {
        return Err("the host is missing or has characters that no host has".into());
    }
    let number = |port: &str| port.parse::<u16>().ok().filter(|port| *port > 0);
    let port = match port {
        None => None,
        Some(port) => Some(number(port).ok_or_else(|| format!("{port:?} is no port from 1 to 65535"))?),
    };
    Ok((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nfs_parts(text: &str) -> (String, Option<u16>, String) {
        let url = NfsUrl::read(text).unwrap();
        (url.host, url.port, url.export)
    }

    #[test]
    fn exports_are_read() {
        assert_eq!(nfs_parts("nfs://filer/export"), ("filer".into(), None, "/export".into()));
        assert_eq!(nfs_parts("nfs://10.1.2.3:20049/a/b"), ("10.1.2.3".into(), Some(20049), "/a/b".into()));
        assert_eq!(nfs_parts("nfs://[fd00::1]:2049/x"), ("fd00::1".into(), Some(2049), "/x".into()));
        assert_eq!(nfs_parts("nfs://filer/").2, "/");
    }

    #[test]
    fn buckets_are_read_in_both_forms() {
        let endpoint: Endpoint = "https://s3.example.com".parse().unwrap();
        let expected = S3Url { endpoint, bucket: "b-1".into() };
        assert_eq!(S3Url::read("s3://b-1?endpoint=https://s3.example.com").unwrap(), expected);
        assert_eq!(S3Url::read("https://s3.example.com/b-1").unwrap(), expected);
        assert_eq!(S3Url::read("https://s3.example.com/b-1/").unwrap(), expected);
        let plain = S3Url::read("s3://b?endpoint=http://[::1]:9000/").unwrap().endpoint;
        assert_eq!((plain.tls, plain.host.as_str(), plain.port), (false, "::1", 9000));
        assert_eq!(S3Url::read("http://h/b").unwrap().endpoint.port, 80);
    }

    #[test]
    fn what_cannot_be_read_is_shown_with_the_form() {
        for (text, problem) in [
            ("filer:/export", "does not begin with nfs://"),
            ("nfs://filer", "the export is missing"),
            ("nfs:///export", "the host is missing"),
            ("nfs://filer:0/export", "is no port"),
            ("nfs://filer:99999/export", "is no port"),
            ("nfs://[fd00::1/export", "bracket is not closed"),
            ("nfs://[zz]/export", "no IPv6 address"),
            ("nfs://me:secret@filer/export", "does not belong there"),
        ] {
            let error = NfsUrl::read(text).unwrap_err();
            assert!(
                error.contains(problem) && error.contains(NFS_FORM) && error.contains("--nfs"),
                "{error}"
            );
        }
        for (text, problem) in [
            ("bucket", "does not begin with"),
            ("s3://bucket", "?endpoint= is missing"),
            ("s3://bucket?region=x", "?endpoint= is missing"),
            ("s3://bucket?endpoint=host", "no scheme"),
            ("https://host", "the bucket is missing"),
            ("https://host/", "the bucket is missing"),
            ("https://host/a/b", "no name of a bucket"),
            ("ftp://host/a", "does not begin with"),
        ] {
            let error = S3Url::read(text).unwrap_err();
            assert!(error.contains(problem) && error.contains(S3_FORM) && error.contains("--s3"), "{error}");
        }
        assert!(!S3Url::read("https://key:hunter2@host/b").unwrap_err().contains("hunter2"));
    }
}
