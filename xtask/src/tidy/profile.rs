//! Optimisation of crates in releases: the profile has a line for each, saying whether it is hot.

use super::Finding;

/// Where the release profile names crates.
const SECTION: &str = "[profile.release.package]";

/// Crates that are not in the program.
const OUTSIDE: [&str; 1] = ["xtask"];

/// Crates of this workspace that the release profile does not name. Without a line of their own they would be optimised
/// for size, which makes a loop of the data plane slow without anyone noticing.
pub fn check<'a>(manifest: &str, crates: impl Iterator<Item = &'a str>) -> Vec<Finding> {
    let section = manifest.lines().skip_while(|line| *line != SECTION).skip(1);
    let named: Vec<&str> = section
        .take_while(|line| !line.starts_with('['))
        .filter(|line| line.contains("opt-level"))
        .filter_map(|line| line.split_once('=').map(|(name, _)| name.trim()))
        .collect();
    crates
        .filter(|name| !OUTSIDE.contains(name) && !named.contains(name))
        .map(|name| {
            let advice = format!(
                "{SECTION} does not name {name}: give it an opt-level, 3 where it moves bytes or opens a driver for a stage, \
                 else \"s\""
            );
            Finding::new("Cargo.toml", 0, advice)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_crate_is_named_with_a_level() {
        let manifest = "[profile.release]\nopt-level = \"s\"\n\n[profile.release.package]\nengine = { opt-level = 3 }\n\
                        # report = { opt-level = 3 }\nstore = { codegen-units = 2 }\n\n[profile.profiling.package]\n\
                        bench = { opt-level = 3 }\n";
        let found = |name| check(manifest, [name].into_iter()).len();
        assert_eq!((found("engine"), found("xtask")), (0, 0));
        assert_eq!((found("report"), found("store"), found("bench"), found("eng")), (1, 1, 1, 1));
    }
}
