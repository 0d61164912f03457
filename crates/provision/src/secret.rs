//! Text that must not be shown: API tokens, session tokens, secret keys.

use std::fmt;
use std::path::Path;

use crate::error::ProvisionError;

/// A secret. Neither `Debug` nor `Display` reveals any of it, not even its length.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiSecret(String);

impl ApiSecret {
    /// A secret from text, without surrounding white space (such as a file's newline).
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// Reads a secret from a file.
    ///
    /// # Errors
    /// The file cannot be read, or is empty.
    pub fn from_file(path: &Path) -> Result<Self, ProvisionError> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            ProvisionError::Input(format!(
                "the token file {} cannot be read: {error}; next: give a file that holds the API token and nothing else",
                path.display()
            ))
        })?;
        let secret = Self::new(&text);
        if secret.is_empty() {
            return Err(ProvisionError::Input(format!(
                "the token file {} is empty; next: write the API token into it",
                path.display()
            )));
        }
        Ok(secret)
    }

    /// The secret itself, for the one place that sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `text` with this secret redacted, in case a server echoes it.
    pub(crate) fn redact(&self, text: &str) -> String {
        if self.is_empty() { text.to_owned() } else { text.replace(&self.0, "[secret]") }
    }
}

impl fmt::Debug for ApiSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_secret_is_printed() {
        let secret = ApiSecret::new(" T-0123 \n");
        assert_eq!(secret.reveal(), "T-0123");
        assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "Secret Some(Secret)");
        assert_eq!(secret.redact("token T-0123 refused"), "token [secret] refused");
    }

    #[test]
    fn an_unreadable_or_empty_file_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        let error = ApiSecret::from_file(&path).unwrap_err().to_string();
        assert!(error.contains(&path.display().to_string()), "{error}");
        std::fs::write(&path, "\n").unwrap();
        assert!(ApiSecret::from_file(&path).unwrap_err().to_string().contains("is empty"));
        std::fs::write(&path, "T-1\n").unwrap();
        assert_eq!(ApiSecret::from_file(&path).unwrap().reveal(), "T-1");
    }
}
