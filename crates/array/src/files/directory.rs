//! A directory: names in order of creation, each with a permanent cookie.
//!
//! Because cookies are never reused, a listing read in pages contains every name that exists throughout exactly once,
//! whatever is created or removed meanwhile.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Cookie of `.` in listings.
pub(super) const SELF_COOKIE: u64 = 1;
/// Cookie of `..` in listings.
pub(crate) const PARENT_COOKIE: u64 = 2;

/// The entries of a directory, without `.` and `..`.
#[derive(Debug)]
pub(super) struct Directory {
    /// Index of the parent directory; the root is its own parent.
    pub(super) parent: u32,
    cookies: HashMap<Arc<[u8]>, u64>,
    entries: BTreeMap<u64, (Arc<[u8]>, u32)>,
    next_cookie: u64,
}

impl Directory {
    pub(super) fn new(parent: u32) -> Self {
        Self { parent, cookies: HashMap::new(), entries: BTreeMap::new(), next_cookie: PARENT_COOKIE + 1 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The node with this name.
    pub(super) fn get(&self, name: &[u8]) -> Option<u32> {
        let cookie = self.cookies.get(name)?;
        self.entries.get(cookie).map(|(_, node)| *node)
    }

    /// Adds a name, which must not exist.
    pub(super) fn insert(&mut self, name: &[u8], node: u32) {
        let name: Arc<[u8]> = name.into();
        let before = self.cookies.insert(Arc::clone(&name), self.next_cookie);
        debug_assert!(before.is_none(), "a name is added twice");
        self.entries.insert(self.next_cookie, (name, node));
        self.next_cookie += 1;
    }

    /// Removes a name.
    pub(super) fn remove(&mut self, name: &[u8]) -> Option<u32> {
        let cookie = self.cookies.remove(name)?;
        self.entries.remove(&cookie).map(|(_, node)| node)
    }

    /// The entries after a cookie, in order: cookie, name, node.
    pub(super) fn after(&self, cookie: u64) -> impl Iterator<Item = (u64, &[u8], u32)> {
        let from = cookie.saturating_add(1);
        self.entries.range(from..).map(|(cookie, (name, node))| (*cookie, &**name, *node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_in_pages_survives_changes() {
        let mut directory = Directory::new(0);
        for number in 0..10u32 {
            directory.insert(format!("f{number}").as_bytes(), number);
        }
        let first: Vec<_> = directory.after(0).take(4).map(|(cookie, _, node)| (cookie, node)).collect();
        let (last, _) = first[3];
        assert_eq!(directory.remove(b"f3"), Some(3));
        assert_eq!(directory.remove(b"f5"), Some(5));
        directory.insert(b"f5", 50);
        let rest: Vec<_> = directory.after(last).map(|(_, _, node)| node).collect();
        assert_eq!(rest, [4, 6, 7, 8, 9, 50]);
        assert_eq!(directory.get(b"f5"), Some(50));
        assert_eq!(directory.get(b"f3"), None);
        assert_eq!(directory.after(u64::MAX).count(), 0);
    }
}
