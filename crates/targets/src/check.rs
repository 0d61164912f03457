//! How `manometer check` tests a protocol; each protocol's module supplies the details.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use experiment::{TargetKind, TargetUrl};
use metrics::{ErrorKind, OpKind};

use super::{PROTOCOLS, TargetError, first_address, kinds};

/// A protocol that `manometer check` tests through each address of a server, by writing data and reading it back.
#[derive(Debug)]
pub struct CheckTraits {
    /// The kind of target.
    pub kind: &'static TargetKind,
    /// The operation that writes new data.
    pub write: OpKind,
    /// The operation that reads it back.
    pub read: OpKind,
    /// What is created for the test on an array or a cluster, and which service its data addresses then offer.
    pub on_array: ArrayPlace,
    /// Ending of the table row of a target that could not be reached.
    pub unreachable: &'static str,
    /// Advice after a rejected certificate: how to trust it.
    pub trust: &'static str,
    /// Targets need access keys.
    pub has_keys: bool,
    /// The next step for errors of this kind and detail, where it differs from that of other protocols.
    pub next: fn(ErrorKind, &str) -> Option<&'static str>,
    /// Converts a URL that people write in another form into the kind's own; `None` when it is no such URL.
    pub other_form: fn(&str) -> Option<String>,
    /// Parses the target out of a URL in the kind's own form.
    pub(super) named: fn(&str, &TargetUrl) -> Result<CheckTarget, TargetError>,
    /// URL of a target through one address of its server, and the option that must go with it, if any.
    pub(super) through: fn(&CheckTarget, IpAddr) -> Through,
    /// The addresses through which a target is checked unless the user names some. Blocks, for not much longer than the limit.
    pub(super) addresses: fn(&CheckTarget, Duration) -> Result<Vec<IpAddr>, TargetError>,
}

/// URL of a target through an address, and the option that must go with it, if any.
pub(super) type Through = (String, Option<(&'static str, String)>);

/// What an array or a cluster creates to hold data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ArrayPlace {
    /// An exported file system.
    Export,
    /// A bucket.
    Bucket,
    /// A pool of a Ceph cluster.
    Pool,
}

/// An export, a bucket, a pool or the like to be checked: its name and its server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckTarget {
    /// Name or address of the server, without brackets; empty where the options say how it is found.
    pub host: String,
    /// Port; `None`: the default, or the one requested.
    pub port: Option<u16>,
    /// Uses TLS.
    pub tls: bool,
    /// Path of the export, or name of the bucket or pool.
    pub name: String,
    /// Options of the target, as in an experiment file.
    pub options: BTreeMap<String, String>,
}

impl CheckTarget {
    /// Its options; those of `usual` fill the gaps.
    fn options_with(&self, usual: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let mut options = usual.clone();
        options.extend(self.options.clone());
        options
    }
}

impl CheckTraits {
    /// Parses the target that a URL names. `flag` is the option that carried it, for the message.
    ///
    /// # Errors
    /// [`TargetError::Input`]: one line with the flag, the text, what is wrong with it, and how to write it.
    pub fn read(&self, flag: &str, text: &str) -> Result<CheckTarget, TargetError> {
        // Text before an @ may be a password: it is not echoed.
        let shown = if text.contains('@') { "…" } else { text };
        let wrong =
            |problem: &str, next: &str| TargetError::Input(format!("{flag} {shown:?}: {problem}; {next}"));
        let own_form = (self.other_form)(text).unwrap_or_else(|| text.to_owned());
        let scheme = self.kind.scheme;
        if !own_form.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
            || !own_form[scheme.len()..].starts_with("://")
        {
            let next = format!("write {}", self.kind.example);
            return Err(wrong(&format!("it does not begin with {scheme}://"), &next));
        }
        let url = TargetUrl::parse(kinds(), &own_form).map_err(|fault| wrong(&fault.text, &fault.hint))?;
        let target =
            (self.named)(&own_form, &url).map_err(|error| TargetError::Input(format!("{flag}: {error}")))?;
        Ok(CheckTarget { options: url.query().iter().cloned().collect(), ..target })
    }

    /// URL of a target through one address of its server, and its options; those of `usual` fill the gaps.
    pub fn through(
        &self,
        target: &CheckTarget,
        address: IpAddr,
        usual: &BTreeMap<String, String>,
    ) -> (String, BTreeMap<String, String>) {
        let mut options = target.options_with(usual);
        let (url, more) = (self.through)(target, address);
        options.extend(more.map(|(name, value)| (name.to_owned(), value)));
        (url, options)
    }

    /// The addresses through which a target is checked unless the user names some: of a Ceph cluster all, otherwise the first
    /// of the host's. Options of `usual` fill the gaps. Blocks, for not much longer than `limit`.
    ///
    /// # Errors
    /// The host has no address, or the cluster does not answer.
    pub fn addresses(
        &self,
        target: &CheckTarget,
        usual: &BTreeMap<String, String>,
        limit: Duration,
    ) -> Result<Vec<IpAddr>, TargetError> {
        (self.addresses)(&CheckTarget { options: target.options_with(usual), ..target.clone() }, limit)
    }
}

/// For kinds with a host in the URL: its first address.
pub(super) fn host_address(target: &CheckTarget, _: Duration) -> Result<Vec<IpAddr>, TargetError> {
    let CheckTarget { host, .. } = target;
    let address = first_address(host).map_err(|why| {
        TargetError::Input(format!(
            "the host {host:?} has no address ({why}): check its spelling, or give an address"
        ))
    })?;
    Ok(vec![address])
}

/// The protocols that `manometer check` tests, in the order of its report.
pub fn checked() -> impl Iterator<Item = &'static CheckTraits> {
    PROTOCOLS.iter().filter_map(|protocol| protocol.check())
}

/// For kinds without another URL form.
pub(super) fn no_other_form(_: &str) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(scheme: &str) -> &'static CheckTraits {
        checked().find(|protocol| protocol.kind.scheme == scheme).unwrap()
    }

    fn parts(scheme: &str, text: &str) -> (String, Option<u16>, bool, String) {
        let CheckTarget { host, port, tls, name, .. } = of(scheme).read("--flag", text).unwrap();
        (host, port, tls, name)
    }

    #[test]
    fn exports_are_read() {
        let export = |text: &str| parts("nfs", text);
        assert_eq!(export("nfs://filer/export"), ("filer".into(), None, false, "/export".into()));
        assert_eq!(
            export("nfs://10.1.2.3:20049/a/b"),
            ("10.1.2.3".into(), Some(20049), false, "/a/b".into())
        );
        assert_eq!(export("nfs://[fd00::1]:2049/x").0, "fd00::1");
        assert_eq!((export("nfs://filer/").3, export("nfs://filer/a%20b").3), ("/".into(), "/a b".into()));
    }

    #[test]
    fn buckets_are_read_in_both_forms() {
        let expected = ("s3.example.com".to_owned(), Some(443), true, "b-1".to_owned());
        for text in [
            "s3://b-1?endpoint=https://s3.example.com",
            "https://s3.example.com/b-1",
            "https://s3.example.com/b-1/",
        ] {
            assert_eq!(parts("s3", text), expected, "{text}");
        }
        let plain = ("::1".to_owned(), Some(9000), false, "b".to_owned());
        assert_eq!(parts("s3", "s3://b?endpoint=http://[::1]:9000/"), plain);
        assert_eq!(parts("s3", "http://h/b").1, Some(80));
    }

    #[test]
    fn what_cannot_be_read_is_shown_with_the_form() {
        for (scheme, text, problem) in [
            ("nfs", "filer:/export", "does not begin with nfs://"),
            ("nfs", "s3://b?endpoint=http://h", "does not begin with nfs://"),
            ("nfs", "nfs://filer", "has no export"),
            ("nfs", "nfs:///export", "has no host"),
            ("nfs", "nfs://filer:0/export", "is no port"),
            ("nfs", "nfs://filer:99999/export", "is no port"),
            ("nfs", "nfs://[fd00::1/export", "bracket is not closed"),
            ("nfs", "nfs://[zz]/export", "no IPv6 address"),
            ("nfs", "nfs://me:hush@filer/export", "no password"),
            ("s3", "bucket", "does not begin with s3://"),
            ("s3", "s3://bucket", "does not say where the service is"),
            ("s3", "s3://bucket?regio=x", "knows no \"regio\""),
            ("s3", "s3://bucket?endpoint=host", "does not say where the service is"),
            ("s3", "https://host", "has no bucket"),
            ("s3", "https://host/", "has no bucket"),
            ("s3", "https://host/a/b", "nothing stands behind the bucket"),
            ("s3", "https://host:99999/b", "99999"),
            ("s3", "https://key:hush@host/b", "keys do not belong in a URL"),
        ] {
            let error = of(scheme).read("--flag", text).unwrap_err().to_string();
            assert!(error.contains(problem) && error.starts_with("--flag"), "{text}: {error}");
            assert!(!error.contains("hush") && error.contains("; "), "{text}: {error}");
        }
    }

    #[test]
    fn a_target_is_written_for_each_address_with_what_it_needs() {
        let usual = BTreeMap::from([("uid".to_owned(), "7".to_owned()), ("gid".to_owned(), "8".to_owned())]);
        let through = |scheme: &str, text: &str, address: &str| {
            let target = of(scheme).read("--flag", text).unwrap();
            of(scheme).through(&target, address.parse().unwrap(), &usual)
        };
        let (url, options) = through("nfs", "nfs://filer:2049/50%25?uid=9", "fd00::1");
        assert_eq!(url, "nfs://[fd00::1]:2049/50%25");
        assert_eq!((&*options["uid"], &*options["gid"]), ("9", "8"), "the URL's own come first");
        assert_eq!(TargetUrl::parse(kinds(), &url).unwrap().path(), "/50%");
        let (url, options) = through("s3", "https://s3.example.com/b", "10.0.0.1");
        assert_eq!(
            (&*url, &*options["connect_to"]),
            ("s3://b?endpoint=https://s3.example.com", "10.0.0.1:443")
        );
    }
}
