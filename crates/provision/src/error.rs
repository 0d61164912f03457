//! Errors: each is one line that names the step, the address, the cause and the next step.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::steps::{ManagementStep, StepPhase};

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    /// Invalid input from the user; the text says which and what to write instead.
    #[error("{0}")]
    Input(String),
    /// The array's API is too old, too new or of another kind.
    #[error("{0}")]
    Version(String),
    /// A call to the management API failed.
    #[error(transparent)]
    Call(Box<CallError>),
    /// The name was already taken: the object is not ours and stays untouched.
    #[error(
        "{what} exists already and was not created by this run: it is left as it is; next: run again, which takes a new name"
    )]
    NotOurs {
        /// Kind and name.
        what: String,
    },
    /// A target that the user named is unsuitable.
    #[error("{0}")]
    Target(String),
    /// The journal could not be written or read.
    #[error("journal {}: {cause}", path.display())]
    Journal {
        /// The file or directory.
        path: PathBuf,
        /// The cause, with the next step.
        cause: String,
    },
}

impl ProvisionError {
    /// Whether this is the effect of [`crate::Cancel::cancel`] and not a fault.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Call(call) if matches!(call.failure, Failure::Cancelled))
    }

    /// Whether there was no response at all.
    pub(crate) fn is_silence(&self) -> bool {
        matches!(self, Self::Call(call) if call.failure.is_silence())
    }

    /// The step that failed, if it was a call.
    pub fn step(&self) -> Option<ManagementStep> {
        match self {
            Self::Call(call) => Some(call.step),
            _ => None,
        }
    }

    /// A journal error.
    pub(crate) fn journal(path: &std::path::Path, error: &std::io::Error) -> Self {
        let cause = format!(
            "{error}; next: give a directory that can be written with --journal-dir (nothing is created on an array without a journal)"
        );
        Self::Journal { path: path.to_owned(), cause }
    }
}

/// A call that failed.
#[derive(Debug)]
pub struct CallError {
    /// Which call.
    pub step: ManagementStep,
    /// The object of the call, such as a name; may be empty.
    pub subject: String,
    /// Method and URL.
    pub request: String,
    /// How it failed.
    pub failure: Failure,
}

/// One of the errors in an array's response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayMessage {
    /// The array's message.
    pub message: String,
    /// The object that the message is about.
    pub context: Option<String>,
}

/// How a call failed.
#[derive(Debug)]
pub enum Failure {
    /// No connection.
    Connect(String),
    /// No trustworthy TLS session.
    Tls {
        /// The error from TLS.
        cause: String,
        /// SHA-256 of the certificate that the array presented, if the handshake got that far.
        fingerprint: Option<String>,
    },
    /// No response in time.
    Timeout {
        /// The timeout.
        after: Duration,
        /// Whether the request may have reached the array.
        sent: bool,
    },
    /// The connection ended before the response was complete.
    Broken(String),
    /// The array rejected the call.
    Status {
        /// HTTP status.
        status: u16,
        /// The array's messages.
        messages: Vec<ArrayMessage>,
    },
    /// The response is malformed.
    Answer(String),
    /// The user cancelled.
    Cancelled,
}

impl Failure {
    /// Whether the array may have executed the call although it failed.
    pub fn is_ambiguous(&self) -> bool {
        match self {
            Self::Connect(_) | Self::Tls { .. } => false,
            Self::Timeout { sent, .. } => *sent,
            Self::Broken(_) | Self::Answer(_) | Self::Cancelled => true,
            Self::Status { status, .. } => *status >= 500,
        }
    }

    /// Whether the same call may succeed a moment later.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Connect(_) | Self::Timeout { .. } | Self::Broken(_) => true,
            Self::Status { status, .. } => *status >= 500 || *status == 429 || *status == 408,
            Self::Tls { .. } | Self::Answer(_) | Self::Cancelled => false,
        }
    }

    /// Whether there was no response at all, so that further calls will not do better.
    pub(crate) fn is_silence(&self) -> bool {
        matches!(self, Self::Connect(_) | Self::Timeout { .. })
    }

    /// Whether the array reports that the named object does not exist.
    pub(crate) fn says_absent(&self) -> bool {
        match self {
            Self::Status { status: 404, .. } => true,
            Self::Status { status: 400, messages } => says(messages, &["not exist", "not found", "no such"]),
            _ => false,
        }
    }

    /// Whether the array reports that an object of that name already exists.
    pub(crate) fn says_exists(&self) -> bool {
        match self {
            Self::Status { status: 409, .. } => true,
            Self::Status { status: 400, messages } => {
                says(messages, &["already exist", "already in use", "not unique"])
            }
            _ => false,
        }
    }
}

fn says(messages: &[ArrayMessage], words: &[&str]) -> bool {
    messages.iter().any(|entry| {
        let message = entry.message.to_lowercase();
        words.iter().any(|word| message.contains(word))
    })
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(cause) => write!(f, "no connection: {cause}"),
            Self::Tls { cause, fingerprint: None } => write!(f, "TLS failed: {cause}"),
            Self::Tls { cause, fingerprint: Some(fingerprint) } => {
                write!(
                    f,
                    "the certificate is not trusted: {cause}; it has the SHA-256 fingerprint {fingerprint}"
                )
            }
            Self::Timeout { after, .. } => write!(f, "no answer within {} s", after.as_secs_f64()),
            Self::Broken(cause) => write!(f, "the connection broke before the answer was complete: {cause}"),
            Self::Status { status, messages } => {
                write!(f, "HTTP {status}")?;
                for (position, entry) in messages.iter().enumerate() {
                    write!(f, "{} {}", if position == 0 { ":" } else { "," }, entry.message)?;
                    if let Some(context) = &entry.context {
                        write!(f, " ({context})")?;
                    }
                }
                Ok(())
            }
            Self::Answer(cause) => write!(f, "the answer makes no sense: {cause}"),
            Self::Cancelled => f.write_str("interrupted"),
        }
    }
}

impl CallError {
    /// What the user can do about it.
    fn next(&self) -> String {
        match &self.failure {
            Failure::Connect(_) => "check the management address, and that its port can be reached from here".into(),
            Failure::Tls { fingerprint: Some(fingerprint), .. } => format!(
                "if this is the array's certificate, pin it with --tls-fingerprint {fingerprint}; \
                 or give its authority with --tls-ca FILE, or switch verification off with --tls-insecure"
            ),
            Failure::Tls { .. } => {
                "check that the address is that of an HTTPS management API (http://ADDRESS speaks without TLS)".into()
            }
            Failure::Timeout { .. } | Failure::Broken(_) => {
                "check the array's health and the path to it, then run again".into()
            }
            Failure::Answer(_) => "check that the address is that of the array's management API".into(),
            Failure::Cancelled => "run again when it suits".into(),
            Failure::Status { status, .. } => match (self.step, status) {
                (ManagementStep::Login, 400..=403) => {
                    "check the API token: it may be mistyped, revoked, or another array's (on the array: pureadmin list --api-token)".into()
                }
                (_, 401 | 403) => "use the API token of a user who may do this (role array_admin or storage_admin)".into(),
                (_, 429 | 500..) => "see whether the array is busy or unhealthy, then run again".into(),
                (step, _) if step.phase() == StepPhase::Create => {
                    "remove what the array complains about, or create the target by hand and give it with --nfs or --s3".into()
                }
                (step, _) if step.phase() == StepPhase::Remove => {
                    "remove what the array complains about, then run `manometer cleanup`".into()
                }
                _ => "check that the address is that of the array's management API".into(),
            },
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}", self.step)?;
        if !self.subject.is_empty() {
            write!(f, " {}", self.subject)?;
        }
        write!(f, ": {}: {}; next: {}", self.request, self.failure, self.next())
    }
}

impl std::error::Error for CallError {}

impl From<CallError> for ProvisionError {
    fn from(error: CallError) -> Self {
        Self::Call(Box::new(error))
    }
}

/// What could not be removed; everything else was.
#[derive(Debug)]
pub struct RemoveError {
    /// What remains, and why: one line each.
    pub remaining: Vec<String>,
}

impl fmt::Display for RemoveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "not everything could be removed: {}; next: run `manometer cleanup`, which finishes it",
            self.remaining.join(" | ")
        )
    }
}

impl std::error::Error for RemoveError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(step: ManagementStep, status: u16, message: &str) -> CallError {
        let messages = vec![ArrayMessage { message: message.into(), context: Some("manometer-x".into()) }];
        CallError {
            step,
            subject: "manometer-x".into(),
            request: "POST https://10.0.0.1/api/2.29/buckets".into(),
            failure: Failure::Status { status, messages },
        }
    }

    #[test]
    fn an_error_is_one_line_with_step_address_status_message_and_next_step() {
        let text = ProvisionError::from(refused(ManagementStep::CreateBucket, 400, "Bucket already exists."))
            .to_string();
        assert_eq!(
            text,
            "cannot create the bucket manometer-x: POST https://10.0.0.1/api/2.29/buckets: HTTP 400: Bucket already exists. (manometer-x); \
             next: remove what the array complains about, or create the target by hand and give it with --nfs or --s3"
        );
        assert!(
            refused(ManagementStep::Login, 401, "Unauthorized").to_string().contains("check the API token")
        );
    }

    #[test]
    fn absence_presence_and_doubt_are_told_apart() {
        assert!(refused(ManagementStep::FindBucket, 400, "Bucket does not exist.").failure.says_absent());
        assert!(refused(ManagementStep::FindBucket, 404, "?").failure.says_absent());
        assert!(!refused(ManagementStep::FindBucket, 400, "Invalid filter.").failure.says_absent());
        assert!(!refused(ManagementStep::FindBucket, 500, "does not exist").failure.says_absent());
        assert!(refused(ManagementStep::CreateBucket, 409, "?").failure.says_exists());
        assert!(refused(ManagementStep::CreateBucket, 400, "Already exists").failure.says_exists());
        assert!(!refused(ManagementStep::CreateBucket, 400, "Name is invalid").failure.is_ambiguous());
        assert!(refused(ManagementStep::CreateBucket, 503, "busy").failure.is_ambiguous());
        assert!(Failure::Timeout { after: Duration::from_secs(1), sent: true }.is_ambiguous());
        assert!(!Failure::Connect("refused".into()).is_ambiguous());
    }
}
