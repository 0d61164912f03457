//! Lists of states (RFC 8881 section 18.48), read in place.

use super::Nfs4Status;
use super::types::StateId;
use crate::xdr::{Decode, DecodeError, Encode, Reader};

/// Most states of one TEST_STATEID.
pub const STATES_MAX: usize = 256;
/// Bytes of a state.
const STATE_BYTES: usize = 16;
/// Bytes of a status.
const STATUS_BYTES: usize = 4;

macro_rules! list_in_place {
    ($(#[$meta:meta])* $name:ident, $what:literal, $item:ty, $bytes:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name<'a>(&'a [u8]);

        impl<'a> $name<'a> {
            /// The list of these encoded items; `None` if there are too many, or the last is incomplete.
            pub fn new(encoded: &'a [u8]) -> Option<Self> {
                let fits = encoded.len() <= STATES_MAX * $bytes && encoded.len().is_multiple_of($bytes);
                fits.then_some(Self(encoded))
            }

            /// The items.
            pub fn iter(self) -> impl Iterator<Item = $item> + 'a {
                self.0.chunks_exact($bytes).filter_map(|item| crate::xdr::decode_all(item).ok())
            }
        }

        impl Encode for $name<'_> {
            fn encode(&self, out: &mut Vec<u8>) {
                ((self.0.len() / $bytes) as u32).encode(out);
                out.extend_from_slice(self.0);
            }
        }

        impl<'a> Decode<'a> for $name<'a> {
            fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
                let count = from.length($what, STATES_MAX)?;
                Ok(Self(from.take(count * $bytes)?))
            }
        }
    };
}

list_in_place! {
    /// TEST_STATEID: states that the client has.
    StateIds, "states", StateId, STATE_BYTES
}
list_in_place! {
    /// TEST_STATEID's result: the status of each.
    StateStatuses, "statuses of states", Nfs4Status, STATUS_BYTES
}
