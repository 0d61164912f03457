//! A run as text: a description, its cells one by one, the environment.

use anyhow::Result;
use report::Headline;
use store::{CellRecord, RunRecord, StageKey, State, Store};

use super::cell;
use crate::results::words;

/// The whole run, or everything known about one cell.
///
/// # Errors
/// The file cannot be read.
pub fn text(store: &Store, run: &RunRecord, only: Option<u32>, width: usize) -> Result<String> {
    let cells = store.cells(&run.id)?;
    let mut out = head(run, &cells);
    if let Some(headline) = Headline::of_several(run, &cells).filter(|_| only.is_none()) {
        out.push_str(&format!("\n{}", headline.text(width)));
    }
    for record in cells.iter().filter(|record| only.is_none_or(|only| only == record.index)) {
        out.push('\n');
        let planned = run.planned(record.index);
        out.push_str(&cell::block(record, planned, only.is_some(), width));
        if only.is_some() {
            let kept = kept(&store.stages(&run.id, record.index)?);
            if !kept.is_empty() {
                out.push_str(&format!("  intervals kept: {kept}\n"));
            }
        }
    }
    let events = store.events(&run.id)?;
    // Every run has stage events; they are only of interest when looking at one cell.
    let told = events.iter().filter(|event| match only {
        None => event.kind != "stage",
        Some(cell) => event.cell == Some(cell),
    });
    let lines: Vec<String> = told.map(cell::event).collect();
    if !lines.is_empty() {
        out.push_str(&format!("\nEvents\n{}", lines.concat()));
    }
    if !run.environment.facts.is_empty() {
        out.push_str("\nEnvironment\n");
        for (name, value) in &run.environment.facts {
            out.push_str(&format!("  {name}: {}\n", words::plain(value)));
        }
    }
    for host in &run.hosts {
        out.push_str(&format!("\nHost {}\n", words::plain(&host.name)));
        for (name, value) in &host.environment.facts {
            out.push_str(&format!("  {name}: {}\n", words::plain(value)));
        }
    }
    Ok(out)
}

/// `12 prepare, 1100 measure (11 trials)`
fn kept(stages: &[StageKey]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for key in stages {
        if !names.contains(&key.stage.as_str()) {
            names.push(&key.stage);
        }
    }
    let texts = names.iter().map(|name| {
        let of_stage = || stages.iter().filter(|key| key.stage == *name);
        let intervals: u64 = of_stage().map(|key| u64::from(key.intervals)).sum();
        match of_stage().count() {
            1 => format!("{intervals} {name}"),
            trials => format!("{intervals} {name} ({trials} trials)"),
        }
    });
    texts.collect::<Vec<_>>().join(", ")
}

fn head(run: &RunRecord, cells: &[CellRecord]) -> String {
    let done = cells.iter().filter(|cell| cell.state == State::Finished).count();
    let mut out = format!("Run {} of {}: {}", run.id, words::plain(&run.name), words::state(run.state));
    out.push_str(&format!(", {done} of {} cells\n", cells.len()));
    out.push_str(&format!("  began {}", words::moment(run.started)));
    if let Some(finished) = run.finished {
        let took = finished.duration_since(run.started).as_secs_f64();
        out.push_str(&format!(", took {}", words::seconds(took)));
    }
    out.push_str(&format!("; manometer {}, seed {}\n", run.version, run.plan.seed));
    if let Some(description) = &run.plan.description {
        out.push_str(&format!("  {}\n", words::plain(description)));
    }
    out
}
