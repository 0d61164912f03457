//! What fio prints before a run: a line per job, the version, the number of jobs started; with `--client` each line
//! once per host.

use experiment::{Cell, Directions, Job, Plan, SizeChoice, bare_host};
use metrics::OpDirection;

use super::super::json::FIO_VERSION;
use super::super::numbers::{NumberUnit, short};

/// The lines; clones after the first are shown as three dots, as in fio.
pub fn prelude(plan: &Plan) -> String {
    let mut text = String::new();
    let mut last: Option<(String, bool)> = None;
    let mut jobs = 0;
    for cell in &plan.cells {
        let Some(job) = cell.workload.stream() else { continue };
        jobs += cell.workload.jobs;
        let line = line(cell, job);
        let clone = matches!(&last, Some((before, _)) if *before == line && job.first_number > 0);
        if !clone {
            text.push_str(&line);
        }
        let dotted = clone && matches!(last, Some((_, true)));
        let several = clone || cell.workload.jobs > 1;
        if several && !dotted {
            text.push_str("...\n");
        }
        last = Some((line, several));
    }
    let word = if jobs == 1 { "process" } else { "processes" };
    let starting = format!("Starting {jobs} {word}\n");
    match plan.fleet.as_ref().and_then(|fleet| fleet.host_names()) {
        None => format!("{text}{FIO_VERSION}\n{starting}"),
        Some(hosts) => of_each(&hosts, &format!("{text}{starting}")),
    }
}

/// Repeats each line of a text for each host, prefixed with its name.
fn of_each(hosts: &[String], text: &str) -> String {
    let lines = text.lines().flat_map(|line| hosts.iter().map(move |host| (host, line)));
    lines.map(|(host, line)| format!("<{}> {line}\n", bare_host(host))).collect()
}

fn line(cell: &Cell, job: &Job) -> String {
    let group = job.report.group.or(cell.group.map(|group| group.number)).unwrap_or(cell.index);
    let Directions { read, write, trim } = &job.block_sizes.sizes;
    let sizes: Vec<String> = [("R", read), ("W", write), ("T", trim)]
        .iter()
        .map(|(name, choice)| format!("({name}) {}", sizes(choice)))
        .collect();
    let depth = if job.report.depth > 0 { job.report.depth } else { cell.workload.queue_depth };
    let engine = match job.report.engine.as_str() {
        "" => cell.target.option("engine").unwrap_or("psync"),
        named => named,
    };
    format!(
        "{}: (g={group}): rw={}, bs={}, ioengine={engine}, iodepth={depth}\n",
        job.name,
        pattern(cell, job),
        sizes.join(", "),
    )
}

fn sizes(choice: &SizeChoice) -> String {
    let bytes = |bytes: u64| short(bytes, 4, true, NumberUnit::Bytes);
    format!("{}-{}", bytes(choice.least()), bytes(choice.most()))
}

/// The value of `rw=` for these operations.
pub fn pattern(cell: &Cell, job: &Job) -> String {
    let does = |direction| cell.workload.does(|op| op.traits().direction == Some(direction));
    let (read, write, trim) = (does(OpDirection::Read), does(OpDirection::Write), does(OpDirection::Trim));
    let name = match (read, write, trim) {
        _ if job.pattern.trim_then_write => "trimwrite",
        (true, true, _) => "rw",
        (true, false, _) => "read",
        (false, true, _) => "write",
        (false, false, _) => "trim",
    };
    if job.pattern.random { format!("rand{name}") } else { name.to_owned() }
}
