//! The push: a thread of its own, which reads the runs whenever it is time and sends what they measure then.

use std::fmt;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceResponse;
use prost::Message as _;
use runner::timestamp;
use tokio::runtime::Runtime;

use super::message::message;
use super::options::OtlpOptions;
use crate::current::CurrentRun;
use crate::exposition::Sampled;

/// Deadline of a push.
const DEADLINE: Duration = Duration::from_secs(5);
/// Maximum number of ended runs whose last values are kept for a push that has not succeeded yet.
const MAX_ENDED: usize = 32;
/// Bytes of a refusal that are shown.
const MAX_SHOWN: usize = 200;
/// The media type of a message.
const PROTOBUF: &str = "application/x-protobuf";

/// A push to one endpoint, for any number of runs.
#[derive(Debug)]
pub struct OtlpPush {
    shared: Arc<Shared>,
    address: String,
}

/// A run that is pushed; dropping it says that the run has ended.
#[derive(Debug)]
pub struct PushedRun {
    run: Arc<CurrentRun>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    under_way: Vec<Arc<CurrentRun>>,
    /// Those whose last values have not been delivered.
    ended: Vec<Arc<CurrentRun>>,
    pushes: u64,
    failed: u64,
    /// Why the last failure happened.
    error: Option<String>,
    closed: bool,
    /// The thread has ended.
    over: bool,
}

/// Pushes that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtlpLosses {
    /// Their number.
    pub failed: u64,
    /// Of how many.
    pub of: u64,
    address: String,
    error: Option<String>,
}

impl fmt::Display for OtlpLosses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { failed, of, address, error } = self;
        write!(f, "OTLP at {address}: {failed} of {of} pushes failed")?;
        error.iter().try_for_each(|error| write!(f, ": {error}"))
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PushedRun {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.under_way.retain(|run| !Arc::ptr_eq(run, &self.run));
        if state.ended.len() == MAX_ENDED {
            state.ended.remove(0);
        }
        state.ended.push(Arc::clone(&self.run));
    }
}

impl OtlpPush {
    /// Starts its thread; `host` names this host.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(options: OtlpOptions, host: String) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let shared = Arc::new(Shared::default());
        let (own, address) = (Arc::clone(&shared), options.url.to_string());
        std::thread::Builder::new().name("otlp".into()).spawn(move || {
            push_until_closed(&own, &runtime, &options, &host);
            own.lock().over = true;
            own.changed.notify_all();
        })?;
        Ok(Self { shared, address })
    }

    /// Pushes this run's values until what is returned is dropped.
    pub fn observe(&self, run: Arc<CurrentRun>) -> PushedRun {
        self.shared.lock().under_way.push(Arc::clone(&run));
        PushedRun { run, shared: Arc::clone(&self.shared) }
    }

    /// Pushes once more, within this time, and ends; returns what failed, if anything.
    pub fn finish(&self, within: Duration) -> Option<OtlpLosses> {
        let mut state = self.shared.lock();
        state.closed = true;
        self.shared.changed.notify_all();
        let waiting = |state: &mut State| !state.over;
        let waited = self.shared.changed.wait_timeout_while(state, within, waiting);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
        // One that is still under way is not known to have arrived.
        let failed = state.failed + u64::from(!state.over);
        let (of, error) = (state.pushes.max(failed), state.error.clone());
        (failed > 0).then(|| OtlpLosses { failed, of, address: self.address.clone(), error })
    }
}

impl Drop for OtlpPush {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_all();
    }
}

fn push_until_closed(shared: &Shared, runtime: &Runtime, options: &OtlpOptions, host: &str) {
    loop {
        let waiting = |state: &mut State| !state.closed;
        let waited = shared.changed.wait_timeout_while(shared.lock(), options.every, waiting);
        let (under_way, ended, closed) = {
            let state = waited.unwrap_or_else(PoisonError::into_inner).0;
            (state.under_way.clone(), state.ended.clone(), state.closed)
        };
        if !(under_way.is_empty() && ended.is_empty()) {
            let runs: Vec<Sampled> =
                under_way.into_iter().chain(ended.iter().cloned()).map(Sampled::of).collect();
            let body = message(&runs, host, timestamp::now()).encode_to_vec();
            drop(runs);
            let outcome = runtime.block_on(push(options, body));
            let mut state = shared.lock();
            state.pushes += 1;
            match outcome {
                Ok(()) => state.ended.retain(|run| !ended.iter().any(|sent| Arc::ptr_eq(run, sent))),
                Err(why) => {
                    state.failed += 1;
                    state.error = Some(why.to_string());
                }
            }
        }
        if closed {
            return;
        }
    }
}

/// Why a push failed.
#[derive(Debug, thiserror::Error)]
enum PushFault {
    /// There was no exchange.
    #[error("{0}")]
    Exchange(provision::Failure),
    /// The receiver refused the message.
    #[error("HTTP status {status}{text}")]
    Refused {
        /// HTTP's status.
        status: u16,
        /// What it says, after a space; may be empty.
        text: String,
    },
    /// The receiver took only a part.
    #[error("{values} values were rejected: {why}")]
    Rejected {
        /// Number of values that it did not take.
        values: i64,
        /// What it says.
        why: String,
    },
}

async fn push(options: &OtlpOptions, body: Vec<u8>) -> Result<(), PushFault> {
    let sent = options.url.post_document((PROTOBUF, body), options.headers.clone(), &options.trust, DEADLINE);
    let (status, answer) = sent.await.map_err(PushFault::Exchange)?;
    if status != 200 {
        return Err(PushFault::Refused { status, text: shown(&answer) });
    }
    // An answer that is no message is a success all the same: the status says so.
    let partial = ExportMetricsServiceResponse::decode(answer).ok().and_then(|answer| answer.partial_success);
    match partial.filter(|partial| partial.rejected_data_points > 0) {
        Some(partial) => {
            let why = shown(partial.error_message.as_bytes()).trim_start().to_owned();
            Err(PushFault::Rejected { values: partial.rejected_data_points, why })
        }
        None => Ok(()),
    }
}

/// The beginning of a foreign text in one line, after a space; empty if there is none.
fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(&text[..text.len().min(MAX_SHOWN)]);
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match line.trim() {
        "" => String::new(),
        line => format!(" {line}"),
    }
}
