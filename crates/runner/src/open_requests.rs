//! How each host of a host group opens the target of a cell.

use std::path::PathBuf;

use experiment::{Cell, HostValueError, Plan, Sharing, Target};
use fleet::{HostGroup, HostShare, OpenOrder, SiteId};
use provision::Run;
use targets::{Patience, Secrets};

use crate::options::RunOptions;

/// What opening a target needs besides the cell.
pub struct OpenRequests<'a> {
    /// All cells, and the fleet.
    pub plan: &'a Plan,
    /// The hosts.
    pub host_group: &'a HostGroup,
    /// The coordinator's journal.
    pub run: &'a Run,
    /// How to submit I/O to the kernel where the target does not say.
    pub reactor: reactor::BackendChoice,
    /// Devices and files that may be overwritten even if they hold data.
    pub destroy: &'a [PathBuf],
    /// The credentials that came with the plan.
    pub secrets: &'a dyn Secrets,
}

impl<'a> OpenRequests<'a> {
    /// For a run with these options.
    pub fn of_run(
        plan: &'a Plan,
        host_group: &'a HostGroup,
        run: &'a Run,
        options: &'a RunOptions,
        secrets: &'a dyn Secrets,
    ) -> Self {
        Self { plan, host_group, run, reactor: options.reactor, destroy: &options.destroy, secrets }
    }
}

impl OpenRequests<'_> {
    /// Seed of all random draws in a cell: it differs for every cell, so that repetitions are not copies of each other.
    pub fn draws(&self, cell: &Cell) -> u64 {
        // An odd factor with well-spread bits (2^64 divided by the golden ratio).
        self.plan.seed.wrapping_add(u64::from(cell.index).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// How hosts share the data.
    pub fn sharing(&self) -> Sharing {
        self.plan.fleet.as_ref().map_or(Sharing::Own, |fleet| fleet.sharing)
    }

    /// How each of these members opens the target of a cell.
    ///
    /// # Errors
    /// A host has no value for a variable.
    pub fn openings(
        &self,
        cell: &Cell,
        site: SiteId,
        members: &[usize],
    ) -> Result<Vec<(usize, OpenOrder)>, HostValueError> {
        let names = self.host_group.names();
        let own = self.run.id();
        let sharing = self.sharing();
        let named = |path: &PathBuf| match path.to_str() {
            Some(text) => self.plan.name_provisioned(text, cell, &own.object_name()).into(),
            None => path.clone(),
        };
        let destroy: Vec<PathBuf> = self.destroy.iter().map(named).collect();
        let cell = &self.plan.with_provisioned(cell, &own.object_name());
        let template = &cell.target;
        let in_process = self.host_group.shares_keys_and_journal();
        let key_of = |target: &Target| if in_process { None } else { targets::key_of(target, self.secrets) };
        let key = key_of(template);
        let maker = members.first().copied();
        let one = |member: &usize| {
            let index = *member as u32;
            let id = if in_process { own.clone() } else { own.of_agent(index) };
            // A place shared by all carries the first host's id; if that host is lost, another takes it over.
            let shared = own.of_agent(0);
            let (run, place) = match sharing {
                Sharing::Own => (id.clone(), id),
                _ if Some(*member) == maker => (shared.clone(), shared),
                _ => (if index == 0 { own.of_agent(u32::MAX) } else { id }, shared),
            };
            let cell = match &self.plan.fleet {
                Some(fleet) => fleet.cell_for(targets::kinds(), cell, &names[*member], index)?,
                None => cell.clone(),
            };
            let opening = OpenOrder {
                site,
                part: HostShare { index, of: names.len() as u32, sharing },
                run: run.to_string(),
                place: place.to_string(),
                // Where a target differs from host to host, only each host's own URL is complete.
                key: if cell.target == *template { key.clone() } else { key_of(&cell.target) },
                seed: self.plan.seed,
                draws: self.draws(&cell).wrapping_add(u64::from(index).wrapping_mul(0xD1B5_4A32_D192_ED03)),
                own_cores: !self.host_group.shares_machine(*member),
                reactor: self.reactor.to_string(),
                patience: Patience::default(),
                destroy: destroy.clone(),
                settled: Vec::new(),
                cell: Box::new(cell),
            };
            Ok((*member, opening))
        };
        members.iter().map(one).collect()
    }
}
