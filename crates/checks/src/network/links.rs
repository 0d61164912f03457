//! Measures links with the members of a host group: one listens, one connects, and both run a stage on the same peer.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU32, Ordering};

use engine::{Control, StageContext};
use experiment::Cell;
use fleet::{Act, HostGroup, HostShare, OpenOrder, StageRequest, StageTask, StageUpdate, Trouble};
use provision::RunId;
use runner::StopToken;
use stats::{LinkFacts, NetworkLink, NetworkPathMtu};
use store::CellResult;
use targets::Patience;

use super::facts::facts;
use super::link_error::LinkError;
use super::pairs::LinkDirection;
use super::path_mtu;
use super::plan::{LinkStep, cells};
use super::stored::{self, StoredLinks};
use crate::cell_measure::CellMeasure;
use crate::measurement_start::MeasurementStart;

/// How to measure links.
#[derive(Clone, Debug)]
pub struct LinkLoad {
    /// Measured seconds.
    pub seconds: f64,
    /// Ramp before them, in seconds.
    pub ramp_s: f64,
    /// Bytes per system call.
    pub block_bytes: u64,
    /// First port to listen on.
    pub port: u16,
    /// How to submit I/O to the kernel.
    pub reactor: reactor::BackendChoice,
}

/// Measures links.
pub trait MeasureLinks: Sync {
    /// Measures the links of a step at the same time; a link that cannot be measured carries the reason.
    fn measure(&self, step: &LinkStep) -> Vec<NetworkLink>;

    /// Finds the path MTU of links, all at the same time; a link whose probes get no answer carries the reason.
    fn path_mtus(&self, links: &[LinkDirection]) -> Vec<NetworkPathMtu>;
}

/// Measures with the members of a host group.
pub struct HostGroupLinks<'a> {
    pub(super) host_group: &'a HostGroup,
    addresses: Vec<IpAddr>,
    /// A run id for each member's journal: several journals may share a directory.
    runs: Vec<String>,
    load: LinkLoad,
    stop: StopToken,
    stored: &'a StoredLinks,
    next_site: AtomicU32,
}

/// The result of a link.
struct MeasuredLink {
    /// Received bytes per second in each interval.
    rates: Vec<f64>,
    /// The sending kernel's view.
    tcp: LinkFacts,
    /// The result to be stored.
    kept: CellResult,
}

/// A measurement's sites on its two members.
pub(super) struct LinkFlow {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) site: u32,
    listen: SocketAddr,
}

impl<'a> HostGroupLinks<'a> {
    /// For a host group whose members have these addresses, in member order.
    pub fn new(
        host_group: &'a HostGroup,
        addresses: Vec<IpAddr>,
        load: LinkLoad,
        stop: StopToken,
        stored: &'a StoredLinks,
    ) -> Self {
        let runs = addresses.iter().map(|_| RunId::random().to_string()).collect();
        Self { host_group, addresses, runs, load, stop, stored, next_site: AtomicU32::new(1) }
    }

    fn address(&self, host: u32) -> Result<IpAddr, LinkError> {
        self.addresses.get(host as usize).copied().ok_or(LinkError::NoAddress(host))
    }

    /// Runs something for every link at the same time; each is given its place among them, and so its own port.
    fn at_once<T: Send>(
        &self,
        links: &[LinkDirection],
        work: impl Fn(LinkDirection, u16, u16) -> T + Sync,
    ) -> Vec<T> {
        let work = &work;
        std::thread::scope(|scope| {
            let numbered = (0u16..).zip(links);
            let started: Vec<_> = numbered
                .map(|(number, link)| {
                    let port = self.load.port.saturating_add(number);
                    scope.spawn(move || work(*link, number, port))
                })
                .collect();
            started.into_iter().filter_map(|thread| thread.join().ok()).collect()
        })
    }

    /// Measures one link, from opening to closing.
    fn link(&self, (from, to): LinkDirection, port: u16, step: &LinkStep, cell: u32) -> NetworkLink {
        let mut link = NetworkLink {
            from,
            to,
            streams: step.streams,
            both_ways: step.both_ways,
            throughput: None,
            failure: None,
            from_address: self.address(from).ok().map(|ip| ip.to_string()),
            to_address: self.address(to).ok().map(|ip| ip.to_string()),
            tcp: LinkFacts::default(),
        };
        let started = self.stored.begin_cell(cell);
        let measured = match self.with_open((from, to), port, step.streams, &|flow| self.run(flow, cell)) {
            Ok(mut measured) => {
                link.throughput = Some(stats::estimate(&measured.rates));
                let addresses = [link.from_address.as_ref(), link.to_address.as_ref()];
                stored::evidence(&mut measured.kept, &measured.tcp, addresses);
                link.tcp = measured.tcp;
                Ok(measured.kept)
            }
            Err(error) => {
                link.failure = Some(error.to_string());
                Err(error)
            }
        };
        self.stored.end_cell(cell, started, measured, self.stop.is_requested());
        link
    }

    /// Opens the sites of a link, runs something with them, and closes them.
    pub(super) fn with_open<T>(
        &self,
        (from, to): LinkDirection,
        port: u16,
        streams: u32,
        work: &dyn Fn(&LinkFlow) -> Result<T, LinkError>,
    ) -> Result<T, LinkError> {
        let listen = SocketAddr::new(self.address(to)?, port);
        let site = self.next_site.fetch_add(1, Ordering::Relaxed);
        let flow = LinkFlow { from: from as usize, to: to as usize, site, listen };
        let done = self.open(&flow, streams).and_then(|()| work(&flow));
        // A site that is no longer open needs no closing.
        let _ = self.host_group.act(&[flow.from, flow.to], flow.site, &Act::Close);
        done
    }

    fn open(&self, flow: &LinkFlow, streams: u32) -> Result<(), LinkError> {
        let [receiver, sender] = cells(flow.listen, streams, &self.load)?;
        let run = |member: usize| self.runs.get(member).cloned().unwrap_or_default();
        let opening = |member: usize, cell: Cell| OpenOrder {
            site: flow.site,
            cell: Box::new(cell),
            part: HostShare::WHOLE,
            run: run(member),
            place: run(member),
            key: None,
            seed: 1,
            draws: 1,
            own_cores: !self.host_group.shares_machine(member),
            reactor: self.load.reactor.to_string(),
            patience: Patience::default(),
            destroy: Vec::new(),
            settled: Vec::new(),
        };
        let answers = self
            .host_group
            .open(vec![(flow.to, opening(flow.to, receiver)), (flow.from, opening(flow.from, sender))]);
        self.first_trouble(answers.into_iter().filter_map(|(member, answer)| Some((member, answer.err()?))))
    }

    fn first_trouble(&self, mut troubles: impl Iterator<Item = (usize, Trouble)>) -> Result<(), LinkError> {
        troubles.next().map_or(Ok(()), |(member, trouble)| Err(self.trouble(member, trouble)))
    }

    pub(super) fn trouble(&self, member: usize, trouble: Trouble) -> LinkError {
        let host = self.host_group.names().get(member).cloned().unwrap_or_else(|| "?".to_owned());
        LinkError::Host { host, trouble }
    }

    /// Loads an open link, storing what arrives as it arrives.
    fn run(&self, flow: &LinkFlow, cell: u32) -> Result<MeasuredLink, LinkError> {
        let request = StageRequest {
            warm_up_s: self.load.ramp_s,
            limit_s: self.load.seconds,
            alone: false,
            ..StageRequest::to_the_end(flow.site, StageTask::Measure { generation: 0 })
        };
        let control = Control::new();
        let _governed = self.stop.governs(&control);
        let names = self.host_group.names();
        let mut rates = Vec::new();
        let mut measure = CellMeasure::new(self.load.seconds);
        let mut start = MeasurementStart::default();
        let result = self.host_group.run_stage(
            vec![(flow.to, request.clone()), (flow.from, request)],
            StageContext::default(),
            &control,
            &mut |seen| match seen {
                StageUpdate::Part { member, interval } if member == flow.to && interval.length_ns > 0 => {
                    start.interval(interval);
                    rates.push(interval.bytes() as f64 * 1e9 / interval.length_ns as f64);
                    measure.add(interval);
                    self.stored.interval(cell, interval);
                }
                StageUpdate::Sample { member, sample } => {
                    if let (Some(at_ns), Some(name)) = (start.elapsed_ns(), names.get(member)) {
                        self.stored.sample(cell, name, at_ns, sample);
                    }
                }
                StageUpdate::Part { .. } | StageUpdate::Whole(_) => {}
            },
        )?;
        let part = |member: usize| result.parts.iter().find(|part| part.member == member);
        if let Some((host, why)) =
            result.parts.iter().find_map(|part| Some((&part.name, part.lost.as_ref()?)))
        {
            return Err(LinkError::Lost { host: host.clone(), why: why.clone() });
        }
        let (Some(received), Some(sent)) = (part(flow.to), part(flow.from)) else {
            return Err(LinkError::NoAnswer);
        };
        if received.result.total.bytes() == 0 {
            let samples = received.result.error_samples.iter().chain(&sent.result.error_samples);
            let why = samples.map(|(_, text)| text.clone()).next();
            return Err(why.map_or(LinkError::Nothing, LinkError::Operation));
        }
        if rates.is_empty() {
            rates.push(received.result.bytes_per_s());
            measure.add(&received.result.total);
        }
        measure.end_stage(self.load.ramp_s, &received.result);
        let tcp = facts(&sent.result, self.load.ramp_s + self.load.seconds);
        Ok(MeasuredLink { rates, tcp, kept: measure.finish() })
    }
}

impl MeasureLinks for HostGroupLinks<'_> {
    fn measure(&self, step: &LinkStep) -> Vec<NetworkLink> {
        self.at_once(&step.directions(), |link, place, port| {
            self.link(link, port, step, step.first_cell + u32::from(place))
        })
    }

    fn path_mtus(&self, links: &[LinkDirection]) -> Vec<NetworkPathMtu> {
        self.at_once(links, |link, _, port| path_mtu::probe(self, link, port))
    }
}
