//! Steps over protocols that the simulated array serves: reads of data filled once, and writes of new data each time.

use std::collections::BTreeMap;

use experiment::{CalibratedOp, Cell, Target};
use fleet::{StageRequest, StageTask};
use metrics::OpKind;
use provision::Run;
use targets::{CheckTraits, Entered};

use super::array_process::ArrayProcess;
use super::load::{LoadRunner, refused};
use super::microbenchmarks::{BlockSize, Microbenchmark, RepetitionResult};
use super::plan;
use crate::error::CheckError;
use crate::site::OpenSite;

/// The protocols measured on the simulated array: those for which a check knows where an array serves them.
pub fn protocols() -> impl Iterator<Item = &'static CheckTraits> {
    targets::checked().filter(|protocol| !protocol.kind.calibrated.is_empty())
}

/// The steps of all protocols, in order.
pub fn steps() -> impl Iterator<Item = Microbenchmark> {
    protocols().flat_map(pieces).map(|(scheme, op, block)| Microbenchmark::Served(scheme, op, block))
}

/// The steps of a protocol: all of its operations with large blocks, then with small ones.
fn pieces(protocol: &'static CheckTraits) -> impl Iterator<Item = (&'static str, CalibratedOp, BlockSize)> {
    let kind = protocol.kind;
    [BlockSize::Large, BlockSize::Small]
        .into_iter()
        .flat_map(move |block| kind.calibrated.iter().map(move |op| (kind.scheme, *op, block)))
}

/// The targets on the array, and the data on them that is read repeatedly. Removes the data on drop.
pub struct ServedTargets<'a> {
    runner: &'a LoadRunner,
    targets: Vec<(&'static CheckTraits, Target)>,
    /// Filled targets, by the name of the step that reads them.
    filled: BTreeMap<String, OpenSite<'a>>,
    /// The run whose place is written to; it is removed each time.
    writes: Run,
}

impl<'a> ServedTargets<'a> {
    /// Writes what the read steps need: one data set per protocol and size.
    ///
    /// # Errors
    /// Something could not be written, or a stop was requested.
    pub fn filled(runner: &'a LoadRunner, server: &ArrayProcess) -> Result<Self, CheckError> {
        let targets = protocols().map(|protocol| Ok((protocol, server.target(protocol)?)));
        let targets = targets.collect::<Result<_, CheckError>>()?;
        let mut served = Self { runner, targets, filled: BTreeMap::new(), writes: runner.begin_run()? };
        let mut runs: BTreeMap<(&str, u64), Run> = BTreeMap::new();
        for (scheme, op, block) in protocols().flat_map(pieces).filter(|(_, op, _)| !op.op.writes()) {
            let cell = served.cell(scheme, op, block)?;
            let run = match runs.get(&(scheme, cell.workload.file_bytes())) {
                Some(run) => run.clone(),
                None => runner.begin_run()?,
            };
            runs.insert((scheme, cell.workload.file_bytes()), run.clone());
            let site = runner.open(&cell, &run)?;
            if site.prepare().map_err(refused)? == Entered::New {
                served.fill(&site).map_err(|error| error.during(format_args!("filling by {scheme}")))?;
            }
            served.filled.insert(Microbenchmark::Served(scheme, op, block).name(), site);
        }
        Ok(served)
    }

    /// Measures one step.
    ///
    /// # Errors
    /// Operations failed, written data could not be removed, or a stop was requested.
    pub fn measure(
        &self,
        (scheme, op, block): (&'static str, CalibratedOp, BlockSize),
    ) -> Result<RepetitionResult, CheckError> {
        let (runner, step) = (self.runner, Microbenchmark::Served(scheme, op, block));
        if let Some(site) = self.filled.get(&step.name()) {
            let request = runner.timed(site, StageTask::Measure { generation: 0 }, runner.window);
            return runner.measure(site, request, step, block);
        }
        let site = runner.open(&self.cell(scheme, op, block)?, &self.writes)?;
        site.prepare().map_err(refused)?;
        let request = runner.timed(&site, StageTask::Write, runner.window);
        let wrote = runner.measure(&site, request, step, block)?;
        site.leave().map_err(refused)?;
        Ok(wrote)
    }

    fn fill(&self, site: &OpenSite<'_>) -> Result<(), CheckError> {
        let to_the_end = |task| self.runner.run(site, StageRequest::to_the_end(site.id, task)).map(drop);
        if site.opened.kind == "files" {
            to_the_end(StageTask::Visit { kind: OpKind::Create })?;
        }
        to_the_end(StageTask::Fill { generation: 0 })
    }

    fn cell(&self, scheme: &str, op: CalibratedOp, block: BlockSize) -> Result<Cell, CheckError> {
        let found = self.targets.iter().find(|(protocol, _)| protocol.kind.scheme == scheme);
        let (protocol, target) =
            found.ok_or_else(|| CheckError::failure(format!("{scheme} is not served; this is a defect")))?;
        plan::served(protocol, target, (op, block), self.runner.clients)
    }
}
