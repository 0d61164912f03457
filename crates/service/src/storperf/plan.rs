//! A job as the text of an experiment.

use std::time::Duration;

use experiment::{Cell, Fleet, Launcher, Plan, Reporting, SteadyRule};
use fio::{Input, ScriptFaults};

use super::fields::refused;
use super::request::JobRequest;
use super::workloads::FioWorkload;
use crate::fio_jobs;
use crate::problem::Problem;

/// Data of a load in a directory that says no size, as in `StorPerf`.
const USUAL_SIZE: &str = "1G";
/// Names of files in a directory, as `StorPerf` names them: later jobs find what an initialization wrote.
const FILE_NAMES: &str = "storperf.$jobnum.$filenum";

/// The experiment that a job asks for, with a workload for each of its own.
///
/// # Errors
/// An option of a workload is none of fio's, or cannot be kept.
pub(crate) fn experiment(request: &JobRequest, sample: Duration) -> Result<String, Problem> {
    let mut cells = Vec::new();
    for workload in &request.workloads {
        let (sizes, depths) = match &workload.fixed {
            Some((size, depth)) => (std::slice::from_ref(size), std::slice::from_ref(depth)),
            None => (&*request.block_sizes, &*request.queue_depths),
        };
        for size in sizes {
            for depth in depths {
                let mut cell = cell(request, workload, size, depth)?;
                cell.index = cells.len() as u32;
                let unprepared = !workload.name.starts_with('_');
                if let Some(samples) = request.samples.filter(|_| unprepared) {
                    cell.steady = SteadyRule::Storperf { sample_s: sample.as_secs_f64(), samples };
                }
                cells.push(cell);
            }
        }
    }
    let launcher = Launcher::Ssh { hosts: request.hosts.clone(), options: Vec::new(), binary: None };
    let plan = Plan {
        name: "storperf".to_owned(),
        description: None,
        seed: cells.first().and_then(|cell| cell.workload.stream()).map_or(1, |job| job.seed),
        results: None,
        fleet: Some(Fleet::of(launcher)),
        observe: None,
        server_scale: None,
        cells,
    };
    experiment::convert(&plan).ok_or_else(|| refused("a workload is no load of files"))
}

/// The cell of one workload with one block size and queue depth.
fn cell(request: &JobRequest, workload: &FioWorkload, size: &str, depth: &str) -> Result<Cell, Problem> {
    let (mut workload, target) = (workload.clone(), &request.job.target);
    workload.set("bs", size);
    workload.set("iodepth", depth);
    if target.starts_with("/dev/") {
        workload.set("filename", target);
        if !workload.has("size") {
            workload.set("size", "100%");
        }
    } else {
        workload.set("directory", target);
        workload.set("filename_format", FILE_NAMES);
        // With a size beside it, only that much of the files would be used.
        if !workload.has("size") && !workload.has("filesize") {
            workload.set("size", USUAL_SIZE);
        }
    }
    if let Some(minutes) = request.deadline_min.filter(|_| !workload.name.starts_with('_')) {
        workload.set("runtime", &format!("{minutes}m"));
    }
    let faulty = |faults: ScriptFaults| {
        let line = faults.to_string().lines().next().unwrap_or_default().to_owned();
        refused(format!("Workload parameter validation failed: {}: {line}", workload.name))
    };
    let plan = plan(&workload).map_err(faulty)?;
    let [mut cell] = <[Cell; 1]>::try_from(plan.cells)
        .map_err(|_| refused(format!("{}: a workload is one job", workload.name)))?;
    cell.workload_name.clone_from(&workload.name);
    cell.point.insert("block_size".to_owned(), size.to_owned());
    cell.point.insert("queue_depth".to_owned(), depth.to_owned());
    cell.group = None;
    if let Some(job) = cell.workload.stream_mut() {
        job.report = Reporting::default();
    }
    Ok(cell)
}

/// The plan of a workload's options, read as fio's command line is.
fn plan(workload: &FioWorkload) -> Result<Plan, ScriptFaults> {
    let name = ("name".to_owned(), workload.name.clone());
    let options = std::iter::once(&name).chain(&workload.options);
    let line: Vec<String> = options.map(|(name, value)| format!("--{name}={value}")).collect();
    let (arguments, _) = fio::split_arguments(&line)?;
    fio_jobs::plan(Input::Arguments(&arguments.jobs), (1, 0), 1, &|_| None).map(|(plan, ..)| plan)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::groups::GroupBook;
    use super::super::request::{initialization, job};
    use super::*;
    use crate::options::RequestPolicy;
    use crate::policy;

    fn cells(text: &str) -> Vec<Cell> {
        policy::plan(text, &RequestPolicy::default())
            .unwrap_or_else(|faults| panic!("{text}\n{faults}"))
            .cells
    }

    #[test]
    fn a_job_is_a_matrix_of_its_workloads_in_order() {
        // As text: in it, the workloads are not in the order of their names.
        let body = r#"{
            "slave_addresses": ["203.0.113.1", "[2001:db8::1]:2222"], "username": "me", "target": "/mnt/data",
            "block_sizes": "4k,16384", "queue_depths": "1,8", "deadline": 30, "steady_state_samples": 5,
            "workloads": {
                "readwritemix": {"rw": "randrw", "rwmixread": 60, "filesize": "2G", "nrfiles": "10", "numjobs": 10},
                "_prepare": {"readwrite": "write", "loops": 1, "output-format": "terse", "bs": "1m"}
            }
        }"#;
        let request = job(body.as_bytes(), &GroupBook::default()).unwrap();
        let text = experiment(&request, Duration::from_secs(60)).unwrap();
        let cells = cells(&text);
        let keys = report::storperf_cell_keys(&cells);
        let expected = |name: &str| {
            let pairs = [("1", "4k"), ("8", "4k"), ("1", "16384"), ("8", "16384")];
            pairs.map(|(depth, size)| format!("{name}.queue-depth.{depth}.block-size.{size}"))
        };
        assert_eq!(keys[..4], expected("readwritemix"), "{text}");
        assert_eq!(keys[4..], expected("_prepare"), "{text}");
        let measured = &cells[1];
        let stream = measured.workload.stream().unwrap();
        assert_eq!((measured.workload.queue_depth, measured.workload.jobs), (8, 10));
        assert_eq!((stream.files.count, stream.files.bytes), (10, 2 << 30));
        assert_eq!((stream.ending.runtime_s, stream.ending.loops), (1800.0, 200));
        assert_eq!(stream.files.names.path("readwritemix", 3, 7), "/mnt/data/storperf.3.7");
        assert_eq!(measured.steady, SteadyRule::Storperf { sample_s: 60.0, samples: 5 });
        assert_eq!(cells[4].steady, SteadyRule::None, "preparations are not judged");
        assert_eq!(cells[4].workload.stream().unwrap().ending.runtime_s, 0.0);
        assert!(text.contains("me@203.0.113.1") && text.contains("me@[2001:db8::1]:2222"), "{text}");
    }

    #[test]
    fn an_initialization_covers_every_byte_of_every_file() {
        let body = json!({"slave_addresses": "203.0.113.1", "target": "/mnt/data", "filesize": "20M", "nrfiles": 10, "numjobs": 10});
        let request = initialization(body.to_string().as_bytes(), &GroupBook::default()).unwrap();
        let cells = cells(&experiment(&request, Duration::from_secs(60)).unwrap());
        let stream = cells[0].workload.stream().unwrap();
        assert_eq!((cells[0].workload.jobs, stream.files.count, stream.files.bytes), (10, 10, 20 << 20));
        assert_eq!(stream.region.size, experiment::Amount::Bytes(0), "all of the files");
        assert_eq!(stream.ending.loops, 0, "once");
        assert!(stream.pattern.random && !stream.pattern.with_repeats, "each block once");
    }

    #[test]
    fn a_device_is_used_as_a_whole_and_overwritten_only_by_an_initialization() {
        let body = json!({"slave_addresses": "203.0.113.1", "target": "/dev/vdb", "workload": "rr"});
        let request = job(body.to_string().as_bytes(), &GroupBook::default()).unwrap();
        let cells = cells(&experiment(&request, Duration::from_secs(60)).unwrap());
        let stream = cells[0].workload.stream().unwrap();
        assert_eq!(stream.files.names.listed, ["/dev/vdb"]);
        assert_eq!(request.job.overwrites(), None);
        let body = json!({"slave_addresses": "203.0.113.1", "target": "/dev/vdb"});
        let request = initialization(body.to_string().as_bytes(), &GroupBook::default()).unwrap();
        assert_eq!(request.job.overwrites(), Some("/dev/vdb"));
    }

    #[test]
    fn options_that_are_none_of_fios_are_named() {
        for (options, said) in [
            (json!({"rw": "sideways"}), "rw"),
            (json!({"parse-only": null}), "parse-only"),
            (json!({"zzz": 1}), "zzz"),
        ] {
            let body = json!({"slave_addresses": "a", "workloads": {"w": options}});
            let request = job(body.to_string().as_bytes(), &GroupBook::default()).unwrap();
            let problem = experiment(&request, Duration::from_secs(60)).unwrap_err();
            let view = serde_json::to_value(problem).unwrap();
            let detail = view["detail"].as_str().unwrap();
            assert!(
                detail.starts_with("Workload parameter validation failed") && detail.contains(said),
                "{detail}"
            );
        }
    }
}
