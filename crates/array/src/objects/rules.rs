//! NFS export rules in the form used by arrays: `*(rw,no_root_squash)`, `10.0.0.0/24(ro) 10.0.1.5(rw)`.

use crate::files::ClientRange;

/// The combined effect of an export's rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rules {
    /// Who may mount it; `None` for everyone. Nobody if there are no rules.
    pub(super) allowed: Option<Vec<ClientRange>>,
    /// No rule grants write access.
    pub(super) read_only: bool,
}

/// The client of a rule that is neither `*`, an address nor a range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Invalid client {0:?} in the NFS rules.")]
pub(super) struct UnknownClient(String);

impl Rules {
    /// Parses the rules, separated by blanks. A rule without `rw` is read-only, as in exports(5).
    ///
    /// # Errors
    /// [`UnknownClient`].
    pub(super) fn parse(text: &str) -> Result<Self, UnknownClient> {
        let mut ranges = Vec::new();
        let (mut everybody, mut read_only) = (false, true);
        for word in text.split_whitespace() {
            let (client, options) = match word.split_once('(') {
                Some((client, rest)) => (client, rest.trim_end_matches(')')),
                None => (word, ""),
            };
            match ClientRange::parse(client) {
                _ if client.is_empty() || client == "*" => everybody = true,
                Some(range) => ranges.push(range),
                None => return Err(UnknownClient(client.to_owned())),
            }
            read_only &= !options.split(',').any(|option| option.trim() == "rw");
        }
        Ok(Self { allowed: (!everybody).then_some(ranges), read_only })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_say_who_and_how() {
        let all = Rules::parse("10.0.0.0/24(ro) *(rw,no_root_squash)").unwrap();
        assert_eq!(all, Rules { allowed: None, read_only: false });
        assert!(Rules::parse("*").unwrap().read_only && Rules::parse("*(ro)").unwrap().read_only);
        assert_eq!(Rules::parse("10.0.0.0/24(rw) 10.0.1.5(rw)").unwrap().allowed.unwrap().len(), 2);
        assert_eq!(Rules::parse("").unwrap().allowed, Some(Vec::new()), "nobody");
        assert_eq!(Rules::parse("@group(rw)"), Err(UnknownClient("@group".into())));
    }
}
