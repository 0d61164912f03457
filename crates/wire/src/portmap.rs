//! The portmapper, version 2 (RFC 1833 section 3): which port a program listens on.

use crate::xdr::{Decode, DecodeError, Encode, Reader, put_list, read_list, xdr_struct};

/// Program number.
pub const PROGRAM: u32 = 100_000;
/// Version implemented here.
pub const VERSION: u32 = 2;
/// The port it listens on, TCP and UDP.
pub const PORT: u16 = 111;
/// The protocol number of TCP in a [`Mapping`].
pub const PROTOCOL_TCP: u32 = 6;
/// The protocol number of UDP in a [`Mapping`].
pub const PROTOCOL_UDP: u32 = 17;

/// Do nothing.
pub const PROC_NULL: u32 = 0;
/// Register a mapping: [`Mapping`] to `bool`.
pub const PROC_SET: u32 = 1;
/// Remove a mapping: [`Mapping`] to `bool`.
pub const PROC_UNSET: u32 = 2;
/// Look a port up: [`Mapping`] (port ignored) to a `u32`, 0 when not registered.
pub const PROC_GETPORT: u32 = 3;
/// List everything: nothing to [`Dump`].
pub const PROC_DUMP: u32 = 4;

xdr_struct! {
    /// A program on a port.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    Mapping {
        /// Program number.
        program: u32,
        /// Its version.
        version: u32,
        /// [`PROTOCOL_TCP`] or [`PROTOCOL_UDP`].
        protocol: u32,
        /// The port, as a 32-bit number on the wire.
        port: u32,
    }
}

/// All mappings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dump(pub Vec<Mapping>);

impl Dump {
    /// The most mappings that are accepted.
    pub const LIMIT: usize = 1024;
}

impl Encode for Dump {
    fn encode(&self, out: &mut Vec<u8>) {
        put_list(out, &self.0);
    }
}

impl Decode<'_> for Dump {
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self(read_list(from, "mapping list", Self::LIMIT)?))
    }
}
