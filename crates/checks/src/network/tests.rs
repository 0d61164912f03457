//! The whole command over made-up links.

use std::collections::BTreeSet;
use std::sync::Mutex;

use stats::{LinkFacts, NetworkLink, NetworkPathMtu, estimate};

use super::pairs::every;
use super::*;

fn request() -> NetworkRequest {
    NetworkRequest { streams: vec![1], ..NetworkRequest::new(Launcher::Local { count: 4 }) }
}

/// Ignores all events.
struct Unseen;

impl Events for Unseen {
    fn event(&self, _: RunEvent<'_>) {}
}

/// Every link carries 100 MB/s per stream, except one; it records which links were measured at the same time.
#[derive(Default)]
struct MadeUp {
    bad: Option<LinkDirection>,
    asked: Mutex<Vec<(Vec<LinkDirection>, u32, bool)>>,
    probed: Mutex<Vec<LinkDirection>>,
}

impl MeasureLinks for MadeUp {
    fn measure(&self, step: &LinkStep) -> Vec<NetworkLink> {
        let LinkStep { streams, both_ways, links, .. } = step.clone();
        self.asked.lock().unwrap().push((links, streams, both_ways));
        let link = |(from, to): LinkDirection| {
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
        step.directions().into_iter().map(link).collect()
    }

    fn path_mtus(&self, links: &[LinkDirection]) -> Vec<NetworkPathMtu> {
        self.probed.lock().unwrap().extend(links);
        let small = |link: &LinkDirection| self.bad == Some(*link);
        let found = |link: &LinkDirection| NetworkPathMtu {
            from: link.0,
            to: link.1,
            bytes: Some(if small(link) { 1400 } else { 1500 }),
            believed_bytes: Some(1500),
            failure: None,
        };
        links.iter().map(found).collect()
    }
}

fn measured(made_up: &MadeUp, request: &NetworkRequest) -> NetworkMatrix {
    let hosts = ["a", "b", "c", "d"].map(String::from).to_vec();
    let links = wanted(&request.links, &hosts).unwrap();
    let steps = plan::steps(request, &links, hosts.len());
    measure(made_up, &steps, hosts, &StopToken::new(), &Unseen).unwrap()
}

#[test]
fn links_are_measured_one_after_the_other_unless_it_is_asked_for() {
    let made_up = MadeUp::default();
    let matrix = measured(&made_up, &NetworkRequest { streams: vec![1, 8], ..request() });
    assert_eq!(matrix.links.len(), 12);
    assert_eq!(matrix.kinds(), [(1, false), (8, false)]);
    assert!(made_up.asked.lock().unwrap().iter().all(|(links, _, _)| links.len() == 1));

    let made_up = MadeUp::default();
    measured(&made_up, &NetworkRequest { parallel: true, ..request() });
    let asked = made_up.asked.into_inner().unwrap();
    assert_eq!(asked.iter().map(|(links, _, _)| links.len()).collect::<Vec<_>>(), [2, 2, 2]);
}

#[test]
fn both_ways_at_once_comes_beside_one_way_and_each_pair_once() {
    let made_up = MadeUp::default();
    let matrix =
        measured(&made_up, &NetworkRequest { links: LinkChoice::BothDirections, duplex: true, ..request() });
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
    let matrix = measured(&made_up, &request());
    let judgement = judge_network(&matrix);
    assert_eq!(judgement.findings.len(), 1, "{judgement:?}");
    assert_eq!(judgement.findings[0].of, stats::Degraded::Link(1, 3));
    let holes: Vec<_> = matrix.path_mtus.iter().filter_map(|path| path.black_hole()).collect();
    assert_eq!(holes, [(1400, 1500)]);
    let report = NetworkReport { taken: timestamp::now(), seconds: 5.0, parallel: false, matrix, judgement };
    assert!(!report.success());
}

#[test]
fn pairs_that_are_not_there_are_wrong_usage() {
    let hosts = ["a", "b"].map(String::from);
    let error = wanted(&LinkChoice::Named("a:x".into()), &hosts).unwrap_err().to_string();
    assert!(error.contains("is none of a, b"), "{error}");
    assert!(
        wanted(&LinkChoice::EachPair, &hosts[..1])
            .unwrap_err()
            .to_string()
            .contains("a single host has no links")
    );
    assert_eq!(wanted(&LinkChoice::BothDirections, &hosts).unwrap(), [(0, 1), (1, 0)]);
}
