//! What all cells of a run share, and the one place where a stage is run.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::{Control, StageContext};
use experiment::{Cell, FailurePolicy, Plan, Sharing, WITHOUT_LIMIT_S};
use fleet::{HostGroup, HostGroupResult, SiteId, StageRequest, StageTask, StageUpdate};
use host::load;
use metrics::Interval;
use reactor::clock;
use targets::Secrets;

use super::cell_group::CellGroup;
use super::host_group::HostGroupEvents;
use super::open_requests::OpenRequests;
use super::recorder::Recorder;
use super::samples::HostSamplers;
use super::site::Site;
use crate::bottleneck::{Alone, HostEvidence};
use crate::events::{Events, RunEvent};
use crate::job_outcome::{CellOutcome, DiskUse};
use crate::progress::Stage;
use crate::progress::{RunProgress, SharedProgress};
use crate::stop::StopToken;

/// What all cells of a run share.
pub struct Context {
    /// The journal: what was created and must be removed.
    pub run: provision::Run,
    /// The results file; cells that run at the same time share it.
    pub recorder: Mutex<Recorder>,
    /// The state of the run, for those who watch.
    pub progress: Arc<SharedProgress>,
    /// Whoever started the run and is told what happens.
    pub events: Arc<dyn Events>,
    /// Ends the run before its end.
    pub stop: StopToken,
    /// How the kernel is asked for I/O where the target does not say.
    pub reactor: reactor::BackendChoice,
    /// The device that may be overwritten.
    pub destroy: Option<PathBuf>,
    /// Where logs and dumps of jobs are written that name no directory.
    pub directory: PathBuf,
    /// What jobs found, for output that the results file is not enough for; `None`: nobody asks.
    pub outcomes: Option<Mutex<Vec<CellOutcome>>>,
    /// What the disks under the jobs' files did, once the run is over, if outcomes are kept.
    pub disks: Mutex<Vec<DiskUse>>,
    /// All cells.
    pub plan: Plan,
    /// The hosts that carry it out: this process alone, or agents.
    pub host_group: HostGroup,
    /// Their names, by their number.
    pub hosts: Vec<String>,
    /// What each can do by tests of it alone.
    pub alone: Vec<Alone>,
    /// Events of the hosts that are not in the results yet.
    pub host_group_events: Arc<HostGroupEvents>,
    /// Keys of targets.
    pub secrets: Arc<dyn Secrets>,
    /// Number of the next target that is opened.
    pub sites: AtomicU32,
}

/// Why a cell went no further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CellFailure {
    /// It cannot be run: one line that says why and what to do.
    Failed(String),
    /// A signal ended it.
    Interrupted,
    /// A host was lost, and the policy is not to go on without it; its name and why.
    Lost(String),
}

impl From<store::StoreError> for CellFailure {
    fn from(error: store::StoreError) -> Self {
        CellFailure::Failed(error.to_string())
    }
}

/// A stage of a cell, about to be run.
pub struct CellStage<'a> {
    /// Its cell.
    pub cell: &'a Cell,
    /// The target.
    pub site: &'a Site,
    /// `prepare`, `measure`, `verify`.
    pub name: &'static str,
    /// Which measurement of a study.
    pub trial: u32,
    /// What the hosts are to do, all together.
    pub request: StageRequest,
    /// The stages beside it: the common start, and who takes down every operation.
    pub beside: StageContext,
    /// The cells beside it; `None` when nothing runs beside this stage.
    pub group: Option<&'a CellGroup>,
    /// Who keeps what the hosts did meanwhile.
    pub witness: Option<&'a HostEvidence>,
    /// Who keeps the throughput of each host over time.
    pub samplers: Option<&'a HostSamplers>,
    /// Bytes that it will move in all, when that is known.
    pub bytes_expected: Option<u64>,
}

impl<'a> CellStage<'a> {
    /// A stage with nothing beside it.
    pub fn new(cell: &'a Cell, site: &'a Site, name: &'static str, request: StageRequest) -> Self {
        Self {
            cell,
            site,
            name,
            trial: 0,
            request,
            beside: StageContext::default(),
            group: None,
            witness: None,
            samplers: None,
            bytes_expected: None,
        }
    }

    /// A stage that goes over all the data once, alone.
    pub fn full_pass(cell: &'a Cell, site: &'a Site, name: &'static str, task: StageTask) -> Self {
        Self::new(cell, site, name, StageRequest::to_the_end(site.id, task))
    }

    /// What each host is to do: all that have the target open, or of a measurement those that the cell asks for. A rate is
    /// of all together.
    fn of_hosts(&self, context: &Context) -> Vec<(usize, StageRequest)> {
        let mut members = self.site.members(context);
        if matches!(self.request.task, StageTask::Measure { .. }) {
            members.truncate(self.cell.agents.map_or(usize::MAX, |agents| agents as usize));
        }
        let arrivals = load::share(&self.request.arrivals, members.len().max(1));
        let request = StageRequest { arrivals, ..self.request.clone() };
        members.into_iter().map(|member| (member, request.clone())).collect()
    }
}

impl Context {
    /// How hosts open targets.
    pub fn approach(&self) -> OpenRequests<'_> {
        OpenRequests {
            plan: &self.plan,
            host_group: &self.host_group,
            run: &self.run,
            reactor: self.reactor,
            destroy: self.destroy.as_deref(),
            secrets: &*self.secrets,
        }
    }

    /// The results file.
    pub fn recorder(&self) -> MutexGuard<'_, Recorder> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a stage on all hosts: shows it, keeps its intervals, and lets a signal end it. `each` sees every interval of all
    /// together and may change what is shown; it returns true to end the measurement after that interval.
    ///
    /// # Errors
    /// A host refuses, or a signal came before.
    pub fn stage(
        &self,
        stage: CellStage<'_>,
        each: &mut dyn FnMut(&Interval, &mut RunProgress) -> bool,
    ) -> Result<HostGroupResult, CellFailure> {
        if self.stop.is_requested() {
            return Err(CellFailure::Interrupted);
        }
        let cell = stage.cell.index as usize;
        let simulated = stage.site.virtual_clock();
        let StageRequest { warm_up_s, limit_s, .. } = stage.request;
        let measuring = stage.name == crate::stages::MEASURE;
        let at_most_s = Some(limit_s).filter(|limit| *limit < WITHOUT_LIMIT_S);
        let shown = |name: &str, began_ns: u64, at_most_s: Option<f64>| Stage {
            name: name.to_owned(),
            began_ns,
            at_most_s,
            simulated,
            bytes_expected: stage.bytes_expected,
            ..Stage::default()
        };
        let warming = measuring && warm_up_s > 0.0;
        let (first, most) = match warming {
            true => ("warm-up", Some(warm_up_s)),
            false => (stage.name, at_most_s),
        };
        self.progress.lock().begin_stage(Some(cell), shown(first, clock::now_ns(), most));
        if measuring || stage.trial == 0 {
            self.recorder().event(Some(stage.cell.index), "stage", format!("{first} begins"));
        }

        let control = Control::new();
        let governed = self.stop.governs(&control);
        let _listed = stage.group.map(|group| group.lists(stage.cell.index, &control));
        let seen = std::cell::Cell::new(None);
        let mut whole = |interval: &Interval| {
            let kept = self.recorder().interval(stage.cell.index, stage.name, stage.trial, interval);
            self.events.event(RunEvent::Interval {
                cell: stage.cell.index,
                stage: stage.name,
                trial: stage.trial,
                interval,
            });
            let mut model = self.progress.lock();
            if warming && seen.get().is_none() {
                let began_ns = clock::now_ns().saturating_sub(interval.length_ns);
                model.begin_stage(Some(cell), shown(stage.name, began_ns, at_most_s));
            }
            if measuring && seen.get().is_none() {
                governed.ends_well();
            }
            if seen.get().is_none() {
                seen.set(Some(clock::now_ns().saturating_sub(interval.length_ns)));
            }
            model.interval(cell, interval);
            if each(interval, &mut model) || !kept || (measuring && self.stop.is_requested()) {
                control.finish_after(interval.index);
            }
        };
        let mut observer = |one: StageUpdate<'_>| match one {
            StageUpdate::Whole(interval) => whole(interval),
            StageUpdate::Part { .. } | StageUpdate::Sample { .. } => {
                self.of_one_host(&stage, &one, seen.get())
            }
        };
        let done =
            self.host_group.run_stage(stage.of_hosts(self), stage.beside.clone(), &control, &mut observer);
        self.tell_of_host_group(Some(stage.cell.index));
        let result = done.map_err(|refusal| match refusal.stopped {
            true => CellFailure::Interrupted,
            false => CellFailure::Failed(refusal.text),
        })?;
        match result.parts.iter().find_map(|part| Some((part.member, part.lost.as_ref()?))) {
            Some((member, why)) if self.policy() != FailurePolicy::GoOn => {
                Err(CellFailure::Lost(self.of_host(member, why)))
            }
            _ => Ok(result),
        }
    }

    /// What one host did meanwhile, `since_ns` being when the measured window began.
    fn of_one_host(&self, stage: &CellStage<'_>, seen: &StageUpdate<'_>, since_ns: Option<u64>) {
        let (cell, names) = (stage.cell.index, &self.hosts);
        match seen {
            StageUpdate::Part { member, interval } if self.host_group.tells_hosts_apart() => {
                if let Some(samplers) = stage.samplers {
                    samplers.add(*member, interval);
                }
                self.recorder().host_interval(cell, stage.name, stage.trial, &names[*member], interval);
            }
            StageUpdate::Sample { member, sample } if stage.name == crate::stages::MEASURE => {
                if let Some(witness) = stage.witness {
                    witness.add(*member, sample);
                }
                if let Some(since_ns) = since_ns {
                    let at_ns = clock::now_ns().saturating_sub(since_ns);
                    self.recorder().sample(cell, &names[*member], at_ns, sample);
                }
            }
            _ => {}
        }
    }

    /// Number of the next target that is opened.
    pub fn next_site(&self) -> SiteId {
        self.sites.fetch_add(1, Ordering::Relaxed)
    }

    /// How hosts share the data.
    pub fn sharing(&self) -> Sharing {
        self.approach().sharing()
    }

    /// What happens when a host fails.
    pub fn policy(&self) -> FailurePolicy {
        self.plan.fleet.as_ref().map_or(FailurePolicy::GoOn, |fleet| fleet.on_failure)
    }

    /// A line about one host, with its name where there are several.
    pub fn of_host(&self, member: usize, text: &str) -> String {
        match self.host_group.tells_hosts_apart() {
            true => format!("{}: {text}", self.hosts[member]),
            false => text.to_owned(),
        }
    }

    /// Keeps what happened in the host group since the last time; it was said when it happened.
    pub fn tell_of_host_group(&self, cell: Option<u32>) {
        for event in self.host_group_events.take() {
            self.recorder().event(cell, event.kind, event.text);
        }
    }

    /// Says something about a cell, to people and in the results.
    pub fn remark(&self, cell: &Cell, kind: &str, text: &str) {
        self.recorder().event(Some(cell.index), kind, text);
        self.events.note(&format!("cell {} ({}): {text}", cell.index + 1, cell.name));
    }
}
