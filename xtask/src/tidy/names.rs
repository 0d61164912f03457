//! Names of public types are unique within the workspace.

use std::collections::BTreeMap;

use super::Finding;

/// Keywords that introduce a type.
const KEYWORDS: [&str; 5] = ["struct", "enum", "trait", "type", "union"];

/// Every public type that shares its name with another public type of the product.
pub fn check<'t>(files: impl Iterator<Item = (&'t str, &'t str)>) -> Vec<Finding> {
    let mut places: BTreeMap<&str, Vec<(&str, usize)>> = BTreeMap::new();
    for (path, text) in files.filter(|(path, _)| is_product(path)) {
        let code = text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
        for (index, line) in code.enumerate() {
            if let Some(name) = public_type(line) {
                places.entry(name).or_default().push((path, index + 1));
            }
        }
    }
    let shared = places.into_iter().filter(|(_, places)| places.len() > 1);
    shared.flat_map(|(name, places)| findings(name, &places)).collect()
}

fn findings(name: &str, places: &[(&str, usize)]) -> Vec<Finding> {
    let others = |own: usize| {
        let rest = places.iter().enumerate().filter(|(index, _)| *index != own);
        rest.map(|(_, (path, line))| format!("{path}:{line}")).collect::<Vec<_>>().join(", ")
    };
    let one = |(index, (path, line)): (usize, &(&str, usize))| {
        let message = format!("`{name}` is also the name of a public type in {}: rename one", others(index));
        Finding::new(path, *line, message)
    };
    places.iter().enumerate().map(one).collect()
}

fn is_product(path: &str) -> bool {
    path.starts_with("crates/") && path.contains("/src/") && path.ends_with(".rs")
}

fn public_type(line: &str) -> Option<&str> {
    let mut words = line.trim_start().strip_prefix("pub ")?.split_whitespace();
    let keyword = words.next()?;
    let name = words.next()?.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    (KEYWORDS.contains(&keyword) && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        check(files.iter().copied())
            .iter()
            .map(|finding| format!("{}:{}", finding.path, finding.line))
            .collect()
    }

    #[test]
    fn a_name_of_two_public_types_is_found_at_both() {
        let (a, b) = ("crates/a/src/x.rs", "crates/b/src/y.rs");
        assert_eq!(
            found(&[(a, "\npub struct Plan<T> {"), (b, "pub enum Plan {")]),
            ["crates/a/src/x.rs:2", "crates/b/src/y.rs:1"]
        );
        assert_eq!(
            found(&[(a, "pub type Plan = u8;\npub trait Plan: Send {}")]),
            ["crates/a/src/x.rs:1", "crates/a/src/x.rs:2"]
        );
    }

    #[test]
    fn private_types_tests_and_other_items_may_share_names() {
        let (a, b) = ("crates/a/src/x.rs", "crates/b/src/y.rs");
        for other in
            ["struct Plan {", "pub(crate) struct Plan {", "pub fn Plan() {", "#[cfg(test)]\npub struct Plan;"]
        {
            assert_eq!(found(&[(a, "pub struct Plan;"), (b, other)]), [""; 0], "{other}");
        }
        assert_eq!(found(&[(a, "pub struct Plan;"), ("crates/b/tests/y.rs", "pub struct Plan;")]), [""; 0]);
    }
}
