//! One connection, which lanes use in turn, so that blocks never mix.

use std::cell::{Cell, RefCell};

use metrics::ErrorKind;
use reactor::{Buffer, Reactor, Stream};

use crate::turns::Turns;
use crate::{Done, Op, OpError, Payload, Sink};

/// Bytes sent or received at a time, where a block need not be in memory as a whole.
const PIECE: usize = 256 << 10;

/// What fio's sender sends before it closes, even over TCP: it is not data.
const FAREWELL: [u8; 8] = *b"knil\x89\0\0\0";

/// A connection and the lanes that wait for it.
pub(super) struct Link {
    reactor: Reactor,
    pub(super) stream: Stream,
    /// Of the lanes that use it.
    pub(super) turns: Turns,
    /// Buffer for a piece; absent while the kernel has it.
    buffer: RefCell<Option<Buffer>>,
    /// Length of the repeated bytes of every block, once generated.
    repeated: Cell<usize>,
    /// The peer has closed its side.
    pub(super) ended: Cell<bool>,
}

/// How blocks are moved.
pub(super) struct Manner {
    pub(super) payload: Payload,
    pub(super) sink: Sink,
    pub(super) ping_pong: bool,
    pub(super) repeat: bool,
}

impl Link {
    pub(super) fn new(reactor: &Reactor, stream: Stream, lanes: usize) -> Self {
        Self {
            reactor: reactor.clone(),
            stream,
            turns: Turns::new(lanes),
            buffer: RefCell::new(None),
            repeated: Cell::new(0),
            ended: Cell::new(false),
        }
    }

    /// A buffer of at least `len` bytes.
    fn room(&self, len: usize) -> Buffer {
        match self.buffer.borrow_mut().take().filter(|buffer| buffer.len() >= len) {
            Some(buffer) => buffer,
            None => {
                self.repeated.set(0);
                self.reactor.buffer(len)
            }
        }
    }

    fn keep(&self, buffer: Buffer) {
        *self.buffer.borrow_mut() = Some(buffer);
    }

    /// Sends a block.
    pub(super) async fn send(&self, op: &Op, manner: &Manner) -> Result<Done, OpError> {
        let whole = manner.ping_pong || manner.payload.whole_blocks();
        let most = if whole { op.len as usize } else { PIECE.min(op.len as usize) };
        let mut buffer = self.room(most);
        let mut sent = 0u64;
        while sent < op.len {
            let count = most.min((op.len - sent) as usize);
            if !manner.repeat {
                manner.payload.fill_op(op, sent, &mut buffer[..count]);
            } else if self.repeated.get() < count {
                manner.payload.fill_op(op, 0, &mut buffer[..count]);
                self.repeated.set(count);
            }
            let result;
            (result, buffer) = self.stream.send_all(buffer, 0..count).await;
            if let Err(error) = result {
                self.keep(buffer);
                return Err(self.lost(&error.to_string()));
            }
            sent += count as u64;
        }
        if manner.ping_pong {
            self.repeated.set(0);
            let came;
            (came, buffer) = self.fill_from_peer(buffer, most).await;
            self.keep(buffer);
            return match came? {
                count if count == most => Ok(done(op.len, 2)),
                count => Err(self.lost(&format!("{count} of {most} bytes came back before it was closed"))),
            };
        }
        self.keep(buffer);
        Ok(done(op.len, 1))
    }

    /// Receives a block; fewer bytes when the peer closes within it, and an error when it closed before.
    pub(super) async fn receive(&self, op: &Op, manner: &Manner) -> Result<Done, OpError> {
        let len = op.len as usize;
        if manner.sink == Sink::Discard && !manner.ping_pong {
            let dropped =
                self.stream.recv_discard(len).await.map_err(|error| self.lost(&error.to_string()))?;
            return self.received(dropped, op);
        }
        let verify = manner.sink == Sink::Verify;
        let whole = manner.ping_pong || verify && manner.payload.whole_blocks();
        let most = if whole { len } else { PIECE.min(len) };
        let mut buffer = self.room(most);
        let mut received = 0;
        while received < len {
            let count = most.min(len - received);
            let came;
            (came, buffer) = self.fill_from_peer(buffer, count).await;
            let came = match came {
                Ok(came) => came,
                Err(error) => {
                    self.keep(buffer);
                    return Err(error);
                }
            };
            if verify
                && came == count
                && let Err(text) = manner.payload.verify_op(op, received as u64, &buffer[..came])
            {
                self.keep(buffer);
                return Err(OpError::new(ErrorKind::Corrupt, text));
            }
            received += came;
            if came < count && buffer[..came] == FAREWELL {
                received -= came;
            }
            if came < count {
                break;
            }
        }
        if manner.ping_pong && received == len {
            let result;
            (result, buffer) = self.stream.send_all(buffer, 0..len).await;
            if let Err(error) = result {
                self.keep(buffer);
                return Err(self.lost(&error.to_string()));
            }
        }
        self.keep(buffer);
        self.received(received, op)
    }

    /// Receives `count` bytes, or fewer when the stream ends.
    async fn fill_from_peer(&self, buffer: Buffer, count: usize) -> (Result<usize, OpError>, Buffer) {
        let (mut buffer, mut filled) = (buffer, 0);
        while filled < count {
            let result;
            (result, buffer) = self.stream.recv_due(buffer, filled..count, count - filled).await;
            match result {
                Ok(0) => break,
                Ok(came) => filled += came,
                Err(error) => return (Err(self.lost(&error.to_string())), buffer),
            }
        }
        (Ok(filled), buffer)
    }

    fn received(&self, bytes: usize, op: &Op) -> Result<Done, OpError> {
        if (bytes as u64) < op.len {
            self.ended.set(true);
            if bytes == 0 {
                return Err(self.lost("it was closed by the other side"));
            }
        }
        Ok(done(bytes as u64, 1))
    }

    #[cold]
    fn lost(&self, cause: &str) -> OpError {
        let text = format!("connection to {}: {cause}", self.stream.peer_addr());
        OpError::new(ErrorKind::ConnectionLost, text)
    }
}

fn done(bytes: u64, rpcs: u32) -> Done {
    Done { bytes, rpcs, ..Done::default() }
}
