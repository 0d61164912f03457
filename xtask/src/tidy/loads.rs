//! One way to a load: protocol modules open drivers, and the host plans stages. All other code uses a host group.

use super::{Finding, code_lines};

/// Where drivers and stages belong: crates that create them, open and plan them, or measure them directly.
const AT_HOME: [&str; 6] =
    ["crates/drivers/", "crates/engine/", "crates/targets/", "crates/host/", "bench/", "xtask/"];

/// Names used to plan and start a stage.
const STAGES: [&str; 3] = ["StagePlan", "StageWorkload", "engine::run_stage"];

/// Names of the drivers, from `impl Driver for NAME`.
pub fn drivers<'t>(files: impl Iterator<Item = (&'t str, &'t str)>) -> Vec<String> {
    let own = files.filter(|(path, _)| path.starts_with("crates/drivers/src/"));
    let named = own.flat_map(|(_, text)| text.split("impl Driver for ").skip(1));
    named.filter_map(|after| after.split_whitespace().next().map(str::to_owned)).collect()
}

/// Every line of a file that names a driver or plans a stage where it should not.
pub fn check(path: &str, text: &str, drivers: &[String]) -> Vec<Finding> {
    let message = "a driver or a stage is used past the common path: open the target on a host group and run a \
                   `fleet::StageTask` there";
    code_lines((path, text), &AT_HOME, message, |line| {
        STAGES.iter().any(|name| names(line, name)) || drivers.iter().any(|name| names(line, name))
    })
}

/// Whether a line contains a name as a whole word.
fn names(line: &str, name: &str) -> bool {
    let in_word =
        |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    line.match_indices(name).any(|(at, _)| {
        !in_word(line[..at].chars().next_back()) && !in_word(line[at + name.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<usize> {
        check(path, text, &["NullDriver".to_owned()]).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn drivers_and_stages_are_found_where_they_do_not_belong() {
        let path = "crates/checks/src/calibrate/load.rs";
        for line in [
            "use drivers::null::NullDriver;",
            "use engine::{Control, StagePlan, StopRule};",
            "let result = engine::run_stage(&driver, &plan, &control, &mut |_| {})?;",
            "fn plan(&self, workload: StageWorkload) {",
        ] {
            assert_eq!(found(path, &format!("//! x\n{line}\n")), [2], "{line}");
            for home in
                ["crates/targets/src/null.rs", "crates/host/src/stage.rs", "crates/engine/tests/exact.rs"]
            {
                assert_eq!(found(home, line), [0_usize; 0], "{home}");
            }
        }
        for line in [
            "host_group.run_stage(requests, beside, &control, &mut observer)",
            "// as NullDriver does",
            "use engine::{Control, StageContext, StageResult};",
            "struct MyNullDriver;",
        ] {
            assert_eq!(found(path, line), [0_usize; 0], "{line}");
        }
        assert_eq!(found(path, "#[cfg(test)]\nuse drivers::null::NullDriver;"), [0_usize; 0]);
    }

    #[test]
    fn drivers_are_those_that_say_so() {
        let files = [
            ("crates/drivers/src/null.rs", "impl Driver for NullDriver {\n"),
            ("crates/drivers/src/seam.rs", "pub trait Driver: Sync {\n"),
            ("crates/engine/tests/x.rs", "impl Driver for Logged {\n"),
        ];
        assert_eq!(drivers(files.into_iter()), ["NullDriver"]);
    }
}
