//! A target as opened by all hosts that work on a cell.

use std::collections::{BTreeMap, BTreeSet};

use experiment::{CacheControl, Cell, FailurePolicy, Launcher, Sharing};
use fleet::{Act, LayOutStep, Reply, SiteFacts, SiteId, Trouble};
use targets::Entered;

use super::context::{CellFailure, Context};

/// Maximum values of one fact shown when hosts differ.
const MAX_VALUES: usize = 4;

/// An open target.
pub struct Site {
    /// Its number.
    pub id: SiteId,
    /// Each host that has it open, with the facts of its part.
    facts: Vec<(usize, SiteFacts)>,
    /// One place for all hosts: the first host creates and removes it.
    shared: bool,
    /// The place is a prefix: while it is new, other hosts find nothing there.
    prefix_place: bool,
}

/// Each host's facts about its target, by host number; hosts that do not answer have none.
pub type FactsByHost = BTreeMap<usize, BTreeMap<String, String>>;

/// The target's facts for the results.
pub fn target_facts(context: &Context, by_host: &FactsByHost) -> BTreeMap<String, String> {
    let mut by_name: BTreeMap<&str, Vec<(usize, String)>> = BTreeMap::new();
    for (member, facts) in by_host {
        for (name, value) in facts {
            by_name.entry(name).or_default().push((*member, value.clone()));
        }
    }
    by_name.into_iter().map(|(name, values)| (name.to_owned(), alike(context, values))).collect()
}

impl Site {
    /// Opens a cell's target on all available hosts.
    ///
    /// # Errors
    /// A host refuses: one line, with its name if there are several; or no host is left.
    pub fn open(context: &Context, cell: &Cell) -> Result<Self, CellFailure> {
        let id = context.next_site();
        let members = context.host_group.alive();
        let openings = context.approach().openings(cell, id, &members)?;
        let answers = context.host_group.open(openings);
        let sharing = context.sharing();
        let prefix_place = targets::kind_of(&cell.target.url).is_some_and(|kind| kind.prefix_place);
        let mut site = Self { id, facts: Vec::new(), shared: sharing != Sharing::Own, prefix_place };
        site.facts = site.settle(context, answers)?;
        Ok(site)
    }

    /// Settles the hosts' answers. A refusal by one host fails all; a lost host is left out if the run may continue
    /// without it.
    fn settle<T>(
        &self,
        context: &Context,
        answers: Vec<(usize, Result<T, Trouble>)>,
    ) -> Result<Vec<(usize, T)>, CellFailure> {
        let mut good = Vec::new();
        let mut lost = None;
        for (member, answer) in answers {
            match answer {
                Ok(answer) => good.push((member, answer)),
                Err(Trouble::Refused(refusal)) if refusal.stopped => return Err(CellFailure::Interrupted),
                Err(Trouble::Refused(refusal)) => {
                    return Err(CellFailure::Failed(context.of_host(member, &refusal.text)));
                }
                Err(Trouble::Lost(why)) => lost = Some(context.of_host(member, &why)),
            }
        }
        match lost {
            Some(why) if good.is_empty() => Err(CellFailure::Failed(format!("no host is left: {why}"))),
            Some(why) if context.policy() != FailurePolicy::GoOn || self.shared => {
                Err(CellFailure::Lost(why))
            }
            _ => Ok(good),
        }
    }

    /// Available hosts that have it open.
    pub fn members(&self, context: &Context) -> Vec<usize> {
        let alive = context.host_group.alive();
        self.facts.iter().map(|(member, _)| *member).filter(|member| alive.contains(member)).collect()
    }

    /// Sends a request to all hosts.
    ///
    /// # Errors
    /// A host refuses, or is lost and the policy is not to continue.
    pub fn ask(&self, context: &Context, act: &Act) -> Result<Vec<(usize, Reply)>, CellFailure> {
        let members = self.members(context);
        self.settle(context, context.host_group.act(&members, self.id, act))
    }

    /// Sends a request that returns nothing to all hosts.
    ///
    /// # Errors
    /// As [`Site::ask`].
    pub fn act(&self, context: &Context, act: &Act) -> Result<(), CellFailure> {
        self.ask(context, act).map(drop)
    }

    /// Creates the place, shared or one per host, or enters it again.
    ///
    /// # Errors
    /// As [`Site::ask`].
    pub fn prepare(&self, context: &Context) -> Result<Entered, CellFailure> {
        let members = self.members(context);
        let (first, others) = match (self.shared, members.split_first()) {
            (true, Some((first, others))) => (vec![*first], others.to_vec()),
            _ => (members, Vec::new()),
        };
        if self.shared && first.first().is_some_and(|first| *first != 0) {
            // The host that created the place is lost.
            self.settle(context, context.host_group.act(&first, self.id, &Act::Inherit))?;
        }
        let answers = self.settle(context, context.host_group.act(&first, self.id, &Act::Prepare))?;
        let new = |(_, reply): &(usize, Reply)| matches!(reply, Reply::Entered { new: true });
        let is_new = answers.iter().any(new);
        if !(is_new && self.prefix_place) {
            self.settle(context, context.host_group.act(&others, self.id, &Act::Adopt))?;
        }
        Ok(if is_new { Entered::New } else { Entered::Existing })
    }

    /// Generation of the existing data, if it is the same everywhere.
    pub fn held_generation(&self, context: &Context) -> Option<u32> {
        let answers = self.ask(context, &Act::HeldGeneration).ok()?;
        let mut held = answers.into_iter().map(|(_, reply)| match reply {
            Reply::Generation(held) => held,
            _ => None,
        });
        let first = held.next()??;
        held.all(|other| other == Some(first)).then_some(first)
    }

    /// Treats the hosts' caches as requested; returns what was really done, in words.
    ///
    /// # Errors
    /// As [`Site::ask`].
    pub fn cache(&self, context: &Context, wanted: CacheControl) -> Result<String, CellFailure> {
        let said = self.ask(context, &Act::Cache(wanted))?.into_iter().filter_map(|(member, reply)| {
            if let Reply::Said(text) = reply { Some((member, text)) } else { None }
        });
        Ok(alike(context, said.collect()))
    }

    /// Each host's facts about its target.
    pub fn facts_by_host(&self, context: &Context) -> FactsByHost {
        let answers = self.ask(context, &Act::Facts).unwrap_or_default();
        let facts = answers.into_iter().filter_map(|(member, reply)| match reply {
            Reply::Facts(facts) => Some((member, facts)),
            _ => None,
        });
        facts.collect()
    }

    /// Checks the files of a job on every host; returns the steps that must move bytes before the load.
    ///
    /// # Errors
    /// As [`Site::ask`].
    pub fn lay_out(&self, context: &Context) -> Result<(Vec<LayOutStep>, BTreeSet<u64>), CellFailure> {
        let mut all: Vec<LayOutStep> = Vec::new();
        let mut disks = BTreeSet::new();
        for (_, reply) in self.ask(context, &Act::LayOut)? {
            let Reply::LaidOut { steps, devices } = reply else { continue };
            for (at, step) in steps.into_iter().enumerate() {
                match all.get_mut(at) {
                    Some(known) => known.bytes += step.bytes,
                    None => all.push(step),
                }
            }
            // Device numbers are meaningful on this host only.
            if context.host_group.sees_the_load() {
                disks.extend(devices);
            }
        }
        Ok((all, disks))
    }

    /// Lost hosts that had it open.
    pub fn lost(&self, context: &Context) -> Vec<usize> {
        let alive = context.host_group.alive();
        self.facts.iter().map(|(member, _)| *member).filter(|member| !alive.contains(member)).collect()
    }

    /// Opens a lost host's part of shared data on a remaining host.
    ///
    /// # Errors
    /// That host refuses, or no host is left.
    pub fn of_lost(context: &Context, cell: &Cell, lost: usize) -> Result<Self, CellFailure> {
        let id = context.next_site();
        let members = context.host_group.alive();
        let mut openings = context.approach().openings(cell, id, &members)?;
        openings.truncate(1);
        if openings.is_empty() {
            return Err(CellFailure::Failed("no host is left".to_owned()));
        }
        openings.iter_mut().for_each(|(_, opening)| opening.part.index = lost as u32);
        let answers = context.host_group.open(openings);
        let mut site = Self { id, facts: Vec::new(), shared: true, prefix_place: false };
        site.facts = site.settle(context, answers)?;
        Ok(site)
    }

    /// Removes what all hosts created, including lost hosts where another host can reach it.
    ///
    /// # Errors
    /// The first item that could not be removed; it stays in its host's journal.
    pub fn remove(&self, context: &Context) -> Result<(), CellFailure> {
        let mut members = self.members(context);
        if self.shared {
            members.truncate(1);
        }
        if self.shared && members.first().is_some_and(|first| *first != 0) {
            // The host that created the place is lost, perhaps since the place was last entered.
            self.settle(context, context.host_group.act(&members, self.id, &Act::Inherit))?;
        }
        self.settle(context, context.host_group.act(&members, self.id, &Act::RemoveAll)).map(drop)
    }

    /// Removes what lost hosts created, through a remaining host, where it can reach the target. Lost hosts may do so
    /// themselves when they notice that the coordinator is gone; removing twice is harmless.
    ///
    /// # Errors
    /// What is left behind, and on which host.
    pub fn remove_of_lost(context: &Context, cell: &Cell) -> Result<(), CellFailure> {
        let alive = context.host_group.alive();
        let lost: Vec<usize> = (0..context.hosts.len()).filter(|member| !alive.contains(member)).collect();
        let Some(heir) = alive.first().copied().filter(|_| !lost.is_empty()) else { return Ok(()) };
        let here =
            context.plan.fleet.as_ref().is_some_and(|fleet| matches!(fleet.launcher, Launcher::Local { .. }));
        let reachable = here || targets::kind_of(&cell.target.url).is_some_and(|kind| kind.remote);
        if context.sharing() == Sharing::Own && !reachable {
            let hosts: Vec<&str> = lost.iter().map(|member| &*context.hosts[*member]).collect();
            return Err(CellFailure::Failed(format!(
                "{} may be left behind on {}, which cannot be reached; next: run `manometer cleanup` there",
                cell.target.url,
                hosts.join(", ")
            )));
        }
        if context.sharing() != Sharing::Own {
            return Ok(());
        }
        for member in lost {
            let id = context.next_site();
            let mut opening = context.approach().openings(cell, id, &[member])?;
            opening.iter_mut().for_each(|(at, _)| *at = heir);
            let site =
                Self { id, facts: vec![(heir, SiteFacts::default())], shared: false, prefix_place: false };
            site.settle(context, context.host_group.open(opening))?;
            site.act(context, &Act::Inherit)?;
            let removed = site.act(context, &Act::RemoveAll);
            site.close(context);
            removed?;
        }
        Ok(())
    }

    /// Number of hosts that opened it.
    pub fn hosts(&self) -> usize {
        self.facts.len()
    }

    /// The smallest page cache among the hosts, in bytes.
    pub fn cache_bytes(&self) -> Option<u64> {
        self.facts.iter().filter_map(|(_, facts)| facts.cache_bytes).min()
    }

    /// `files`, `objects` or `device`.
    pub fn kind(&self) -> &str {
        self.facts.first().map_or("", |(_, facts)| &facts.kind)
    }

    /// Files or objects per host.
    pub fn objects(&self) -> u64 {
        self.facts.first().map_or(0, |(_, facts)| facts.objects)
    }

    /// Size of each, in bytes.
    pub fn item_bytes(&self) -> u64 {
        self.facts.first().map_or(0, |(_, facts)| facts.item_bytes)
    }

    /// Total bytes of all hosts' files.
    pub fn bytes(&self) -> u64 {
        self.facts.iter().map(|(_, facts)| facts.bytes).sum()
    }

    /// Bytes of one host's files.
    pub fn bytes_of(&self, host: usize) -> u64 {
        self.facts.iter().filter(|(member, _)| *member == host).map(|(_, facts)| facts.bytes).sum()
    }

    /// Whether it runs on a virtual clock, so that stages take no real time.
    pub fn virtual_clock(&self) -> bool {
        self.facts.iter().any(|(_, facts)| facts.virtual_clock)
    }

    /// Whether reads may come from a host's page cache.
    pub fn uses_page_cache(&self) -> bool {
        self.facts.iter().any(|(_, facts)| facts.page_cache)
    }

    /// Whether a job's files are laid out right before it starts.
    pub fn lays_out_late(&self) -> bool {
        self.facts.iter().any(|(_, facts)| facts.lays_out_late)
    }

    /// Closes the target; nothing is removed.
    pub fn close(&self, context: &Context) {
        // A lost host has forgotten it anyway.
        let _ = context.host_group.act(&self.members(context), self.id, &Act::Close);
    }
}

/// Several hosts' values as one text: one value if all agree, else each value with its hosts.
fn alike(context: &Context, values: Vec<(usize, String)>) -> String {
    let mut hosts_of: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let names = context.host_group.names();
    for (member, value) in values {
        hosts_of.entry(value).or_default().push(names[member].clone());
    }
    if hosts_of.len() == 1 {
        return hosts_of.into_keys().next().unwrap_or_default();
    }
    let more = hosts_of.len().saturating_sub(MAX_VALUES);
    let mut parts: Vec<String> = hosts_of
        .into_iter()
        .take(MAX_VALUES)
        .map(|(value, hosts)| match hosts.len() {
            1..=3 => format!("{value} ({})", hosts.join(", ")),
            many => format!("{value} ({many} hosts)"),
        })
        .collect();
    if more > 0 {
        parts.push(format!("{more} other values"));
    }
    parts.join("; ")
}
