//! Listings of our directory: each operation fetches one page, continues where the lane's last one ended, and restarts
//! after the end.

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
        let LaneListing { cookie, verifier } = listing.get();
        let arguments = ReaddirplusArgs {
            directory: self.own_directory().await?,
            cookie,
            verifier,
            dir_count: LISTING_BYTES / 4,
            max_count: LISTING_BYTES,
        };
        listing.set(LaneListing::default());
        keep(listing, self.call(Readdirplus, &arguments).await?);
        Ok(())
    }

    /// Names alone.
    pub(super) async fn readdir(&mut self) -> Result<(), Fault> {
        let listing = &self.session.lanes[self.op.lane as usize].names;
        let LaneListing { cookie, verifier } = listing.get();
        let directory = self.own_directory().await?;
        let arguments = ReaddirArgs { directory, cookie, verifier, count: LISTING_BYTES };
        listing.set(LaneListing::default());
        keep(listing, self.call(Readdir, &arguments).await?);
        Ok(())
    }
}

fn keep(listing: &Cell<LaneListing>, page: Listed) {
    let Listed { entries, cookie, verifier, eof } = page;
    if !eof && entries > 0 {
        listing.set(LaneListing { cookie, verifier });
    }
}
