//! Work as it joins the queue, with what belongs to it.

use std::collections::BTreeMap;

use provision::ApiSecret;
use sha2::{Digest, Sha256};
use targets::AccessKey;

use crate::login::Login;
use crate::storperf::StorperfJob;
use crate::work::RunKind;

/// Work as a client sent it.
#[derive(Debug)]
pub(crate) struct NewWork {
    /// What it is.
    pub kind: RunKind,
    /// The text of an experiment file; for other kinds, JSON without secrets.
    pub text: String,
    /// What stays in memory.
    pub secrets: RunSecrets,
    /// What belongs to it if it is a job of `StorPerf`'s.
    pub storperf: Option<StorperfJob>,
}

/// The secrets of a run, in memory only.
#[derive(Debug, Default)]
pub(crate) struct RunSecrets {
    /// Keys by the names of its targets; for checks, by the schemes of their protocols.
    pub keys: BTreeMap<String, AccessKey>,
    /// How to log in to its hosts.
    pub login: Login,
    /// Token of the array that it uses.
    pub array_token: Option<ApiSecret>,
}

impl RunSecrets {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.login.is_empty() && self.array_token.is_none()
    }
}

impl NewWork {
    /// An experiment without secrets.
    pub(crate) fn experiment(text: String) -> Self {
        Self { kind: RunKind::Experiment, text, secrets: RunSecrets::default(), storperf: None }
    }

    /// Digest of what identifies a request; secrets are left out.
    pub(crate) fn digest(&self) -> Vec<u8> {
        let mut digest = Sha256::new();
        // Without a prefix, as in earlier versions.
        if self.kind != RunKind::Experiment {
            digest.update(format!("{}\0", self.kind.name()));
        }
        digest.update(self.text.as_bytes());
        for (target, key) in &self.secrets.keys {
            digest.update(format!("\0{target}\0{}", key.id));
        }
        digest.finalize().to_vec()
    }
}
