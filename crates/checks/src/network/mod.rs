//! What the network between the hosts of a fleet gives, and which link is worse than the others.
//!
//! One way: request, agents, rounds of links, the matrix, the judgement.

mod addresses;
mod facts;
mod links;
mod pairs;
mod path_mtu;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use experiment::{Fleet, Launcher};
use fleet::FleetEvent;
use host::ADDRESS;
use provision::ApiSecret;
use runner::{Events, RunEvent, StopToken, start_fleet, timestamp};
use stats::{NetworkJudgement, NetworkLink, NetworkMatrix, judge_network};
use units::ByteRate;

use crate::error::CheckError;
use links::{HostGroupLinks, LinkLoad, MeasureLinks};
use pairs::LinkDirection;

/// Which links are measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkChoice {
    /// Every two hosts, from the earlier to the later.
    EachPair,
    /// Every two hosts, each direction by itself.
    BothDirections,
    /// These, as `a:b,c:d`.
    Named(String),
}

/// How the network between hosts is measured.
#[derive(Clone, Debug)]
pub struct NetworkRequest {
    /// Which hosts, and how agents are started there.
    pub launcher: Launcher,
    /// The password of the hosts.
    pub password: Option<ApiSecret>,
    /// Which links.
    pub links: LinkChoice,
    /// Both directions of each pair at the same time as well.
    pub duplex: bool,
    /// TCP connections of a link; each number is a measurement of its own.
    pub streams: Vec<u32>,
    /// Measured time of each link.
    pub duration: Duration,
    /// Time before that is not counted.
    pub ramp: Duration,
    /// Pairs without a common host are measured at the same time.
    pub parallel: bool,
    /// Bytes handed to the kernel at once.
    pub block_bytes: u64,
    /// Addresses of hosts for each other, by their names.
    pub addresses: Vec<(String, IpAddr)>,
    /// First port on which the hosts listen for each other.
    pub port: u16,
    /// How the kernel is asked for I/O.
    pub reactor: reactor::BackendChoice,
}

/// What the network between hosts gives.
#[derive(Clone, Debug)]
pub struct NetworkReport {
    /// When the measurement began.
    pub taken: jiff::Timestamp,
    /// Every link.
    pub matrix: NetworkMatrix,
    /// Which of them are worse than the others.
    pub judgement: NetworkJudgement,
}

impl NetworkReport {
    /// True when every link could be measured and none is worse than the others.
    pub fn success(&self) -> bool {
        self.judgement.findings.is_empty() && self.judgement.failed.is_empty()
    }
}

/// Measures the network between the hosts of a fleet, without storage.
///
/// # Errors
/// The hosts cannot be had, what is asked for names none of them, or a stop came.
pub fn network(
    request: &NetworkRequest,
    events: &Arc<dyn Events>,
    stop: &StopToken,
) -> Result<NetworkReport, CheckError> {
    let taken = timestamp::now();
    let told = Arc::clone(events);
    let of_hosts = move |event: FleetEvent| match event {
        FleetEvent::Lost { name, why, .. } => told.warn(&format!("{name}: lost: {why}")),
        FleetEvent::Said { name, text, .. } => told.note(&format!("{name}: {text}")),
    };
    let fleet = Fleet::of(request.launcher.clone());
    let host_group = start_fleet(&fleet, request.password.as_ref(), events, stop, Arc::new(of_hosts))?;
    let hosts = host_group.names();
    let outcome = (|| {
        let links = wanted(&request.links, &hosts).map_err(CheckError::Usage)?;
        let own = |member: usize| host_group.host_facts(member).get(ADDRESS)?.parse().ok();
        let addresses = addresses::of(&request.launcher, &hosts, &request.addresses, &own);
        let load = LinkLoad {
            seconds: request.duration.as_secs_f64(),
            ramp_s: request.ramp.as_secs_f64(),
            block_bytes: request.block_bytes,
            port: request.port,
            reactor: request.reactor,
        };
        let measures =
            HostGroupLinks::new(&host_group, addresses.map_err(CheckError::Usage)?, load, stop.clone());
        measure(&measures, request, hosts, &links, stop, &**events)
    })();
    host_group.end();
    let matrix = outcome?;
    let judgement = judge_network(&matrix);
    Ok(NetworkReport { taken, matrix, judgement })
}

/// The links that are asked for.
fn wanted(choice: &LinkChoice, hosts: &[String]) -> Result<Vec<LinkDirection>, String> {
    let count = u32::try_from(hosts.len()).map_err(|_| "more hosts than can be numbered".to_owned())?;
    if count < 2 {
        return Err("one host has no link; next: name two or more".to_owned());
    }
    match choice {
        LinkChoice::Named(text) => pairs::named(text, hosts),
        LinkChoice::EachPair => Ok(pairs::every(count, false)),
        LinkChoice::BothDirections => Ok(pairs::every(count, true)),
    }
}

/// Measures all links in all ways, in rounds.
fn measure(
    measures: &dyn MeasureLinks,
    request: &NetworkRequest,
    hosts: Vec<String>,
    links: &[LinkDirection],
    stop: &StopToken,
    events: &dyn Events,
) -> Result<NetworkMatrix, CheckError> {
    let count = u32::try_from(hosts.len()).unwrap_or(u32::MAX);
    let mut rounds = pairs::rounds(links, count);
    if !request.parallel {
        // One link at a time, in the order of the rounds: a host rests between its links where that can be.
        rounds = rounds.into_iter().flatten().map(|link| vec![link]).collect();
    }
    let mut ways: Vec<(u32, bool)> = request.streams.iter().map(|streams| (*streams, false)).collect();
    if request.duplex {
        ways.extend(request.streams.iter().map(|streams| (*streams, true)));
    }
    let steps = (rounds.len() * ways.len()) as u64;
    let mut done = 0;
    let mut matrix = NetworkMatrix { hosts, ..NetworkMatrix::default() };
    for (streams, both_ways) in ways {
        for round in &rounds {
            // A pair that is measured both ways is measured once.
            let both_listed =
                |link: &&LinkDirection| both_ways && link.0 > link.1 && links.contains(&(link.1, link.0));
            let now: Vec<LinkDirection> = round.iter().filter(|link| !both_listed(link)).copied().collect();
            if stop.is_requested() {
                return Err(CheckError::Stopped("interrupted".to_owned()));
            }
            events.event(RunEvent::StepBegan { done, steps, label: "measuring links" });
            probe(measures, &mut matrix, &now, both_ways);
            for link in measures.measure(&now, streams, both_ways) {
                events.note(&line(&matrix, &link));
                matrix.links.push(link);
            }
            done += 1;
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

/// Finds how large packets may be on links of which that is not known yet, before they are loaded: probes of a full link get
/// lost, and what the kernel learns by them the load needs.
fn probe(measures: &dyn MeasureLinks, matrix: &mut NetworkMatrix, links: &[LinkDirection], both_ways: bool) {
    let back = links.iter().map(|(from, to)| (*to, *from)).filter(|_| both_ways);
    let all = links.iter().copied().chain(back);
    let new: Vec<LinkDirection> = all.filter(|(from, to)| matrix.path_mtu(*from, *to).is_none()).collect();
    if !new.is_empty() {
        matrix.path_mtus.extend(measures.path_mtus(&new));
    }
}
