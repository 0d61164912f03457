//! The one error of this crate: which text, what is wrong with it, how to mend it.

/// A text could not be read as a quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    text: String,
    wanted: &'static str,
    problem: String,
    mend: &'static str,
}

impl ParseError {
    pub(crate) fn new(
        text: &str,
        wanted: &'static str,
        problem: impl Into<String>,
        mend: &'static str,
    ) -> Self {
        // A pasted novel must not fill the terminal.
        let mut shown: String = text.chars().take(60).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        Self { text: shown, wanted, problem: problem.into(), mend }
    }

    /// The text that was given, shortened when it is very long.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How to write it rightly, for messages that show what is wrong and the mend apart.
    pub fn mend(&self) -> &'static str {
        self.mend
    }

    /// What is wrong, without the mend.
    pub fn fault(&self) -> String {
        format!("{:?} is not {}: {}", self.text, self.wanted, self.problem)
    }
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} is not {}: {}; {}", self.text, self.wanted, self.problem, self.mend)
    }
}

impl std::error::Error for ParseError {}
