//! Tags of objects. Every put replaces both: one names the object, the other differs each time.

use metrics::ErrorKind;
use wire::s3::{has_value, parse_error, parse_tags, tagging};

use super::addressing::push_hex16;
use super::exchange::{Counts, Expect};
use super::failure::Failure;
use super::lane::Lane;
use super::multi::unreadable;
use super::request::{Body, Request};
use super::session::S3Session;
use crate::{Done, Op};

/// The tag with the object's number, in 16 hexadecimal digits.
const OBJECT: &str = "object";
/// The tag with a random number, so that no put repeats the tags that are there.
const WRITE: &str = "write";

impl S3Session {
    /// Replaces the tags of the operation's object.
    pub(super) async fn put_tags(
        &self,
        lane: &mut Lane,
        index: usize,
        op: &Op,
        counts: &Counts,
    ) -> Result<Done, Failure> {
        let mut document = std::mem::take(&mut lane.sent);
        let random = self.random().to_bits();
        tagging([(OBJECT, op.object), (WRITE, random)], push_hex16, &mut document);
        let request = Request {
            query: "tagging=",
            body: Body::Bytes(document.as_bytes()),
            md5: true,
            ..Request::new("PUT", self.shared.addressing.subject(op))
        };
        let answer = self.request(lane, index, &request, Expect::Nothing, counts).await;
        lane.sent = document;
        answer.map(|_| Done::default())
    }

    /// Reads the tags of the operation's object: ours, or none if it was never tagged.
    pub(super) async fn get_tags(
        &self,
        lane: &mut Lane,
        index: usize,
        op: &Op,
        counts: &Counts,
    ) -> Result<Done, Failure> {
        let request =
            Request { query: "tagging=", ..Request::new("GET", self.shared.addressing.subject(op)) };
        if let Err(failure) = self.request(lane, index, &request, Expect::Document, counts).await {
            // AWS sends an empty set instead.
            let none = failure.kind == ErrorKind::NotFound
                && parse_error(&lane.document).is_ok_and(|error| error.code == "NoSuchTagSet");
            return if none { Ok(Done::default()) } else { Err(failure) };
        }
        lane.sent.clear();
        push_hex16(op.object, &mut lane.sent);
        if has_value(&lane.document, "Tagging", &lane.sent) {
            return Ok(Done::default());
        }
        let tags = parse_tags(&lane.document).map_err(unreadable)?;
        match tags.iter().find(|tag| tag.key == OBJECT) {
            Some(tag) if tag.value != lane.sent => {
                let value: String = tag.value.chars().take(80).collect();
                let detail = format!(
                    "not what was written: the tag \"{OBJECT}\" is \"{}\" instead of {}",
                    value.escape_debug(),
                    lane.sent
                );
                Err(Failure::new(ErrorKind::Corrupt, detail))
            }
            _ => Ok(Done::default()),
        }
    }
}
