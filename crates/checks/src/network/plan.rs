//! Which links are measured at the same time, and the whole measurement as a plan: a cell per direction and number of
//! streams.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::{IpAddr, SocketAddr};

use experiment::{Cell, Plan, Settings, SourceText};

use super::NetworkRequest;
use super::link_error::LinkPlanError;
use super::links::LinkLoad;
use super::pairs::{self, LinkDirection};
use crate::error::CheckError;

/// The experiment's name in results.
const NAME: &str = "network";
/// Maximum workers of a link: a core drives several streams, but cannot fill a fast NIC alone.
const MAX_WORKERS: u32 = 8;

/// Links measured at the same time, each on its own port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkStep {
    /// TCP connections per link.
    pub streams: u32,
    /// Each link is loaded in both directions.
    pub both_ways: bool,
    /// One direction of each link; `both_ways` implies the other.
    pub links: Vec<LinkDirection>,
    /// The cell of the first direction; the others follow.
    pub first_cell: u32,
}

impl LinkStep {
    /// Every direction that is loaded.
    pub fn directions(&self) -> Vec<LinkDirection> {
        // Both ways means two links measured at the same time.
        match self.both_ways {
            false => self.links.clone(),
            true => self.links.iter().flat_map(|(from, to)| [(*from, *to), (*to, *from)]).collect(),
        }
    }

    /// `8 streams, both ways at once`
    pub fn way(&self) -> String {
        way((self.streams, self.both_ways))
    }
}

/// A way of measuring links in words: `8 streams, both ways at once`.
pub fn way((streams, both_ways): (u32, bool)) -> String {
    let streams = if streams == 1 { "1 stream".to_owned() } else { format!("{streams} streams") };
    if both_ways { format!("{streams}, both ways at once") } else { streams }
}

/// All links with all variants, in measurement order.
pub fn steps(request: &NetworkRequest, links: &[LinkDirection], hosts: usize) -> Vec<LinkStep> {
    let mut rounds = pairs::rounds(links, u32::try_from(hosts).unwrap_or(u32::MAX));
    if !request.parallel {
        // One link at a time, in round order, so that hosts rest between their links where possible.
        rounds = rounds.into_iter().flatten().map(|link| vec![link]).collect();
    }
    let mut ways: Vec<(u32, bool)> = request.streams.iter().map(|streams| (*streams, false)).collect();
    if request.duplex {
        ways.extend(request.streams.iter().map(|streams| (*streams, true)));
    }
    let mut steps: Vec<LinkStep> = Vec::new();
    for (streams, both_ways) in ways {
        for round in &rounds {
            // A pair that is measured both ways is measured once.
            let both_listed =
                |link: &&LinkDirection| both_ways && link.0 > link.1 && links.contains(&(link.1, link.0));
            let links: Vec<LinkDirection> = round.iter().filter(|link| !both_listed(link)).copied().collect();
            let first_cell = steps.last().map_or(0, |step| step.first_cell + step.directions().len() as u32);
            if !links.is_empty() {
                steps.push(LinkStep { streams, both_ways, links, first_cell });
            }
        }
    }
    steps
}

/// A plan without links, for a measurement that did not get that far.
///
/// # Errors
/// The plan's text does not parse, which is a defect.
pub fn without_links(load: &LinkLoad) -> Result<Plan, CheckError> {
    let mut plan = of_streams(1, load)?;
    plan.cells.clear();
    Ok(plan)
}

/// A cell for each direction of each step: the receiver's work, as an experiment file would describe it.
///
/// # Errors
/// As [`without_links`].
pub fn of_network(
    steps: &[LinkStep],
    hosts: &[String],
    addresses: &[IpAddr],
    load: &LinkLoad,
) -> Result<Plan, CheckError> {
    let mut plan = without_links(load)?;
    let mut receivers: BTreeMap<u32, Cell> = BTreeMap::new();
    let mut repetitions: BTreeMap<(u32, bool, u32, u32), u32> = BTreeMap::new();
    let host = |number: u32| hosts.get(number as usize).cloned().unwrap_or_default();
    for step in steps {
        let receiver = match receivers.entry(step.streams) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let [receiver, _] = templates(step.streams, load)?;
                new.insert(receiver)
            }
        };
        for (place, (from, to)) in (0..).zip(step.directions()) {
            let mut cell = receiver.clone();
            let way = step.way();
            let address = addresses.get(to as usize).copied();
            let port = load.port.saturating_add(u16::try_from(place).unwrap_or(u16::MAX));
            cell.index = step.first_cell + place;
            cell.name = format!("{} → {}, {way}", host(from), host(to));
            // The unit of comparison between two measurements: the same link with the same variant.
            cell.workload_name = way;
            cell.point = BTreeMap::from([("from".to_owned(), host(from)), ("to".to_owned(), host(to))]);
            cell.target.name = NAME.to_owned();
            cell.target.url = address.map_or_else(String::new, |ip| url(SocketAddr::new(ip, port)));
            cell.stages.warm_up_s = load.ramp_s;
            cell.stages.measure_at_least_s = load.seconds;
            cell.stages.measure_at_most_s = load.seconds;
            let count = repetitions.entry((step.streams, step.both_ways, from, to)).or_default();
            *count += 1;
            cell.repetition = *count;
            plan.cells.push(cell);
        }
    }
    Ok(plan)
}

/// The receiver's cell and the sender's.
///
/// # Errors
/// As [`without_links`].
pub fn cells(listen: SocketAddr, streams: u32, load: &LinkLoad) -> Result<[Cell; 2], LinkPlanError> {
    let mut cells = templates(streams, load)?;
    cells.iter_mut().for_each(|cell| cell.target.url = url(listen));
    Ok(cells)
}

fn url(listen: SocketAddr) -> String {
    format!("tcp://{listen}")
}

fn templates(streams: u32, load: &LinkLoad) -> Result<[Cell; 2], LinkPlanError> {
    let plan = of_streams(streams, load)?;
    let cell = |workload: &str| {
        let found = plan.cells.iter().find(|cell| cell.workload_name == workload);
        found.cloned().ok_or(LinkPlanError::NoCells)
    };
    Ok([cell("receive")?, cell("send")?])
}

/// Both sides of a link as an experiment file would describe them; the address is filled in.
fn of_streams(streams: u32, load: &LinkLoad) -> Result<Plan, LinkPlanError> {
    let jobs = (1..=streams.min(MAX_WORKERS)).rev().find(|jobs| streams.is_multiple_of(*jobs)).unwrap_or(1);
    let lanes = streams / jobs;
    let (block, port) = (load.block_bytes, load.port);
    let text = format!(
        "name: {NAME}\n\
         targets:\n  \
           receiver: {{url: \"tcp://127.0.0.1:{port}\", listen: true, connections: {lanes}}}\n  \
           sender: {{url: \"tcp://127.0.0.1:{port}\", connections: {lanes}, repeat: true}}\n\
         stages: {{prepare: none, measure: {seconds}s}}\n\
         steady: none\n\
         workloads:\n  \
           receive: {{target: receiver, ops: read, block_size: {block}, queue_depth: {lanes}, jobs: {jobs}, sink: discard}}\n  \
           send: {{target: sender, ops: write, block_size: {block}, queue_depth: {lanes}, jobs: {jobs}}}\n",
        seconds = load.seconds.ceil().max(1.0),
    );
    Ok(experiment::parse(&SourceText { file: NAME, text: &text }, &Settings::of(targets::kinds()))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load() -> LinkLoad {
        LinkLoad {
            seconds: 0.5,
            ramp_s: 0.1,
            block_bytes: 256 << 10,
            port: 18_700,
            reactor: reactor::BackendChoice::Auto,
        }
    }

    #[test]
    fn a_link_s_cells_are_valid_for_any_number_of_streams() {
        for (streams, jobs, lanes) in [(1, 1, 1), (8, 8, 1), (12, 6, 2), (17, 1, 17), (1024, 8, 128)] {
            for listen in ["10.0.0.1:18700", "[fe80::1]:18701"] {
                let [receiver, sender] = cells(listen.parse().unwrap(), streams, &load()).unwrap();
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

    #[test]
    fn every_direction_in_every_way_is_a_cell_with_its_port_and_its_repetition() {
        let step = |streams, both_ways, links: &[LinkDirection], first_cell| LinkStep {
            streams,
            both_ways,
            links: links.to_vec(),
            first_cell,
        };
        let steps =
            [step(1, false, &[(0, 1)], 0), step(1, false, &[(0, 1)], 1), step(8, true, &[(0, 1), (2, 3)], 2)];
        let hosts = ["a", "b", "c", "d"].map(String::from);
        let addresses: Vec<IpAddr> = (1..=4).map(|last| IpAddr::from([10, 0, 0, last])).collect();
        let plan = of_network(&steps, &hosts, &addresses, &load()).unwrap();
        let seen: Vec<(&str, &str, u32)> =
            plan.cells.iter().map(|cell| (&*cell.name, &*cell.target.url, cell.repetition)).collect();
        assert_eq!(
            seen,
            [
                ("a → b, 1 stream", "tcp://10.0.0.2:18700", 1),
                ("a → b, 1 stream", "tcp://10.0.0.2:18700", 2),
                ("a → b, 8 streams, both ways at once", "tcp://10.0.0.2:18700", 1),
                ("b → a, 8 streams, both ways at once", "tcp://10.0.0.1:18701", 1),
                ("c → d, 8 streams, both ways at once", "tcp://10.0.0.4:18702", 1),
                ("d → c, 8 streams, both ways at once", "tcp://10.0.0.3:18703", 1),
            ]
        );
        assert!((0..).zip(&plan.cells).all(|(index, cell)| cell.index == index));
        assert_eq!(plan.cells[2].workload.queue_depth * plan.cells[2].workload.jobs, 8);
    }
}
