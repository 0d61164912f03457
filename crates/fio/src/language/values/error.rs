//! Why a text is no value of an option. Where there is a form to follow, the message is how to write it.

use experiment::hint;

/// Why a text does not begin with a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    /// There are no digits.
    #[error("write a whole number such as 8, 4k, 0x1000 or (2*4k)")]
    NoDigits,
    /// Something follows hexadecimal digits.
    #[error("a number in hexadecimal digits has no unit")]
    HexadecimalUnit,
    /// It does not fit 63 bits.
    #[error("it is larger than 9223372036854775807")]
    TooLarge,
}

/// What is wrong with an expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// Something that does not belong to it follows.
    #[error("the expression ends before {0:?}")]
    EndsBefore(String),
    /// The result does not fit 63 bits.
    #[error("the result is larger than 9223372036854775807")]
    ResultTooLarge,
    /// A number on the way does not fit 127 bits.
    #[error("the expression's numbers become too large")]
    TooLarge,
    /// A division by zero.
    #[error("nothing can be divided by 0")]
    DivisionByZero,
    /// An exponent is negative or does not fit 32 bits.
    #[error("an exponent is a small whole number")]
    Exponent,
    /// Too many parentheses or powers within each other.
    #[error("parentheses are nested too deeply")]
    TooDeep,
    /// A parenthesis is not closed.
    #[error("a closing parenthesis is missing")]
    Unclosed,
    /// This stands in place of a number.
    #[error("a number is expected instead of {0:?}")]
    NoNumber(char),
    /// Nothing stands in place of a number.
    #[error("a number is missing at the end of the expression")]
    Unfinished,
    /// A number has a unit that does not exist.
    #[error("{0:?} is no unit")]
    UnknownUnit(String),
    /// A number is wrong.
    #[error(transparent)]
    Number(#[from] NumberError),
}

/// Why a text is no value of an option.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ValueError {
    /// It does not have the option's own form; this says how to write it.
    #[error("{0}")]
    Form(&'static str),
    /// No number.
    #[error(transparent)]
    Number(#[from] NumberError),
    /// No expression.
    #[error(transparent)]
    Expression(#[from] ExpressionError),
    /// A size that does not fit 63 bits.
    #[error("it is larger than 8 EiB")]
    SizeTooLarge,
    /// A fraction.
    #[error("write a whole number with a smaller unit: 1536 instead of 1.5k")]
    Fraction,
    /// A percentage of nothing.
    #[error("a percentage makes no sense here")]
    Percentage,
    /// A number of zones of a device.
    #[error("zones of devices are not known here")]
    Zones,
    /// A unit of data that does not exist.
    #[error("{0:?} is no unit; there are k, m, g, t and p, also as kb and ki")]
    UnknownUnit(String),
    /// A percentage outside its limits.
    #[error("write a percentage from 0% to 100%")]
    NoPercentage,
    /// More values than directions.
    #[error("there are reads, writes and trims: at most three values")]
    TooManyDirections,
    /// No value for any direction.
    #[error("a value is missing")]
    Missing,
    /// A negative size.
    #[error("a size is not negative")]
    NegativeSize,
    /// A negative number.
    #[error("write a number from 0 on")]
    Negative,
    /// One of several numbers is none.
    #[error("{0:?} is no number; write numbers such as 99 or 99.9, with : between them")]
    NoFloat(String),
    /// A negative duration.
    #[error("a length of time is not negative")]
    NegativeTime,
    /// A duration in hexadecimal digits.
    #[error("write the time in decimal digits")]
    HexadecimalTime,
    /// No duration.
    #[error("write a time such as 30, 30s, 5ms or 2h")]
    NoTime,
    /// A unit of time that does not exist.
    #[error("{0:?} is no unit of time; there are us, ms, s, m, h and d")]
    UnknownTimeUnit(String),
    /// A duration beyond all patience.
    #[error("it is longer than 10 years")]
    TooLong,
    /// Only the name of this option.
    #[error("it needs a value: {0}=…")]
    NameOnly(&'static str),
    /// Nothing after the `=`.
    #[error("nothing stands behind the =")]
    Empty,
    /// Neither on nor off.
    #[error("it is 0 or 1")]
    NoFlag,
    /// Below the minimum.
    #[error("the least is {0}")]
    BelowLeast(i64),
    /// Above the maximum.
    #[error("the most is {0}")]
    AboveMost(i64),
    /// More numbers than this.
    #[error("at most {0} may be given")]
    TooMany(usize),
    /// Outside its limits.
    #[error("{value} is not from {least} to {most}")]
    Outside {
        /// The number.
        value: f64,
        /// Minimum.
        least: f64,
        /// Maximum.
        most: f64,
    },
    /// None of the option's words.
    #[error("{}", hint(word, words.iter().copied()))]
    UnknownWord {
        /// As written.
        word: String,
        /// The words.
        words: &'static [&'static str],
    },
}
