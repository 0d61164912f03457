//! Rules for the documents that a newcomer reads first.

use super::Finding;

/// The changelog's first section is open for the next release.
pub fn changelog(text: &str) -> Option<Finding> {
    let first = text.lines().find(|line| line.starts_with("## "));
    (first != Some("## Unreleased"))
        .then(|| Finding::new("CHANGELOG.md", 0, "the first section must be \"## Unreleased\""))
}

/// The README names the all-in-one commands.
pub fn readme(text: &str) -> Vec<Finding> {
    ["make demo", "make test"]
        .into_iter()
        .filter(|command| {
            !text.contains(&format!("`{command}`")) && !text.contains(&format!("\n{command}\n"))
        })
        .map(|command| Finding::new("README.md", 0, format!("does not name `{command}`")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_changelog_is_found() {
        assert!(changelog("# Changes\n\n## Unreleased\n").is_none());
        assert!(changelog("# Changes\n\n## 1.0\n\n## Unreleased\n").is_some());
        assert!(changelog("").is_some());
    }

    #[test]
    fn a_readme_without_the_two_commands_is_found() {
        assert!(readme("`make demo` and\n```\nmake test\n```\n").is_empty());
        assert_eq!(readme("`make demo`").len(), 1);
        assert_eq!(readme("").len(), 2);
    }
}
