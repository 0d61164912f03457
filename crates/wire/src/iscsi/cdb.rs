//! Command descriptor blocks (SPC-5, 6; SBC-4, 5).

/// A command descriptor block: 16 bytes, of which shorter commands use the first.
pub type Cdb = [u8; 16];

/// A SCSI command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScsiRequest {
    /// Is the unit ready?
    TestUnitReady,
    /// The standard data, or a page of vital product data; at most this many bytes.
    Inquiry {
        /// The page.
        page: Option<u8>,
        /// Bytes that the initiator takes.
        bytes: u16,
    },
    /// The number and size of blocks.
    ReadCapacity16 {
        /// Bytes that the initiator takes.
        bytes: u32,
    },
    /// The logical units of the target.
    ReportLuns {
        /// Bytes that the initiator takes.
        bytes: u32,
    },
    /// Reads blocks.
    Read {
        /// The first block.
        block: u64,
        /// How many.
        blocks: u32,
    },
    /// Writes blocks.
    Write {
        /// The first block.
        block: u64,
        /// How many.
        blocks: u32,
        /// The data are on the medium when the command ends.
        durable: bool,
    },
    /// Writes one block's content to many blocks.
    WriteSame {
        /// The first block.
        block: u64,
        /// How many.
        blocks: u32,
        /// The blocks may be unmapped if they then read as that content.
        unmap: bool,
        /// The 10-byte form, where block and count fit, for units that have no other.
        ten: bool,
    },
    /// Makes written data durable.
    SynchronizeCache {
        /// The first block.
        block: u64,
        /// How many; 0: all from the first one on.
        blocks: u32,
    },
    /// Frees the ranges that the parameter data name.
    Unmap {
        /// Length of the parameter data.
        bytes: u16,
    },
}

impl ScsiRequest {
    /// Most blocks of a 10-byte command.
    pub const TEN_BLOCKS: u32 = u16::MAX as u32;
    /// Bytes of UNMAP's parameter data for one range.
    pub const UNMAP_BYTES: usize = 24;

    /// The standard's name of the command.
    pub const fn name(&self) -> &'static str {
        self.encode_with_name().1
    }

    /// The block. Reads, writes and flushes take the 10-byte form where it suffices.
    #[inline]
    pub const fn encode(&self) -> Cdb {
        self.encode_with_name().0
    }

    #[inline]
    const fn encode_with_name(&self) -> (Cdb, &'static str) {
        match *self {
            Self::TestUnitReady => ([0; 16], "TEST UNIT READY"),
            Self::Inquiry { page, bytes } => {
                let mut cdb = [0; 16];
                cdb[0] = 0x12;
                if let Some(page) = page {
                    cdb[1] = 1;
                    cdb[2] = page;
                }
                let [high, low] = bytes.to_be_bytes();
                cdb[3] = high;
                cdb[4] = low;
                (cdb, "INQUIRY")
            }
            Self::ReadCapacity16 { bytes } => {
                let mut cdb = [0; 16];
                cdb[0] = 0x9e;
                cdb[1] = 0x10;
                (with_word(cdb, 10, bytes), "READ CAPACITY(16)")
            }
            Self::ReportLuns { bytes } => {
                let mut cdb = [0; 16];
                cdb[0] = 0xa0;
                (with_word(cdb, 6, bytes), "REPORT LUNS")
            }
            Self::Read { block, blocks } => match short(block, blocks) {
                true => (ten(0x28, 0, block, blocks), "READ(10)"),
                false => (sixteen(0x88, 0, block, blocks), "READ(16)"),
            },
            Self::Write { block, blocks, durable } => {
                let flags = if durable { FUA } else { 0 };
                match short(block, blocks) {
                    true => (ten(0x2a, flags, block, blocks), "WRITE(10)"),
                    false => (sixteen(0x8a, flags, block, blocks), "WRITE(16)"),
                }
            }
            Self::WriteSame { block, blocks, unmap, ten: by_ten } => {
                let flags = if unmap { UNMAP } else { 0 };
                match by_ten && short(block, blocks) {
                    true => (ten(0x41, flags, block, blocks), "WRITE SAME(10)"),
                    false => (sixteen(0x93, flags, block, blocks), "WRITE SAME(16)"),
                }
            }
            Self::SynchronizeCache { block, blocks } => match short(block, blocks) {
                true => (ten(0x35, 0, block, blocks), "SYNCHRONIZE CACHE(10)"),
                false => (sixteen(0x91, 0, block, blocks), "SYNCHRONIZE CACHE(16)"),
            },
            Self::Unmap { bytes } => {
                let mut cdb = [0; 16];
                cdb[0] = 0x42;
                let [high, low] = bytes.to_be_bytes();
                cdb[7] = high;
                cdb[8] = low;
                (cdb, "UNMAP")
            }
        }
    }

    /// Reads a block; `None` for a command that is none of these.
    pub fn decode(cdb: &Cdb) -> Option<Self> {
        let word = |at: usize| u32::from_be_bytes([cdb[at], cdb[at + 1], cdb[at + 2], cdb[at + 3]]);
        let half = |at: usize| u16::from_be_bytes([cdb[at], cdb[at + 1]]);
        let long = || u64::from(word(2)) << 32 | u64::from(word(6));
        let (block, blocks) = match cdb[0] {
            0x28 | 0x2a | 0x35 | 0x41 => (u64::from(word(2)), u32::from(half(7))),
            _ => (long(), word(10)),
        };
        Some(match cdb[0] {
            0x00 => Self::TestUnitReady,
            0x12 => Self::Inquiry { page: (cdb[1] & 1 != 0).then_some(cdb[2]), bytes: half(3) },
            0x9e if cdb[1] & 0x1f == 0x10 => Self::ReadCapacity16 { bytes: word(10) },
            0xa0 => Self::ReportLuns { bytes: word(6) },
            0x28 | 0x88 => Self::Read { block, blocks },
            0x2a | 0x8a => Self::Write { block, blocks, durable: cdb[1] & FUA != 0 },
            code @ (0x41 | 0x93) => {
                Self::WriteSame { block, blocks, unmap: cdb[1] & UNMAP != 0, ten: code == 0x41 }
            }
            0x35 | 0x91 => Self::SynchronizeCache { block, blocks },
            0x42 => Self::Unmap { bytes: half(7) },
            _ => return None,
        })
    }

    /// UNMAP's parameter data for one range (SBC-4, 5.32).
    pub fn unmap_range(block: u64, blocks: u32) -> [u8; Self::UNMAP_BYTES] {
        let mut data = [0; Self::UNMAP_BYTES];
        data[..2].copy_from_slice(&22_u16.to_be_bytes());
        data[2..4].copy_from_slice(&16_u16.to_be_bytes());
        data[8..16].copy_from_slice(&block.to_be_bytes());
        data[16..20].copy_from_slice(&blocks.to_be_bytes());
        data
    }

    /// The ranges in UNMAP's parameter data: first block and count.
    pub fn unmap_ranges(data: &[u8]) -> impl Iterator<Item = (u64, u32)> {
        data.get(8..).unwrap_or_default().chunks_exact(16).map(|range| {
            let block: [u8; 8] = range[..8].try_into().unwrap_or_default();
            let blocks: [u8; 4] = range[8..12].try_into().unwrap_or_default();
            (u64::from_be_bytes(block), u32::from_be_bytes(blocks))
        })
    }
}

/// Force unit access.
const FUA: u8 = 0x08;
const UNMAP: u8 = 0x08;

const fn short(block: u64, blocks: u32) -> bool {
    block <= u32::MAX as u64 && blocks <= ScsiRequest::TEN_BLOCKS
}

const fn with_word(mut cdb: Cdb, at: usize, value: u32) -> Cdb {
    let bytes = value.to_be_bytes();
    let mut index = 0;
    while index < 4 {
        cdb[at + index] = bytes[index];
        index += 1;
    }
    cdb
}

const fn ten(code: u8, flags: u8, block: u64, blocks: u32) -> Cdb {
    let mut cdb = [0; 16];
    cdb[0] = code;
    cdb[1] = flags;
    let [high, low] = (blocks as u16).to_be_bytes();
    cdb[7] = high;
    cdb[8] = low;
    with_word(cdb, 2, block as u32)
}

const fn sixteen(code: u8, flags: u8, block: u64, blocks: u32) -> Cdb {
    let mut cdb = [0; 16];
    cdb[0] = code;
    cdb[1] = flags;
    with_word(with_word(with_word(cdb, 2, (block >> 32) as u32), 6, block as u32), 10, blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_as_the_standard_draws_them() {
        let read = ScsiRequest::Read { block: 0x0102_0304, blocks: 0x0506 };
        assert_eq!(read.encode()[..10], [0x28, 0, 1, 2, 3, 4, 0, 5, 6, 0]);
        let far = ScsiRequest::Read { block: 1 << 32, blocks: 8 };
        assert_eq!(far.encode(), [0x88, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0]);
        assert_eq!((read.name(), far.name()), ("READ(10)", "READ(16)"));
        let write = ScsiRequest::Write { block: 1, blocks: 0x1_0000, durable: true };
        assert_eq!(write.encode(), [0x8a, 8, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]);
        let same = ScsiRequest::WriteSame { block: 1, blocks: 0x1_0000, unmap: false, ten: false };
        assert_eq!(same.encode(), [0x93, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]);
        let short = ScsiRequest::WriteSame { block: 0x0102_0304, blocks: 0x0506, unmap: true, ten: true };
        assert_eq!(short.encode()[..10], [0x41, 8, 1, 2, 3, 4, 0, 5, 6, 0]);
        assert_eq!((same.name(), short.name()), ("WRITE SAME(16)", "WRITE SAME(10)"));
        assert_eq!(ScsiRequest::decode(&short.encode()), Some(short));
        // Never another block than the one that is meant.
        let far = ScsiRequest::WriteSame { block: 1 << 32, blocks: 8, unmap: false, ten: true };
        assert_eq!(far.encode(), [0x93, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0]);
        let inquiry = ScsiRequest::Inquiry { page: Some(0xb0), bytes: 64 };
        assert_eq!(inquiry.encode()[..6], [0x12, 1, 0xb0, 0, 64, 0]);
        let capacity = ScsiRequest::ReadCapacity16 { bytes: 32 };
        assert_eq!(capacity.encode(), [0x9e, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0]);
        let luns = ScsiRequest::ReportLuns { bytes: 4096 };
        assert_eq!(luns.encode()[..12], [0xa0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0]);
        assert_eq!(ScsiRequest::Unmap { bytes: 24 }.encode()[..10], [0x42, 0, 0, 0, 0, 0, 0, 0, 24, 0]);
        let data = ScsiRequest::unmap_range(5, 6);
        assert_eq!(data[..8], [0, 22, 0, 16, 0, 0, 0, 0]);
        assert_eq!(ScsiRequest::unmap_ranges(&data).collect::<Vec<_>>(), [(5, 6)]);
    }
}
