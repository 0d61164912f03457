//! Simulated clocks and network paths.

use super::*;

const S: u64 = 1_000_000_000;

/// A member's clock with another origin and rate.
struct Clock {
    origin: i64,
    drift: f64,
}

impl Clock {
    fn at(&self, ours: u64) -> u64 {
        (ours as i64 + self.origin + (ours as f64 * self.drift) as i64) as u64
    }

    fn exchange(&self, asked: u64, there: u64, held: u64, back: u64) -> Exchange {
        let received = asked + there;
        let answered = received + held;
        Exchange { asked, received: self.at(received), answered: self.at(answered), back: answered + back }
    }
}

fn check(clock: &Clock, estimate: &Estimate, at: u64) -> ClockFacts {
    let facts = estimate.at(at).unwrap();
    let truth = clock.at(at) as i64 - at as i64;
    let off = truth.abs_diff(facts.offset_ns);
    assert!(off <= facts.uncertainty_ns, "off by {off}: {facts:?}");
    let (ours, uncertainty) = estimate.ours(clock.at(at)).unwrap();
    assert!(ours.abs_diff(at) <= uncertainty + 2, "{ours} for {at}, off by more than {uncertainty}");
    facts
}

#[test]
fn hosts_that_booted_at_other_times_agree() {
    for origin in [-900_000 * S as i64, 0, 3_000_000 * S as i64] {
        let clock = Clock { origin, drift: 0.0 };
        let mut estimate = Estimate::default();
        let mut random = fastrand::Rng::with_seed(3);
        for second in 0..100 {
            let (there, back) = (random.u64(20_000..400_000), random.u64(20_000..400_000));
            let asked = 1_000_000 * S + second * S;
            estimate.add(clock.exchange(asked, there, random.u64(0..90_000), back)).unwrap();
            check(&clock, &estimate, asked + 500_000_000);
        }
        let facts = estimate.at(1_000_100 * S).unwrap();
        assert!(facts.uncertainty_ns < 300_000 && facts.round_trip_ns < 200_000, "{facts:?}");
    }
}

#[test]
fn unequal_ways_stay_within_the_uncertainty() {
    let clock = Clock { origin: 12_345, drift: 0.0 };
    let mut estimate = Estimate::default();
    for number in 0..50 {
        estimate.add(clock.exchange(number * S, 10_000_000, 5_000, 100_000)).unwrap();
    }
    let facts = check(&clock, &estimate, 50 * S);
    assert_eq!(facts.round_trip_ns, 10_100_000);
    assert!(facts.uncertainty_ns < 6_000_000);
}

#[test]
fn drift_is_found_and_followed() {
    for ppm in [-60.0, -5.0, 40.0, 200.0] {
        let clock = Clock { origin: 77 * S as i64, drift: ppm * 1e-6 };
        let mut estimate = Estimate::default();
        let mut random = fastrand::Rng::with_seed(9);
        for second in 0..2000u64 {
            let (there, back) = (random.u64(30_000..300_000), random.u64(30_000..300_000));
            estimate.add(clock.exchange(500 * S + second * S, there, 10_000, back)).unwrap();
        }
        let facts = estimate.at(2500 * S).unwrap();
        assert!((facts.drift_ppm - ppm).abs() < 1.0, "{ppm}: {facts:?}");
        check(&clock, &estimate, 2500 * S);
        // In the middle of the run, and also a minute after it.
        check(&clock, &estimate, 2560 * S);
        check(&clock, &estimate, 2480 * S);
        assert!(estimate.recent.len() <= RECENT && estimate.anchors.len() <= ANCHORS);
    }
}

#[test]
fn what_no_clock_says_is_refused() {
    let mut estimate = Estimate::default();
    let good = Exchange { asked: 10 * S, received: 5, answered: 10, back: 10 * S + 1000 };
    for bad in [
        Exchange { received: 11, ..good },
        Exchange { received: 0, answered: u64::MAX, ..good },
        Exchange { received: u64::MAX - 5, answered: u64::MAX, ..good },
        Exchange { answered: S, ..good },
    ] {
        assert!(estimate.add(bad).is_err(), "{bad:?}");
    }
    assert!(estimate.at(0).is_none() && estimate.ours(0).is_none());
    estimate.add(good).unwrap();
    assert!(estimate.at(0).is_some() && estimate.ours(u64::MAX).is_some() && estimate.ours(0).is_some());
}
