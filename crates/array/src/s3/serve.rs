//! Listeners and connections of the S3 service.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, RwLock};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use s3s::service::{S3Service, S3ServiceBuilder};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;

use super::auth::Keys;
use super::backend::Backend;
use super::door::Door;
use super::host::Domain;
use super::shaped::{ResetFlag, Shaper, is_on_purpose};
use crate::alarm::Alarm;
use crate::faults::{DataProtocol, FaultHandle};
use crate::objects::Objects;
use crate::shape::TrafficShape;
use crate::start::StartError;

/// How often doors are updated to the faults.
const PERIOD: Duration = Duration::from_millis(20);

/// Where S3 listens at one data address; port 0 chooses a free one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Endpoint {
    pub(crate) ip: IpAddr,
    pub(crate) port: u16,
    pub(crate) tls_port: Option<u16>,
}

/// The running S3 service of all data addresses.
#[derive(Debug)]
pub(crate) struct Server {
    runtime: Option<Runtime>,
    endpoints: Vec<Endpoint>,
}

/// Shared by all addresses.
pub(crate) struct Options {
    pub(crate) threads: usize,
    pub(crate) domain: Option<String>,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) seed: u64,
}

impl Server {
    /// Starts listening on all endpoints and serving.
    pub(crate) fn start(
        endpoints: &[Endpoint],
        objects: Arc<RwLock<Objects>>,
        faults: &FaultHandle,
        options: Options,
    ) -> Result<Self, StartError> {
        let service = service(objects, options.domain);
        let alarm = Alarm::start()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(options.threads.max(1))
            .thread_name("array-s3")
            .enable_all()
            .build()?;
        let mut taken = Vec::new();
        for (number, endpoint) in (0..).zip(endpoints) {
            let shape = TrafficShape::new(
                faults.clone(),
                endpoint.ip,
                DataProtocol::S3,
                options.seed.wrapping_add(number),
            );
            let shaper = Shaper { service: service.clone(), shape, alarm: alarm.clone() };
            let open = |port: u16, tls: Option<TlsAcceptor>| {
                let address = SocketAddr::new(endpoint.ip, port);
                let _inside = runtime.enter();
                let door = Door::new(address, shaper.shape.unreachable())
                    .map_err(|source| StartError::Listen { address, purpose: "S3", source })?;
                let port = door.address().port();
                runtime.spawn(attend(door, shaper.clone(), tls));
                Ok::<u16, StartError>(port)
            };
            let port = open(endpoint.port, None)?;
            let tls_port = match (endpoint.tls_port, &options.tls) {
                (Some(port), Some(tls)) => Some(open(port, Some(tls.clone()))?),
                _ => None,
            };
            taken.push(Endpoint { ip: endpoint.ip, port, tls_port });
        }
        Ok(Self { runtime: Some(runtime), endpoints: taken })
    }

    /// The endpoints with their actual ports, in the given order.
    pub(crate) fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_secs(5));
        }
    }
}

fn service(objects: Arc<RwLock<Objects>>, domain: Option<String>) -> S3Service {
    let mut builder = S3ServiceBuilder::new(Backend { objects: Arc::clone(&objects) });
    builder.set_auth(Keys(objects));
    if let Some(domain) = domain {
        builder.set_host(Domain(domain));
    }
    builder.build()
}

/// Accepts connections at one door while the runtime lives.
async fn attend(mut door: Door, shaper: Shaper, tls: Option<TlsAcceptor>) {
    let mut ticks = tokio::time::interval(PERIOD);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            accepted = door.accept() => match accepted {
                Ok(stream) => {
                    tokio::spawn(converse(stream, shaper.clone(), tls.clone()));
                }
                // Most likely out of descriptors: retried at the next tick.
                Err(_) => { ticks.tick().await; }
            },
            // If the port is currently taken, this is retried at the next tick.
            _ = ticks.tick() => { let _ = door.follow(shaper.shape.unreachable()); }
        }
    }
}

/// Serves one connection to its end.
async fn converse(stream: TcpStream, shaper: Shaper, tls: Option<TlsAcceptor>) {
    let _ = stream.set_nodelay(true);
    let reset = ResetFlag::default();
    let socket = Socket { stream, reset: Arc::clone(&reset) };
    let answer = service_fn(move |request| {
        let (shaper, reset) = (shaper.clone(), Arc::clone(&reset));
        async move { shaper.call(request, reset).await }
    });
    let http = http1::Builder::new();
    // How a connection ended is up to the client.
    match tls {
        None => {
            let _ = http.serve_connection(TokioIo::new(socket), answer).await;
        }
        Some(tls) => {
            if let Ok(stream) = tls.accept(socket).await {
                let _ = http.serve_connection(TokioIo::new(stream), answer).await;
            }
        }
    }
}

/// A socket that ends with a reset when its flag is set.
struct Socket {
    stream: TcpStream,
    reset: ResetFlag,
}

impl Drop for Socket {
    fn drop(&mut self) {
        if is_on_purpose(&self.reset) {
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // A connection that is to be reset must not be shut down properly.
        if is_on_purpose(&self.reset) {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
