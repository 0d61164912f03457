//! The target of a row while it is open: whatever happens, its place is removed and it is closed.

use std::collections::BTreeMap;

use experiment::Cell;
use fleet::{Act, HostGroup, HostRefusal, HostShare, OpenOrder, Reply, SiteId, Trouble};
use targets::Patience;

/// The only member of a check's host group.
pub const HERE: usize = 0;

/// What opening a target takes besides its cell.
#[derive(Clone, Copy, Debug)]
pub struct RowOpening<'a> {
    /// Number of the row.
    pub number: u32,
    /// The id of the check.
    pub run: &'a str,
    /// Seed of the row's payload.
    pub seed: u64,
    /// How the kernel is asked for I/O.
    pub reactor: reactor::BackendChoice,
    /// How long the target may keep one waiting outside of the phases.
    pub patience: Patience,
}

/// An open target. Dropped, it removes its place: what fails then stays in the journal, and the end of the check says so.
pub struct RowSite<'a> {
    host_group: &'a HostGroup,
    /// Its number.
    pub id: SiteId,
    left: bool,
}

impl<'a> RowSite<'a> {
    /// Opens the target of a cell. Nothing is made yet.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn open(
        host_group: &'a HostGroup,
        cell: &Cell,
        opening: RowOpening<'_>,
    ) -> Result<Self, HostRefusal> {
        let order = OpenOrder {
            site: opening.number,
            cell: Box::new(cell.clone()),
            part: HostShare::WHOLE,
            run: opening.run.to_owned(),
            place: opening.run.to_owned(),
            key: None,
            seed: opening.seed,
            draws: opening.seed,
            own_cores: true,
            reactor: opening.reactor.to_string(),
            patience: opening.patience,
            destroy: None,
            settled: Vec::new(),
        };
        only(host_group.open(vec![(HERE, order)]))?;
        Ok(Self { host_group, id: opening.number, left: false })
    }

    /// Makes the place. It is in the journal right before the request that makes it.
    ///
    /// # Errors
    /// The target refused or did not answer.
    pub fn prepare(&self) -> Result<(), HostRefusal> {
        self.act(&Act::Prepare).map(drop)
    }

    /// What is to be said of the target; nothing when it does not answer.
    pub fn facts(&self) -> BTreeMap<String, String> {
        match self.act(&Act::Facts) {
            Ok(Reply::Facts(facts)) => facts,
            _ => BTreeMap::new(),
        }
    }

    /// Removes the place, and all that is in it.
    ///
    /// # Errors
    /// What could not be removed; it stays in the journal.
    pub fn leave(mut self) -> Result<(), HostRefusal> {
        self.vacate()
    }

    fn vacate(&mut self) -> Result<(), HostRefusal> {
        // Tried once: whoever failed to say good-bye would wait for the same deadline again.
        if std::mem::replace(&mut self.left, true) {
            return Ok(());
        }
        // Also where making it failed: it may have been made although the answer was lost. What the journal does not know is not
        // looked for.
        self.act(&Act::RemoveAll).map(drop)
    }

    fn act(&self, act: &Act) -> Result<Reply, HostRefusal> {
        only(self.host_group.act(&[HERE], self.id, act))
    }
}

impl Drop for RowSite<'_> {
    fn drop(&mut self) {
        let _ = self.vacate();
        let _ = self.act(&Act::Close);
    }
}

/// The answer of the only member.
fn only<T>(answers: fleet::Answers<T>) -> Result<T, HostRefusal> {
    match answers.into_iter().next() {
        Some((_, Ok(answer))) => Ok(answer),
        Some((_, Err(Trouble::Refused(refusal)))) => Err(refusal),
        Some((_, Err(Trouble::Lost(why)))) => Err(HostRefusal::failed(why)),
        None => Err(HostRefusal::failed("this host does not answer; this is a defect of manometer")),
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    use experiment::{Settings, SourceText};
    use host::LocalExecutor;
    use provision::{Journal, RunId};
    use targets::{ClearedFiles, HeldSecrets};

    use super::*;

    #[test]
    fn a_panic_removes_the_place_too() {
        let (journal, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let run = Journal::open(journal.path()).unwrap().begin(&RunId::random()).unwrap();
        let text = format!(
            "targets: {{t: 'file://{}'}}\nworkloads: {{w: {{ops: write, file_size: 64KiB}}}}\n",
            data.path().display()
        );
        let source = SourceText { file: "t.yaml", text: &text };
        let plan = experiment::parse(&source, &Settings::of(targets::kinds())).unwrap();
        let keys = Arc::new(HeldSecrets::default());
        let executor = LocalExecutor::of_run(&run, keys, ClearedFiles::default(), journal.path().to_owned());
        let host_group = HostGroup::here(Arc::new(executor));
        let id = run.id().to_string();
        let reactor = reactor::BackendChoice::Auto;
        let opening = RowOpening { number: 1, run: &id, seed: 1, reactor, patience: Patience::default() };
        let there = || std::fs::read_dir(data.path()).unwrap().count();
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let site = RowSite::open(&host_group, &plan.cells[0], opening).unwrap();
            site.prepare().unwrap();
            assert_eq!((there(), run.remaining().len()), (1, 1));
            panic!("a defect");
        }));
        let told = panicked.unwrap_err();
        assert_eq!(told.downcast_ref::<&str>(), Some(&"a defect"));
        assert_eq!(there(), 0);
        assert!(run.remaining().is_empty());
    }
}
