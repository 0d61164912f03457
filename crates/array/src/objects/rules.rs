//! NFS export rules as arrays write them: `*(rw,no_root_squash)`, `10.0.0.0/24(ro) 10.0.1.5(rw)`.

/// One rule: who, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    /// `*`, an address, or an address with a prefix length.
    pub(super) client: String,
    /// Whether writing is refused.
    pub(super) read_only: bool,
}

/// Reads the rules; they are separated by blanks. A rule without options is read-only, as with exports(5).
pub(super) fn parse_rules(text: &str) -> Vec<Rule> {
    let one = |word: &str| {
        let (client, options) = match word.split_once('(') {
            Some((client, rest)) => (client, rest.trim_end_matches(')')),
            None => (word, ""),
        };
        let client = if client.is_empty() { "*" } else { client };
        Rule { client: client.into(), read_only: !options.split(',').any(|option| option.trim() == "rw") }
    };
    text.split_whitespace().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_say_who_and_how() {
        let rules = parse_rules("10.0.0.0/24(ro) *(rw,no_root_squash)");
        assert_eq!(rules[0], Rule { client: "10.0.0.0/24".into(), read_only: true });
        assert_eq!(rules[1], Rule { client: "*".into(), read_only: false });
        assert!(parse_rules("*")[0].read_only);
        assert!(parse_rules("").is_empty());
    }
}
