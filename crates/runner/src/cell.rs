//! One cell from its first contact with the target to its verdict.

use std::collections::BTreeSet;
use std::sync::Mutex;

use engine::Left;
use experiment::{Cell, ErrorPolicy, Prepare, SteadyRule};
use fleet::Act;
use host::load;
use metrics::ErrorKind;
use stats::SteadyOutcome;
use stats::limit::Probe;
use store::{CellResult, ErrorSample, StageRecord, State};

use super::bottleneck;
use super::cell_group::{CellGroup, StartSlot};
use super::cell_run::CellRun;
use super::context::{CellFailure, Context};
use super::data_sets::{self, DataSets, Ready};
use super::facts;
use super::fill;
use super::gates;
use super::hosts;
use super::job;
use super::measure::Measured;
use super::outcome;
use super::site::Site;
use super::study;
use super::verdict::{self, CellEvidence};
use super::verify::{VerifyOutcome, verify};

/// Maximum error examples kept.
const EXAMPLES: usize = 10;

/// How a cell ended.
#[derive(Clone, Debug)]
pub struct EndedCell {
    /// How far it got.
    pub state: State,
    /// What was measured.
    pub result: Option<CellResult>,
    /// Why it could not run.
    pub failure: Option<String>,
    /// The experiment's error policy ends the run with this cell.
    pub stops_run: bool,
    /// A host was lost, and the policy is not to continue without it.
    pub lost: bool,
}

impl EndedCell {
    /// A cell that ended early with this fault.
    pub fn early(cell: &Cell, fault: CellFailure) -> Self {
        let ended =
            |state, failure| EndedCell { state, result: None, failure, stops_run: false, lost: false };
        match fault {
            CellFailure::Interrupted => ended(State::Interrupted, None),
            CellFailure::Lost(failure) => EndedCell { lost: true, ..ended(State::Failed, Some(failure)) },
            CellFailure::Failed(failure) => EndedCell {
                stops_run: cell.errors == ErrorPolicy::Stop,
                ..ended(State::Failed, Some(failure))
            },
        }
    }
}

/// A cell whose load can start.
pub struct OpenedCell {
    site: Site,
    ready: Ready,
    stages: Vec<StageRecord>,
    /// Device numbers (stat(2)) of the devices on this host that hold a job's files.
    pub devices: BTreeSet<u64>,
}

/// Contacts the target and creates what the load needs.
///
/// # Errors
/// The target or data set cannot be opened or created, or a signal arrived.
pub fn open(context: &Context, data_sets: &mut DataSets, cell: &Cell) -> Result<OpenedCell, CellFailure> {
    if context.stop.is_requested() {
        return Err(CellFailure::Interrupted);
    }
    let site = Site::open(context, cell)?;
    data_sets.enter(context, cell, &site)?;
    let mut stages = Vec::new();
    let ready = data_sets.make_ready(context, cell, &site, &mut stages)?;
    if matches!(cell.stages.prepare, Prepare::Fill | Prepare::FillAlways) {
        stages.extend(fill::set(context, cell, &site)?);
    }
    let devices = match cell.workload.lays_out_files() && !site.lays_out_late() {
        true => job::lay_out(context, cell, &site, &mut stages)?,
        false => BTreeSet::new(),
    };
    Ok(OpenedCell { site, ready, stages, devices })
}

/// The load of a cell, measured once or several times.
struct CellLoad {
    measured: Measured,
    points: Vec<store::StudyPoint>,
    found: Option<f64>,
    failed: u64,
    stages: Vec<StageRecord>,
    interrupted: bool,
}

/// Runs the load of a cell, alongside the other cells of its group, and everything that follows. Any failure becomes
/// part of the returned value.
pub fn carry_out(
    context: &Context,
    data_sets: &Mutex<DataSets>,
    cell: &Cell,
    opening: OpenedCell,
    (group, start): (&CellGroup, StartSlot),
) -> EndedCell {
    let OpenedCell { site, ready, mut stages, .. } = opening;
    let mut run = CellRun { context, cell, site: &site, ready: &ready, group, start };
    let done = run.load_and_judge(data_sets, &mut stages);
    // A start slot that was not taken is released with it.
    drop(run);
    site.close(context);
    done.unwrap_or_else(|fault| {
        let ended = EndedCell::early(cell, fault);
        outcome::keep_failure(context, cell, ended.failure.as_deref());
        ended
    })
}

impl CellRun<'_> {
    fn load_and_judge(
        &mut self,
        data_sets: &Mutex<DataSets>,
        stages: &mut Vec<StageRecord>,
    ) -> Result<EndedCell, CellFailure> {
        let CellRun { context, cell, site, ready, .. } = *self;
        if cell.workload.lays_out_files() && site.lays_out_late() {
            job::lay_out(context, cell, site, stages)?;
        }
        let cache = match job::gives_up_pages(cell, site) {
            true => "dropped the cached pages of the job's files before the load".to_owned(),
            false => site.cache(context, cell.cache)?,
        };
        if load::writes(cell) || load::makes_or_removes(cell) {
            data_sets::lock(data_sets).about_to_change(context, cell);
        }
        if cell.workload.lays_out_files() {
            site.act(context, &Act::BeginJob)?;
        }
        let mut load = self.load()?;
        stages.append(&mut load.stages);
        let left = load.measured.result.left;
        let checked = self.after_load(&load, left, stages);
        data_sets::lock(data_sets).changed(context, cell, &ready.content, left);
        job::end(context, cell, site);
        let checked = checked?;
        // Last: the data that it overwrites is no longer needed.
        let probe = if load.interrupted { None } else { self.probe(&load.measured, data_sets, stages) };
        Ok(self.assemble(&load, &checked, std::mem::take(stages), cache, probe))
    }

    /// After the load: ends the group if the cell closes it, and verifies what was written.
    fn after_load(
        &self,
        load: &CellLoad,
        left: Left,
        stages: &mut Vec<StageRecord>,
    ) -> Result<VerifyOutcome, CellFailure> {
        let CellRun { cell, group, .. } = *self;
        let failed = load.measured.result.job.failures.first();
        let ends = |cell: &Cell| cell.group.is_some_and(|group| group.ends_group || group.ends_run);
        let errors_end = cell.workload.stream().is_some_and(|job| job.ending.errors.ends_group);
        if failed.is_some() && errors_end {
            group.close(cell.index);
        }
        let over = load.interrupted || failed.is_some() || group.closed_by(cell.index).is_some();
        let checked = if over || !cell.stages.verify {
            Ok(VerifyOutcome::default())
        } else {
            verify(self, left, stages)
        };
        if ends(cell) {
            group.close(cell.index);
        }
        checked
    }

    fn load(&mut self) -> Result<CellLoad, CellFailure> {
        let CellRun { context, cell, .. } = *self;
        let Some(study) = &cell.study else {
            let measured = self.measure()?;
            return Ok(CellLoad {
                stages: measured.stages(cell.stages.warm_up_s),
                failed: measured.failed(),
                interrupted: measured.interrupted,
                points: Vec::new(),
                found: None,
                measured,
            });
        };
        let mut found = study::carry_out(self, study)?;
        context.remark(cell, "study", &found.summary);
        let mut stages = found.best.stages(0.0);
        if let Some(stage) = stages.last_mut() {
            stage.note =
                Some(format!("{}; the figures are from one of {} trials", found.summary, found.points.len()));
        }
        found.best.steady.reason = found.summary;
        Ok(CellLoad {
            measured: found.best,
            points: found.points,
            found: found.rate,
            failed: found.failed,
            stages,
            interrupted: found.interrupted,
        })
    }

    fn assemble(
        &self,
        load: &CellLoad,
        checked: &VerifyOutcome,
        stages: Vec<StageRecord>,
        cache: String,
        probe: Option<Probe>,
    ) -> EndedCell {
        let CellRun { context, cell, site, .. } = *self;
        let measured = &load.measured;
        let open_loop = measured.open_loop();
        let by_host = site.facts_by_host(context);
        let limit = bottleneck::find(context, cell, (site, &by_host), measured, probe);
        let evidence = CellEvidence { limit: limit.clone(), ..self.evidence(load, checked) };
        let verdict = verdict::judge(cell, &measured.steady, &evidence);
        let mut gate_results = gates::judge(&cell.gates, &measured.figures);
        // Errors count wherever they happened.
        for (gate, result) in cell.gates.iter().zip(&mut gate_results) {
            if gate.metric == experiment::GateMetric::Errors && gate.op.is_none() {
                result.measured = load.failed as f64;
                result.passed = gates::holds(gate.comparison, result.measured, gate.limit);
            }
        }
        let mut samples = checked.samples.clone();
        samples.extend(measured.result.error_samples.iter().cloned());
        // Wrong data comes first: nothing else is worse.
        samples.sort_by_key(|(kind, _)| *kind != ErrorKind::Corrupt);
        let errors_ended_it = measured.ended_by_errors(cell.errors);
        let result = CellResult {
            measured_s: measured.seconds(),
            window_start_s: measured.window.start_s,
            window_end_s: measured.window.end_s,
            steady: steady(cell, &measured.steady),
            total: measured.figures.total.summary.clone(),
            ops: measured.figures.ops.iter().map(|figure| figure.summary.clone()).collect(),
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
            client: facts::client(measured),
            target: facts::target(context, &by_host, measured),
            points: load.points.clone(),
            found_ops_per_s: load.found,
            hosts: measured.hosts.clone(),
            fleet: hosts::evenness(&measured.hosts, measured.skew),
            // With several hosts, paths are listed per host.
            paths: if measured.hosts.is_empty() { measured.result.paths.clone() } else { Vec::new() },
            limit: limit.map(Box::new),
            server_calls: measured.server_calls.clone(),
        };
        outcome::keep(context, cell, measured, &result);
        if let Some(limit) = result.limit.as_ref().filter(|_| context.outcomes.is_some()) {
            // fio's output has no field for it.
            context.remark(cell, "limit", &format!("{}; next: {}", limit.sentence, limit.next));
        }
        let (state, failure) = match (errors_ended_it, load.interrupted) {
            (true, _) => (State::Failed, Some(evidence.errors_line())),
            (false, true) => (State::Interrupted, None),
            (false, false) => match job::failure(cell, measured) {
                Some(failure) => (State::Failed, Some(failure.text)),
                None => (State::Finished, None),
            },
        };
        let stops_run = cell.errors == ErrorPolicy::Stop && (errors_ended_it || load.failed > 0);
        EndedCell { state, result: Some(result), failure, stops_run, lost: false }
    }

    fn evidence(&self, load: &CellLoad, checked: &VerifyOutcome) -> CellEvidence {
        let CellRun { cell, site, group, .. } = *self;
        let measured = &load.measured;
        let result = &measured.result;
        let mut wrong_data = checked.wrong.clone();
        let (mut reads, mut others) = (0, 0);
        for (kind, stats) in &result.total.ops {
            let corrupt = stats.errors[ErrorKind::Corrupt as usize];
            *if kind.can_be_verified() { &mut reads } else { &mut others } += corrupt;
        }
        // Which host found it, if there are several.
        let detail = measured.parts.iter().find_map(|part| {
            let samples = &part.result.error_samples;
            let (_, detail) = samples.iter().find(|(kind, _)| *kind == ErrorKind::Corrupt)?;
            Some(if measured.parts.len() > 1 {
                format!(": {}: {detail}", part.name)
            } else {
                format!(": {detail}")
            })
        });
        let detail = detail.unwrap_or_default();
        match (reads, others) {
            (0, 0) => {}
            (reads, 0) => wrong_data.push(format!("{reads} reads returned wrong data{detail}")),
            (reads, others) => {
                let found = reads + others;
                wrong_data
                    .push(format!("{found} operations found wrong data, or not what must exist{detail}"));
            }
        }
        let mut doubts = Vec::new();
        if let Some(other) = group.closed_by(cell.index) {
            doubts.push(format!("ended early, together with cell {} of its group", other + 1));
        }
        for part in &measured.parts {
            if let Some(why) = &part.lost {
                doubts.push(format!(
                    "host {} was lost: {why}; from then on the figures cover the other hosts only",
                    part.name
                ));
            }
        }
        for server in &measured.servers {
            if let Some(why) = &server.lost {
                let (role, name) = (&server.role, &server.name);
                doubts.push(format!(
                    "{role} {name} is no longer observed: {why}; whether it was the limit is unknown"
                ));
            }
        }
        let followed = cell.workload.keeps_track() && load::writes(cell);
        if followed && !load.interrupted && result.left == Left::Unknown {
            doubts.push("written data could not be tracked: not all reads were compared".to_owned());
        }
        CellEvidence {
            ok: result.total.ok(),
            failed: load.failed,
            wrong_data,
            not_verified: checked.not_verified.clone().or_else(|| job::not_judged(cell, result)),
            error_limit_reached: result.error_limit_reached,
            example: result.error_samples.first().map(|(kind, detail)| format!("{kind}: {detail}")),
            interrupted: load.interrupted,
            bytes: result.total.bytes(),
            moved: result.before.bytes + result.total.bytes(),
            measured_s: measured.seconds(),
            abandoned: result.abandoned,
            unseen: result.unseen_intervals,
            longest_pause_ns: result.longest_pause_ns,
            limit: None,
            steal: measured.cores.iter().map(|core| core.steal).fold(0.0, f64::max),
            open_loop: measured.open_loop(),
            // The figures of a study are its points.
            uncertain: match cell.study {
                Some(_) => None,
                None => verdict::uncertain(&measured.figures.total.summary),
            },
            cacheable: site.uses_page_cache(),
            data_bytes: site.members(self.context).first().map_or(0, |member| site.bytes_of(*member)),
            cache_bytes: site.cache_bytes(),
            doubts,
        }
    }
}

/// A study's measurements have a fixed length and use no steady-state rule, whatever the cell's rule is.
fn steady(cell: &Cell, outcome: &SteadyOutcome) -> SteadyOutcome {
    let mut outcome = outcome.clone();
    if cell.study.is_none() && cell.steady == SteadyRule::None && outcome.reason.is_empty() {
        outcome.reason = "no steady-state rule: measured for its full length".to_owned();
    }
    outcome
}
