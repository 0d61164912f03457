//! Checks every target from every host before anything is created or written, and reports all faults at once.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use experiment::{Cell, Plan};
use fleet::{Act, HostRefusal, Reply, SiteId, Trouble};
use host::load;
use provision::{Journal, RunId, settled_on, settled_told};
use provisioners::ToolAccess;
use serde::Serialize;
use targets::{Finding, FindingKind, Look, Patience, Secrets};

use super::host_group::{self, HostGroupEvents};
use super::open_requests::OpenRequests;
use super::servers::Servers;
use crate::begin::RunError;
use crate::events::Events;
use crate::options::RunOptions;
use crate::space::{self, HostSpace};
use crate::stop::StopToken;

/// Site number used for the preflight of the first target; further targets count down from it, while cells count up
/// from 0.
const FIRST_SITE: SiteId = SiteId::MAX;
/// Maximum targets checked in parallel.
const SIDE_BY_SIDE: usize = 16;
/// After this time, a message says what the preflight is waiting for.
const SILENCE: Duration = Duration::from_millis(500);
/// Maximum lines of findings kept.
const MAX_FINDINGS: usize = 100;

/// What the preflight found about the targets of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Preflight {
    /// The checked targets, in plan order.
    pub targets: Vec<TargetLook>,
    /// All faults and warnings, a line each.
    pub findings: Vec<Finding>,
}

/// What the preflight found about one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TargetLook {
    /// Its name.
    pub target: String,
    /// What answered, in words.
    pub seen: String,
    /// Free space in bytes, from the host that has the least; `None` if unknown.
    pub available_bytes: Option<u64>,
    /// Maximum space that its data needs on one host, in bytes.
    pub needed_bytes: u64,
}

impl Preflight {
    /// Whether a run can start.
    ///
    /// # Errors
    /// Every fault.
    pub fn verdict(&self) -> Result<(), RunError> {
        let faults: Vec<Finding> =
            self.findings.iter().filter(|finding| finding.kind.is_fault()).cloned().collect();
        if faults.is_empty() { Ok(()) } else { Err(RunError::NotReady(faults)) }
    }

    /// The warnings as text.
    pub fn warnings(&self) -> impl Iterator<Item = &str> {
        self.findings.iter().filter(|finding| !finding.kind.is_fault()).map(|finding| &*finding.text)
    }
}

/// Checks the targets of a plan as a run of it would, from the hosts that would execute it; nothing is created, written
/// or kept. A plan with only simulated targets starts nothing.
///
/// # Errors
/// An agent cannot be started on a host.
pub fn preflight(
    plan: &Plan,
    options: &RunOptions,
    events: &Arc<dyn Events>,
    stop: &StopToken,
    secrets: &Arc<dyn Secrets>,
) -> Result<Preflight, RunError> {
    let imaginary = |cell: &Cell| targets::kind_of(&cell.target.url).is_some_and(|kind| kind.imaginary);
    if plan.cells.iter().all(imaginary) {
        return Ok(Preflight::default());
    }
    let host_group_events = Arc::new(HostGroupEvents::default());
    // Only whether the server's hosts can be observed.
    drop(Servers::start(plan, options, events, stop, &host_group_events)?);
    let id = RunId::random();
    let directory = std::env::temp_dir().join(id.object_name());
    let failure = |error: provision::ProvisionError| RunError::Failure(error.to_string());
    // Nothing is created, so the journal stays empty; opening a target requires one nevertheless.
    let run = Journal::open(&directory).and_then(|journal| journal.begin(&id)).map_err(failure)?;
    let started = host_group::start(plan, &run, options, events, stop, secrets, &host_group_events);
    let looked = started.and_then(|host_group| {
        // What is provisioned does not exist yet.
        let known = Plan { cells: plan.cells.iter().filter(exists).cloned().collect(), ..plan.clone() };
        let requests = OpenRequests::of_run(&known, &host_group, &run, options, &**secrets);
        let looked = host_group::fits(plan, &host_group)
            .map(|()| {
                let mut found = look(&requests, Depth::of(options, false), &**events);
                let provisions = options.preflight.then(|| provisions(plan, &id, options, stop));
                found.findings.extend(provisions.flatten());
                found
            })
            .map_err(|error| RunError::Usage(error.to_string()));
        host_group.end();
        looked
    });
    drop(run);
    // The journal is removed with its last holder.
    let _ = std::fs::remove_dir(&directory);
    looked
}

/// Whether a cell's target is there before the run.
fn exists(cell: &&Cell) -> bool {
    cell.target.provision.is_none()
}

/// What keeps a run from provisioning what its targets need.
fn provisions(plan: &Plan, run: &RunId, options: &RunOptions, stop: &StopToken) -> Option<Finding> {
    let access = ToolAccess { login: options.login.clone(), stop: &|| stop.is_requested() };
    let fault = provisioners::look(plan, &run.object_name(), &access).err()?;
    Some(Finding { kind: FindingKind::Failure, text: fault.to_string() })
}

/// How thoroughly targets are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Mistakes in the plan, and devices that must not be overwritten.
    Written,
    /// Also whether targets answer and may be used.
    Reachable,
    /// Also whether there is space for all data.
    Room,
}

impl Depth {
    /// The depth that the options ask for; a resumed run's data is already there.
    pub fn of(options: &RunOptions, resumed: bool) -> Self {
        match (options.preflight, resumed) {
            (false, _) => Depth::Written,
            (true, true) => Depth::Reachable,
            (true, false) => Depth::Room,
        }
    }
}

/// One cell for each target of the plan and each use of files that the user named there, preferably one that changes
/// it, since it requires the most.
pub fn targets(plan: &Plan) -> Vec<&Cell> {
    let mut targets: Vec<&Cell> = Vec::new();
    for (at, cell) in plan.cells.iter().enumerate() {
        if plan.cells[..at].iter().any(|earlier| leaves_files(earlier, cell)) {
            continue;
        }
        match targets.iter_mut().find(|known| known.target == cell.target && same_files(known, cell)) {
            None => targets.push(cell),
            Some(known) if !load::changes_device(known) && load::changes_device(cell) => *known = cell,
            Some(_) => {}
        }
    }
    targets
}

/// Whether two cells of a target require the same of files that the user named, if any.
fn same_files(one: &Cell, other: &Cell) -> bool {
    let requires = |cell: &Cell| {
        let load = &cell.workload;
        (load.files(), load.file_bytes(), load.block_sizes().into_owned(), load::verifies(cell))
    };
    match (one.workload.user_files(), other.workload.user_files()) {
        (None, None) => true,
        (Some(files), Some(others)) => files == others && requires(one) == requires(other),
        _ => false,
    }
}

/// Whether a cell's files with names are there, in full size, once an earlier cell has filled them.
fn leaves_files(earlier: &Cell, cell: &Cell) -> bool {
    let (Some(made), Some(needed)) = (earlier.workload.user_files(), cell.workload.user_files()) else {
        return false;
    };
    let size = |cell: &Cell| (cell.workload.files(), cell.workload.file_bytes());
    let ((files, bytes), (needed_files, needed_bytes)) = (size(earlier), size(cell));
    let there = made.create && !needed.create && made.names == needed.names;
    there && earlier.target == cell.target && files >= needed_files && bytes >= needed_bytes
}

/// Checks every target from every host, in parallel.
pub fn look(requests: &OpenRequests<'_>, depth: Depth, events: &dyn Events) -> Preflight {
    let cells = targets(requests.plan);
    let mut looks: Vec<Option<Looks>> = cells.iter().map(|_| None).collect();
    let (next, (tell, told)) = (AtomicUsize::new(0), channel());
    std::thread::scope(|scope| {
        for _ in 0..cells.len().min(SIDE_BY_SIDE) {
            let (tell, next, cells) = (tell.clone(), &next, &cells);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(cell) = cells.get(at) else { return };
                    // The receiver waits until all have ended.
                    let _ = tell.send((at, one_target(requests, cell, FIRST_SITE - at as SiteId, depth)));
                }
            });
        }
        drop(tell);
        let mut silent = true;
        loop {
            match told.recv_timeout(SILENCE) {
                Ok((at, seen)) => looks[at] = Some(seen),
                Err(RecvTimeoutError::Timeout) if silent => {
                    silent = false;
                    let waiting = cells.iter().zip(&looks).filter(|(_, look)| look.is_none());
                    events.note(&connecting(waiting.map(|(cell, _)| &*cell.target.url)));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    });
    let names = requests.host_group.names();
    let apart = requests.host_group.tells_hosts_apart();
    let mut found = Preflight::default();
    let mut spaces = Vec::new();
    for (cell, looks) in cells.iter().zip(looks) {
        let Looks(looks) = looks.unwrap_or_default();
        let mut lines = gathered(&looks, &names, apart, (cells.len() > 1).then_some(*cell));
        // Cells that use the same files find the same.
        lines.retain(|line| !found.findings.contains(line));
        found.findings.append(&mut lines);
        if let Some((_, first)) = looks.iter().find(|(_, look)| !look.seen.is_empty()) {
            let available = looks.iter().filter_map(|(_, look)| Some(look.space.as_ref()?.available_bytes));
            let look = TargetLook {
                target: cell.target.name.clone(),
                seen: first.seen.clone(),
                available_bytes: available.min(),
                needed_bytes: space::most_bytes(requests.plan, &cell.place()),
            };
            if !found.targets.contains(&look) {
                found.targets.push(look);
            }
        }
        let remote = targets::kind_of(&cell.target.url).is_some_and(|kind| kind.remote);
        spaces.extend(looks.into_iter().filter_map(|(member, look)| {
            let machine = requests.host_group.machine(member);
            let host = match (remote, machine) {
                (true, _) => "",
                (false, "") => &*names[member],
                (false, machine) => machine,
            };
            Some(HostSpace { host: host.to_owned(), place: cell.place(), space: look.space? })
        }));
    }
    if depth == Depth::Room {
        found.findings.extend(space::faults(requests.plan, &spaces));
    }
    found.findings.truncate(MAX_FINDINGS);
    found
}

/// `connecting to nfs://filer/export (for at most 10 s)`.
fn connecting<'a>(urls: impl Iterator<Item = &'a str>) -> String {
    let urls: Vec<&str> = urls.collect();
    let more = urls.len().saturating_sub(3);
    let shown = urls[..urls.len() - more].join(", ");
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("connecting to {shown}{more} (for at most {} s)", Patience::default().connect.as_secs())
}

/// What each host found about a target, by host number.
#[derive(Default)]
struct Looks(Vec<(usize, Look)>);

fn one_target(requests: &OpenRequests<'_>, cell: &Cell, site: SiteId, depth: Depth) -> Looks {
    let host_group = requests.host_group;
    let names = host_group.names();
    let members = host_group.alive();
    let mut openings = match requests.openings(cell, site, &members) {
        Ok(openings) => openings,
        Err(error) => {
            return Looks(vec![(0, Look::default().with(FindingKind::Misuse, error.to_string()))]);
        }
    };
    let journals = requests.run.path().parent().unwrap_or(Path::new("."));
    for (member, opening) in &mut openings {
        let settled = settled_on(journals, &names[*member]);
        opening.settled = settled.iter().map(ToString::to_string).collect();
    }
    let mut looks = Vec::new();
    let mut open = Vec::new();
    for (member, answer) in host_group.open(openings) {
        match answer {
            Ok(_) => {
                // If this cannot be recorded, the host is told again next time.
                let _ = settled_told(journals, &names[member]);
                open.push(member);
            }
            Err(Trouble::Refused(refusal)) if refusal.input || depth != Depth::Written => {
                looks.push((member, refused(refusal)));
            }
            // The loss of a host was already reported; cells will report what does not answer.
            Err(_) => {}
        }
    }
    // Without checks, whether a remote device may be overwritten is left to the cells, too: nothing is contacted.
    let device = targets::kind_of(&cell.target.url)
        .is_some_and(|kind| kind.device && (!kind.remote || depth != Depth::Written));
    // Job files are checked when they are laid out, and the outcome is the job's own result.
    if device || (depth != Depth::Written && cell.workload.stream().is_none()) {
        for (member, answer) in host_group.act(&open, site, &Act::Look) {
            match answer {
                Ok(Reply::Looked(look)) => looks.push((member, look)),
                Err(Trouble::Refused(refusal)) => looks.push((member, refused(refusal))),
                Ok(_) | Err(_) => {}
            }
        }
    }
    // A lost host has forgotten it anyway.
    let _ = host_group.act(&open, site, &Act::Close);
    looks.sort_by_key(|(member, _)| *member);
    Looks(looks)
}

fn refused(refusal: HostRefusal) -> Look {
    let kind = if refusal.input { FindingKind::Misuse } else { FindingKind::Failure };
    Look::default().with(kind, refusal.text)
}

/// Findings, with the host's name if there are several hosts, and the target's (`named`) if the text contains neither
/// that nor its URL. Findings that several hosts share become one line.
fn gathered(looks: &[(usize, Look)], names: &[String], apart: bool, named: Option<&Cell>) -> Vec<Finding> {
    // Equal except for the host's own name, as in a path that contains it.
    let alike = |(one, of_one): (usize, &Finding), (other, of_other): (usize, &Finding)| {
        let without = |member: usize, finding: &Finding| finding.text.replace(&names[member], "");
        of_one.kind == of_other.kind && without(one, of_one) == without(other, of_other)
    };
    let mut lines: Vec<(usize, usize, &Finding)> = Vec::new();
    for (member, finding) in
        looks.iter().flat_map(|(member, look)| look.findings.iter().map(move |f| (*member, f)))
    {
        match lines.iter_mut().find(|(at, _, known)| alike((*at, known), (member, finding))) {
            Some((_, others, _)) => *others += 1,
            None => lines.push((member, 0, finding)),
        }
    }
    let line = |(member, others, Finding { kind, text }): (usize, usize, &Finding)| {
        let of_target = named
            .map(|cell| &cell.target)
            .filter(|target| ![&target.name, &target.url].iter().any(|name| text.contains(name.as_str())))
            .map(|target| format!("target {}: ", target.name))
            .unwrap_or_default();
        let more = match others {
            0 => String::new(),
            1 => " (and another host)".to_owned(),
            more => format!(" (and {more} other hosts)"),
        };
        let host = if apart { format!("{}{more}: ", names[member]) } else { String::new() };
        Finding { kind: *kind, text: format!("{host}{of_target}{text}") }
    };
    lines.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(texts: &[&str]) -> Look {
        texts.iter().fold(Look::default(), |look, text| look.with(FindingKind::Failure, (*text).to_owned()))
    }

    #[test]
    fn what_hosts_find_alike_is_one_line() {
        let names = ["one".to_owned(), "two".to_owned(), "three".to_owned()];
        let looks = [(0, look(&["no answer"])), (1, look(&["no answer", "full"])), (2, look(&["no answer"]))];
        let texts = |apart| -> Vec<String> {
            gathered(&looks, &names, apart, None).into_iter().map(|finding| finding.text).collect()
        };
        assert_eq!(texts(true), ["one (and 2 other hosts): no answer", "two: full"]);
        assert_eq!(texts(false), ["no answer", "full"]);
    }

    #[test]
    fn what_is_waited_for_is_named_and_a_long_list_is_cut() {
        assert_eq!(connecting(["nfs://a/b"].into_iter()), "connecting to nfs://a/b (for at most 10 s)");
        let urls = ["a", "b", "c", "d", "e"];
        assert_eq!(connecting(urls.into_iter()), "connecting to a, b, c and 2 more (for at most 10 s)");
    }

    #[test]
    fn faults_stop_a_run_and_warnings_do_not() {
        let warned = Look::default().with(FindingKind::Warning, "clock".into());
        let mut seen = Preflight { findings: warned.findings, ..Preflight::default() };
        assert_eq!((seen.verdict(), seen.warnings().count()), (Ok(()), 1));
        seen.findings.extend(look(&["a", "b"]).findings);
        let Err(RunError::NotReady(faults)) = seen.verdict() else { panic!("two faults") };
        assert_eq!(faults.len(), 2);
    }
}
