//! `/metrics`: the queue, and the current intervals of the runs under way.

use std::fmt;
use std::sync::{Arc, Weak};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::queue::RunQueue;

/// Reads the lengths of a queue when it is scraped.
struct QueueCollector(Weak<RunQueue>);

impl fmt::Debug for QueueCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("QueueCollector")
    }
}

/// A registry of this queue and its runs.
pub(crate) fn registry(queue: &Arc<RunQueue>) -> Registry {
    let weak = Arc::downgrade(queue);
    let runs = move || weak.upgrade().map(|queue| queue.current()).unwrap_or_default();
    let mut registry = exporters::registry(runs);
    registry.register_collector(Box::new(QueueCollector(Arc::downgrade(queue))));
    registry
}

impl Collector for QueueCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let Some(queue) = self.0.upgrade() else { return Ok(()) };
        let (queued, running) = queue.lengths();
        let mut single = |name: &str, help: &str, value: f64| {
            let metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(value).encode(metric)
        };
        single("queue_length", "Runs that wait for their hosts", queued as f64)?;
        single("running_runs", "Runs under way", running as f64)
    }
}
