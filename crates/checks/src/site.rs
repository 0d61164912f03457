//! A target while it is open on this host: whatever happens, its place is removed and it is closed.

use std::collections::BTreeMap;

use engine::{Control, StageContext, StageResult};
use experiment::Cell;
use fleet::{
    Act, HostGroup, HostRefusal, HostShare, OpenOrder, Reply, SiteFacts, SiteId, StageRequest, StageUpdate,
    Trouble,
};
use runner::StopToken;
use targets::{Entered, Patience};

/// The only member of a host group of this host alone.
pub const HERE: usize = 0;

/// What opening a target takes besides its cell.
#[derive(Clone, Copy, Debug)]
pub struct SiteOpening<'a> {
    /// A number that no other open target of the host group has.
    pub number: u32,
    /// The id of the run that makes the place and removes it.
    pub run: &'a str,
    /// Seed of the payload.
    pub seed: u64,
    /// How the kernel is asked for I/O.
    pub reactor: reactor::BackendChoice,
    /// How long the target may keep one waiting outside of the load.
    pub patience: Patience,
}

/// An open target. Dropped, it removes its place: what fails then stays in the journal.
pub struct OpenSite<'a> {
    host_group: &'a HostGroup,
    /// Its number.
    pub id: SiteId,
    /// What was said of it when it was opened.
    pub opened: SiteFacts,
    left: bool,
}

impl<'a> OpenSite<'a> {
    /// Opens the target of a cell. Nothing is made yet.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn open(
        host_group: &'a HostGroup,
        cell: &Cell,
        opening: SiteOpening<'_>,
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
        let opened = only(host_group.open(vec![(HERE, order)]))?;
        Ok(Self { host_group, id: opening.number, opened, left: false })
    }

    /// Makes the place, or enters it where this run has made it before. It is in the journal right before the request that makes it.
    ///
    /// # Errors
    /// The target refused or did not answer.
    pub fn prepare(&self) -> Result<Entered, HostRefusal> {
        match self.act(&Act::Prepare)? {
            Reply::Entered { new: false } => Ok(Entered::Existing),
            _ => Ok(Entered::New),
        }
    }

    /// Runs a stage to its end, or until the stop comes.
    ///
    /// # Errors
    /// It could not begin.
    pub fn run(
        &self,
        request: StageRequest,
        stop: &StopToken,
        observer: &mut dyn FnMut(StageUpdate<'_>),
    ) -> Result<StageResult, HostRefusal> {
        let control = Control::new();
        let _governed = stop.governs(&control);
        let requests = vec![(HERE, request)];
        let ran = self.host_group.run_stage(requests, StageContext::default(), &control, observer)?;
        Ok(ran.whole)
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

impl Drop for OpenSite<'_> {
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
    use targets::HeldSecrets;

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
        let executor = LocalExecutor::of_run(&run, keys, journal.path().to_owned());
        let host_group = HostGroup::here(Arc::new(executor));
        let id = run.id().to_string();
        let reactor = reactor::BackendChoice::Auto;
        let opening = SiteOpening { number: 1, run: &id, seed: 1, reactor, patience: Patience::default() };
        let there = || std::fs::read_dir(data.path()).unwrap().count();
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let site = OpenSite::open(&host_group, &plan.cells[0], opening).unwrap();
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
