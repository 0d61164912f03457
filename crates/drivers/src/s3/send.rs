//! Sends one request: its signed head, and its body piece by piece.

use std::io;

use reactor::Buffer;
use wire::NumberText;
use wire::checksum::{MAX_BASE64_LEN, Sha256};

use super::config::PayloadSigning;
use super::failure::Failure;
use super::lane::Lane;
use super::request::{Body, Framed, LEAD_BYTES, PIECE_BYTES, Request, SEND_BYTES, write_head};
use super::session::S3Session;
use crate::link::Link;

impl S3Session {
    /// Sends head and body; the first part of the body goes with the head. An I/O error is returned inside, because the
    /// server may have said why it closed the connection.
    pub(super) async fn send(
        &self,
        lane: &mut Lane,
        link: &mut Link,
        request: &Request<'_>,
    ) -> Result<io::Result<()>, Failure> {
        let shared = &*self.shared;
        let signing = shared.config.payload_signing;
        let payload = &self.context.payload;
        let body = &request.body;
        let len = body.len();
        let mut buffer = lane.send.take().unwrap_or_else(|| Buffer::new(SEND_BYTES));
        let mut filled = false;
        let signed = matches!(body, Body::Bytes(_))
            || (matches!(body, Body::Payload { .. }) && signing == PayloadSigning::Signed);
        let digest = if signed {
            filled = len <= PIECE_BYTES as u64;
            Some(self.digest(body, &mut buffer[LEAD_BYTES..LEAD_BYTES + PIECE_BYTES]).await)
        } else {
            None
        };
        let mut framed = Framed::plan(body, signing);
        self.sign_now(|signer| {
            write_head(
                request,
                &shared.addressing,
                &shared.config,
                signer,
                &framed,
                digest.as_ref(),
                &mut lane.heads,
            )
        })?;

        let mut at = 0;
        let mut head = Some(lane.heads.head.as_slice());
        loop {
            let piece = (len - at).min(PIECE_BYTES as u64) as usize;
            let (mut start, mut end) = (LEAD_BYTES, LEAD_BYTES + piece);
            if !filled {
                body.fill(payload, at, &mut buffer[start..end]);
            }
            at += piece as u64;
            if let Some(sum) = &mut framed.trailer {
                sum.update(&buffer[start..end]);
                if piece > 0 {
                    put_before(&mut buffer, &mut start, b"\r\n");
                    put_before(&mut buffer, &mut start, NumberText::hexadecimal(piece as u64).as_bytes());
                    put_after(&mut buffer, &mut end, b"\r\n");
                }
                if at == len {
                    let name = signing.trailer().expect("a sum means a trailer").header();
                    let mut room = [0; MAX_BASE64_LEN];
                    for text in ["0\r\n", name, ":", sum.base64_in(&mut room), "\r\n\r\n"] {
                        put_after(&mut buffer, &mut end, text.as_bytes());
                    }
                }
            }
            if let Some(head) = head.take() {
                put_before(&mut buffer, &mut start, head);
            }
            let result;
            (result, buffer) = link.send_all(buffer, start..end).await;
            if at == len || result.is_err() {
                lane.send = Some(buffer);
                return Ok(result);
            }
        }
    }

    /// The SHA-256 of a body; yields to other tasks between its pieces.
    async fn digest(&self, body: &Body<'_>, scratch: &mut [u8]) -> [u8; 64] {
        let mut digest = Sha256::new();
        let mut at = 0;
        while at < body.len() {
            if at > 0 {
                self.reactor.yield_now().await;
            }
            let piece = (body.len() - at).min(scratch.len() as u64) as usize;
            body.fill(&self.context.payload, at, &mut scratch[..piece]);
            digest.update(&scratch[..piece]);
            at += piece as u64;
        }
        digest.hex()
    }
}

fn put_before(buffer: &mut Buffer, start: &mut usize, bytes: &[u8]) {
    *start -= bytes.len();
    buffer[*start..][..bytes.len()].copy_from_slice(bytes);
}

fn put_after(buffer: &mut Buffer, end: &mut usize, bytes: &[u8]) {
    buffer[*end..][..bytes.len()].copy_from_slice(bytes);
    *end += bytes.len();
}
