//! The members of a fleet, from the coordinator's side.

mod here;
mod keeper;
mod many;
mod outcome;
mod stage;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use engine::{Control, StageContext};

use crate::clock::ClockFacts;
use crate::host_executor::HostExecutor;
use crate::link::Link;
use crate::order::{Act, HostRefusal, OpenOrder, Reply, SiteFacts, SiteId, StageRequest};
use crate::seen::{FleetEvent, HostGroupResult, StageUpdate, Trouble};
use here::Here;
pub(crate) use here::host_name;
use many::Many;

/// All agents of a run. A run on this host alone has a host group of one, which is called directly.
pub struct HostGroup {
    kind: Kind,
}

#[expect(clippy::large_enum_variant, reason = "there are one or two in a run")]
enum Kind {
    Here(Here),
    Many(Many),
}

/// An agent that is to become a member of a host group.
pub enum Member {
    /// In this process.
    Here(Arc<dyn HostExecutor>),
    /// Behind a pipe.
    Link(Link),
}

/// Timing of a host group's communication with its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostGroupSettings {
    /// How often each agent is pinged; its clock is compared each time.
    pub heartbeat: Duration,
    /// An agent silent for this long is lost; conversely, an agent that hears nothing for this long considers the
    /// coordinator gone.
    pub silence: Duration,
    /// Timeout of an opening or an act.
    pub act_limit: Duration,
    /// Timeout of preparing a stage, besides opening its sessions.
    pub ready_limit: Duration,
    /// Maximum time without completed operations in a stage that runs until all work is done (filling, verifying),
    /// besides the operation timeout.
    pub progress_limit: Duration,
    /// Time that agents have to exit at the end, and again before they are killed.
    pub farewell: Duration,
}

impl Default for HostGroupSettings {
    fn default() -> Self {
        HostGroupSettings {
            heartbeat: Duration::from_secs(1),
            silence: Duration::from_secs(15),
            act_limit: Duration::from_secs(6 * 3600),
            ready_limit: Duration::from_secs(300),
            // A file system may take minutes to write its cached data to a slow disk.
            progress_limit: Duration::from_secs(600),
            farewell: Duration::from_secs(10),
        }
    }
}

impl HostGroupSettings {
    /// Defaults with another silence limit; the heartbeat is at most a tenth of it.
    pub fn with_silence(silence: Duration) -> Self {
        let usual = HostGroupSettings::default();
        HostGroupSettings { silence, heartbeat: usual.heartbeat.min(silence / 10), ..usual }
    }
}

/// Replies to a request, by member number.
pub type Answers<T> = Vec<(usize, Result<T, Trouble>)>;

impl HostGroup {
    /// A host group of one in this process: nothing is serialised, and a stage's `beside` is passed on unchanged.
    pub fn here(hand: Arc<dyn HostExecutor>) -> HostGroup {
        HostGroup { kind: Kind::Here(Here::new(hand)) }
    }

    /// A host group of these members, numbered by position. `events` is called from several threads.
    pub fn new(
        members: Vec<Member>,
        settings: HostGroupSettings,
        events: Arc<dyn Fn(FleetEvent) + Send + Sync>,
    ) -> HostGroup {
        HostGroup { kind: Kind::Many(Many::new(members, settings, events)) }
    }

    /// Whether members' results are reported separately from the group's; with a single one in this process they are
    /// the same.
    pub fn tells_hosts_apart(&self) -> bool {
        matches!(self.kind, Kind::Many(_))
    }

    /// The load runs in this process, so the cores, NICs and disks that it sees are those of the load.
    pub fn sees_the_load(&self) -> bool {
        matches!(self.kind, Kind::Here(_))
    }

    /// The members have this process's keys and journal; others receive the keys, and keep journals of their own.
    pub fn shares_keys_and_journal(&self) -> bool {
        matches!(self.kind, Kind::Here(_))
    }

    /// The members' names, by number.
    pub fn names(&self) -> Vec<String> {
        match &self.kind {
            Kind::Here(here) => vec![here.name().to_owned()],
            Kind::Many(many) => many.names(),
        }
    }

    /// Facts that a member reported about its host; for one in this process only `host`, its name.
    pub fn host_facts(&self, member: usize) -> BTreeMap<String, String> {
        match &self.kind {
            Kind::Here(here) => BTreeMap::from([("host".to_owned(), here.name().to_owned())]),
            Kind::Many(many) => many.host_facts(member),
        }
    }

    /// The kernel that a member runs on, by its boot id: members with the same id share cores, NICs and disks, also
    /// with observed hosts. Empty where unknown.
    pub fn machine(&self, member: usize) -> &str {
        match &self.kind {
            Kind::Here(here) => here.machine(),
            Kind::Many(many) => many.machine(member),
        }
    }

    /// Whether another member runs on the same kernel, so that both share cores.
    pub fn shares_machine(&self, member: usize) -> bool {
        match &self.kind {
            Kind::Here(_) => false,
            Kind::Many(many) => many.shares_machine(member),
        }
    }

    /// The numbers of the members that are not lost.
    pub fn alive(&self) -> Vec<usize> {
        match &self.kind {
            Kind::Here(_) => vec![0],
            Kind::Many(many) => many.alive(),
        }
    }

    /// What is known of the members' clocks, by number; `None` where nothing is.
    pub fn clocks(&self) -> Vec<Option<ClockFacts>> {
        match &self.kind {
            Kind::Here(_) => vec![Some(ClockFacts::OWN)],
            Kind::Many(many) => many.clocks(),
        }
    }

    /// Opens targets, one order per member; other members are not contacted. A member that fails, rather than refuses,
    /// is lost from then on ([`crate::FleetEvent::Lost`]).
    pub fn open(&self, openings: Vec<(usize, OpenOrder)>) -> Answers<SiteFacts> {
        match &self.kind {
            Kind::Here(here) => openings.into_iter().map(|(at, opening)| (at, here.open(&opening))).collect(),
            Kind::Many(many) => many.open(openings),
        }
    }

    /// Performs the same act on each of the members.
    pub fn act(&self, members: &[usize], site: SiteId, act: &Act) -> Answers<Reply> {
        match &self.kind {
            Kind::Here(here) => members.iter().map(|at| (*at, here.act(site, act))).collect(),
            Kind::Many(many) => many.act(members, site, act),
        }
    }

    /// Runs one stage to its end on the given members, with a common start. A member lost before the start is left out;
    /// one lost later is in the result with its intervals.
    ///
    /// For agents in other processes only `beside.rendezvous` matters.
    ///
    /// # Errors
    /// A member refuses the stage: the others are stopped. Or no member is left.
    pub fn run_stage(
        &self,
        requests: Vec<(usize, StageRequest)>,
        beside: StageContext,
        control: &Control,
        observer: &mut dyn FnMut(StageUpdate<'_>),
    ) -> Result<HostGroupResult, HostRefusal> {
        match &self.kind {
            Kind::Here(here) => here.run_stage(&requests, beside, control, observer),
            Kind::Many(many) => many.run_stage(requests, beside, control, observer),
        }
    }

    /// Says farewell to all agents, waits for them briefly, and kills those that stay.
    pub fn end(&self) {
        if let Kind::Many(many) = &self.kind {
            many.end();
        }
    }
}
