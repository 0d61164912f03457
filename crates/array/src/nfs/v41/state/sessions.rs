//! Sessions: their slots, and the replies that these keep (RFC 8881 section 2.10.6).

use wire::nfs4::{ChannelAttributes, Nfs4Status, SequenceArgs, SequenceOk, SessionId};

use super::{KEPT_REPLY_MAX, State};

/// Room for any kept reply, in bytes.
pub(in super::super) const REPLY_MAX: usize = KEPT_REPLY_MAX as usize;

/// A session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) client: u64,
    fore: ChannelAttributes,
    slots: Vec<Slot>,
}

/// A slot: one request at a time.
#[derive(Debug, Default)]
struct Slot {
    /// The number of its last request; 0 before the first.
    sequence: u32,
    last: Last,
}

/// What is known of a slot's last request.
#[derive(Debug, Default)]
enum Last {
    /// It is being executed.
    Running,
    /// Its reply was not to be kept.
    #[default]
    NotKept,
    /// Its COMPOUND's result.
    Kept(Box<[u8]>),
}

/// Where a request is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Within {
    pub(in super::super) client: u64,
    pub(in super::super) session: SessionId,
    slot: u32,
    sequence: u32,
    /// The reply is kept.
    pub(in super::super) cache: bool,
    /// Largest reply, in bytes, with its RPC header.
    pub(in super::super) response_max: u32,
    /// The client has said that it reclaims nothing (any more).
    pub(in super::super) reclaimed: bool,
    /// The slot does not learn of the request.
    unheard: bool,
}

/// What becomes of a request.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) enum Sequenced {
    /// It is executed, and SEQUENCE returns this.
    Execute(Within, SequenceOk),
    /// It was executed before, with this result.
    Repeat(Box<[u8]>),
    /// It was executed before, and its result was not kept. SEQUENCE returns this.
    NotKept(SequenceOk),
}

impl Session {
    pub(super) fn new(client: u64, fore: ChannelAttributes) -> Self {
        let slots = (0..fore.requests_max).map(|_| Slot::default()).collect();
        Self { client, fore, slots }
    }

    pub(super) fn slots(&self) -> u32 {
        self.fore.requests_max
    }
}

impl State {
    /// SEQUENCE (section 18.46.3) of a request with this many bytes and operations. With `unheard`, its slot stays as it
    /// is: the reply will not arrive, and the request is to have had no effect.
    pub(in super::super) fn sequence(
        &self,
        args: &SequenceArgs,
        (request_bytes, operations): (usize, u32),
        unheard: bool,
        now_ns: u64,
    ) -> Result<Sequenced, Nfs4Status> {
        let lease_ns = self.lease_ns();
        let known = &mut *self.known();
        let session = known.sessions.get_mut(&args.session).ok_or(Nfs4Status::BADSESSION)?;
        let client_id = session.client;
        let client = known.clients.get_mut(&client_id);
        let Some(client) = client.filter(|client| !client.is_silent(now_ns, lease_ns)) else {
            known.forget(client_id);
            return Err(Nfs4Status::BADSESSION);
        };
        client.renewed_ns = client.renewed_ns.max(now_ns);
        let highest_slot = session.fore.requests_max - 1;
        if request_bytes > session.fore.request_max as usize {
            return Err(Nfs4Status::REQ_TOO_BIG);
        }
        if operations > session.fore.operations_max {
            return Err(Nfs4Status::TOO_MANY_OPS);
        }
        if args.highest_slot > highest_slot {
            return Err(Nfs4Status::BAD_HIGH_SLOT);
        }
        let slot = session.slots.get_mut(args.slot as usize).ok_or(Nfs4Status::BADSLOT)?;
        let &SequenceArgs { session: id, sequence, slot: number, cache, .. } = args;
        let result = SequenceOk {
            session: id,
            sequence,
            slot: number,
            highest_slot,
            target_highest_slot: highest_slot,
            flags: 0,
        };
        if sequence == slot.sequence && sequence != 0 {
            return match &slot.last {
                Last::Running => Err(Nfs4Status::DELAY),
                Last::NotKept => Ok(Sequenced::NotKept(result)),
                Last::Kept(reply) => Ok(Sequenced::Repeat(reply.clone())),
            };
        }
        if sequence != slot.sequence.wrapping_add(1) {
            return Err(Nfs4Status::SEQ_MISORDERED);
        }
        if !unheard {
            *slot = Slot { sequence, last: Last::Running };
        }
        let limit = if cache { session.fore.cached_response_max } else { session.fore.response_max };
        let within = Within {
            client: client_id,
            session: id,
            slot: number,
            sequence,
            cache,
            response_max: limit,
            reclaimed: client.reclaimed,
            unheard,
        };
        Ok(Sequenced::Execute(within, result))
    }

    /// Whether a session exists.
    pub(in super::super) fn knows_session(&self, session: &SessionId, now_ns: u64) -> Result<(), Nfs4Status> {
        let mut known = self.known();
        known.expire(now_ns, self.lease_ns());
        if known.sessions.contains_key(session) { Ok(()) } else { Err(Nfs4Status::BADSESSION) }
    }

    /// A request was executed, with this result.
    pub(in super::super) fn finish(&self, within: &Within, result: &[u8]) {
        let mut known = self.known();
        let Some(session) = known.sessions.get_mut(&within.session) else { return };
        let Some(slot) = session.slots.get_mut(within.slot as usize) else { return };
        if within.unheard || slot.sequence != within.sequence {
            return;
        }
        slot.last = if within.cache { Last::Kept(result.into()) } else { Last::NotKept };
    }
}
