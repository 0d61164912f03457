//! docs/tutorial.md is run from its first line to its last, and what it prints has the shape that stands there.

#![allow(clippy::unwrap_used)] // a test may fail loudly

use std::path::Path;
use std::process::{Command, Stdio};

/// Stands for whatever comes: a line of its own for any lines, at the end of a line for the rest of it, in it for a word.
const ANYTHING: &str = "…";

/// A command and what it is to print.
struct Example {
    command: String,
    expected: Vec<String>,
}

/// The commands of all `console` blocks, in order.
fn examples(text: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            line if inside && line.starts_with("$ ") => {
                examples.push(Example { command: line[2..].to_owned(), expected: Vec::new() });
            }
            line if inside => examples.last_mut().unwrap().expected.push(line.to_owned()),
            _ => {}
        }
    }
    examples
}

/// What a word is, whatever the figure: words with digits are figures, words of eight letters may be ids, and a figure's unit changes
/// with the figure.
fn kind(word: &str) -> &str {
    match word {
        word if word.contains(|c: char| c.is_ascii_digit()) || is_id(word) => "#",
        "ns" | "µs" | "ms" | "s" | "B/s" | "kB/s" | "MB/s" | "GB/s" => "unit",
        word => word,
    }
}

fn is_id(word: &str) -> bool {
    word.len() == 8 && word.bytes().all(|byte| byte.is_ascii_lowercase() || (b'2'..=b'7').contains(&byte))
}

fn matches(expected: &str, line: &str) -> bool {
    let mut wanted: Vec<&str> = expected.split_whitespace().collect();
    let found: Vec<&str> = line.split_whitespace().collect();
    let open = wanted.last() == Some(&ANYTHING);
    if open {
        wanted.pop();
    }
    let same = |(wanted, found): (&&str, &&str)| match wanted.split_once(ANYTHING) {
        Some((before, after)) => found.starts_with(before) && found.ends_with(after),
        None => kind(wanted) == kind(found),
    };
    let enough = if open { found.len() >= wanted.len() } else { found.len() == wanted.len() };
    enough && wanted.iter().zip(&found).all(same)
}

/// Whether the lines have the expected shape; otherwise the first expected line that is missing.
fn compare(expected: &[String], lines: &[&str]) -> Result<(), String> {
    let mut rest = lines;
    let mut skip = false;
    for wanted in expected {
        if wanted == ANYTHING {
            skip = true;
            continue;
        }
        let place = rest.iter().position(|line| matches(wanted, line));
        match place {
            Some(at) if skip || at == 0 => rest = &rest[at + 1..],
            _ => return Err(format!("no line like {wanted:?} where it should be")),
        }
        skip = false;
    }
    if skip || rest.is_empty() { Ok(()) } else { Err(format!("more than expected: {:?}", rest[0])) }
}

#[test]
fn every_line_of_the_tutorial_works() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let examples = examples(&std::fs::read_to_string(root.join("docs/tutorial.md")).unwrap());
    assert!(examples.len() >= 8, "{} commands", examples.len());
    // Where cargo keeps its files direct I/O works, which it may not in /tmp.
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_manometer")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    for example in &examples {
        let output = Command::new("sh")
            .args(["-c", &example.command])
            .current_dir(directory.path())
            .env("HOME", directory.path())
            .env("PATH", &path)
            .env_remove("XDG_DATA_HOME")
            .env_remove("XDG_STATE_HOME")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let (shown, said) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(output.status.success(), "{}: {shown}{said}", example.command);
        let lines: Vec<&str> = shown.lines().collect();
        if let Err(fault) = compare(&example.expected, &lines) {
            panic!("{}: {fault}; it printed\n{shown}{said}", example.command);
        }
    }
    assert!(directory.path().join("report.html").exists());
    let left: Vec<_> = std::fs::read_dir(directory.path().join("data")).unwrap().collect();
    assert!(left.is_empty(), "runs left {left:?}");
}

#[test]
fn shapes_are_compared_and_not_figures() {
    let lines = ["a  1.2 MB/s  x", "b  3 ms"];
    let expected = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    assert!(compare(&expected(&["a 9 GB/s x", "b 7 µs"]), &lines).is_ok());
    assert!(compare(&expected(&["…", "b …"]), &lines).is_ok());
    assert!(compare(&expected(&["a 9 GB/s y", "b 7 µs"]), &lines).is_err());
    assert!(compare(&expected(&["a 9 GB/s x"]), &lines).is_err(), "a line more");
    assert!(compare(&expected(&["a 9 GB/s x", "…", "c"]), &lines).is_err());
}
