//! Distribution of response times over time: columns of time, rows of latency on a logarithmic scale.

use std::collections::BTreeMap;

use metrics::Histogram;
use serde::Serialize;

/// Rows per decade.
pub const ROWS_A_DECADE: u32 = 8;

/// A time span and its operations by latency.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HeatColumn {
    /// Its start, in seconds since the measurement began; negative in the warm-up.
    pub start_s: f64,
    /// Its end, in seconds.
    pub end_s: f64,
    /// Operations by row; row `r` starts at a latency of `10^(r/8)` ns.
    pub rows: BTreeMap<u32, u64>,
}

impl HeatColumn {
    /// The column for a time span.
    pub fn of(start_s: f64, end_s: f64, response: &Histogram) -> Self {
        let mut rows = BTreeMap::new();
        for (latency_ns, count) in response.counts() {
            *rows.entry(row_of(latency_ns)).or_default() += count;
        }
        Self { start_s, end_s, rows }
    }

    fn join(&mut self, next: &Self) {
        self.end_s = next.end_s;
        for (row, count) in &next.rows {
            *self.rows.entry(*row).or_default() += count;
        }
    }
}

/// The row that a latency belongs to.
pub fn row_of(latency_ns: u64) -> u32 {
    ((latency_ns.max(1) as f64).log10() * f64::from(ROWS_A_DECADE)) as u32
}

/// The lower edge of a row, in nanoseconds.
pub fn row_edge_ns(row: u32) -> f64 {
    10f64.powf(f64::from(row) / f64::from(ROWS_A_DECADE))
}

/// Latency over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HeatMap {
    /// In order of time.
    pub columns: Vec<HeatColumn>,
}

/// Incoming columns, joined whenever there are too many.
#[derive(Clone, Debug)]
pub(super) struct HeatBuilder {
    limit: usize,
    each: u32,
    in_last: u32,
    columns: Vec<HeatColumn>,
}

impl HeatBuilder {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit: limit.max(2), each: 1, in_last: 0, columns: Vec::new() }
    }

    pub(super) fn push(&mut self, column: HeatColumn) {
        match self.columns.last_mut() {
            Some(last) if self.in_last < self.each => {
                last.join(&column);
                self.in_last += 1;
            }
            _ => {
                if self.columns.len() >= self.limit {
                    self.halve();
                    return self.push(column);
                }
                self.columns.push(column);
                self.in_last = 1;
            }
        }
    }

    fn halve(&mut self) {
        // Only the last column may be short, and it stays alone only if their number is odd.
        let odd = self.columns.len() % 2 == 1;
        if !odd {
            self.in_last += self.each;
        }
        self.each *= 2;
        let columns = std::mem::take(&mut self.columns);
        for (index, column) in columns.into_iter().enumerate() {
            match self.columns.last_mut() {
                Some(last) if index % 2 == 1 => last.join(&column),
                _ => self.columns.push(column),
            }
        }
    }

    pub(super) fn finish(self) -> Vec<HeatColumn> {
        self.columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rows_are_eighths_of_a_decade() {
        assert_eq!(row_of(0), 0);
        assert_eq!(row_of(1), 0);
        assert_eq!(row_of(1_000), 24);
        assert_eq!(row_of(1_400), 25);
        assert!((row_edge_ns(24) - 1_000.0).abs() < 1e-6);
    }

    proptest! {
        // Each case creates hundreds of histograms.
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn no_operation_gets_lost(latencies in prop::collection::vec(1u64..10_000_000_000, 1..400), limit in 2usize..50) {
            let mut builder = HeatBuilder::new(limit);
            for (second, latency) in latencies.iter().enumerate() {
                let mut histogram = Histogram::new();
                histogram.record(*latency);
                builder.push(HeatColumn::of(second as f64, second as f64 + 1.0, &histogram));
            }
            let columns = builder.finish();
            prop_assert!(columns.len() <= limit);
            let counted: u64 = columns.iter().flat_map(|c| c.rows.values()).sum();
            prop_assert_eq!(counted, latencies.len() as u64);
            prop_assert!(columns.windows(2).all(|pair| pair[0].end_s == pair[1].start_s));
        }
    }
}
