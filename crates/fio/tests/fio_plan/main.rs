//! Job files become plans: the effect of each option on the plan, contradictions, jobs that run together.
#![allow(clippy::unwrap_used)]

mod effects;
mod faults;
mod groups;
mod targets;

use experiment::{Cell, Job, Plan};
use fio::{Input, JobScript, Reading, Surroundings, Warning, plan, read};
use serde_json::Value;

/// Reads a job file called `jobs.fio`.
fn script(text: &str) -> JobScript {
    let reading = Reading {
        environment: &|_| None,
        include: &|_| Err(std::io::ErrorKind::NotFound.into()),
        page_bytes: 4096,
        memory_mib: 1024,
        cpus: 4,
        sections: &[],
        ignore_unsupported: false,
    };
    let (script, _) = read(&[Input::File { name: "jobs.fio", bytes: text.as_bytes() }], &reading)
        .unwrap_or_else(|faults| panic!("{text}\n{faults}"));
    script
}

/// The result of planning a job file: the plan, or the faults as they are shown.
fn planned(text: &str) -> Result<(Plan, Vec<Warning>), String> {
    let around = Surroundings {
        directory: "/work",
        cpus: 4,
        seed: 4711,
        read_file: &|name| Ok(name.as_bytes().to_vec()),
        open_directory: &|name| Ok(vec![format!("{name}/a"), format!("{name}/b")]),
    };
    plan(&script(text), &around).map_err(|faults| faults.to_string())
}

/// The plan of a job file without faults.
fn plan_of(text: &str) -> Plan {
    planned(text).unwrap_or_else(|faults| panic!("{text}\n{faults}")).0
}

/// The only cell of a job file.
fn cell_of(text: &str) -> Cell {
    let mut plan = plan_of(text);
    assert_eq!(plan.cells.len(), 1, "{text}");
    plan.cells.remove(0)
}

/// The job of a cell.
fn job(cell: &Cell) -> &Job {
    cell.workload.stream().unwrap()
}

/// The only cell of a job with these options, as JSON.
fn cell_json(options: &str) -> Value {
    serde_json::to_value(cell_of(&format!("[j]\n{}\n", options.replace("; ", "\n")))).unwrap()
}
