//! Patterns against their definitions, with fixed seeds.

use super::*;

const DRAWS: usize = 200_000;

fn field(total: u64, share: Range<u64>) -> Field {
    Field { total, share, keep_to_share: false, place_bytes: 10, seed: 42 }
}

fn draws(access: Access, field: &Field, count: usize) -> Vec<u64> {
    let mut random = fastrand::Rng::with_seed(7);
    let mut picker = Picker::new(&access, field);
    (0..count).map(|_| picker.next(&mut random)).collect()
}

fn counts(places: &[u64], total: usize) -> Vec<u64> {
    let mut counts = vec![0; total];
    places.iter().for_each(|place| counts[*place as usize] += 1);
    counts
}

#[test]
fn sequential_lanes_begin_at_their_share_and_wrap() {
    assert_eq!(draws(Access::Sequential, &field(6, 4..6), 8), [4, 5, 0, 1, 2, 3, 4, 5]);
    let own = Field { keep_to_share: true, ..field(6, 4..6) };
    assert_eq!(draws(Access::Sequential, &own, 5), [4, 5, 4, 5, 4]);
}

#[test]
fn strides_are_in_bytes_and_begin_at_the_share() {
    let access = Access::Strided { stride_bytes: 30 };
    assert_eq!(draws(access, &field(7, 0..7), 8), [0, 3, 6, 1, 4, 2, 5, 0]);
    // A lane whose share starts half the range further on starts there in the same order.
    assert_eq!(draws(access, &field(7, 3..7), 4), [1, 4, 2, 5]);
}

#[test]
fn shuffled_lanes_visit_their_share_once_a_pass_in_another_order_each_time() {
    let places = draws(Access::Shuffled, &field(100, 25..50), 75);
    let passes: Vec<Vec<u64>> = places.chunks(25).map(<[u64]>::to_vec).collect();
    for pass in &passes {
        let mut sorted = pass.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (25..50).collect::<Vec<_>>());
        assert_ne!(&sorted, pass);
    }
    assert_ne!(passes[0], passes[1]);
}

#[test]
fn random_is_even_over_the_share() {
    let places = draws(Access::Random, &field(400, 100..200), DRAWS);
    let counts = counts(&places, 400);
    assert!(counts[..100].iter().chain(&counts[200..]).all(|count| *count == 0));
    let expected = DRAWS as f64 / 100.0;
    let chi_square: f64 =
        counts[100..200].iter().map(|count| (*count as f64 - expected).powi(2) / expected).sum();
    // 99 degrees of freedom: mean 99, standard deviation 14.
    assert!((29.0..169.0).contains(&chi_square), "{chi_square}");
}

#[test]
fn a_lane_without_a_share_draws_from_everything() {
    let places = draws(Access::Random, &field(3, 2..2), 100);
    assert!((0..3).all(|place| places.contains(&place)));
    assert_eq!(draws(Access::Shuffled, &field(1, 1..1), 2), [0, 0]);
    assert_eq!(draws(Access::Sequential, &field(3, 3..3), 2), [0, 1]);
}

#[test]
fn a_hotspot_gets_its_share_of_the_operations() {
    let access = Access::Hotspot { ops: 0.9, space: 0.1 };
    let places = draws(access, &field(1000, 0..1000), DRAWS);
    let hot = places.iter().filter(|place| **place < 100).count() as f64 / DRAWS as f64;
    // Standard deviation sqrt(0.9 * 0.1 / 200 000) = 0.00067.
    assert!((hot - 0.9).abs() < 0.0034, "{hot}");
    let counts = counts(&places, 1000);
    assert!(counts[..100].iter().all(|count| (1500..2100).contains(count)));
    assert!(counts[100..].iter().all(|count| *count < 60));
    let all = draws(Access::Hotspot { ops: 0.5, space: 1.0 }, &field(10, 0..10), 1000);
    assert!((0..10).all(|place| all.contains(&place)), "all of it is hot");
}

#[test]
fn favourites_are_scattered_and_the_same_in_all_lanes() {
    for access in [Access::Zipf { theta: 1.2 }, Access::Pareto { h: 0.1 }] {
        let favourite = |share| {
            let counts = counts(&draws(access, &field(10_000, share), 20_000), 10_000);
            (0..10_000).max_by_key(|place| counts[*place as usize])
        };
        let places = draws(access, &field(10_000, 0..10), 1000);
        assert!(places.iter().any(|place| *place > 5000) && places.iter().any(|place| *place < 5000));
        if matches!(access, Access::Zipf { .. }) {
            assert_eq!(favourite(0..10), favourite(500..900));
        }
    }
}

#[test]
fn what_must_stay_in_the_share_stays_there() {
    let patterns = [
        Access::Sequential,
        Access::Random,
        Access::Shuffled,
        Access::Zipf { theta: 0.9 },
        Access::Pareto { h: 0.2 },
        Access::Hotspot { ops: 0.5, space: 0.2 },
        Access::Strided { stride_bytes: 40 },
    ];
    for access in patterns {
        let field = Field { keep_to_share: true, ..field(1000, 300..317) };
        let places = draws(access, &field, 2000);
        assert!(places.iter().all(|place| (300..317).contains(place)), "{access:?}");
        assert!((300..317).all(|place| places.contains(&place)), "{access:?} reaches everything");
    }
}
