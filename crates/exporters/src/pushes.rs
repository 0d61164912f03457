//! All pushes of a process, for the runs that it carries out.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use experiment::Plan;
use runner::Events;

use crate::current::CurrentRun;
use crate::graphite::{GraphiteOptions, GraphitePush};
use crate::otlp::{OtlpOptions, OtlpPush, PushedRun};

/// Time for what Graphite has not received at the end.
const GRAPHITE_FAREWELL: Duration = Duration::from_secs(5);
/// Time for the last push by OTLP, which has a deadline of its own.
const OTLP_FAREWELL: Duration = Duration::from_secs(7);

/// Where measurements are pushed.
#[derive(Clone, Debug, Default)]
pub struct PushOptions {
    /// Carbon.
    pub graphite: Option<GraphiteOptions>,
    /// A collector that speaks OTLP.
    pub otlp: Option<OtlpOptions>,
}

/// The pushes, for any number of runs.
#[derive(Debug, Default)]
pub struct Pushes {
    graphite: Option<GraphitePush>,
    otlp: Option<OtlpPush>,
    /// The name of this host.
    host: String,
}

impl Pushes {
    /// Starts their threads; `host` names this host.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(options: PushOptions, host: String) -> io::Result<Self> {
        let otlp = options.otlp.map(|options| OtlpPush::start(options, host.clone())).transpose()?;
        Ok(Self { graphite: options.graphite.map(GraphitePush::start).transpose()?, otlp, host })
    }

    /// Whether nothing is pushed anywhere.
    pub fn are_none(&self) -> bool {
        self.graphite.is_none() && self.otlp.is_none()
    }

    /// Pushes what a run measures until the last of what is returned is dropped; `current` observes that run.
    pub fn observe(
        &self,
        plan: &Plan,
        current: &Arc<CurrentRun>,
    ) -> (Option<Arc<dyn Events>>, Option<PushedRun>) {
        let graphite = self.graphite.as_ref().map(|graphite| graphite.observe(&current.id, plan, &self.host));
        let otlp = self.otlp.as_ref().map(|otlp| otlp.observe(Arc::clone(current)));
        (graphite.map(|run| Arc::new(run) as Arc<dyn Events>), otlp)
    }

    /// Sends the rest, within a few seconds; returns a line for each push that lost something.
    pub fn finish(&self) -> Vec<String> {
        let graphite = self.graphite.as_ref().and_then(|graphite| graphite.finish(GRAPHITE_FAREWELL));
        let otlp = self.otlp.as_ref().and_then(|otlp| otlp.finish(OTLP_FAREWELL));
        graphite
            .map(|losses| losses.to_string())
            .into_iter()
            .chain(otlp.map(|losses| losses.to_string()))
            .collect()
    }
}
