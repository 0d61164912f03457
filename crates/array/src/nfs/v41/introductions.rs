//! Operations on clients and sessions (RFC 8881 sections 18.34 to 18.37, 18.50 and 18.51).

use wire::nfs4::{
    BindArgs, BindOk, CreateSessionArgs, CreateSessionOk, ExchangeIdArgs, ExchangeIdOk, Nfs4Status,
    Operation, Protection, ServerLabel, ServerOwner, SessionId,
};

use super::REPLY_LIMIT;
use super::compound::{Run, put};
use crate::nfs::input::RECORD_MAX;
use crate::nfs::parts::Parts;

impl Run<'_> {
    /// EXCHANGE_ID. All data addresses are the same server.
    pub(super) fn introduce(&self, args: &ExchangeIdArgs<'_>, to: &mut Parts<'_>) -> Nfs4Status {
        let label = self.service.files.instance().to_be_bytes();
        let known = self.service.clients.introduce(args, self.caller.uid, self.now_ns);
        let result = known.map(|known| ExchangeIdOk {
            client: known.client,
            sequence: known.sequence,
            flags: ExchangeIdArgs::NOT_PNFS | if known.confirmed { ExchangeIdArgs::CONFIRMED } else { 0 },
            protection: Protection::None,
            server_owner: ServerOwner { minor_id: 0, major_id: ServerLabel(&label) },
            scope: ServerLabel(&label),
            implementation: None,
        });
        put(to, Operation::ExchangeId, &result)
    }

    pub(super) fn create_session(&self, args: &CreateSessionArgs<'_>) -> Result<CreateSessionOk, Nfs4Status> {
        self.service.clients.create_session(args, (RECORD_MAX as u32, REPLY_LIMIT as u32), self.now_ns)
    }

    /// BIND_CONN_TO_SESSION, for calls: there are no callbacks.
    pub(super) fn bind(&self, args: &BindArgs) -> Result<BindOk, Nfs4Status> {
        self.service.clients.knows_session(&args.session, self.now_ns)?;
        match args.direction {
            BindArgs::FORE | BindArgs::FORE_OR_BOTH | BindArgs::BACK_OR_BOTH => {
                Ok(BindOk { session: args.session, direction: BindArgs::FORE, rdma: false })
            }
            _ => Err(Nfs4Status::INVAL),
        }
    }

    /// DESTROY_SESSION; that of the COMPOUND itself only at its end.
    pub(super) fn destroy_session(&self, session: &SessionId, is_last: bool) -> Result<(), Nfs4Status> {
        if !is_last && self.within.as_ref().is_some_and(|within| within.session == *session) {
            return Err(Nfs4Status::NOT_ONLY_OP);
        }
        self.service.clients.destroy_session(session)
    }

    /// RECLAIM_COMPLETE. For one file system it says something about a migration, of which there are none.
    pub(super) fn complete_reclaim(&mut self, one_file_system: bool) -> Result<(), Nfs4Status> {
        let client = self.client()?;
        if one_file_system {
            return self.current().map(drop);
        }
        self.service.clients.complete_reclaim(client)?;
        if let Some(within) = &mut self.within {
            within.reclaimed = true;
        }
        Ok(())
    }
}
