//! Secrets that drivers hold: text that is never printed.

use std::fmt;

/// Text that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Protects text from being printed.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for signing or logging in.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// The text, for whoever sends it on.
    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
