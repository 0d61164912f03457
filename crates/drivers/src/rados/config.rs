//! Configuration of a RADOS target.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::net::IpAddr;
use std::path::PathBuf;

use crate::Secret;

/// Bytes of a name after its prefix: a dot and the number as 16 hexadecimal digits.
const NUMBER_BYTES: usize = 17;
/// Max length of an object's name in bytes (`osd_max_object_name_len` is 2,048; file systems beneath may allow less).
pub const MAX_NAME_BYTES: usize = 255;
/// Max length of a prefix in bytes.
pub const MAX_PREFIX_BYTES: usize = MAX_NAME_BYTES - NUMBER_BYTES;

/// The target of a [`super::RadosDriver`].
#[derive(Clone, Debug)]
pub struct RadosConfig {
    /// How the cluster is reached, and as whom.
    pub access: RadosAccess,
    /// The pool.
    pub pool: String,
    /// The namespace within the pool; empty for the default one.
    pub namespace: String,
    /// Prefix of our objects' names, followed by a dot and the object's number.
    pub prefix: String,
    /// Objects that the user named, by number, each with 1 to [`MAX_NAME_BYTES`] bytes and none of them 0; where there are
    /// any, the prefix is not used.
    pub named: BTreeMap<u64, String>,
    /// The public address of the primary OSDs of all our objects; `None`: objects lie on all OSDs of the pool.
    pub primary_address: Option<IpAddr>,
    /// Instances of librados that all workers share, at least 1.
    pub clients: u32,
    /// The keys of `omap-set` and `omap-get`; without them there are no such operations.
    pub omap: Option<OmapShape>,
    /// The method that `exec` calls; without it there is no such operation.
    pub exec: Option<ObjectMethod>,
    /// The file of librados, if not the system's.
    pub library: Option<PathBuf>,
}

/// The keys that one operation sets or reads in an object's map, the same for every object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OmapShape {
    /// Number of keys, at least 1.
    pub keys: u32,
    /// Size of each value in bytes, at least 1.
    pub value_bytes: u32,
}

/// A method of an object class, as it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectMethod {
    /// Name of the class, without zero bytes.
    pub class: String,
    /// Name of the method, without zero bytes.
    pub method: String,
    /// Its input.
    pub input: Vec<u8>,
    /// Max size of its output in bytes.
    pub output_bytes: u32,
}

/// How a cluster is reached, and as whom.
#[derive(Clone, Debug)]
pub struct RadosAccess {
    /// Name of the cluster, which configuration files may refer to.
    pub cluster: String,
    /// Configuration file; if there is none, `monitors` suffices, or librados searches its usual places.
    pub conf: Option<PathBuf>,
    /// Addresses of monitors, as in the configuration option `mon_host`.
    pub monitors: Option<String>,
    /// The user, without `client.`.
    pub user: String,
    /// File with the user's key, if not where the configuration says.
    pub keyring: Option<PathBuf>,
    /// The user's key, in place of one from a file.
    pub key: Option<Secret>,
}

impl Default for RadosAccess {
    fn default() -> Self {
        Self {
            cluster: "ceph".to_owned(),
            conf: None,
            monitors: None,
            user: "admin".to_owned(),
            keyring: None,
            key: None,
        }
    }
}

impl RadosConfig {
    /// Objects with this prefix in the default namespace of a pool, with default settings.
    pub fn new(access: RadosAccess, pool: impl Into<String>, prefix: impl Into<String>) -> Self {
        Self {
            access,
            pool: pool.into(),
            namespace: String::new(),
            prefix: prefix.into(),
            named: BTreeMap::new(),
            primary_address: None,
            clients: 1,
            omap: None,
            exec: None,
            library: None,
        }
    }

    /// The name of the object with this number.
    pub(super) fn name(&self, number: u64) -> ObjectName {
        let mut name = ObjectName { bytes: [0; MAX_NAME_BYTES + 1] };
        if !self.named.is_empty() {
            let given = self.named.get(&number).map_or(&[][..], |given| given.as_bytes());
            name.bytes[..given.len()].copy_from_slice(given);
            return name;
        }
        let (prefix, rest) = name.bytes.split_at_mut(self.prefix.len());
        prefix.copy_from_slice(self.prefix.as_bytes());
        rest[0] = b'.';
        for (at, digit) in rest[1..NUMBER_BYTES].iter_mut().enumerate() {
            *digit = b"0123456789abcdef"[(number >> ((15 - at) * 4)) as usize & 15];
        }
        name
    }

    /// The number of an object, from its name; `None` when it is not one of ours.
    pub(super) fn number(&self, name: &[u8]) -> Option<u64> {
        let digits = name.strip_prefix(self.prefix.as_bytes())?.strip_prefix(b".")?;
        let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.len() == NUMBER_BYTES - 1)?;
        digits
            .bytes()
            .all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
            .then(|| u64::from_str_radix(digits, 16).ok())?
    }

    /// The pool and namespace, for people.
    pub(super) fn location(&self) -> String {
        match &*self.namespace {
            "" => format!("pool {}", self.pool),
            namespace => format!("pool {}, namespace {namespace}", self.pool),
        }
    }
}

/// The name of an object, with a zero byte at its end.
pub(super) struct ObjectName {
    bytes: [u8; MAX_NAME_BYTES + 1],
}

impl ObjectName {
    pub(super) fn as_c(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }

    pub(super) fn text(&self) -> &str {
        self.as_c().to_str().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_from_numbers() {
        let config = RadosConfig::new(RadosAccess::default(), "pool", "manometer-x");
        assert_eq!(config.name(0xab1).text(), "manometer-x.0000000000000ab1");
        assert_eq!(config.number(b"manometer-x.0000000000000ab1"), Some(0xab1));
        for name in
            ["manometer-xy.0000000000000ab1", "manometer-x.0000000000000AB1", "manometer-x.ab1", "theirs"]
        {
            assert_eq!(config.number(name.as_bytes()), None, "{name}");
        }
        let named = RadosConfig { named: BTreeMap::from([(2, "theirs/a".to_owned())]), ..config };
        assert_eq!(named.name(2).text(), "theirs/a");
        let long = RadosConfig::new(RadosAccess::default(), "pool", "x".repeat(MAX_PREFIX_BYTES));
        assert_eq!(long.name(u64::MAX).text().len(), MAX_NAME_BYTES);
    }
}
