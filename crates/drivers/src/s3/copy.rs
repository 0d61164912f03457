//! Copies within the server.

use metrics::ErrorKind;
use wire::s3::{MAX_COPY_BYTES, parse_copy};

use super::exchange::{Counts, Expect};
use super::failure::Failure;
use super::lane::Lane;
use super::multi::unreadable;
use super::request::{Request, Subject};
use super::session::S3Session;
use crate::{Done, Op};

impl S3Session {
    /// Copies the operation's object to its second one. The server may respond 200 before it knows the outcome, so only
    /// a `CopyObjectResult` counts as success.
    pub(super) async fn copy(
        &self,
        lane: &mut Lane,
        index: usize,
        op: &Op,
        counts: &Counts,
    ) -> Result<Done, Failure> {
        if op.len > MAX_COPY_BYTES {
            let detail = format!("{} bytes: CopyObject copies at most {MAX_COPY_BYTES} bytes", op.len);
            return Err(Failure::new(ErrorKind::Rejected, detail));
        }
        let request = Request { copy_of: Some(op.object), ..Request::new("PUT", Subject::Object(op.other)) };
        self.request(lane, index, &request, Expect::Document, counts).await?;
        parse_copy(&lane.document).map_err(unreadable)?;
        Ok(Done::default())
    }
}
