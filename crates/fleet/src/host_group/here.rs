//! The only member, in this process.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use engine::{Control, StageContext};
use metrics::Interval;

use crate::host_executor::HostExecutor;
use crate::message::own_machine;
use crate::order::{Act, HostRefusal, OpenOrder, Reply, SiteFacts, SiteId, StageRequest};
use crate::sampling::{HostSamples, Sampling};
use crate::seen::{HostGroupResult, PartResult, StageUpdate, Trouble};

/// An executor that is called directly.
pub(super) struct Here {
    hand: Arc<dyn HostExecutor>,
    name: String,
    machine: String,
    /// Sites whose stages run on a virtual clock.
    virtual_sites: Mutex<BTreeSet<SiteId>>,
    samples: HostSamples,
}

impl Here {
    pub(super) fn new(hand: Arc<dyn HostExecutor>) -> Self {
        Here {
            hand,
            name: host_name(),
            machine: own_machine(),
            virtual_sites: Mutex::default(),
            samples: HostSamples::default(),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn machine(&self) -> &str {
        &self.machine
    }

    pub(super) fn open(&self, opening: &OpenOrder) -> Result<SiteFacts, Trouble> {
        let facts = self.hand.open(opening).map_err(Trouble::Refused)?;
        let mut sites = self.virtual_sites.lock().unwrap_or_else(PoisonError::into_inner);
        if facts.virtual_clock {
            sites.insert(opening.site);
        } else {
            sites.remove(&opening.site);
        }
        Ok(facts)
    }

    pub(super) fn act(&self, site: SiteId, act: &Act) -> Result<Reply, Trouble> {
        match self.samples.act(act, self.hand.scope()) {
            Some(reply) => Ok(reply),
            None => self.hand.act(site, act).map_err(Trouble::Refused),
        }
    }

    pub(super) fn run_stage(
        &self,
        requests: &[(usize, StageRequest)],
        beside: StageContext,
        control: &Control,
        observer: &mut dyn FnMut(StageUpdate<'_>),
    ) -> Result<HostGroupResult, HostRefusal> {
        let [(0, request)] = requests else {
            return Err(HostRefusal::failed("a stage of a host group of one has one request, for member 0"));
        };
        let sites = self.virtual_sites.lock().unwrap_or_else(PoisonError::into_inner);
        let virtual_clock = sites.contains(&request.site);
        drop(sites);
        let mut sampling = Sampling::begin(request.limit_s, virtual_clock, self.hand.scope());
        let mut show = |interval: &Interval| {
            if let Some(sample) = sampling.look() {
                observer(StageUpdate::Sample { member: 0, sample: &sample });
            }
            observer(StageUpdate::Part { member: 0, interval });
            observer(StageUpdate::Whole(interval));
        };
        let whole = self.hand.run_stage(request, beside, control, &mut show)?;
        let part = PartResult {
            member: 0,
            name: self.name.clone(),
            result: whole.clone(),
            started_ns: Some(whole.started_ns),
            lost: None,
        };
        let start_skew_ns = whole.start_skew_ns;
        Ok(HostGroupResult { whole, parts: vec![part], start_skew_ns, skew_uncertainty_ns: 0 })
    }
}

/// This host's own name.
pub(crate) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
