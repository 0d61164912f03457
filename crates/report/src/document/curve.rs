//! Latency by percentile: how long the slowest 1 in 10, 100 or 1000 operations took.

use metrics::{Histogram, OpKind};
use serde::Serialize;

/// Points per decade of `1 / (1 - quantile)`.
const POINTS_A_DECADE: u32 = 12;

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    /// `1 / (1 - quantile)`: 100 is the 99th percentile, "one in a hundred took longer".
    pub one_in: f64,
    /// The service time there, in nanoseconds.
    pub service_ns: u64,
    /// The response time there, in nanoseconds.
    pub response_ns: u64,
}

/// Latencies of an operation by percentile.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// The operation; `None` for all together.
    pub op: Option<OpKind>,
    /// From the minimum (`one_in` 1) to the maximum.
    pub points: Vec<CurvePoint>,
}

impl Curve {
    /// The curve of these histograms; `None` if they are empty.
    pub fn of(op: Option<OpKind>, service: &Histogram, response: &Histogram) -> Option<Self> {
        let most = response.count().max(service.count());
        if most == 0 {
            return None;
        }
        let point = |one_in: f64| {
            let quantile = 1.0 - 1.0 / one_in;
            CurvePoint {
                one_in,
                service_ns: service.quantile_ns(quantile),
                response_ns: response.quantile_ns(quantile),
            }
        };
        let steps = ((most as f64).log10() * f64::from(POINTS_A_DECADE)).floor() as u32;
        let mut points: Vec<CurvePoint> =
            (0..=steps).map(|step| point(10f64.powf(f64::from(step) / f64::from(POINTS_A_DECADE)))).collect();
        // The last point is the maximum: one in all.
        let longest =
            CurvePoint { one_in: most as f64, service_ns: service.max_ns(), response_ns: response.max_ns() };
        if points.last().is_some_and(|last| last.one_in < most as f64) {
            points.push(longest);
        }
        Some(Self { op, points })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_rises_from_the_shortest_to_the_longest() {
        let mut histogram = Histogram::new();
        (1..=1000u64).for_each(|n| histogram.record(n * 1000));
        let curve = Curve::of(None, &histogram, &histogram).unwrap();
        let at = |one_in: f64| {
            curve.points.iter().find(|p| (p.one_in / one_in - 1.0).abs() < 1e-6).unwrap().response_ns as f64
        };
        assert!((at(10.0) / 900_000.0 - 1.0).abs() < 0.002);
        assert!((at(100.0) / 990_000.0 - 1.0).abs() < 0.002);
        assert!((at(1000.0) / 1_000_000.0 - 1.0).abs() < 0.002);
        assert!(curve.points.windows(2).all(|pair| pair[0].response_ns <= pair[1].response_ns));
        assert!(Curve::of(None, &Histogram::new(), &Histogram::new()).is_none());
    }
}
