//! Places of random operations.

use experiment::{Amount, Distribution};

use crate::access::permutation::Permutation;
use crate::access::popularity::{Pareto, Popularity, Zipf};

/// Number of redraws if a normal variate lies outside the region; after that the nearest place is used.
const TRIES: u32 = 16;

/// A distribution over a number of places.
#[derive(Clone, Debug)]
pub(super) enum RandomPlace {
    Even,
    /// By rank: scattered, or contiguous from a given place on.
    Ranked {
        popularity: Popularity,
        scatter: Option<Permutation>,
        first: u64,
    },
    Normal {
        middle: f64,
        deviation: f64,
    },
    /// Cumulative shares up to 1, first place and number of places.
    Zoned(Vec<(f64, u64, u64)>),
}

impl RandomPlace {
    /// A distribution over `places` places of `unit` bytes in a region of `length` bytes.
    pub(super) fn new(distribution: &Distribution, places: u64, unit: u64, length: u64, seed: u64) -> Self {
        let ranked = |popularity, centre: Option<f64>| {
            let scatter = centre.is_none().then(|| Permutation::new(places.max(1), seed));
            let first = centre.map_or(0, |centre| (centre.clamp(0.0, 1.0) * places as f64) as u64);
            RandomPlace::Ranked { popularity, scatter, first }
        };
        match distribution {
            Distribution::Even => RandomPlace::Even,
            Distribution::Zipf { theta, centre } => {
                ranked(Popularity::Zipf(Zipf::new(places, *theta)), *centre)
            }
            Distribution::Pareto { h, centre } => {
                ranked(Popularity::Pareto(Pareto::new(places, *h)), *centre)
            }
            Distribution::Normal { deviation, centre } => RandomPlace::Normal {
                middle: centre.unwrap_or(0.5) * places as f64,
                deviation: deviation / 100.0 * places as f64,
            },
            Distribution::Zoned { zones } => {
                let total: f64 = zones.iter().map(|zone| zone.percent).sum();
                let (mut share, mut from) = (0.0, 0u64);
                let mut list = Vec::new();
                for (at, zone) in zones.iter().enumerate() {
                    share += zone.percent / total;
                    let bytes = match zone.length {
                        Amount::Bytes(bytes) => bytes,
                        Amount::Percent(_) => zone.length.of(length),
                    };
                    let until = if at + 1 == zones.len() && matches!(zone.length, Amount::Percent(_)) {
                        length
                    } else {
                        (from + bytes).min(length)
                    };
                    let first = (from / unit).min(places.saturating_sub(1));
                    let last = (until / unit).clamp(first + 1, places.max(first + 1));
                    if zone.percent > 0.0 {
                        list.push((share, first, last - first));
                    }
                    from = until;
                }
                RandomPlace::Zoned(list)
            }
        }
    }

    /// A place below `places`, which must be above 0 and at most the number given at construction.
    #[inline]
    pub(super) fn draw(&self, random: &mut fastrand::Rng, places: u64) -> u64 {
        match self {
            RandomPlace::Even => random.u64(..places),
            RandomPlace::Ranked { popularity, scatter, first } => {
                let rank = popularity.draw(random);
                let place = match scatter {
                    Some(scatter) => scatter.at(rank),
                    None => rank + first,
                };
                place % places
            }
            RandomPlace::Normal { middle, deviation } => {
                let mut place = *middle;
                for _ in 0..TRIES {
                    place = middle + deviation * normal(random);
                    if (0.0..places as f64).contains(&place) {
                        return place as u64;
                    }
                }
                (place.max(0.0) as u64).min(places - 1)
            }
            RandomPlace::Zoned(zones) => {
                let drawn = random.f64();
                let Some((_, first, count)) =
                    zones.iter().find(|(below, ..)| drawn < *below).or_else(|| zones.last())
                else {
                    return random.u64(..places);
                };
                (first + random.u64(..*count)) % places
            }
        }
    }
}

/// A standard normal variate (Box and Muller, 1958).
fn normal(random: &mut fastrand::Rng) -> f64 {
    // 1 - u is above 0, so the logarithm is finite.
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.f64()).cos()
}

#[cfg(test)]
mod tests {
    use experiment::Zone;

    use super::*;

    const PLACES: u64 = 1000;
    const DRAWS: usize = 200_000;

    fn counts(distribution: &Distribution) -> Vec<u64> {
        let mut random = fastrand::Rng::with_seed(5);
        let chance = RandomPlace::new(distribution, PLACES, 10, PLACES * 10, 3);
        let mut counts = vec![0; PLACES as usize];
        for _ in 0..DRAWS {
            counts[chance.draw(&mut random, PLACES) as usize] += 1;
        }
        counts
    }

    fn share(counts: &[u64]) -> f64 {
        counts.iter().sum::<u64>() as f64 / DRAWS as f64
    }

    #[test]
    fn a_normal_distribution_has_its_quantiles_around_its_middle() {
        let seen = counts(&Distribution::Normal { deviation: 10.0, centre: None });
        // Within one, two and three standard deviations: 0.6827, 0.9545, 0.9973; standard deviation of a share below
        // 0.0011.
        for (reach, expected) in [(100, 0.6827), (200, 0.9545), (300, 0.9973)] {
            let inside = share(&seen[500 - reach..500 + reach]);
            assert!((inside - expected).abs() < 0.005, "{reach}: {inside}");
        }
        let seen = counts(&Distribution::Normal { deviation: 1.0, centre: Some(0.2) });
        assert!(share(&seen[170..230]) > 0.99);
    }

    #[test]
    fn zones_get_their_shares_evenly() {
        let zone = |percent, length| Zone { percent, length };
        let zones = vec![
            zone(60.0, Amount::Percent(10.0)),
            zone(0.0, Amount::Percent(50.0)),
            zone(40.0, Amount::Percent(40.0)),
        ];
        let seen = counts(&Distribution::Zoned { zones });
        assert!((share(&seen[..100]) - 0.6).abs() < 0.006);
        assert_eq!(share(&seen[100..600]), 0.0);
        // 80 000 draws over 400 places: 399 degrees of freedom, standard deviation 28.
        let squares = seen[600..].iter().map(|n| (*n as f64 - 200.0).powi(2) / 200.0);
        assert!(squares.sum::<f64>() < 399.0 + 5.0 * 28.0);
        let zones = vec![zone(50.0, Amount::Bytes(1000)), zone(50.0, Amount::Bytes(1000))];
        assert!((share(&counts(&Distribution::Zoned { zones })[..200]) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_centre_says_where_the_favourites_lie() {
        let seen = counts(&Distribution::Zipf { theta: 1.2, centre: Some(0.25) });
        let favourite = (0..1000).max_by_key(|at| seen[*at]);
        assert_eq!(favourite, Some(250));
        assert!(seen[250] > seen[251] && seen[251] > seen[255]);
        // The first share h of the places, starting at the centre, gets the share 1 - h.
        let seen = counts(&Distribution::Pareto { h: 0.2, centre: Some(0.5) });
        assert!((share(&seen[500..700]) - 0.8).abs() < 0.005);
    }
}
