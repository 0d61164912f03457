//! Serves the API's connections: a bounded number of them, with deadlines.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use exporters::{ConnectionLimits, CpuBudget};
use hyper::body::Incoming;
use hyper::service::{Service as _, service_fn};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::access::LocalAddress;

/// What clients may take.
const LIMITS: ConnectionLimits = ConnectionLimits {
    connections: 512,
    waiting: 256,
    head: Duration::from_secs(15),
    unread: Duration::from_secs(60),
};

/// Accepts connections for as long as the runtime lives, within the budget.
pub(crate) async fn attend(
    listener: TcpListener,
    router: Router,
    budget: Arc<CpuBudget>,
    tls: Option<TlsAcceptor>,
) {
    let service = move |local| {
        let router = router.clone();
        service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(LocalAddress(local));
            TowerToHyperService::new(router.clone()).call(request.map(Body::new))
        })
    };
    exporters::attend(listener, LIMITS, budget, tls, service).await;
}
