//! `manometer report`, `notebook` and `compare` through the program itself, on results files made for the purpose.

#![allow(clippy::unwrap_used)] // a test may fail loudly

#[path = "../../report/tests/fixture/mod.rs"]
mod fixture;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use report::Document;
use serde_json::Value;
use store::Store;
use tempfile::TempDir;

struct Place {
    directory: TempDir,
}

struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Place {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Stores a run whose cells measured three seconds, so that there is something to draw.
    fn store(&self, file: &str, document: &Document) -> PathBuf {
        let path = self.file(file);
        let store = Store::open(&path).unwrap();
        store.begin_run(&document.run).unwrap();
        let load = fixture::Load { seconds: 3, ..fixture::Load::of_device(4096, 8, 9) };
        for view in &document.cells {
            store.begin_cell(&document.run.id, view.record.index, document.run.started).unwrap();
            let mut writer = store.writer(&document.run.id).unwrap();
            for interval in load.intervals(false) {
                writer.interval(view.record.index, "measure", 0, &interval).unwrap();
            }
            writer.finish().unwrap();
            store.finish_cell(&document.run.id, &view.record).unwrap();
        }
        store.finish_run(&document.run.id, document.run.state, document.run.finished.unwrap()).unwrap();
        path
    }

    fn manometer(&self, arguments: &[&str]) -> Ended {
        let output = Command::new(env!("CARGO_BIN_EXE_manometer"))
            .args(arguments)
            .current_dir(self.directory.path())
            .env("XDG_DATA_HOME", self.directory.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// One clear line with these words, and the exit code for usage errors.
fn wrong(ended: &Ended, words: &[&str]) {
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    words.iter().for_each(|word| assert!(ended.stderr.contains(word), "{word}: {}", ended.stderr));
}

fn embedded(page: &str) -> Value {
    let json = page.split("id=\"manometer-data\">").nth(1).unwrap().split("</script>").next().unwrap();
    serde_json::from_str(json).unwrap()
}

fn started(mut document: Document, at: &str) -> Document {
    document.run.started = at.parse().unwrap();
    document
}

/// Two runs, the second one 7 % slower.
fn two(place: &Place) -> PathBuf {
    two_by(place, "results.sqlite", "sustained")
}

fn two_by(place: &Place, file: &str, rule: &str) -> PathBuf {
    let run = |id, speed, seed| fixture::by_rule(fixture::simple(id, speed, seed), rule);
    place.store(file, &started(run("aaaaaaaa", 1.0, 1), "2026-11-20T08:00:00Z"));
    place.store(file, &started(run("bbbbbbbb", 0.93, 2), "2026-11-20T09:00:00Z"))
}

#[test]
fn the_report_holds_what_is_exported() {
    let place = Place::new();
    let results = place.store("results.sqlite", &fixture::everything());
    let results = results.to_str().unwrap();
    let ended = place.manometer(&["report", "last", "--results", results]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{}", ended.stderr);
    assert_eq!(ended.stderr, "wrote nvme-acceptance-k3m9x2pq.html\n");
    let page = std::fs::read_to_string(place.file("nvme-acceptance-k3m9x2pq.html")).unwrap();
    let exported = place.manometer(&["export", "last", "--format", "json", "--results", results]);
    assert_eq!(embedded(&page), serde_json::from_str::<Value>(&exported.stdout).unwrap());
    // The intervals of every cell were found and drawn.
    for position in 0..15 {
        assert!(page.contains(&format!("data-series=\"rate-{position}\"")), "{position}");
    }
}

#[test]
fn a_report_and_a_notebook_go_to_standard_output() {
    let place = Place::new();
    let results = two(&place);
    let results = results.to_str().unwrap();
    let page = place.manometer(&["report", "aaaa", "-o", "-", "--results", results]);
    assert_eq!((page.code, page.stderr.as_str()), (Some(0), ""));
    assert!(page.stdout.starts_with("<!DOCTYPE html>") && page.stdout.ends_with("</html>\n"));
    let notebook = place.manometer(&["notebook", "last~1", "-o", "-", "--results", results]);
    assert_eq!((notebook.code, notebook.stderr.as_str()), (Some(0), ""));
    let notebook: Value = serde_json::from_str(&notebook.stdout).unwrap();
    assert_eq!((&notebook["nbformat"], &notebook["nbformat_minor"]), (&4.into(), &5.into()));
    assert!(notebook["cells"][0]["source"].to_string().contains("aaaaaaaa"));
}

#[test]
fn wrong_input_is_said_in_one_line() {
    let place = Place::new();
    wrong(&place.manometer(&["report", "last", "--results", "absent.sqlite"]), &["absent.sqlite", "next:"]);
    let results = two(&place);
    let results = results.to_str().unwrap();
    wrong(&place.manometer(&["report", "zzzz", "--results", results]), &["zzzz", "next:"]);
    wrong(&place.manometer(&["report", "last~2", "--results", results]), &["last~2", "2 runs", "next:"]);
    wrong(&place.manometer(&["report", "last~x", "--results", results]), &["last~x"]);
    let over = place.manometer(&["report", "last", "-o", results, "--results", results]);
    wrong(&over, &["is a results file"]);
    assert!(Store::open_existing(Path::new(results)).is_ok());
    let metric = place.manometer(&["compare", "last~1", "last", "--metric", "speed", "--results", results]);
    wrong(&metric, &["--metric", "speed", "bandwidth"]);
    let nowhere = place.manometer(&["report", "last", "-o", "absent/report.html", "--results", results]);
    assert_eq!(nowhere.code, Some(1));
    assert!(
        nowhere.stderr.contains("absent/report.html") && nowhere.stderr.contains("next:"),
        "{}",
        nowhere.stderr
    );
}

#[test]
fn a_slower_run_fails_where_that_is_asked_for() {
    let place = Place::new();
    let results = two(&place);
    let results = results.to_str().unwrap();
    let compare = |more: &[&str]| {
        place.manometer(&[&["compare", "last~1", "last", "--results", results], more].concat())
    };
    let plain = compare(&[]);
    assert_eq!((plain.code, plain.stderr.as_str()), (Some(0), ""));
    assert!(plain.stdout.contains("\n\nB is worse than A in 3 of 3"), "{}", plain.stdout);
    assert_eq!(compare(&["--fail-on-regression", "5%"]).code, Some(1));
    assert_eq!(compare(&["--fail-on-regression", "20%"]).code, Some(0));
    let bare = compare(&["--fail-on-regression", "5"]);
    assert!(bare.code == Some(2) && bare.stderr.contains("did you mean 5%?"), "{}", bare.stderr);
    assert!(compare(&["--output", "markdown"]).stdout.contains("| cell | metric |"));

    let json: Value =
        serde_json::from_str(&compare(&["--output", "json", "--metric", "read.p99"]).stdout).unwrap();
    let schema: Value =
        serde_json::from_str(include_str!("../../../schemas/comparison.schema.json")).unwrap();
    jsonschema::validate(&schema, &json).unwrap();
    assert_eq!(json["cells"][0]["metric"], "read.p99");

    let page = compare(&["-o", "comparison.html"]);
    assert_eq!((page.code, page.stderr.as_str()), (Some(0), "wrote comparison.html\n"));
    let page = std::fs::read_to_string(place.file("comparison.html")).unwrap();
    assert!(page.contains("line side-a") && page.contains("line side-b"));
}

/// A gate neither passes what looks slower nor calls it a regression.
#[test]
fn a_gate_on_single_runs_says_that_they_do_not_suffice() {
    let place = Place::new();
    let results = two_by(&place, "single.sqlite", "default");
    let compare = |more: &[&str]| {
        place.manometer(&[&["compare", "--results", results.to_str().unwrap()], more].concat())
    };
    let gated = compare(&["--fail-on-regression", "5%"]);
    assert_eq!((gated.code, gated.stderr.as_str()), (Some(3), ""), "{}", gated.stdout);
    let expected =
        "confirm with repetitions: 3 or steady: sustained; 0 worse by more than 5 %, and 3 unconfirmed";
    assert!(gated.stdout.replace("\n  ", " ").contains(expected), "{}", gated.stdout);
    assert_eq!(compare(&["--fail-on-regression", "20%"]).code, Some(0));
    assert_eq!(compare(&["last~1", "last~1", "last", "--fail-on-regression", "5%"]).code, Some(3));
    assert_eq!(compare(&[]).code, Some(0), "without a gate, comparing is all");
}

#[test]
fn any_number_of_runs_and_single_cells_are_compared() {
    let place = Place::new();
    let results = two(&place);
    let results = results.to_str().unwrap();
    let compare = |of: &[&str]| place.manometer(&[&["compare"], of, &["--results", results]].concat());
    let three = compare(&["last~1", "last~1", "last", "--fail-on-regression", "5%"]);
    assert_eq!((three.code, three.stderr.as_str()), (Some(1), ""), "{}", three.stdout);
    assert!(three.stdout.contains("\n\nC is worse than A in 3 of 3 comparisons"), "{}", three.stdout);
    let json: Value =
        serde_json::from_str(&compare(&["last~1", "last~1", "last", "--output", "json"]).stdout).unwrap();
    let schema: Value =
        serde_json::from_str(include_str!("../../../schemas/run-series.schema.json")).unwrap();
    jsonschema::validate(&schema, &json).unwrap();
    let page = compare(&["last", "last", "last", "-o", "runs.html"]);
    assert_eq!((page.code, page.stderr.as_str()), (Some(0), "wrote runs.html\n"));

    let newest = compare(&["--last", "5"]);
    assert_eq!(newest.code, Some(0), "{}", newest.stderr);
    assert!(newest.stdout.contains("B is worse than A in 3 of 3"), "{}", newest.stdout);
    let cells = compare(&["last#1", "last#3"]);
    assert_eq!(cells.code, Some(0), "{}", cells.stderr);
    assert!(cells.stdout.contains("→"), "{}", cells.stdout);
    wrong(&compare(&["last#1", "last#9"]), &["\"last#9\"", "cells 1 to 3", "next: manometer show last"]);
    let workloads = compare(&["last#randread", "last~1#randread"]);
    assert_eq!(workloads.code, Some(0), "{}", workloads.stderr);
    wrong(
        &compare(&["last#1", "last#reed"]),
        &["\"last#reed\"", "workloads randread", "next: manometer show last"],
    );
    let alone = compare(&["--last", "1"]);
    assert!(alone.code == Some(2) && alone.stderr.contains("'--last <COUNT>'"), "{}", alone.stderr);
}

#[test]
fn every_run_that_is_not_there_is_named() {
    let place = Place::new();
    place.store("one.sqlite", &fixture::simple("aaaaaaaa", 1.0, 1));
    let command = |arguments: &[&str]| place.manometer(&[arguments, &["--results", "one.sqlite"]].concat());
    wrong(&command(&["compare", "nosuch", "other"]), &["no run \"nosuch\"", "no run \"other\""]);
    wrong(&command(&["compare", "last", "other"]), &["no run \"other\""]);
    // Names that other commands accept for a run are not enough to remove one.
    wrong(
        &command(&["forget", "last"]),
        &["no run \"last\"", "the whole id", "next: manometer forget aaaaaaaa"],
    );
    assert_eq!(command(&["show", "aaaaaaaa"]).code, Some(0));
}

#[test]
fn runs_of_two_files_are_compared() {
    let place = Place::new();
    place.store("one.sqlite", &fixture::simple("aaaaaaaa", 1.0, 1));
    place.store("two.sqlite", &fixture::simple("bbbbbbbb", 1.0, 1));
    let same = place.manometer(&["compare", "one.sqlite:last", "two.sqlite:bbbb"]);
    assert_eq!((same.code, same.stderr.as_str()), (Some(0), ""), "{}", same.stdout);
    assert!(same.stdout.contains("no difference between A and B"), "{}", same.stdout);
    place.store("three.sqlite", &fixture::document("cccccccc", "other", Vec::new()));
    let nothing = place.manometer(&["compare", "one.sqlite:last", "three.sqlite:last"]);
    wrong(&nothing, &["no cell in common", "next:"]);
}
