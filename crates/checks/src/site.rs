//! A target while it is open on this host: its place is always removed, and it is always closed.

use std::collections::BTreeMap;

use engine::{Control, StageContext, StageResult};
use experiment::Cell;
use fleet::{
    Act, HostGroup, HostRefusal, HostShare, OpenOrder, Reply, SiteFacts, SiteId, StageRequest, StageUpdate,
    Trouble,
};
use runner::StopToken;
use targets::{Entered, Patience};

/// The only member of a host group that consists of this host.
pub const HERE: usize = 0;

/// What opening a target needs besides its cell.
#[derive(Clone, Copy, Debug)]
pub struct SiteOpening<'a> {
    /// A number that is unique among the host group's open targets.
    pub number: u32,
    /// The id of the run that creates and removes the place.
    pub run: &'a str,
    /// Seed of the payload.
    pub seed: u64,
    /// How to submit I/O to the kernel.
    pub reactor: reactor::BackendChoice,
    /// How long to wait for the target outside of the load.
    pub patience: Patience,
}

/// An open target. Removes its place on drop: anything that fails then stays in the journal.
pub struct OpenSite<'a> {
    host_group: &'a HostGroup,
    /// Its number.
    pub id: SiteId,
    /// Facts that the target reported when it was opened.
    pub opened: SiteFacts,
    left: bool,
}

impl<'a> OpenSite<'a> {
    /// Opens the target of a cell. Nothing is created yet.
    ///
    /// # Errors
    /// The target cannot be opened.
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
            destroy: Vec::new(),
            settled: Vec::new(),
        };
        let opened = only(host_group.open(vec![(HERE, order)]))?;
        Ok(Self { host_group, id: opening.number, opened, left: false })
    }

    /// Creates the place, or enters it if this run created it earlier. The journal lists it right before the request
    /// that creates it.
    ///
    /// # Errors
    /// The target refused or did not answer.
    pub fn prepare(&self) -> Result<Entered, HostRefusal> {
        match self.act(&Act::Prepare)? {
            Reply::Entered { new: false } => Ok(Entered::Existing),
            _ => Ok(Entered::New),
        }
    }

    /// Runs a stage to its end, or until a stop is requested.
    ///
    /// # Errors
    /// It could not start.
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

    /// Facts about the target; empty if it does not answer.
    pub fn facts(&self) -> BTreeMap<String, String> {
        match self.act(&Act::Facts) {
            Ok(Reply::Facts(facts)) => facts,
            _ => BTreeMap::new(),
        }
    }

    /// Removes the place and everything in it.
    ///
    /// # Errors
    /// Something could not be removed; it stays in the journal.
    pub fn leave(mut self) -> Result<(), HostRefusal> {
        self.vacate()
    }

    fn vacate(&mut self) -> Result<(), HostRefusal> {
        // Tried only once: after a failure, a second attempt would wait for the same deadline again.
        if std::mem::replace(&mut self.left, true) {
            return Ok(());
        }
        // Also if creating it failed: it may exist although the reply was lost. Anything that is not in the journal is
        // not looked for.
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
