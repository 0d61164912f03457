//! Credentials and verifiers (RFC 5531 section 8.2 and appendix A).

use crate::xdr::{Decode, DecodeError, Encode, Reader, put_opaque, xdr_bytes};

/// The flavor without content.
pub const AUTH_NONE: u32 = 0;
/// The flavor with a machine name, a user and its groups, also called `AUTH_UNIX`.
pub const AUTH_SYS: u32 = 1;

/// Maximum body length of a credential or verifier, in bytes.
const BODY_LIMIT: usize = 400;

/// A credential or a verifier: a flavor and a body in that flavor's own format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Auth<'a> {
    /// [`AUTH_NONE`], [`AUTH_SYS`] or another.
    pub flavor: u32,
    /// At most 400 bytes.
    pub body: &'a [u8],
}

impl Auth<'_> {
    /// Anonymous; also the verifier that goes with [`AUTH_SYS`].
    pub const NONE: Auth<'static> = Auth { flavor: AUTH_NONE, body: &[] };
}

impl Encode for Auth<'_> {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        self.flavor.encode(out);
        put_opaque(out, self.body);
    }
}

impl<'a> Decode<'a> for Auth<'a> {
    #[inline]
    fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self { flavor: from.u32()?, body: from.opaque("authentication body", BODY_LIMIT)? })
    }
}

xdr_bytes!(
    /// The caller's name in [`AuthSys`].
    MachineName,
    "machine name",
    255
);

/// The supplementary groups of an [`AuthSys`] credential: at most 16.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gids {
    len: u8,
    ids: [u32; Gids::LIMIT],
}

impl Gids {
    /// Maximum number of groups in this flavor.
    pub const LIMIT: usize = 16;

    /// The first 16 of `ids`.
    pub fn new(ids: &[u32]) -> Self {
        let mut gids = Self::default();
        for (to, from) in gids.ids.iter_mut().zip(ids) {
            *to = *from;
            gids.len += 1;
        }
        gids
    }

    /// The groups.
    pub fn as_slice(&self) -> &[u32] {
        &self.ids[..usize::from(self.len)]
    }
}

impl Encode for Gids {
    fn encode(&self, out: &mut Vec<u8>) {
        u32::from(self.len).encode(out);
        for id in self.as_slice() {
            id.encode(out);
        }
    }
}

impl Decode<'_> for Gids {
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let len = from.length("group list", Self::LIMIT)?;
        let mut gids = Self { len: len as u8, ..Self::default() };
        for id in &mut gids.ids[..len] {
            *id = from.u32()?;
        }
        Ok(gids)
    }
}

/// The body of an [`AUTH_SYS`] credential (RFC 5531 appendix A).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthSys<'a> {
    /// An arbitrary number chosen by the caller.
    pub stamp: u32,
    /// The caller's machine name.
    pub machine: &'a [u8],
    /// Effective user id.
    pub uid: u32,
    /// Effective group id.
    pub gid: u32,
    /// Supplementary group ids.
    pub gids: Gids,
}

impl Encode for AuthSys<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        self.stamp.encode(out);
        MachineName(&self.machine[..self.machine.len().min(MachineName::LIMIT)]).encode(out);
        self.uid.encode(out);
        self.gid.encode(out);
        self.gids.encode(out);
    }
}

impl<'a> Decode<'a> for AuthSys<'a> {
    fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            stamp: from.u32()?,
            machine: MachineName::decode(from)?.0,
            uid: from.u32()?,
            gid: from.u32()?,
            gids: Gids::decode(from)?,
        })
    }
}
