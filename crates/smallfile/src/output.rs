//! Results as smallfile shows them: parameters, a line for each thread, totals, and JSON.

use std::fmt::Write;

use engine::{LanePass, StageResult};
use experiment::bare_host;
use jiff::tz::TimeZone;
use runner::{CellOutcome, JobsOutcome};
use serde_json::{Map, Value, json};

use crate::Request;
use crate::parameters_shown::parameters_as_json;

pub use crate::parameters_shown::prelude;

/// Below this share of the requested files, in percent, a measurement says little.
const FEWEST_PERCENT: f64 = 70.0;
/// Runs shorter than this have no rates, in seconds.
const SHORTEST_S: f64 = 0.001;
const NS_PER_S: f64 = 1e9;
const MIB: f64 = 1024.0 * 1024.0;

/// The results of a run.
#[derive(Clone, Debug)]
pub struct SmallfileReport<'a> {
    request: &'a Request,
    threads: Vec<Thread>,
    started: jiff::Timestamp,
    failure: Option<String>,
    errors: Vec<String>,
}

/// A thread's part.
#[derive(Clone, Debug)]
struct Thread {
    host: String,
    pass: LanePass,
}

/// Sums over threads: counts and rates add up, the longest time counts.
#[derive(Clone, Debug, Default)]
struct Sums {
    elapsed_s: f64,
    files: u64,
    records: u64,
    bytes: u64,
    files_per_s: f64,
    records_per_s: f64,
    mib_per_s: f64,
    error: Option<String>,
}

impl Sums {
    fn of<'t>(threads: impl IntoIterator<Item = &'t Thread>) -> Sums {
        let mut sums = Sums::default();
        for Thread { pass, .. } in threads {
            let elapsed_s = pass.elapsed_ns as f64 / NS_PER_S;
            sums.elapsed_s = sums.elapsed_s.max(elapsed_s);
            sums.files += pass.files;
            sums.records += pass.records;
            sums.bytes += pass.bytes;
            if elapsed_s > 0.0 {
                sums.files_per_s += pass.files as f64 / elapsed_s;
                sums.records_per_s += pass.records as f64 / elapsed_s;
                sums.mib_per_s += pass.bytes as f64 / MIB / elapsed_s;
            }
            sums.error = sums.error.take().or(pass.error.map(|kind| kind.to_string()));
        }
        sums
    }

    fn json(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        if let Some(error) = &self.error {
            fields.insert("status".into(), json!(error));
        }
        fields.insert("elapsed".into(), json!(self.elapsed_s));
        fields.insert("files".into(), json!(self.files));
        fields.insert("records".into(), json!(self.records));
        fields.insert("files-per-sec".into(), json!(self.files_per_s));
        if self.records > 0 {
            fields.insert("IOPS".into(), json!(self.records_per_s));
            fields.insert("MiBps".into(), json!(self.mib_per_s));
        }
        fields
    }
}

impl<'a> SmallfileReport<'a> {
    /// The results of a run of the request's plan. `host` is the name of this host.
    pub fn of(request: &'a Request, outcome: &JobsOutcome, host: &str) -> Self {
        let of = |(name, load): (Option<&str>, &StageResult)| {
            let host = name.map_or(host, bare_host);
            load.passes.iter().map(|pass| Thread { host: host.to_owned(), pass: *pass }).collect::<Vec<_>>()
        };
        let threads = outcome.cells.iter().flat_map(CellOutcome::loads).flat_map(of).collect();
        let failures = outcome.cells.iter().filter_map(|cell| cell.failure.as_ref());
        let failure = failures.map(|failure| failure.text.clone()).next();
        let errors = outcome.cells.iter().flat_map(errors).collect();
        SmallfileReport { request, threads, started: outcome.started, failure, errors }
    }

    /// Whether the run, or a thread of it, failed.
    pub fn failed(&self) -> bool {
        self.failure.is_some() || self.threads.iter().any(|thread| thread.pass.error.is_some())
    }

    /// A line for each error that ended a thread, as far as examples were kept; and for what ended the run.
    pub fn errors(&self) -> &[String] {
        &self.errors
    }

    fn requested_threads(&self) -> u64 {
        let hosts = self.request.host_set.as_ref().map_or(1, Vec::len) as u64;
        hosts * u64::from(self.request.threads)
    }

    /// Finished files in percent of those requested of the threads that answered.
    fn percent(&self, sums: &Sums) -> f64 {
        let requested = self.threads.len() as f64 * f64::from(self.request.files);
        if requested > 0.0 { 100.0 * sums.files as f64 / requested } else { 0.0 }
    }

    /// The lines for people: threads, then totals.
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_text(&mut out);
        out
    }

    fn write_text(&self, out: &mut String) -> std::fmt::Result {
        for Thread { host, pass } in &self.threads {
            let status = pass.error.map_or("ok".to_owned(), |kind| format!("ERR: {kind}"));
            let LanePass { lane, elapsed_ns, files, records, .. } = pass;
            let elapsed_s = *elapsed_ns as f64 / NS_PER_S;
            writeln!(
                out,
                "host = {host},thr = {lane:02},elapsed = {elapsed_s},files = {files},records = {records},status = {status}"
            )?;
        }
        let sums = Sums::of(&self.threads);
        writeln!(out, "total threads = {}", self.threads.len())?;
        writeln!(out, "total files = {}", sums.files)?;
        if sums.records > 0 {
            writeln!(out, "total IOPS = {}", sums.records_per_s as u64)?;
            writeln!(out, "total data = {:9.3} GiB", sums.bytes as f64 / MIB / 1024.0)?;
        }
        if (self.threads.len() as u64) < self.requested_threads() {
            writeln!(out, "WARNING: failed to get some responses from workload generators")?;
        }
        let percent = self.percent(&sums);
        writeln!(
            out,
            "{percent:6.2}% of requested files processed, warning threshold is {FEWEST_PERCENT:6.2}%"
        )?;
        writeln!(out, "elapsed time = {:9.3}", sums.elapsed_s)?;
        if sums.elapsed_s < SHORTEST_S {
            writeln!(out, "WARNING: test must run longer than a millisecond")?;
        } else {
            writeln!(out, "files/sec = {:.6}", sums.files_per_s)?;
            if sums.records > 0 {
                writeln!(out, "IOPS = {:.6}", sums.records_per_s)?;
                writeln!(out, "MiB/sec = {:.6}", sums.mib_per_s)?;
            }
        }
        if sums.error.is_some() || self.failure.is_some() {
            writeln!(out, "WARNING: at least one thread encountered error, test may be incomplete")?;
        } else if percent < FEWEST_PERCENT {
            writeln!(
                out,
                "WARNING: not enough total files processed before 1st thread finished, change test parameters"
            )?;
        }
        Ok(())
    }

    /// The same as JSON, with the parameters.
    pub fn json(&self) -> Value {
        let sums = Sums::of(&self.threads);
        let mut results = sums.json();
        let in_threads = |of: &[&Thread]| -> Map<String, Value> {
            of.iter()
                .map(|thread| (format!("{:02}", thread.pass.lane), Sums::of([*thread]).json().into()))
                .collect()
        };
        if self.request.host_set.is_some() {
            let mut in_host = Map::new();
            for thread in &self.threads {
                if in_host.contains_key(&thread.host) {
                    continue;
                }
                let own: Vec<&Thread> =
                    self.threads.iter().filter(|other| other.host == thread.host).collect();
                let mut host = Sums::of(own.iter().copied()).json();
                host.insert("in-thread".into(), in_threads(&own).into());
                in_host.insert(thread.host.clone(), host.into());
            }
            results.insert("in-host".into(), in_host.into());
        } else {
            let own: Vec<&Thread> = self.threads.iter().collect();
            results.insert("in-thread".into(), in_threads(&own).into());
        }
        results.insert("total-threads".into(), json!(self.threads.len()));
        if sums.records > 0 {
            results.insert("total-data-GB".into(), json!(sums.bytes as f64 / MIB / 1024.0));
        }
        results.insert("pct-files-done".into(), json!(self.percent(&sums)));
        results.insert("start-time".into(), json!(self.started.as_millisecond() as f64 / 1e3));
        let status = sums.error.or_else(|| self.failure.clone()).unwrap_or_else(|| "Success".to_owned());
        results.insert("status".into(), json!(status));
        let date = self.started.to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z").to_string();
        results.insert("date".into(), json!(date));
        json!({"params": parameters_as_json(self.request), "results": results})
    }
}

/// Lines about the errors of a cell.
fn errors(cell: &CellOutcome) -> Vec<String> {
    let mut lines = Vec::new();
    for (host, load) in cell.loads() {
        let host = host.map_or(String::new(), |name| format!("{name}: "));
        lines.extend(load.error_samples.iter().map(|(kind, text)| format!("{host}{kind}: {text}")));
    }
    // A run that failed because of an operation has that one's text.
    if let Some(failure) = &cell.failure
        && !lines.iter().any(|line| line.ends_with(&failure.text))
    {
        lines.push(failure.text.clone());
    }
    lines
}

#[cfg(test)]
mod tests {
    use metrics::{ErrorKind, Interval};
    use runner::nothing;

    use super::*;
    use crate::{SmallfileContext, plan, split_arguments};

    fn request(line: &str) -> Request {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Request::of(&split_arguments(&arguments).unwrap()).unwrap()
    }

    /// The outcome of a run on this host.
    fn outcome(request: &Request, passes: Vec<LanePass>, errors: Vec<(ErrorKind, String)>) -> JobsOutcome {
        let plan = plan(request, &SmallfileContext { directory: "/", host: "here" }).unwrap();
        let mut cell = nothing(&plan.cells[0]);
        let load = StageResult::of_intervals(Interval::default());
        cell.load = Some(StageResult { passes, error_samples: errors, ..load });
        let started = jiff::Timestamp::from_second(1_700_000_000).unwrap();
        JobsOutcome {
            run: "id".to_owned(),
            plan,
            started,
            finished: started,
            cells: vec![cell],
            disks: Vec::new(),
        }
    }

    fn pass(lane: u32, files: u64, elapsed_s: u64) -> LanePass {
        LanePass {
            lane,
            files,
            records: 2 * files,
            bytes: files << 20,
            elapsed_ns: elapsed_s * 1_000_000_000,
            all_files: files,
            ..LanePass::default()
        }
    }

    #[test]
    fn rates_of_threads_add_up_and_the_longest_time_counts() {
        let request = request("--operation read --files 100 --file-size 1024 --record-size 512");
        let outcome = outcome(&request, vec![pass(0, 100, 2), pass(1, 60, 4)], Vec::new());
        let report = SmallfileReport::of(&request, &outcome, "here");
        let expected = "\
host = here,thr = 00,elapsed = 2,files = 100,records = 200,status = ok
host = here,thr = 01,elapsed = 4,files = 60,records = 120,status = ok
total threads = 2
total files = 160
total IOPS = 130
total data =     0.156 GiB
 80.00% of requested files processed, warning threshold is  70.00%
elapsed time =     4.000
files/sec = 65.000000
IOPS = 130.000000
MiB/sec = 65.000000
";
        assert_eq!(report.text(), expected);
        let results = &report.json()["results"];
        assert_eq!((&results["files-per-sec"], &results["IOPS"]), (&65.0.into(), &130.0.into()));
        assert_eq!((&results["status"], &results["pct-files-done"]), (&"Success".into(), &80.0.into()));
        assert_eq!(results["in-thread"]["01"]["MiBps"], 15.0);
        assert_eq!(results["date"], "2023-11-14T22:13:20.000Z");
        assert!(!report.failed() && report.errors().is_empty());
    }

    #[test]
    fn errors_and_missing_threads_are_said() {
        let request = request("--operation read --files 100");
        let failed = LanePass { error: Some(ErrorKind::NotFound), ..pass(0, 10, 1) };
        let errors = vec![(ErrorKind::NotFound, "open, /f: none".to_owned())];
        let outcome = outcome(&request, vec![failed], errors);
        let report = SmallfileReport::of(&request, &outcome, "here");
        let text = report.text();
        for part in
            ["status = ERR: not-found", "failed to get some responses", "at least one thread encountered"]
        {
            assert!(text.contains(part), "{text}");
        }
        assert_eq!(report.json()["results"]["in-thread"]["00"]["status"], "not-found");
        assert!(report.failed());
        assert_eq!(report.errors(), ["not-found: open, /f: none"]);
    }
}
