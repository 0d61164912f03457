//! Clients: how they become known, and when they are forgotten (RFC 8881 sections 18.35, 18.50 and 18.51).

use wire::nfs4::{
    ChannelAttributes, CreateSessionArgs, CreateSessionOk, ExchangeIdArgs, Nfs4Status, SessionId,
};

use super::sessions::Session;
use super::{CLIENTS_MAX, KEPT_REPLY_MAX, Known, SESSION_SLOTS_MAX, SESSIONS_MAX, SLOTS_MAX, State};

/// Smallest request or reply that a session is created for, in bytes.
const CHANNEL_MIN: u32 = 512;

/// A client.
#[derive(Debug)]
pub(super) struct Client {
    owner: Box<[u8]>,
    verifier: [u8; 8],
    /// The user that made it known.
    principal: u32,
    /// It has created a session.
    confirmed: bool,
    /// Sequence number of its next CREATE_SESSION.
    create_sequence: u32,
    /// What the last one returned, for a retransmission.
    created: Option<CreateSessionOk>,
    /// When its lease began anew.
    pub(super) renewed_ns: u64,
    /// It has said that it reclaims nothing (any more).
    pub(super) reclaimed: bool,
}

impl Client {
    /// Whether its lease is over.
    pub(super) fn is_silent(&self, now_ns: u64, lease_ns: u64) -> bool {
        now_ns.saturating_sub(self.renewed_ns) > lease_ns
    }
}

/// What EXCHANGE_ID tells a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Introduced {
    pub(in super::super) client: u64,
    pub(in super::super) sequence: u32,
    /// It was known before.
    pub(in super::super) confirmed: bool,
}

impl State {
    /// EXCHANGE_ID (section 18.35.4).
    pub(in super::super) fn introduce(
        &self,
        args: &ExchangeIdArgs<'_>,
        principal: u32,
        now_ns: u64,
    ) -> Result<Introduced, Nfs4Status> {
        if args.flags & !ExchangeIdArgs::ALLOWED != 0 {
            return Err(Nfs4Status::INVAL);
        }
        let mut known = self.known();
        known.expire(now_ns, self.lease_ns());
        let of_owner = |known: &Known, confirmed: bool| {
            let found = known
                .clients
                .iter()
                .find(|(_, client)| client.confirmed == confirmed && *client.owner == *args.owner.0);
            found.map(|(id, client)| (*id, client.verifier, client.principal, client.create_sequence))
        };
        let update = args.flags & ExchangeIdArgs::UPDATE != 0;
        match of_owner(&known, true) {
            None if update => return Err(Nfs4Status::NOENT),
            Some((_, verifier, ..)) if update && verifier != args.verifier => {
                return Err(Nfs4Status::NOT_SAME);
            }
            Some((_, _, user, _)) if update && user != principal => return Err(Nfs4Status::PERM),
            // Another user has the name: it stays taken as long as that one uses it.
            Some((id, _, user, _)) if user != principal => {
                if known.is_busy(id) {
                    return Err(Nfs4Status::CLID_INUSE);
                }
                known.forget(id);
            }
            Some((client, verifier, _, sequence)) if verifier == args.verifier => {
                return Ok(Introduced { client, sequence, confirmed: true });
            }
            // The client has restarted: what it had ends when it creates a session.
            Some(_) | None => {}
        }
        if let Some((unconfirmed, ..)) = of_owner(&known, false) {
            known.clients.remove(&unconfirmed);
        }
        if known.clients.len() >= CLIENTS_MAX {
            let oldest = known.clients.iter().find(|(_, client)| !client.confirmed).map(|(id, _)| *id);
            known.clients.remove(&oldest.ok_or(Nfs4Status::DELAY)?);
        }
        let id = self.client_id(known.next_number());
        let client = Client {
            owner: args.owner.0.into(),
            verifier: args.verifier,
            principal,
            confirmed: false,
            create_sequence: 1,
            created: None,
            renewed_ns: now_ns,
            reclaimed: false,
        };
        known.clients.insert(id, client);
        Ok(Introduced { client: id, sequence: 1, confirmed: false })
    }

    /// CREATE_SESSION (section 18.36.4); `largest` are the sizes of the largest request and reply.
    pub(in super::super) fn create_session(
        &self,
        args: &CreateSessionArgs<'_>,
        largest: (u32, u32),
        now_ns: u64,
    ) -> Result<CreateSessionOk, Nfs4Status> {
        let mut known = self.known();
        known.expire(now_ns, self.lease_ns());
        let client = known.clients.get(&args.client).ok_or(Nfs4Status::STALE_CLIENTID)?;
        if args.sequence.wrapping_add(1) == client.create_sequence {
            return client.created.ok_or(Nfs4Status::SEQ_MISORDERED);
        }
        if args.sequence != client.create_sequence {
            return Err(Nfs4Status::SEQ_MISORDERED);
        }
        if args.flags & !CreateSessionArgs::ALLOWED != 0 {
            return Err(Nfs4Status::INVAL);
        }
        let fore = granted(&args.fore, largest, SLOTS_MAX - known.slots)?;
        if known.sessions.len() >= SESSIONS_MAX {
            return Err(Nfs4Status::NOSPC);
        }
        let session = self.session_id(known.next_number());
        known.slots += fore.requests_max;
        known.sessions.insert(session, Session::new(args.client, fore));
        // Neither a back channel nor a session that survives a restart is granted: no flag is set.
        let created = CreateSessionOk { session, sequence: args.sequence, flags: 0, fore, back: args.back };
        known.confirm(args.client, created, now_ns);
        Ok(created)
    }

    /// DESTROY_SESSION.
    pub(in super::super) fn destroy_session(&self, session: &SessionId) -> Result<(), Nfs4Status> {
        let mut known = self.known();
        let ended = known.sessions.remove(session).ok_or(Nfs4Status::BADSESSION)?;
        known.slots -= ended.slots();
        Ok(())
    }

    /// DESTROY_CLIENTID: only of a client without sessions and opens.
    pub(in super::super) fn destroy_client(&self, client: u64) -> Result<(), Nfs4Status> {
        let mut known = self.known();
        if !known.clients.contains_key(&client) {
            return Err(Nfs4Status::STALE_CLIENTID);
        }
        if known.is_busy(client) {
            return Err(Nfs4Status::CLIENTID_BUSY);
        }
        known.forget(client);
        Ok(())
    }

    /// RECLAIM_COMPLETE for all file systems.
    pub(in super::super) fn complete_reclaim(&self, client: u64) -> Result<(), Nfs4Status> {
        let mut known = self.known();
        let client = known.clients.get_mut(&client).ok_or(Nfs4Status::STALE_CLIENTID)?;
        match std::mem::replace(&mut client.reclaimed, true) {
            false => Ok(()),
            true => Err(Nfs4Status::COMPLETE_ALREADY),
        }
    }
}

impl Known {
    /// A client has created a session: those that the same owner had before its restart end.
    fn confirm(&mut self, id: u64, created: CreateSessionOk, now_ns: u64) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.create_sequence = created.sequence.wrapping_add(1);
        client.created = Some(created);
        client.renewed_ns = now_ns;
        if std::mem::replace(&mut client.confirmed, true) {
            return;
        }
        let owner = client.owner.clone();
        let before = self
            .clients
            .iter()
            .find(|(other, client)| **other != id && client.owner == owner && client.confirmed);
        if let Some(before) = before.map(|(other, _)| *other) {
            self.forget(before);
        }
    }
}

/// The limits of a session, of those that the client wants.
fn granted(
    wanted: &ChannelAttributes,
    (request_max, response_max): (u32, u32),
    free_slots: u32,
) -> Result<ChannelAttributes, Nfs4Status> {
    if wanted.request_max.min(wanted.response_max) < CHANNEL_MIN || wanted.operations_max == 0 {
        return Err(Nfs4Status::TOOSMALL);
    }
    if wanted.requests_max == 0 {
        return Err(Nfs4Status::INVAL);
    }
    if free_slots == 0 {
        return Err(Nfs4Status::NOSPC);
    }
    let response_max = wanted.response_max.min(response_max);
    Ok(ChannelAttributes {
        header_pad: 0,
        request_max: wanted.request_max.min(request_max),
        response_max,
        cached_response_max: wanted.cached_response_max.min(KEPT_REPLY_MAX).min(response_max),
        operations_max: wanted.operations_max.min(wire::nfs4::OPERATIONS_MAX),
        requests_max: wanted.requests_max.min(SESSION_SLOTS_MAX).min(free_slots),
        rdma_reads: None,
    })
}
