//! The whole command over links that are made up.

use std::collections::BTreeSet;
use std::sync::Mutex;

use clap::Parser;
use stats::{LinkFacts, NetworkLink, NetworkPathMtu, estimate};

use super::pairs::every;
use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    network: NetworkArguments,
}

fn arguments(flags: &[&str]) -> NetworkArguments {
    Line::parse_from(["network", "--local", "4"].iter().chain(flags)).network
}

/// Every link carries 100 MB/s for each stream, but one; it remembers what was asked at the same time.
#[derive(Default)]
struct MadeUp {
    bad: Option<Direction>,
    asked: Mutex<Vec<(Vec<Direction>, u32, bool)>>,
    probed: Mutex<Vec<Direction>>,
}

impl Measures for MadeUp {
    fn measure(&self, links: &[Direction], streams: u32, both_ways: bool) -> Vec<NetworkLink> {
        self.asked.lock().unwrap().push((links.to_vec(), streams, both_ways));
        let ways = |link: &Direction| if both_ways { vec![*link, (link.1, link.0)] } else { vec![*link] };
        let link = |(from, to): Direction| {
            let share = if self.bad == Some((from, to)) { 0.5 } else { 1.0 };
            let rate =
                1e8 * f64::from(streams) * share * (1.0 + f64::from(from) * 0.003 + f64::from(to) * 0.002);
            NetworkLink {
                from,
                to,
                streams,
                both_ways,
                throughput: Some(estimate(&[rate, rate * 1.001])),
                failure: None,
                from_address: None,
                to_address: None,
                tcp: LinkFacts::default(),
            }
        };
        links.iter().flat_map(ways).map(link).collect()
    }

    fn path_mtus(&self, links: &[Direction]) -> Vec<NetworkPathMtu> {
        self.probed.lock().unwrap().extend(links);
        let small = |link: &Direction| self.bad == Some(*link);
        let found = |link: &Direction| NetworkPathMtu {
            from: link.0,
            to: link.1,
            bytes: Some(if small(link) { 1400 } else { 1500 }),
            believed_bytes: Some(1500),
            failure: None,
        };
        links.iter().map(found).collect()
    }
}

fn measured(made_up: &MadeUp, flags: &[&str]) -> NetworkMatrix {
    let arguments = arguments(flags);
    let messages = Messages::new();
    messages.divert(Some(std::sync::Arc::new(|_: &str| {})));
    let stop = StopToken::new();
    let hosts = ["a", "b", "c", "d"].map(String::from).to_vec();
    let links = wanted(&arguments, &hosts).unwrap();
    measure(made_up, &arguments, hosts, &links, &stop, &messages).unwrap()
}

#[test]
fn links_are_measured_one_after_the_other_unless_it_is_asked_for() {
    let made_up = MadeUp::default();
    let matrix = measured(&made_up, &["--streams", "1,8"]);
    assert_eq!(matrix.links.len(), 12);
    assert_eq!(matrix.kinds(), [(1, false), (8, false)]);
    assert!(made_up.asked.lock().unwrap().iter().all(|(links, _, _)| links.len() == 1));

    let made_up = MadeUp::default();
    measured(&made_up, &["--streams", "1", "--parallel"]);
    let asked = made_up.asked.into_inner().unwrap();
    assert_eq!(asked.iter().map(|(links, _, _)| links.len()).collect::<Vec<_>>(), [2, 2, 2]);
}

#[test]
fn both_ways_at_once_comes_beside_one_way_and_each_pair_once() {
    let made_up = MadeUp::default();
    let matrix = measured(&made_up, &["--streams", "1", "--both-directions", "--duplex"]);
    assert_eq!(matrix.of_kind((1, false)).count(), 12);
    assert_eq!(matrix.of_kind((1, true)).count(), 12);
    let duplex =
        made_up.asked.into_inner().unwrap().into_iter().filter(|(links, _, both)| *both && !links.is_empty());
    assert_eq!(duplex.count(), 6);
    let mut probed = made_up.probed.into_inner().unwrap();
    probed.sort_unstable();
    assert_eq!(probed, every(4, true).into_iter().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>());
}

#[test]
fn the_one_degraded_link_is_named_and_makes_the_exit_code() {
    let made_up = MadeUp { bad: Some((1, 3)), ..MadeUp::default() };
    let matrix = measured(&made_up, &["--streams", "1"]);
    let judgement = judge_network(&matrix);
    let lines = output::verdict(&matrix, &judgement);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].starts_with("Degraded: b → d: "), "{lines:?}");
    assert!(lines[1].starts_with("b → d is a black hole for packets larger than 1400 bytes"), "{lines:?}");
}

#[test]
fn pairs_that_are_not_there_are_wrong_usage() {
    let hosts = ["a", "b"].map(String::from);
    let error = wanted(&arguments(&["--pairs", "a:x"]), &hosts).unwrap_err();
    assert!(error.contains("is none of a, b"), "{error}");
    assert!(wanted(&arguments(&[]), &hosts[..1]).unwrap_err().contains("one host has no link"));
    assert_eq!(wanted(&arguments(&["--both-directions"]), &hosts).unwrap(), [(0, 1), (1, 0)]);
}
