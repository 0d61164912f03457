//! Everything that a run provisions: created before its first cell, removed after its last.

use experiment::{Plan, Provision, provisioned_name};
use fleet::launch::{Say, SshLogin};
use provision::{EntryId, Run};
use targets::AccessKey;

use crate::error::ProvisionerError;
use crate::item::{Item, is_provisioned, read};
use crate::tool::ToolAccess;

/// What a run has provisioned. Dropping it removes it.
pub struct ProvisionedItems {
    run: Run,
    login: SshLogin,
    say: Say,
    made: Vec<(EntryId, Item)>,
    keys: Vec<(String, AccessKey)>,
}

impl ProvisionedItems {
    /// Creates everything that a plan asks for, after what an earlier attempt of a resumed run left is removed. Blocks.
    ///
    /// # Errors
    /// Something exists already, or cannot be created; what was created until then is removed.
    pub fn create(
        plan: &Plan,
        run: &Run,
        login: &SshLogin,
        stop: &(dyn Fn() -> bool + Sync),
        say: &Say,
    ) -> Result<Self, ProvisionerError> {
        let (own, say) = (run.id().object_name(), Say::clone(say));
        let mut all =
            Self { run: run.clone(), login: login.clone(), say, made: Vec::new(), keys: Vec::new() };
        let access = ToolAccess { login: login.clone(), stop };
        while let Some((id, place)) = run.find_place(is_provisioned) {
            (all.say)(&format!("removing {} of the interrupted run", place.title));
            read(&place)?.remove(&access)?;
            run.removed(id)?;
        }
        for item in items(plan, &own) {
            item.check_free(&access)?;
            (all.say)(&format!("creating {}", item.what()));
            let id = run.record_place(&item.recorded(&own))?;
            all.made.push((id, item.clone()));
            if let Some(key) = item.create(&access)? {
                all.keys.extend(users(plan, &item.provision).map(|target| (target, key.clone())));
            }
        }
        Ok(all)
    }

    /// The keys of the targets whose servers want one, by the targets' names.
    pub fn keys(&self) -> impl Iterator<Item = (String, AccessKey)> {
        self.keys.iter().cloned()
    }

    /// What was created, in words.
    pub fn created(&self) -> Vec<String> {
        self.made.iter().map(|(_, item)| item.what()).collect()
    }

    /// Leaves everything where it is: it stays in the journal.
    pub fn keep(&mut self) {
        self.made.clear();
    }

    /// Removes everything, the last first, even after the user has cancelled; returns a line for each that stays, and
    /// stays in the journal. Blocks.
    pub fn remove(&mut self) -> Vec<String> {
        let never = || false;
        let access = ToolAccess { login: self.login.clone(), stop: &never };
        let mut failures = Vec::new();
        while let Some((id, item)) = self.made.pop() {
            let removed = item.remove(&access).and_then(|()| Ok(self.run.removed(id)?));
            failures.extend(removed.err().map(|error| error.to_string()));
        }
        failures
    }
}

impl Drop for ProvisionedItems {
    fn drop(&mut self) {
        for failure in self.remove() {
            (self.say)(&format!("{failure}; `manometer cleanup` tries again"));
        }
    }
}

/// The names of the targets that use what is provisioned.
fn users<'p>(plan: &'p Plan, provision: &'p Provision) -> impl Iterator<Item = String> + 'p {
    let uses = move |target: &&experiment::Target| target.provision.as_ref() == Some(provision);
    plan.cells.iter().map(|cell| &cell.target).filter(uses).map(|target| target.name.clone())
}

/// Whether everything could be created in a run with this name: the tools can be asked, and nothing is in the way. A line
/// for each. Creates nothing. Blocks.
///
/// # Errors
/// The first that could not.
pub fn look(plan: &Plan, run: &str, access: &ToolAccess<'_>) -> Result<Vec<String>, ProvisionerError> {
    items(plan, run).map(|item| item.check_free(access).map(|()| item.what())).collect()
}

/// What a plan asks for, in a run with this name.
fn items(plan: &Plan, run: &str) -> impl Iterator<Item = Item> {
    let item = move |(at, provision): (usize, &Provision)| Item {
        name: provisioned_name(run, at),
        provision: provision.clone(),
    };
    plan.provisions().into_iter().enumerate().map(item)
}
