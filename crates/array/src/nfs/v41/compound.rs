//! Executes a COMPOUND: its operations one after another, until one fails (RFC 8881 section 16.2).

use std::net::IpAddr;

use wire::nfs4::{
    Bitmap, CallHead, MINOR_VERSION, Nfs4Status, OpArgument, Operation, ReplyHead, SequenceArgs, StateId,
};
use wire::xdr::{Decode, DecodeError, Encode, Reader};

use super::REPLY_LIMIT;
use super::outline::{FAILURE_BYTES, prepares, result_room};
use super::place::Place;
use super::state::{Sequenced, Within};
use crate::files::Caller;
use crate::nfs::call::Call;
use crate::nfs::out::Out;
use crate::nfs::parts::Parts;
use crate::nfs::service::{Execution, Service};

/// A COMPOUND that is being executed.
pub(super) struct Run<'s> {
    pub(super) service: &'s Service,
    pub(super) caller: &'s Caller,
    pub(super) peer: IpAddr,
    pub(super) execution: Execution,
    pub(super) now_ns: u64,
    /// The session, from SEQUENCE on.
    pub(super) within: Option<Within>,
    pub(super) current: Option<Place>,
    /// The saved file with its state.
    pub(super) saved: Option<(Place, Option<StateId>)>,
    /// The state that stands for the current one.
    pub(super) state: Option<StateId>,
    request_bytes: usize,
}

/// How a COMPOUND ends.
struct Ended {
    status: Nfs4Status,
    /// Number of results.
    count: u32,
}

/// Executes a COMPOUND and appends its reply.
pub(in super::super) fn answer(
    service: &Service,
    call: &Call<'_>,
    peer: IpAddr,
    out: &mut Out,
    execution: Execution,
) -> Result<(), DecodeError> {
    let mut from = Reader::new(call.arguments);
    let head = CallHead::decode(&mut from)?;
    let mut to = out.parts(call.xid);
    let before = to.bytes().len();
    ReplyHead { status: Nfs4Status::OK, tag: head.tag, count: 0 }.encode(to.bytes());
    let count_at = to.bytes().len() - before - 4;
    let mut run = Run {
        service,
        caller: &call.caller,
        peer,
        execution,
        now_ns: reactor::clock::now_ns(),
        within: None,
        current: None,
        saved: None,
        state: None,
        request_bytes: call.bytes,
    };
    let ended = match () {
        () if head.minor_version != MINOR_VERSION => {
            Some(Ended { status: Nfs4Status::MINOR_VERS_MISMATCH, count: 0 })
        }
        // Nobody will see more than half of this reply.
        () if execution == Execution::Unheard && !call.is_read() => {
            Some(Ended { status: Nfs4Status::IO, count: 0 })
        }
        () => run.all(&head, &mut from, &mut to),
    };
    let body = to.end();
    if let Some(Ended { status, count }) = ended {
        body[..4].copy_from_slice(&status.0.to_be_bytes());
        body[count_at..count_at + 4].copy_from_slice(&count.to_be_bytes());
        if let Some(within) = &run.within {
            service.clients.finish(within, body);
        }
    }
    Ok(())
}

/// Appends an operation's result.
pub(super) fn put<T: Encode>(
    to: &mut Parts<'_>,
    operation: Operation,
    result: &Result<T, Nfs4Status>,
) -> Nfs4Status {
    operation.encode(to.bytes());
    result.encode(to.bytes());
    result.as_ref().err().copied().unwrap_or(Nfs4Status::OK)
}

/// Appends an operation's failure.
pub(super) fn refuse(to: &mut Parts<'_>, number: u32, status: Nfs4Status) -> Nfs4Status {
    number.encode(to.bytes());
    status.encode(to.bytes());
    // The only failure with more than its status: what was set before it.
    if number == Operation::SetAttr as u32 {
        Bitmap::EMPTY.encode(to.bytes());
    }
    status
}

/// The status of an operation whose arguments cannot be decoded.
fn undecodable(error: &DecodeError) -> Nfs4Status {
    match error {
        DecodeError::Oversize { what: "file name", .. } => Nfs4Status::NAMETOOLONG,
        DecodeError::BadDiscriminant { what: "createtype4", .. } => Nfs4Status::BADTYPE,
        // Reclaims, which nothing can be reclaimed by, and delegations, of which there are none.
        DecodeError::BadDiscriminant { what: "open_claim_type4", value: 1 } => Nfs4Status::NO_GRACE,
        DecodeError::BadDiscriminant { what: "open_claim_type4", value: 2..=6 } => Nfs4Status::NOTSUPP,
        _ => Nfs4Status::BADXDR,
    }
}

impl Run<'_> {
    /// Executes all operations; `None` if an earlier reply is repeated.
    fn all(&mut self, head: &CallHead<'_>, from: &mut Reader<'_>, to: &mut Parts<'_>) -> Option<Ended> {
        for index in 0..head.count {
            let count = index + 1;
            let Some(number) = from.clone().u32().ok() else {
                let status = refuse(to, Operation::Illegal as u32, Nfs4Status::BADXDR);
                return Some(Ended { status, count });
            };
            let status = match Operation::from_wire(number) {
                Ok(Operation::Illegal) => refuse(to, number, Nfs4Status::OP_ILLEGAL),
                // Its arguments may have been cut off, for they are not needed.
                Ok(operation) if self.failing().is_some() && index > 0 && !prepares(operation) => {
                    refuse(to, number, self.failing().unwrap_or(Nfs4Status::IO))
                }
                Ok(_) => match OpArgument::decode(from) {
                    Err(error) => refuse(to, number, undecodable(&error)),
                    Ok(OpArgument::Sequence(args)) if index == 0 => {
                        match self.sequence(&args, head.count, from, to) {
                            Ok(()) => Nfs4Status::OK,
                            Err(ended) => return ended,
                        }
                    }
                    Ok(operation) => match self.admit(&operation, index, head.count, to) {
                        Err(status) => refuse(to, number, status),
                        Ok(()) => self.bounded(&operation, count == head.count, to),
                    },
                },
                Err(_) if !Operation::DEFINED.contains(&number) => {
                    refuse(to, Operation::Illegal as u32, Nfs4Status::OP_ILLEGAL)
                }
                Err(_) if self.within.is_none() => refuse(to, number, Nfs4Status::OP_NOT_IN_SESSION),
                Err(_) => refuse(to, number, Nfs4Status::NOTSUPP),
            };
            if status != Nfs4Status::OK {
                return Some(Ended { status, count });
            }
        }
        Some(Ended { status: Nfs4Status::OK, count: head.count })
    }

    /// SEQUENCE; an error ends the COMPOUND.
    fn sequence(
        &mut self,
        args: &SequenceArgs,
        operations: u32,
        from: &mut Reader<'_>,
        to: &mut Parts<'_>,
    ) -> Result<(), Option<Ended>> {
        let unheard = self.execution == Execution::Unheard;
        let request = (self.request_bytes, operations);
        match self.service.clients.sequence(args, request, unheard, self.now_ns) {
            Ok(Sequenced::Execute(within, result)) => {
                put(to, Operation::Sequence, &Ok(result));
                self.within = Some(within);
                Ok(())
            }
            Ok(Sequenced::Repeat(reply)) => {
                to.repeat(&reply);
                Err(None)
            }
            Ok(Sequenced::NotKept(result)) => {
                put(to, Operation::Sequence, &Ok(result));
                Err(Some(match from.clone().u32() {
                    Ok(next) if operations > 1 => {
                        Ended { status: refuse(to, next, Nfs4Status::RETRY_UNCACHED_REP), count: 2 }
                    }
                    _ => Ended { status: Nfs4Status::OK, count: 1 },
                }))
            }
            Err(status) => {
                let status = refuse(to, Operation::Sequence as u32, status);
                Err(Some(Ended { status, count: 1 }))
            }
        }
    }

    /// Whether an operation may stand where it does, and its result fits.
    fn admit(
        &self,
        operation: &OpArgument<'_>,
        index: u32,
        count: u32,
        to: &Parts<'_>,
    ) -> Result<(), Nfs4Status> {
        match operation.operation() {
            Operation::Sequence => return Err(Nfs4Status::SEQUENCE_POS),
            Operation::BindConnToSession if count > 1 => return Err(Nfs4Status::NOT_ONLY_OP),
            Operation::BindConnToSession => return Ok(()),
            Operation::ExchangeId
            | Operation::CreateSession
            | Operation::DestroySession
            | Operation::DestroyClientId
                if self.within.is_none() =>
            {
                return if count == 1 { Ok(()) } else { Err(Nfs4Status::NOT_ONLY_OP) };
            }
            _ if self.within.is_none() => return Err(Nfs4Status::OP_NOT_IN_SESSION),
            _ => {}
        }
        debug_assert!(index > 0, "the first operation is SEQUENCE");
        let needed = match operation {
            // These are cut off if their results turn out to be too long.
            OpArgument::GetAttr(_) | OpArgument::ReadLink(()) | OpArgument::ReadDir(_) => FAILURE_BYTES,
            operation => result_room(operation),
        };
        if to.len() + needed > self.limit() { Err(self.too_big()) } else { Ok(()) }
    }

    /// Largest reply, in bytes.
    pub(super) fn limit(&self) -> usize {
        self.within.as_ref().map_or(REPLY_LIMIT, |within| (within.response_max as usize).min(REPLY_LIMIT))
    }

    fn too_big(&self) -> Nfs4Status {
        match self.within.as_ref().is_some_and(|within| within.cache) {
            true => Nfs4Status::REP_TOO_BIG_TO_CACHE,
            false => Nfs4Status::REP_TOO_BIG,
        }
    }

    /// Executes an operation, and takes its result back if it is too long.
    fn bounded(&mut self, operation: &OpArgument<'_>, is_last: bool, to: &mut Parts<'_>) -> Nfs4Status {
        let number = operation.operation();
        let mark = to.bytes().len();
        let status = self.perform(operation, is_last, to);
        let cut = matches!(number, Operation::GetAttr | Operation::ReadLink | Operation::ReadDir);
        if cut && to.len() > self.limit() {
            to.bytes().truncate(mark);
            return refuse(to, number as u32, self.too_big());
        }
        status
    }

    /// What operations on files are to fail with.
    fn failing(&self) -> Option<Nfs4Status> {
        match self.execution {
            Execution::Failing(status) => Some(super::status(status)),
            _ => None,
        }
    }

    /// The client whose session this is.
    pub(super) fn client(&self) -> Result<u64, Nfs4Status> {
        self.within.as_ref().map(|within| within.client).ok_or(Nfs4Status::OP_NOT_IN_SESSION)
    }
}
