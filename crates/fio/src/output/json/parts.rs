//! Parts of the document: one direction, one latency, objects with dynamic keys.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::super::direction::{DirectionFigures, RateSamples};
use super::super::groups::Summary;
use super::super::latency::{LIMITS, LatencyOutput, Shares};

/// An object with these keys, in this order.
#[derive(Clone, Debug, Default)]
pub struct Ordered<T>(pub Vec<(String, T)>);

impl<T: Serialize> Serialize for Ordered<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// A `clat_ns`, `lat_ns` or `slat_ns`.
#[derive(Serialize)]
pub struct LatencyPart {
    min: u64,
    max: u64,
    mean: f64,
    stddev: f64,
    #[serde(rename = "N")]
    count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    percentile: Option<Ordered<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bins: Option<Ordered<u64>>,
}

impl LatencyPart {
    /// Includes the buckets if `bins` is set and percentiles are shown.
    pub fn of(latency: &LatencyOutput, bins: bool) -> Self {
        let percentile = latency
            .percentiles
            .as_ref()
            .map(|list| Ordered(list.iter().map(|(percent, ns)| (format!("{percent:.6}"), *ns)).collect()));
        let counts = || Ordered(latency.bins.iter().map(|(ns, count)| (ns.to_string(), *count)).collect());
        LatencyPart {
            min: latency.min,
            max: latency.max,
            mean: latency.mean,
            stddev: latency.deviation,
            count: latency.count,
            bins: (bins && percentile.is_some()).then(counts),
            percentile,
        }
    }
}

/// A `read`, `write`, `trim` or `mixed`.
#[derive(Serialize)]
pub struct DirectionPart {
    io_bytes: u64,
    io_kbytes: u64,
    bw_bytes: u64,
    bw: u64,
    iops: f64,
    runtime: u64,
    total_ios: u64,
    short_ios: u64,
    drop_ios: u64,
    slat_ns: LatencyPart,
    clat_ns: LatencyPart,
    lat_ns: LatencyPart,
    bw_min: u64,
    bw_max: u64,
    bw_agg: f64,
    bw_mean: f64,
    bw_dev: f64,
    bw_samples: u64,
    iops_min: u64,
    iops_max: u64,
    iops_mean: f64,
    iops_stddev: f64,
    iops_samples: u64,
}

impl DirectionPart {
    /// A direction, with its share of its group.
    pub fn of(
        direction: &DirectionFigures,
        group: &Summary,
        service: &LatencyOutput,
        response: &LatencyOutput,
        bins: bool,
        hide_samples: bool,
    ) -> Self {
        let nothing = RateSamples::default();
        let (bandwidth, rate) =
            if hide_samples { (&nothing, &nothing) } else { (&direction.bandwidth, &direction.rate) };
        let bytes_per_s = direction.bytes_per_s();
        DirectionPart {
            io_bytes: direction.bytes,
            io_kbytes: direction.bytes / 1024,
            bw_bytes: bytes_per_s as u64,
            bw: (bytes_per_s / 1024.0) as u64,
            iops: direction.ops_per_s(),
            runtime: direction.runtime_ms(),
            total_ios: direction.ops,
            short_ios: direction.short,
            drop_ios: 0,
            slat_ns: LatencyPart::of(&LatencyOutput::default(), bins),
            clat_ns: LatencyPart::of(service, bins),
            lat_ns: LatencyPart::of(response, bins),
            bw_min: (bandwidth.min / 1024.0) as u64,
            bw_max: (bandwidth.max / 1024.0) as u64,
            bw_agg: if hide_samples { 0.0 } else { group.percent(direction) },
            bw_mean: bandwidth.mean / 1024.0,
            bw_dev: bandwidth.deviation() / 1024.0,
            bw_samples: bandwidth.count,
            iops_min: rate.min as u64,
            iops_max: rate.max as u64,
            iops_mean: rate.mean,
            iops_stddev: rate.deviation(),
            iops_samples: rate.count,
        }
    }
}

/// The commits.
#[derive(Serialize)]
pub struct SyncPart {
    total_ios: u64,
    lat_ns: LatencyPart,
}

impl SyncPart {
    /// The number of fsyncs between writes, and the latencies of all commits.
    pub fn of(total_ios: u64, commits: &LatencyOutput, bins: bool) -> Self {
        SyncPart { total_ios, lat_ns: LatencyPart::of(commits, bins) }
    }
}

/// Pairs keys with values in the same order.
pub fn keyed<T: Copy>(keys: &[&str], values: &[T]) -> Ordered<T> {
    Ordered(keys.iter().map(|key| (*key).to_owned()).zip(values.iter().copied()).collect())
}

/// `latency_ns`, `latency_us` and `latency_ms`.
pub fn distribution(shares: &Shares) -> [Ordered<f64>; 3] {
    let limits: Vec<String> = LIMITS.iter().map(u64::to_string).collect();
    let mut keys: Vec<&str> = limits.iter().map(String::as_str).collect();
    let (ns, us) = (keyed(&keys, &shares.ns), keyed(&keys, &shares.us));
    keys.extend(["2000", ">=2000"]);
    [ns, us, keyed(&keys, &shares.ms)]
}
