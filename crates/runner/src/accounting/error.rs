//! Why calls are not counted.

use fleet::launch::OutputError;

/// Why calls are not counted. One line.
#[derive(Debug, thiserror::Error)]
pub enum AccountingError {
    /// The command failed.
    #[error(transparent)]
    Command(#[from] OutputError),
    /// It printed something else.
    #[error("what it printed cannot be read: {0}")]
    Output(String),
    /// It did its work and said no.
    #[error("gluster refuses: {0}")]
    Refused(String),
    /// The counters of before are gone or larger than those of after.
    #[error("the counters began anew during the measurement: it was mounted again, or a server restarted")]
    BeganAnew,
    /// The counters of a mount cannot be read any more.
    #[error("it is not mounted any more")]
    Unmounted,
}
