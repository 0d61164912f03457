//! Executors for the tests' agents.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use drivers::null::NullDriver;
use drivers::sim::{SimConfig, SimDriver};
use drivers::{Payload, Sink};
use engine::{
    Control, Schedule, StageContext, StageError, StagePlan, StageResult, StageWorkload, StopRule, run_stage,
};
use fleet::{Act, HostExecutor, HostRefusal, OpenOrder, Reply, SiteFacts, SiteId, StageRequest, StageTask};
use metrics::{Interval, OpKind};

/// The load of an engine executor.
pub enum Load {
    /// The null target, at this many operations per second.
    Null(f64),
    /// A scripted target on a virtual clock.
    Sim(Box<SimConfig>),
}

/// An executor with the real engine.
pub struct EngineHand {
    pub load: Load,
    pub interval: Duration,
    pub abandoned: AtomicU32,
    /// Refuses stages with this text.
    pub refusal: Option<String>,
    /// Intervals that it measured itself.
    pub seen: Mutex<Vec<Interval>>,
}

impl EngineHand {
    pub fn new(load: Load, interval: Duration) -> Self {
        EngineHand { load, interval, abandoned: AtomicU32::new(0), refusal: None, seen: Mutex::default() }
    }

    fn plan(&self, limit_s: f64, beside: StageContext) -> StagePlan {
        let (workers, schedule) = match &self.load {
            Load::Null(rate) => (1, Schedule::rate(*rate)),
            Load::Sim(_) => (2, Schedule::Closed),
        };
        StagePlan {
            workers,
            lanes_per_worker: 2,
            reactor: reactor::BackendChoice::Epoll,
            pin: false,
            ramp: Duration::ZERO,
            window: Duration::from_secs_f64(limit_s),
            drain: Duration::from_secs(1),
            interval: self.interval,
            schedule,
            stop: StopRule::Window,
            workload: StageWorkload::Repeat { kind: OpKind::Read, bytes: 4096 },
            payload: Payload::new(1),
            sink: Sink::Buffer,
            op_timeout: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(5),
            error_limit: None,
            beside,
        }
    }
}

impl HostExecutor for EngineHand {
    fn open(&self, _opening: &OpenOrder) -> Result<SiteFacts, HostRefusal> {
        let virtual_clock = matches!(self.load, Load::Sim(_));
        Ok(SiteFacts { virtual_clock, connect_timeout_ns: 1_000_000_000, ..SiteFacts::default() })
    }

    fn act(&self, _site: SiteId, act: &Act) -> Result<Reply, HostRefusal> {
        match act {
            Act::Prepare => Ok(Reply::Entered { new: true }),
            Act::Adopt => Err(HostRefusal::failed("the place is not there; prepare it first")),
            Act::RemoveAll => panic!("nothing to remove"),
            _ => Ok(Reply::Done),
        }
    }

    fn run_stage(
        &self,
        request: &StageRequest,
        beside: StageContext,
        control: &Control,
        observer: &mut dyn FnMut(&Interval),
    ) -> Result<StageResult, HostRefusal> {
        if let Some(text) = &self.refusal {
            return Err(HostRefusal::failed(text.clone()));
        }
        if !matches!(request.task, StageTask::Measure { .. }) {
            return Err(HostRefusal::failed("only measurements"));
        }
        let plan = self.plan(request.limit_s, beside);
        let mut show = |interval: &Interval| {
            self.seen.lock().unwrap().push(interval.clone());
            observer(interval);
        };
        let result = match &self.load {
            Load::Null(_) => run_stage(&NullDriver, &plan, control, &mut show),
            Load::Sim(config) => run_stage(&SimDriver::new((**config).clone()), &plan, control, &mut show),
        };
        result.map_err(|error| HostRefusal {
            stopped: matches!(error, StageError::Stopped),
            ..HostRefusal::failed(error.to_string())
        })
    }

    fn abandon(&self) -> Vec<String> {
        self.abandoned.fetch_add(1, Ordering::SeqCst);
        vec!["one file".to_owned()]
    }
}
