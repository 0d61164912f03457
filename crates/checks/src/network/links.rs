//! Links are measured by the members of a host group: one listens, one connects, both run a stage on the same peer.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU32, Ordering};

use engine::{Control, StageContext};
use experiment::{Cell, Settings, SourceText};
use fleet::{Act, HostGroup, HostShare, OpenOrder, StageRequest, StageTask, StageUpdate, Trouble};
use provision::RunId;
use stats::{LinkFacts, NetworkLink, NetworkPathMtu};

use targets::Patience;

use super::facts::facts;
use super::pairs::LinkDirection;
use super::path_mtu;
use runner::StopToken;

/// Workers of a link: a core drives several streams, but not a fast card alone.
const MAX_WORKERS: u32 = 8;

/// How links are measured.
#[derive(Clone, Debug)]
pub struct LinkLoad {
    /// Measured seconds.
    pub seconds: f64,
    /// Seconds before.
    pub ramp_s: f64,
    /// Bytes handed to the kernel at once.
    pub block_bytes: u64,
    /// First port to listen on.
    pub port: u16,
    /// How the kernel is asked for I/O.
    pub reactor: reactor::BackendChoice,
}

/// What measures links.
pub trait MeasureLinks: Sync {
    /// Measures links at the same time, each with this many streams; a link that cannot be measured says why.
    fn measure(&self, links: &[LinkDirection], streams: u32, both_ways: bool) -> Vec<NetworkLink>;

    /// Finds how large packets may be on links, all at the same time; one whose probes are not answered says why.
    fn path_mtus(&self, links: &[LinkDirection]) -> Vec<NetworkPathMtu>;
}

/// The members of a host group.
pub struct HostGroupLinks<'a> {
    pub(super) host_group: &'a HostGroup,
    addresses: Vec<IpAddr>,
    /// An id for each member's journal: they may lie in one directory.
    runs: Vec<String>,
    load: LinkLoad,
    stop: StopToken,
    next_site: AtomicU32,
}

/// The sites of one measurement, on its two members.
pub(super) struct LinkFlow {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) site: u32,
    listen: SocketAddr,
}

impl<'a> HostGroupLinks<'a> {
    /// Of a host group whose members have these addresses, in the order of their numbers.
    pub fn new(host_group: &'a HostGroup, addresses: Vec<IpAddr>, load: LinkLoad, stop: StopToken) -> Self {
        let runs = addresses.iter().map(|_| RunId::random().to_string()).collect();
        Self { host_group, addresses, runs, load, stop, next_site: AtomicU32::new(1) }
    }

    fn address(&self, host: u32) -> Result<IpAddr, String> {
        self.addresses
            .get(host as usize)
            .copied()
            .ok_or_else(|| format!("host {host} has no address; this is a defect"))
    }

    /// Does something with each link at the same time, on a port of its own.
    fn at_once<T: Send>(
        &self,
        links: &[LinkDirection],
        work: impl Fn(LinkDirection, u16) -> T + Sync,
    ) -> Vec<T> {
        let work = &work;
        std::thread::scope(|scope| {
            let numbered = (0u16..).zip(links);
            let started: Vec<_> = numbered
                .map(|(number, link)| {
                    let port = self.load.port.saturating_add(number);
                    scope.spawn(move || work(*link, port))
                })
                .collect();
            started.into_iter().filter_map(|thread| thread.join().ok()).collect()
        })
    }

    /// One link, from its openings to its end.
    fn link(&self, (from, to): LinkDirection, port: u16, streams: u32, both_ways: bool) -> NetworkLink {
        let mut link = NetworkLink {
            from,
            to,
            streams,
            both_ways,
            throughput: None,
            failure: None,
            from_address: self.address(from).ok().map(|ip| ip.to_string()),
            to_address: self.address(to).ok().map(|ip| ip.to_string()),
            tcp: LinkFacts::default(),
        };
        match self.with_open((from, to), port, streams, &|flow| self.run(flow)) {
            Ok((rates, tcp)) => {
                link.throughput = Some(stats::estimate(&rates));
                link.tcp = tcp;
            }
            Err(why) => link.failure = Some(why),
        }
        link
    }

    /// Opens the sites of a link, does something with them, and closes them.
    pub(super) fn with_open<T>(
        &self,
        (from, to): LinkDirection,
        port: u16,
        streams: u32,
        work: &dyn Fn(&LinkFlow) -> Result<T, String>,
    ) -> Result<T, String> {
        let listen = SocketAddr::new(self.address(to)?, port);
        let site = self.next_site.fetch_add(1, Ordering::Relaxed);
        let flow = LinkFlow { from: from as usize, to: to as usize, site, listen };
        let done = self.open(&flow, streams).and_then(|()| work(&flow));
        // What is not open any more needs no closing.
        let _ = self.host_group.act(&[flow.from, flow.to], flow.site, &Act::Close);
        done
    }

    fn open(&self, flow: &LinkFlow, streams: u32) -> Result<(), String> {
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
            destroy: None,
            settled: Vec::new(),
        };
        let answers = self
            .host_group
            .open(vec![(flow.to, opening(flow.to, receiver)), (flow.from, opening(flow.from, sender))]);
        self.first_trouble(answers.into_iter().filter_map(|(member, answer)| Some((member, answer.err()?))))
    }

    pub(super) fn first_trouble(
        &self,
        mut troubles: impl Iterator<Item = (usize, Trouble)>,
    ) -> Result<(), String> {
        match troubles.next() {
            None => Ok(()),
            Some((member, trouble)) => {
                let names = self.host_group.names();
                Err(format!("{}: {trouble}", names.get(member).map_or("?", String::as_str)))
            }
        }
    }

    /// Bytes a second that arrived in each interval, and what the sending kernel knows.
    fn run(&self, flow: &LinkFlow) -> Result<(Vec<f64>, LinkFacts), String> {
        let request = StageRequest {
            warm_up_s: self.load.ramp_s,
            limit_s: self.load.seconds,
            alone: false,
            ..StageRequest::to_the_end(flow.site, StageTask::Measure { generation: 0 })
        };
        let control = Control::new();
        let _governed = self.stop.governs(&control);
        let mut rates = Vec::new();
        let result = self
            .host_group
            .run_stage(
                vec![(flow.to, request.clone()), (flow.from, request)],
                StageContext::default(),
                &control,
                &mut |seen| {
                    if let StageUpdate::Part { member, interval } = seen
                        && member == flow.to
                        && interval.length_ns > 0
                    {
                        rates.push(interval.bytes() as f64 * 1e9 / interval.length_ns as f64);
                    }
                },
            )
            .map_err(|refusal| refusal.text)?;
        let part = |member: usize| result.parts.iter().find(|part| part.member == member);
        if let Some(part) = result.parts.iter().find(|part| part.lost.is_some()) {
            return Err(format!("{}: {}", part.name, part.lost.as_deref().unwrap_or_default()));
        }
        let (Some(received), Some(sent)) = (part(flow.to), part(flow.from)) else {
            return Err("a host did not answer; this is a defect".to_owned());
        };
        if received.result.total.bytes() == 0 {
            let samples = received.result.error_samples.iter().chain(&sent.result.error_samples);
            let why = samples.map(|(_, text)| text.clone()).next();
            return Err(why.unwrap_or_else(|| "nothing arrived in the measured time".to_owned()));
        }
        if rates.is_empty() {
            rates.push(received.result.bytes_per_s());
        }
        Ok((rates, facts(&sent.result, self.load.ramp_s + self.load.seconds)))
    }
}

impl MeasureLinks for HostGroupLinks<'_> {
    fn measure(&self, links: &[LinkDirection], streams: u32, both_ways: bool) -> Vec<NetworkLink> {
        // Both ways is two links that are measured at the same time.
        let all: Vec<LinkDirection> = match both_ways {
            false => links.to_vec(),
            true => links.iter().flat_map(|(from, to)| [(*from, *to), (*to, *from)]).collect(),
        };
        self.at_once(&all, |link, port| self.link(link, port, streams, both_ways))
    }

    fn path_mtus(&self, links: &[LinkDirection]) -> Vec<NetworkPathMtu> {
        self.at_once(links, |link, port| path_mtu::probe(self, link, port))
    }
}

/// The receiver's cell and the sender's, as an experiment file would say them.
fn cells(listen: SocketAddr, streams: u32, load: &LinkLoad) -> Result<[Cell; 2], String> {
    let jobs = (1..=streams.min(MAX_WORKERS)).rev().find(|jobs| streams.is_multiple_of(*jobs)).unwrap_or(1);
    let lanes = streams / jobs;
    let block = load.block_bytes;
    let text = format!(
        "name: network\n\
         targets:\n  \
           receiver: {{url: \"tcp://{listen}\", listen: true, connections: {lanes}}}\n  \
           sender: {{url: \"tcp://{listen}\", connections: {lanes}, repeat: true}}\n\
         stages: {{prepare: none, measure: {seconds}s}}\n\
         workloads:\n  \
           receive: {{target: receiver, ops: read, block_size: {block}, queue_depth: {lanes}, jobs: {jobs}, sink: discard}}\n  \
           send: {{target: sender, ops: write, block_size: {block}, queue_depth: {lanes}, jobs: {jobs}}}\n",
        seconds = load.seconds.ceil().max(1.0),
    );
    let plan =
        experiment::parse(&SourceText { file: "network", text: &text }, &Settings::of(targets::kinds()))
            .map_err(|faults| format!("{faults}").replace('\n', " "))?;
    let cell = |workload: &str| {
        let found = plan.cells.iter().find(|cell| cell.workload_name == workload);
        found.cloned().ok_or_else(|| "the link's plan has no cells; this is a defect".to_owned())
    };
    Ok([cell("receive")?, cell("send")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_s_cells_are_valid_for_any_number_of_streams() {
        let load = LinkLoad {
            seconds: 0.5,
            ramp_s: 0.1,
            block_bytes: 256 << 10,
            port: 18_700,
            reactor: reactor::BackendChoice::Auto,
        };
        for (streams, jobs, lanes) in [(1, 1, 1), (8, 8, 1), (12, 6, 2), (17, 1, 17), (1024, 8, 128)] {
            for listen in ["10.0.0.1:18700", "[fe80::1]:18701"] {
                let [receiver, sender] = cells(listen.parse().unwrap(), streams, &load).unwrap();
                for cell in [&receiver, &sender] {
                    assert_eq!((cell.workload.jobs, cell.workload.queue_depth), (jobs, lanes), "{streams}");
                    assert_eq!(cell.target.url, format!("tcp://{listen}"));
                    assert_eq!(cell.target.option("connections"), Some(&*lanes.to_string()));
                }
                assert_eq!(receiver.target.option("listen"), Some("true"));
                assert_eq!(receiver.workload.sink, "discard");
            }
        }
    }
}
