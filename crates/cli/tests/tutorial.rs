//! Runs docs/tutorial.md from the first line to the last; the output must have the form shown there. Does the same for
//! examples in other documents that need only this host.

#![allow(clippy::unwrap_used)] // a test may fail loudly

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// A wildcard: alone on a line for any lines, at the end of a line for the rest of it, within a line for a word.
const ANYTHING: &str = "…";

/// A command and its expected output.
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

/// The kind of a word, whatever its figure: words with digits are figures, words of eight letters may be ids, and a
/// figure's unit varies with the figure.
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

/// Whether the lines have the expected form; otherwise the first expected line that is missing.
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

/// The two terminals of the tutorial: one in which the simulated array runs, and one for everything else.
struct Terminals {
    directory: PathBuf,
    /// Exported variables.
    variables: BTreeMap<String, String>,
    array: Option<(Child, BufReader<ChildStdout>)>,
    /// The array's output: tutorial commands run with its ports and paths.
    printed: Vec<String>,
}

/// A failing line leaves no array behind.
impl Drop for Terminals {
    fn drop(&mut self) {
        if let Some((child, _)) = &mut self.array {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Terminals {
    fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), variables: BTreeMap::new(), array: None, printed: Vec::new() }
    }

    fn command(&self, program: &str) -> Command {
        let programs = Path::new(env!("CARGO_BIN_EXE_manometer")).parent().unwrap();
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        let mut command = Command::new(program);
        command.current_dir(&self.directory).env("HOME", &self.directory).env("PATH", path);
        for name in ["XDG_DATA_HOME", "XDG_STATE_HOME", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
            command.env_remove(name);
        }
        // As shown in the tutorial.
        command.env("TMPDIR", "/tmp").envs(&self.variables).stdin(Stdio::null()).stdout(Stdio::piped());
        command
    }

    fn run(&mut self, example: &Example) {
        let printed = self.printed.iter().find(|line| matches(&example.command, line));
        let command = printed.unwrap_or(&example.command).clone();
        if command.starts_with("manometer array") {
            self.start(&command, &example.expected);
        } else if let Some((name, value)) =
            command.strip_prefix("export ").and_then(|set| set.split_once('='))
        {
            self.variables.insert(name.to_owned(), value.to_owned());
        } else {
            let output = self.command("sh").args(["-c", &command]).stderr(Stdio::piped()).output().unwrap();
            let (shown, said) =
                (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
            assert!(output.status.success(), "{command}: {shown}{said}");
            let lines: Vec<&str> = shown.lines().collect();
            if let Err(fault) = compare(&example.expected, &lines) {
                panic!("{command}: {fault}; it printed\n{shown}{said}");
            }
        }
    }

    /// Starts the array and reads its output, up to the last line in the tutorial.
    fn start(&mut self, command: &str, expected: &[String]) {
        let words: Vec<&str> = command.split(' ').collect();
        let mut child = self.command(words[0]).args(&words[1..]).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let (_, lines) = self.array.insert((child, lines));
        let last = expected.last().unwrap();
        let mut line = String::new();
        while self.printed.last() != Some(last) {
            line.clear();
            assert!(lines.read_line(&mut line).unwrap() > 0, "{command} ended with {:?}", self.printed);
            self.printed.push(line.trim_end().to_owned());
        }
        let printed: Vec<&str> = self.printed.iter().map(String::as_str).collect();
        compare(expected, &printed).unwrap_or_else(|fault| panic!("{command}: {fault} in {printed:#?}"));
    }

    /// Ctrl-C in the array's terminal.
    fn end(mut self) {
        let (mut child, _lines) = self.array.take().expect("the tutorial starts an array");
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        assert!(child.wait().unwrap().success());
        let keys = &self.variables["AWS_SHARED_CREDENTIALS_FILE"];
        assert!(!Path::new(keys).parent().unwrap().exists(), "{keys} was left");
    }
}

#[test]
fn every_line_of_the_tutorial_works() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let examples = examples(&std::fs::read_to_string(root.join("docs/tutorial.md")).unwrap());
    assert!(examples.len() >= 13, "{} commands", examples.len());
    // Direct I/O works where cargo keeps its files, but perhaps not in /tmp.
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut terminals = Terminals::new(directory.path());
    examples.iter().for_each(|example| terminals.run(example));
    assert!(directory.path().join("report.html").exists());
    let left: Vec<_> = std::fs::read_dir(directory.path().join("data")).unwrap().collect();
    assert!(left.is_empty(), "runs left {left:?}");
    terminals.end();
}

/// The first block of YAML after a heading or a line.
fn yaml_after<'a>(text: &'a str, line: &str) -> &'a str {
    let rest = text.split_once(&format!("{line}\n")).expect(line).1;
    rest.split_once("```yaml\n").unwrap().1.split_once("```").unwrap().0
}

#[test]
fn what_experiments_are_shown_to_stand_for_and_to_do_is_what_is_printed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::create_dir(directory.path().join("data")).unwrap();
    let data = directory.path().join("data");
    let guide = std::fs::read_to_string(root.join("docs/experiments.md")).unwrap();
    let guide = guide.replace("/mnt/data", data.to_str().unwrap());
    let fleet = std::fs::read_to_string(root.join("docs/fleet.md")).unwrap();
    std::fs::write(directory.path().join("first.yaml"), yaml_after(&guide, "## A first experiment")).unwrap();
    std::fs::write(directory.path().join("read.yaml"), yaml_after(&fleet, "# A fleet: many hosts as one"))
        .unwrap();
    let mut examples = examples(&guide);
    examples.extend(self::examples(&fleet));
    assert!(examples.len() >= 3, "{} commands", examples.len());
    let mut terminals = Terminals::new(directory.path());
    for mut example in examples {
        if example.command.contains("read.yaml") {
            // The example's hosts are not contacted, so the output lacks what checking them would show.
            example.command.push_str(" --no-preflight");
        }
        terminals.run(&example);
    }
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
