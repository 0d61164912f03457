//! Operations on files whose blocks are separate objects.

use metrics::{ErrorKind, OpKind};

use super::exchange::{Counts, Expect};
use super::failure::Failure;
use super::lane::Lane;
use super::request::Request;
use super::session::S3Session;
use crate::{Done, Op, Sink};

impl S3Session {
    /// Performs an operation on the object that holds its block.
    pub(super) async fn block(
        &self,
        lane: &mut Lane,
        index: usize,
        op: &Op,
        counts: &Counts,
    ) -> Result<Done, Failure> {
        match op.kind {
            OpKind::Write | OpKind::Put => self.put(lane, index, op, counts).await,
            OpKind::Read | OpKind::Get => match self.get(lane, index, op, counts).await {
                Err(failure) if failure.kind == ErrorKind::NotFound => self.never_written(op),
                result => result,
            },
            OpKind::Trim | OpKind::Delete | OpKind::Remove => {
                let request = Request::new("DELETE", self.shared.addressing.subject(op));
                match self.request(lane, index, &request, Expect::Nothing, counts).await {
                    Err(failure) if failure.kind != ErrorKind::NotFound => Err(failure),
                    _ => Ok(Done::default()),
                }
            }
            // Acknowledged data is durable.
            OpKind::Commit => {
                self.reactor.yield_now().await;
                Ok(Done::default())
            }
            OpKind::Create
            | OpKind::Stat
            | OpKind::List
            | OpKind::Access
            | OpKind::Chmod
            | OpKind::Truncate
            | OpKind::Rename
            | OpKind::Link
            | OpKind::Symlink
            | OpKind::Readlink
            | OpKind::Mkdir
            | OpKind::Rmdir
            | OpKind::Copy
            | OpKind::PutTagging
            | OpKind::GetTagging
            | OpKind::BatchDelete
            | OpKind::ListPrefixes
            | OpKind::Append
            | OpKind::Readdir
            | OpKind::Setxattr
            | OpKind::Getxattr
            | OpKind::Open
            | OpKind::Close
            | OpKind::WriteFile
            | OpKind::ReadFile
            | OpKind::Overwrite
            | OpKind::TruncateOverwrite
            | OpKind::OmapSet
            | OpKind::OmapGet
            | OpKind::Exec
            | OpKind::WriteZeroes => {
                let text = format!("blocks that are objects have no operation {}", op.kind);
                Err(Failure::new(ErrorKind::Rejected, text))
            }
        }
    }

    /// A block that was never written reads as zeros, as in a sparse file.
    #[cold]
    fn never_written(&self, op: &Op) -> Result<Done, Failure> {
        if self.context.sink == Sink::Verify {
            let zeros = vec![0; op.len as usize];
            let judged = self.context.payload.verify_op(op, 0, &zeros);
            judged.map_err(|text| {
                let text =
                    format!("there is no such object, which counts as zeros: not what was written: {text}");
                Failure::new(ErrorKind::Corrupt, text)
            })?;
        }
        Ok(Done { bytes: op.len, ..Done::default() })
    }
}
