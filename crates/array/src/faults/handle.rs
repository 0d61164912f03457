//! The shared handle to the active plan.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use crate::Capacity;

use super::plan::{DataProtocol, FaultPlan, PathFaults};
use super::steps::{StepCounter, StepOutcome};

/// The faults of a running array; clones share them, and changes take effect immediately.
#[derive(Clone, Debug, Default)]
pub struct FaultHandle(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    plan: RwLock<Arc<FaultPlan>>,
    generation: AtomicU64,
    space: OnceLock<Space>,
    steps: StepCounter,
}

/// The array's space, and its size without the full-disk fault.
#[derive(Debug)]
struct Space {
    capacity: Arc<Capacity>,
    total_bytes: u64,
}

impl FaultHandle {
    /// A handle with this active plan.
    pub fn new(plan: FaultPlan) -> Self {
        let faults = Self::default();
        faults.set(plan);
        faults
    }

    /// Activates another plan. The call count restarts from 1.
    pub fn set(&self, plan: FaultPlan) {
        self.set_full(plan.full_disk);
        self.0.steps.reset(plan.management.len());
        *self.0.plan.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(plan);
        self.0.generation.fetch_add(1, Ordering::Release);
    }

    /// Changes the active plan.
    pub fn update(&self, change: impl FnOnce(&mut FaultPlan)) {
        let mut plan = FaultPlan::clone(&self.plan());
        change(&mut plan);
        self.set(plan);
    }

    /// The active plan.
    pub fn plan(&self) -> Arc<FaultPlan> {
        Arc::clone(&self.0.plan.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// A number that changes whenever the plan does: servers cache [`FaultHandle::path`] and read it again only when
    /// this differs, so the hot path costs one atomic load.
    pub fn generation(&self) -> u64 {
        self.0.generation.load(Ordering::Acquire)
    }

    /// The current faults of one address and protocol.
    pub fn path(&self, address: IpAddr, protocol: DataProtocol) -> PathFaults {
        self.plan().path(address, protocol)
    }

    /// Applies the fault `full_disk` to this space from now on.
    pub(crate) fn govern(&self, capacity: Arc<Capacity>) {
        let total_bytes = capacity.total();
        let _ = self.0.space.set(Space { capacity, total_bytes });
        self.set_full(self.plan().full_disk);
    }

    fn set_full(&self, full: bool) {
        if let Some(space) = self.0.space.get() {
            space.capacity.set_total(if full { 0 } else { space.total_bytes });
        }
    }

    /// Counts a management call and returns its outcome.
    pub fn step(&self, method: &str, path: &str) -> StepOutcome {
        self.0.steps.judge(&self.plan().management, method, path)
    }

    /// Management calls counted since the plan was activated.
    pub fn calls_counted(&self) -> u64 {
        self.0.steps.total()
    }
}
