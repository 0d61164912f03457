//! Macros that derive a type's XDR form in both directions from one list of fields.

/// Declares structures whose XDR form is the sequence of their fields (RFC 4506 section 4.14).
macro_rules! xdr_struct {
    (@encoded $(#[$meta:meta])* $name:ident { $($(#[$fmeta:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        pub struct $name { $($(#[$fmeta])* pub $field: $type,)* }

        impl $crate::xdr::Encode for $name {
            #[inline]
            fn encode(&self, out: &mut Vec<u8>) { $($crate::xdr::Encode::encode(&self.$field, out);)* }
        }
    };
    ($(#[$meta:meta])* $name:ident { $($(#[$fmeta:meta])* $field:ident: $type:ty,)* }) => {
        $crate::xdr::xdr_struct!(@encoded $(#[$meta])* $name { $($(#[$fmeta])* $field: $type,)* });

        impl<'a> $crate::xdr::Decode<'a> for $name {
            #[inline]
            fn decode(from: &mut $crate::xdr::Reader<'a>) -> Result<Self, $crate::xdr::DecodeError> {
                Ok(Self { $($field: $crate::xdr::Decode::decode(from)?,)* })
            }
        }
    };
    // Of a fixed size: its length is checked once, and fields that nobody looks at cost nothing.
    ($(#[$meta:meta])* $name:ident[$bytes:literal] { $($(#[$fmeta:meta])* $field:ident: $type:ty,)* }) => {
        $crate::xdr::xdr_struct!(@encoded $(#[$meta])* $name { $($(#[$fmeta])* $field: $type,)* });

        impl $name {
            /// Its size on the wire.
            pub const ENCODED_BYTES: usize = $bytes;
        }

        impl<'a> $crate::xdr::Decode<'a> for $name {
            #[inline(always)]
            fn decode(from: &mut $crate::xdr::Reader<'a>) -> Result<Self, $crate::xdr::DecodeError> {
                let from = &mut $crate::xdr::Reader::new(from.array::<$bytes>()?);
                Ok(Self { $($field: $crate::xdr::Decode::decode(from)?,)* })
            }
        }
    };
    ($(#[$meta:meta])* $name:ident<'a> { $($(#[$fmeta:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        pub struct $name<'a> { $($(#[$fmeta])* pub $field: $type,)* }

        impl $crate::xdr::Encode for $name<'_> {
            #[inline]
            fn encode(&self, out: &mut Vec<u8>) { $($crate::xdr::Encode::encode(&self.$field, out);)* }
        }

        impl<'a> $crate::xdr::Decode<'a> for $name<'a> {
            #[inline]
            fn decode(from: &mut $crate::xdr::Reader<'a>) -> Result<Self, $crate::xdr::DecodeError> {
                Ok(Self { $($field: $crate::xdr::Decode::decode(from)?,)* })
            }
        }
    };
}

/// Declares closed enumerations (RFC 4506 section 4.3): other values are an error.
macro_rules! xdr_enum {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $value:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u32)]
        pub enum $name { $($(#[$vmeta])* $variant = $value,)* }

        impl $name {
            /// Every value.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The variant for a number on the wire.
            ///
            /// # Errors
            /// [`DecodeError::BadDiscriminant`](crate::xdr::DecodeError::BadDiscriminant).
            #[inline]
            pub const fn from_wire(value: u32) -> Result<Self, $crate::xdr::DecodeError> {
                match value {
                    $($value => Ok($name::$variant),)*
                    value => Err($crate::xdr::DecodeError::BadDiscriminant { what: stringify!($name), value }),
                }
            }
        }

        impl $crate::xdr::Encode for $name {
            #[inline]
            fn encode(&self, out: &mut Vec<u8>) { $crate::xdr::Encode::encode(&(*self as u32), out); }
        }

        impl $crate::xdr::Decode<'_> for $name {
            #[inline]
            fn decode(from: &mut $crate::xdr::Reader<'_>) -> Result<Self, $crate::xdr::DecodeError> {
                Self::from_wire(from.u32()?)
            }
        }
    };
}

/// Declares length-limited byte strings, borrowed from the message.
macro_rules! xdr_bytes {
    ($(#[$meta:meta])* $name:ident, $what:literal, $limit:expr) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name<'a>(pub &'a [u8]);

        impl $name<'_> {
            /// Maximum accepted length, in bytes.
            pub const LIMIT: usize = $limit;
        }

        impl std::fmt::Debug for $name<'_> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "\"{}\"", self.0.escape_ascii())
            }
        }

        impl $crate::xdr::Encode for $name<'_> {
            #[inline]
            fn encode(&self, out: &mut Vec<u8>) { $crate::xdr::put_opaque(out, self.0); }
        }

        impl<'a> $crate::xdr::Decode<'a> for $name<'a> {
            #[inline]
            fn decode(from: &mut $crate::xdr::Reader<'a>) -> Result<Self, $crate::xdr::DecodeError> {
                Ok(Self(from.opaque($what, $limit)?))
            }
        }
    };
}

pub(crate) use {xdr_bytes, xdr_enum, xdr_struct};
