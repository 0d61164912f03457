//! A listener that serves `/metrics` of one run, on a thread of its own.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::http::uri::Authority;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use prometheus_client::registry::Registry;
use tokio::runtime::Runtime;

use crate::cpu_budget::{BesideLoad, CpuBudget};
use crate::exposition::{CONTENT_TYPE, text};
use crate::http::{ConnectionLimits, attend};

/// What scrapers may take.
const LIMITS: ConnectionLimits = ConnectionLimits {
    connections: 16,
    waiting: 8,
    head: Duration::from_secs(10),
    unread: Duration::from_secs(10),
};

/// Why nothing can listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address cannot be used.
    #[error("cannot listen on {0}: {1}")]
    Address(SocketAddr, std::io::Error),
    /// No thread can be started.
    #[error("no thread could be started: {0}")]
    Thread(std::io::Error),
}

/// Serves `GET /metrics` until dropped.
///
/// Scrapes take at most [`CpuBudget::DEFAULT_PERCENT`] of the processors' time from the run.
///
/// There is no access control: whoever reaches the address reads the metrics. On a loopback address, requests must
/// name the host by its address or as `localhost`, so that no web page whose name points here reads them.
pub struct MetricsListener {
    address: SocketAddr,
    runtime: Option<Runtime>,
    _beside: BesideLoad,
}

impl MetricsListener {
    /// Listens on an address; port 0 for any free one.
    ///
    /// # Errors
    /// The address cannot be used, or no thread can be started.
    pub fn start(address: SocketAddr, registry: Registry) -> Result<Self, ListenError> {
        let unusable = |error| ListenError::Address(address, error);
        let listener = TcpListener::bind(address).map_err(unusable)?;
        listener.set_nonblocking(true).map_err(unusable)?;
        let bound = listener.local_addr().map_err(unusable)?;
        let budget = CpuBudget::of_host(CpuBudget::DEFAULT_PERCENT);
        let (beside, payer) = (budget.beside_load(), Arc::clone(&budget));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("metrics")
            .on_thread_start(move || payer.pays_for_thread())
            .on_thread_park(CpuBudget::count_thread)
            .enable_all()
            .build()
            .map_err(ListenError::Thread)?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener).map_err(unusable)?
        };
        let registry = Arc::new(registry);
        runtime.spawn(attend(listener, LIMITS, budget, None, move |local| {
            let registry = Arc::clone(&registry);
            service_fn(move |request| {
                let response = answer(&request, local, &registry);
                async move { Ok::<_, Infallible>(response) }
            })
        }));
        Ok(Self { address: bound, runtime: Some(runtime), _beside: beside })
    }

    /// The listening address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MetricsListener {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn answer(request: &Request<Incoming>, local: SocketAddr, registry: &Registry) -> Response<Full<Bytes>> {
    let refuse = |status, line: &'static str| plain(status, "text/plain; charset=utf-8", line.into());
    if local.ip().to_canonical().is_loopback() && !names_this_host(request) {
        return refuse(
            StatusCode::MISDIRECTED_REQUEST,
            "address this host as 127.0.0.1, [::1] or localhost\n",
        );
    }
    if request.uri().path() != "/metrics" {
        return refuse(StatusCode::NOT_FOUND, "there is only /metrics here\n");
    }
    if *request.method() != Method::GET && *request.method() != Method::HEAD {
        return refuse(StatusCode::METHOD_NOT_ALLOWED, "/metrics can only be read\n");
    }
    match text(registry) {
        Ok(text) => plain(StatusCode::OK, CONTENT_TYPE, text),
        Err(_) => refuse(StatusCode::INTERNAL_SERVER_ERROR, "the metrics cannot be written as text\n"),
    }
}

/// Whether a request is addressed to a loopback address or `localhost`.
fn names_this_host(request: &Request<Incoming>) -> bool {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let Some(authority) = host.and_then(|host| host.parse::<Authority>().ok()) else { return false };
    let bare = authority.host().trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => bare.eq_ignore_ascii_case("localhost"),
    }
}

fn plain(status: StatusCode, content_type: &'static str, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    for (name, value) in [
        (header::CONTENT_TYPE, content_type),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
