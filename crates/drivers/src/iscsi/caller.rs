//! One connection with one request at a time: logins, and commands outside the load.

use std::net::SocketAddr;

use metrics::ErrorKind;
use reactor::{Buffer, Reactor, Stream};
use wire::iscsi::{
    CommandWindow, Crc32c, DIGEST_BYTES, HEADER_BYTES, Header, IscsiAnswer, LogoutRequest, NO_TAG, NopOut,
    Operational, ScsiCommand, ScsiRequest, ScsiStatus, Sense, SenseKey, TextRequest, additional_bytes,
    data_bytes, padding,
};

use super::command::Outcome;
use crate::DriverError;

const BUFFER_BYTES: usize = 64 << 10;
/// Data of one answer that are kept.
const DATA_MAX: usize = 16 << 20;
/// How often a command is repeated because of a unit attention, which reports only what has happened before it.
const ATTENTIONS_MAX: u32 = 8;

/// A connection with nothing outstanding between calls.
pub(super) struct Caller {
    reactor: Reactor,
    stream: Stream,
    buffer: Option<Buffer>,
    portal: SocketAddr,
    deadline_ns: u64,
    agreed: Operational,
    window: CommandWindow,
    exp_stat_sn: u32,
    tag: u32,
}

/// What a connection is continued with.
pub(super) struct Joined {
    pub(super) stream: Stream,
    pub(super) agreed: Operational,
    pub(super) window: CommandWindow,
    pub(super) exp_stat_sn: u32,
}

impl Caller {
    /// A new connection.
    pub(super) fn new(reactor: &Reactor, stream: Stream, portal: SocketAddr, deadline_ns: u64) -> Self {
        Self {
            reactor: reactor.clone(),
            stream,
            buffer: Some(reactor.buffer(BUFFER_BYTES)),
            portal,
            deadline_ns,
            // Before the end of the login there are no digests, and 8 KiB is the limit.
            agreed: Operational::new(wire::iscsi::DEFAULT_SEGMENT_BYTES),
            window: CommandWindow::new(0),
            exp_stat_sn: 0,
            tag: 0,
        }
    }

    pub(super) fn logged_in(&mut self, agreed: Operational, window: CommandWindow) {
        self.agreed = agreed;
        self.window = window;
    }

    pub(super) fn agreed(&self) -> Operational {
        self.agreed
    }

    pub(super) fn set_stat_sn(&mut self, exp_stat_sn: u32) {
        self.exp_stat_sn = exp_stat_sn;
    }

    /// Gives the connection up to the load.
    pub(super) fn into_parts(self) -> Joined {
        let Self { stream, agreed, window, exp_stat_sn, .. } = self;
        Joined { stream, agreed, window, exp_stat_sn }
    }

    pub(super) fn failed(&self, kind: ErrorKind, text: &str) -> DriverError {
        DriverError::new(kind, format!("iSCSI portal {}: {text}", self.portal))
    }

    fn lost(&self, error: &std::io::Error) -> DriverError {
        self.failed(ErrorKind::ConnectionLost, &format!("the connection was lost: {error}"))
    }

    /// Sends a PDU.
    pub(super) async fn send(&mut self, mut header: Header, data: &[u8]) -> Result<(), DriverError> {
        let [_, high, middle, low] = (data.len() as u32).to_be_bytes();
        header[5..8].copy_from_slice(&[high, middle, low]);
        let mut pdu = header.to_vec();
        if self.agreed.header_digest {
            pdu.extend(Crc32c::of(&header));
        }
        if !data.is_empty() {
            let from = pdu.len();
            pdu.extend_from_slice(data);
            pdu.resize(pdu.len() + padding(data.len()), 0);
            if self.agreed.data_digest {
                let digest = Crc32c::of(&pdu[from..]);
                pdu.extend(digest);
            }
        }
        let mut buffer = self.buffer.take().unwrap_or_else(|| self.reactor.buffer(BUFFER_BYTES));
        let mut outcome = Ok(());
        for part in pdu.chunks(BUFFER_BYTES) {
            buffer[..part.len()].copy_from_slice(part);
            (outcome, buffer) = self.stream.send_all(buffer, 0..part.len()).await;
            if outcome.is_err() {
                break;
            }
        }
        self.buffer = Some(buffer);
        outcome.map_err(|error| self.lost(&error))
    }

    async fn exactly(&mut self, len: usize, into: &mut Vec<u8>) -> Result<(), DriverError> {
        let mut left = len;
        while left > 0 {
            let part = left.min(BUFFER_BYTES);
            let buffer = self.buffer.take().unwrap_or_else(|| self.reactor.buffer(BUFFER_BYTES));
            let (outcome, buffer) = self.stream.recv_exact(buffer, 0..part).await;
            let count = outcome.map_err(|error| self.lost(&error))?;
            into.extend_from_slice(&buffer[..count]);
            self.buffer = Some(buffer);
            if count < part {
                return Err(self.failed(ErrorKind::ConnectionLost, "the target closed the connection"));
            }
            left -= part;
        }
        Ok(())
    }

    /// Receives a PDU with its data.
    pub(super) async fn receive(&mut self) -> Result<(IscsiAnswer, Vec<u8>), DriverError> {
        let mut head = Vec::with_capacity(HEADER_BYTES + DIGEST_BYTES);
        let digest = if self.agreed.header_digest { DIGEST_BYTES } else { 0 };
        self.exactly(HEADER_BYTES + digest, &mut head).await?;
        let (bytes, sum) = head.split_at(HEADER_BYTES);
        let header: Header = bytes.try_into().expect("split there");
        let garbage = |caller: &Self, text: String| {
            caller.failed(ErrorKind::Protocol, &format!("the answer cannot be understood: {text}"))
        };
        if digest > 0 && sum != Crc32c::of(&header) {
            return Err(garbage(self, "its header digest is wrong".to_owned()));
        }
        let answer = IscsiAnswer::decode(&header).map_err(|error| garbage(self, error.to_string()))?;
        if additional_bytes(&header) > 0 {
            return Err(garbage(self, "it has additional header segments".to_owned()));
        }
        let len = data_bytes(&header);
        // During login, neither side has agreed to more than 8 KiB; some targets send more all the same.
        if len > DATA_MAX {
            return Err(garbage(self, format!("it has {len} bytes of data")));
        }
        let mut data = Vec::new();
        if len > 0 {
            let digest = if self.agreed.data_digest { DIGEST_BYTES } else { 0 };
            let padded = len + padding(len);
            self.exactly(padded + digest, &mut data).await?;
            if digest > 0 && data[padded..] != Crc32c::of(&data[..padded]) {
                return Err(garbage(self, "its data digest is wrong".to_owned()));
            }
            data.truncate(len);
        }
        Ok((answer, data))
    }

    fn next_tag(&mut self) -> u32 {
        self.tag = (self.tag + 1) & 0xffff;
        self.tag
    }

    /// Gives what follows until this time.
    pub(super) fn set_deadline(&mut self, deadline_ns: u64) {
        self.deadline_ns = deadline_ns;
    }

    /// Runs a command for which at most `bytes` come to its end; a unit attention repeats it. Returns the data that came.
    ///
    /// # Errors
    /// The command failed, or the connection did.
    pub(super) async fn command(
        &mut self,
        lun: u64,
        request: ScsiRequest,
        bytes: u32,
    ) -> Result<Result<Vec<u8>, Outcome>, DriverError> {
        let deadline_ns = self.deadline_ns;
        let reactor = self.reactor.clone();
        let mut attentions = 0;
        loop {
            let outcome = match reactor.timeout_at(deadline_ns, self.once(lun, request, bytes)).await {
                Ok(outcome) => outcome?,
                Err(_) => {
                    let text = format!("{}: no answer in time", request.name());
                    return Err(self.failed(ErrorKind::TimedOut, &text));
                }
            };
            match outcome {
                Err(Outcome::Status(_, Some(sense)))
                    if sense.key == SenseKey::UNIT_ATTENTION && attentions < ATTENTIONS_MAX =>
                {
                    attentions += 1;
                }
                outcome => return Ok(outcome),
            }
        }
    }

    async fn once(
        &mut self,
        lun: u64,
        request: ScsiRequest,
        bytes: u32,
    ) -> Result<Result<Vec<u8>, Outcome>, DriverError> {
        let tag = self.next_tag();
        while !self.window.is_open() {
            let (answer, _) = self.receive().await?;
            let IscsiAnswer::Nop(ping) = answer else {
                return Err(self.failed(ErrorKind::Protocol, "an answer to what was not asked came"));
            };
            self.window.update(ping.exp_cmd_sn, ping.max_cmd_sn);
            self.pong(ping.target_tag, ping.lun).await?;
        }
        let command = ScsiCommand {
            is_final: true,
            read: bytes > 0,
            attribute: 1,
            lun,
            tag,
            transfer_bytes: bytes,
            cmd_sn: self.window.take(),
            exp_stat_sn: self.exp_stat_sn,
            cdb: request.encode(),
            ..ScsiCommand::default()
        };
        self.send(command.encode(), &[]).await?;
        let mut data = Vec::new();
        loop {
            let (answer, segment) = self.receive().await?;
            match answer {
                IscsiAnswer::DataIn(came) if came.tag == tag => {
                    let end = came.offset as usize + segment.len();
                    if end > bytes as usize || came.offset as usize != data.len() {
                        return Err(self.failed(ErrorKind::Protocol, "data came that were not asked for"));
                    }
                    data.extend_from_slice(&segment);
                    if came.has_status {
                        self.note(came.stat_sn, came.exp_cmd_sn, came.max_cmd_sn);
                        return Ok(match ScsiStatus(came.status) {
                            ScsiStatus::GOOD => Ok(data),
                            status => Err(Outcome::Status(status, None)),
                        });
                    }
                }
                IscsiAnswer::Response(end) if end.tag == tag => {
                    self.note(end.stat_sn, end.exp_cmd_sn, end.max_cmd_sn);
                    return Ok(match (end.response, ScsiStatus(end.status)) {
                        (0, ScsiStatus::GOOD) => Ok(data),
                        (0, status) => Err(Outcome::Status(status, Sense::in_response(&segment))),
                        (response, _) => Err(Outcome::TargetFailure(response)),
                    });
                }
                IscsiAnswer::Nop(ping) => self.pong(ping.target_tag, ping.lun).await?,
                IscsiAnswer::Async(_) => {}
                IscsiAnswer::Reject(rejection) => {
                    let text = format!("the target rejected {}: {}", request.name(), rejection.words());
                    return Err(self.failed(ErrorKind::Rejected, &text));
                }
                _ => return Err(self.failed(ErrorKind::Protocol, "an answer to something else came")),
            }
        }
    }

    fn note(&mut self, stat_sn: u32, expected: u32, max: u32) {
        self.exp_stat_sn = stat_sn.wrapping_add(1);
        self.window.update(expected, max);
    }

    async fn pong(&mut self, target_tag: u32, lun: u64) -> Result<(), DriverError> {
        if target_tag == NO_TAG {
            return Ok(());
        }
        let pong = NopOut {
            immediate: true,
            lun,
            tag: NO_TAG,
            target_tag,
            cmd_sn: self.window.next(),
            exp_stat_sn: self.exp_stat_sn,
            ..NopOut::default()
        };
        self.send(pong.encode(), &[]).await
    }

    /// The text of SendTargets (RFC 7143, appendix C), in a session for discovery.
    pub(super) async fn send_targets(&mut self) -> Result<Vec<u8>, DriverError> {
        let mut text = Vec::new();
        let mut question = Vec::new();
        wire::iscsi::push_key(&mut question, "SendTargets", "All");
        let mut target_tag = NO_TAG;
        loop {
            let tag = self.next_tag();
            let request = TextRequest {
                is_final: true,
                tag,
                target_tag,
                cmd_sn: self.window.take(),
                exp_stat_sn: self.exp_stat_sn,
                ..TextRequest::default()
            };
            self.send(request.encode(), &question).await?;
            question.clear();
            let (IscsiAnswer::Text(answer), part) = self.receive().await? else {
                return Err(self.failed(ErrorKind::Protocol, "SendTargets was answered by something else"));
            };
            self.note(answer.stat_sn, answer.exp_cmd_sn, answer.max_cmd_sn);
            text.extend_from_slice(&part);
            if answer.is_final && !answer.more {
                return Ok(text);
            }
            if text.len() > DATA_MAX {
                return Err(self.failed(ErrorKind::Protocol, "the list of targets does not end"));
            }
            target_tag = answer.target_tag;
        }
    }

    /// Closes the session; the answer is not waited for longer than the deadline, and does not matter.
    pub(super) async fn log_out(mut self) {
        let reactor = self.reactor.clone();
        let deadline_ns = self.deadline_ns;
        let request = LogoutRequest {
            immediate: true,
            tag: self.next_tag(),
            cmd_sn: self.window.next(),
            exp_stat_sn: self.exp_stat_sn,
            ..LogoutRequest::default()
        };
        let leaving = async {
            self.send(request.encode(), &[]).await?;
            self.receive().await.map(drop)
        };
        let _ = reactor.timeout_at(deadline_ns, leaving).await;
    }
}
