//! The members of a fleet, as the side that leads sees them.

mod here;

use std::sync::Arc;

use engine::{Beside, Control};

use crate::clock::ClockFacts;
use crate::hand::Hand;
use crate::order::{Act, Opening, Refusal, Reply, SiteFacts, SiteId, StageOrder};
use crate::seen::{CrewResult, Seen, Trouble};
use here::Here;

/// All agents of a run. A run on this host alone has a crew of one, which is called directly.
pub struct Crew {
    kind: Kind,
}

enum Kind {
    Here(Here),
}

/// What came of a question, by member number.
pub type Answers<T> = Vec<(usize, Result<T, Trouble>)>;

impl Crew {
    /// A crew of one in this process: nothing is put into words, and a stage's `beside` is passed on as it is.
    pub fn here(hand: Arc<dyn Hand>) -> Crew {
        Crew { kind: Kind::Here(Here::new(hand)) }
    }

    /// There is one member, in this process.
    pub fn is_local(&self) -> bool {
        matches!(self.kind, Kind::Here(_))
    }

    /// The members' names, by number.
    pub fn names(&self) -> Vec<String> {
        match &self.kind {
            Kind::Here(here) => vec![here.name().to_owned()],
        }
    }

    /// The numbers of the members that are not lost.
    pub fn alive(&self) -> Vec<usize> {
        match &self.kind {
            Kind::Here(_) => vec![0],
        }
    }

    /// What is known of the members' clocks, by number; `None`: nothing.
    pub fn clocks(&self) -> Vec<Option<ClockFacts>> {
        match &self.kind {
            Kind::Here(_) => vec![Some(ClockFacts::OWN)],
        }
    }

    /// Opens targets: each member its own. Members that are not named are not asked. One that fails, rather than refuses, is lost
    /// from then on ([`crate::Event::Lost`]).
    pub fn open(&self, openings: Vec<(usize, Opening)>) -> Answers<SiteFacts> {
        match &self.kind {
            Kind::Here(here) => openings.into_iter().map(|(at, opening)| (at, here.open(&opening))).collect(),
        }
    }

    /// The same act with each of the members.
    pub fn act(&self, members: &[usize], site: SiteId, act: &Act) -> Answers<Reply> {
        match &self.kind {
            Kind::Here(here) => members.iter().map(|at| (*at, here.act(site, act))).collect(),
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
        orders: Vec<(usize, StageOrder)>,
        beside: Beside,
        control: &Control,
        observer: &mut dyn FnMut(Seen<'_>),
    ) -> Result<CrewResult, Refusal> {
        match &self.kind {
            Kind::Here(here) => here.run_stage(&orders, beside, control, observer),
        }
    }

    /// Says farewell to all agents, waits for them a moment, and ends those that stay.
    pub fn end(&self) {
        match &self.kind {
            Kind::Here(_) => {}
        }
    }
}
