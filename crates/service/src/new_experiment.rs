//! An experiment as it joins the queue, with what belongs to it.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use targets::{AccessKey, HeldSecrets};

use crate::login::Login;
use crate::storperf::StorperfJob;

/// An experiment as a client sent it.
#[derive(Debug)]
pub(crate) struct NewExperiment {
    /// The text of the experiment file.
    pub text: String,
    /// Keys by target name; they stay in memory.
    pub keys: BTreeMap<String, AccessKey>,
    /// How to log in to its hosts; stays in memory too.
    pub login: Login,
    /// What belongs to it if it is a job of `StorPerf`'s.
    pub storperf: Option<StorperfJob>,
}

/// The secrets of a run, in memory only.
#[derive(Debug, Default)]
pub(crate) struct RunSecrets {
    /// Keys of its targets.
    pub keys: HeldSecrets,
    /// How to log in to its hosts.
    pub login: Login,
}

impl NewExperiment {
    /// An experiment without secrets.
    pub(crate) fn of(text: String) -> Self {
        Self { text, keys: BTreeMap::new(), login: Login::default(), storperf: None }
    }

    /// Whether secrets came with it.
    pub(crate) fn has_secrets(&self) -> bool {
        !self.keys.is_empty() || !self.login.is_empty()
    }

    /// Digest of what identifies a request; secrets are left out.
    pub(crate) fn digest(&self) -> Vec<u8> {
        let mut digest = Sha256::new();
        digest.update(self.text.as_bytes());
        for (target, key) in &self.keys {
            digest.update(format!("\0{target}\0{}", key.id));
        }
        digest.finalize().to_vec()
    }

    /// Its secrets.
    pub(crate) fn into_secrets(self) -> RunSecrets {
        RunSecrets { keys: self.keys.into_iter().collect(), login: self.login }
    }
}
