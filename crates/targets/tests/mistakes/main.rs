//! Every mistake that docs/experiment-reference.md lists, with the whole message that users see (snapshots).
#![allow(clippy::unwrap_used)] // a test may fail loudly

use experiment::{HostsFileError, Settings, SourceText, parse};

/// A workload on files, and more of its keys.
macro_rules! disk {
    ($rest:literal) => {
        concat!("targets: {disk: file:///mnt/data}\nworkloads:\n  randread:\n    ops: read\n", $rest)
    };
}

/// A workload that writes files, and more of its keys.
macro_rules! written {
    ($rest:literal) => {
        concat!("targets: {disk: file:///mnt/data}\nworkloads:\n  randwrite:\n    ops: write\n", $rest)
    };
}

/// A workload on objects, starting with its operations.
macro_rules! store {
    ($rest:literal) => {
        concat!(
            "targets: {store: 's3://bench?endpoint=http://10.0.0.1:9000'}\nworkloads:\n  objects:\n",
            $rest
        )
    };
}

mod basics;
mod fleet;
mod jobs;
mod matrix;
mod parameters;
mod rules;
mod targets;
mod together;
mod workloads;

/// A file with a mistake.
pub struct Mistake {
    /// Name of the snapshot.
    pub name: &'static str,
    /// What the user did.
    pub title: &'static str,
    /// The file.
    pub file: &'static str,
    /// `--set`.
    pub set: &'static [(&'static str, &'static str)],
}

impl Mistake {
    const fn new(name: &'static str, title: &'static str, file: &'static str) -> Self {
        Self { name, title, file, set: &[] }
    }
}

fn all() -> impl Iterator<Item = &'static Mistake> {
    [
        basics::ALL,
        targets::ALL,
        workloads::ALL,
        together::ALL,
        matrix::ALL,
        rules::ALL,
        parameters::ALL,
        jobs::ALL,
        fleet::ALL,
    ]
    .into_iter()
    .flatten()
}

fn faults(mistake: &Mistake) -> experiment::Diagnostics {
    let set: Vec<_> =
        mistake.set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let environment = |name: &str| match name {
        "MANOMETER_SET_depth" => Some("deep".to_owned()),
        _ => None,
    };
    let read_hosts = |file: &str| match file {
        "twice.txt" => Ok("a\nb\na\n".to_owned()),
        _ => Err(HostsFileError::Unreadable {
            file: file.to_owned(),
            error: std::io::Error::from_raw_os_error(2),
        }),
    };
    let settings = Settings {
        set: &set,
        environment: &environment,
        read_hosts: &read_hosts,
        ..Settings::of(::targets::kinds())
    };
    let parsed = parse(&SourceText { file: "nightly.yaml", text: mistake.file }, &settings);
    parsed
        .err()
        .unwrap_or_else(|| panic!("{} ({}) is accepted:\n{}", mistake.title, mistake.name, mistake.file))
}

#[test]
fn every_mistake_has_its_message() {
    for mistake in all() {
        let faults = faults(mistake);
        insta::assert_snapshot!(mistake.name, faults.to_string());
        for fault in &faults.faults {
            assert!(!fault.hint.is_empty() && !fault.text.is_empty(), "{faults}");
            assert!(fault.line > 0 || fault.origin.is_some(), "{faults}");
            assert!(!fault.text.contains('\n') && !fault.hint.contains('\n'), "{faults}");
        }
    }
}

/// Each mistake is reported once, without its consequences. `NAME-many` contain several on purpose.
#[test]
fn one_mistake_gives_one_fault() {
    for mistake in all().filter(|mistake| !mistake.name.contains("many")) {
        let faults = faults(mistake);
        assert_eq!(faults.faults.len(), 1, "{}:\n{faults}", mistake.title);
    }
}

/// The documentation has a table of all mistakes with the first line of their messages.
#[test]
fn the_documentation_lists_every_mistake() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/experiment-reference.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- mistakes begin -->\n", "<!-- mistakes end -->\n");
    let from = text.find(begin).expect("the table's beginning") + begin.len();
    let to = text.find(end).expect("the table's end");
    let mut table = String::from("| mistake | what is said |\n|---|---|\n");
    for mistake in all() {
        let faults = faults(mistake);
        let first = &faults.faults[0];
        let cell = |text: &str| text.replace('|', "\\|");
        table.push_str(&format!(
            "| {} | {} — {} |\n",
            cell(mistake.title),
            cell(&first.text),
            cell(&first.hint)
        ));
    }
    if std::env::var_os("MANOMETER_UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{}{table}{}", &text[..from], &text[to..])).unwrap();
    } else {
        assert_eq!(&text[from..to], table, "run with MANOMETER_UPDATE_DOCS=1 to write the table anew");
    }
}

#[test]
fn bytes_that_are_no_text_are_refused_with_their_place() {
    let error = experiment::decode("nightly.yaml", b"name: a\ntargets: {d: \xff\xfe}\n").unwrap_err();
    insta::assert_snapshot!("not-utf8", error.to_string());
    let error = experiment::decode("nightly.yaml", b"\x7fELF\0\xff").unwrap_err();
    insta::assert_snapshot!("not-text", error.to_string());
    assert_eq!(experiment::decode("f", "\u{feff}name: ä".as_bytes()), Ok("name: ä"));
}

#[test]
fn at_most_twenty_faults_are_told() {
    let keys: Vec<String> = (0..50).map(|n| format!("    key{n}: 1\n")).collect();
    let file = format!("targets: {{d: 'null:'}}\nworkloads:\n  w:\n    ops: read\n{}", keys.concat());
    let error = parse(&SourceText { file: "f", text: &file }, &Settings::of(::targets::kinds())).unwrap_err();
    assert_eq!((error.faults.len(), error.more), (experiment::MAX_FAULTS, 30));
    assert!(error.to_string().ends_with("… and 30 more\n"));
    // In the order of the file.
    assert!(error.faults.windows(2).all(|pair| pair[0].line <= pair[1].line));
}
