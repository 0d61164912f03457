//! The listener of the management API, and the effect of faults on its calls.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Request as HttpRequest, Response, header};
use axum::routing::any;
use http_body_util::{BodyExt, Limited};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;

use super::api::{Answer, Api, Request};
use super::call::Failure;
use super::network::Network;
use super::session::Sessions;
use crate::faults::{StepAction, StepOutcome};
use crate::objects::{Objects, uuid};
use crate::start::StartError;
use crate::state::{Parts, state};
use crate::{Capacity, FaultHandle, Token};

/// Maximum length of a request body.
const MAX_BODY_BYTES: usize = 1 << 20;

/// Configuration of the management API.
pub(crate) struct Options {
    pub(crate) address: SocketAddr,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) name: String,
    pub(crate) token: Token,
    pub(crate) versions: Vec<String>,
    pub(crate) network: Network,
    pub(crate) objects: Arc<RwLock<Objects>>,
    pub(crate) capacity: Arc<Capacity>,
    pub(crate) faults: FaultHandle,
    pub(crate) page_items: usize,
    pub(crate) state_endpoint: bool,
}

/// The running management API.
#[derive(Debug)]
pub(crate) struct Server {
    runtime: Option<Runtime>,
    address: SocketAddr,
}

struct Shared {
    api: Api,
    state: Option<Parts>,
}

impl Server {
    /// Starts listening and serving.
    pub(crate) fn start(options: Options) -> Result<Self, StartError> {
        let listen = |source| StartError::Listen { address: options.address, purpose: "management", source };
        let versions = options.versions.iter().map(|text| {
            text.parse()
                .map_err(|()| StartError::Config(format!("{text:?} is not an API version such as 2.0")))
        });
        let state = options.state_endpoint.then(|| Parts { objects: Arc::clone(&options.objects) });
        let api = Api {
            name: options.name,
            array_id: uuid(),
            token: options.token,
            versions: versions.collect::<Result<_, _>>()?,
            network: options.network,
            objects: options.objects,
            capacity: options.capacity,
            faults: options.faults,
            sessions: Mutex::new(Sessions::default()),
            page_items: options.page_items.max(1),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("array-management")
            .enable_all()
            .build()?;
        let listener = std::net::TcpListener::bind(options.address).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let listener = {
            let _inside = runtime.enter();
            TcpListener::from_std(listener).map_err(listen)?
        };
        let router = Router::new()
            .route("/state", any(show_state))
            .fallback(handle)
            .with_state(Arc::new(Shared { api, state }));
        runtime.spawn(attend(listener, router, options.tls));
        Ok(Self { runtime: Some(runtime), address })
    }

    /// The listening address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_secs(5));
        }
    }
}

async fn attend(listener: TcpListener, router: Router, tls: Option<TlsAcceptor>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Most likely out of descriptors.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let (router, tls) = (router.clone(), tls.clone());
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            match tls {
                None => converse(TokioIo::new(stream), router).await,
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        converse(TokioIo::new(stream), router).await;
                    }
                }
            }
        });
    }
}

/// Serves one connection. A response that says "close" is an error here, which ends the connection without a response.
async fn converse<T>(stream: T, router: Router)
where
    T: hyper::rt::Read + hyper::rt::Write + Unpin,
{
    let service = service_fn(move |request: HttpRequest<hyper::body::Incoming>| {
        let answer = TowerToHyperService::new(router.clone()).call(request.map(Body::new));
        async move {
            let Ok(response) = answer.await;
            match response.extensions().get::<Close>() {
                Some(Close) => Err(io::Error::from(io::ErrorKind::ConnectionAborted)),
                None => Ok(response),
            }
        }
    });
    let _ = http1::Builder::new().timer(TokioTimer::new()).serve_connection(stream, service).await;
}

/// Marks a response that must not be sent: the connection is closed instead.
#[derive(Clone, Copy)]
struct Close;

async fn show_state(State(shared): State<Arc<Shared>>) -> Response<Body> {
    match &shared.state {
        Some(parts) => respond(Answer { status: 200, body: Some(state(parts)), session: None }, None),
        None => respond(Answer::failure(&Failure::status(404, "Not found.")), None),
    }
}

async fn handle(State(shared): State<Arc<Shared>>, request: HttpRequest<Body>) -> Response<Body> {
    let (head, body) = request.into_parts();
    let text = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let request_id = head.headers.get("x-request-id").cloned();
    let Ok(body) = Limited::new(body, MAX_BODY_BYTES).collect().await else {
        return respond(Answer::failure(&Failure::status(413, "The body is too large.")), request_id);
    };
    let request = Request {
        method: head.method.as_str().to_owned(),
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        api_token: text("api-token"),
        session: text("x-auth-token"),
        body: body.to_bytes().into(),
    };
    let answer = match shared.api.faults.step(&request.method, &request.path) {
        StepOutcome::Proceed => shared.api.answer(&request),
        StepOutcome::Strike { action, status } => strike(&shared.api, &request, action, status).await,
    };
    if answer.status == 0 {
        let mut response = Response::new(Body::empty());
        response.extensions_mut().insert(Close);
        return response;
    }
    respond(answer, request_id)
}

/// Applies a fault. Status 0 stands for a closed connection.
async fn strike(api: &Api, request: &Request, action: StepAction, status: u16) -> Answer {
    if matches!(action, StepAction::DoThenFail | StepAction::DoThenHang | StepAction::DoThenClose) {
        let _ = api.answer(request);
    }
    match action {
        StepAction::Fail | StepAction::DoThenFail => {
            Answer::failure(&Failure::status(status, "The call fails on purpose."))
        }
        StepAction::Hang | StepAction::DoThenHang => std::future::pending().await,
        StepAction::Close | StepAction::DoThenClose => Answer { status: 0, body: None, session: None },
    }
}

fn respond(answer: Answer, request_id: Option<HeaderValue>) -> Response<Body> {
    let mut headers = HeaderMap::new();
    if let Some(id) = request_id {
        headers.insert("x-request-id", id);
    }
    if let Some(token) = answer.session.and_then(|token| HeaderValue::from_str(&token).ok()) {
        headers.insert("x-auth-token", token);
    }
    let body = match answer.body {
        None => Body::empty(),
        Some(body) => {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            Body::from(body.to_string())
        }
    };
    let mut response = Response::new(body);
    *response.status_mut() = axum::http::StatusCode::from_u16(answer.status).unwrap_or_default();
    *response.headers_mut() = headers;
    response
}
