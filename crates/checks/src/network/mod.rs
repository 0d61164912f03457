//! Measures the network between the hosts of a fleet, and finds links that are worse than the others.
//!
//! The stages, in order: request, agents, rounds of links, the matrix, the verdict.

mod addresses;
mod document;
mod facts;
mod link_error;
mod links;
mod pairs;
mod path_mtu;
mod plan;
mod stored;
#[cfg(test)]
mod tests;
mod words;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use experiment::{Fleet, Launcher, Plan};
use fleet::launch::SshLogin;
use fleet::{FleetEvent, HostGroup};
use host::ADDRESS;
use runner::{Events, RunEvent, StopToken, start_fleet, timestamp};
use stats::{NetworkJudgement, NetworkLink, NetworkMatrix, judge_network};
use store::{RunMaker, RunRecord, Store};
use units::ByteRate;

use crate::error::CheckError;
use crate::record_options::RecordOptions;
use crate::stored::{keep_failure, record};
use links::{HostGroupLinks, LinkLoad, MeasureLinks};
use pairs::LinkDirection;
use plan::LinkStep;
pub use plan::way as link_way;
use stored::StoredLinks;
pub use words::verdict as network_verdict;

/// Which links to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkChoice {
    /// Every pair of hosts, from the earlier to the later.
    EachPair,
    /// Every pair of hosts, each direction separately.
    BothDirections,
    /// These, as `a:b,c:d`.
    Named(String),
}

/// How to measure the network between hosts.
#[derive(Clone, Debug)]
pub struct NetworkRequest {
    /// Which hosts, and how agents are started there.
    pub launcher: Launcher,
    /// How to log in to the hosts by ssh.
    pub login: SshLogin,
    /// Which links.
    pub links: LinkChoice,
    /// Also measure both directions of each pair at the same time.
    pub duplex: bool,
    /// TCP connections per link; each number is a separate measurement.
    pub streams: Vec<u32>,
    /// Measured time of each link.
    pub duration: Duration,
    /// Ramp before it, which is not counted.
    pub ramp: Duration,
    /// Measure pairs without a common host at the same time.
    pub parallel: bool,
    /// Bytes per system call.
    pub block_bytes: u64,
    /// Addresses at which the hosts reach each other, by host name.
    pub addresses: Vec<(String, IpAddr)>,
    /// First port on which the hosts listen for each other.
    pub port: u16,
    /// How to submit I/O to the kernel.
    pub reactor: reactor::BackendChoice,
    /// How it is recorded.
    pub record: RecordOptions,
}

impl NetworkRequest {
    /// Each pair of these hosts, with the defaults.
    pub fn new(launcher: Launcher) -> Self {
        Self {
            launcher,
            login: SshLogin::default(),
            links: LinkChoice::EachPair,
            duplex: false,
            streams: vec![1, 8],
            duration: Duration::from_secs(5),
            ramp: Duration::from_secs(1),
            parallel: false,
            block_bytes: 256 << 10,
            addresses: Vec::new(),
            port: 18_700,
            reactor: reactor::BackendChoice::Auto,
            record: RecordOptions::default(),
        }
    }

    fn load(&self) -> LinkLoad {
        LinkLoad {
            seconds: self.duration.as_secs_f64(),
            ramp_s: self.ramp.as_secs_f64(),
            block_bytes: self.block_bytes,
            port: self.port,
            reactor: self.reactor,
        }
    }
}

/// Results of a network measurement.
#[derive(Clone, Debug)]
pub struct NetworkReport {
    /// When the measurement started.
    pub taken: jiff::Timestamp,
    /// Measured seconds of each link.
    pub seconds: f64,
    /// Whether pairs without a common host were measured at the same time.
    pub parallel: bool,
    /// Every link.
    pub matrix: NetworkMatrix,
    /// Which links are worse than the others.
    pub judgement: NetworkJudgement,
}

impl NetworkReport {
    /// True when every link could be measured and none is worse than the others.
    pub fn success(&self) -> bool {
        self.judgement.findings.is_empty() && self.judgement.failed.is_empty()
    }
}

/// Measures the network between the hosts of a fleet, without storage. The measurement is stored like a run.
///
/// # Errors
/// The results file cannot be written, the hosts are not available, the request names unknown hosts, or a stop was
/// requested.
pub fn network(
    request: &NetworkRequest,
    events: &Arc<dyn Events>,
    stop: &StopToken,
) -> Result<NetworkReport, CheckError> {
    let taken = timestamp::now();
    let store = request.record.open()?;
    let id = request.record.id().to_string();
    let head = |plan| record(RunMaker::Network, &id, plan, taken, Vec::new(), &request.record.command);
    let host_group = match start(request, events, stop) {
        Ok(host_group) => host_group,
        Err(error @ CheckError::Usage(_)) => return Err(error),
        Err(error) => {
            let head = head(plan::without_links(&request.load())?);
            keep_failure(Some(store), RunMaker::Network, &head, &error, stop, events);
            return Err(error);
        }
    };
    let measured = between(request, &host_group, (store, &head), events, stop);
    host_group.end();
    let (matrix, judgement) = measured?;
    let (seconds, parallel) = (request.duration.as_secs_f64(), request.parallel);
    Ok(NetworkReport { taken, seconds, parallel, matrix, judgement })
}

/// Starts the agents on all hosts.
fn start(
    request: &NetworkRequest,
    events: &Arc<dyn Events>,
    stop: &StopToken,
) -> Result<HostGroup, CheckError> {
    let told = Arc::clone(events);
    let of_hosts = move |event: FleetEvent| match event {
        FleetEvent::Lost { name, why, .. } => told.warn(&format!("{name}: lost: {why}")),
        FleetEvent::Said { name, text, .. } => told.note(&format!("{name}: {text}")),
    };
    let fleet = Fleet::of(request.launcher.clone());
    Ok(start_fleet(&fleet, &request.login, events, stop, Arc::new(of_hosts))?)
}

/// Measures the links between hosts and judges them.
fn between(
    request: &NetworkRequest,
    host_group: &HostGroup,
    (store, head): (Store, &dyn Fn(Plan) -> RunRecord),
    events: &Arc<dyn Events>,
    stop: &StopToken,
) -> Result<(NetworkMatrix, NetworkJudgement), CheckError> {
    let hosts = host_group.names();
    let links = wanted(&request.links, &hosts)?;
    let own = |member: usize| host_group.host_facts(member).get(ADDRESS)?.parse().ok();
    let addresses = addresses::of(&request.launcher, &hosts, &request.addresses, &own)?;
    let load = request.load();
    let steps = plan::steps(request, &links, hosts.len());
    let mut plan = plan::of_network(&steps, &hosts, &addresses, &load)?;
    plan.fleet = Some(Fleet::of(request.launcher.clone()));
    let stored = StoredLinks::begin(Some(store), &head(plan), host_group, events)?;
    let measures = HostGroupLinks::new(host_group, addresses, load, stop.clone(), &stored);
    match measure(&measures, &steps, hosts, stop, &**events) {
        Ok(matrix) => {
            let judgement = judge_network(&matrix);
            stored.finish(&steps, (&matrix, &judgement), stop);
            Ok((matrix, judgement))
        }
        Err(error) => {
            stored.fail(&error, stop);
            Err(error)
        }
    }
}

/// Why there are no links to measure.
#[derive(Debug, thiserror::Error)]
enum LinkChoiceError {
    #[error("more hosts than can be numbered")]
    TooManyHosts,
    #[error("a single host has no links; next: name two or more")]
    SingleHost,
    #[error(transparent)]
    Pair(#[from] pairs::PairError),
}

/// The requested links.
fn wanted(choice: &LinkChoice, hosts: &[String]) -> Result<Vec<LinkDirection>, LinkChoiceError> {
    let count = u32::try_from(hosts.len()).map_err(|_| LinkChoiceError::TooManyHosts)?;
    if count < 2 {
        return Err(LinkChoiceError::SingleHost);
    }
    match choice {
        LinkChoice::Named(text) => Ok(pairs::named(text, hosts)?),
        LinkChoice::EachPair => Ok(pairs::every(count, false)),
        LinkChoice::BothDirections => Ok(pairs::every(count, true)),
    }
}

impl From<LinkChoiceError> for CheckError {
    fn from(error: LinkChoiceError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<addresses::AddressError> for CheckError {
    fn from(error: addresses::AddressError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<link_error::LinkPlanError> for CheckError {
    fn from(error: link_error::LinkPlanError) -> Self {
        Self::Failure(error.to_string())
    }
}

/// Measures all links, step by step.
fn measure(
    measures: &dyn MeasureLinks,
    steps: &[LinkStep],
    hosts: Vec<String>,
    stop: &StopToken,
    events: &dyn Events,
) -> Result<NetworkMatrix, CheckError> {
    let mut matrix = NetworkMatrix { hosts, ..NetworkMatrix::default() };
    for (done, step) in (0..).zip(steps) {
        if stop.is_requested() {
            return Err(CheckError::Stopped("interrupted".to_owned()));
        }
        events.event(RunEvent::StepBegan { done, steps: steps.len() as u64, label: "measuring links" });
        probe(measures, &mut matrix, &step.directions());
        for link in measures.measure(step) {
            events.note(&line(&matrix, &link));
            matrix.links.push(link);
        }
    }
    events.event(RunEvent::Ended);
    Ok(matrix)
}

/// `a → b, 8 streams: 3.1 GB/s`
fn line(matrix: &NetworkMatrix, link: &NetworkLink) -> String {
    let way = if link.both_ways { ", both ways" } else { "" };
    let streams = if link.streams == 1 { "1 stream".to_owned() } else { format!("{} streams", link.streams) };
    let outcome = match (&link.throughput, &link.failure) {
        (Some(estimate), _) => ByteRate(estimate.mean).to_string(),
        (None, why) => format!("failed: {}", why.as_deref().unwrap_or("unknown")),
    };
    format!("{}, {streams}{way}: {outcome}", matrix.name(link.from, link.to))
}

/// Finds the path MTU of links where it is still unknown, before they are loaded: a full link would lose probes, and
/// the load depends on what the kernel learns from them.
fn probe(measures: &dyn MeasureLinks, matrix: &mut NetworkMatrix, links: &[LinkDirection]) {
    let all = links.iter().copied();
    let new: Vec<LinkDirection> = all.filter(|(from, to)| matrix.path_mtu(*from, *to).is_none()).collect();
    if !new.is_empty() {
        matrix.path_mtus.extend(measures.path_mtus(&new));
    }
}
