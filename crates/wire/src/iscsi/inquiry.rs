//! What a logical unit says about itself: INQUIRY, READ CAPACITY(16) and REPORT LUNS (SPC-5, 6.6, 6.33 and 7.7; SBC-4,
//! 5.21 and 6.6).

use super::Lun;

fn word(data: &[u8], at: usize) -> Option<u32> {
    data.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes)
}

fn long(data: &[u8], at: usize) -> Option<u64> {
    data.get(at..at + 8)?.try_into().ok().map(u64::from_be_bytes)
}

/// Printable text of fixed width.
fn text(data: &[u8]) -> String {
    let printable = |byte: &u8| if (0x20..0x7f).contains(byte) { char::from(*byte) } else { ' ' };
    data.iter().map(printable).collect::<String>().trim().to_owned()
}

/// The standard INQUIRY data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StandardInquiry {
    /// Whether there is a unit: 0 there is, 1 there could be one, 3 there is none.
    pub qualifier: u8,
    /// The kind of unit; 0 is a disk.
    pub device_type: u8,
    /// Manufacturer.
    pub vendor: String,
    /// Product.
    pub product: String,
    /// Its revision.
    pub revision: String,
}

impl StandardInquiry {
    /// Bytes of the data that are read.
    pub const BYTES: u16 = 96;

    /// Reads the data; `None` when they are too short.
    pub fn decode(data: &[u8]) -> Option<Self> {
        let first = *data.first()?;
        Some(Self {
            qualifier: first >> 5,
            device_type: first & 0x1f,
            vendor: text(data.get(8..16)?),
            product: text(data.get(16..32)?),
            revision: text(data.get(32..36)?),
        })
    }

    /// The kind of unit in words.
    pub const fn type_name(&self) -> &'static str {
        match self.device_type {
            0x00 => "disk",
            0x01 => "tape",
            0x05 => "optical drive",
            0x07 => "optical memory",
            0x08 => "media changer",
            0x0c => "storage array controller",
            0x0d => "enclosure",
            0x0e => "simplified disk",
            0x14 => "zoned disk",
            _ => "unknown device",
        }
    }
}

/// The unit's serial number (page 80h).
pub fn unit_serial(page: &[u8]) -> Option<String> {
    let len = usize::from(u16::from_be_bytes([*page.get(2)?, *page.get(3)?]));
    let rest = page.get(4..)?;
    Some(text(&rest[..len.min(rest.len())])).filter(|serial| !serial.is_empty())
}

/// The unit's limits (page B0h); 0: none is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockLimits {
    /// The largest transfer of one command, in blocks.
    pub transfer_blocks: u32,
    /// The best size of a transfer, in blocks.
    pub optimal_blocks: u32,
    /// Most blocks that one UNMAP frees.
    pub unmap_blocks: u32,
    /// The unit of UNMAP, in blocks.
    pub unmap_granularity: u32,
    /// Most blocks that one WRITE SAME writes.
    pub write_same_blocks: u64,
}

impl BlockLimits {
    /// Bytes of the page.
    pub const BYTES: u16 = 64;
    /// The page's number.
    pub const PAGE: u8 = 0xb0;

    /// Reads the page; short pages of old units lack the later fields.
    pub fn decode(page: &[u8]) -> Option<Self> {
        (*page.get(1)? == Self::PAGE).then(|| Self {
            transfer_blocks: word(page, 8).unwrap_or(0),
            optimal_blocks: word(page, 12).unwrap_or(0),
            unmap_blocks: word(page, 20).unwrap_or(0),
            unmap_granularity: word(page, 28).unwrap_or(0),
            write_same_blocks: long(page, 36).unwrap_or(0),
        })
    }
}

/// The unit's size (READ CAPACITY(16)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitCapacity {
    /// Number of blocks.
    pub blocks: u64,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Binary logarithm of the blocks in a physical block.
    pub physical_exponent: u8,
    /// Blocks can be unmapped (LBPME).
    pub unmaps: bool,
    /// Unmapped blocks read as zeros (LBPRZ).
    pub unmapped_zero: bool,
}

impl UnitCapacity {
    /// Bytes of the data.
    pub const BYTES: u32 = 32;

    /// Reads the data; `None` when they are too short, or no unit could be so large.
    pub fn decode(data: &[u8]) -> Option<Self> {
        let blocks = long(data, 0)?.checked_add(1)?;
        let block_bytes = word(data, 8)?;
        blocks.checked_mul(u64::from(block_bytes)).filter(|bytes| *bytes > 0)?;
        let provisioning = data.get(14).copied().unwrap_or(0);
        Some(Self {
            blocks,
            block_bytes,
            physical_exponent: data.get(13).copied().unwrap_or(0) & 0xf,
            unmaps: provisioning & 0x80 != 0,
            unmapped_zero: provisioning & 0x40 != 0,
        })
    }

    /// The data.
    pub fn encode(&self) -> [u8; Self::BYTES as usize] {
        let mut data = [0; Self::BYTES as usize];
        data[..8].copy_from_slice(&self.blocks.wrapping_sub(1).to_be_bytes());
        data[8..12].copy_from_slice(&self.block_bytes.to_be_bytes());
        data[13] = self.physical_exponent & 0xf;
        data[14] = u8::from(self.unmaps) << 7 | u8::from(self.unmapped_zero) << 6;
        data
    }

    /// Size in bytes.
    pub const fn bytes(&self) -> u64 {
        self.blocks * self.block_bytes as u64
    }
}

/// The logical units that REPORT LUNS lists, as far as the data reach.
pub fn luns(data: &[u8]) -> Vec<Lun> {
    let len = word(data, 0).unwrap_or(0) as usize;
    let list = data.get(8..).unwrap_or_default();
    list[..len.min(list.len())].chunks_exact(8).filter_map(|lun| long(lun, 0)).map(Lun).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_of_a_unit_are_read() {
        let mut data = vec![0; 36];
        data[8..16].copy_from_slice(b"IET     ");
        data[16..32].copy_from_slice(b"VIRTUAL-DISK    ");
        data[32..36].copy_from_slice(b"0001");
        let found = StandardInquiry::decode(&data).unwrap();
        assert_eq!((&*found.vendor, &*found.product, found.type_name()), ("IET", "VIRTUAL-DISK", "disk"));
        assert_eq!(StandardInquiry::decode(&data[..35]), None);
        assert_eq!(unit_serial(b"\0\x80\0\x05 ab1 rest"), Some("ab1".to_owned()));
        assert_eq!(unit_serial(b"\0\x80\0\0"), None);
        let mut page = [0; 64];
        page[1] = 0xb0;
        page[11] = 8;
        page[23] = 9;
        page[42] = 1;
        let limits = BlockLimits::decode(&page).unwrap();
        assert_eq!((limits.transfer_blocks, limits.unmap_blocks, limits.unmap_granularity), (8, 9, 0));
        assert_eq!(limits.write_same_blocks, 256);
        assert_eq!(BlockLimits::decode(&page[..12]).unwrap().unmap_blocks, 0);
        assert_eq!(BlockLimits::decode(&[0; 64]), None);
    }

    #[test]
    fn capacities_that_no_unit_has_are_refused() {
        let good = UnitCapacity {
            blocks: 2048,
            block_bytes: 512,
            physical_exponent: 3,
            unmaps: true,
            unmapped_zero: true,
        };
        assert_eq!(UnitCapacity::decode(&good.encode()), Some(good));
        assert_eq!(good.bytes(), 1 << 20);
        assert_eq!(UnitCapacity::decode(&[0xff; 32]), None);
        assert_eq!(UnitCapacity::decode(&[0; 32]), None);
        assert_eq!(UnitCapacity::decode(&good.encode()[..11]), None);
    }

    #[test]
    fn units_are_listed_as_far_as_they_came() {
        let mut data = 16_u32.to_be_bytes().to_vec();
        data.extend([0; 4]);
        data.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(luns(&data), [Lun::of(0).unwrap(), Lun::of(1).unwrap()]);
        assert_eq!(luns(&data[..20]), [Lun::of(0).unwrap()]);
        assert_eq!(luns(&[]), []);
    }
}
