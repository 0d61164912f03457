//! Listings of our directory: each operation goes through all of it page by page, and never holds more than one page. In
//! a tree, the lane's next one goes through the next leaf.

use metrics::{ErrorKind, ProcedureStats};
use wire::nfs3::{FileHandle, Procedure, ReaddirArgs, ReaddirplusArgs, Verifier};

use super::calls::{Listed, Readdir, Readdirplus};
use super::connection::LISTING_BYTES;
use super::lane::LanePath;
use super::operation::{Fault, Operation};
use super::procedures::rpc_kind;

/// Where a page begins.
#[derive(Clone, Copy, Default)]
struct From {
    cookie: u64,
    verifier: Verifier,
}

impl Operation<'_> {
    /// Names with attributes and handles.
    pub(super) async fn list(&mut self) -> Result<(), Fault> {
        self.pages(Procedure::Readdirplus, async |operation, directory, From { cookie, verifier }| {
            let (dir_count, max_count) = (LISTING_BYTES / 4, LISTING_BYTES);
            let arguments = ReaddirplusArgs { directory, cookie, verifier, dir_count, max_count };
            operation.call(Readdirplus, &arguments).await
        })
        .await
        .map(drop)
    }

    /// Names alone. A directory of a pass must contain as many names as the operation says.
    pub(super) async fn readdir(&mut self) -> Result<(), Fault> {
        let pages =
            self.pages(Procedure::Readdir, async |operation, directory, From { cookie, verifier }| {
                let arguments = ReaddirArgs { directory, cookie, verifier, count: LISTING_BYTES };
                operation.call(Readdir, &arguments).await
            });
        let (names, wanted) = (pages.await?, self.op.len);
        if self.tree().is_some() && names < wanted {
            let kind = rpc_kind(self.session.version, Procedure::Readdir);
            let text = format!("its directory contains {names} names and not {wanted}");
            return Err(self.fault(kind, ErrorKind::NotFound, text));
        }
        Ok(())
    }

    /// The directory to list: the lane's next leaf, or one of a tree that exists.
    async fn listed_directory(&mut self) -> Result<FileHandle, Fault> {
        let session = self.session;
        let lane = self.lane;
        if let Some(named) = &session.named {
            let mut path = LanePath::take(&lane.path);
            named.write_listed(self.op.object, &mut path.text);
            return self.directory(&path.text).await;
        }
        let leaf = lane.leaf.get();
        lane.leaf.set((leaf + 1) % session.leaves.tree.leaves());
        self.leaf(leaf).await
    }

    /// Goes through the directory; returns how many names it holds.
    async fn pages(
        &mut self,
        procedure: Procedure,
        page_at: impl AsyncFn(&mut Self, FileHandle, From) -> Result<Listed, Fault>,
    ) -> Result<u64, Fault> {
        let start_ns = self.session.reactor.now();
        let lane = self.lane;
        let directory = self.listed_directory().await?;
        let mut from = From::default();
        let (mut first, mut all) = (true, 0);
        loop {
            let Listed { entries, names, cookie, verifier, eof } = page_at(self, directory, from).await?;
            let first_ns = first.then(|| self.session.reactor.now() - start_ns);
            first = false;
            all += u64::from(names);
            let kind = rpc_kind(self.session.version, procedure);
            ProcedureStats::entry(&mut lane.procedures.borrow_mut(), kind).page(names.into(), first_ns);
            if eof {
                return Ok(all);
            }
            // Without an entry or with the same cookie again the listing would never end.
            if entries == 0 || cookie == from.cookie {
                let text =
                    "the server returns a page that leads no further, and not the end of the directory";
                return Err(self.fault(kind, ErrorKind::Protocol, text.to_owned()));
            }
            from = From { cookie, verifier };
        }
    }
}
