//! The promises of the rule: few false alarms, and degraded links or hosts identified by name.

use super::*;
use crate::{LinkFacts, NetworkLink, estimate};

/// Links between every pair of hosts: one direction of each, or both.
fn layout(hosts: u32, both: bool) -> Vec<Point> {
    let each = |from| {
        (0..hosts).filter(move |to| if both { *to != from } else { *to > from }).map(move |to| (from, to))
    };
    (0..hosts).flat_map(each).map(|(from, to)| (from, to, 1.0)).collect()
}

/// Equal links with normal noise of a relative size.
fn noisy(points: &mut [Point], rng: &mut Rng, noise: f64) {
    points.iter_mut().for_each(|point| point.2 = (1.0 + noise * normal(rng)).max(0.0));
}

/// The stated rate: at most one of 100 matrices of equal links raises an alarm, whatever the noise.
#[test]
fn equal_links_give_few_alarms() {
    for (hosts, both) in [(3, false), (4, false), (4, true), (8, true)] {
        let mut points = layout(hosts, both);
        let bounds = Bounds::of(&points);
        for noise in [0.001, 0.02, 0.05, 0.2, 0.3] {
            let mut rng = Rng::with_seed(1000 + u64::from(hosts));
            let alarms = (0..10_000)
                .filter(|_| {
                    noisy(&mut points, &mut rng, noise);
                    !judge(&points, &bounds).is_empty()
                })
                .count();
            // 100 of 10 000 is the stated rate; random draws on both sides add 3 standard deviations.
            assert!(alarms <= 135, "{hosts} hosts, noise {noise}: {alarms} of 10000");
            // With noise as small as on a healthy network, a tenth is never missed at random.
            assert!(noise > 0.02 || alarms == 0, "{hosts} hosts, noise {noise}: {alarms}");
        }
    }
}

#[test]
fn one_degraded_of_six_pairs_is_found_by_name() {
    for both in [false, true] {
        let mut points = layout(4, both);
        let bounds = Bounds::of(&points);
        for seed in 0..200 {
            let mut rng = Rng::with_seed(seed);
            noisy(&mut points, &mut rng, 0.01);
            let bad = rng.usize(..points.len());
            points[bad].2 *= 0.6;
            let found: Vec<Degraded> = judge(&points, &bounds).iter().map(|finding| finding.of).collect();
            assert_eq!(found, [Degraded::Link(points[bad].0, points[bad].1)], "seed {seed}");
        }
    }
}

#[test]
fn a_pair_that_is_bad_in_both_directions_is_two_findings_and_no_host() {
    let mut points = layout(4, true);
    let bounds = Bounds::of(&points);
    let mut rng = Rng::with_seed(7);
    noisy(&mut points, &mut rng, 0.01);
    let bad = |point: &&mut Point| (point.0, point.1) == (1, 3) || (point.0, point.1) == (3, 1);
    points.iter_mut().filter(bad).for_each(|point| point.2 *= 0.5);
    let found: Vec<Degraded> = judge(&points, &bounds).iter().map(|finding| finding.of).collect();
    assert_eq!(found, [Degraded::Link(1, 3), Degraded::Link(3, 1)]);
}

/// Half of the links of four hosts belong to a bad host: the median of all would not tell.
#[test]
fn a_host_whose_links_are_all_bad_is_named_instead_of_them() {
    for both in [false, true] {
        let mut points = layout(4, both);
        let bounds = Bounds::of(&points);
        let mut found = 0;
        for seed in 0..100 {
            let mut rng = Rng::with_seed(seed);
            noisy(&mut points, &mut rng, 0.01);
            points.iter_mut().filter(|point| point.0 == 2 || point.1 == 2).for_each(|point| point.2 *= 0.4);
            let judged = judge(&points, &bounds);
            found += usize::from(judged.len() == 1 && judged[0].of == Degraded::Host(2));
        }
        assert!(found >= 99, "{found} of 100");
    }
}

#[test]
fn links_are_compared_only_with_their_like() {
    let link = |from, to, streams, rate: Option<f64>| NetworkLink {
        from,
        to,
        streams,
        both_ways: false,
        throughput: rate.map(|rate| estimate(&[rate, rate * 1.001])),
        failure: rate.is_none().then(|| "no route".to_owned()),
        from_address: None,
        to_address: None,
        tcp: LinkFacts::default(),
    };
    let mut links = Vec::new();
    for (from, to, _) in layout(4, false) {
        links.push(link(from, to, 1, Some(100.0 + f64::from(from) * 0.3 + f64::from(to) * 0.2)));
        links.push(link(from, to, 8, Some(if (from, to) == (0, 2) { 400.0 } else { 800.0 + f64::from(to) })));
    }
    links.push(link(0, 1, 16, Some(1.0)));
    links.push(link(3, 0, 1, None));
    let hosts = ["a", "b", "c", "d"].map(String::from).to_vec();
    let matrix = NetworkMatrix { hosts, links, path_mtus: Vec::new() };
    assert_eq!(matrix.kinds(), [(1, false), (8, false), (16, false)]);
    let judgement = judge_network(&matrix);
    assert_eq!(judgement.failed, [(3, 0)]);
    assert_eq!(judgement.not_judged, [(16, false)]);
    assert_eq!(judgement.findings.len(), 1, "{judgement:?}");
    let finding = &judgement.findings[0];
    assert_eq!((finding.of, finding.streams, finding.compared), (Degraded::Link(0, 2), 8, 5));
    assert!((finding.bytes_per_s - 400.2).abs() < 0.01 && finding.usual_bytes_per_s > 800.0, "{finding:?}");
    assert_eq!(judge_network(&matrix), judgement);
    assert_eq!(matrix.name(0, 2), "a → c");
}

#[test]
fn medians_by_hand() {
    assert_eq!([median(&[3.0]), median(&[4.0, 1.0]), median(&[5.0, 1.0, 3.0])], [3.0, 2.5, 3.0]);
    assert_eq!(centre(&[1.0, 2.0, 3.0, 4.0, 100.0]), (3.0, 1.4826));
}
