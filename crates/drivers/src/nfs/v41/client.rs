//! A client and its session: how they are created, replaced and destroyed (RFC 8881 sections 18.34 to 18.37, 18.50, 18.51).

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use metrics::ErrorKind;
use reactor::SocketOptions;
use wire::nfs4::{
    BindArgs, BindOk, CallbackSecurity, ChannelAttributes, ClientOwner, CreateSessionArgs, CreateSessionOk,
    ExchangeIdArgs, ExchangeIdOk, Handle, MINOR_VERSION, Nfs4Status, OpArgument, Operation, Protection,
    SessionId, StateId,
};

use super::super::caller::{Caller, Failed};
use super::super::connection::Way;
use super::super::manage::{after, open_reactor};
use super::gateway::{bare, in_session};
use super::opens::OpenFile;
use super::slots::SessionSlots;
use crate::DriverError;

/// Bytes of a call or reply beside its payload: headers, credential, handle, and the other operations.
pub(super) const OVERHEAD_BYTES: u32 = 4096;
/// Most operations in one of our COMPOUNDs.
const OPERATIONS: u32 = 8;
/// The lease assumed where the server does not say.
const LEASE_S: u32 = 30;
/// Time to destroy a session and its client at the end.
const FAREWELL: Duration = Duration::from_secs(2);
/// How often a connection looks whether another one has replaced the session.
const RENEWAL_PAUSE: Duration = Duration::from_millis(5);

/// Who we are to a server: unique for each worker and each start.
#[derive(Debug)]
pub(in super::super) struct Identity {
    owner: String,
    verifier: [u8; 8],
}

impl Identity {
    pub(in super::super) fn unique() -> Rc<Self> {
        let names = rustix::system::uname();
        let machine: String = names.nodename().to_string_lossy().chars().take(64).collect();
        let owner = format!("manometer {machine} {} {:016x}", std::process::id(), fastrand::u64(..));
        Rc::new(Self { owner, verifier: fastrand::u64(..).to_be_bytes() })
    }
}

/// A client known to a server, with its session. Both are destroyed when this is dropped.
pub(in super::super) struct Joined {
    identity: Rc<Identity>,
    client: u64,
    /// Sequence number of the next CREATE_SESSION.
    create_sequence: u32,
    pub(super) session: SessionId,
    /// Limits granted for our calls.
    pub(in super::super) fore: ChannelAttributes,
    wanted: ChannelAttributes,
    /// Seconds after which the server forgets a silent client.
    pub(in super::super) lease_s: u32,
    /// Next sequence number of slot 0.
    pub(super) sequence: u32,
    server: Option<Server>,
    /// What is still open when it is dropped.
    left_open: Vec<OpenFile>,
}

/// Where the farewell goes.
#[derive(Clone)]
struct Server {
    remote: SocketAddr,
    options: SocketOptions,
    credential: Vec<u8>,
}

/// The limits to ask for: `slots` calls in flight, of these payloads.
pub(super) fn channel(slots: u32, read_size: u32, write_size: u32) -> ChannelAttributes {
    ChannelAttributes {
        header_pad: 0,
        request_max: write_size.saturating_add(OVERHEAD_BYTES),
        response_max: read_size.saturating_add(OVERHEAD_BYTES),
        cached_response_max: OVERHEAD_BYTES,
        operations_max: OPERATIONS,
        requests_max: slots,
        rdma_reads: None,
    }
}

/// Makes us known and creates a session, on a connection with nothing outstanding; `caller` then calls within it.
pub(super) async fn join(
    caller: &mut Caller,
    way: &Way,
    identity: &Rc<Identity>,
    wanted: ChannelAttributes,
) -> Result<(), Failed> {
    let (client, sequence) = exchange(caller, identity).await?;
    let created = create(caller, client, sequence, &wanted).await?;
    let created = created.map_err(|status| caller.refused("CREATE_SESSION", status))?;
    accept(caller, way, (identity, client, wanted), &created).await?;
    complete_reclaim(caller).await
}

async fn exchange(caller: &mut Caller, identity: &Identity) -> Result<(u64, u32), Failed> {
    let arguments = ExchangeIdArgs {
        verifier: identity.verifier,
        owner: ClientOwner(identity.owner.as_bytes()),
        flags: ExchangeIdArgs::NOT_PNFS,
        protection: Protection::None,
        implementation: None,
    };
    let known = bare(caller, "EXCHANGE_ID", OpArgument::ExchangeId(arguments), |from| {
        let known: ExchangeIdOk<'_> = from.next(Operation::ExchangeId)?;
        Ok((known.client, known.sequence))
    })
    .await?;
    known.map_err(|status| caller.refused("EXCHANGE_ID", status))
}

async fn create(
    caller: &mut Caller,
    client: u64,
    sequence: u32,
    wanted: &ChannelAttributes,
) -> Result<Result<CreateSessionOk, Nfs4Status>, Failed> {
    let arguments = CreateSessionArgs {
        client,
        sequence,
        flags: 0,
        fore: *wanted,
        // No back channel is asked for, but the call must describe one.
        back: ChannelAttributes { operations_max: 2, requests_max: 1, ..channel(1, 0, 0) },
        callback_program: 0x4000_0000,
        security: CallbackSecurity::None,
    };
    bare(caller, "CREATE_SESSION", OpArgument::CreateSession(arguments), |from| {
        from.next(Operation::CreateSession)
    })
    .await
}

/// Uses a new session from now on.
async fn accept(
    caller: &mut Caller,
    way: &Way,
    (identity, client, wanted): (&Rc<Identity>, u64, ChannelAttributes),
    created: &CreateSessionOk,
) -> Result<(), Failed> {
    let server =
        Server { remote: way.remote, options: way.options, credential: caller.credential().to_vec() };
    let joined = Joined {
        identity: Rc::clone(identity),
        client,
        create_sequence: created.sequence.wrapping_add(1),
        session: created.session,
        fore: created.fore,
        wanted,
        lease_s: LEASE_S,
        sequence: 1,
        server: Some(server),
        left_open: Vec::new(),
    };
    if created.fore.operations_max < OPERATIONS - 2
        || created.fore.request_max.min(created.fore.response_max) < 8192
    {
        let text = format!(
            "the server grants sessions of {} operations, requests of {} and replies of {} bytes only, which is too little",
            created.fore.operations_max, created.fore.request_max, created.fore.response_max
        );
        return Err(caller.failed("CREATE_SESSION", ErrorKind::Rejected, &text));
    }
    caller.set_session(joined);
    Ok(())
}

/// Says that nothing is to be reclaimed: without that, a server may refuse opens (RFC 8881 section 18.51.3).
async fn complete_reclaim(caller: &mut Caller) -> Result<(), Failed> {
    let operations = [OpArgument::ReclaimComplete(false)];
    let done = in_session(caller, "RECLAIM_COMPLETE", &operations, true, |from| {
        from.next::<()>(Operation::ReclaimComplete)
    });
    match done.await? {
        Ok(()) | Err(Nfs4Status::COMPLETE_ALREADY) => Ok(()),
        Err(status) => Err(caller.refused("RECLAIM_COMPLETE", status)),
    }
}

/// Replaces a session that the server no longer has, within the same client if the server still knows that.
pub(super) async fn renew(caller: &mut Caller, way: &Way, old: &Joined) -> Result<(), Failed> {
    // It may still exist, if only its slots are in doubt.
    destroy(caller, old.session).await?;
    match create(caller, old.client, old.create_sequence, &old.wanted).await? {
        Ok(created) => accept(caller, way, (&old.identity, old.client, old.wanted), &created).await,
        Err(_) => join(caller, way, &old.identity, old.wanted).await,
    }
}

impl Joined {
    /// Replaced by another session: nothing is destroyed any more.
    pub(super) fn disarm(&mut self) {
        self.server = None;
    }

    pub(super) fn identity(&self) -> &Rc<Identity> {
        &self.identity
    }

    pub(super) fn wanted(&self) -> ChannelAttributes {
        self.wanted
    }

    /// What is needed to replace it.
    pub(super) fn snapshot(&self) -> Self {
        Self { identity: Rc::clone(&self.identity), server: None, left_open: Vec::new(), ..*self }
    }

    /// Files to close before it is destroyed: a client with open files is not forgotten (RFC 8881 section 18.50.3).
    pub(super) fn leave_open(&mut self, files: Vec<OpenFile>) {
        self.left_open = files;
    }

    /// Closes what is still open, in a session of its own: the load's slots may be in use.
    async fn close_left(&self, caller: &mut Caller) -> Result<(), Failed> {
        if self.left_open.is_empty() {
            return Ok(());
        }
        let wanted = channel(1, 0, 0);
        let Ok(created) = create(caller, self.client, self.create_sequence, &wanted).await? else {
            return Ok(());
        };
        let mut within = self.snapshot();
        (within.session, within.sequence) = (created.session, 1);
        caller.set_session(within);
        for open in &self.left_open {
            let operations = [OpArgument::PutFh(Handle(open.file)), OpArgument::Close(open.closing())];
            let closed = in_session(caller, "CLOSE", &operations, true, |from| {
                from.next::<()>(Operation::PutFh)?;
                from.next::<StateId>(Operation::Close)
            });
            closed.await?.ok();
        }
        caller.take_session();
        destroy(caller, created.session).await
    }
}

/// Destroys a session; one that does not exist is none to destroy.
async fn destroy(caller: &mut Caller, session: SessionId) -> Result<(), Failed> {
    let ended = OpArgument::DestroySession(session);
    bare(caller, "DESTROY_SESSION", ended, |from| from.next::<()>(Operation::DestroySession)).await?.ok();
    Ok(())
}

impl Drop for Joined {
    /// Destroys session and client, on a connection of its own: the load's may be lost or busy. A server that is silent
    /// forgets both with the lease.
    fn drop(&mut self) {
        let Some(server) = self.server.take() else { return };
        let Ok(reactor) = open_reactor() else { return };
        let deadline_ns = after(&reactor, FAREWELL);
        let _ = reactor.block_on(async {
            let Server { remote, options, credential } = &server;
            let peer = ("NFS server", None);
            let mut caller =
                Caller::connect(&reactor, *remote, options, peer, credential, deadline_ns).await?;
            bind(&mut caller, self.session).await?.ok();
            self.close_left(&mut caller).await?;
            destroy(&mut caller, self.session).await?;
            let forgotten = OpArgument::DestroyClientId(self.client);
            bare(&mut caller, "DESTROY_CLIENTID", forgotten, |from| {
                from.next::<()>(Operation::DestroyClientId)
            })
            .await
        });
    }
}

/// Binds a connection to a session, for calls only.
async fn bind(caller: &mut Caller, session: SessionId) -> Result<Result<(), Nfs4Status>, Failed> {
    let arguments = BindArgs { session, direction: BindArgs::FORE, rdma: false };
    let bound = bare(caller, "BIND_CONN_TO_SESSION", OpArgument::BindConnToSession(arguments), |from| {
        from.next::<BindOk>(Operation::BindConnToSession)
    });
    Ok(bound.await?.map(drop))
}

/// Unset when dropped.
struct Flag<'a>(&'a Cell<bool>);

impl Drop for Flag<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

impl SessionSlots {
    /// Binds a new connection to the session, or creates another session on it when that one is lost.
    pub(in super::super) async fn rejoin(&self, caller: &mut Caller, way: &Way) -> Result<(), DriverError> {
        loop {
            while self.renewing.get() {
                let pause = caller.reactor().sleep(RENEWAL_PAUSE);
                pause.await;
            }
            if !self.broken.get() {
                let session = self.session();
                match bind(caller, session).await? {
                    Ok(()) => return Ok(()),
                    Err(_) if session != self.session() || self.renewing.get() => {}
                    Err(_) => self.broken.set(true),
                }
                continue;
            }
            self.renewing.set(true);
            let _flag = Flag(&self.renewing);
            let old = self.joined.borrow().as_ref().map(Joined::snapshot);
            let Some(old) = old else { return Ok(()) };
            renew(caller, way, &old).await?;
            if let Some(joined) = caller.take_session() {
                self.replace(joined);
            }
            return Ok(());
        }
    }
}

/// The version in messages.
pub(super) fn version() -> String {
    format!("NFSv4.{MINOR_VERSION}")
}
