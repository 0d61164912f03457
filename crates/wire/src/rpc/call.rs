//! The header of a call (RFC 5531 section 9).

use super::{Auth, RPC_VERSION};
use crate::xdr::{Decode, DecodeError, Encode, Reader};

const CALL: u32 = 0;

/// The header of a call; the procedure's arguments follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallHeader<'a> {
    /// Transaction number, chosen by the caller and repeated in the reply.
    pub xid: u32,
    /// The RPC version: [`RPC_VERSION`]; to any other the server answers
    /// [`ReplyBody::RpcMismatch`](super::ReplyBody::RpcMismatch).
    pub rpc_version: u32,
    /// The program to call.
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// The procedure.
    pub procedure: u32,
    /// The caller's credential.
    pub credential: Auth<'a>,
    /// Proof of the credential; [`Auth::NONE`] with `AUTH_SYS`.
    pub verifier: Auth<'a>,
}

impl<'a> CallHeader<'a> {
    /// A call with our RPC version and no verifier.
    pub const fn new(xid: u32, program: u32, version: u32, procedure: u32, credential: Auth<'a>) -> Self {
        Self { xid, rpc_version: RPC_VERSION, program, version, procedure, credential, verifier: Auth::NONE }
    }
}

impl Encode for CallHeader<'_> {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        for word in [self.xid, CALL, self.rpc_version, self.program, self.version, self.procedure] {
            word.encode(out);
        }
        self.credential.encode(out);
        self.verifier.encode(out);
    }
}

impl<'a> Decode<'a> for CallHeader<'a> {
    fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let xid = from.u32()?;
        match from.u32()? {
            CALL => {}
            value => {
                return Err(DecodeError::BadDiscriminant { what: "call direction", value });
            }
        }
        Ok(Self {
            xid,
            rpc_version: from.u32()?,
            program: from.u32()?,
            version: from.u32()?,
            procedure: from.u32()?,
            credential: Auth::decode(from)?,
            verifier: Auth::decode(from)?,
        })
    }
}
