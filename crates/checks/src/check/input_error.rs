//! What is wrong with the inputs of a check, in the words of whoever wrote them.

use drivers::s3::EndpointError;
use targets::{ArrayPlace, TargetError};
use units::Size;

/// How a caller spells the names of options: messages repeat what its users wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionStyle {
    /// `--block-size`, on a command line.
    Flags,
    /// `block_size`, in JSON.
    Fields,
}

impl OptionStyle {
    /// An option, whose words are joined by hyphens, in this style.
    pub fn name(self, option: &str) -> String {
        match self {
            Self::Flags => format!("--{option}"),
            Self::Fields => option.replace('-', "_"),
        }
    }
}

/// An input that a check cannot use. One line: the option, what is wrong with it, and what to write instead.
#[derive(Debug, thiserror::Error)]
pub enum CheckInputError {
    /// A time is zero.
    #[error("{option} 0: it must be longer than nothing, such as 10s")]
    NoTime {
        /// The option, as its users write it; also below.
        option: String,
    },
    /// A size is zero.
    #[error("{option} 0: it must be at least 1 byte")]
    NoBytes {
        /// The option.
        option: String,
    },
    /// A size is too large.
    #[error("{option} {given}: more than {most} is not supported")]
    TooLarge {
        /// The option.
        option: String,
        /// The size.
        given: Size,
        /// The max.
        most: Size,
    },
    /// A number is out of its range.
    #[error("{option} {given}: write a number from {least} to {most}")]
    OutOfRange {
        /// The option.
        option: String,
        /// The number.
        given: u64,
        /// The min.
        least: u64,
        /// The max.
        most: u64,
    },
    /// The URL of a target.
    #[error("{source}")]
    Target {
        /// The option.
        option: String,
        /// What is wrong with it.
        source: TargetError,
    },
    /// The address of an array.
    #[error("{option} {address:?} is no address: write host, host:port or [IPv6]:port")]
    NoAddress {
        /// The option.
        option: String,
        /// What was given.
        address: String,
    },
    /// Encrypted data cannot be dropped in the kernel.
    #[error(
        "{option} discard does not work with S3 over TLS, which must see the bytes to decrypt them: take {option} \
         discard away, use http, or leave S3 out with {skip}"
    )]
    DiscardOverTls {
        /// The option.
        option: String,
        /// The option that leaves S3 out.
        skip: String,
    },
    /// A protocol's library reads into memory.
    #[error(
        "{option} discard does not work with {scheme}, whose library reads into memory: take {option} discard away, or leave {scheme} out with {skip}"
    )]
    NoDiscard {
        /// The option.
        option: String,
        /// The protocol.
        scheme: &'static str,
        /// The option that leaves it out.
        skip: String,
    },
    /// Everything is skipped.
    #[error("nothing is left to check; next: take {} away", skips.join(" or "))]
    NothingLeft {
        /// The options that leave the protocols of the source out.
        skips: Vec<String>,
    },
    /// The URL of an object gateway.
    #[error("{option}: {why}")]
    Gateway {
        /// The option.
        option: String,
        /// What is wrong with it.
        why: EndpointError,
    },
    /// A protocol that every version checks is not there.
    #[error("nothing is checked on an array's {0:?}; this is a defect")]
    NoProtocol(ArrayPlace),
}

impl CheckInputError {
    /// [`Self::DiscardOverTls`] in this style.
    pub(super) fn discard_over_tls(style: OptionStyle) -> Self {
        Self::DiscardOverTls { option: style.name("sink"), skip: style.name("skip-s3") }
    }

    /// The option that is wrong, as its users write it; empty for none in particular.
    pub fn option(&self) -> &str {
        match self {
            Self::NoTime { option }
            | Self::NoBytes { option }
            | Self::TooLarge { option, .. }
            | Self::OutOfRange { option, .. }
            | Self::Target { option, .. }
            | Self::NoAddress { option, .. }
            | Self::DiscardOverTls { option, .. }
            | Self::NoDiscard { option, .. }
            | Self::Gateway { option, .. } => option,
            Self::NothingLeft { skips } => skips.first().map_or("", |skip| skip),
            Self::NoProtocol(_) => "",
        }
    }
}
