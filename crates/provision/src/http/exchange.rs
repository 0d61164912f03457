//! One request and its response, on a connection of its own, with a timeout and bounded memory.
//!
//! A run makes about two dozen calls. A connection for each costs milliseconds and avoids ambiguity: if the array has
//! just closed a kept-alive connection, a lost request cannot be distinguished from an executed one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{ACCEPT, CONNECTION, CONTENT_TYPE, HOST, HeaderName, HeaderValue, USER_AGENT};
use hyper::{HeaderMap, Method, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::address::Address;
use super::tls::{ShownCertificate, Trust, client_config};
use crate::cancel::Cancel;
use crate::error::{Failure, ProvisionError};

/// Maximum bytes read of a response's body; a page of a listing has a few hundred kilobytes.
const BODY_LIMIT: usize = 8 << 20;
/// Maximum bytes read of a response's head.
const HEAD_LIMIT: usize = 64 << 10;

/// A request without its address.
#[derive(Debug)]
pub(crate) struct Request {
    pub method: Method,
    /// Path and query.
    pub target: String,
    /// Headers that carry secrets; never printed.
    pub secrets: Vec<(HeaderName, HeaderValue)>,
    pub body: Option<Payload>,
}

/// The body of a request.
#[derive(Clone, Debug)]
pub(crate) struct Payload {
    pub content_type: &'static str,
    pub bytes: Bytes,
}

impl Payload {
    pub(crate) fn json(text: String) -> Self {
        Self { content_type: "application/json", bytes: text.into() }
    }
}

/// A complete response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// Transport to one management API.
#[derive(Debug)]
pub(crate) struct Transport {
    address: Address,
    tls: Option<(Arc<ClientConfig>, ShownCertificate)>,
    deadline: Duration,
}

impl Transport {
    /// Reads the files that the trust names; sends nothing yet.
    pub(crate) fn new(address: Address, trust: &Trust, deadline: Duration) -> Result<Self, ProvisionError> {
        let tls = if address.tls {
            let (config, shown) = client_config(trust)?;
            Some((Arc::new(config), shown))
        } else {
            None
        };
        Ok(Self { address, tls, deadline })
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    pub(crate) fn deadline(&self) -> Duration {
        self.deadline
    }

    /// One exchange. Ends at the timeout, or when cancelled.
    pub(crate) async fn exchange(
        &self,
        request: Request,
        cancel: Option<&Cancel>,
    ) -> Result<Answer, Failure> {
        let sent = AtomicBool::new(false);
        let cancelled = async {
            match cancel {
                Some(cancel) => cancel.cancelled().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = cancelled => Err(Failure::Cancelled),
            outcome = tokio::time::timeout(self.deadline, self.connect_and_send(request, &sent)) => match outcome {
                Ok(outcome) => outcome,
                Err(_) => Err(Failure::Timeout { after: self.deadline, sent: sent.load(Ordering::Relaxed) }),
            },
        }
    }

    async fn connect_and_send(&self, request: Request, sent: &AtomicBool) -> Result<Answer, Failure> {
        let Address { host, port, .. } = &self.address;
        let stream = TcpStream::connect((host.as_str(), *port))
            .await
            .map_err(|error| Failure::Connect(error.to_string()))?;
        // If this option fails, it costs latency, not correctness.
        let _ = stream.set_nodelay(true);
        let Some((config, shown)) = &self.tls else {
            return send(stream, self.request(request)?, sent).await;
        };
        let tls_failed = |cause: String| Failure::Tls { cause, fingerprint: None };
        let name = ServerName::try_from(host.clone()).map_err(|error| tls_failed(error.to_string()))?;
        shown.take();
        let stream = TlsConnector::from(Arc::clone(config))
            .connect(name, stream)
            .await
            .map_err(|error| refusal(&error, shown))?;
        send(stream, self.request(request)?, sent).await
    }

    fn request(&self, request: Request) -> Result<hyper::Request<Full<Bytes>>, Failure> {
        let unsendable = |error: &dyn std::fmt::Display| {
            Failure::Connect(format!("the request cannot be written: {error}"))
        };
        let target: Uri = request.target.parse().map_err(|error| unsendable(&error))?;
        let host = HeaderValue::from_str(&self.address.authority()).map_err(|error| unsendable(&error))?;
        let body = request.body.as_ref().map(|payload| payload.bytes.clone()).unwrap_or_default();
        let mut message = hyper::Request::new(Full::new(body));
        *message.method_mut() = request.method;
        *message.uri_mut() = target;
        let headers = message.headers_mut();
        headers.insert(HOST, host);
        let kind = request.body.as_ref().map_or("application/json", |payload| payload.content_type);
        headers.insert(ACCEPT, HeaderValue::from_static(kind));
        headers
            .insert(USER_AGENT, HeaderValue::from_static(concat!("manometer/", env!("CARGO_PKG_VERSION"))));
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        if request.body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        headers.extend(request.secrets.into_iter().map(|(name, mut value)| {
            value.set_sensitive(true);
            (Some(name), value)
        }));
        Ok(message)
    }
}

/// Interprets a failed handshake.
fn refusal(error: &std::io::Error, shown: &ShownCertificate) -> Failure {
    let fingerprint = shown.take().map(|fingerprint| fingerprint.to_string());
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        // The certificate, or something sent with it, was rejected: then its fingerprint matters.
        Some(rustls::Error::InvalidCertificate(cause)) => {
            Failure::Tls { cause: cause.to_string(), fingerprint }
        }
        Some(rustls::Error::General(cause)) => Failure::Tls { cause: cause.clone(), fingerprint },
        Some(cause) => Failure::Tls { cause: cause.to_string(), fingerprint: None },
        None => Failure::Connect(format!("the TLS handshake broke off: {error}")),
    }
}

async fn send<S>(
    stream: S,
    message: hyper::Request<Full<Bytes>>,
    sent: &AtomicBool,
) -> Result<Answer, Failure>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = hyper::client::conn::http1::Builder::new()
        .max_buf_size(HEAD_LIMIT)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| Failure::Connect(error.to_string()))?;
    let exchange = async {
        sent.store(true, Ordering::Relaxed);
        let answer = sender.send_request(message).await.map_err(|error| broken(&error))?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, BODY_LIMIT).collect().await.map_err(|error| {
            if error.is::<http_body_util::LengthLimitError>() {
                Failure::Answer(format!("its body is longer than {} MiB", BODY_LIMIT >> 20))
            } else {
                Failure::Broken(error.to_string())
            }
        })?;
        Ok(Answer { status: head.status, headers: head.headers, body: body.to_bytes() })
    };
    tokio::pin!(connection, exchange);
    // The connection progresses only while it is polled; its own end adds nothing to the exchange's result.
    tokio::select! {
        outcome = &mut exchange => outcome,
        _ = &mut connection => exchange.await,
    }
}

fn broken(error: &hyper::Error) -> Failure {
    let cause = std::error::Error::source(error)
        .map_or_else(|| error.to_string(), |source| format!("{error}: {source}"));
    if error.is_parse() { Failure::Answer(cause) } else { Failure::Broken(cause) }
}
