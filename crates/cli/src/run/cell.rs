//! One cell from its first contact with the target to its judgement.

use std::collections::BTreeMap;

use engine::{Workload, Written};
use experiment::{Arrivals, CacheControl, Cell, ErrorPolicy, SteadyRule};
use metrics::ErrorKind;
use stats::SteadyOutcome;
use store::{CellResult, ErrorSample, StageRecord, State};

use super::context::{Context, Fault, Order};
use super::gates;
use super::ground::{self, Content, Ground, Ready};
use super::load;
use super::measure::{Measured, Task, measure};
use super::study;
use super::verdict::{self, Evidence};
use crate::target::Opened;

/// Examples of errors that are kept.
const EXAMPLES: usize = 10;

/// What became of a cell.
#[derive(Clone, Debug)]
pub struct Ended {
    /// How far it came.
    pub state: State,
    /// What was measured.
    pub result: Option<CellResult>,
    /// Why it could not be run.
    pub failure: Option<String>,
    /// The experiment's policy on errors ends the run with it.
    pub stops_run: bool,
}

/// Carries a cell out. Whatever fails becomes part of what is returned.
pub fn carry_out(context: &mut Context, ground: &mut Ground, cell: &Cell) -> Ended {
    let ended = |state, failure| Ended { state, result: None, failure, stops_run: false };
    match attempt(context, ground, cell) {
        Ok(done) => done,
        Err(Fault::Interrupted) => ended(State::Interrupted, None),
        Err(Fault::Failed(failure)) => {
            Ended { stops_run: cell.errors == ErrorPolicy::Stop, ..ended(State::Failed, Some(failure)) }
        }
    }
}

fn attempt(context: &mut Context, ground: &mut Ground, cell: &Cell) -> Result<Ended, Fault> {
    if context.interrupt.arrived_already() {
        return Err(Fault::Interrupted);
    }
    let opened = ground::open(context, &cell.target, &cell.workload, context.draws(cell))?;
    ground.enter(context, cell, &opened)?;
    let mut stages = Vec::new();
    let ready = ground.make_ready(context, cell, &opened, &mut stages)?;
    let cache = opened.cache(cell.cache);
    if load::writes(cell) {
        ground.about_to_change(context, cell);
    }
    let mut load = run_load(context, cell, &opened, &ready)?;
    ground.changed(context, cell, &ready.content, &load.measured.result.written);
    stages.append(&mut load.stages);
    let mut checked = Checked::default();
    if cell.stages.verify && !load.interrupted {
        checked = verify(context, cell, &opened, &ready, &load.measured.result.written, &mut stages)?;
    }
    Ok(assemble(context, cell, &opened, load, checked, stages, cache))
}

/// The load of a cell, measured once or several times.
struct Load {
    measured: Measured,
    arrivals: Arrivals,
    points: Vec<store::StudyPoint>,
    found: Option<f64>,
    failed: u64,
    stages: Vec<StageRecord>,
    interrupted: bool,
}

fn run_load(context: &mut Context, cell: &Cell, opened: &Opened, ready: &Ready) -> Result<Load, Fault> {
    let Some(study) = &cell.study else {
        let measured = measure(context, &Task::of_cell(cell, opened, ready))?;
        return Ok(Load {
            stages: measured.stages(cell.stages.warm_up_s),
            failed: measured.failed(),
            interrupted: measured.interrupted,
            arrivals: cell.workload.arrivals.clone(),
            points: Vec::new(),
            found: None,
            measured,
        });
    };
    let mut found = study::carry_out(context, cell, study, opened, ready)?;
    context.remark(cell, "study", &found.summary);
    let mut stages = found.best.stages(0.0);
    if let Some(stage) = stages.last_mut() {
        stage.note =
            Some(format!("{}; the figures are of one of {} trials", found.summary, found.points.len()));
    }
    found.best.steady.reason = found.summary;
    Ok(Load {
        measured: found.best,
        arrivals: found.best_arrivals,
        points: found.points,
        found: found.rate,
        failed: found.failed,
        stages,
        interrupted: found.interrupted,
    })
}

/// What verification found.
#[derive(Debug, Default)]
struct Checked {
    wrong: Vec<String>,
    not_verified: Option<String>,
    samples: Vec<(ErrorKind, String)>,
}

/// Reads everything once and compares it with what was acknowledged.
fn verify(
    context: &mut Context,
    cell: &Cell,
    opened: &Opened,
    ready: &Ready,
    written: &Written,
    stages: &mut Vec<StageRecord>,
) -> Result<Checked, Fault> {
    // Without writes of its own the load left what was there.
    let written = match (&ready.content, load::writes(cell)) {
        (Content::Uniform(generation), false) => Written::uniform(*generation),
        _ => written.clone(),
    };
    if !written.is_known() {
        let why = "what was written could not be followed: nothing was verified".to_owned();
        return Ok(Checked { not_verified: Some(why), ..Checked::default() });
    }
    // What this client's memory holds would say nothing of the storage.
    let caches = match opened.uses_page_cache() {
        true => format!("; before: {}", opened.cache(CacheControl::Invalidate)),
        false => String::new(),
    };
    let data_set = ready.data_set.clone();
    let block_bytes = load::verify_block(cell, data_set.shape().item_bytes());
    let bytes_expected = Some(data_set.bytes());
    let workload = Workload::Check { data_set, block_bytes, written };
    let mut plan = load::mass(cell, workload, opened.reactor(context.reactor), context.seed);
    // Everything is looked at, however much of it is wrong.
    plan.error_limit = None;
    let order = Order { cell, opened, name: super::VERIFY, trial: 0, plan: &plan, bytes_expected };
    let result = match context.stage(&order, &mut |_, _| false) {
        Ok(result) => result,
        Err(Fault::Interrupted) => {
            let why = "interrupted before what was written was verified".to_owned();
            return Ok(Checked { not_verified: Some(why), ..Checked::default() });
        }
        Err(fault) => return Err(fault),
    };
    let counts = result.checked;
    let mut record = StageRecord {
        name: super::VERIFY.into(),
        seconds: result.window_ns as f64 / 1e9,
        ok: result.total.ok(),
        failed: result.total.failed(),
        bytes: result.total.bytes(),
        note: Some(format!(
            "{} blocks right, {} wrong, {} unread, {} uncertain after failed writes{caches}",
            counts.right, counts.wrong, counts.unread, counts.uncertain
        )),
    };
    let mut checked = Checked { samples: result.error_samples.clone(), ..Checked::default() };
    if counts.wrong > 0 {
        let places = result.corrupt.iter().map(|range| {
            format!(
                "object {:016x}, bytes {} to {}: {}",
                range.object,
                range.offset,
                range.offset + range.len,
                range.detail
            )
        });
        let first: Vec<String> = places.take(3).collect();
        checked.wrong.push(format!(
            "verification: {} blocks do not hold what was written: {}",
            counts.wrong,
            first.join("; ")
        ));
    }
    if counts.unread > 0 {
        checked.wrong.push(format!("verification: {} blocks could not be read", counts.unread));
    }
    if result.stopped || !result.exhausted {
        record.note = Some("ended before its end".into());
        checked.not_verified = Some("verification was ended before its end".into());
    }
    stages.push(record);
    Ok(checked)
}

fn assemble(
    context: &mut Context,
    cell: &Cell,
    opened: &Opened,
    load: Load,
    checked: Checked,
    stages: Vec<StageRecord>,
    cache: String,
) -> Ended {
    let measured = &load.measured;
    let open_loop = measured.open_loop(&load.arrivals);
    let evidence = evidence(context, cell, opened, &load, &checked);
    let verdict = verdict::judge(cell, &measured.steady, &evidence);
    let mut gate_results = gates::judge(&cell.gates, &measured.figures);
    // Errors are counted wherever they happened.
    for (gate, result) in cell.gates.iter().zip(&mut gate_results) {
        if gate.metric == experiment::GateMetric::Errors && gate.op.is_none() {
            result.measured = load.failed as f64;
            result.passed = gates::holds(gate.comparison, result.measured, gate.limit);
        }
    }
    let mut samples = checked.samples;
    samples.extend(measured.result.error_samples.iter().cloned());
    // What is wrong with the data comes first: it is the worst that can be found.
    samples.sort_by_key(|(kind, _)| *kind != ErrorKind::Corrupt);
    let errors_ended_it = measured.ended_by_errors(cell.errors);
    let result = CellResult {
        measured_s: measured.seconds(),
        window_start_s: measured.window.start_s,
        window_end_s: measured.window.end_s,
        steady: steady(cell, &measured.steady),
        total: measured.figures.total.result.clone(),
        ops: measured.figures.ops.iter().map(|figure| figure.result.clone()).collect(),
        open_loop,
        stages,
        gates: gate_results,
        verdict,
        error_samples: samples
            .into_iter()
            .take(EXAMPLES)
            .map(|(kind, detail)| ErrorSample { kind, detail })
            .collect(),
        cache,
        client: client(measured),
        target: target_facts(opened, measured),
        points: load.points,
        found_ops_per_s: load.found,
    };
    let (state, failure) = match (errors_ended_it, load.interrupted) {
        (true, _) => (State::Failed, Some(evidence.errors_line())),
        (false, true) => (State::Interrupted, None),
        (false, false) => (State::Finished, None),
    };
    let stops_run = cell.errors == ErrorPolicy::Stop && (errors_ended_it || load.failed > 0);
    Ended { state, result: Some(result), failure, stops_run }
}

/// A study's measurements have a fixed length: their rule is none, whatever the cell's is.
fn steady(cell: &Cell, outcome: &SteadyOutcome) -> SteadyOutcome {
    let mut outcome = outcome.clone();
    if cell.study.is_none() && cell.steady == SteadyRule::None && outcome.reason.is_empty() {
        outcome.reason = "no rule: measured for its full length".to_owned();
    }
    outcome
}

fn evidence(context: &Context, cell: &Cell, opened: &Opened, load: &Load, checked: &Checked) -> Evidence {
    let measured = &load.measured;
    let result = &measured.result;
    let mut wrong_data = checked.wrong.clone();
    let corrupt: u64 =
        result.total.ops.iter().map(|(_, stats)| stats.errors[ErrorKind::Corrupt as usize]).sum();
    let sample_of = |kind: ErrorKind| {
        result.error_samples.iter().find(|(other, _)| *other == kind).map(|(_, detail)| detail.clone())
    };
    if corrupt > 0 {
        let detail = sample_of(ErrorKind::Corrupt).map_or_else(String::new, |detail| format!(": {detail}"));
        wrong_data.push(format!("{corrupt} reads did not give what was written{detail}"));
    }
    let mut doubts = Vec::new();
    if cell.workload.verify && load::writes(cell) && !load.interrupted && !result.written.is_known() {
        doubts.push("what was written could not be followed: reads were not all compared".to_owned());
    }
    Evidence {
        ok: result.total.ok(),
        failed: load.failed,
        wrong_data,
        not_verified: checked.not_verified.clone(),
        error_limit_reached: result.error_limit_reached,
        example: result.error_samples.first().map(|(kind, detail)| format!("{kind}: {detail}")),
        interrupted: load.interrupted,
        bytes: result.total.bytes(),
        moved: result.before.bytes + result.total.bytes(),
        measured_s: measured.seconds(),
        abandoned: result.abandoned,
        unseen: result.unseen_intervals,
        busiest_worker: busiest_worker(measured, opened),
        busiest_core: measured.cores.iter().map(|core| core.busy).reduce(f64::max),
        steal: measured.cores.iter().map(|core| core.steal).fold(0.0, f64::max),
        open_loop: measured.open_loop(&load.arrivals),
        cacheable: opened.uses_page_cache(),
        cache_bytes: context.cache_bytes,
        doubts,
    }
}

fn busiest_worker(measured: &Measured, opened: &Opened) -> Option<f64> {
    let window = measured.result.window_ns;
    if opened.virtual_clock() || window == 0 {
        return None;
    }
    measured.result.worker_cpu_ns.iter().max().map(|most| *most as f64 / window as f64)
}

/// The client while it measured.
fn client(measured: &Measured) -> BTreeMap<String, f64> {
    let result = &measured.result;
    let mut client = BTreeMap::new();
    let mut keep = |name: &str, value: f64| client.insert(name.to_owned(), value);
    if let Some(busiest) = measured.cores.iter().map(|core| core.busy).reduce(f64::max) {
        keep("cpu.busiest", busiest);
        let mean = measured.cores.iter().map(|core| core.busy).sum::<f64>() / measured.cores.len() as f64;
        keep("cpu.mean", mean);
        keep("cpu.steal", measured.cores.iter().map(|core| core.steal).fold(0.0, f64::max));
        let window = result.window_ns.max(1) as f64;
        let most = result.worker_cpu_ns.iter().max().copied().unwrap_or(0);
        keep("cpu.workers", most as f64 / window);
        let all: u64 = result.worker_cpu_ns.iter().sum();
        keep("cpu.workers.total", all as f64 / window);
    }
    keep("in-flight-at-end", result.in_flight_at_end as f64);
    keep("abandoned", result.abandoned as f64);
    keep("unseen-intervals", result.unseen_intervals as f64);
    keep("start-skew.ns", result.start_skew_ns as f64);
    if !result.facts.connections.is_empty() {
        let resent: u64 = result.facts.connections.iter().map(|connection| connection.retransmits).sum();
        keep("net.connections", result.facts.connections.len() as f64);
        keep("net.retransmits", (resent + result.facts.closed_retransmits) as f64);
        keep("net.reconnects", result.facts.reconnects as f64);
        keep("net.late-replies", result.facts.late_replies as f64);
    }
    client
}

/// The target, as its driver knows it.
fn target_facts(opened: &Opened, measured: &Measured) -> BTreeMap<String, String> {
    let mut facts = opened.facts();
    let backend = match measured.result.backend {
        reactor::Backend::Uring => "io_uring",
        reactor::Backend::Epoll => "epoll",
        reactor::Backend::Simulated => "simulated",
    };
    facts.insert("reactor".into(), backend.into());
    if let Some(refusal) = &measured.result.refusal {
        facts.insert("reactor.refusal".into(), refusal.clone());
    }
    if let Some(nic) = measured
        .result
        .facts
        .connections
        .first()
        .and_then(|connection| crate::client::nic_of(connection.local.ip()))
    {
        facts.insert("nic".into(), nic.name);
        if let Some(speed) = nic.speed_mbit {
            facts.insert("nic.speed".into(), format!("{speed} Mbit/s"));
        }
        if let Some(mtu) = nic.mtu {
            facts.insert("nic.mtu".into(), mtu.to_string());
        }
    }
    if let Some((point, mount)) = opened.directory().and_then(super::environment::mount_of) {
        facts.insert("mount.point".into(), point);
        facts.insert("mount".into(), mount);
    }
    facts
}
