//! A connection that reads only while a budget of CPU time allows it.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::cpu_budget::CpuBudget;

/// The connection.
pub(crate) struct PacedStream {
    stream: TcpStream,
    budget: Arc<CpuBudget>,
    /// Present while it waits for its turn.
    turn: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl PacedStream {
    pub(crate) fn new(stream: TcpStream, budget: Arc<CpuBudget>) -> Self {
        Self { stream, budget, turn: None }
    }

    /// The connection, for looking at what it received.
    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }
}

impl AsyncRead for PacedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // A connection without anything to read needs no turn.
        ready!(self.stream.poll_read_ready(context))?;
        if self.turn.is_none() && !self.budget.allows() {
            let budget = Arc::clone(&self.budget);
            self.turn = Some(Box::pin(async move { budget.turn().await }));
        }
        if let Some(turn) = &mut self.turn {
            ready!(turn.as_mut().poll(context));
            self.turn = None;
        }
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for PacedStream {
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
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
