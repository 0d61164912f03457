//! Host samples from the measurement, reduced to what a chart shows.

use serde::Serialize;
use serde_json::Value;
use store::Sample;

/// A host over time: how busy its processors, NIC and disk were.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostSamples {
    /// The host.
    pub name: String,
    /// In order of time.
    pub points: Vec<SamplePoint>,
}

/// Means over a span of samples. `None` where the samples have no value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SamplePoint {
    /// The last sample's time, in seconds since the measured window began.
    pub at_s: f64,
    /// The busiest core: share of time that was not idle.
    pub busiest_core: Option<f64>,
    /// All cores: share of their total time.
    pub all_cores: Option<f64>,
    /// The busiest worker: share of a core.
    pub busiest_worker: Option<f64>,
    /// Bytes per second received by the NIC that received most.
    pub received_bytes_per_s: Option<f64>,
    /// Bytes per second sent by the NIC that sent most.
    pub sent_bytes_per_s: Option<f64>,
    /// The busiest disk: share of time with a request in flight.
    pub busiest_disk: Option<f64>,
    /// Bytes per second read from the disk with the most reads.
    pub read_bytes_per_s: Option<f64>,
    /// Bytes per second written to the disk with the most writes.
    pub written_bytes_per_s: Option<f64>,
}

impl HostSamples {
    /// Reduces samples in order of time to at most `limit` points.
    pub fn of(name: &str, samples: &[Sample], limit: usize) -> Self {
        let each = samples.len().div_ceil(limit.max(1)).max(1);
        Self { name: name.to_owned(), points: samples.chunks(each).map(SamplePoint::of).collect() }
    }
}

impl SamplePoint {
    fn of(samples: &[Sample]) -> Self {
        let mean = |of: &dyn Fn(&Value) -> Option<f64>| {
            let values: Vec<f64> = samples.iter().filter_map(|sample| of(&sample.value)).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        Self {
            at_s: samples.last().map_or(0.0, |sample| sample.at_ns as f64 / 1e9),
            busiest_core: mean(&|value| most(cores(value))),
            all_cores: mean(&|value| {
                let cores: Vec<f64> = cores(value).collect();
                (!cores.is_empty()).then(|| cores.iter().sum::<f64>() / cores.len() as f64)
            }),
            busiest_worker: mean(&|value| most(numbers(value, "workers", "ran"))),
            received_bytes_per_s: mean(&|value| most(numbers(value, "nics", "received_bytes_per_s"))),
            sent_bytes_per_s: mean(&|value| most(numbers(value, "nics", "sent_bytes_per_s"))),
            busiest_disk: mean(&|value| most(numbers(value, "disks", "busy"))),
            read_bytes_per_s: mean(&|value| most(numbers(value, "disks", "read_bytes_per_s"))),
            written_bytes_per_s: mean(&|value| most(numbers(value, "disks", "written_bytes_per_s"))),
        }
    }
}

/// The load of each core.
fn cores(value: &Value) -> impl Iterator<Item = f64> {
    numbers(value, "cores", "idle").map(|idle| (1.0 - idle).clamp(0.0, 1.0))
}

/// A field of each object of a list.
fn numbers(value: &Value, list: &str, field: &str) -> impl Iterator<Item = f64> {
    value[list].as_array().into_iter().flatten().filter_map(move |one| one[field].as_f64())
}

fn most(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.max_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sample(second: u64, value: Value) -> Sample {
        Sample { at_ns: second * 1_000_000_000, value }
    }

    #[test]
    fn samples_become_means_of_what_they_say() {
        let full = |idle: f64, received: u64| {
            json!({
                "cores": [{"core": 0, "idle": idle}, {"core": 1, "idle": 1.0}],
                "workers": [{"worker": 0, "ran": 0.5}],
                "nics": [{"name": "lo", "received_bytes_per_s": 1, "sent_bytes_per_s": 1},
                         {"name": "eth0", "received_bytes_per_s": received, "sent_bytes_per_s": 7}],
                "disks": [{"name": "vda", "busy": 0.25, "read_bytes_per_s": 40, "written_bytes_per_s": 0},
                          {"name": "vdb", "busy": 0.75, "read_bytes_per_s": 20, "written_bytes_per_s": 10}],
            })
        };
        let samples = [sample(1, full(0.2, 100)), sample(2, full(0.4, 300)), sample(3, json!({"cpu": 0.25}))];
        let host = HostSamples::of("db1", &samples, 2);
        assert_eq!(host.points.len(), 2);
        let first = host.points[0];
        assert_eq!(
            (first.at_s, first.received_bytes_per_s, first.sent_bytes_per_s),
            (2.0, Some(200.0), Some(7.0))
        );
        assert!(
            (first.busiest_core.unwrap() - 0.7).abs() < 1e-9
                && (first.all_cores.unwrap() - 0.35).abs() < 1e-9
        );
        assert_eq!(first.busiest_worker, Some(0.5));
        let disk = (first.busiest_disk, first.read_bytes_per_s, first.written_bytes_per_s);
        assert_eq!(disk, (Some(0.75), Some(40.0), Some(10.0)));
        // A value that a sample lacks is not zero.
        assert_eq!(host.points[1], SamplePoint { at_s: 3.0, ..SamplePoint::default() });
    }
}
