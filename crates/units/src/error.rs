//! The only error of this crate: the text, what is wrong with it, and how to fix it.

/// A text could not be parsed as a quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    text: String,
    wanted: &'static str,
    problem: String,
    hint: &'static str,
}

impl ParseError {
    pub(crate) fn new(
        text: &str,
        wanted: &'static str,
        problem: impl Into<String>,
        hint: &'static str,
    ) -> Self {
        // A very long text must not fill the terminal.
        let mut shown: String = text.chars().take(60).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        Self { text: shown, wanted, problem: problem.into(), hint }
    }

    /// The given text, truncated if very long.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The correct form, for messages that show fault and hint separately.
    pub fn hint(&self) -> &'static str {
        self.hint
    }

    /// What is wrong, without the hint.
    pub fn fault(&self) -> String {
        format!("{:?} is not {}: {}", self.text, self.wanted, self.problem)
    }
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} is not {}: {}; {}", self.text, self.wanted, self.problem, self.hint)
    }
}

impl std::error::Error for ParseError {}
