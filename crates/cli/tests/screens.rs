//! What users see on terminals of 80 and 120 columns: tables fit, and screens match the stored ones.
//!
//! `script` (bsdutils) provides the terminal.

#![allow(clippy::unwrap_used)] // a test may fail loudly

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Columns and rows.
const TERMINALS: [(u32, u32); 2] = [(80, 24), (120, 40)];

/// What a command prints on a terminal, without colours and without overwritten text.
fn screen((columns, rows): (u32, u32), directory: &Path, arguments: &str) -> String {
    let program = env!("CARGO_BIN_EXE_manometer");
    // Messages and progress go to standard error, which is not part of the screens compared here.
    let command = format!("stty cols {columns} rows {rows}; {program} {arguments} 2>/dev/null");
    let output = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .current_dir(directory)
        .env("TERM", "xterm-256color")
        .env_remove("NO_COLOR")
        .env("XDG_STATE_HOME", directory)
        .stdin(Stdio::null())
        .output()
        .expect("script (bsdutils) makes a terminal");
    let text = String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n");
    // Colour codes preserve the blanks at the end of a line.
    without_colours(&text).lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn without_colours(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // An escape sequence ends with its first letter.
        out.push_str(
            part.trim_start_matches(|c: char| !c.is_ascii_alphabetic()).get(1..).unwrap_or_default(),
        );
    }
    out
}

/// Checks the lines of tables: those with at least two columns.
fn assert_fits(text: &str, columns: u32, of: &str) {
    for line in text.lines().filter(|line| line.trim_start().contains("  ")) {
        assert!(line.chars().count() <= columns as usize, "{of} at {columns}: {line:?} in\n{text}");
    }
}

fn results(directory: &Path) -> PathBuf {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/results/v2.sqlite");
    let path = directory.join("results.sqlite");
    std::fs::copy(kept, &path).unwrap();
    path
}

#[test]
fn what_is_kept_is_shown_within_the_terminal() {
    let directory = tempfile::tempdir().unwrap();
    results(directory.path());
    for (name, command) in [
        ("list", "list"),
        ("show", "show aaaabbb2"),
        ("show_fleet", "show fffftttt --cell 1"),
        ("compare", "compare aaaabbb2 aaaabbb2"),
    ] {
        for terminal in TERMINALS {
            let text = screen(terminal, directory.path(), &format!("{command} --results results.sqlite"));
            assert_fits(&text, terminal.0, name);
            let text = text.replace(&format!("{}/", directory.path().display()), "");
            insta::assert_snapshot!(format!("{name}_{}", terminal.0), text);
        }
    }
}

#[test]
fn a_run_ends_with_a_table_that_fits() {
    let directory = tempfile::tempdir().unwrap();
    let experiment = "
name: nightly
targets: {filer: 'sim:?latency=exponential 1ms&noise=2%'}
workloads:
  randread: {ops: read}
  oltp: {ops: {read: 70%, write: 30%}}
matrix: {block_size: [4KiB, 64KiB], queue_depth: [1, 16]}
stages: {warm_up: 1s, measure: {at_least: 10s, at_most: 10s}}
steady: none
";
    std::fs::write(directory.path().join("nightly.yaml"), experiment).unwrap();
    for terminal in TERMINALS {
        let text = screen(terminal, directory.path(), "run nightly.yaml --results r.sqlite");
        assert_fits(&text, terminal.0, "run");
        // The run's id and its file follow the table.
        let (table, rest) = text.split_once("\n\nRun ").unwrap_or_else(|| panic!("{text}"));
        assert!(rest.contains("(nightly), 8 cells: 8 valid.\nNext: manometer report "), "{rest}");
        insta::assert_snapshot!(format!("run_{}", terminal.0), table);
    }
}

#[test]
fn jobs_and_plans_fit_too() {
    let directory = tempfile::tempdir().unwrap();
    let job = "[global]\nsize=1m\nfilename=data\n[randread]\nrw=randread\nbs=4k\n[mixed]\nstonewall\nrw=randrw\nbs=16k\n";
    std::fs::write(directory.path().join("two.fio"), job).unwrap();
    for terminal in TERMINALS {
        let text = screen(terminal, directory.path(), "fio two.fio");
        assert!(text.contains("randread") && text.contains("mixed"), "{text}");
        assert_fits(&text, terminal.0, "fio");
    }
}

#[test]
fn a_check_fits() {
    let directory = tempfile::tempdir().unwrap();
    for terminal in TERMINALS {
        let brief = "check --demo --duration 1s --dataset 16MiB --object-size 1MiB --results r.sqlite";
        let text = screen(terminal, directory.path(), brief);
        assert!(text.contains("data address") && text.contains("Verdict: "), "{text}");
        assert_fits(&text, terminal.0, "check");
    }
}
