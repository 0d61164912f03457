//! Batch deletes as operations of a load.

use metrics::ErrorKind;
use wire::s3::{DeleteFailure, MAX_DELETE_KEYS, all_deleted, delete_objects_in, parse_delete_result};

use super::exchange::{Counts, Expect};
use super::failure::Failure;
use super::lane::Lane;
use super::multi::unreadable;
use super::request::{Body, Request, Subject};
use super::session::S3Session;
use crate::{Done, Op};

impl S3Session {
    /// Deletes the objects from the operation's first number to its second one in one request. The server reports keys
    /// that it did not delete with status 200; one of them makes the operation fail.
    pub(super) async fn delete_batch(
        &self,
        lane: &mut Lane,
        index: usize,
        op: &Op,
        counts: &Counts,
    ) -> Result<Done, Failure> {
        let keys = op.other.checked_sub(op.object).map(|more| more.saturating_add(1));
        if keys.is_none_or(|keys| keys > MAX_DELETE_KEYS as u64) {
            let detail = format!("a batch has 1 to {MAX_DELETE_KEYS} objects");
            return Err(Failure::new(ErrorKind::Rejected, detail));
        }
        let mut document = std::mem::take(&mut lane.sent);
        let addressing = &self.shared.addressing;
        let name = |number, out: &mut String| addressing.push_name(number, out);
        delete_objects_in(&addressing.prefix, op.object..=op.other, name, &mut document);
        let request = Request {
            query: "delete=",
            body: Body::Bytes(document.as_bytes()),
            md5: true,
            ..Request::new("POST", Subject::Bucket)
        };
        let answer = self.request(lane, index, &request, Expect::Document, counts).await;
        lane.sent = document;
        answer?;
        if all_deleted(&lane.document) {
            return Ok(Done::default());
        }
        match &parse_delete_result(&lane.document).map_err(unreadable)?[..] {
            [] => Ok(Done::default()),
            failures @ [first, ..] => {
                Err(Failure { detail: named(failures), ..Failure::of_code(&first.code) })
            }
        }
    }
}

/// The first of the keys that were not deleted, and how many there are.
fn named(failures: &[DeleteFailure]) -> String {
    let DeleteFailure { key, code, message } = &failures[0];
    let short = |text: &str, most| text.chars().take(most).collect::<String>().escape_debug().to_string();
    let more = match failures.len() {
        1 => String::new(),
        all => format!("; {} more were not deleted either", all - 1),
    };
    let (key, code, message) = (short(key, 1100), short(code, 80), short(message, 300));
    format!("\"{key}\" could not be deleted: {code} ({message}){more}")
}
