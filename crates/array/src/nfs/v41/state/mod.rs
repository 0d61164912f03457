//! What the server remembers of its clients: who they are, their sessions, and what they have open.
//!
//! One state for all data addresses, because a client may bind connections to several of them to one session. Everything in
//! it is bounded; what does not fit is refused until something else ends. A client that is silent for longer than the lease
//! is forgotten with all it has (RFC 8881 section 8.3).

mod clients;
mod opens;
mod sessions;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clients::Client;
use opens::Opens;
pub(super) use opens::{FileKey, Opening};
use sessions::Session;
pub(super) use sessions::{REPLY_MAX, Sequenced, Within};
use wire::nfs4::SessionId;

/// Most clients.
const CLIENTS_MAX: usize = 1024;
/// Most sessions of all clients together.
const SESSIONS_MAX: usize = 4096;
/// Most slots of a session.
const SESSION_SLOTS_MAX: u32 = 1024;
/// Most slots of all sessions together, each of which may keep a reply.
const SLOTS_MAX: u32 = 16_384;
/// Largest reply that a slot keeps, in bytes.
const KEPT_REPLY_MAX: u32 = 4096;
/// Most opens of all clients together.
const OPENS_MAX: usize = 65_536;

/// The state, shared by all threads.
#[derive(Debug)]
pub(in super::super) struct State {
    /// Part of all ids, so that those of another array are unknown.
    instance: u64,
    lease: Duration,
    known: Mutex<Known>,
}

/// Everything that is known.
#[derive(Debug, Default)]
struct Known {
    clients: BTreeMap<u64, Client>,
    sessions: HashMap<SessionId, Session>,
    opens: Opens,
    /// Slots of all sessions.
    slots: u32,
    last_number: u64,
}

impl State {
    /// No clients yet.
    pub(in super::super) fn new(instance: u64, lease: Duration) -> Self {
        Self { instance, lease, known: Mutex::default() }
    }

    /// The lease in whole seconds, as clients are told.
    pub(super) fn lease_s(&self) -> u32 {
        u32::try_from(self.lease.as_secs()).unwrap_or(u32::MAX).max(1)
    }

    /// Forgets everything: the server has restarted, or all leases have ended.
    pub(in super::super) fn forget_all(&self) {
        let mut known = self.known();
        // Numbers are not used again: what clients still hold must not become valid for something else.
        *known = Known { last_number: known.last_number, ..Known::default() };
    }

    /// Ends all sessions; their clients stay known.
    pub(in super::super) fn end_sessions(&self) {
        self.known().end_sessions();
    }

    /// Forgets the clients whose lease has ended.
    pub(in super::super) fn expire(&self, now_ns: u64) {
        self.known().expire(now_ns, self.lease_ns());
    }

    fn lease_ns(&self) -> u64 {
        u64::try_from(self.lease.as_nanos()).unwrap_or(u64::MAX)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn client_id(&self, number: u64) -> u64 {
        self.instance << 32 | number & 0xffff_ffff
    }

    fn session_id(&self, number: u64) -> SessionId {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&self.instance.to_be_bytes());
        id[8..].copy_from_slice(&number.to_be_bytes());
        id
    }

    fn state_other(&self, number: u64) -> [u8; 12] {
        let mut other = [0; 12];
        other[..4].copy_from_slice(&(self.instance as u32).to_be_bytes());
        other[4..].copy_from_slice(&number.to_be_bytes());
        other
    }

    /// The number of a state that this server issued.
    fn state_number(&self, other: &[u8; 12]) -> Option<u64> {
        let number = u64::from_be_bytes(other[4..].try_into().ok()?);
        (self.state_other(number) == *other).then_some(number)
    }
}

impl Known {
    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    fn expire(&mut self, now_ns: u64, lease_ns: u64) {
        let silent = self.clients.iter().filter(|(_, client)| client.is_silent(now_ns, lease_ns));
        let expired: Vec<u64> = silent.map(|(id, _)| *id).collect();
        expired.into_iter().for_each(|id| self.forget(id));
    }

    /// Whether a client has sessions or opens.
    fn is_busy(&self, client: u64) -> bool {
        self.sessions.values().any(|session| session.client == client) || self.opens.any_of(client)
    }

    /// Forgets a client with its sessions and opens.
    fn forget(&mut self, client: u64) {
        self.clients.remove(&client);
        self.sessions.retain(|_, session| session.client != client);
        self.slots = self.sessions.values().map(Session::slots).sum();
        self.opens.forget(client);
    }

    fn end_sessions(&mut self) {
        self.sessions.clear();
        self.slots = 0;
    }
}
