//! Sizes of files that differ: a distribution, and the size that it gives to each file by its number.

use std::fmt;

use serde::{Deserialize, Serialize};
use units::{Share, Size};

use super::split_mix;

/// How the sizes of files are distributed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SizeLaw {
    /// Exponential with this mean, in bytes.
    Exponential {
        /// Mean in bytes.
        mean_bytes: u64,
    },
    /// Lognormal: the logarithm of the size is normally distributed.
    Lognormal {
        /// Median in bytes.
        median_bytes: u64,
        /// Standard deviation of the size's natural logarithm.
        sigma: f64,
    },
    /// A table of sizes in bytes, each with its share; the shares add up to 1.
    Shares(Vec<(u64, f64)>),
}

/// A distribution of sizes between 1 byte and a max, and the seed that assigns them to files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeDistribution {
    /// The distribution.
    pub law: SizeLaw,
    /// Larger sizes are cut to this many bytes; `None` if nothing is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_bytes: Option<u64>,
    /// Determines which file has which size.
    pub seed: u64,
}

/// Number of files after which the sizes repeat.
pub const SIZE_PERIOD: u64 = 1 << 16;

/// Maximum size of a file, in bytes: whatever the distribution says, it stays below what file systems allow.
const MAX_BYTES: u64 = 1 << 50;

impl SizeDistribution {
    /// The size below which this share of all files is, in bytes. `share` lies between 0 and 1, exclusive.
    fn quantile(&self, share: f64) -> u64 {
        // libm computes the same on every machine, which the functions of the standard library do not promise.
        let bytes = match &self.law {
            SizeLaw::Exponential { mean_bytes } => -libm::log(1.0 - share) * *mean_bytes as f64,
            SizeLaw::Lognormal { median_bytes, sigma } => {
                *median_bytes as f64 * libm::exp(sigma * normal_quantile(share))
            }
            SizeLaw::Shares(sizes) => {
                let mut below = 0.0;
                let found = sizes.iter().find(|(_, of)| {
                    below += of;
                    share < below
                });
                // Rounding may leave the last sum slightly below 1.
                found.or(sizes.last()).map_or(1, |(bytes, _)| *bytes) as f64
            }
        };
        (libm::round(bytes) as u64).clamp(1, self.limit())
    }

    /// What no size exceeds, in bytes.
    fn limit(&self) -> u64 {
        self.limit_bytes.unwrap_or(MAX_BYTES).clamp(1, MAX_BYTES)
    }

    /// The size at a position among all sizes, from the smallest on.
    fn at(&self, position: u64) -> u64 {
        self.quantile((position as f64 + 0.5) / SIZE_PERIOD as f64)
    }

    /// The largest size that a file can have, in bytes.
    pub fn max_bytes(&self) -> u64 {
        match &self.law {
            SizeLaw::Shares(sizes) => {
                let largest = sizes.iter().map(|(bytes, _)| *bytes).max().unwrap_or(1);
                largest.clamp(1, self.limit())
            }
            SizeLaw::Exponential { .. } | SizeLaw::Lognormal { .. } => self.at(SIZE_PERIOD - 1),
        }
    }

    /// The mean size in bytes, of many files.
    pub fn mean_bytes(&self) -> u64 {
        let limit = self.limit_bytes.unwrap_or(MAX_BYTES).min(MAX_BYTES) as f64;
        let mean = match &self.law {
            SizeLaw::Exponential { mean_bytes } => {
                let mean = *mean_bytes as f64;
                mean * (1.0 - libm::exp(-limit / mean))
            }
            SizeLaw::Lognormal { median_bytes, sigma } => {
                // Johnson, Kotz, Balakrishnan, "Continuous Univariate Distributions", vol. 1, ch. 14: the mean of the
                // smaller of a lognormal variate and a constant. Beyond the last size that is assigned there is nothing.
                let limit = limit.min(self.max_bytes() as f64);
                let edge = libm::log(limit / *median_bytes as f64) / sigma;
                let whole = *median_bytes as f64 * libm::exp(sigma * sigma / 2.0);
                whole * normal_share(edge - sigma) + limit * (1.0 - normal_share(edge))
            }
            SizeLaw::Shares(sizes) => sizes.iter().map(|(bytes, of)| (*bytes as f64).min(limit) * of).sum(),
        };
        (libm::round(mean) as u64).max(1)
    }

    /// Whether every size is a multiple of this many bytes.
    pub fn are_multiples_of(&self, bytes: u64) -> bool {
        match &self.law {
            SizeLaw::Shares(sizes) => {
                let limit = self.limit_bytes.unwrap_or(MAX_BYTES);
                sizes.iter().all(|(size, _)| size.min(&limit).is_multiple_of(bytes))
            }
            SizeLaw::Exponential { .. } | SizeLaw::Lognormal { .. } => false,
        }
    }
}

/// As in an experiment file: `{exponential: 64KiB, max: 1MiB}`.
impl fmt::Display for SizeDistribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.law {
            SizeLaw::Exponential { mean_bytes } => write!(f, "{{exponential: {}", Size(*mean_bytes))?,
            SizeLaw::Lognormal { median_bytes, sigma } => {
                write!(f, "{{lognormal: {{median: {}, sigma: {sigma}}}", Size(*median_bytes))?;
            }
            SizeLaw::Shares(sizes) => {
                f.write_str("{shares: {")?;
                for (at, (bytes, of)) in sizes.iter().enumerate() {
                    let between = if at == 0 { "" } else { ", " };
                    let of =
                        Share::new(*of).map_or_else(|| format!("{}%", of * 100.0), |share| share.to_string());
                    write!(f, "{between}{}: {of}", Size(*bytes))?;
                }
                f.write_str("}")?;
            }
        }
        match self.limit_bytes {
            Some(bytes) => write!(f, ", max: {}}}", Size(bytes)),
            None => f.write_str("}"),
        }
    }
}

/// The share of a standard normal distribution below `z`.
fn normal_share(z: f64) -> f64 {
    libm::erfc(-z / std::f64::consts::SQRT_2) / 2.0
}

/// The value below which this share of a standard normal distribution is, by Newton's method.
fn normal_quantile(share: f64) -> f64 {
    let (upper, sign) = if share < 0.5 { (1.0 - share, -1.0) } else { (share, 1.0) };
    let mut z = 0.0;
    // Above 0 the share is concave, so the steps approach the value from below and never pass it.
    for _ in 0..64 {
        let density = libm::exp(-z * z / 2.0) / libm::sqrt(2.0 * std::f64::consts::PI);
        let step = (upper - normal_share(z)) / density;
        z += step;
        if libm::fabs(step) < 1e-12 {
            break;
        }
    }
    sign * z
}

/// The size of every file: of a distribution, however many there are, or of files that exist.
///
/// [`SIZE_PERIOD`] files of a distribution in a row have the sizes at as many evenly spaced quantiles, in an order drawn from the seed; then
/// the same sizes follow again. So a file's number alone determines its size, and sums over any range of files take constant
/// time and memory.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeTable {
    /// The sizes of a period, of at least one file.
    sizes: Vec<u64>,
}

impl SizeTable {
    /// The sizes of this distribution.
    pub fn new(distribution: SizeDistribution) -> Self {
        let mut sizes: Vec<u64> = (0..SIZE_PERIOD).map(|position| distribution.at(position)).collect();
        // Fisher and Yates.
        let mut state = distribution.seed;
        for last in (1..sizes.len()).rev() {
            let at = (u128::from(split_mix(&mut state)) * (last as u128 + 1)) >> 64;
            sizes.swap(last, at as usize);
        }
        SizeTable { sizes }
    }

    /// Files of these sizes in bytes, numbered from 0.
    pub fn listed(mut sizes: Vec<u64>) -> Self {
        if sizes.is_empty() {
            sizes.push(0);
        }
        SizeTable { sizes }
    }

    /// The size of the file with this number, in bytes.
    #[inline]
    pub fn bytes_of(&self, number: u64) -> u64 {
        self.sizes[(number % self.sizes.len() as u64) as usize]
    }

    /// The files divided into blocks of this many bytes.
    pub fn in_blocks(&self, block_bytes: u64) -> SizeSums {
        SizeSums::new(self.sizes.iter().map(|bytes| bytes.div_ceil(block_bytes)))
    }

    /// The files divided into bytes.
    pub fn in_bytes(&self) -> SizeSums {
        self.in_blocks(1)
    }
}

/// Parts of files, such as their blocks, numbered through all files.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeSums {
    /// Number of parts before each file of a period, and of the whole period.
    before: Vec<u64>,
}

impl SizeSums {
    fn new(parts: impl Iterator<Item = u64>) -> Self {
        let mut before = Vec::with_capacity(parts.size_hint().0 + 1);
        let mut sum = 0;
        before.push(0);
        before.extend(parts.map(|parts| {
            sum += parts;
            sum
        }));
        SizeSums { before }
    }

    /// Number of files in a period.
    fn period(&self) -> u64 {
        self.before.len() as u64 - 1
    }

    fn whole(&self) -> u64 {
        self.before[self.before.len() - 1]
    }

    /// Number of parts before a file.
    pub fn before(&self, file: u64) -> u64 {
        (file / self.period())
            .saturating_mul(self.whole())
            .saturating_add(self.before[(file % self.period()) as usize])
    }

    /// The file that a part belongs to, and the part's number in the file.
    #[inline]
    pub fn locate(&self, part: u64) -> (u64, u64) {
        let (period, part) = (part / self.whole(), part % self.whole());
        let file = self.before.partition_point(|before| *before <= part) - 1;
        (period * self.period() + file as u64, part - self.before[file])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn distribution(law: SizeLaw) -> SizeDistribution {
        SizeDistribution { law, limit_bytes: None, seed: 1 }
    }

    fn law() -> impl Strategy<Value = SizeLaw> {
        prop_oneof![
            (1u64..1 << 30).prop_map(|mean_bytes| SizeLaw::Exponential { mean_bytes }),
            (1u64..1 << 30, 0.01f64..2.5)
                .prop_map(|(median_bytes, sigma)| SizeLaw::Lognormal { median_bytes, sigma }),
            prop::collection::vec((1u64..1 << 30, 0.01f64..1.0), 1..8).prop_map(|mut sizes| {
                let sum: f64 = sizes.iter().map(|(_, of)| of).sum();
                sizes.iter_mut().for_each(|(_, of)| *of /= sum);
                SizeLaw::Shares(sizes)
            }),
        ]
    }

    #[test]
    fn quantiles_of_the_normal_distribution_are_those_of_tables() {
        // Abramowitz and Stegun, table 26.5.
        for (share, value) in
            [(0.5, 0.0), (0.975, 1.959_963_985), (0.999, 3.090_232_306), (0.1, -1.281_551_566)]
        {
            assert!((normal_quantile(share) - value).abs() < 1e-8, "{share}");
        }
        assert!((normal_quantile(1e-5) + 4.264_890_794).abs() < 1e-8);
    }

    /// Results of one machine must be those of another, and a later version must find the files of an earlier one.
    #[test]
    fn sizes_are_the_same_everywhere() {
        let first = |law| {
            let table = SizeTable::new(distribution(law));
            [0, 1, 2, 65_535].map(|number| table.bytes_of(number))
        };
        let exponential = first(SizeLaw::Exponential { mean_bytes: 65_536 });
        let lognormal = first(SizeLaw::Lognormal { median_bytes: 16_384, sigma: 1.5 });
        let shares = first(SizeLaw::Shares(vec![(4096, 0.6), (65_536, 0.3), (1 << 20, 0.1)]));
        assert_eq!(exponential, [153_567, 14_474, 62_862, 54_789]);
        assert_eq!(lognormal, [115_954, 4591, 25_583, 21_068]);
        assert_eq!(shares, [1_048_576, 4096, 65_536, 4096]);
    }

    #[test]
    fn shares_are_exact() {
        let table = SizeTable::new(distribution(SizeLaw::Shares(vec![(4096, 0.75), (100, 0.25)])));
        let small = (0..SIZE_PERIOD).filter(|file| table.bytes_of(*file) == 100).count() as u64;
        assert_eq!(small, SIZE_PERIOD / 4);
    }

    #[test]
    fn files_that_exist_have_the_sizes_that_they_have() {
        let table = SizeTable::listed(vec![10, 0, 25, 0]);
        assert_eq!([0, 1, 2, 3].map(|file| table.bytes_of(file)), [10, 0, 25, 0]);
        let sums = table.in_blocks(10);
        assert_eq!([0, 1, 2, 3, 4].map(|file| sums.before(file)), [0, 1, 1, 4, 4]);
        assert_eq!([0, 1, 2, 3].map(|part| sums.locate(part)), [(0, 0), (2, 0), (2, 1), (2, 2)]);
        assert_eq!(SizeTable::listed(Vec::new()).in_bytes().before(0), 0);
    }

    #[test]
    fn a_seed_gives_another_order_of_the_same_sizes() {
        let sorted = |seed| {
            let law = SizeLaw::Exponential { mean_bytes: 1 << 20 };
            let table = SizeTable::new(SizeDistribution { seed, ..distribution(law) });
            let mut sizes = table.sizes.clone();
            sizes.sort_unstable();
            (table.sizes, sizes)
        };
        let ((one, one_sorted), (other, other_sorted)) = (sorted(1), sorted(2));
        assert!(one != other && one_sorted == other_sorted);
    }

    #[test]
    fn distributions_are_shown_as_they_are_written() {
        let law = SizeLaw::Shares(vec![(4096, 0.6), (1 << 20, 0.4)]);
        let limited = SizeDistribution { limit_bytes: Some(64 << 10), ..distribution(law) };
        assert_eq!(limited.to_string(), "{shares: {4KiB: 60%, 1MiB: 40%}, max: 64KiB}");
        let lognormal = distribution(SizeLaw::Lognormal { median_bytes: 8192, sigma: 1.5 });
        assert_eq!(lognormal.to_string(), "{lognormal: {median: 8KiB, sigma: 1.5}}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// The mean that space and reports are computed from is that of the files.
        #[test]
        fn sizes_have_their_mean_and_bounds(law in law(), limit in prop::option::of(1u64..1 << 32)) {
            let distribution = SizeDistribution { limit_bytes: limit, ..distribution(law) };
            let (mean, max) = (distribution.mean_bytes() as f64, distribution.max_bytes());
            let table = SizeTable::new(distribution);
            prop_assert!(table.sizes.iter().all(|bytes| (1..=max).contains(bytes)));
            prop_assert!(limit.is_none_or(|limit| max <= limit));
            let real = table.in_bytes().before(SIZE_PERIOD) as f64 / SIZE_PERIOD as f64;
            prop_assert!((real - mean).abs() <= 0.01 * mean + 1.0, "{real} of {mean}");
        }

        #[test]
        fn every_part_belongs_to_its_file(law in law(), block in 1u64..1 << 20, file in 0u64..1 << 24) {
            let table = SizeTable::new(distribution(law));
            let sums = table.in_blocks(block);
            let (before, parts) = (sums.before(file), table.bytes_of(file).div_ceil(block));
            prop_assert_eq!(sums.before(file + 1), before + parts);
            for part in [0, parts / 2, parts - 1] {
                prop_assert_eq!(sums.locate(before + part), (file, part));
            }
        }
    }
}
