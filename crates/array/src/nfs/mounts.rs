//! Who mounted what: informative only, as on any server (RFC 1813 appendix I).

use std::collections::VecDeque;
use std::net::IpAddr;

/// Maximum entries; the oldest is dropped then, because many clients never unmount.
const MAX_ENTRIES: usize = 1024;

/// The list returned by DUMP.
#[derive(Debug, Default)]
pub(super) struct MountList {
    entries: VecDeque<(IpAddr, Vec<u8>)>,
}

impl MountList {
    /// Records that a client mounted a path.
    pub(super) fn add(&mut self, client: IpAddr, path: &[u8]) {
        if self.entries.iter().any(|(known, at)| *known == client && at == path) {
            return;
        }
        if self.entries.len() == MAX_ENTRIES {
            self.entries.pop_front();
        }
        self.entries.push_back((client, path.to_vec()));
    }

    /// Records that a client unmounted a path, or all of them.
    pub(super) fn remove(&mut self, client: IpAddr, path: Option<&[u8]>) {
        self.entries.retain(|(known, at)| *known != client || path.is_some_and(|path| at != path));
    }

    /// The entries, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (IpAddr, &[u8])> {
        self.entries.iter().map(|(client, path)| (*client, path.as_slice()))
    }
}
