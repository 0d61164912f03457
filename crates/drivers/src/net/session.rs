//! A worker's session: its connections.

use std::net::SocketAddr;
use std::time::Duration;

use metrics::{ErrorKind, OpKind};
use reactor::{Reactor, Signal, SocketOptions, Stream};

use super::NetDriver;
use super::link::{Link, Manner};
use crate::{
    ConnectionFacts, Done, DriverError, Op, OpError, Session, SessionFacts, WorkerContext, connections,
};

/// Wait before the next attempt to connect to a listener that is not there yet.
const AGAIN: Duration = Duration::from_millis(50);

/// One worker's connections to its peer.
pub struct NetSession {
    reactor: Reactor,
    links: Vec<Link>,
    /// One per lane, for its turns.
    signals: Vec<Signal>,
    manner: Manner,
    op_timeout_ns: u64,
}

impl NetSession {
    pub(super) async fn open(
        reactor: &Reactor,
        driver: &NetDriver,
        context: &WorkerContext,
    ) -> Result<Self, DriverError> {
        let config = driver.config();
        let lanes = context.lanes.max(1);
        let count = config.connections_per_worker.min(lanes);
        let address = config.address_of(context.worker)?;
        let deadline_ns = reactor.now() + context.connect_timeout.as_nanos() as u64;
        let seconds = context.connect_timeout.as_secs_f64();
        let mut links = Vec::new();
        if config.listen {
            let socket = driver.listening(context.worker)?;
            let failed =
                |text: String| DriverError::new(ErrorKind::ConnectFailed, format!("{address}: {text}"));
            let listener =
                reactor.accept_on(socket, config.nodelay).map_err(|error| failed(error.to_string()))?;
            while links.len() < count as usize {
                match reactor.timeout_at(deadline_ns, listener.accept()).await {
                    Ok(Ok((stream, _))) => links.push(Link::new(reactor, stream, lanes as usize)),
                    Ok(Err(error)) => return Err(failed(format!("no connection can be accepted: {error}"))),
                    Err(_) => {
                        return Err(failed(format!(
                            "{} of {count} connections came within {seconds} s; start the sender, and let it \
                             connect here",
                            links.len()
                        )));
                    }
                }
            }
        } else {
            for number in 0..count {
                let (remote, options) = config.way(context.worker, (number, count), config.options())?;
                let stream = connect(reactor, remote, &options, deadline_ns, seconds).await?;
                links.push(Link::new(reactor, stream, lanes as usize));
            }
        }
        for (number, link) in links.iter().enumerate() {
            connections::show(&link.stream, "tcp", context.worker, number);
        }
        Ok(Self {
            reactor: reactor.clone(),
            links,
            signals: (0..lanes).map(|_| reactor.signal()).collect(),
            manner: Manner {
                payload: context.payload,
                sink: context.sink,
                ping_pong: config.ping_pong,
                repeat: config.repeat,
            },
            op_timeout_ns: u64::try_from(context.op_timeout.as_nanos()).unwrap_or(u64::MAX),
        })
    }
}

/// Connects; waits for a listener that is not there yet.
async fn connect(
    reactor: &Reactor,
    address: SocketAddr,
    options: &SocketOptions,
    deadline_ns: u64,
    seconds: f64,
) -> Result<Stream, DriverError> {
    let failed = |cause: &str| {
        let text = format!(
            "{address}: {cause} within {seconds} s; start the listener there, and check address and port"
        );
        DriverError::new(ErrorKind::ConnectFailed, text)
    };
    loop {
        let error = match reactor.timeout_at(deadline_ns, reactor.connect(address, options)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => error,
            Err(_) => return Err(failed("no answer")),
        };
        if error.kind() != std::io::ErrorKind::ConnectionRefused {
            return Err(DriverError::new(
                ErrorKind::ConnectFailed,
                format!("{address}: cannot connect: {error}; check address and port"),
            ));
        }
        if reactor.now() + AGAIN.as_nanos() as u64 >= deadline_ns {
            return Err(failed("nobody listened"));
        }
        reactor.sleep(AGAIN).await;
    }
}

impl Session for NetSession {
    async fn perform(&self, op: &Op) -> Result<Done, OpError> {
        if op.lane as usize >= self.signals.len() {
            let text = format!("lane {} of a session with {} lanes", op.lane, self.signals.len());
            return Err(OpError::new(ErrorKind::Local, text));
        }
        let deadline_ns = self.reactor.now().saturating_add(self.op_timeout_ns);
        loop {
            let link = self.link_of(op.lane);
            let result = self.perform_on(link, op, deadline_ns).await;
            // The peer has closed this connection: another may have more.
            if result.is_err() && link.ended.get() && !self.is_over() {
                continue;
            }
            return result;
        }
    }

    fn is_over(&self) -> bool {
        self.links.iter().all(|link| link.ended.get())
    }

    fn facts(&self) -> SessionFacts {
        let connections = self.links.iter().map(|link| ConnectionFacts::of(&link.stream)).collect();
        SessionFacts { connections, ..SessionFacts::default() }
    }
}

impl NetSession {
    /// The lane's connection, or another one when that has ended.
    fn link_of(&self, lane: u32) -> &Link {
        let count = self.links.len();
        let own = lane as usize % count;
        let open = (own..own + count).find(|at| !self.links[at % count].ended.get());
        &self.links[open.unwrap_or(own) % count]
    }

    async fn perform_on(&self, link: &Link, op: &Op, deadline_ns: u64) -> Result<Done, OpError> {
        let moved = async {
            let _turn = link.turns.take(op.lane, &self.signals).await;
            match op.kind {
                OpKind::Write => link.send(op, &self.manner).await,
                OpKind::Read => link.receive(op, &self.manner).await,
                other => {
                    let text = format!("a connection has no operation \"{other}\"");
                    Err(OpError::new(ErrorKind::Rejected, text))
                }
            }
        };
        match self.reactor.timeout_at(deadline_ns, moved).await {
            Ok(result) => result,
            Err(_) => {
                // Part of a block may have been sent: block boundaries are lost from here on.
                link.stream.shutdown();
                let seconds = self.op_timeout_ns as f64 / 1e9;
                let text = format!(
                    "connection to {}: the block was not moved within {seconds} s",
                    link.stream.peer_addr()
                );
                Err(OpError::new(ErrorKind::TimedOut, text))
            }
        }
    }
}
