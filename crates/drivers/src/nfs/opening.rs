//! `open` and `close` as operations of their own, in version 4.1. Each lane has at most one file open.

use metrics::{CallKind, ErrorKind};
use wire::nfs3::{DirArgs, Name, Status};
use wire::nfs4::Nfs4Status;

use super::calls::{Close, Open};
use super::operation::{Fault, Operation};
use super::v41::{OpenFile, OpenRequest};

impl Operation<'_> {
    /// Opens the file for reading, and for writing unless it is one of the user's that is only read. The lane keeps it open until it closes it or opens another
    /// one.
    pub(super) async fn open_named(&mut self) -> Result<(), Fault> {
        let lane = self.lane;
        if let Some(open) = lane.open.take() {
            self.close_file(open).await?;
        }
        let (directory, name) = self.place().await?;
        let place = DirArgs { directory, name: Name(name.as_bytes()) };
        let request = OpenRequest { place, lane: self.op.lane, write: self.session.may_write() };
        let open = self.call(Open, &request).await?;
        lane.open.set(Some(open));
        let mut handles = self.session.handles.borrow_mut();
        // Inserted again, it would lose the record of its uncommitted data.
        if handles.get(self.op.object).is_none() {
            handles.insert(self.op.object, open.file);
        }
        Ok(())
    }

    /// Closes what the lane has open.
    pub(super) async fn close(&mut self) -> Result<(), Fault> {
        match self.lane.open.take() {
            Some(open) => self.close_file(open).await,
            None => {
                let text = "the lane has no open file".to_owned();
                Err(self.fault(CallKind::Close, ErrorKind::Rejected, text))
            }
        }
    }

    async fn close_file(&mut self, open: OpenFile) -> Result<(), Fault> {
        // Closed by an earlier transmission, whose session was lost with the reply; or the server had forgotten the client, and
        // with it what was open.
        self.once(Close, &open, Status(Nfs4Status::BAD_STATEID.0)).await
    }
}
