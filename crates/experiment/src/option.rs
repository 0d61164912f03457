//! Target options: their names, meanings, and the parser of their values.

use std::collections::BTreeMap;
use std::fmt;

use units::{Share, Size, Span};

use crate::kind::TargetKind;
use crate::option_error::{OptionError, OptionValueError, SyntaxError};
use crate::url::TargetUrl;

/// The type of an option's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionKind {
    /// `true` or `false`; in URLs also yes, no, on, off, 1 and 0.
    Flag,
    /// A whole number.
    Count {
        /// Minimum.
        least: u64,
        /// Maximum.
        most: u64,
    },
    /// A size; in plans a plain number of bytes.
    Bytes {
        /// Minimum.
        least: u64,
        /// Maximum.
        most: u64,
    },
    /// A duration; in plans as `units::Span` prints it.
    Span,
    /// A share; in plans a number from 0 to 1.
    Share,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Any text, or a text checked by the option's own [`check`](OptionHelp::check).
    Text,
}

/// Parses the text of an option with its own syntax; the error says how to write it.
pub type OptionCheck = fn(&str) -> Result<(), SyntaxError>;

/// An option of a target kind.
#[derive(Clone, Copy, Debug)]
pub struct OptionHelp {
    /// The name as written.
    pub name: &'static str,
    /// The type of its value.
    pub kind: OptionKind,
    /// Human-readable default.
    pub default: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Parses a text with its own syntax; the error says how to write it.
    pub check: Option<OptionCheck>,
    /// Whether the value names a file of the host that opens the target, or of its user's configuration, which is read.
    pub reads_file: bool,
}

/// An option's value.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    /// For [`OptionKind::Flag`].
    Flag(bool),
    /// For [`OptionKind::Count`], and in bytes for [`OptionKind::Bytes`].
    Number(u64),
    /// For [`OptionKind::Span`].
    Span(Span),
    /// For [`OptionKind::Share`], from 0 to 1.
    Share(f64),
    /// For [`OptionKind::Choice`] and [`OptionKind::Text`].
    Text(String),
}

/// Prints the value as in plans.
impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionValue::Flag(flag) => flag.fmt(f),
            OptionValue::Number(number) => number.fmt(f),
            OptionValue::Span(span) => span.fmt(f),
            OptionValue::Share(share) => share.fmt(f),
            OptionValue::Text(text) => f.write_str(text),
        }
    }
}

impl OptionHelp {
    /// An option whose text needs no check of its own.
    pub const fn new(
        name: &'static str,
        kind: OptionKind,
        default: &'static str,
        about: &'static str,
    ) -> Self {
        Self { name, kind, default, about, check: None, reads_file: false }
    }

    /// An option whose text has its own syntax, parsed by `check`.
    pub const fn checked(
        name: &'static str,
        default: &'static str,
        about: &'static str,
        check: OptionCheck,
    ) -> Self {
        Self { name, kind: OptionKind::Text, default, about, check: Some(check), reads_file: false }
    }

    /// The same for an option whose value leads to a file that is read.
    pub const fn reading_file(self) -> Self {
        Self { reads_file: true, ..self }
    }

    /// Parses a value.
    ///
    /// # Errors
    /// What is wrong, and what to write instead.
    pub fn read(&self, text: &str) -> Result<OptionValue, OptionValueError> {
        let owned = || text.to_owned();
        Ok(match self.kind {
            OptionKind::Flag => match text {
                "true" | "yes" | "on" | "1" => OptionValue::Flag(true),
                "false" | "no" | "off" | "0" => OptionValue::Flag(false),
                _ => return Err(OptionValueError::Flag(owned())),
            },
            OptionKind::Count { least, most } => match text.parse::<u64>() {
                Ok(count) if (least..=most).contains(&count) => OptionValue::Number(count),
                _ => return Err(OptionValueError::Count { text: owned(), least, most }),
            },
            OptionKind::Bytes { least, most } => match text.parse::<Size>()?.bytes() {
                bytes if bytes < least => {
                    return Err(OptionValueError::TooSmall { text: owned(), least });
                }
                bytes if bytes > most => return Err(OptionValueError::TooLarge { text: owned(), most }),
                bytes => OptionValue::Number(bytes),
            },
            OptionKind::Span => OptionValue::Span(text.parse::<Span>()?),
            OptionKind::Share => OptionValue::Share(text.parse::<Share>()?.value()),
            OptionKind::Choice(words) => match words.iter().find(|word| **word == text) {
                Some(word) => OptionValue::Text((*word).to_owned()),
                None => return Err(OptionValueError::Choice { text: owned(), words }),
            },
            OptionKind::Text => {
                if let Some(check) = self.check {
                    check(text).map_err(|why| OptionValueError::Syntax { text: owned(), why })?;
                }
                OptionValue::Text(text.to_owned())
            }
        })
    }
}

/// The parsed options of a target.
#[derive(Clone, Debug, Default)]
pub struct TargetOptions(BTreeMap<String, OptionValue>);

impl TargetOptions {
    /// Parses the options of a URL's query, overridden by those that a plan has beside the URL.
    ///
    /// # Errors
    /// One line: the option, what is wrong with it, and what to write instead.
    pub fn read(
        kind: &TargetKind,
        url: &TargetUrl,
        beside: &BTreeMap<String, String>,
    ) -> Result<Self, OptionError> {
        let in_url = url.query().iter().map(|(name, value)| (name, value));
        let mut values = BTreeMap::new();
        for (name, text) in in_url.chain(beside) {
            let Some(help) = kind.option(name) else {
                let near = crate::nearest(name, kind.options.iter().map(|help| help.name));
                return Err(OptionError::Unknown { scheme: kind.scheme, name: name.clone(), near });
            };
            let value = help
                .read(text)
                .map_err(|error| OptionError::Value { name: name.clone(), error: Box::new(error) })?;
            values.insert(name.clone(), value);
        }
        Ok(Self(values))
    }

    /// A flag's value.
    pub fn flag(&self, name: &str) -> Option<bool> {
        match self.0.get(name)? {
            OptionValue::Flag(flag) => Some(*flag),
            _ => None,
        }
    }

    /// A whole number, or a size in bytes; also `None` if it does not fit the type, which the option's limits prevent.
    pub fn number<T: TryFrom<u64>>(&self, name: &str) -> Option<T> {
        match self.0.get(name)? {
            OptionValue::Number(number) => T::try_from(*number).ok(),
            _ => None,
        }
    }

    /// A duration in nanoseconds.
    pub fn span_ns(&self, name: &str) -> Option<u64> {
        match self.0.get(name)? {
            OptionValue::Span(span) => Some(span.nanos()),
            _ => None,
        }
    }

    /// A share's value, from 0 to 1.
    pub fn share(&self, name: &str) -> Option<f64> {
        match self.0.get(name)? {
            OptionValue::Share(share) => Some(*share),
            _ => None,
        }
    }

    /// A text, or one of a set of words.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.0.get(name)? {
            OptionValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Names and values of all given options, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &OptionValue)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::UrlForm;

    fn two(_: &str) -> Result<(), SyntaxError> {
        Err(SyntaxError::Form("write two"))
    }

    const OPTIONS: &[OptionHelp] = &[
        OptionHelp::new("direct", OptionKind::Flag, "false", ""),
        OptionHelp::new("count", OptionKind::Count { least: 1, most: 9 }, "1", ""),
        OptionHelp::new("size", OptionKind::Bytes { least: 1, most: 8 << 20 }, "1MiB", ""),
        OptionHelp::checked("pair", "none", "", two),
    ];
    static KIND: TargetKind = TargetKind::new("x", "x://host", UrlForm::Host, &[], OPTIONS);

    fn read(url: &str, beside: &[(&str, &str)]) -> Result<TargetOptions, Box<dyn std::error::Error>> {
        let beside = beside.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let url = TargetUrl::parse(&[&KIND], url)?;
        Ok(TargetOptions::read(&KIND, &url, &beside)?)
    }

    #[test]
    fn a_value_means_the_same_in_the_url_and_beside_it() {
        for (url, beside) in [
            ("x://h?direct=yes&size=1MiB&count=3", &[][..]),
            ("x://h", &[("direct", "true"), ("size", "1048576"), ("count", "3")][..]),
            ("x://h?direct=no&count=3", &[("direct", "true"), ("size", "1MiB")][..]),
        ] {
            let options = read(url, beside).unwrap();
            assert_eq!(options.flag("direct"), Some(true));
            assert_eq!((options.number::<u32>("size"), options.number("count")), (Some(1 << 20), Some(3u64)));
        }
    }

    #[test]
    fn wrong_values_say_what_to_write() {
        for (url, problem) in [
            ("x://h?direct=maybe", "direct: \"maybe\" is neither true nor false; write true or false"),
            ("x://h?count=10", "count: \"10\" does not fit; write a whole number from 1 to 9"),
            ("x://h?size=9MiB", "size: \"9MiB\" is too large; write at most 8MiB"),
            ("x://h?pair=x", "pair: \"x\" does not fit; write two"),
            ("x://h?dirct=1", "x: knows no \"dirct\"; did you mean \"direct\"?"),
        ] {
            assert_eq!(read(url, &[]).unwrap_err().to_string(), problem);
        }
    }
}
