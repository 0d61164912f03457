//! Names and secrets for CHAP: from a file in the format of `iscsid.conf`, or from the variables that libiscsi reads.

use std::io::Read;
use std::path::{Path, PathBuf};

use wire::iscsi::ChapSecret;

use super::{AccessKey, Secrets};

/// The largest file that is read, in bytes.
const FILE_MAX: u64 = 1 << 20;

/// Our name and secret, and those that the target must prove to know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ChapSecrets {
    pub(super) own: Option<ChapSecret>,
    pub(super) target: Option<ChapSecret>,
}

/// Why there is no usable secret.
#[derive(Debug, thiserror::Error)]
pub(super) enum ChapSecretsError {
    /// The file cannot be read.
    #[error("credentials_file {path}: {why}", path = path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        why: std::io::Error,
    },
    /// A name without its secret, or the other way around.
    #[error("{place} has {given} and no {missing}: add it, or take {given} out")]
    Half { place: String, given: &'static str, missing: &'static str },
    /// The user of the URL has none.
    #[error(
        "there is no secret for the user {0} of the URL: set LIBISCSI_CHAP_PASSWORD, or give the option credentials_file"
    )]
    NoSecret(String),
}

/// The names of the four texts, in a file or as variables.
struct Names {
    own: [&'static str; 2],
    target: [&'static str; 2],
}

/// open-iscsi's, as in `/etc/iscsi/iscsid.conf`.
const IN_FILE: Names = Names {
    own: ["node.session.auth.username", "node.session.auth.password"],
    target: ["node.session.auth.username_in", "node.session.auth.password_in"],
};
/// libiscsi's.
const VARIABLES: Names = Names {
    own: ["LIBISCSI_CHAP_USERNAME", "LIBISCSI_CHAP_PASSWORD"],
    target: ["LIBISCSI_CHAP_TARGET_USERNAME", "LIBISCSI_CHAP_TARGET_PASSWORD"],
};

impl ChapSecrets {
    /// The secrets for a URL with this user, from this file if one is named, else from the environment.
    pub(super) fn find(
        user: Option<&str>,
        file: Option<&Path>,
        secrets: &dyn Secrets,
    ) -> Result<Self, ChapSecretsError> {
        let found = match file {
            Some(path) => {
                let unreadable = |why| ChapSecretsError::Unreadable { path: path.to_owned(), why };
                let mut text = String::new();
                let file = std::fs::File::open(path).map_err(unreadable)?;
                file.take(FILE_MAX).read_to_string(&mut text).map_err(unreadable)?;
                let place = format!("credentials_file {}", path.display());
                Self::named(&IN_FILE, user, &place, &|name| setting(&text, name))?
            }
            None => Self::named(&VARIABLES, user, "the environment", &|name| secrets.variable(name))?,
        };
        match (user, &found.own) {
            (Some(user), None) => Err(ChapSecretsError::NoSecret(user.to_owned())),
            _ => Ok(found),
        }
    }

    fn named(
        names: &Names,
        user: Option<&str>,
        place: &str,
        value: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ChapSecretsError> {
        let pair = |[name, secret]: [&'static str; 2], user: Option<&str>| {
            let half = |given, missing| ChapSecretsError::Half { place: place.to_owned(), given, missing };
            match (user.map(str::to_owned).or_else(|| value(name)), value(secret)) {
                (Some(name), Some(secret)) => Ok(Some(ChapSecret { name, secret })),
                (None, None) => Ok(None),
                // A user in the URL without a secret has a message of its own.
                (Some(_), None) if user.is_some() => Ok(None),
                (Some(_), None) => Err(half(name, secret)),
                (None, Some(_)) => Err(half(secret, name)),
            }
        };
        Ok(Self { own: pair(names.own, user)?, target: pair(names.target, None)? })
    }

    /// The secrets as they travel to agents: the target's are in the token, name and secret on a line each.
    pub(super) fn into_key(self) -> Option<AccessKey> {
        let Self { own, target } = self;
        let token = target.map(|target| format!("{}\n{}", target.name, target.secret));
        own.map(|own| AccessKey { id: own.name, secret: own.secret, token })
    }
}

impl From<AccessKey> for ChapSecrets {
    fn from(key: AccessKey) -> Self {
        let target = key.token.as_deref().and_then(|token| token.split_once('\n'));
        let chap = |name: &str, secret: &str| ChapSecret { name: name.to_owned(), secret: secret.to_owned() };
        Self {
            own: Some(chap(&key.id, &key.secret)),
            target: target.map(|(name, secret)| chap(name, secret)),
        }
    }
}

/// The last value of `name = value` in a file; comments begin with `#` at the beginning of a line.
fn setting(text: &str, name: &str) -> Option<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let mut values = lines.filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    });
    values.rfind(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HeldSecrets;

    const FILE: &str = "# node.session.auth.username = commented\n\
                        node.session.auth.authmethod = CHAP\n\
                        node.session.auth.username = me\n\
                        node.session.auth.password = my = secret\n";

    fn in_file(text: &str, user: Option<&str>) -> Result<ChapSecrets, ChapSecretsError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        ChapSecrets::find(user, Some(file.path()), &HeldSecrets::default())
    }

    #[test]
    fn a_file_in_open_iscsis_format_has_both_sides() {
        let one = in_file(FILE, None).unwrap();
        assert_eq!(one.own, Some(ChapSecret { name: "me".into(), secret: "my = secret".into() }));
        assert_eq!(one.target, None);
        assert_eq!(in_file(FILE, Some("you")).unwrap().own.unwrap().name, "you");
        let mutual = format!("{FILE}node.session.auth.username_in=it\nnode.session.auth.password_in=its\n");
        let both = in_file(&mutual, None).unwrap();
        assert_eq!(both.target.as_ref().unwrap().name, "it");
        assert_eq!(ChapSecrets::from(both.clone().into_key().unwrap()), both);
        assert_eq!(in_file("", None).unwrap(), ChapSecrets::default());
    }

    #[test]
    fn what_is_incomplete_is_named_without_a_secret() {
        for (text, user, problem) in [
            ("node.session.auth.username = me", None, "no node.session.auth.password"),
            ("node.session.auth.password = hush", None, "no node.session.auth.username"),
            ("", Some("me"), "no secret for the user me"),
            ("node.session.auth.username = you", Some("me"), "no secret for the user me"),
        ] {
            let error = in_file(text, user).unwrap_err().to_string();
            assert!(error.contains(problem) && !error.contains("hush") && !error.contains('\n'), "{error}");
        }
        let missing = ChapSecrets::find(None, Some(Path::new("/nowhere/x")), &HeldSecrets::default());
        assert!(missing.unwrap_err().to_string().starts_with("credentials_file /nowhere/x: No such file"));
    }
}
