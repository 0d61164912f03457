//! Rules for single files: length, module docs, white space, forbidden words.

use super::Finding;

/// One file holds one idea; the maximum number of lines.
const MAX_LINES: usize = 500;

/// Marks of postponed work or skipped tests. Written in pieces, so that this list does not match itself.
const UNFINISHED: [(&str, &str); 8] = [
    (".rs", concat!("todo", "!(")),
    (".rs", concat!("unimplemented", "!(")),
    (".rs", concat!("#[ign", "ore")),
    (".py", concat!("pytest.s", "kip")),
    (".py", concat!("unittest.s", "kip")),
    (".py", concat!("mark.s", "kip")),
    (".py", concat!("skip", "Test(")),
    (".go", concat!("t.Sk", "ip")),
];

/// Paths that exist only on some developer's machine.
const MACHINE_PATHS: [&str; 3] = [concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/wo", "rk/")];

const PRINTS: [&str; 4] =
    [concat!("print", "ln!("), concat!("print", "!("), concat!("eprint", "ln!("), concat!("dbg", "!(")];

/// Where code may print.
const MAY_PRINT: [&str; 3] = ["crates/cli/", "xtask/", "bench/"];

const SOURCES: [&str; 9] = [".rs", ".py", ".go", ".c", ".h", ".sh", ".js", ".ts", ".tsx"];

/// All findings in one text file.
pub fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let has_end = |ends: &[&str]| ends.iter().any(|end| path.ends_with(end));
    if has_end(&SOURCES) && text.lines().count() > MAX_LINES {
        let message = format!("more than {MAX_LINES} lines: one file, one idea; split it");
        findings.push(Finding::new(path, 0, message));
    }
    if path.ends_with(".rs") && !begins_with_module_doc(text) {
        findings.push(Finding::new(path, 1, "begin with a module doc: //! what this file is for"));
    }
    if !text.is_empty() && !text.ends_with('\n') {
        findings.push(Finding::new(path, 0, "the last line has no line end"));
    }
    let tabs_belong = has_end(&["Makefile", ".go", "go.mod", "go.sum", ".mk"]);
    let mut in_tests = path.contains("/tests/") || path.contains("/benches/");
    for (index, line) in text.lines().enumerate() {
        let mut report = |message: String| findings.push(Finding::new(path, index + 1, message));
        if line.ends_with([' ', '\t', '\r']) {
            report("white space at the end of the line".into());
        }
        if line.contains('\t') && !tabs_belong {
            report("a tab: use spaces".into());
        }
        for (end, mark) in UNFINISHED {
            if path.ends_with(end) && line.contains(mark) {
                report(format!("{mark} … stands for work or a test that is left out"));
            }
        }
        for machine_path in MACHINE_PATHS {
            if holds_path(line, machine_path) {
                report(format!("{machine_path}… exists on one machine only"));
            }
        }
        in_tests |= line.trim() == "#[cfg(test)]";
        // Build scripts talk to cargo by printing.
        let silent = path.ends_with(".rs") && !path.ends_with("/build.rs") && !in_tests;
        if silent && !MAY_PRINT.iter().any(|start| path.starts_with(start)) {
            let code = line.split("//").next().unwrap_or_default();
            if PRINTS.iter().any(|print| code.contains(print)) {
                report("libraries do not print: return it, or put it in the error".into());
            }
        }
    }
    findings
}

/// Whether the file starts with a module doc, after inner attributes only.
fn begins_with_module_doc(text: &str) -> bool {
    text.lines().find(|line| !line.starts_with("#![")).is_some_and(|line| line.starts_with("//!"))
}

/// Whether `needle` starts an absolute path, not the middle of a longer one.
fn holds_path(line: &str, needle: &str) -> bool {
    line.match_indices(needle).any(|(at, _)| {
        line[..at]
            .chars()
            .next_back()
            .is_none_or(|before| !before.is_alphanumeric() && !"._-~/}*".contains(before))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        check(path, text).into_iter().map(|finding| finding.message).collect()
    }

    fn one(path: &str, text: &str, expected: &str) {
        let found = messages(path, text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains(expected), "{found:?}");
    }

    #[test]
    fn a_good_file_passes() {
        let good = "#![allow(dead_code)]\n//! A module.\n\nfn f() {}\n";
        assert_eq!(messages("crates/wire/src/a.rs", good), Vec::<String>::new());
    }

    #[test]
    fn long_files_are_found() {
        let long = format!("//! A module.\n{}", "\n".repeat(MAX_LINES));
        one("a.rs", &long, "split it");
        assert!(messages("data.json", &long).is_empty());
    }

    #[test]
    fn a_missing_module_doc_is_found() {
        one("a.rs", "fn f() {}\n", "module doc");
        one("a.rs", "// A comment.\n", "module doc");
    }

    #[test]
    fn white_space_is_found() {
        one("a.md", "text \n", "end of the line");
        one("a.py", "\tx\n", "tab");
        one("a.md", "text", "no line end");
        assert!(messages("Makefile", "all:\n\ttrue\n").is_empty());
    }

    #[test]
    fn unfinished_work_is_found() {
        for (end, mark) in UNFINISHED {
            let text = if end == ".rs" { format!("//! A.\n{mark}\n") } else { format!("{mark}\n") };
            one(&format!("tests/a{end}"), &text, "left out");
        }
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        for path in MACHINE_PATHS {
            one("a.md", &format!("see {path}x\n"), "one machine");
            one("a.sh", &format!("cd '{path}x'\n"), "one machine");
            assert!(messages("a.md", &format!("/srv{path}x\n")).is_empty());
        }
    }

    #[test]
    fn printing_libraries_are_found() {
        for print in PRINTS {
            let text = format!("//! A.\nfn f() {{ {print}\"x\"); }}\n");
            one("crates/wire/src/a.rs", &text, "do not print");
            assert!(messages("crates/cli/src/a.rs", &text).is_empty());
            assert!(messages("crates/wire/tests/a.rs", &text).is_empty());
            let in_test = format!("//! A.\n#[cfg(test)]\nmod tests {{ {print}\"x\") }}\n");
            assert!(messages("crates/wire/src/a.rs", &in_test).is_empty());
        }
    }
}
