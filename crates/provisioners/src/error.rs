//! Errors: each is one line that says what was tried, why it failed, and what to do next.

use fleet::launch::OutputError;
use provision::ProvisionError;
use targets::RemoveLeftError;

/// Why something could not be provisioned or removed.
#[derive(Debug, thiserror::Error)]
pub enum ProvisionerError {
    /// The server's tool cannot be asked, before anything was created.
    #[error("provision: {what}: the server cannot be asked: {}", advised(.why))]
    Look {
        /// What was to be created.
        what: String,
        /// What the tool said.
        why: ToolError,
    },
    /// The name is taken: whatever has it is not ours.
    #[error(
        "provision: {what} exists already and was not created by this run: it is left as it is; next: run again, which \
         takes a new name"
    )]
    Exists {
        /// What there is.
        what: String,
    },
    /// It was not created, or not completely.
    #[error("provision: {what} cannot be created: {}", advised(.why))]
    Create {
        /// What.
        what: String,
        /// What the tool said.
        why: ToolError,
    },
    /// It stays.
    #[error("{what} cannot be removed: {}", advised(.why))]
    Remove {
        /// What.
        what: String,
        /// What the tool said.
        why: ToolError,
    },
    /// Its entry in the journal is not of the run, or cannot be read.
    #[error(transparent)]
    Entry(#[from] RemoveLeftError),
    /// The journal cannot be written.
    #[error(transparent)]
    Journal(#[from] ProvisionError),
}

/// Why a tool did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// Its command failed.
    #[error(transparent)]
    Command(#[from] OutputError),
    /// A directory for a brick is not where its removal looks for it.
    #[error(
        "the directory {path} of the brick is not seen on {host}, so it could not be removed; next: write bricks_via, \
         such as bricks_via: \"{{host}}\""
    )]
    NoBrick {
        /// The directory.
        path: String,
        /// The host of the brick.
        host: String,
    },
    /// Every number for a target that was tried is taken.
    #[error("tgtd has no free number for a target")]
    NoNumber,
    /// The device is in use on the server.
    #[error("{device} is in use on the server: {by}; next: name a device that nothing uses")]
    DeviceInUse {
        /// The device.
        device: String,
        /// By what.
        by: String,
    },
    /// The monitors refuse to remove pools.
    #[error(
        "the monitors do not let pools be removed (mon_allow_pool_delete is false), so it would stay; next: `ceph config set mon \
         mon_allow_pool_delete true`, or name an existing pool"
    )]
    PoolsStay,
    /// Some placement groups do not serve requests in time.
    #[error(
        "{active} of its {all} placement groups are active; next: see `ceph health detail`, or write a longer timeout"
    )]
    NotActive {
        /// That serve requests.
        active: usize,
        /// Of the pool.
        all: usize,
    },
    /// The user has cancelled.
    #[error("cancelled")]
    Cancelled,
    /// The tool printed something else than its documents say. What it printed may hold a key.
    #[error(
        "what {0} printed cannot be read; next: run it by hand; its version may differ from those that are known to work"
    )]
    Unreadable(&'static str),
    /// There is no randomness for a secret.
    #[error("no secret can be made up: /dev/urandom: {0}")]
    NoSecret(#[from] std::io::Error),
}

/// An error with a next step.
fn advised(error: &ToolError) -> String {
    let text = error.to_string();
    match text.contains("; next: ") {
        true => text,
        false => format!(
            "{text}; next: run the command by hand; then correct its options, or the host that it runs on"
        ),
    }
}
