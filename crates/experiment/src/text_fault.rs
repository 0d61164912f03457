//! What is wrong with a text that was written by a person.

/// What is wrong with a text (a URL, a list of hosts, a value with variables in it), and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}; {hint}")]
pub struct TextFault {
    /// What is wrong. What may hold a password is not repeated.
    pub text: String,
    /// What to do.
    pub hint: String,
}

impl TextFault {
    /// What is wrong, and what to do.
    pub fn new(text: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { text: text.into(), hint: hint.into() }
    }
}
