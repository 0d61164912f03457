//! Commands to try on a simulated array.

use std::io::{self, Write};

use array::Array;

use super::announce::Contents;

/// Name of the export and the bucket.
pub const NAME: &str = "bench";

/// Prints ready-to-run commands that use the first enabled data address.
pub fn print(array: &Array, has: &Contents<'_>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let Some(data) = array.data().iter().find(|data| data.enabled) else {
        writeln!(out, "\nNo data address is enabled: there is nothing to try.")?;
        return out.flush();
    };
    let at = |port| std::net::SocketAddr::new(data.ip, port);
    let nfs = has
        .exports
        .first()
        .map(|export| format!("'nfs://{}/{export}?mount_port={}'", at(data.nfs_port), data.mount_port));
    let nfs41 =
        has.exports.first().map(|export| format!("'nfs://{}/{export}?version=4.1'", at(data.nfs_port)));
    let s3 =
        has.buckets.first().map(|bucket| format!("'s3://{bucket}?endpoint=http://{}'", at(data.s3_port)));
    writeln!(out, "\nTry, in another terminal:\n")?;
    if let Some(keys) = has.keys {
        writeln!(out, "export AWS_SHARED_CREDENTIALS_FILE={}", keys.path().display())?;
    }
    let short = "--queue-depth 16 --warm-up 1s --for 5s";
    for url in [&nfs, &nfs41].into_iter().flatten() {
        writeln!(out, "manometer run {url} --read --block-size 64KiB --file-size 64MiB {short}")?;
    }
    if let Some(url) = &s3 {
        writeln!(out, "manometer run {url} --read --object-size 1MiB {short}")?;
    }
    let flags = [("--nfs", nfs), ("--s3", s3)];
    let given = flags.iter().filter_map(|(flag, url)| Some(format!(" {flag} {}", url.as_ref()?)));
    writeln!(
        out,
        "manometer check{} --duration 5s --lanes 4 --object-size 1MiB --dataset 1GiB",
        given.collect::<String>()
    )?;
    writeln!(out, "\nCtrl-C ends the array; nothing of it is kept.")?;
    out.flush()
}
