//! The arguments that send measurements to other systems while a run lasts.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use clap::Args;
use exporters::{CurrentRun, GraphiteOptions, GraphitePush, HostPort, MetricsListener};
use runner::Events;
use runner::bottleneck::own_host;
use store::RunRecord;
use units::Span;

use crate::exit::CommandError;
use crate::messages::Messages;

/// Time for what Graphite has not received when the run has ended.
const FAREWELL: Duration = Duration::from_secs(5);

/// Where to push measurements.
#[derive(Args, Debug)]
pub struct GraphiteArguments {
    /// Push measurements to this Graphite server (Carbon's plaintext protocol), in StorPerf's path scheme
    #[arg(long, value_name = "HOST[:PORT]", value_parser = GraphiteOptions::address, help_heading = "While it runs")]
    graphite: Option<HostPort>,
    /// Length of the samples that --graphite pushes, 1s or more
    #[arg(long, value_name = "DURATION", value_parser = sample, default_value = "60s", requires = "graphite", help_heading = "While it runs")]
    graphite_every: Span,
}

impl GraphiteArguments {
    /// The push, if there is one.
    pub fn options(&self) -> Option<GraphiteOptions> {
        let every = self.graphite_every.duration();
        self.graphite.clone().map(|address| GraphiteOptions { address, every })
    }
}

/// Where measurements of one run go.
#[derive(Args, Debug)]
pub struct LiveExportArguments {
    /// Serve the current intervals for Prometheus at http://ADDRESS:PORT/metrics, without access control [default
    /// address: 127.0.0.1]
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = listen, conflicts_with_all = ["dry_run", "print_experiment"], help_heading = "While it runs")]
    metrics_listen: Option<SocketAddr>,
    /// A push
    #[command(flatten)]
    graphite: GraphiteArguments,
}

/// Reads `ADDRESS:PORT`, or a port of the loopback address.
fn listen(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse() {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    text.parse()
        .map_err(|_| "write ADDRESS:PORT, such as 0.0.0.0:9464, or a port of the loopback address".to_owned())
}

/// Reads the length of a sample.
fn sample(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|error: units::ParseError| error.to_string())?;
    match span.duration() >= Duration::from_secs(1) {
        true => Ok(span),
        false => Err("an interval is a second long; next: write 1s or more".to_owned()),
    }
}

/// A run's connections to other systems.
pub struct LiveExports {
    /// The run, once it has an id.
    current: Arc<OnceLock<Arc<CurrentRun>>>,
    listener: Option<MetricsListener>,
    graphite: Option<GraphitePush>,
}

impl LiveExports {
    /// Listens and starts the push, before anything else begins.
    ///
    /// # Errors
    /// The address cannot be listened on, or no thread can be started.
    pub fn start(arguments: &LiveExportArguments, messages: &Messages) -> Result<Self, CommandError> {
        let current: Arc<OnceLock<Arc<CurrentRun>>> = Arc::default();
        let listener = arguments.metrics_listen.map(|address| {
            let run = Arc::clone(&current);
            let registry = exporters::registry(move || run.get().cloned().into_iter().collect());
            MetricsListener::start(address, registry)
        });
        let listener = listener.transpose().map_err(|error| {
            CommandError::Usage(format!("--metrics-listen: {error}; next: name a free port of this host"))
        })?;
        if let Some(listener) = &listener {
            messages.note(&format!("metrics at http://{}/metrics", listener.address()));
        }
        let graphite = arguments.graphite.options().map(GraphitePush::start).transpose();
        let graphite = graphite.map_err(|error| CommandError::Failure(format!("--graphite: {error}")))?;
        Ok(Self { current, listener, graphite })
    }

    /// Observers of the run that has this record.
    pub fn observers(&self, record: &RunRecord) -> Vec<Arc<dyn Events>> {
        let mut observers: Vec<Arc<dyn Events>> = Vec::new();
        if self.listener.is_some() {
            let run = Arc::new(CurrentRun::new(&record.id, &record.plan));
            let _ = self.current.set(Arc::clone(&run));
            observers.push(run);
        }
        if let Some(graphite) = &self.graphite {
            observers.push(Arc::new(graphite.observe(&record.id, &record.plan, &own_host())));
        }
        observers
    }

    /// Sends the rest, and reports what could not be sent.
    pub fn finish(self, messages: &Messages) {
        if let Some(losses) = self.graphite.and_then(|graphite| graphite.finish(FAREWELL)) {
            messages.warn(&losses.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_port_is_one_of_the_loopback_address() {
        assert_eq!(listen("9464").unwrap().to_string(), "127.0.0.1:9464");
        assert_eq!(listen("[::]:9464").unwrap().to_string(), "[::]:9464");
        assert!(listen("localhost:9464").unwrap_err().contains("write ADDRESS:PORT"));
    }

    #[test]
    fn samples_last_an_interval_or_longer() {
        assert_eq!(sample("10s").unwrap().duration(), Duration::from_secs(10));
        assert!(sample("500ms").unwrap_err().contains("1s or more"));
        assert!(sample("often").is_err());
    }
}
