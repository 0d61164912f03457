//! Rules of the repository, one subject per module.

mod documents;
mod errors;
mod layers;
mod loads;
mod names;
mod profile;
mod schemes;
mod source;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// A violation of a rule: where, and what to do.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    /// Path from the root of the repository.
    pub path: String,
    /// Line, from 1; 0 for the whole file.
    pub line: usize,
    /// What is wrong and how to fix it.
    pub message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.into(), line, message: message.into() }
    }
}

/// A finding with this message for each code line for which `wrong` holds: without comments, without tests, and outside
/// the paths that begin with one of `at_home`.
fn code_lines(
    (path, text): (&str, &str),
    at_home: &[&str],
    message: &str,
    wrong: impl Fn(&str) -> bool,
) -> Vec<Finding> {
    let elsewhere = at_home.iter().any(|start| path.starts_with(start))
        || path.contains("/tests/")
        || path.ends_with("tests.rs");
    if elsewhere || !path.ends_with(".rs") {
        return Vec::new();
    }
    let code = text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
    code.enumerate()
        .filter(|(_, line)| wrong(line.split("//").next().unwrap_or_default()))
        .map(|(index, _)| Finding::new(path, index + 1, message))
        .collect()
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// Checks every file that git tracks or would add, and the dependencies between crates.
///
/// # Errors
/// When git or cargo fails, or a file cannot be read.
pub fn check(root: &Path) -> Result<Vec<Finding>> {
    let crates = layers::dependencies(root)?;
    let mut findings = layers::check(&crates);
    let mut texts = Vec::new();
    for path in files(root)? {
        let full = root.join(&path);
        // Deleted in the working tree but not yet in the index.
        if !full.is_file() {
            continue;
        }
        let bytes = std::fs::read(&full).with_context(|| format!("reading {path}"))?;
        if let Ok(text) = String::from_utf8(bytes) {
            findings.extend(source::check(&path, &text));
            if path.ends_with(".rs") {
                texts.push((path, text));
            }
        }
    }
    let named = schemes::known(texts.iter().map(|(path, text)| (&**path, &**text)));
    let drivers = loads::drivers(texts.iter().map(|(path, text)| (&**path, &**text)));
    for (path, text) in &texts {
        findings.extend(errors::check(path, text));
        findings.extend(schemes::check(path, text, &named));
        findings.extend(loads::check(path, text, &drivers));
    }
    findings.extend(names::check(texts.iter().map(|(path, text)| (&**path, &**text))));
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap_or_default();
    findings.extend(profile::check(&read("Cargo.toml"), crates.iter().map(layers::Uses::name)));
    findings.extend(documents::changelog(&read("CHANGELOG.md")));
    findings.extend(documents::readme(&read("README.md")));
    Ok(findings)
}

/// The files that git tracks or would add; in a copy without git, everything but build output.
fn files(root: &Path) -> Result<Vec<String>> {
    let mut names = if root.join(".git").exists() { known_to_git(root)? } else { found_below(root)? };
    names.sort();
    names.dedup();
    Ok(names)
}

fn known_to_git(root: &Path) -> Result<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .context("running git ls-files")?;
    ensure!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(output
        .stdout
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect())
}

fn found_below(root: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // As in .gitignore.
            if name == "target" || name.starts_with("target-") || name == "__pycache__" || name == ".lab" {
                continue;
            }
            if path.is_dir() {
                directories.push(path);
            } else if let Ok(relative) = path.strip_prefix(root) {
                names.push(relative.to_string_lossy().into_owned());
            }
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_repository_is_tidy() {
        let findings = check(&crate::root()).unwrap();
        let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "{}", lines.join("\n"));
    }

    #[test]
    fn a_copy_without_git_is_looked_at_too() {
        let found = found_below(&crate::root()).unwrap();
        assert!(found.contains(&"xtask/src/tidy/mod.rs".to_owned()));
        assert!(!found.iter().any(|name| name.starts_with("target/")));
    }
}
