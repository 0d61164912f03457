//! State shared by all cells of a run, and the one place that runs a stage.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::{Control, StageContext};
use experiment::{Cell, FailurePolicy, Plan, Sharing, WITHOUT_LIMIT_S};
use fleet::launch::SshLogin;
use fleet::{HostGroup, HostGroupResult, SiteId, StageRequest, StageTask, StageUpdate};
use host::load;
use metrics::Interval;
use reactor::clock;
use targets::Secrets;

use super::accounting::StartedProfiles;
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
use crate::servers::{ServerWatch, Servers};
use crate::stop::StopToken;

/// State shared by all cells of a run.
pub struct Context {
    /// The journal: what was created and must be removed.
    pub run: provision::Run,
    /// The results file; cells that run at the same time share it.
    pub recorder: Mutex<Recorder>,
    /// The state of the run, for observers.
    pub progress: Arc<SharedProgress>,
    /// The observer that receives the run's events.
    pub events: Arc<dyn Events>,
    /// Ends the run early.
    pub stop: StopToken,
    /// How to submit I/O to the kernel where the target does not say.
    pub reactor: reactor::BackendChoice,
    /// Devices and files that may be overwritten even if they hold data.
    pub destroy: Vec<PathBuf>,
    /// Directory for job logs and dumps whose paths name none.
    pub directory: PathBuf,
    /// Results of jobs, for output that needs more than the results file holds; `None`: not requested.
    pub outcomes: Option<Mutex<Vec<CellOutcome>>>,
    /// What the disks under the jobs' files did; filled at the end of the run if outcomes are kept.
    pub disks: Mutex<Vec<DiskUse>>,
    /// All cells.
    pub plan: Plan,
    /// The hosts that carry it out: this process, or agents.
    pub host_group: HostGroup,
    /// The observed hosts of the server, if any.
    pub servers: Option<Servers>,
    /// Host names, by host number.
    pub hosts: Vec<String>,
    /// Each host's standalone limits.
    pub alone: Vec<Alone>,
    /// Host events that are not in the results yet.
    pub host_group_events: Arc<HostGroupEvents>,
    /// Credentials of targets.
    pub secrets: Arc<dyn Secrets>,
    /// How to log in by ssh.
    pub login: SshLogin,
    /// Profiles of volumes that the run started.
    pub started_profiles: StartedProfiles,
    /// Number of the next target to open.
    pub sites: AtomicU32,
}

/// Why a cell ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CellFailure {
    /// It cannot run: one line that says why and what to do.
    Failed(String),
    /// A signal ended it.
    Interrupted,
    /// A host was lost, and the policy is not to continue without it; the host's name and the reason.
    Lost(String),
}

impl From<store::StoreError> for CellFailure {
    fn from(error: store::StoreError) -> Self {
        CellFailure::Failed(error.to_string())
    }
}

impl From<experiment::HostValueError> for CellFailure {
    fn from(error: experiment::HostValueError) -> Self {
        CellFailure::Failed(error.to_string())
    }
}

/// A stage of a cell, about to be run.
pub struct CellStage<'a> {
    /// The cell.
    pub cell: &'a Cell,
    /// The target.
    pub site: &'a Site,
    /// `prepare`, `measure`, `verify`.
    pub name: &'static str,
    /// Number of the measurement in a study.
    pub trial: u32,
    /// The request to all hosts together.
    pub request: StageRequest,
    /// What runs alongside: the common start and the recorder of every operation.
    pub beside: StageContext,
    /// The other cells of the group; `None` when nothing runs alongside this stage.
    pub group: Option<&'a CellGroup>,
    /// Collects samples of the hosts during the stage.
    pub witness: Option<&'a HostEvidence>,
    /// Watches the server's hosts during the stage.
    pub servers: Option<&'a ServerWatch>,
    /// Collects each host's throughput over time.
    pub samplers: Option<&'a HostSamplers>,
    /// Total bytes it will move, if known.
    pub bytes_expected: Option<u64>,
}

impl<'a> CellStage<'a> {
    /// A stage with nothing alongside it.
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
            servers: None,
            samplers: None,
            bytes_expected: None,
        }
    }

    /// A stage that passes over all the data once, alone.
    pub fn full_pass(cell: &'a Cell, site: &'a Site, name: &'static str, task: StageTask) -> Self {
        Self::new(cell, site, name, StageRequest::to_the_end(site.id, task))
    }

    /// The request to each host: all that have the target open, or for a measurement those that the cell asks for. A
    /// rate is the total over all hosts.
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
            destroy: &self.destroy,
            secrets: &*self.secrets,
        }
    }

    /// The results file.
    pub fn recorder(&self) -> MutexGuard<'_, Recorder> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a stage on all hosts: shows it, keeps its intervals, and lets a signal end it. `each` sees every combined
    /// interval and may change what is shown; it returns true to end the measurement after that interval.
    ///
    /// # Errors
    /// A host refuses, or a signal arrived first.
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
            // Shown before it is kept or told: who has seen an interval finds its stage under way.
            let mut model = self.progress.lock();
            if warming && seen.get().is_none() {
                let began_ns = clock::now_ns().saturating_sub(interval.length_ns);
                model.begin_stage(Some(cell), shown(stage.name, began_ns, at_most_s));
            }
            model.interval(cell, interval);
            drop(model);
            let kept = self.recorder().interval(stage.cell.index, stage.name, stage.trial, interval);
            self.events.event(RunEvent::Interval {
                cell: stage.cell.index,
                stage: stage.name,
                trial: stage.trial,
                interval,
            });
            if measuring && seen.get().is_none() {
                governed.ends_well();
            }
            if seen.get().is_none() {
                seen.set(Some(clock::now_ns().saturating_sub(interval.length_ns)));
            }
            if let Some(servers) = stage.servers {
                servers.interval(interval);
                self.keep_server_samples(stage.cell, servers, seen.get());
            }
            let ended = each(interval, &mut self.progress.lock());
            if ended || !kept || (measuring && self.stop.is_requested()) {
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
        if let Some(servers) = stage.servers {
            self.keep_server_samples(stage.cell, servers, seen.get());
        }
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

    /// Records one host's part; `since_ns` is when the measured window began.
    fn of_one_host(&self, stage: &CellStage<'_>, seen: &StageUpdate<'_>, since_ns: Option<u64>) {
        let (cell, names) = (stage.cell.index, &self.hosts);
        match seen {
            StageUpdate::Part { member, interval } if self.host_group.tells_hosts_apart() => {
                if let Some(samplers) = stage.samplers {
                    samplers.add(*member, interval);
                }
                let host = &names[*member];
                self.recorder().host_interval(cell, stage.name, stage.trial, host, interval);
                let (stage, trial) = (stage.name, stage.trial);
                self.events.event(RunEvent::HostInterval { cell, stage, trial, host, interval });
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

    /// Stores the servers' samples since the last call that were taken since the measured window began.
    fn keep_server_samples(&self, cell: &Cell, servers: &ServerWatch, since_ns: Option<u64>) {
        let Some(since_ns) = since_ns else { return };
        for taken in servers.take().into_iter().filter(|taken| taken.at_ns >= since_ns) {
            self.recorder().server_sample(cell.index, &taken.name, taken.at_ns - since_ns, &taken.sample);
        }
    }

    /// Number of the next target to open.
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

    /// A line about one host, with its name if there are several.
    pub fn of_host(&self, member: usize, text: &str) -> String {
        match self.host_group.tells_hosts_apart() {
            true => format!("{}: {text}", self.hosts[member]),
            false => text.to_owned(),
        }
    }

    /// Records the host group's events since the last call. They were already reported when they happened.
    pub fn tell_of_host_group(&self, cell: Option<u32>) {
        for event in self.host_group_events.take() {
            self.recorder().event(cell, event.kind, event.text);
        }
    }

    /// Reports something about a cell, to the user and in the results.
    pub fn remark(&self, cell: &Cell, kind: &str, text: &str) {
        self.recorder().event(Some(cell.index), kind, text);
        self.events.note(&format!("cell {} ({}): {text}", cell.index + 1, cell.name));
    }
}
