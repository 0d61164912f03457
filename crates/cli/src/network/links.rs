//! Links are measured by the members of a crew: one listens, one connects, both run a stage on the same peer.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU32, Ordering};

use engine::{Beside, Control};
use experiment::{Arrivals, Cell, Settings, Source};
use fleet::{Act, Crew, Measurement, Opening, Part, Seen, StageOrder, StageTask, Trouble};
use provision::RunId;
use stats::{LinkFacts, LinkLimits, NetworkLink};

use super::pairs::Direction;
use crate::interrupt::Interrupt;

/// Workers of a link: a core drives several streams, but not a fast card alone.
const MOST_WORKERS: u32 = 8;

/// How links are measured.
#[derive(Clone, Debug)]
pub struct Load {
    /// Measured seconds.
    pub seconds: f64,
    /// Seconds before.
    pub ramp_s: f64,
    /// Bytes handed to the kernel at once.
    pub block_bytes: u64,
    /// First port to listen on.
    pub port: u16,
    /// How the kernel is asked for I/O.
    pub reactor: String,
}

/// What measures links.
pub trait Measures: Sync {
    /// Measures links at the same time, each with so many streams; a link that cannot be measured says why.
    fn measure(&self, links: &[Direction], streams: u32, both_ways: bool) -> Vec<NetworkLink>;
}

/// The members of a crew.
pub struct CrewLinks<'a> {
    crew: &'a Crew,
    addresses: Vec<IpAddr>,
    /// An id for each member's journal: they may lie in one directory.
    runs: Vec<String>,
    load: Load,
    interrupt: Interrupt,
    next_site: AtomicU32,
}

/// The sites of one measurement, on its two members.
struct Flow {
    from: usize,
    to: usize,
    site: u32,
    listen: SocketAddr,
}

impl<'a> CrewLinks<'a> {
    /// Of a crew whose members have these addresses, in the order of their numbers.
    pub fn new(crew: &'a Crew, addresses: Vec<IpAddr>, load: Load, interrupt: Interrupt) -> Self {
        let runs = addresses.iter().map(|_| RunId::random().to_string()).collect();
        Self { crew, addresses, runs, load, interrupt, next_site: AtomicU32::new(1) }
    }

    fn address(&self, host: u32) -> Result<IpAddr, String> {
        self.addresses
            .get(host as usize)
            .copied()
            .ok_or_else(|| format!("host {host} has no address; this is a defect"))
    }

    /// One link, from its openings to its end.
    fn link(&self, (from, to): Direction, port: u16, streams: u32, both_ways: bool) -> NetworkLink {
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
        let measured = self.address(to).and_then(|ip| {
            let site = self.next_site.fetch_add(1, Ordering::Relaxed);
            let flow = Flow { from: from as usize, to: to as usize, site, listen: SocketAddr::new(ip, port) };
            let measured = self.open(&flow, streams).and_then(|()| self.run(&flow));
            // What is not open any more needs no closing.
            let _ = self.crew.act(&[flow.from, flow.to], flow.site, &Act::Close);
            measured
        });
        match measured {
            Ok((rates, tcp)) => {
                link.throughput = Some(stats::estimate(&rates));
                link.tcp = tcp;
            }
            Err(why) => link.failure = Some(why),
        }
        link
    }

    fn open(&self, flow: &Flow, streams: u32) -> Result<(), String> {
        let [receiver, sender] = cells(flow.listen, streams, &self.load)?;
        let run = |member: usize| self.runs.get(member).cloned().unwrap_or_default();
        let opening = |member: usize, cell: Cell| Opening {
            site: flow.site,
            cell: Box::new(cell),
            part: Part::WHOLE,
            run: run(member),
            place: run(member),
            key: None,
            seed: 1,
            draws: 1,
            own_cores: !self.crew.shares_machine(member),
            reactor: self.load.reactor.clone(),
            destroy: None,
        };
        let answers = self
            .crew
            .open(vec![(flow.to, opening(flow.to, receiver)), (flow.from, opening(flow.from, sender))]);
        self.first_trouble(answers.into_iter().filter_map(|(member, answer)| Some((member, answer.err()?))))
    }

    fn first_trouble(&self, mut troubles: impl Iterator<Item = (usize, Trouble)>) -> Result<(), String> {
        match troubles.next() {
            None => Ok(()),
            Some((member, trouble)) => {
                let names = self.crew.names();
                Err(format!("{}: {trouble}", names.get(member).map_or("?", String::as_str)))
            }
        }
    }

    /// Bytes a second that arrived in each interval, and what the sending kernel knows.
    fn run(&self, flow: &Flow) -> Result<(Vec<f64>, LinkFacts), String> {
        let measurement = Measurement {
            arrivals: Arrivals::Closed,
            warm_up_s: self.load.ramp_s,
            limit_s: self.load.seconds,
            generation: 0,
            alone: false,
        };
        let order = || StageOrder { site: flow.site, task: StageTask::Measure(measurement.clone()) };
        let control = Control::new();
        let _governed = self.interrupt.governs(&control);
        let mut rates = Vec::new();
        let result = self
            .crew
            .run_stage(
                vec![(flow.to, order()), (flow.from, order())],
                Beside::default(),
                &control,
                &mut |seen| {
                    if let Seen::Part { member, interval } = seen
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

impl Measures for CrewLinks<'_> {
    fn measure(&self, links: &[Direction], streams: u32, both_ways: bool) -> Vec<NetworkLink> {
        // Both ways is two links that are measured at the same time.
        let all: Vec<Direction> = match both_ways {
            false => links.to_vec(),
            true => links.iter().flat_map(|(from, to)| [(*from, *to), (*to, *from)]).collect(),
        };
        std::thread::scope(|scope| {
            let started: Vec<_> = (0u16..)
                .zip(&all)
                .map(|(number, link)| {
                    let port = self.load.port.saturating_add(number);
                    scope.spawn(move || self.link(*link, port, streams, both_ways))
                })
                .collect();
            started.into_iter().filter_map(|thread| thread.join().ok()).collect()
        })
    }
}

/// The receiver's cell and the sender's, as an experiment file would say them.
fn cells(listen: SocketAddr, streams: u32, load: &Load) -> Result<[Cell; 2], String> {
    let jobs = (1..=streams.min(MOST_WORKERS)).rev().find(|jobs| streams.is_multiple_of(*jobs)).unwrap_or(1);
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
    let plan = experiment::parse(&Source { file: "network", text: &text }, &Settings::none())
        .map_err(|faults| format!("{faults}").replace('\n', " "))?;
    let cell = |workload: &str| {
        let found = plan.cells.iter().find(|cell| cell.workload_name == workload);
        found.cloned().ok_or_else(|| "the link's plan has no cells; this is a defect".to_owned())
    };
    Ok([cell("receive")?, cell("send")?])
}

/// What the sending kernel knows of all connections of a link that were busy for so many seconds at most.
fn facts(result: &engine::StageResult, seconds: f64) -> LinkFacts {
    let connections = &result.facts.connections;
    let known = |value: u32| (value > 0).then_some(value);
    let nanos = |micros: u32| known(micros).map(|micros| u64::from(micros) * 1000);
    let resent: u64 = connections.iter().map(|connection| connection.retransmits).sum();
    let window = connections.iter().map(|connection| {
        u64::from(connection.tcp.congestion_window_segments) * u64::from(connection.mss_bytes)
    });
    LinkFacts {
        retransmits: resent + result.facts.closed_retransmits,
        round_trip_ns: connections.iter().filter_map(|connection| nanos(connection.tcp.rtt_us)).max(),
        least_round_trip_ns: connections
            .iter()
            .filter_map(|connection| nanos(connection.tcp.min_rtt_us))
            .min(),
        congestion_window_bytes: Some(window.sum()).filter(|bytes: &u64| *bytes > 0),
        mss_bytes: connections.iter().filter_map(|connection| known(connection.mss_bytes)).min(),
        path_mtu_bytes: connections
            .iter()
            .filter_map(|connection| known(connection.tcp.path_mtu_bytes))
            .min(),
        limits: limits(connections, seconds),
    }
}

fn limits(connections: &[drivers::ConnectionFacts], seconds: f64) -> Option<LinkLimits> {
    let sum = |of: fn(&reactor::TcpInfo) -> u64| -> f64 {
        connections.iter().map(|connection| of(&connection.tcp) as f64 / 1e6).sum()
    };
    let busy = sum(|tcp| tcp.busy_us);
    // Older kernels than 4.10 do not tell.
    if busy == 0.0 {
        return None;
    }
    // Connecting and ending take time too: the span is what was busy, if that is more.
    let span = (seconds * connections.len() as f64).max(busy);
    let share = |time: f64| (time / span).clamp(0.0, 1.0);
    let (window, buffer) = (sum(|tcp| tcp.window_limited_us), sum(|tcp| tcp.buffer_limited_us));
    Some(LinkLimits {
        sender: share(span - busy),
        receiver_window: share(window),
        send_buffer: share(buffer),
        network: share(busy - window - buffer),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_s_cells_are_valid_for_any_number_of_streams() {
        let load =
            Load { seconds: 0.5, ramp_s: 0.1, block_bytes: 256 << 10, port: 18_700, reactor: "auto".into() };
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
