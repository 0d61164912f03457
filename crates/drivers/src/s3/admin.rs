//! Checks and requests around a run: blocking functions, each on a small reactor of its own.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use metrics::ErrorKind;
use reactor::{BackendChoice, Reactor, clock};
use wire::s3::{create_bucket_configuration, parse_list_v2};
use wire::sigv4::canonical_query;

use super::driver::S3Driver;
use super::exchange::{Answer, Counts, Expect};
use super::failure::Failure;
use super::lane::Lane;
use super::multi::unreadable;
use super::request::{Body, Request, Subject};
use super::session::S3Session;
use crate::{DriverError, Payload, Sink, WorkerContext};

/// A session with one lane, for requests outside the measurement.
pub(super) struct Control {
    pub(super) session: S3Session,
    pub(super) lane: Box<Lane>,
}

impl Control {
    pub(super) async fn request(&mut self, request: &Request<'_>, expect: Expect) -> Result<(), Failure> {
        self.answer(request, expect).await.map(drop)
    }

    async fn answer(&mut self, request: &Request<'_>, expect: Expect) -> Result<Answer, Failure> {
        let span = self.session.context.op_timeout;
        let deadline = deadline_ns(&self.session);
        let counts = Counts::until(deadline);
        let asked = self.session.request(&mut self.lane, 0, request, expect, &counts);
        match self.session.reactor.timeout_at(deadline, asked).await {
            Ok(answer) => answer,
            Err(_) => {
                let detail = format!("no answer within {span:?}: {}", counts.state());
                Err(Failure::new(ErrorKind::TimedOut, detail))
            }
        }
    }
}

/// How many seconds a Unix time is ahead of this machine's clock.
fn ahead_s(server_time: u64) -> i64 {
    let own = clock::wall().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    server_time as i64 - own as i64
}

/// Deadline of a request that starts now, on the reactor's clock.
fn deadline_ns(session: &S3Session) -> u64 {
    let span = u64::try_from(session.context.op_timeout.as_nanos()).unwrap_or(u64::MAX);
    session.reactor.now().saturating_add(span)
}

impl S3Driver {
    /// Runs control requests to completion on a reactor of their own.
    pub(super) fn control<T>(
        &self,
        doing: &str,
        run: impl AsyncFnOnce(&mut Control) -> Result<T, Failure>,
    ) -> Result<T, DriverError> {
        let config = &self.shared.config;
        let reactor = Reactor::open(BackendChoice::Auto)
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
            let lane = session.lanes.take(0);
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
    /// One line that names the bucket, the endpoint, the server's response and the next step: not found, access denied,
    /// wrong region, clock skew, or no connection.
    pub fn check_bucket(&self) -> Result<(), DriverError> {
        self.look_at_bucket().map(drop)
    }

    /// As [`Self::check_bucket`]; returns how many seconds the server's clock is ahead of this machine's, where the
    /// server sends the time. Its resolution is a second, and it is read when the response has arrived.
    ///
    /// # Errors
    /// As [`Self::check_bucket`].
    pub fn look_at_bucket(&self) -> Result<Option<i64>, DriverError> {
        self.control("checking", async |control| {
            let head = control.answer(&Request::new("HEAD", Subject::Bucket), Expect::Nothing).await;
            let failure = match head {
                Ok(answer) => return Ok(answer.server_time.map(ahead_s)),
                Err(failure) => failure,
            };
            if matches!(
                failure.kind,
                ErrorKind::TimedOut | ErrorKind::ConnectFailed | ErrorKind::ConnectionLost
            ) {
                return Err(failure);
            }
            // The response to a HEAD has no body and so no reason; a GET returns one.
            let query = canonical_query(&[
                ("list-type", "2"),
                ("max-keys", "1"),
                ("prefix", &control.session.shared.addressing.prefix),
            ]);
            let list = Request { query: &query, ..Request::new("GET", Subject::Bucket) };
            let reason = match control.request(&list, Expect::Document).await {
                Err(reason) => reason,
                // Some servers do not support HEAD on a bucket; that it can be listed is enough.
                Ok(()) if matches!(failure.status, Some(405 | 501)) => {
                    parse_list_v2(&control.lane.document).map_err(unreadable)?;
                    return Ok(None);
                }
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

    /// Checks that there are objects under our prefix, written by an earlier run or by the one being resumed.
    ///
    /// # Errors
    /// The server's response; kind `NotFound` when there are none.
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
    /// The server's response.
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
    /// The server's response, also when the bucket already exists.
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
    /// The server's response.
    pub fn delete_bucket(&self) -> Result<(), DriverError> {
        self.control("deleting", async |control| {
            control.request(&Request::new("DELETE", Subject::Bucket), Expect::Nothing).await
        })
    }

    /// Calls `visit` with the key and size in bytes of each object under our prefix, one page at a time.
    ///
    /// # Errors
    /// The server's response.
    pub fn list_prefix(&self, mut visit: impl FnMut(&str, u64)) -> Result<u64, DriverError> {
        self.control("listing", async |control| {
            let Control { session, lane } = control;
            let counts = Counts::until(deadline_ns(session));
            session
                .list_pages(lane, 0, &counts, None, |page| {
                    page.iter().for_each(|object| visit(&object.key, object.size));
                    Ok(())
                })
                .await
        })
    }
}

/// The query that lists everything under our prefix.
pub(super) fn ours(control: &Control, more: &[(&str, &str)]) -> String {
    let mut query = more.to_vec();
    query.push(("prefix", &control.session.shared.addressing.prefix));
    canonical_query(&query)
}
