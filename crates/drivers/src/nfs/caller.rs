//! Calls one at a time: for the portmapper, MOUNT, and work before and after the load.

use std::net::SocketAddr;

use metrics::ErrorKind;
use reactor::{Buffer, Reactor, SocketOptions, Stream};
use wire::nfs3::{self, Procedure, ProcedureResult, Status};
use wire::rpc::{Auth, CallHeader, RecordEvent, RecordScanner, ReplyHeader, begin_record, end_record};
use wire::xdr::{Decode, DecodeError, Encode, Reader};

use super::connection::Way;
use super::errors::refusal;
use super::later::asks_for_later;
use super::v41::{self, Joined};
use crate::DriverError;
use crate::later::Later;

/// Maximum reply size, which bounds the memory that a peer can make us use.
const REPLY_LIMIT: usize = 1 << 20;
const BUFFER_BYTES: usize = 64 * 1024;

/// A connection for successive calls.
pub(super) struct Caller {
    reactor: Reactor,
    stream: Stream,
    buffer: Option<Buffer>,
    credential: Vec<u8>,
    xid: u32,
    /// Name of the peer in messages.
    peer: String,
    deadline_ns: u64,
    reply: Vec<u8>,
    /// Calls repeated at the server's request.
    retries: u64,
    way: Way,
    /// The session within which calls are made, with version 4.1.
    session: Option<Joined>,
}

/// Why a peer could not be used.
pub(super) struct Failed {
    /// For people, with everything that was tried.
    pub(super) error: DriverError,
    /// The bare cause.
    pub(super) cause: String,
    /// The cause is the lack of any reply.
    pub(super) unanswered: bool,
}

impl From<Failed> for DriverError {
    fn from(failed: Failed) -> Self {
        failed.error
    }
}

/// A procedure of a program.
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub(super) program: u32,
    pub(super) version: u32,
    pub(super) procedure: u32,
    /// Name in messages.
    pub(super) name: &'static str,
}

impl Caller {
    /// Connects; `peer` is the name of the other side in messages, and `export` the export that it is asked about, if
    /// any. Everything must finish by `deadline_ns`.
    pub(super) async fn connect(
        reactor: &Reactor,
        to: SocketAddr,
        options: &SocketOptions,
        (peer, export): (&str, Option<&str>),
        credential: &[u8],
        deadline_ns: u64,
    ) -> Result<Self, Failed> {
        let from = options.bind.map(|local| format!(" from {}", local.ip())).unwrap_or_default();
        let peer = match export {
            Some(export) => format!("{peer} at {to}{from}, export {export}"),
            None => format!("{peer} at {to}{from}"),
        };
        let started = reactor.now();
        let failed = |cause: String, unanswered| {
            let next = "check the address and the port, and that no firewall is between";
            let error = DriverError::new(ErrorKind::ConnectFailed, format!("{peer}: {cause}; {next}"));
            Failed { error, cause, unanswered }
        };
        let stream = match reactor.timeout_at(deadline_ns, reactor.connect(to, options)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(e)) => return Err(failed(format!("cannot connect: {e}"), false)),
            Err(_) => return Err(failed(no_answer(started, deadline_ns), true)),
        };
        let way = Way { remote: to, options: *options };
        Ok(Self::over(reactor, stream, way, peer, credential, deadline_ns))
    }

    /// Continues on a connection with nothing outstanding; `peer` is its name in messages.
    pub(super) fn over(
        reactor: &Reactor,
        stream: Stream,
        way: Way,
        peer: String,
        credential: &[u8],
        deadline_ns: u64,
    ) -> Self {
        Self {
            reactor: reactor.clone(),
            stream,
            buffer: Some(reactor.buffer(BUFFER_BYTES)),
            credential: credential.to_vec(),
            xid: fastrand::u32(..),
            peer,
            deadline_ns,
            reply: Vec::new(),
            retries: 0,
            way,
            session: None,
        }
    }

    pub(super) fn reactor(&self) -> &Reactor {
        &self.reactor
    }

    pub(super) fn credential(&self) -> &[u8] {
        &self.credential
    }

    /// Addresses of the connection.
    pub(super) fn way(&self) -> Way {
        self.way
    }

    /// Makes calls within this session from now on.
    pub(super) fn set_session(&mut self, session: Joined) {
        self.session = Some(session);
    }

    pub(super) fn session(&self) -> Option<&Joined> {
        self.session.as_ref()
    }

    pub(super) fn session_mut(&mut self) -> Option<&mut Joined> {
        self.session.as_mut()
    }

    /// Hands the session over.
    pub(super) fn take_session(&mut self) -> Option<Joined> {
        self.session.take()
    }

    /// Counts a call that is repeated.
    pub(super) fn count_retry(&mut self) {
        self.retries += 1;
    }

    /// Waits before a call is repeated at the server's request; false when that would be past the deadline.
    pub(super) async fn wait(&mut self, later: &mut Later) -> bool {
        let Some(next_ns) = later.next_ns(self.reactor.now(), self.deadline_ns) else { return false };
        self.reactor.sleep_until(next_ns).await;
        self.count_retry();
        true
    }

    /// True when the peer is reached over IPv6.
    pub(super) fn is_ipv6(&self) -> bool {
        self.stream.peer_addr().is_ipv6()
    }

    /// Sets the deadline for everything.
    pub(super) fn set_deadline(&mut self, deadline_ns: u64) {
        self.deadline_ns = deadline_ns;
    }

    /// Makes a call that returns an owned result.
    pub(super) async fn fetch<T: for<'a> Decode<'a>>(
        &mut self,
        target: Target,
        arguments: &impl Encode,
    ) -> Result<T, Failed> {
        self.call(target, arguments, |from| T::decode(from)).await
    }

    /// Makes an NFS call that returns an owned result; as [`Caller::ask_with`].
    pub(super) async fn ask<T, F>(
        &mut self,
        procedure: Procedure,
        arguments: &impl Encode,
    ) -> Result<Result<T, Status>, Failed>
    where
        T: for<'a> Decode<'a>,
        F: for<'a> Decode<'a>,
    {
        let read = |from: &mut Reader<'_>| ProcedureResult::<T, F>::decode(from);
        self.ask_with(procedure, arguments, read).await
    }

    /// Makes an NFS call and passes the results to `read`, which must consume them. While the server replies
    /// `NFS3ERR_JUKEBOX`, the call is repeated, within the deadline.
    pub(super) async fn ask_with<T, F>(
        &mut self,
        procedure: Procedure,
        arguments: &impl Encode,
        mut read: impl FnMut(&mut Reader<'_>) -> Result<ProcedureResult<T, F>, DecodeError>,
    ) -> Result<Result<T, Status>, Failed> {
        let target = Target {
            program: nfs3::PROGRAM,
            version: nfs3::VERSION,
            procedure: procedure as u32,
            name: procedure.name(),
        };
        if self.session.is_some() {
            let carried = v41::ask(self, procedure, arguments, &mut read).await?;
            return Ok(carried.map_err(|failure| failure.status));
        }
        let mut later = Later::new();
        loop {
            let status = match self.call(target, arguments, &mut read).await? {
                Ok(result) => return Ok(Ok(result)),
                Err(failure) => failure.status,
            };
            if !(asks_for_later(status) && self.wait(&mut later).await) {
                return Ok(Err(status));
            }
        }
    }

    /// Calls repeated at the server's request.
    pub(super) fn retries(&self) -> u64 {
        self.retries
    }

    /// Makes a call and passes the results to `read`, which must consume them.
    pub(super) async fn call<T>(
        &mut self,
        target: Target,
        arguments: &impl Encode,
        read: impl FnOnce(&mut Reader<'_>) -> Result<T, DecodeError>,
    ) -> Result<T, Failed> {
        let started = self.reactor.now();
        self.xid = self.xid.wrapping_add(1);
        let mut message = Vec::with_capacity(1024);
        let at = begin_record(&mut message);
        let credential = if self.credential.is_empty() {
            Auth::NONE
        } else {
            Auth { flavor: wire::rpc::AUTH_SYS, body: &self.credential }
        };
        CallHeader::new(self.xid, target.program, target.version, target.procedure, credential)
            .encode(&mut message);
        arguments.encode(&mut message);
        end_record(&mut message, at, 0);
        let reactor = self.reactor.clone();
        match reactor.timeout_at(self.deadline_ns, self.exchange(&message)).await {
            Ok(result) => result.map_err(|(kind, text)| self.error(kind, target, &text))?,
            Err(_) => {
                let text = no_answer(started, self.deadline_ns);
                return Err(self.error(ErrorKind::TimedOut, target, &text));
            }
        }
        let mut reader = Reader::new(&self.reply);
        let malformed = |e: DecodeError| {
            let text = format!("the answer cannot be understood: {e}");
            self.error(ErrorKind::Protocol, target, &text)
        };
        let header = ReplyHeader::decode(&mut reader).map_err(malformed)?;
        if let Some((kind, text)) = refusal(&header.body) {
            return Err(self.error(kind, target, &text));
        }
        let result = read(&mut reader).map_err(malformed)?;
        reader.finish().map_err(malformed)?;
        Ok(result)
    }

    /// Sends the message and receives records until one replies to it; leaves that one in `self.reply`.
    async fn exchange(&mut self, message: &[u8]) -> Result<(), (ErrorKind, String)> {
        let lost = |e: std::io::Error| (ErrorKind::ConnectionLost, format!("the connection was lost: {e}"));
        let mut buffer = self.buffer.take().unwrap_or_else(|| self.reactor.buffer(BUFFER_BYTES));
        buffer[..message.len()].copy_from_slice(message);
        let (sent, mut buffer) = self.stream.send_all(buffer, 0..message.len()).await;
        sent.map_err(lost)?;
        let mut scanner = RecordScanner::new(REPLY_LIMIT);
        self.reply.clear();
        loop {
            let len = buffer.len();
            let received;
            (received, buffer) = self.stream.recv(buffer, 0..len).await;
            let count = received.map_err(lost)?;
            if count == 0 {
                let text = "the server closed the connection before its answer was complete";
                return Err((ErrorKind::ConnectionLost, text.into()));
            }
            let mut input = &buffer[..count];
            while let Some(event) = scanner
                .next(&mut input)
                .map_err(|e| (ErrorKind::Protocol, format!("the answer cannot be understood: {e}")))?
            {
                match event {
                    RecordEvent::Data(data) => self.reply.extend_from_slice(data),
                    RecordEvent::End if wire::rpc::peek_xid(&self.reply) == Some(self.xid) => {
                        self.buffer = Some(buffer);
                        return Ok(());
                    }
                    RecordEvent::End => {
                        let text = "the answer cannot be understood: it is for another call";
                        return Err((ErrorKind::Protocol, text.into()));
                    }
                }
            }
        }
    }

    /// The connection itself, with nothing outstanding on it.
    pub(super) fn into_stream(self) -> Stream {
        self.stream
    }

    pub(super) fn error(&self, kind: ErrorKind, target: Target, cause: &str) -> Failed {
        let error = DriverError::new(kind, format!("{}, {}: {cause}", self.peer, target.name));
        Failed { error, cause: cause.into(), unanswered: kind == ErrorKind::TimedOut }
    }
}

/// Message that no reply came in the given time.
pub(super) fn no_answer(from_ns: u64, to_ns: u64) -> String {
    let seconds = to_ns.saturating_sub(from_ns) as f64 / 1e9;
    format!("no answer within {} s", (seconds * 10.0).round() / 10.0)
}
