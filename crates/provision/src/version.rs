//! Versions of the management API, and the choice of one.

use std::fmt;
use std::str::FromStr;

use crate::error::ProvisionError;

/// A version of the management API, such as 1.8.1 or 2.29; ordered by age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApiVersion {
    major: u16,
    minor: u16,
    patch: u16,
}

/// The two generations of the API; they have the same resources with different parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Generation {
    /// 1.x: names in `name`/`names`, paging by `token`, results under `pagination_info`.
    One,
    /// 2.x: names in `names`, paging by `continuation_token`.
    Two,
}

impl ApiVersion {
    /// Version `major.minor`.
    pub const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor, patch: 0 }
    }

    /// The generation this version belongs to.
    pub fn generation(self) -> Generation {
        if self.major == 1 { Generation::One } else { Generation::Two }
    }

    /// Whether this client knows the version: 1.0 to 1.12 and 2.0 to 2.29.
    pub fn is_known(self) -> bool {
        match (self.major, self.minor, self.patch) {
            (1, 8, 1) => true,
            (1, minor, 0) => minor <= 12,
            (2, minor, 0) => minor <= 29,
            _ => false,
        }
    }

    /// The newest version that both sides know; 2.x takes precedence over 1.x as the newer.
    ///
    /// # Errors
    /// There is none; the error lists what the array offers.
    pub(crate) fn newest_common(offered: &[String]) -> Result<Self, ProvisionError> {
        // Arrays also list names such as "2.X"; anything that is not a version is ignored.
        offered
            .iter()
            .filter_map(|text| text.parse::<Self>().ok())
            .filter(|version| version.is_known())
            .max()
            .ok_or_else(|| {
                ProvisionError::Version(format!(
                    "the array offers the management API in the versions [{}], and none of them is known here (1.0 to 1.12, 2.0 to 2.29); \
                     next: create an export and a bucket by hand and give them with --nfs and --s3",
                    offered.join(", ")
                ))
            })
    }

    /// Returns an error if the array's API is older than `least`, which introduced `what`.
    pub(crate) fn require(self, least: Self, what: &str) -> Result<(), ProvisionError> {
        if self >= least {
            return Ok(());
        }
        Err(ProvisionError::Version(format!(
            "the array's newest common API version is {self}, and {what} needs {least}; \
             next: create what is needed by hand and give it with --nfs and --s3, or update the array"
        )))
    }
}

impl fmt::Display for ApiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        if self.patch > 0 { write!(f, ".{}", self.patch) } else { Ok(()) }
    }
}

/// The text that is no [`ApiVersion`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an API version")]
pub struct ApiVersionError(pub String);

impl FromStr for ApiVersion {
    type Err = ApiVersionError;

    fn from_str(text: &str) -> Result<Self, ApiVersionError> {
        let mut parts = text.split('.').map(str::parse::<u16>);
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(Ok(major)), Some(Ok(minor)), None, None) => Ok(Self::new(major, minor)),
            (Some(Ok(major)), Some(Ok(minor)), Some(Ok(patch)), None) => Ok(Self { major, minor, patch }),
            _ => Err(ApiVersionError(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(offered: &[&str]) -> Result<String, ProvisionError> {
        let offered: Vec<String> = offered.iter().map(|&text| text.to_owned()).collect();
        ApiVersion::newest_common(&offered).map(|version| version.to_string())
    }

    #[test]
    fn the_newest_known_version_wins() {
        assert_eq!(choose(&["1.0", "1.9", "1.12", "1.10"]).unwrap(), "1.12");
        assert_eq!(choose(&["2.0", "1.12"]).unwrap(), "2.0");
        assert_eq!(choose(&["1.12", "2.9", "2.29", "2.30", "3.0", "2.X"]).unwrap(), "2.29");
        assert_eq!(choose(&["1.8", "1.8.1"]).unwrap(), "1.8.1");
    }

    #[test]
    fn no_common_version_says_what_was_offered() {
        let error = choose(&["3.0", "latest"]).unwrap_err().to_string();
        assert!(error.contains("3.0, latest") && error.contains("next:"), "{error}");
        assert!(choose(&[]).is_err());
    }

    #[test]
    fn an_old_version_is_refused_where_it_lacks_something() {
        let old = ApiVersion::new(1, 2);
        assert!(
            old.require(ApiVersion::new(1, 3), "listing data addresses")
                .unwrap_err()
                .to_string()
                .contains("1.3")
        );
        assert!(ApiVersion::new(2, 0).require(ApiVersion::new(1, 3), "x").is_ok());
    }
}
