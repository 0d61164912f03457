//! TLS on a reactor's stream, with rustls' unbuffered interface: records are decrypted in the receive buffer and
//! encrypted directly into the send buffer.

use std::io;
use std::sync::Arc;

use reactor::{Buffer, Stream};
use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};
use rustls::{ClientConfig, Error};

/// Ciphertext received at a time.
const INBOUND_BYTES: usize = 160 * 1024;
/// Plaintext encrypted and sent at a time.
const PLAIN_BYTES: usize = 128 * 1024;
/// Space for that many bytes in records of 16 KiB, and for a handshake flight.
const OUTBOUND_BYTES: usize = PLAIN_BYTES + 16 * 1024;

/// A TLS connection.
pub(crate) struct TlsLink {
    stream: Stream,
    tls: UnbufferedClientConnection,
    inbound: Option<Buffer>,
    in_start: usize,
    in_end: usize,
    outbound: Option<Buffer>,
    out_end: usize,
    /// Decrypted bytes that did not fit into the receiver's buffer; less than one inbound buffer.
    stash: Vec<u8>,
    stash_start: usize,
    closed: bool,
}

/// What to do next.
enum Step {
    /// Another step.
    Again,
    /// Send the outbound buffer, then another step.
    Transmit,
    /// Receive more ciphertext.
    NeedInput,
    /// This many bytes of plaintext were delivered; 0 when all were stashed.
    Data(usize),
    /// The handshake is complete and the given data has been encrypted.
    Ready,
    /// The peer has closed its side.
    Closed,
}

impl TlsLink {
    /// Performs the handshake on a new connection.
    ///
    /// # Errors
    /// I/O errors unchanged; TLS failures as [`io::ErrorKind::InvalidData`] around the [`rustls::Error`].
    pub(crate) async fn open(
        stream: Stream,
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
    ) -> io::Result<Self> {
        let tls = UnbufferedClientConnection::new(config, name).map_err(refused)?;
        let mut link = Self {
            stream,
            tls,
            inbound: Some(Buffer::new(INBOUND_BYTES)),
            in_start: 0,
            in_end: 0,
            outbound: Some(Buffer::new(OUTBOUND_BYTES)),
            out_end: 0,
            stash: Vec::new(),
            stash_start: 0,
            closed: false,
        };
        link.send_all(&[]).await?;
        Ok(link)
    }

    pub(crate) const fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Sends all of `plain`; with nothing to send, waits for the end of the handshake.
    pub(crate) async fn send_all(&mut self, plain: &[u8]) -> io::Result<()> {
        let mut rest = plain;
        loop {
            let (part, later) = rest.split_at(rest.len().min(PLAIN_BYTES));
            match self.step(&mut [], Some(part)).map_err(refused)? {
                Step::Ready => {
                    self.flush().await?;
                    rest = later;
                    if rest.is_empty() {
                        return Ok(());
                    }
                }
                Step::Again | Step::Data(_) => {}
                Step::Transmit => self.flush().await?,
                Step::NeedInput => self.more().await?,
                Step::Closed => return Err(io::ErrorKind::BrokenPipe.into()),
            }
        }
    }

    /// Receives plaintext: at least one byte, or 0 once the peer has closed properly.
    pub(crate) async fn recv(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.stash_start < self.stash.len() {
                let rest = &self.stash[self.stash_start..];
                let count = rest.len().min(into.len());
                into[..count].copy_from_slice(&rest[..count]);
                self.stash_start += count;
                if self.stash_start == self.stash.len() {
                    self.stash.clear();
                    self.stash_start = 0;
                }
                return Ok(count);
            }
            if self.closed {
                return Ok(0);
            }
            match self.step(into, None).map_err(refused)? {
                Step::Data(0) | Step::Again => {}
                Step::Data(count) => return Ok(count),
                Step::Transmit => self.flush().await?,
                Step::Ready | Step::NeedInput => self.more().await?,
                Step::Closed => self.closed = true,
            }
        }
    }

    /// One protocol step: delivers plaintext to `into`, encrypts `plain` once possible.
    fn step(&mut self, into: &mut [u8], plain: Option<&[u8]>) -> Result<Step, Error> {
        let inbound = self.inbound.as_mut().expect("given back by every receive");
        let outbound = self.outbound.as_mut().expect("given back by every send");
        let UnbufferedStatus { mut discard, state, .. } =
            self.tls.process_tls_records(&mut inbound[self.in_start..self.in_end]);
        let step = match state? {
            ConnectionState::ReadTraffic(mut traffic) => {
                let mut filled = 0;
                while let Some(record) = traffic.next_record() {
                    let record = record?;
                    discard += record.discard;
                    let count = record.payload.len().min(into.len() - filled);
                    into[filled..filled + count].copy_from_slice(&record.payload[..count]);
                    filled += count;
                    self.stash.extend_from_slice(&record.payload[count..]);
                }
                Step::Data(filled)
            }
            ConnectionState::EncodeTlsData(mut data) => {
                let room = &mut outbound[self.out_end..];
                self.out_end +=
                    data.encode(room).map_err(|error| Error::General(format!("handshake: {error}")))?;
                Step::Again
            }
            ConnectionState::TransmitTlsData(data) => {
                // Counts as sent because nothing else happens on this connection before the flush.
                data.done();
                Step::Transmit
            }
            ConnectionState::BlockedHandshake => Step::NeedInput,
            ConnectionState::WriteTraffic(mut traffic) => {
                if let Some(plain) = plain.filter(|plain| !plain.is_empty()) {
                    let room = &mut outbound[self.out_end..];
                    self.out_end += traffic
                        .encrypt(plain, room)
                        .map_err(|error| Error::General(format!("encryption: {error}")))?;
                }
                Step::Ready
            }
            ConnectionState::PeerClosed | ConnectionState::Closed => Step::Closed,
            _ => Step::Again,
        };
        self.in_start += discard;
        if self.in_start == self.in_end {
            (self.in_start, self.in_end) = (0, 0);
        }
        Ok(step)
    }

    async fn flush(&mut self) -> io::Result<()> {
        if self.out_end == 0 {
            return Ok(());
        }
        let buffer = self.outbound.take().expect("given back by every send");
        let (sent, buffer) = self.stream.send_all(buffer, 0..self.out_end).await;
        self.outbound = Some(buffer);
        self.out_end = 0;
        sent
    }

    async fn more(&mut self) -> io::Result<()> {
        let mut buffer = self.inbound.take().expect("given back by every receive");
        if self.in_start > 0 {
            buffer.copy_within(self.in_start..self.in_end, 0);
            (self.in_start, self.in_end) = (0, self.in_end - self.in_start);
        }
        let range = self.in_end..buffer.len();
        if range.is_empty() {
            self.inbound = Some(buffer);
            return Err(refused(Error::General("a record larger than the receive buffer".to_owned())));
        }
        let (received, buffer) = self.stream.recv(buffer, range).await;
        self.inbound = Some(buffer);
        match received? {
            0 => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the connection ended without TLS's own close",
            )),
            count => {
                self.in_end += count;
                Ok(())
            }
        }
    }
}

fn refused(error: Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
