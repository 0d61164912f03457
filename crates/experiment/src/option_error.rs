//! Why an option of a target cannot be used as written.

use units::{ParseError, Size};

use crate::reader::one_of;
use crate::text_fault::TextFault;

/// Why a text does not have its option's own syntax.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxError {
    /// It has another form; this says how to write it, as in `write none or reserve`.
    #[error("{0}")]
    Form(&'static str),
    /// A quantity in it cannot be read.
    #[error(transparent)]
    Quantity(#[from] ParseError),
}

/// Why a text is no value of an option.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.fault())]
pub enum OptionValueError {
    /// Neither true nor false.
    Flag(String),
    /// No whole number within the limits.
    Count {
        /// As written.
        text: String,
        /// Minimum.
        least: u64,
        /// Maximum.
        most: u64,
    },
    /// A size below the minimum.
    TooSmall {
        /// As written.
        text: String,
        /// Minimum, in bytes.
        least: u64,
    },
    /// A size above the maximum.
    TooLarge {
        /// As written.
        text: String,
        /// Maximum, in bytes.
        most: u64,
    },
    /// No size, duration or share.
    Quantity(#[from] ParseError),
    /// None of the words.
    Choice {
        /// As written.
        text: String,
        /// The words.
        words: &'static [&'static str],
    },
    /// It does not have the option's own syntax.
    Syntax {
        /// As written.
        text: String,
        /// Why not.
        why: SyntaxError,
    },
}

impl OptionValueError {
    /// What is wrong and what to write, for messages that show the two separately.
    pub fn fault(&self) -> TextFault {
        match self {
            Self::Flag(text) => {
                TextFault::new(format!("{text:?} is neither true nor false"), "write true or false")
            }
            Self::Count { text, least, most } => TextFault::new(
                format!("{text:?} does not fit"),
                if *most == u64::MAX {
                    format!("write a whole number from {least} on")
                } else {
                    format!("write a whole number from {least} to {most}")
                },
            ),
            Self::TooSmall { text, least } => {
                TextFault::new(format!("{text:?} is too small"), format!("write {} or more", Size(*least)))
            }
            Self::TooLarge { text, most } => {
                TextFault::new(format!("{text:?} is too large"), format!("write at most {}", Size(*most)))
            }
            Self::Quantity(error) => TextFault::new(error.fault(), error.hint()),
            Self::Choice { text, words } => {
                TextFault::new(format!("{text:?} does not fit"), format!("write {}", one_of(words)))
            }
            Self::Syntax { text, why } => TextFault::new(format!("{text:?} does not fit"), why.to_string()),
        }
    }
}

/// Why the options of a target cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// Its kind of target has no such option.
    #[error("{scheme}: targets have no option {name:?}; {}", meant(*.near))]
    Unknown {
        /// The kind's scheme.
        scheme: &'static str,
        /// The option's name.
        name: String,
        /// The option that was probably meant.
        near: Option<&'static str>,
    },
    /// An option's value cannot be used.
    #[error("{name}: {error}")]
    Value {
        /// The option's name.
        name: String,
        /// What is wrong with its value.
        error: Box<OptionValueError>,
    },
}

fn meant(near: Option<&str>) -> String {
    near.map_or_else(|| "take it out".to_owned(), |near| format!("did you mean {near:?}?"))
}
