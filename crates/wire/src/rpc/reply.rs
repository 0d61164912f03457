//! The header of a reply (RFC 5531 section 9).

use super::Auth;
use crate::xdr::{Decode, DecodeError, Encode, Reader, xdr_enum};

const REPLY: u32 = 1;
const MSG_ACCEPTED: u32 = 0;
const MSG_DENIED: u32 = 1;
const RPC_MISMATCH: u32 = 0;
const AUTH_ERROR: u32 = 1;
/// The rest of almost every reply's header: a reply, accepted, `AUTH_NONE` without a body, success.
const SUCCESS: [u8; 20] = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Outcome of a call that the server accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcceptStatus {
    /// It was executed; the procedure's results follow.
    Success,
    /// The program is not served here.
    ProgramUnavailable,
    /// The program is served, but not in this version.
    ProgramMismatch {
        /// Lowest version served.
        low: u32,
        /// Highest version served.
        high: u32,
    },
    /// The program has no such procedure.
    ProcedureUnavailable,
    /// The server could not decode the arguments.
    GarbageArguments,
    /// Internal server error, for example out of memory.
    SystemError,
}

xdr_enum! {
    /// Why a credential was rejected (`auth_stat`).
    AuthStatus {
        /// Not rejected; never seen in a denial.
        Ok = 0,
        /// The credential is malformed.
        BadCredential = 1,
        /// The client must begin a new session.
        RejectedCredential = 2,
        /// The verifier is malformed.
        BadVerifier = 3,
        /// The verifier expired or was replayed.
        RejectedVerifier = 4,
        /// The flavor is too weak, or the source port is not a reserved one.
        TooWeak = 5,
        /// The server's own verifier was not valid.
        InvalidResponse = 6,
        /// Any other reason.
        Failed = 7,
        /// Kerberos: generic error.
        KerberosGeneric = 8,
        /// Kerberos: the credential expired.
        TimeExpired = 9,
        /// Kerberos: problem with the ticket file.
        TicketFile = 10,
        /// Kerberos: the authenticator cannot be decoded.
        Decode = 11,
        /// Kerberos: the address in the ticket is wrong.
        NetAddress = 12,
        /// GSS: no credential for the user.
        GssCredentialProblem = 13,
        /// GSS: problem with the context.
        GssContextProblem = 14,
    }
}

/// Accepted or denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyBody<'a> {
    /// The credential was accepted.
    Accepted {
        /// The server's own verifier.
        verifier: Auth<'a>,
        /// Outcome of the call.
        status: AcceptStatus,
    },
    /// The server supports other RPC versions only.
    RpcMismatch {
        /// Lowest version supported.
        low: u32,
        /// Highest version supported.
        high: u32,
    },
    /// The credential was rejected.
    AuthError(AuthStatus),
}

/// The header of a reply; the procedure's results follow [`AcceptStatus::Success`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyHeader<'a> {
    /// The call's transaction number.
    pub xid: u32,
    /// The server's answer.
    pub body: ReplyBody<'a>,
}

impl ReplyHeader<'_> {
    /// The reply to a successful call.
    pub const fn success(xid: u32) -> ReplyHeader<'static> {
        Self::accepted(xid, AcceptStatus::Success)
    }

    /// The reply to a call whose credential was accepted.
    pub const fn accepted(xid: u32, status: AcceptStatus) -> ReplyHeader<'static> {
        ReplyHeader { xid, body: ReplyBody::Accepted { verifier: Auth::NONE, status } }
    }
}

impl Encode for AcceptStatus {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        let number: u32 = match self {
            Self::Success => 0,
            Self::ProgramUnavailable => 1,
            Self::ProgramMismatch { .. } => 2,
            Self::ProcedureUnavailable => 3,
            Self::GarbageArguments => 4,
            Self::SystemError => 5,
        };
        number.encode(out);
        if let Self::ProgramMismatch { low, high } = self {
            low.encode(out);
            high.encode(out);
        }
    }
}

impl Decode<'_> for AcceptStatus {
    #[inline]
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match from.u32()? {
            0 => Self::Success,
            1 => Self::ProgramUnavailable,
            2 => Self::ProgramMismatch { low: from.u32()?, high: from.u32()? },
            3 => Self::ProcedureUnavailable,
            4 => Self::GarbageArguments,
            5 => Self::SystemError,
            value => {
                return Err(DecodeError::BadDiscriminant { what: "accept status", value });
            }
        })
    }
}

impl Encode for ReplyHeader<'_> {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        self.xid.encode(out);
        REPLY.encode(out);
        match &self.body {
            ReplyBody::Accepted { verifier, status } => {
                MSG_ACCEPTED.encode(out);
                verifier.encode(out);
                status.encode(out);
            }
            ReplyBody::RpcMismatch { low, high } => {
                for word in [MSG_DENIED, RPC_MISMATCH, *low, *high] {
                    word.encode(out);
                }
            }
            ReplyBody::AuthError(status) => {
                MSG_DENIED.encode(out);
                AUTH_ERROR.encode(out);
                status.encode(out);
            }
        }
    }
}

impl<'a> Decode<'a> for ReplyHeader<'a> {
    // Inlined because it runs once per reply.
    #[inline(always)]
    fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let xid = from.u32()?;
        if from.rest().starts_with(&SUCCESS) {
            from.array::<{ SUCCESS.len() }>()?;
            return Ok(Self::success(xid));
        }
        match from.u32()? {
            REPLY => {}
            value => {
                return Err(DecodeError::BadDiscriminant { what: "reply direction", value });
            }
        }
        let body = match from.u32()? {
            MSG_ACCEPTED => {
                ReplyBody::Accepted { verifier: Auth::decode(from)?, status: AcceptStatus::decode(from)? }
            }
            MSG_DENIED => match from.u32()? {
                RPC_MISMATCH => ReplyBody::RpcMismatch { low: from.u32()?, high: from.u32()? },
                AUTH_ERROR => ReplyBody::AuthError(AuthStatus::decode(from)?),
                value => {
                    return Err(DecodeError::BadDiscriminant { what: "reject status", value });
                }
            },
            value => {
                return Err(DecodeError::BadDiscriminant { what: "reply status", value });
            }
        };
        Ok(Self { xid, body })
    }
}
