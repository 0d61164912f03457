//! Two concurrent runs in one process: each has its own credentials, places, permissions, directories and evidence, and
//! ends alone. What is shown of a run agrees with its events.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod support;

use std::path::Path;
use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::thread;

use experiment::{Plan, Settings, SourceText};
use fleet::probe::HostSample;
use runner::progress::SharedProgress;
use runner::{Events, RunEvent, RunOptions, RunOutcome, StopReason, StopToken};
use store::State;
use support::{Stage, wait_until};
use targets::{AccessKey, HeldSecrets};

/// Counts one run's events, and lets both runs measure at the same time.
struct Watch {
    intervals: Mutex<u64>,
    messages: Mutex<Vec<String>>,
    both: Arc<Barrier>,
}

impl Watch {
    fn new(both: &Arc<Barrier>) -> Arc<Self> {
        Arc::new(Self { intervals: Mutex::default(), messages: Mutex::default(), both: Arc::clone(both) })
    }

    fn intervals(&self) -> u64 {
        *self.intervals.lock().unwrap()
    }
}

impl Events for Watch {
    fn event(&self, event: RunEvent<'_>) {
        match event {
            RunEvent::Message(_, text) => self.messages.lock().unwrap().push(text.to_owned()),
            RunEvent::Interval { stage: "measure", .. } => {
                let seen = {
                    let mut intervals = self.intervals.lock().unwrap();
                    *intervals += 1;
                    *intervals
                };
                if seen == 1 {
                    self.both.wait();
                }
            }
            _ => {}
        }
    }
}

fn plan(url: &str, workers: u32, seconds: u32) -> Plan {
    let text = format!(
        "targets: {{data: '{url}'}}\n\
         workloads: {{w: {{target: data, ops: get, objects: 4, object_size: 64KiB, jobs: {workers}, queue_depth: 1}}}}\n\
         stages: {{warm_up: 0s, measure: {{at_least: {seconds}s, at_most: {seconds}s}}}}\n\
         steady: none\n"
    );
    experiment::parse(&SourceText { file: "two.yaml", text: &text }, &Settings::of(targets::kinds())).unwrap()
}

fn secrets(access: &str, secret: &str) -> Arc<HeldSecrets> {
    let key = AccessKey { id: access.to_owned(), secret: secret.to_owned(), token: None };
    Arc::new([("data".to_owned(), key)].into_iter().collect())
}

fn options(directory: &Path) -> RunOptions {
    RunOptions {
        results: Some(directory.join("results.sqlite")),
        journal: Some(directory.join("journal")),
        ..RunOptions::new(directory.to_owned())
    }
}

fn figures(outcome: &RunOutcome) -> &store::CellResult {
    outcome.cells[0].result.as_ref().unwrap()
}

/// A host's samples during a run, from the results.
fn samples(outcome: &RunOutcome) -> Vec<HostSample> {
    let (run, store) = (&outcome.record.id, &outcome.store);
    let hosts = store.sampled_hosts(run, 0).unwrap();
    let kept = hosts.iter().flat_map(|host| store.samples(run, 0, host).unwrap());
    kept.map(|sample| serde_json::from_value(sample.value).unwrap()).collect()
}

#[test]
fn two_runs_in_one_process_share_nothing_and_end_alone() {
    let mut stage = Stage::plain(1);
    let (one, two) = (stage.make_bucket("one"), stage.make_bucket("two"));
    stage.remember();
    let directory = tempfile::tempdir().unwrap();
    let (here, there) = (directory.path().join("a"), directory.path().join("b"));
    [&here, &there].into_iter().for_each(|path| std::fs::create_dir_all(path).unwrap());
    let both = Arc::new(Barrier::new(2));
    let (long, short) = (Watch::new(&both), Watch::new(&both));
    let stop = StopToken::new();
    // The targets have the same name, and each key opens only one bucket.
    let (long_plan, short_plan) = (plan(&stage.s3_url("one"), 2, 600), plan(&stage.s3_url("two"), 3, 4));
    let (first, second) = thread::scope(|scope| {
        let first = scope.spawn(|| {
            let keys = secrets(&one.access, &one.secret);
            runner::run(long_plan, &options(&here), long.clone(), &stop, keys).unwrap()
        });
        let second = scope.spawn(|| {
            let keys = secrets(&two.access, &two.secret);
            runner::run(short_plan, &options(&there), short.clone(), &StopToken::new(), keys).unwrap()
        });
        // The long one is stopped while the other measures; the other runs to its own end.
        wait_until("both measure", || long.intervals() >= 3 && short.intervals() >= 3);
        stop.stop(StopReason::Caller);
        (first.join().unwrap(), second.join().unwrap())
    });

    assert_eq!(first.stopped, Some(StopReason::Caller));
    assert_eq!(first.record.state, State::Interrupted, "{:#?}", first.cells);
    assert_eq!((second.stopped, second.record.state), (None, State::Finished), "{:#?}", second.cells);
    assert!(second.succeeded() && !first.succeeded());
    let result = figures(&second);
    assert_eq!(result.total.failed, 0, "{result:#?}");
    assert!((3.9..5.0).contains(&result.measured_s), "it went on to its end: {}", result.measured_s);
    // Its evidence excludes the other run's connections and workers: an S3 worker with one lane has one connection.
    assert_eq!(result.client.get("net.connections"), Some(&3.0), "{:?}", result.client);
    let connections: u64 = result.paths.iter().map(|path| u64::from(path.connections)).sum();
    assert_eq!(connections, 3, "{:?}", result.paths);
    for (outcome, workers) in [(&first, 2), (&second, 3)] {
        let samples = samples(outcome);
        assert!(samples.iter().all(|sample| sample.workers.len() <= workers), "{samples:#?}");
        let connections = |sample: &HostSample| sample.paths.iter().map(|path| path.connections).sum::<u32>();
        assert!(samples.iter().all(|sample| connections(sample) <= workers as u32), "{samples:#?}");
        assert!(samples.iter().any(|sample| connections(sample) == workers as u32), "{samples:#?}");
    }
    for (outcome, watch, own, other) in [(&first, &long, &here, &second), (&second, &short, &there, &first)] {
        assert_eq!(outcome.store.path(), own.join("results.sqlite"));
        assert_eq!(outcome.store.runs().unwrap().len(), 1, "each has a results file of its own");
        assert!(outcome.left_behind.is_empty(), "{:?}", outcome.left_behind);
        assert_eq!(std::fs::read_dir(own.join("journal")).unwrap().count(), 0, "nothing is left to remove");
        let messages = watch.messages.lock().unwrap();
        assert!(messages.iter().any(|line| line.contains(&outcome.record.id)), "{messages:?}");
        assert!(!messages.iter().any(|line| line.contains(&other.record.id)), "{messages:?}");
    }
    stage.assert_untouched();
}

/// Compares the stage of each interval with the one shown.
#[derive(Default)]
struct Shown {
    progress: OnceLock<Arc<SharedProgress>>,
    /// The two names.
    stages: Mutex<Vec<(String, String)>>,
}

impl Events for Shown {
    fn event(&self, event: RunEvent<'_>) {
        match event {
            RunEvent::Began(progress) => assert!(self.progress.set(Arc::clone(progress)).is_ok()),
            RunEvent::Interval { stage, .. } => {
                let shown = self.progress.get().unwrap().lock().stage.name.clone();
                self.stages.lock().unwrap().push((stage.to_owned(), shown));
            }
            _ => {}
        }
    }
}

#[test]
fn whoever_learns_of_an_interval_finds_its_stage_shown() {
    let directory = tempfile::tempdir().unwrap();
    let text = "targets: {t: 'sim:?latency=1ms'}\nworkloads: {w: {ops: read}}\n\
        stages: {warm_up: 1s, measure: {at_least: 3s, at_most: 3s}}\nsteady: none\n";
    let plan = experiment::parse(&SourceText { file: "shown.yaml", text }, &Settings::of(targets::kinds()));
    let shown = Arc::new(Shown::default());
    let secrets: Arc<HeldSecrets> = Arc::new(std::iter::empty().collect());
    runner::run(plan.unwrap(), &options(directory.path()), shown.clone(), &StopToken::new(), secrets)
        .unwrap();
    let stages = shown.stages.lock().unwrap();
    assert!(stages.iter().filter(|(stage, _)| stage == "measure").count() >= 3, "{stages:?}");
    assert!(stages.iter().all(|(stage, shown)| stage == shown), "{stages:?}");
}
