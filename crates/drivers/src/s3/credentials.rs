//! Access keys, from a file, the AWS environment variables, or the shared credentials file.

use std::path::{Path, PathBuf};

use crate::Secret;

/// An access key with its secret. `Debug` shows the access key only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// The public name of the key pair; not a secret.
    pub access_key: String,
    /// The key that requests are signed with.
    pub secret_key: Secret,
    /// The token of temporary credentials.
    pub session_token: Option<Secret>,
}

/// No usable credentials. Every message says what was examined and what to do; none contains a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialsError {
    /// The file cannot be read.
    #[error("credentials file {path}: {reason}")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        reason: String,
    },
    /// The file does not contain the profile.
    #[error("credentials file {path}: no profile [{profile}]; set AWS_PROFILE to one that is there")]
    NoProfile {
        /// The file.
        path: PathBuf,
        /// The requested profile.
        profile: String,
    },
    /// The profile lacks a key.
    #[error("credentials file {path}, profile [{profile}]: no {key}")]
    NoKey {
        /// The file.
        path: PathBuf,
        /// The profile.
        profile: String,
        /// The missing line.
        key: &'static str,
    },
    /// Only one of the two environment variables is set.
    #[error("{missing} is not set although {present} is")]
    HalfSet {
        /// The missing variable.
        missing: &'static str,
        /// The variable that is set.
        present: &'static str,
    },
    /// No source has any.
    #[error(
        "no S3 credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give a credentials file, or make ~/.aws/credentials"
    )]
    None,
}

impl Credentials {
    /// A user's keys.
    pub fn new(access_key: impl Into<String>, secret_key: impl Into<String>) -> Self {
        Self { access_key: access_key.into(), secret_key: Secret::new(secret_key), session_token: None }
    }

    /// The key, the secret and the token in clear text, only for passing them to another process of this run over a
    /// pipe.
    pub fn into_texts(self) -> (String, String, Option<String>) {
        (self.access_key, self.secret_key.into_text(), self.session_token.map(Secret::into_text))
    }

    /// Looks where the AWS tools look: the given file; else `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and
    /// `AWS_SESSION_TOKEN` among the variables; else the file at `AWS_SHARED_CREDENTIALS_FILE` or `~/.aws/credentials`.
    /// `AWS_PROFILE` selects the profile in a file.
    ///
    /// # Errors
    /// [`CredentialsError`], also when a source exists but is incomplete: the next one is then not tried.
    pub fn find_in(
        file: Option<&Path>,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, CredentialsError> {
        let profile = environment("AWS_PROFILE").unwrap_or_else(|| "default".to_owned());
        if let Some(path) = file {
            return Self::from_file(path, &profile);
        }
        let (id, secret) = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY");
        match (environment(id), environment(secret)) {
            (Some(access_key), Some(secret_key)) => {
                return Ok(Self {
                    access_key,
                    secret_key: Secret::new(secret_key),
                    session_token: environment("AWS_SESSION_TOKEN").map(Secret::new),
                });
            }
            (Some(_), None) => return Err(CredentialsError::HalfSet { missing: secret, present: id }),
            (None, Some(_)) => return Err(CredentialsError::HalfSet { missing: id, present: secret }),
            (None, None) => {}
        }
        if let Some(path) = environment("AWS_SHARED_CREDENTIALS_FILE") {
            return Self::from_file(Path::new(&path), &profile);
        }
        let home = environment("HOME").ok_or(CredentialsError::None)?;
        let path = Path::new(&home).join(".aws/credentials");
        if path.exists() { Self::from_file(&path, &profile) } else { Err(CredentialsError::None) }
    }

    /// Reads a profile of a shared credentials file: `aws_access_key_id`, `aws_secret_access_key` and, if present,
    /// `aws_session_token`. Lines before the first section belong to `default`.
    ///
    /// # Errors
    /// The file cannot be read, or does not contain the profile or a key.
    pub fn from_file(path: &Path, profile: &str) -> Result<Self, CredentialsError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| CredentialsError::File { path: path.to_owned(), reason: error.to_string() })?;
        let mut section = "default";
        let mut seen = false;
        let (mut access_key, mut secret_key, mut session_token) = (None, None, None);
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                section = name.trim();
                seen |= section == profile;
                continue;
            }
            let Some((name, value)) = line.split_once('=') else { continue };
            if section != profile {
                continue;
            }
            seen = true;
            let value = value.trim().to_owned();
            match name.trim().to_ascii_lowercase().as_str() {
                "aws_access_key_id" => access_key = Some(value),
                "aws_secret_access_key" => secret_key = Some(value),
                "aws_session_token" => session_token = Some(Secret::new(value)),
                _ => {}
            }
        }
        if !seen {
            return Err(CredentialsError::NoProfile { path: path.to_owned(), profile: profile.to_owned() });
        }
        let missing =
            |key| CredentialsError::NoKey { path: path.to_owned(), profile: profile.to_owned(), key };
        Ok(Self {
            access_key: access_key
                .filter(|key| !key.is_empty())
                .ok_or_else(|| missing("aws_access_key_id"))?,
            secret_key: secret_key
                .filter(|key| !key.is_empty())
                .map(Secret::new)
                .ok_or_else(|| missing("aws_secret_access_key"))?,
            session_token,
        })
    }
}

/// The region that the AWS tools would sign for with these variables: `AWS_REGION`, else `AWS_DEFAULT_REGION`.
pub fn region_in(variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    ["AWS_REGION", "AWS_DEFAULT_REGION"].into_iter().find_map(variable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        std::fs::write(file.path(), text).expect("it can be written");
        file
    }

    #[test]
    fn profiles_of_a_file() {
        let file = file(
            "# mine\n[default]\naws_access_key_id = A1\naws_secret_access_key=s=1/+\n\n[work]\naws_access_key_id=A2\naws_secret_access_key=s2\naws_session_token = t2\n[half]\naws_access_key_id=A3\n",
        );
        assert_eq!(Credentials::from_file(file.path(), "default").unwrap(), Credentials::new("A1", "s=1/+"));
        let work = Credentials::from_file(file.path(), "work").unwrap();
        assert_eq!((&*work.access_key, work.session_token.as_ref().map(Secret::reveal)), ("A2", Some("t2")));
        let half = Credentials::from_file(file.path(), "half").unwrap_err();
        assert!(matches!(half, CredentialsError::NoKey { key: "aws_secret_access_key", .. }), "{half}");
        let none = Credentials::from_file(file.path(), "other").unwrap_err();
        assert!(none.to_string().contains("[other]"), "{none}");
    }

    #[test]
    fn a_file_without_sections_is_the_default_profile() {
        let file = file("aws_access_key_id = A\naws_secret_access_key = s\n");
        assert_eq!(Credentials::from_file(file.path(), "default").unwrap(), Credentials::new("A", "s"));
    }

    #[test]
    fn the_environment_comes_before_the_shared_file_and_after_a_given_one() {
        let shared = file("[p]\naws_access_key_id=F\naws_secret_access_key=f\n");
        let path = shared.path().to_str().unwrap().to_owned();
        let environment = |pairs: Vec<(&'static str, String)>| {
            move |name: &str| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
        };
        let keys = vec![
            ("AWS_ACCESS_KEY_ID", "E".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "e".to_owned()),
            ("AWS_SESSION_TOKEN", "t".to_owned()),
            ("AWS_PROFILE", "p".to_owned()),
        ];
        let found = Credentials::find_in(None, &environment(keys.clone())).unwrap();
        assert_eq!((&*found.access_key, found.session_token), ("E", Some(Secret::new("t"))));
        let found = Credentials::find_in(Some(shared.path()), &environment(keys)).unwrap();
        assert_eq!(found.access_key, "F");
        let found = Credentials::find_in(
            None,
            &environment(vec![("AWS_SHARED_CREDENTIALS_FILE", path), ("AWS_PROFILE", "p".to_owned())]),
        );
        assert_eq!(found.unwrap().access_key, "F");
        let half = Credentials::find_in(None, &environment(vec![("AWS_ACCESS_KEY_ID", "E".to_owned())]));
        assert!(matches!(half, Err(CredentialsError::HalfSet { missing: "AWS_SECRET_ACCESS_KEY", .. })));
        let none = Credentials::find_in(None, &environment(vec![("HOME", "/nonexistent".to_owned())]));
        assert_eq!(none, Err(CredentialsError::None));
    }

    #[test]
    fn secrets_are_not_printed() {
        let printed = format!("{:?}", Credentials::new("AK", "hunter2"));
        assert!(printed.contains("AK") && !printed.contains("hunter2"), "{printed}");
    }
}
