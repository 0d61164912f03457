//! Operations of several requests: multipart uploads and listings.

use metrics::{CallKind, ErrorKind, ProcedureStats};
use wire::s3::{
    CompletedPart, ListedObject, MAX_PARTS, complete_multipart, parse_complete, parse_initiate, parse_list_v2,
};
use wire::sigv4::canonical_query;

use super::exchange::{Counts, Expect};
use super::failure::Failure;
use super::lane::Lane;
use super::request::{Body, Request, Subject};
use super::session::S3Session;
use crate::{Done, Op};

impl S3Session {
    /// Uploads an object in parts, one after another on the lane's connection.
    ///
    /// A failed upload is aborted, so that its parts take no space. One abandoned at its deadline is not, because no
    /// time is left; removing everything under the prefix aborts it.
    pub(super) async fn put_parts(
        &self,
        lane: &mut Lane,
        index: usize,
        op: &Op,
        counts: &Counts,
    ) -> Result<Done, Failure> {
        let subject = self.shared.addressing.subject(op);
        let part_size = self.shared.config.part_size;
        if op.len.div_ceil(part_size) > u64::from(MAX_PARTS) {
            let detail = format!("{} bytes in parts of {part_size} are more than {MAX_PARTS} parts", op.len);
            return Err(Failure::new(ErrorKind::Rejected, detail));
        }
        let begin = Request { query: "uploads=", ..Request::new("POST", subject) };
        self.request(lane, index, &begin, Expect::Document, counts).await?;
        let id = parse_initiate(&lane.document).map_err(unreadable)?;
        let uploaded = self.upload_parts(lane, index, op, &id, counts).await;
        if uploaded.is_err() {
            let abort =
                Request { query: &canonical_query(&[("uploadId", &id)]), ..Request::new("DELETE", subject) };
            // The upload's own failure is the one reported.
            let _ = self.request(lane, index, &abort, Expect::Nothing, counts).await;
        }
        uploaded.map(|()| Done { bytes: op.len, ..Done::default() })
    }

    async fn upload_parts(
        &self,
        lane: &mut Lane,
        index: usize,
        op: &Op,
        id: &str,
        counts: &Counts,
    ) -> Result<(), Failure> {
        let subject = self.shared.addressing.subject(op);
        let part_size = self.shared.config.part_size;
        let mut parts = Vec::with_capacity(op.len.div_ceil(part_size) as usize);
        let mut offset = 0;
        while offset < op.len {
            let number = parts.len() as u32 + 1;
            let len = part_size.min(op.len - offset);
            let request = Request {
                query: &canonical_query(&[("partNumber", &number.to_string()), ("uploadId", id)]),
                body: Body::Payload { op: *op, from: offset, len },
                ..Request::new("PUT", subject)
            };
            let answer = self.request(lane, index, &request, Expect::Nothing, counts).await?;
            let etag = answer
                .etag
                .ok_or_else(|| Failure::new(ErrorKind::Protocol, format!("no ETag for part {number}")))?;
            parts.push(CompletedPart { number, etag });
            offset += len;
        }
        let document = complete_multipart(&parts);
        let request = Request {
            query: &canonical_query(&[("uploadId", id)]),
            body: Body::Bytes(document.as_bytes()),
            ..Request::new("POST", subject)
        };
        self.request(lane, index, &request, Expect::Document, counts).await?;
        parse_complete(&lane.document).map_err(unreadable)?;
        Ok(())
    }

    /// Lists everything under our prefix page by page, never holding more than one page. With a delimiter the server
    /// reports keys that have it after our prefix only as their common prefixes.
    pub(super) async fn list_pages(
        &self,
        lane: &mut Lane,
        index: usize,
        counts: &Counts,
        delimiter: Option<&str>,
        mut page_of: impl FnMut(&[ListedObject]) -> Result<(), Failure>,
    ) -> Result<u64, Failure> {
        let prefix = &self.shared.addressing.prefix;
        let mut token: Option<String> = None;
        let mut objects = 0;
        let start_ns = self.reactor.now();
        let mut listed = ProcedureStats::new(CallKind::ListObjectsV2);
        loop {
            let mut query = vec![("list-type", "2"), ("prefix", prefix.as_str())];
            if let Some(delimiter) = delimiter {
                query.push(("delimiter", delimiter));
            }
            if let Some(token) = &token {
                query.push(("continuation-token", token));
            }
            let query = canonical_query(&query);
            let request = Request { query: &query, ..Request::new("GET", Subject::Bucket) };
            let (asked_ns, sent) = (self.reactor.now(), counts.rpcs.get());
            let answer = self.request(lane, index, &request, Expect::Document, counts).await;
            let page = answer.and_then(|_| parse_list_v2(&lane.document).map_err(unreadable));
            let now_ns = self.reactor.now();
            let sends = counts.rpcs.get() - sent;
            listed.count(sends, page.is_ok().then_some(now_ns - asked_ns));
            if let Ok(page) = &page {
                let entries = page.objects.len() as u64 + page.prefixes;
                listed.page(entries, token.is_none().then_some(now_ns - start_ns));
            }
            self.listed[index].set(Some(listed));
            let page = page?;
            objects += page.objects.len() as u64;
            page_of(&page.objects)?;
            match page.next {
                None => return Ok(objects),
                Some(next) if token.as_ref() == Some(&next) => {
                    let detail = "the listing goes round in circles: the same continuation token twice";
                    return Err(Failure::new(ErrorKind::Protocol, detail));
                }
                next => token = next,
            }
        }
    }
}

/// A malformed document, or an error that arrived with status 200.
pub(super) fn unreadable(error: wire::s3::XmlError) -> Failure {
    let kind = match &error {
        wire::s3::XmlError::Server(_) => ErrorKind::ServerFault,
        _ => ErrorKind::Protocol,
    };
    Failure::new(kind, error.to_string())
}
