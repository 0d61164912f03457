//! The arguments that send measurements to other systems while a run lasts.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use clap::Args;
use exporters::{
    CurrentRun, GraphiteOptions, HostPort, MetricsListener, OtlpOptions, PushOptions, PushedRun, Pushes,
};
use runner::Events;
use runner::bottleneck::own_host;
use store::RunRecord;
use units::Span;

use crate::exit::CommandError;
use crate::messages::Messages;

/// Where to push measurements.
#[derive(Args, Debug)]
pub struct PushArguments {
    /// Push measurements to this Graphite server (Carbon's plaintext protocol), in StorPerf's path scheme
    #[arg(long, value_name = "HOST[:PORT]", value_parser = GraphiteOptions::address, help_heading = "While it runs")]
    graphite: Option<HostPort>,
    /// Length of the samples that --graphite pushes, 1s or more
    #[arg(long, value_name = "DURATION", value_parser = sample, default_value = "60s", requires = "graphite", help_heading = "While it runs")]
    graphite_every: Span,
    /// Push the current values to this OpenTelemetry collector by OTLP (HTTP, protobuf). Headers, such as a token, come
    /// from OTEL_EXPORTER_OTLP_HEADERS, a certificate authority from OTEL_EXPORTER_OTLP_CERTIFICATE
    #[arg(long, value_name = "URL", help_heading = "While it runs")]
    otlp: Option<String>,
    /// Time between two pushes by --otlp, 1s or more
    #[arg(long, value_name = "DURATION", value_parser = sample, default_value = "10s", requires = "otlp", help_heading = "While it runs")]
    otlp_every: Span,
}

impl PushArguments {
    /// The pushes, if there are any.
    ///
    /// # Errors
    /// One line: what is wrong with a URL, or with the environment.
    pub fn options(&self) -> Result<PushOptions, String> {
        let every = self.graphite_every.duration();
        let graphite = self.graphite.clone().map(|address| GraphiteOptions { address, every });
        let every = self.otlp_every.duration();
        let otlp =
            self.otlp.as_ref().map(|url| OtlpOptions::new(url, every, |name| std::env::var(name).ok()));
        let otlp = otlp.transpose().map_err(|error| format!("--otlp: {error}"))?;
        Ok(PushOptions { graphite, otlp })
    }
}

/// Where measurements of one run go.
#[derive(Args, Debug)]
pub struct LiveExportArguments {
    /// Serve the current intervals for Prometheus at http://ADDRESS:PORT/metrics, without access control [default
    /// address: 127.0.0.1]
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = listen, conflicts_with_all = ["dry_run", "print_experiment"], help_heading = "While it runs")]
    metrics_listen: Option<SocketAddr>,
    /// Pushes
    #[command(flatten)]
    pushes: PushArguments,
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
    pushes: Pushes,
    pushed: OnceLock<Option<PushedRun>>,
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
        let options = arguments.pushes.options().map_err(CommandError::Usage)?;
        let pushes = Pushes::start(options, own_host())
            .map_err(|error| CommandError::Failure(format!("no thread could be started: {error}")))?;
        Ok(Self { current, listener, pushes, pushed: OnceLock::new() })
    }

    /// Observers of the run that has this record.
    pub fn observers(&self, record: &RunRecord) -> Vec<Arc<dyn Events>> {
        if self.listener.is_none() && self.pushes.are_none() {
            return Vec::new();
        }
        let run = Arc::new(CurrentRun::new(&record.id, &record.plan));
        let _ = self.current.set(Arc::clone(&run));
        let (graphite, pushed) = self.pushes.observe(&record.plan, &run);
        let _ = self.pushed.set(pushed);
        graphite.into_iter().chain([run as Arc<dyn Events>]).collect()
    }

    /// Sends the rest, and reports what could not be sent.
    pub fn finish(self, messages: &Messages) {
        drop(self.pushed);
        for losses in self.pushes.finish() {
            messages.warn(&losses);
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
