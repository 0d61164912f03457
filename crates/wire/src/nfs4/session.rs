//! Clients and sessions (RFC 8881 sections 18.34 to 18.37, 18.46, 18.50 and 18.51).

use super::types::{ClientOwner, Owner, ServerLabel, SessionId, Time4};
use crate::rpc::{AUTH_NONE, AUTH_SYS, AuthSys};
use crate::xdr::{Decode, DecodeError, Encode, Reader, xdr_enum, xdr_struct};

xdr_enum! {
    /// How a client's state is protected (`state_protect_how4`): only without protection.
    Protection {
        /// `SP4_NONE`.
        None = 0,
    }
}

xdr_struct! {
    /// Who wrote a client or server (`nfs_impl_id4`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    Implementation<'a> {
        /// DNS domain.
        domain: Owner<'a>,
        /// Name and version.
        name: Owner<'a>,
        /// When it was built.
        date: Time4,
    }
}

xdr_struct! {
    /// EXCHANGE_ID.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    ExchangeIdArgs<'a> {
        /// Changes with each start of the client.
        verifier: [u8; 8],
        /// The client's name, unique among all clients of the server.
        owner: ClientOwner<'a>,
        /// Bits, see [`ExchangeIdArgs::NOT_PNFS`].
        flags: u32,
        /// How the client's state is protected.
        protection: Protection,
        /// Who wrote the client.
        implementation: Option<Implementation<'a>>,
    }
}

impl ExchangeIdArgs<'_> {
    /// `EXCHGID4_FLAG_USE_NON_PNFS`: the server is used as one without pNFS.
    pub const NOT_PNFS: u32 = 0x0001_0000;
    /// `EXCHGID4_FLAG_UPD_CONFIRMED_REC_A`: the client is known already, and only its description changes.
    pub const UPDATE: u32 = 0x4000_0000;
    /// `EXCHGID4_FLAG_CONFIRMED_R`, in results: the client is known already.
    pub const CONFIRMED: u32 = 0x8000_0000;
    /// `EXCHGID4_FLAG_MASK_A`: the bits that calls may have.
    pub const ALLOWED: u32 = 0x4007_0103;
}

xdr_struct! {
    /// A server's identity (`server_owner4`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    ServerOwner<'a> {
        /// Addresses with equal minor and major ids may share sessions.
        minor_id: u64,
        /// Addresses with equal major ids share client ids.
        major_id: ServerLabel<'a>,
    }
}

xdr_struct! {
    /// EXCHANGE_ID's result.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    ExchangeIdOk<'a> {
        /// The client id.
        client: u64,
        /// Sequence number of the first CREATE_SESSION.
        sequence: u32,
        /// Bits.
        flags: u32,
        /// How the client's state is protected.
        protection: Protection,
        /// The server.
        server_owner: ServerOwner<'a>,
        /// Servers with the same scope share file handles.
        scope: ServerLabel<'a>,
        /// Who wrote the server.
        implementation: Option<Implementation<'a>>,
    }
}

xdr_struct! {
    /// Limits of a session's channel (`channel_attrs4`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    ChannelAttributes {
        /// Padding before payloads, in bytes.
        header_pad: u32,
        /// Largest request, in bytes, with its RPC header.
        request_max: u32,
        /// Largest reply, in bytes, with its RPC header.
        response_max: u32,
        /// Largest reply that is kept for a retransmitted request.
        cached_response_max: u32,
        /// Most operations in a COMPOUND.
        operations_max: u32,
        /// Number of slots: requests in flight.
        requests_max: u32,
        /// Inbound RDMA reads in flight; absent over TCP.
        rdma_reads: Option<u32>,
    }
}

/// The credentials of callbacks (`callback_sec_parms4`): exactly one, as clients send it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallbackSecurity<'a> {
    /// `AUTH_NONE`; also of clients without a back channel.
    None,
    /// `AUTH_SYS`.
    Sys(AuthSys<'a>),
}

impl Encode for CallbackSecurity<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        1u32.encode(out);
        match self {
            Self::None => AUTH_NONE.encode(out),
            Self::Sys(credential) => {
                AUTH_SYS.encode(out);
                credential.encode(out);
            }
        }
    }
}

impl<'a> Decode<'a> for CallbackSecurity<'a> {
    fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
        match from.u32()? {
            1 => {}
            len => {
                return Err(DecodeError::Oversize {
                    what: "callback security",
                    len: u64::from(len),
                    limit: 1,
                });
            }
        }
        match from.u32()? {
            AUTH_NONE => Ok(Self::None),
            AUTH_SYS => Ok(Self::Sys(AuthSys::decode(from)?)),
            value => Err(DecodeError::BadDiscriminant { what: "callback security", value }),
        }
    }
}

xdr_struct! {
    /// CREATE_SESSION.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    CreateSessionArgs<'a> {
        /// From EXCHANGE_ID.
        client: u64,
        /// From EXCHANGE_ID, one more for each session created.
        sequence: u32,
        /// Bits; none asks for a session without a back channel whose replies need not survive a restart.
        flags: u32,
        /// Wanted limits of our calls.
        fore: ChannelAttributes,
        /// Wanted limits of callbacks.
        back: ChannelAttributes,
        /// Program number of callbacks.
        callback_program: u32,
        /// Their credentials.
        security: CallbackSecurity<'a>,
    }
}

impl CreateSessionArgs<'_> {
    /// `CREATE_SESSION4_FLAG_PERSIST`, `…_CONN_BACK_CHAN` and `…_CONN_RDMA`: the bits that calls may have.
    pub const ALLOWED: u32 = 7;
}

xdr_struct! {
    /// CREATE_SESSION's result.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    CreateSessionOk {
        /// The session.
        session: SessionId,
        /// As in the call.
        sequence: u32,
        /// Bits.
        flags: u32,
        /// Limits of our calls.
        fore: ChannelAttributes,
        /// Limits of callbacks.
        back: ChannelAttributes,
    }
}

xdr_struct! {
    /// BIND_CONN_TO_SESSION.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    BindArgs {
        /// The session.
        session: SessionId,
        /// [`BindArgs::FORE`].
        direction: u32,
        /// Use RDMA.
        rdma: bool,
    }
}

impl BindArgs {
    /// `CDFC4_FORE`: the connection carries calls only, no callbacks.
    pub const FORE: u32 = 1;
    /// `CDFC4_FORE_OR_BOTH`: calls, and callbacks where the server wants them.
    pub const FORE_OR_BOTH: u32 = 3;
    /// `CDFC4_BACK_OR_BOTH`: callbacks, and calls where the server wants them.
    pub const BACK_OR_BOTH: u32 = 7;
}

xdr_struct! {
    /// BIND_CONN_TO_SESSION's result.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    BindOk {
        /// The session.
        session: SessionId,
        /// Directions granted.
        direction: u32,
        /// RDMA is used.
        rdma: bool,
    }
}

xdr_struct! {
    /// SEQUENCE.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    SequenceArgs {
        /// The session.
        session: SessionId,
        /// One more than that of the slot's last request; the same for a retransmission.
        sequence: u32,
        /// The slot.
        slot: u32,
        /// The highest slot in use.
        highest_slot: u32,
        /// Keep the reply for a retransmission.
        cache: bool,
    }
}

xdr_struct! {
    /// SEQUENCE's result.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    SequenceOk {
        /// As in the call.
        session: SessionId,
        /// As in the call.
        sequence: u32,
        /// As in the call.
        slot: u32,
        /// The highest slot that the server accepts.
        highest_slot: u32,
        /// The highest slot that the server would like the client to use.
        target_highest_slot: u32,
        /// Bits about lost or revoked state.
        flags: u32,
    }
}
