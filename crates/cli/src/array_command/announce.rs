//! Where a running array's services listen: for people, and for programs.

use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use array::Array;
use serde_json::json;

use super::keys_file::KeysFile;

/// What exists from the start.
pub struct Contents<'a> {
    /// Names of file systems.
    pub exports: &'a [String],
    /// Names of buckets.
    pub buckets: &'a [String],
    /// The keys of the buckets, if there are any.
    pub keys: Option<&'a KeysFile>,
}

/// Prints where everything listens, and what exists.
pub fn print(array: &Array, has: &Contents<'_>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "management   {}", array.management_url())?;
    if let Some(fingerprint) = array.fingerprint() {
        writeln!(out, "fingerprint  {fingerprint}")?;
    }
    writeln!(out, "token        {}", array.token().reveal())?;
    for data in array.data() {
        write!(out, "data         {} ({}, {})", data.ip, data.interface, data.subnet)?;
        if data.enabled {
            let (nfs, mount, portmap) = (data.nfs_port, data.mount_port, data.portmap_port);
            write!(out, ": nfs {nfs}, mount {mount}, portmap {portmap}, s3 {}", data.s3_port)?;
            data.s3_tls_port.map_or(Ok(()), |port| write!(out, ", s3 over TLS {port}"))?;
            writeln!(out)?;
        } else {
            writeln!(out, ": disabled")?;
        }
    }
    for (what, names) in [("export", has.exports), ("bucket", has.buckets)] {
        names.iter().try_for_each(|name| writeln!(out, "{what:<13}{name}"))?;
    }
    if let Some(keys) = has.keys {
        writeln!(out, "S3 keys      {}", keys.path().display())?;
    }
    out.flush()
}

/// Writes the ready file atomically, readable by its owner only: it contains the token.
pub fn write_ready(array: &Array, has: &Contents<'_>, path: &Path) -> anyhow::Result<()> {
    let data: Vec<_> = array
        .data()
        .iter()
        .map(|data| {
            json!({
                "ip": data.ip,
                "interface": data.interface,
                "subnet": data.subnet,
                "enabled": data.enabled,
                "nfs_port": data.nfs_port,
                "mount_port": data.mount_port,
                "portmap_port": data.portmap_port,
                "s3_port": data.s3_port,
                "s3_tls_port": data.s3_tls_port,
            })
        })
        .collect();
    let ready = json!({
        "management": array.management_address(),
        "management_url": array.management_url(),
        "fingerprint": array.fingerprint(),
        "certificate_pem": array.certificate_pem(),
        "token": array.token().reveal(),
        "data": data,
        "exports": has.exports,
        "buckets": has.buckets,
        "s3_credentials_file": has.keys.map(KeysFile::path),
    });
    let unfinished = path.with_extension("unfinished");
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
    file.write_all(ready.to_string().as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&unfinished, path)?;
    Ok(())
}
