//! Checks and clean-up around a run: blocking functions, each on a small reactor of its own.

use std::sync::Arc;

use metrics::ErrorKind;
use reactor::{Choice, Reactor};
use wire::s3::{
    ListedObject, MAX_DELETE_KEYS, create_bucket_configuration, delete_objects, parse_delete_result,
    parse_list_uploads, parse_list_v2,
};
use wire::sigv4::canonical_query;

use super::driver::S3Driver;
use super::exchange::{Counts, Expect};
use super::failure::Failure;
use super::lane::Lane;
use super::multi::unreadable;
use super::request::{Body, Request, Subject};
use super::session::S3Session;
use crate::{DriverError, Payload, Sink, WorkerContext};

/// What [`S3Driver::remove_all`] removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Objects deleted.
    pub objects: u64,
    /// Unfinished uploads aborted.
    pub uploads: u64,
}

/// A session with one lane, for requests that nobody measures.
struct Control {
    session: S3Session,
    lane: Box<Lane>,
}

impl Control {
    async fn request(&mut self, request: &Request<'_>, expect: Expect) -> Result<(), Failure> {
        let span = self.session.context.op_timeout;
        let counts = Counts::default();
        let deadline =
            self.session.reactor.now().saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX));
        let asked = self.session.request(&mut self.lane, 0, request, expect, &counts);
        match self.session.reactor.timeout_at(deadline, asked).await {
            Ok(answer) => answer.map(|_| ()),
            Err(_) => {
                let detail = format!("no answer within {span:?}: {}", counts.doing.get());
                Err(Failure::new(ErrorKind::TimedOut, detail))
            }
        }
    }
}

impl S3Driver {
    /// Runs control requests to their end on a reactor of this call's own.
    fn control<T>(
        &self,
        doing: &str,
        run: impl AsyncFnOnce(&mut Control) -> Result<T, Failure>,
    ) -> Result<T, DriverError> {
        let config = &self.shared.config;
        let reactor = Reactor::open(Choice::Auto)
            .map_err(|error| DriverError::new(ErrorKind::Local, error.to_string()))?;
        let context = WorkerContext {
            worker: 0,
            lanes: 1,
            payload: Payload::new(0),
            sink: Sink::Buffer,
            op_timeout: config.control_timeout,
            connect_timeout: config.control_timeout,
        };
        reactor.block_on(async {
            let session = S3Session::open(&reactor, Arc::clone(&self.shared), &context).await?;
            let lane = session.take_lane(0);
            run(&mut Control { session, lane }).await.map_err(|failure| {
                let detail = format!(
                    "{doing} bucket \"{}\" at {}: {}",
                    config.bucket,
                    self.shared.place(),
                    failure.detail
                );
                DriverError::new(failure.kind, detail)
            })
        })
    }

    /// Checks that the bucket exists and that the credentials may list it.
    ///
    /// # Errors
    /// One line that names the bucket, the endpoint, what the server said and what to do: not found, access
    /// denied, wrong region, clocks that differ, or no connection.
    pub fn check_bucket(&self) -> Result<(), DriverError> {
        self.control("checking", async |control| {
            let head = control.request(&Request::new("HEAD", Subject::Bucket), Expect::Nothing).await;
            let Err(failure) = head else { return Ok(()) };
            if matches!(
                failure.kind,
                ErrorKind::TimedOut | ErrorKind::ConnectFailed | ErrorKind::ConnectionLost
            ) {
                return Err(failure);
            }
            // The answer to a HEAD has no body and so no reason; ask in a way that gets one.
            let query = canonical_query(&[
                ("list-type", "2"),
                ("max-keys", "1"),
                ("prefix", &control.session.shared.addressing.prefix),
            ]);
            let list = Request { query: &query, ..Request::new("GET", Subject::Bucket) };
            let reason = match control.request(&list, Expect::Document).await {
                Err(reason) => reason,
                Ok(()) => failure,
            };
            let key = &control.session.shared.config.credentials.access_key;
            Err(match reason.kind {
                ErrorKind::NotFound => Failure {
                    detail: format!("{}; create it or name one that exists", reason.detail),
                    ..reason
                },
                ErrorKind::AccessDenied => Failure {
                    detail: format!(
                        "{}; access key {key}: check the keys and the bucket's policy",
                        reason.detail
                    ),
                    ..reason
                },
                _ => reason,
            })
        })
    }

    /// Checks that there are objects under our prefix, put by an earlier run or by the one that is gone on with.
    ///
    /// # Errors
    /// What the server said; of kind `NotFound` when there are none.
    pub fn adopt(&self) -> Result<(), DriverError> {
        self.control("looking for objects in", async |control| {
            let query = ours(control, &[("list-type", "2"), ("max-keys", "1")]);
            let list = Request { query: &query, ..Request::new("GET", Subject::Bucket) };
            control.request(&list, Expect::Document).await?;
            let page = parse_list_v2(&control.lane.document).map_err(unreadable)?;
            if page.objects.is_empty() {
                let prefix = &control.session.shared.addressing.prefix;
                let detail = format!("nothing lies under {prefix}: it must be prepared first");
                return Err(Failure::new(ErrorKind::NotFound, detail));
            }
            Ok(())
        })
    }

    /// The first bytes of an object, at most `len`.
    ///
    /// # Errors
    /// What the server said.
    pub fn beginning(&self, object: u64, len: u64) -> Result<Vec<u8>, DriverError> {
        self.control("reading from", async |control| {
            let range = Some((0, len.max(1)));
            let get = Request { range, ..Request::new("GET", Subject::Object(object)) };
            control.request(&get, Expect::Document).await?;
            Ok(std::mem::take(&mut control.lane.document))
        })
    }

    /// Creates the bucket.
    ///
    /// # Errors
    /// What the server said, also when the bucket exists already.
    pub fn create_bucket(&self) -> Result<(), DriverError> {
        let document = create_bucket_configuration(&self.shared.config.region);
        let body = if document.is_empty() { Body::None } else { Body::Bytes(document.as_bytes()) };
        self.control("creating", async |control| {
            let request = Request { body, ..Request::new("PUT", Subject::Bucket) };
            control.request(&request, Expect::Nothing).await
        })
    }

    /// Deletes the bucket, which must be empty.
    ///
    /// # Errors
    /// What the server said.
    pub fn delete_bucket(&self) -> Result<(), DriverError> {
        self.control("deleting", async |control| {
            control.request(&Request::new("DELETE", Subject::Bucket), Expect::Nothing).await
        })
    }

    /// Calls `visit` with key and size in bytes of each object under our prefix, a page at a time.
    ///
    /// # Errors
    /// What the server said.
    pub fn list_prefix(&self, mut visit: impl FnMut(&str, u64)) -> Result<u64, DriverError> {
        self.control("listing", async |control| {
            let counts = Counts::default();
            let Control { session, lane } = control;
            session
                .list_pages(lane, 0, &counts, |page| {
                    page.iter().for_each(|object| visit(&object.key, object.size));
                    Ok(())
                })
                .await
        })
    }

    /// Deletes every object under our prefix and aborts every unfinished upload there. Touches nothing else,
    /// whatever the server lists.
    ///
    /// # Errors
    /// The first object or upload that could not be removed, and why.
    pub fn remove_all(&self) -> Result<Removed, DriverError> {
        self.control("cleaning up in", async |control| {
            let uploads = abort_uploads(control).await?;
            let objects = delete_all(control).await?;
            Ok(Removed { objects, uploads })
        })
    }
}

/// The query that lists under our prefix from the beginning.
fn ours(control: &Control, more: &[(&str, &str)]) -> String {
    let mut query = more.to_vec();
    query.push(("prefix", &control.session.shared.addressing.prefix));
    canonical_query(&query)
}

fn check_ours(control: &Control, key: &str) -> Result<(), Failure> {
    let prefix = &control.session.shared.addressing.prefix;
    if key.starts_with(prefix) {
        return Ok(());
    }
    let detail = format!(
        "asked for keys under {prefix}, the server listed \"{}\"; nothing of it was removed",
        key.escape_debug()
    );
    Err(Failure::new(ErrorKind::Protocol, detail))
}

async fn delete_all(control: &mut Control) -> Result<u64, Failure> {
    let mut removed = 0;
    let mut last: Vec<ListedObject> = Vec::new();
    let mut batches_work = true;
    loop {
        // Always from the beginning: what was listed is gone by then.
        let query = ours(control, &[("list-type", "2")]);
        let list = Request { query: &query, ..Request::new("GET", Subject::Bucket) };
        control.request(&list, Expect::Document).await?;
        let page = parse_list_v2(&control.lane.document).map_err(unreadable)?;
        if page.objects.is_empty() {
            return Ok(removed);
        }
        if page.objects == last {
            let detail = format!(
                "\"{}\" and {} more are listed although they were deleted",
                last[0].key,
                last.len() - 1
            );
            return Err(Failure::new(ErrorKind::ServerFault, detail));
        }
        for object in &page.objects {
            check_ours(control, &object.key)?;
        }
        for batch in page.objects.chunks(MAX_DELETE_KEYS) {
            if batches_work {
                match delete_batch(control, batch).await {
                    Ok(()) => {}
                    // Some servers have no batch delete.
                    Err(failure) if failure.kind == ErrorKind::Rejected => batches_work = false,
                    Err(failure) => return Err(failure),
                }
            }
            if !batches_work {
                for object in batch {
                    let request = Request::new("DELETE", Subject::Key(&object.key));
                    control.request(&request, Expect::Nothing).await?;
                }
            }
            removed += batch.len() as u64;
        }
        last = page.objects;
    }
}

async fn delete_batch(control: &mut Control, batch: &[ListedObject]) -> Result<(), Failure> {
    let document = delete_objects(batch.iter().map(|object| object.key.as_str()));
    let request = Request {
        query: "delete=",
        body: Body::Bytes(document.as_bytes()),
        md5: true,
        ..Request::new("POST", Subject::Bucket)
    };
    control.request(&request, Expect::Document).await?;
    match parse_delete_result(&control.lane.document).map_err(unreadable)?.first() {
        None => Ok(()),
        Some(failure) => {
            let kind =
                if failure.code == "AccessDenied" { ErrorKind::AccessDenied } else { ErrorKind::ServerFault };
            let detail =
                format!("\"{}\" could not be deleted: {} ({})", failure.key, failure.code, failure.message);
            Err(Failure::new(kind, detail))
        }
    }
}

async fn abort_uploads(control: &mut Control) -> Result<u64, Failure> {
    let mut aborted = 0;
    let mut last = Vec::new();
    loop {
        let query = ours(control, &[("uploads", "")]);
        let list = Request { query: &query, ..Request::new("GET", Subject::Bucket) };
        match control.request(&list, Expect::Document).await {
            Ok(()) => {}
            // A server without multipart uploads has none to abort.
            Err(failure) if failure.kind == ErrorKind::Rejected => return Ok(aborted),
            Err(failure) => return Err(failure),
        }
        let page = parse_list_uploads(&control.lane.document).map_err(unreadable)?;
        if page.uploads.is_empty() {
            return Ok(aborted);
        }
        if page.uploads == last {
            let detail =
                format!("the upload of \"{}\" is listed although it was aborted", page.uploads[0].key);
            return Err(Failure::new(ErrorKind::ServerFault, detail));
        }
        for upload in &page.uploads {
            check_ours(control, &upload.key)?;
            let query = canonical_query(&[("uploadId", &upload.id)]);
            let request = Request { query: &query, ..Request::new("DELETE", Subject::Key(&upload.key)) };
            match control.request(&request, Expect::Nothing).await {
                Ok(()) => {}
                Err(failure) if failure.kind == ErrorKind::NotFound => {}
                Err(failure) => return Err(failure),
            }
            aborted += 1;
        }
        last = page.uploads;
    }
}
