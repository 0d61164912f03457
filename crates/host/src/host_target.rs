//! A target opened on this host for one cell.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use drivers::path_mtu::{MtuResponder, path_mtu};
use engine::{ContentSummary, Control, DataSet, DataShape, StageError, StagePlan, StageResult};
use experiment::{Cell, Sharing};
use fleet::{Act, HostRefusal, LayOutStep, OpenOrder, Reply, SiteFacts, StageTask};
use metrics::Interval;
use targets::{Entered, FindingKind, LaidOut, LayOutStage, Look, OpenContext, OpenTarget, Patience};

use super::executor::refusal;
use crate::{environment, load, share, sparse_check};

/// A target, this host's part of its data, and what was done to it.
pub struct HostTarget {
    pub(super) cell: Cell,
    pub(super) seed: u64,
    pub(super) draws: u64,
    pub(super) own_cores: bool,
    /// Directory for dumps of damaged blocks.
    pub(super) directory: PathBuf,
    pub(super) reactor: reactor::BackendChoice,
    pub(super) patience: Patience,
    pub(super) opened: Box<dyn OpenTarget>,
    /// What this host fills and verifies.
    pub(super) own: DataSet,
    /// What this host loads.
    pub(super) loaded: DataSet,
    pub(super) laid_out: Mutex<LaidOut>,
    /// Answers path MTU probes, once requested.
    responder: Mutex<Option<MtuResponder>>,
    written: Mutex<ContentSummary>,
    /// The files or objects that the last stage wrote from scratch.
    new_data: Mutex<Option<DataSet>>,
}

impl HostTarget {
    /// Opens a target from this host's point of view.
    pub fn open(opening: &OpenOrder, context: &OpenContext, directory: &Path) -> Result<Self, HostRefusal> {
        let cell = (*opening.cell).clone();
        let reactor = opening
            .reactor
            .parse()
            .map_err(|error: reactor::UnknownBackend| HostRefusal::failed(error.to_string()))?;
        let opened = targets::open(&cell.target, &cell.workload, context).map_err(|error| refusal(&error))?;
        let sharing = opening.part.sharing;
        let churns = load::makes_or_removes(&cell) && sharing != Sharing::Own;
        if churns && !cell.workload.lays_out_files() {
            let text = format!(
                "workload {}: hosts that create or remove need places of their own; write `sharing: own`",
                cell.workload_name
            );
            return Err(HostRefusal { input: true, ..HostRefusal::failed(text) });
        }
        let workload = &cell.workload;
        let (own, loaded) = match opened.by_name() {
            Some(files) => share::by_name(files, opening.part, &cell)?,
            None => share::numbered(&*opened, workload, opening.part, load::writes(&cell)),
        };
        Ok(Self {
            seed: opening.seed,
            draws: opening.draws,
            own_cores: opening.own_cores,
            directory: directory.to_owned(),
            reactor,
            patience: opening.patience,
            opened,
            own,
            loaded,
            laid_out: Mutex::default(),
            responder: Mutex::default(),
            written: Mutex::default(),
            new_data: Mutex::default(),
            cell,
        })
    }

    /// The facts that the coordinator needs.
    pub fn facts(&self) -> SiteFacts {
        let kind = match self.own.shape() {
            DataShape::Files { .. } => "files",
            DataShape::Objects { .. } => "objects",
            DataShape::Device { .. } => "device",
        };
        SiteFacts {
            virtual_clock: self.opened.virtual_clock(),
            page_cache: self.opened.uses_page_cache(),
            lays_out_late: self.opened.lays_out_late(),
            kind: kind.to_owned(),
            objects: self.own.objects(),
            item_bytes: self.own.shape().item_bytes(),
            bytes: self.own.bytes(),
            cache_bytes: environment::cache_bytes(),
            connect_timeout_ns: u64::try_from(self.opened.connect_timeout(Duration::ZERO).as_nanos())
                .unwrap_or(u64::MAX),
        }
    }

    fn laid_out(&self) -> MutexGuard<'_, LaidOut> {
        self.laid_out.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the last measurement wrote.
    pub(super) fn written(&self) -> ContentSummary {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The data set that the last stage wrote from scratch, if any.
    pub(super) fn new_data(&self) -> Option<DataSet> {
        self.new_data.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Performs an action outside of measurements.
    pub fn act(&self, act: &Act) -> Result<Reply, HostRefusal> {
        let entered = |entered| Reply::Entered { new: entered == Entered::New };
        let told = |error| refusal(&error);
        match act {
            Act::Look => Ok(Reply::Looked(self.look())),
            Act::Prepare => self.opened.prepare().map(entered).map_err(told),
            Act::Adopt => self.opened.adopt().map(|()| entered(Entered::Existing)).map_err(told),
            Act::Inherit => self.opened.inherit().map(|()| Reply::Done).map_err(told),
            Act::RemoveAll => self.opened.remove_all().map(|()| Reply::Done).map_err(told),
            Act::CheckComplete { allocated } => {
                self.opened.check_complete(&self.own).map_err(told)?;
                // Files that exist are used as they are.
                let exist = self.opened.by_name().is_some_and(|files| !files.are_filled());
                if *allocated && !exist {
                    sparse_check::check(&*self.opened, &self.own)
                        .map_err(|error| HostRefusal::failed(error.to_string()))?;
                }
                Ok(Reply::Done)
            }
            Act::HeldGeneration => Ok(Reply::Generation(self.held_generation())),
            Act::Cache(wanted) => Ok(Reply::Said(self.opened.cache(*wanted))),
            Act::Facts => Ok(Reply::Facts(self.target_facts())),
            Act::LayOut => {
                let laid_out = self.opened.lay_out(&self.cell).map_err(told)?;
                let step =
                    |stage: &LayOutStage| LayOutStep { name: stage.name.to_owned(), bytes: stage.bytes };
                let steps = laid_out.stages.iter().map(step).collect();
                let devices = self.opened.devices(&laid_out);
                *self.laid_out() = laid_out;
                Ok(Reply::LaidOut { steps, devices })
            }
            Act::BeginJob => {
                self.opened.begin_job(&self.cell, &self.laid_out()).map(|()| Reply::Done).map_err(told)
            }
            Act::FinishJob => {
                self.opened.finish_job(&self.cell, &self.laid_out()).map(|()| Reply::Done).map_err(told)
            }
            Act::AnswerMtuProbes => {
                let responder = MtuResponder::bind(self.peer()?)
                    .map_err(|error| HostRefusal::failed(format!("probes of the path's MTU: {error}")))?;
                *self.responder.lock().unwrap_or_else(PoisonError::into_inner) = Some(responder);
                Ok(Reply::Done)
            }
            Act::ProbeMtu => {
                let found =
                    path_mtu(None, self.peer()?).map_err(|error| HostRefusal::failed(error.to_string()))?;
                Ok(Reply::PathMtu { bytes: found.bytes, believed_bytes: found.believed_bytes })
            }
            Act::Close => Ok(Reply::Done),
        }
    }

    /// The address of a `tcp://` target.
    fn peer(&self) -> Result<SocketAddr, HostRefusal> {
        let none = || HostRefusal::failed(format!("target {} is no peer over TCP", self.cell.target.name));
        self.opened.peer().ok_or_else(none)
    }

    fn target_facts(&self) -> BTreeMap<String, String> {
        let mut facts = self.opened.facts();
        if let Some((point, mount)) = self.opened.directory().and_then(environment::mount_of) {
            facts.insert("mount.point".into(), point);
            facts.insert("mount".into(), mount);
        }
        facts
    }

    /// Runs a stage.
    pub fn run(
        &self,
        task: &StageTask,
        plan: StagePlan,
        control: &Control,
        observer: &mut dyn FnMut(&Interval),
    ) -> Result<StageResult, StageError> {
        let result = match task {
            StageTask::LayOut { step } => {
                let laid_out = self.laid_out();
                let other = laid_out.stages.get(*step as usize).and_then(|stage| stage.opened.as_ref());
                other.unwrap_or(&self.opened).driver().run_stage(&plan, control, observer)?
            }
            _ => self.opened.driver().run_stage(&plan, control, observer)?,
        };
        match task {
            StageTask::Measure { .. } => {
                *self.written.lock().unwrap_or_else(PoisonError::into_inner) = result.written.clone();
            }
            StageTask::Write => {
                *self.new_data.lock().unwrap_or_else(PoisonError::into_inner) = Some(result.data_set.clone());
            }
            _ => {}
        }
        Ok(result)
    }

    /// The generation of the existing data: where the user named the files, that of all of them.
    fn held_generation(&self) -> Option<u32> {
        let payload = load::payload(&self.cell, self.seed);
        let held = |file| self.opened.held_generation(&payload, file);
        let Some(_) = self.opened.by_name() else { return held(self.own.first()) };
        let first = held(self.own.first())?;
        if !load::verifies(&self.cell) {
            return Some(first);
        }
        let mut others = self.own.sizes().skip(1);
        others.all(|(file, _)| held(file) == Some(first)).then_some(first)
    }

    /// What is learned about the target before anything is created or written.
    fn look(&self) -> Look {
        let look = self.opened.look(load::changes_target(&self.cell, self.opened.kind()));
        let Some(files) = self.opened.by_name().filter(|files| !files.are_filled()) else { return look };
        if look.findings.iter().any(|finding| finding.kind.is_fault()) {
            return look;
        }
        if load::verifies(&self.cell) && self.held_generation().is_none() {
            let text = format!(
                "workload {}: its files do not hold what this experiment writes, so nothing can be compared; next: write \
                 verify: false, or stages: {{prepare: fill}}, which overwrites them",
                self.cell.workload_name
            );
            return look.with(FindingKind::Misuse, text);
        }
        if files.are_of_tree() {
            return look;
        }
        match sparse_check::holes(&*self.opened, &files.data_set(files.numbers())) {
            Some(text) => look.with(FindingKind::Warning, text),
            None => look,
        }
    }

    /// Removes what this host created, unless it is to be kept.
    pub fn abandon(&self) -> Result<(), HostRefusal> {
        match self.cell.stages.clean_up {
            true => self.opened.remove_all().map_err(|error| refusal(&error)),
            false => Ok(()),
        }
    }
}
