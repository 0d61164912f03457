//! Intended start times: one worker's part of the arrivals, in order, computed in closed form or by seeded draws.

use experiment::Arrivals;

use crate::access::spread;

/// Generates the intended starts of one worker, in order, in nanoseconds since the stage began.
#[derive(Clone, Debug)]
pub(crate) struct Starts {
    law: Law,
    /// Starts handed out so far.
    taken: u64,
    worker: u64,
    workers: u64,
}

#[derive(Clone, Debug)]
enum Law {
    /// The n-th start over all workers is `n` gaps after the beginning.
    Even { gap_ns: f64 },
    /// Independent arrivals: the workers' streams add up to one stream at the full rate.
    Poisson { mean_gap_ns: f64, at_ns: f64, random: fastrand::Rng },
    /// A varying rate: the n-th start over all workers is where the rate's integral reaches `n`.
    Pieces { pieces: Vec<Piece>, at: usize },
}

/// A span in which the rate is constant or changes linearly.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from_s: f64,
    /// Operations per second at its start.
    rate: f64,
    /// Change of the rate per second.
    slope: f64,
    /// Number of starts before the piece, and before its end.
    count: f64,
    count_after: f64,
}

/// Rounding tolerance in starts: a start this close to a piece's end belongs to the next piece.
const ROUNDING: f64 = 1e-6;

impl Starts {
    /// The starts of worker `worker` out of `workers`.
    pub(crate) fn new(arrivals: &Arrivals, seed: u64, worker: u32, workers: u32) -> Option<Self> {
        let law = match arrivals {
            Arrivals::Closed => return None,
            Arrivals::Constant { ops_per_s } => Law::Even { gap_ns: 1e9 / ops_per_s },
            Arrivals::Poisson { ops_per_s } => Law::Poisson {
                mean_gap_ns: f64::from(workers) * 1e9 / ops_per_s,
                at_ns: 0.0,
                random: fastrand::Rng::with_seed(spread(seed, u64::from(worker))),
            },
            Arrivals::Ramp { from_ops_per_s, to_ops_per_s, over_s } => {
                let slope = (to_ops_per_s - from_ops_per_s) / over_s;
                let rates = [(*from_ops_per_s, slope, Some(*over_s)), (*to_ops_per_s, 0.0, None)];
                Law::of_pieces(rates.into_iter())
            }
            Arrivals::Steps { steps } => {
                let last = steps.len().saturating_sub(1);
                let long = |at: usize, for_s: f64| (at != last).then_some(for_s);
                Law::of_pieces(steps.iter().enumerate().map(|(at, s)| (s.ops_per_s, 0.0, long(at, s.for_s))))
            }
            Arrivals::Times { times } => {
                let until = |at: usize| times.get(at + 1).map(|next| next.at_s - times[at].at_s);
                let quiet = times.first().map(|first| (0.0, 0.0, Some(first.at_s)));
                let rates = times.iter().enumerate().map(|(at, t)| (t.ops_per_s, 0.0, until(at)));
                Law::of_pieces(quiet.into_iter().chain(rates))
            }
        };
        Some(Starts { law, taken: 0, worker: worker.into(), workers: workers.into() })
    }

    /// The next start; `u64::MAX` if there are no more.
    pub(crate) fn next(&mut self) -> u64 {
        let overall = self.taken * self.workers + self.worker;
        self.taken += 1;
        match &mut self.law {
            Law::Even { gap_ns } => (overall as f64 * *gap_ns).round() as u64,
            Law::Poisson { mean_gap_ns, at_ns, random } => {
                // 1 - u is above 0, so the logarithm is finite.
                *at_ns -= (1.0 - random.f64()).ln() * *mean_gap_ns;
                at_ns.round() as u64
            }
            Law::Pieces { pieces, at } => {
                let overall = overall as f64;
                while let Some(piece) = pieces.get(*at) {
                    if overall < piece.count_after - ROUNDING {
                        return (piece.when(overall) * 1e9).round() as u64;
                    }
                    *at += 1;
                }
                u64::MAX
            }
        }
    }
}

impl Law {
    /// Initial rates, slopes and lengths in seconds, in sequence; the last has no length.
    fn of_pieces(rates: impl Iterator<Item = (f64, f64, Option<f64>)>) -> Law {
        let (mut from_s, mut count) = (0.0, 0.0);
        let pieces = rates.map(|(rate, slope, long)| {
            let added = match long {
                Some(long) => rate * long + slope * long * long / 2.0,
                None if rate > 0.0 => f64::INFINITY,
                None => 0.0,
            };
            let piece = Piece { from_s, rate, slope, count, count_after: count + added };
            from_s += long.unwrap_or(0.0);
            count += added;
            piece
        });
        Law::Pieces { pieces: pieces.collect(), at: 0 }
    }
}

impl Piece {
    /// The time at which the integral of the rate reaches `overall`: the root of `rate t + slope t² / 2 = overall -
    /// count`, in a form that loses no digits.
    fn when(&self, overall: f64) -> f64 {
        let more = (overall - self.count).max(0.0);
        let root = (self.rate * self.rate + 2.0 * self.slope * more).max(0.0).sqrt();
        let divisor = self.rate + root;
        self.from_s + if divisor > 0.0 { 2.0 * more / divisor } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use experiment::{RateFrom, RateStep};

    use super::*;

    const S: u64 = 1_000_000_000;

    fn starts(arrivals: &Arrivals, worker: u32, workers: u32, until: u64) -> Vec<u64> {
        let mut starts = Starts::new(arrivals, 11, worker, workers).unwrap();
        std::iter::from_fn(|| Some(starts.next())).take_while(|at| *at < until).collect()
    }

    #[test]
    fn an_odd_rate_does_not_drift() {
        let mut starts = Starts::new(&Arrivals::Constant { ops_per_s: 3.0 }, 0, 0, 1).unwrap();
        assert_eq!((0..=3_000_000).map(|_| starts.next()).last(), Some(1_000_000 * S));
    }

    #[test]
    fn workers_take_turns() {
        let constant = Arrivals::Constant { ops_per_s: 1000.0 };
        assert_eq!(starts(&constant, 0, 2, 5_000_000), [0, 2_000_000, 4_000_000]);
        assert_eq!(starts(&constant, 1, 2, 6_000_000), [1_000_000, 3_000_000, 5_000_000]);
    }

    #[test]
    fn steps_follow_each_other_and_the_last_stays() {
        let step = |ops_per_s, for_s| RateStep { ops_per_s, for_s };
        let steps = Arrivals::Steps { steps: vec![step(2.0, 1.0), step(0.0, 3.0), step(4.0, 1.0)] };
        let seen: Vec<f64> = starts(&steps, 0, 1, 6 * S).into_iter().map(|at| at as f64 / 1e9).collect();
        assert_eq!(seen, [0.0, 0.5, 4.0, 4.25, 4.5, 4.75, 5.0, 5.25, 5.5, 5.75]);
        let pause = Arrivals::Steps { steps: vec![step(2.0, 1.0), step(0.0, 1.0)] };
        assert_eq!(starts(&pause, 0, 1, u64::MAX), [0, S / 2], "a last rate of nothing is the end");
    }

    #[test]
    fn nothing_starts_before_the_first_moment() {
        let from = |at_s, ops_per_s| RateFrom { at_s, ops_per_s };
        let times = Arrivals::Times { times: vec![from(2.0, 1.0), from(4.0, 2.0)] };
        let seen: Vec<f64> = starts(&times, 0, 1, 6 * S).into_iter().map(|at| at as f64 / 1e9).collect();
        assert_eq!(seen, [2.0, 3.0, 4.0, 4.5, 5.0, 5.5]);
    }

    #[test]
    fn a_ramp_is_the_integral_of_its_rate() {
        // From 0 to 100 per second over 10 s: n = 5 t², so the n-th starts at sqrt(n / 5); 500 in the ramp.
        let ramp = Arrivals::Ramp { from_ops_per_s: 0.0, to_ops_per_s: 100.0, over_s: 10.0 };
        let up = starts(&ramp, 0, 1, 11 * S);
        assert_eq!(up.len(), 600);
        for (number, at) in up.iter().enumerate().take(500) {
            assert!((*at as f64 / 1e9 - (number as f64 / 5.0).sqrt()).abs() < 1e-8, "{number}");
        }
        assert_eq!((up[500], up[599]), (10 * S, 10 * S + 990_000_000));
        // Down to zero: 500 again, mirrored in time, then no more.
        let ramp = Arrivals::Ramp { from_ops_per_s: 100.0, to_ops_per_s: 0.0, over_s: 10.0 };
        let down = starts(&ramp, 0, 1, u64::MAX);
        assert_eq!(down.len(), 500);
        for (number, at) in down.iter().enumerate() {
            let before_end = ((500 - number) as f64 / 5.0).sqrt();
            assert!((*at as f64 / 1e9 - (10.0 - before_end)).abs() < 1e-6, "{number}");
        }
    }

    #[test]
    fn workers_share_a_changing_rate_without_gaps() {
        let ramp = Arrivals::Ramp { from_ops_per_s: 10.0, to_ops_per_s: 500.0, over_s: 2.0 };
        let mut shared: Vec<u64> = (0..3).flat_map(|worker| starts(&ramp, worker, 3, 5 * S)).collect();
        shared.sort_unstable();
        assert_eq!(shared, starts(&ramp, 0, 1, 5 * S));
    }

    #[test]
    fn poisson_gaps_are_exponential_and_streams_differ() {
        let poisson = Arrivals::Poisson { ops_per_s: 1000.0 };
        let (one, two) = (starts(&poisson, 0, 2, 200 * S), starts(&poisson, 1, 2, 200 * S));
        assert_ne!(one[..10], two[..10]);
        // 200 s at 1000 per second over both: 200 000, standard deviation 447.
        assert!((one.len() + two.len()).abs_diff(200_000) < 2200, "{} and {}", one.len(), two.len());
        // The gaps of one stream, in tenths of the probability: P(gap > x) = exp(-x / 2 ms).
        let mut tenths = [0u64; 10];
        for pair in one.windows(2) {
            let above = (-((pair[1] - pair[0]) as f64) / 2e6).exp();
            tenths[((above * 10.0) as usize).min(9)] += 1;
        }
        let expected = (one.len() - 1) as f64 / 10.0;
        let chi_square: f64 = tenths.iter().map(|n| (*n as f64 - expected).powi(2) / expected).sum();
        // Nine degrees of freedom: one seed in 2000 exceeds 30.1.
        assert!(chi_square < 30.1, "{chi_square}");
        // Counts per tenth of a second are Poisson distributed: variance and mean are equal.
        let mut counts = vec![0f64; 2000];
        one.iter().for_each(|at| counts[(*at / (S / 10)) as usize] += 1.0);
        let mean = counts.iter().sum::<f64>() / 2000.0;
        let variance = counts.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / 1999.0;
        // Standard deviation of the ratio: sqrt(2 / 2000) = 0.03.
        assert!((variance / mean - 1.0).abs() < 0.16, "{}", variance / mean);
    }
}
