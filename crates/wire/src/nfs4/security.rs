//! Which security a file requires (RFC 8881 sections 18.29 and 18.45).

use crate::rpc::{AUTH_NONE, AUTH_SYS};
use crate::xdr::{Decode, DecodeError, Encode, Reader, xdr_enum};

xdr_enum! {
    /// Whose security SECINFO_NO_NAME asks for (`secinfo_style4`).
    SecurityOf {
        /// That of the current file.
        Current = 0,
        /// That of its directory.
        Parent = 1,
    }
}

/// The accepted flavors (`SECINFO4resok`), those without parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flavors {
    /// `AUTH_NONE` is accepted.
    pub none: bool,
    /// `AUTH_SYS` is accepted.
    pub sys: bool,
}

impl Encode for Flavors {
    fn encode(&self, out: &mut Vec<u8>) {
        (u32::from(self.sys) + u32::from(self.none)).encode(out);
        if self.sys {
            AUTH_SYS.encode(out);
        }
        if self.none {
            AUTH_NONE.encode(out);
        }
    }
}

impl Decode<'_> for Flavors {
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut found = Self { none: false, sys: false };
        for _ in 0..from.length("security flavors", 2)? {
            match from.u32()? {
                AUTH_SYS if !found.sys && !found.none => found.sys = true,
                AUTH_NONE if !found.none => found.none = true,
                value => return Err(DecodeError::BadDiscriminant { what: "security flavor", value }),
            }
        }
        Ok(found)
    }
}
