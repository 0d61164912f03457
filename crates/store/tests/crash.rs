//! Repeatedly kills a process that writes at full speed, at arbitrary moments: the file opens, is intact, and holds
//! everything except the interval handed over last. Two processes write to one file at the same time.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod support;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rusqlite::Connection;
use store::{Event, State, Store};
use support::{interval, moment, run};

/// The child also writes an event after this many intervals; it is on disk when the call returns.
const EVENT_EVERY: u32 = 7;

/// The child side of these tests: this same program, started again. Run as a test of its own it does nothing.
#[test]
fn the_process_that_is_killed() {
    let Some(path) = std::env::var_os("MANOMETER_STORE_CHILD_FILE") else { return };
    let id = std::env::var("MANOMETER_STORE_CHILD_RUN").unwrap();
    let count: u32 = std::env::var("MANOMETER_STORE_CHILD_COUNT").unwrap().parse().unwrap();
    let say = |line: String| {
        let mut out = std::io::stdout();
        out.write_all(line.as_bytes()).and_then(|()| out.flush()).unwrap();
    };
    let store = Store::open(Path::new(&path)).unwrap();
    store.begin_run(&run(&id, "crash")).unwrap();
    store.begin_cell(&id, 0, moment(0)).unwrap();
    say("\nrun 0\n".into());
    let mut writer = store.writer(&id).unwrap();
    for index in 0..count {
        writer.interval(0, "measure", 0, &interval(index)).unwrap();
        say(format!("interval {index}\n"));
        if index % EVENT_EVERY == 0 {
            let number = index / EVENT_EVERY;
            let event =
                Event { at: moment(1), cell: Some(0), kind: "stage".into(), text: number.to_string() };
            store.event(&id, &event).unwrap();
            say(format!("event {number}\n"));
        }
    }
    writer.finish().unwrap();
    store.finish_run(&id, State::Finished, moment(9)).unwrap();
    say("done 0\n".into());
}

fn start(path: &Path, id: &str, count: u32) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_process_that_is_killed", "--nocapture"])
        .env("MANOMETER_STORE_CHILD_FILE", path)
        .env("MANOMETER_STORE_CHILD_RUN", id)
        .env("MANOMETER_STORE_CHILD_COUNT", count.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// What a killed process had reported as done.
#[derive(Debug, Default)]
struct Said {
    run: bool,
    intervals: u32,
    events: u32,
}

impl Said {
    fn hear(&mut self, line: &str) {
        match line.split_once(' ') {
            Some(("run", _)) => self.run = true,
            Some(("interval", index)) => self.intervals = index.parse::<u32>().unwrap() + 1,
            Some(("event", number)) => self.events = number.parse::<u32>().unwrap() + 1,
            _ => {}
        }
    }
}

/// Kills the child after `lines` lines and another moment.
fn killed(path: &Path, id: &str, lines: usize, moment: Duration) -> Said {
    let mut child = start(path, id, u32::MAX);
    let mut heard = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut said = Said::default();
    for line in heard.by_ref().take(lines) {
        said.hear(&line.unwrap());
    }
    std::thread::sleep(moment);
    child.kill().unwrap();
    child.wait().unwrap();
    // What it reported before its end is still in the pipe; a truncated line does not count.
    let mut rest: Vec<String> = heard.map_while(Result::ok).collect();
    rest.pop();
    rest.iter().for_each(|line| said.hear(line));
    said
}

fn assert_whole(path: &Path) {
    let connection = Connection::open(path).unwrap();
    let check: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
    assert!(!connection.prepare("PRAGMA foreign_key_check").unwrap().exists([]).unwrap());
}

fn assert_kept(path: &Path, id: &str, said: &Said) {
    assert_whole(path);
    let store = Store::open(path).unwrap();
    let Ok(record) = store.run(id) else {
        assert!(!said.run, "the run is lost: {said:?}");
        return;
    };
    assert_eq!(record.state, State::Running);
    assert!(store.summaries().unwrap().iter().find(|run| run.id == id).unwrap().abandoned);
    let intervals: Vec<_> = store
        .intervals(id, 0, "measure", 0, 0..u32::MAX)
        .unwrap()
        .map(|interval| interval.unwrap())
        .collect();
    // When `interval` returns, all earlier intervals are in the file: at most one is lost.
    assert!(intervals.len() as u32 + 1 >= said.intervals, "{} of {said:?}", intervals.len());
    for (index, kept) in (0..).zip(&intervals) {
        assert_eq!(kept, &interval(index));
    }
    let events = store.events(id).unwrap();
    assert!(events.len() as u32 >= said.events, "{} of {said:?}", events.len());
    // Another process may resume it, and restarts the cell.
    store.resume_run(id).unwrap();
    assert!(!store.summaries().unwrap().iter().find(|run| run.id == id).unwrap().abandoned);
    store.begin_cell(id, 0, moment(0)).unwrap();
    assert!(store.stages(id, 0).unwrap().is_empty());
    let mut writer = store.writer(id).unwrap();
    writer.interval(0, "measure", 0, &interval(0)).unwrap();
    writer.finish().unwrap();
    store.finish_run(id, State::Finished, moment(9)).unwrap();
}

fn id_of(round: usize) -> String {
    format!(
        "crash{}",
        [b'a' + (round / 26) as u8, b'a' + (round % 26) as u8].map(char::from).iter().collect::<String>()
    ) + "2"
}

#[test]
fn killed_while_writing_into_one_file_thirty_times() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.sqlite");
    let mut kept = 0;
    for round in 0..30 {
        let lines = 4 + fastrand::usize(..200);
        let said = killed(&path, &id_of(round), lines, Duration::from_micros(fastrand::u64(..3000)));
        assert_kept(&path, &id_of(round), &said);
        kept += said.intervals;
    }
    assert!(kept > 300, "the rounds wrote too little to show anything: {kept}");
}

#[test]
fn killed_while_beginning_a_file_thirty_times() {
    let directory = tempfile::tempdir().unwrap();
    let mut begun = 0;
    for round in 0..30 {
        let path = directory.path().join(format!("{round}.sqlite"));
        // From before the file exists to its first intervals.
        let moment = Duration::from_micros(fastrand::u64(..30_000));
        let said = killed(&path, &id_of(round), fastrand::usize(..4), moment);
        begun += u32::from(path.exists());
        assert_kept(&path, &id_of(round), &said);
    }
    assert!(begun > 0, "no round got as far as making the file");
}

#[test]
fn two_processes_write_into_one_file_while_a_third_reads() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.sqlite");
    let mut children = ["twooaaa2", "twoobbb2"].map(|id| start(&path, id, 150));
    // The pipes are larger than the output, so nobody needs to read them.
    let mut reads = 0;
    while children.iter_mut().any(|child| child.try_wait().unwrap().is_none()) {
        if let Ok(store) = Store::open_existing(&path) {
            for run in store.summaries().unwrap() {
                let seen = store.intervals(&run.id, 0, "measure", 0, 0..u32::MAX).unwrap();
                for (index, seen) in (0..).zip(seen) {
                    assert_eq!(seen.unwrap(), interval(index));
                }
                reads += 1;
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(reads > 0);
    assert_whole(&path);
    let store = Store::open_existing(&path).unwrap();
    for (child, id) in children.iter_mut().zip(["twooaaa2", "twoobbb2"]) {
        assert!(child.wait().unwrap().success());
        assert_eq!(store.intervals(id, 0, "measure", 0, 0..u32::MAX).unwrap().count(), 150);
    }
}

#[test]
fn a_run_that_lives_is_neither_resumed_nor_forgotten() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.sqlite");
    let mut child = start(&path, "aliveaa2", u32::MAX);
    let mut heard = BufReader::new(child.stdout.take().unwrap()).lines();
    heard.by_ref().take(6).for_each(|line| drop(line.unwrap()));
    // From here on somebody has to read, or the child blocks on a full pipe; a blocked child is still alive.
    let store = Store::open(&path).unwrap();
    for refused in [store.resume_run("aliveaa2"), store.forget("aliveaa2")] {
        let line = refused.unwrap_err().to_string();
        assert!(line.contains(&format!("still running, in process {}", child.id())), "{line}");
    }
    assert!(!store.summaries().unwrap()[0].abandoned);
    child.kill().unwrap();
    child.wait().unwrap();
    store.forget("aliveaa2").unwrap();
    assert!(store.runs().unwrap().is_empty());
}
