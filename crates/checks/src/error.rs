//! Why a check, a network measurement or a calibration has no result.

use std::error::Error;
use std::fmt::Display;

use provision::ProvisionError;
use runner::RunError;

/// Why there is no report. One line each: what was tried, on what, what came back, what to do next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// The request cannot be carried out: a usage error.
    #[error("{0}")]
    Usage(String),
    /// Stopped before there was anything to report.
    #[error("stopped before anything was measured: {0}")]
    Stopped(String),
    /// Anything else.
    #[error("{0}")]
    Failure(String),
}

impl CheckError {
    /// A failure, in one line.
    pub(crate) fn failure(line: impl Display) -> Self {
        Self::Failure(line.to_string())
    }

    /// Prefixes a failure with `what: `; usage errors and stops stay as they are.
    pub(crate) fn during(self, what: impl Display) -> Self {
        match self {
            Self::Failure(line) => Self::Failure(format!("{what}: {line}")),
            other => other,
        }
    }
}

impl From<ProvisionError> for CheckError {
    fn from(error: ProvisionError) -> Self {
        match error {
            ProvisionError::Input(_) => Self::Usage(error.to_string()),
            _ => Self::Failure(error.to_string()),
        }
    }
}

impl From<RunError> for CheckError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Usage(line) => Self::Usage(line),
            RunError::Failure(line) => Self::Failure(line),
            RunError::NotReady(_) => Self::Failure(error.to_string()),
        }
    }
}

macro_rules! failures {
    ($($error:ty),*) => {$(
        impl From<$error> for CheckError {
            fn from(error: $error) -> Self {
                Self::Failure(error.to_string())
            }
        }
    )*};
}

failures!(store::CalibrationError, store::StoreError, reactor::OpenError);

/// Adds what was being done to an error.
pub(crate) trait While<T> {
    /// `what: the error`
    fn during(self, what: impl Display) -> Result<T, CheckError>;
}

impl<T, E: Error> While<T> for Result<T, E> {
    fn during(self, what: impl Display) -> Result<T, CheckError> {
        self.map_err(|error| CheckError::Failure(format!("{what}: {error}")))
    }
}
