//! Why no target could be made of a job with `ioengine=nfs`.

use experiment::TextFault;

/// Why a job's `nfs_url` or `nfs_connections` names no target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.fault())]
pub(super) enum NfsJobError {
    /// It is no URL of an export.
    Url {
        /// The URL.
        url: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// It names a user.
    User,
    /// It asks for another version of NFS, under this name of the option.
    Version {
        name: String,
        value: String,
    },
    /// A libnfs option that is not supported, and what to do instead.
    Unsupported {
        name: String,
        instead: &'static str,
    },
    /// Not even libnfs has this option; a similar one, if there is one.
    Unknown {
        name: String,
        near: Option<&'static str>,
    },
    /// An option's value is no number, or too small.
    Number {
        name: String,
        value: String,
        least: u32,
    },
    /// No port.
    Port {
        name: String,
        value: String,
    },
    /// Options that all URLs must share differ between this URL and the first.
    Differs {
        url: String,
        first: String,
    },
    NoConnections,
}

impl NfsJobError {
    /// What is wrong, and what to write.
    pub(super) fn fault(&self) -> TextFault {
        let see_options = |text: String| TextFault::new(text, super::SEE_OPTIONS);
        match self {
            Self::Url { url, problem } => {
                TextFault::new(format!("nfs_url \"{url}\": {problem}"), "write nfs://server/export")
            }
            Self::User => TextFault::new(
                "nfs_url: a user belongs to Kerberos, which is not there",
                "take out what stands before the @, and give uid= and gid=",
            ),
            Self::Version { name, value } => TextFault::new(
                format!("nfs_url: {name}={value}: NFS is spoken in versions 3 and 4.1 here"),
                super::nfs::VERSIONS,
            ),
            Self::Unsupported { name, instead } => {
                TextFault::new(format!("nfs_url: the option {name}= of libnfs is not there"), *instead)
            }
            Self::Unknown { name, near } => TextFault::new(
                format!("nfs_url: there is no option {name}="),
                near.map_or_else(|| "take it out".to_owned(), |near| format!("did you mean {near}=?")),
            ),
            Self::Number { name, value, least } => see_options(format!(
                "nfs_url: {name}={value}: write a whole number from {least} to 4294967295"
            )),
            Self::Port { name, value } => {
                see_options(format!("{name}: \"{value}\" is no port from 1 to 65535"))
            }
            Self::Differs { url, first } => see_options(format!(
                "{url} has another uid, gid, rsize or wsize than {first}: write the same with each URL"
            )),
            Self::NoConnections => see_options("nfs_connections: write 1 or more".to_owned()),
        }
    }
}
