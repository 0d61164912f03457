//! Listings of our directory: each operation fetches one page, continues where the lane's last one ended, and restarts
//! after the end; in a tree, it continues with the next leaf.

use std::cell::Cell;

use wire::nfs3::{ReaddirArgs, ReaddirplusArgs};

use super::calls::{Listed, Readdir, Readdirplus};
use super::connection::LISTING_BYTES;
use super::lane::LaneListing;
use super::operation::{Fault, Operation};

impl Operation<'_> {
    /// Names with attributes and handles.
    pub(super) async fn list(&mut self) -> Result<(), Fault> {
        let listing = &self.session.lanes[self.op.lane as usize].listing;
        let LaneListing { leaf, cookie, verifier } = listing.get();
        let arguments = ReaddirplusArgs {
            directory: self.leaf(leaf).await?,
            cookie,
            verifier,
            dir_count: LISTING_BYTES / 4,
            max_count: LISTING_BYTES,
        };
        listing.set(LaneListing::of_leaf(leaf));
        let page = self.call(Readdirplus, &arguments).await?;
        self.keep(listing, page);
        Ok(())
    }

    /// Names alone.
    pub(super) async fn readdir(&mut self) -> Result<(), Fault> {
        let listing = &self.session.lanes[self.op.lane as usize].names;
        let LaneListing { leaf, cookie, verifier } = listing.get();
        let directory = self.leaf(leaf).await?;
        let arguments = ReaddirArgs { directory, cookie, verifier, count: LISTING_BYTES };
        listing.set(LaneListing::of_leaf(leaf));
        let page = self.call(Readdir, &arguments).await?;
        self.keep(listing, page);
        Ok(())
    }

    fn keep(&self, listing: &Cell<LaneListing>, page: Listed) {
        let Listed { entries, cookie, verifier, eof } = page;
        let LaneListing { leaf, .. } = listing.get();
        let next = (leaf + 1) % self.session.leaves.tree.leaves();
        listing.set(match !eof && entries > 0 {
            true => LaneListing { leaf, cookie, verifier },
            false => LaneListing::of_leaf(next),
        });
    }
}
