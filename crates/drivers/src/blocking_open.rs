//! Opening what a client library can only open with blocking calls.

use std::io;

use metrics::ErrorKind;
use reactor::Reactor;

use crate::DriverError;
use crate::failure::Failure;

/// Runs `open`, which blocks, on a thread of this name, and waits for its outcome. The thread continues if nobody waits any
/// more. `library` is for messages.
///
/// # Errors
/// No thread can be started. The inner result is that of `open`.
pub(crate) async fn on_thread<T: Send + 'static>(
    reactor: &Reactor,
    (name, library): (&str, &str),
    open: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<Result<T, Failure>, DriverError> {
    let local = |error| unconnected(library, &error);
    let (opened, opener) = reactor.completions::<Result<T, Failure>>().map_err(local)?;
    let run = move || opener.complete(open());
    std::thread::Builder::new().name(name.to_owned()).spawn(run).map_err(local)?;
    let mut outcome = None;
    opened.wait(|result| outcome = Some(result)).await;
    let none = || Err(Failure::new(ErrorKind::Local, format!("{library} has not connected")));
    Ok(outcome.unwrap_or_else(none))
}

/// This process lacks what a connection to a library takes.
#[cold]
pub(crate) fn unconnected(library: &str, error: &io::Error) -> DriverError {
    DriverError::new(ErrorKind::Local, format!("no connection to {library}: {error}"))
}
