//! Draws ranks, 0 being the most popular, in constant memory for any number of places.

/// A distribution of ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Popularity {
    Zipf(Zipf),
    Pareto(Pareto),
}

impl Popularity {
    /// A rank from 0, below the number of places.
    #[inline]
    pub(crate) fn draw(&self, random: &mut fastrand::Rng) -> u64 {
        match self {
            Popularity::Zipf(zipf) => zipf.draw(random),
            Popularity::Pareto(pareto) => pareto.draw(random),
        }
    }
}

/// Rank `k` (from 1) with probability proportional to `1 / k^theta`, by rejection-inversion (Hörmann and Derflinger,
/// "Rejection-inversion to generate variates from monotone discrete distributions", ACM TOMACS 6, 1996): exact, without
/// a table, with about 1.1 tries per draw.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Zipf {
    total: f64,
    theta: f64,
    /// The hat function's integral at both ends.
    from: f64,
    to: f64,
    /// A value this close to its integer is accepted without further checks.
    sure: f64,
}

impl Zipf {
    /// `theta` above 0.
    pub(crate) fn new(total: u64, theta: f64) -> Self {
        let total = total.max(1) as f64;
        let area = |x: f64| area(x, theta);
        Zipf {
            total,
            theta,
            from: area(1.5) - 1.0,
            to: area(total + 0.5),
            sure: 2.0 - area_inverse(area(2.5) - 2f64.powf(-theta), theta),
        }
    }

    fn draw(&self, random: &mut fastrand::Rng) -> u64 {
        loop {
            let height = self.to + random.f64() * (self.from - self.to);
            let x = area_inverse(height, self.theta);
            let rank = x.round().clamp(1.0, self.total);
            if rank - x <= self.sure || height >= area(rank + 0.5, self.theta) - rank.powf(-self.theta) {
                return rank as u64 - 1;
            }
        }
    }
}

/// The integral of `x^-theta` from 1, in a form that loses no digits for theta near 1.
fn area(x: f64, theta: f64) -> f64 {
    let log = x.ln();
    let exponent = (1.0 - theta) * log;
    if exponent.abs() < 1e-12 { log } else { log * exponent.exp_m1() / exponent }
}

/// The inverse of that integral.
fn area_inverse(value: f64, theta: f64) -> f64 {
    let scaled = ((1.0 - theta) * value).max(-1.0);
    let log = if scaled.abs() < 1e-12 { value } else { value * scaled.ln_1p() / scaled };
    log.exp()
}

/// fio's `pareto:h`: rank `total · u^(ln h / ln (1 - h))` for a uniform `u`, so that the first share `h` of the places
/// gets the share `1 - h` of the accesses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pareto {
    total: u64,
    power: f64,
}

impl Pareto {
    /// `h` above 0, below 1.
    pub(crate) fn new(total: u64, h: f64) -> Self {
        Pareto { total: total.max(1), power: h.ln() / (1.0 - h).ln() }
    }

    fn draw(&self, random: &mut fastrand::Rng) -> u64 {
        let rank = self.total as f64 * random.f64().powf(self.power);
        (rank as u64).min(self.total - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u64 = 400_000;

    /// Count of each rank.
    fn counts(popularity: Popularity, total: usize) -> Vec<u64> {
        let mut random = fastrand::Rng::with_seed(1234);
        let mut counts = vec![0; total];
        for _ in 0..DRAWS {
            counts[popularity.draw(&mut random) as usize] += 1;
        }
        counts
    }

    /// Chi-square against expected shares, with the degrees of freedom.
    fn chi_square(counts: &[u64], shares: &[f64]) -> (f64, f64) {
        let term = |(count, share): (&u64, &f64)| {
            let expected = share * DRAWS as f64;
            (*count as f64 - expected).powi(2) / expected
        };
        (counts.iter().zip(shares).map(term).sum(), counts.len() as f64 - 1.0)
    }

    #[test]
    fn zipf_follows_its_law() {
        for (total, theta) in
            [(1, 0.99), (2, 0.5), (10, 0.99), (100, 1.0), (100, 1.2), (1000, 0.2), (50, 3.0)]
        {
            let weights: Vec<f64> = (1..=total).map(|k| f64::from(k).powf(-theta)).collect();
            let sum: f64 = weights.iter().sum();
            let shares: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
            let seen = counts(Popularity::Zipf(Zipf::new(total as u64, theta)), total as usize);
            let (chi_square, freedom) = chi_square(&seen, &shares);
            // Mean `freedom`, standard deviation sqrt(2 freedom): five of those never occur at random.
            let limit = freedom + 5.0 * (2.0 * freedom).sqrt() + 1e-9;
            assert!(chi_square <= limit, "{total} {theta}: {chi_square} above {limit}");
        }
    }

    #[test]
    fn zipf_over_a_huge_space_takes_no_table() {
        // Of 10^12 ranks with theta 1 the first n have the share H(n) / H(10^12); H(n) = ln n + 0.57722 + 1/(2n).
        let popularity = Popularity::Zipf(Zipf::new(1_000_000_000_000, 1.0));
        let mut random = fastrand::Rng::with_seed(5);
        let mut below = [0u64; 3];
        let edges = [1, 1000, 1_000_000];
        for _ in 0..DRAWS {
            let rank = popularity.draw(&mut random);
            for (count, edge) in below.iter_mut().zip(edges) {
                *count += u64::from(rank < edge);
            }
        }
        let harmonic = |n: f64| if n == 1.0 { 1.0 } else { n.ln() + 0.577_215_665 + 0.5 / n };
        for (count, edge) in below.iter().zip(edges) {
            let share = harmonic(edge as f64) / harmonic(1e12);
            let deviation = (share * (1.0 - share) / DRAWS as f64).sqrt();
            let seen = *count as f64 / DRAWS as f64;
            assert!((seen - share).abs() < 5.0 * deviation, "{edge}: {seen} instead of {share}");
        }
    }

    #[test]
    fn pareto_gives_the_first_share_h_the_share_one_minus_h() {
        for h in [0.1, 0.2, 0.3, 0.5] {
            let total = 1000;
            let popularity = Popularity::Pareto(Pareto::new(total as u64, h));
            let seen = counts(popularity, total);
            let hot: u64 = seen[..(h * total as f64) as usize].iter().sum();
            let deviation = (h * (1.0 - h) / DRAWS as f64).sqrt();
            let share = hot as f64 / DRAWS as f64;
            assert!((share - (1.0 - h)).abs() < 5.0 * deviation, "{h}: {share}");
            // And the whole curve: P(rank < x) = (x / total)^(ln (1 - h) / ln h).
            let power = (1.0f64 - h).ln() / h.ln();
            let cumulative = |x: usize| (x as f64 / total as f64).powf(power);
            let tenths: Vec<u64> = seen.chunks(100).map(|chunk| chunk.iter().sum()).collect();
            let shares: Vec<f64> =
                (0..10).map(|tenth| cumulative(100 * (tenth + 1)) - cumulative(100 * tenth)).collect();
            let (chi_square, freedom) = chi_square(&tenths, &shares);
            assert!(chi_square < freedom + 5.0 * (2.0 * freedom).sqrt(), "{h}: {chi_square}");
        }
    }
}
