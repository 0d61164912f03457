//! OPEN and CLOSE (RFC 8881 sections 18.2 and 18.16).

use super::attributes::Fattr;
use super::types::{Bitmap, ChangeInfo, ClientOwner, Owner, StateId};
use crate::nfs3::Name;
use crate::xdr::{Decode, DecodeError, Encode, Reader, xdr_struct};

xdr_struct! {
    /// OPEN.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    OpenArgs<'a> {
        /// Unused in this minor version: 0.
        sequence: u32,
        /// Wanted access, see [`OpenArgs::READ`] and its siblings.
        access: u32,
        /// Access denied to others.
        deny: u32,
        /// Unused with sessions: 0.
        client: u64,
        /// Name of the owner of the open.
        owner: ClientOwner<'a>,
        /// Whether the file is created.
        how: OpenHow<'a>,
        /// Which file.
        claim: Claim<'a>,
    }
}

impl OpenArgs<'_> {
    /// `OPEN4_SHARE_ACCESS_READ`.
    pub const READ: u32 = 1;
    /// `OPEN4_SHARE_ACCESS_WRITE`.
    pub const WRITE: u32 = 2;
    /// The bits that say what is opened, or denied to others: the rest are wishes about delegations.
    pub const SHARES: u32 = 3;
    /// `OPEN4_SHARE_ACCESS_WANT_NO_DELEG`: no delegation.
    pub const NO_DELEGATION: u32 = 0x0400;
}

/// Whether OPEN creates the file (`openflag4`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenHow<'a> {
    /// It must exist.
    Existing,
    /// It is created.
    Create(OpenCreate<'a>),
}

/// What a creating OPEN does if the name exists (`createhow4`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenCreate<'a> {
    /// `UNCHECKED4`: uses the existing file.
    Unchecked(Fattr<'a>),
    /// `GUARDED4`: fails with `NFS4ERR_EXIST`.
    Guarded(Fattr<'a>),
    /// `EXCLUSIVE4`: fails unless the existing file was created with this verifier.
    Exclusive([u8; 8]),
    /// `EXCLUSIVE4_1`: the same, with attributes.
    ExclusiveWith([u8; 8], Fattr<'a>),
}

impl Encode for OpenHow<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        let Self::Create(how) = self else { return 0u32.encode(out) };
        1u32.encode(out);
        match how {
            OpenCreate::Unchecked(attributes) => {
                0u32.encode(out);
                attributes.encode(out);
            }
            OpenCreate::Guarded(attributes) => {
                1u32.encode(out);
                attributes.encode(out);
            }
            OpenCreate::Exclusive(verifier) => {
                2u32.encode(out);
                verifier.encode(out);
            }
            OpenCreate::ExclusiveWith(verifier, attributes) => {
                3u32.encode(out);
                verifier.encode(out);
                attributes.encode(out);
            }
        }
    }
}

impl<'a> Decode<'a> for OpenHow<'a> {
    fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
        match from.u32()? {
            0 => return Ok(Self::Existing),
            1 => {}
            value => return Err(DecodeError::BadDiscriminant { what: "opentype4", value }),
        }
        Ok(Self::Create(match from.u32()? {
            0 => OpenCreate::Unchecked(Fattr::decode(from)?),
            1 => OpenCreate::Guarded(Fattr::decode(from)?),
            2 => OpenCreate::Exclusive(<[u8; 8]>::decode(from)?),
            3 => OpenCreate::ExclusiveWith(<[u8; 8]>::decode(from)?, Fattr::decode(from)?),
            value => return Err(DecodeError::BadDiscriminant { what: "createmode4", value }),
        }))
    }
}

/// Which file OPEN opens (`open_claim4`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim<'a> {
    /// `CLAIM_NULL`: a name in the current directory.
    Name(Name<'a>),
    /// `CLAIM_FH`: the current file.
    Current,
}

impl Encode for Claim<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Name(name) => {
                0u32.encode(out);
                name.encode(out);
            }
            Self::Current => 4u32.encode(out),
        }
    }
}

impl<'a> Decode<'a> for Claim<'a> {
    fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
        match from.u32()? {
            0 => Ok(Self::Name(Name::decode(from)?)),
            4 => Ok(Self::Current),
            value => Err(DecodeError::BadDiscriminant { what: "open_claim_type4", value }),
        }
    }
}

xdr_struct! {
    /// OPEN's result.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    OpenOk<'a> {
        /// The open.
        state: StateId,
        /// The directory's change.
        directory: ChangeInfo,
        /// Bits.
        flags: u32,
        /// Attributes4 that were set.
        set: Bitmap,
        /// A delegation, or why there is none.
        delegation: Delegation<'a>,
    }
}

/// A delegation (`open_delegation4`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delegation<'a> {
    /// None.
    None,
    /// For reading: its state, whether it is already recalled, and who may read.
    Read(StateId, bool, Ace<'a>),
    /// For writing: also how much may be written before it is returned.
    Write(StateId, bool, SpaceLimit, Ace<'a>),
    /// None, for this reason (`why_no_delegation4`); for a conflict (1) or lack of resources (2) also whether the server
    /// will signal the end of it.
    Refused(u32, bool),
}

impl Delegation<'_> {
    /// Reasons with a promise.
    fn promises(reason: u32) -> bool {
        matches!(reason, 1 | 2)
    }
}

/// An entry of an access control list (`nfsace4`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ace<'a> {
    /// Type, flags and mask.
    pub words: [u32; 3],
    /// Whom it concerns.
    pub who: Owner<'a>,
}

impl Encode for Ace<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        self.words.iter().for_each(|word| word.encode(out));
        self.who.encode(out);
    }
}

impl<'a> Decode<'a> for Ace<'a> {
    fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self { words: [from.u32()?, from.u32()?, from.u32()?], who: Owner::decode(from)? })
    }
}

/// How much a client with a delegation may write (`nfs_space_limit4`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpaceLimit {
    /// Up to this size of the file.
    Size(u64),
    /// This many blocks of this many bytes.
    Blocks(u32, u32),
}

impl Encode for SpaceLimit {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Size(bytes) => {
                1u32.encode(out);
                bytes.encode(out);
            }
            Self::Blocks(count, bytes) => [2, *count, *bytes].iter().for_each(|word: &u32| word.encode(out)),
        }
    }
}

impl Decode<'_> for SpaceLimit {
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match from.u32()? {
            1 => Ok(Self::Size(from.u64()?)),
            2 => Ok(Self::Blocks(from.u32()?, from.u32()?)),
            value => Err(DecodeError::BadDiscriminant { what: "limit_by4", value }),
        }
    }
}

impl Encode for Delegation<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::None => 0u32.encode(out),
            Self::Read(state, recalled, who) => {
                1u32.encode(out);
                state.encode(out);
                recalled.encode(out);
                who.encode(out);
            }
            Self::Write(state, recalled, limit, who) => {
                2u32.encode(out);
                state.encode(out);
                recalled.encode(out);
                limit.encode(out);
                who.encode(out);
            }
            Self::Refused(reason, promise) => {
                3u32.encode(out);
                reason.encode(out);
                if Self::promises(*reason) {
                    promise.encode(out);
                }
            }
        }
    }
}

impl<'a> Decode<'a> for Delegation<'a> {
    fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(match from.u32()? {
            0 => Self::None,
            1 => Self::Read(StateId::decode(from)?, from.bool()?, Ace::decode(from)?),
            2 => Self::Write(
                StateId::decode(from)?,
                from.bool()?,
                SpaceLimit::decode(from)?,
                Ace::decode(from)?,
            ),
            3 => {
                let reason = from.u32()?;
                Self::Refused(reason, if Self::promises(reason) { from.bool()? } else { false })
            }
            value => return Err(DecodeError::BadDiscriminant { what: "open_delegation_type4", value }),
        })
    }
}

xdr_struct! {
    /// CLOSE.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    CloseArgs {
        /// Unused in this minor version: 0.
        sequence: u32,
        /// The open.
        state: StateId,
    }
}
