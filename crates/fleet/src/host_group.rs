//! The members of a fleet, as the side that leads sees them.

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

enum Kind {
    Here(Here),
    Many(Many),
}

/// An agent, to be made a member of a host group.
pub enum Member {
    /// In this process.
    Here(Arc<dyn HostExecutor>),
    /// Behind a pipe.
    Link(Link),
}

/// How a host group deals with its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostGroupSettings {
    /// How often each agent is asked whether it is there; its clock is compared each time.
    pub heartbeat: Duration,
    /// An agent that was not heard of for so long is lost; the other way round, nobody leads it any more.
    pub silence: Duration,
    /// The longest that an opening or an act may take.
    pub act_limit: Duration,
    /// The longest that getting ready for a stage may take, besides opening its sessions.
    pub ready_limit: Duration,
    /// The longest that no operation may end in a stage that goes on until all is done (filling, verifying), besides what
    /// operations may take.
    pub progress_limit: Duration,
    /// Agents have so long to go when all is over, and the same again before they are killed.
    pub farewell: Duration,
}

impl Default for HostGroupSettings {
    fn default() -> Self {
        HostGroupSettings {
            heartbeat: Duration::from_secs(1),
            silence: Duration::from_secs(15),
            act_limit: Duration::from_secs(6 * 3600),
            ready_limit: Duration::from_secs(300),
            // A file system may take minutes to put what it holds onto a slow disk.
            progress_limit: Duration::from_secs(600),
            farewell: Duration::from_secs(10),
        }
    }
}

impl HostGroupSettings {
    /// The usual ones, with another limit of silence; the heartbeat is a tenth of it at most.
    pub fn with_silence(silence: Duration) -> Self {
        let usual = HostGroupSettings::default();
        HostGroupSettings { silence, heartbeat: usual.heartbeat.min(silence / 10), ..usual }
    }
}

/// What came of a question, by member number.
pub type Answers<T> = Vec<(usize, Result<T, Trouble>)>;

impl HostGroup {
    /// A host group of one in this process: nothing is put into words, and a stage's `beside` is passed on as it is.
    pub fn here(hand: Arc<dyn HostExecutor>) -> HostGroup {
        HostGroup { kind: Kind::Here(Here::new(hand)) }
    }

    /// A host group of these members, whose numbers are their places. `events` is called from several threads.
    pub fn new(
        members: Vec<Member>,
        settings: HostGroupSettings,
        events: Arc<dyn Fn(FleetEvent) + Send + Sync>,
    ) -> HostGroup {
        HostGroup { kind: Kind::Many(Many::new(members, settings, events)) }
    }

    /// What each member does is told apart from what all do together; of one in this process the two are the same.
    pub fn tells_hosts_apart(&self) -> bool {
        matches!(self.kind, Kind::Many(_))
    }

    /// The load runs where this process runs: what it sees of cores, cards and disks is what the load uses.
    pub fn sees_the_load(&self) -> bool {
        matches!(self.kind, Kind::Here(_))
    }

    /// The members have this process's keys and journal; others are sent the keys, and keep journals of their own.
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

    /// What a member said of its host; of one in this process only `host`, its name.
    pub fn host_facts(&self, member: usize) -> BTreeMap<String, String> {
        match &self.kind {
            Kind::Here(here) => BTreeMap::from([("host".to_owned(), here.name().to_owned())]),
            Kind::Many(many) => many.host_facts(member),
        }
    }

    /// The kernel that a member runs on, by its boot id: members with the same share cores, cards and disks. Empty where it is not known,
    /// and of one in this process, which is alone.
    pub fn machine(&self, member: usize) -> &str {
        match &self.kind {
            Kind::Here(_) => "",
            Kind::Many(many) => many.machine(member),
        }
    }

    /// Whether another member runs on the same kernel as this one, so that both have the same cores.
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

    /// What is known of the members' clocks, by number; `None`: nothing.
    pub fn clocks(&self) -> Vec<Option<ClockFacts>> {
        match &self.kind {
            Kind::Here(_) => vec![Some(ClockFacts::OWN)],
            Kind::Many(many) => many.clocks(),
        }
    }

    /// Opens targets: each member its own. Members that are not named are not asked. One that fails, rather than refuses, is lost
    /// from then on ([`crate::FleetEvent::Lost`]).
    pub fn open(&self, openings: Vec<(usize, OpenOrder)>) -> Answers<SiteFacts> {
        match &self.kind {
            Kind::Here(here) => openings.into_iter().map(|(at, opening)| (at, here.open(&opening))).collect(),
            Kind::Many(many) => many.open(openings),
        }
    }

    /// The same act with each of the members.
    pub fn act(&self, members: &[usize], site: SiteId, act: &Act) -> Answers<Reply> {
        match &self.kind {
            Kind::Here(here) => members.iter().map(|at| (*at, here.act(site, act))).collect(),
            Kind::Many(many) => many.act(members, site, act),
        }
    }

    /// Runs one stage on the members that are named, from one start on, to its end. A member that is lost before the start is left
    /// out; one that is lost later is in the result with what its intervals say.
    ///
    /// With agents of other processes only `beside.rendezvous` matters.
    ///
    /// # Errors
    /// When one of them refuses the stage: the others are stopped. When none is left.
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

    /// Says farewell to all agents, waits for them a moment, and ends those that stay.
    pub fn end(&self) {
        if let Kind::Many(many) = &self.kind {
            many.end();
        }
    }
}
