//! The portmapper, version 2 (RFC 1833 section 3), and the part of its successor, version 4 (section 2), that IPv6
//! needs: which port a program listens on.

use crate::xdr::{Decode, DecodeError, Encode, Reader, put_list, read_list, xdr_bytes, xdr_struct};

/// Program number.
pub const PROGRAM: u32 = 100_000;
/// Version implemented here.
pub const VERSION: u32 = 2;
/// Its well-known port, TCP and UDP.
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
/// Look up a port: [`Mapping`] (port ignored) to a `u32`, 0 if not registered.
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
    /// Maximum number of mappings accepted.
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

/// The version that supports non-IPv4 addresses.
pub const VERSION_4: u32 = 4;
/// Look up an address, version 4: [`Binding`] to [`UniversalAddress`], empty if not registered.
pub const PROC_GETADDR: u32 = 3;
/// The network for TCP over IPv6 in a [`Binding`].
pub const NETWORK_TCP6: &[u8] = b"tcp6";

xdr_bytes!(
    /// The name of a network (`r_netid`) or of an owner.
    Label,
    "network or owner",
    128
);
xdr_bytes!(
    /// An address with its port as text (RFC 5665): the port is the last two numbers.
    UniversalAddress,
    "universal address",
    128
);

impl UniversalAddress<'_> {
    /// The port; `None` if there is none, as in the answer for an unregistered program.
    pub fn port(&self) -> Option<u16> {
        let text = std::str::from_utf8(self.0).ok()?;
        let mut parts = text.rsplitn(3, '.');
        let (low, high): (u8, u8) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        parts.next()?;
        Some(u16::from_be_bytes([high, low]))
    }
}

xdr_struct! {
    /// A program on an address (`rpcb`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    Binding<'a> {
        /// Program number.
        program: u32,
        /// Its version.
        version: u32,
        /// The network, such as [`NETWORK_TCP6`].
        network: Label<'a>,
        /// The address; in a look-up ignored or only a hint.
        address: UniversalAddress<'a>,
        /// The owner that registered it; ignored in a look-up.
        owner: Label<'a>,
    }
}
