//! Fields of headers: where each lies, once for both directions.

use super::Header;

/// A field of a header.
pub trait Field {
    /// Its value.
    type Value;

    /// Writes it.
    fn put(header: &mut Header, value: Self::Value);
    /// Reads it.
    fn get(header: &Header) -> Self::Value;
}

/// A bit of a byte.
pub struct Flag<const AT: usize, const MASK: u8>;

impl<const AT: usize, const MASK: u8> Field for Flag<AT, MASK> {
    type Value = bool;

    #[inline]
    fn put(header: &mut Header, value: bool) {
        header[AT] = (header[AT] & !MASK) | if value { MASK } else { 0 };
    }

    #[inline]
    fn get(header: &Header) -> bool {
        header[AT] & MASK != 0
    }
}

/// Some bits of a byte, from bit `SHIFT` on.
pub struct Bits<const AT: usize, const SHIFT: u8, const MASK: u8>;

impl<const AT: usize, const SHIFT: u8, const MASK: u8> Field for Bits<AT, SHIFT, MASK> {
    type Value = u8;

    #[inline]
    fn put(header: &mut Header, value: u8) {
        header[AT] = (header[AT] & !(MASK << SHIFT)) | (value & MASK) << SHIFT;
    }

    #[inline]
    fn get(header: &Header) -> u8 {
        header[AT] >> SHIFT & MASK
    }
}

/// The length of the data segment: 24 bits.
pub struct Length;

impl Field for Length {
    type Value = u32;

    #[inline]
    fn put(header: &mut Header, value: u32) {
        header[5..8].copy_from_slice(&value.to_be_bytes()[1..]);
    }

    #[inline]
    fn get(header: &Header) -> u32 {
        super::data_bytes(header) as u32
    }
}

macro_rules! integer {
    ($(#[$doc:meta])* $name:ident: $type:ty) => {
        $(#[$doc])*
        pub struct $name<const AT: usize>;

        impl<const AT: usize> Field for $name<AT> {
            type Value = $type;

            #[inline]
            fn put(header: &mut Header, value: $type) {
                header[AT..AT + size_of::<$type>()].copy_from_slice(&value.to_be_bytes());
            }

            #[inline]
            fn get(header: &Header) -> $type {
                let mut bytes = [0; size_of::<$type>()];
                bytes.copy_from_slice(&header[AT..AT + size_of::<$type>()]);
                <$type>::from_be_bytes(bytes)
            }
        }
    };
}

integer! {
    /// A byte.
    Byte: u8
}
integer! {
    /// 16 bits.
    Half: u16
}
integer! {
    /// 32 bits.
    Word: u32
}
integer! {
    /// 64 bits.
    Long: u64
}

/// Bytes as they are.
pub struct Bytes<const AT: usize, const LEN: usize>;

impl<const AT: usize, const LEN: usize> Field for Bytes<AT, LEN> {
    type Value = [u8; LEN];

    #[inline]
    fn put(header: &mut Header, value: [u8; LEN]) {
        header[AT..AT + LEN].copy_from_slice(&value);
    }

    #[inline]
    fn get(header: &Header) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        bytes.copy_from_slice(&header[AT..AT + LEN]);
        bytes
    }
}

/// Defines headers as values, and the enum of those that one side sends.
macro_rules! headers {
    (
        $(#[$enum_doc:meta])*
        $all:ident {
            $(
                $(#[$doc:meta])*
                $variant:ident: $name:ident = $opcode:literal, fixed $fixed:literal {
                    $($(#[$field_doc:meta])* $field:ident: $kind:ty,)*
                }
            )*
        }
    ) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
            pub struct $name {
                $($(#[$field_doc])* pub $field: <$kind as Field>::Value,)*
            }

            impl $name {
                /// Its opcode.
                pub const OPCODE: u8 = $opcode;

                /// The header.
                #[inline]
                pub fn encode(&self) -> Header {
                    let mut header = [0; HEADER_BYTES];
                    header[0] = $opcode;
                    header[1] = $fixed;
                    $(<$kind as Field>::put(&mut header, self.$field);)*
                    header
                }

                /// Reads a header that has this opcode.
                #[inline]
                pub fn decode(header: &Header) -> Self {
                    Self { $($field: <$kind as Field>::get(header),)* }
                }
            }
        )*

        $(#[$enum_doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $all {
            $($(#[$doc])* $variant($name),)*
        }

        impl $all {
            /// Reads a header.
            ///
            /// # Errors
            /// Its opcode is none that this side receives.
            #[inline]
            pub fn decode(header: &Header) -> Result<Self, UnknownOpcode> {
                match header[0] & 0x3f {
                    $($opcode => Ok(Self::$variant($name::decode(header))),)*
                    other => Err(UnknownOpcode(other)),
                }
            }

            /// The header.
            pub fn encode(&self) -> Header {
                match self {
                    $(Self::$variant(value) => value.encode(),)*
                }
            }
        }
    };
}

pub(super) use headers;
