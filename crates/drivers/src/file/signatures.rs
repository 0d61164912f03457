//! Recognises what is on a device by the magic numbers of known formats.
//!
//! Offsets and magic numbers come from the formats' own documentation (blkid(8) knows many more). Formats not listed
//! here are not detected; adding one takes one line.

use std::io;

/// A format: its name, and the offset and value of its magic number.
struct Magic {
    name: &'static str,
    at: u64,
    bytes: &'static [u8],
}

const fn magic(name: &'static str, at: u64, bytes: &'static [u8]) -> Magic {
    Magic { name, at, bytes }
}

const TABLE: &[Magic] = &[
    // File systems.
    magic("an XFS file system", 0, b"XFSB"),
    magic("a Btrfs file system", 0x1_0040, b"_BHRfS_M"),
    magic("a FAT file system", 0x36, b"FAT12   "),
    magic("a FAT file system", 0x36, b"FAT16   "),
    magic("a FAT file system", 0x52, b"FAT32   "),
    magic("an exFAT file system", 3, b"EXFAT   "),
    magic("an NTFS file system", 3, b"NTFS    "),
    magic("an F2FS file system", 0x400, &[0x10, 0x20, 0xF5, 0xF2]),
    magic("a bcachefs file system", 0x1018, &[0xC6, 0x85, 0x73, 0xF6, 0x66, 0xCE, 0x90, 0xA9]),
    magic("a SquashFS file system", 0, b"hsqs"),
    magic("an EROFS file system", 0x400, &[0xE2, 0xE1, 0xF5, 0xE0]),
    magic("an ISO 9660 file system", 0x8001, b"CD001"),
    magic("a UDF file system", 0x8001, b"BEA01"),
    magic("a ReiserFS file system", 0x1_0034, b"ReIsEr"),
    magic("a JFS file system", 0x8000, b"JFS1"),
    magic("a GFS2 file system", 0x1_0000, &[0x01, 0x16, 0x19, 0x70, 0, 0, 0, 1]),
    magic("an OCFS2 file system", 0x800, b"OCFSV2"),
    magic("an OCFS2 file system", 0x1000, b"OCFSV2"),
    magic("an OCFS2 file system", 0x2000, b"OCFSV2"),
    magic("an HFS+ file system", 0x400, &[b'H', b'+', 0, 4]),
    magic("an APFS container", 0x20, b"NXSB"),
    // Volume managers, RAID, caches, encryption.
    magic("an encrypted volume (LUKS)", 0, b"LUKS\xBA\xBE"),
    magic("an encrypted volume (BitLocker)", 3, b"-FVE-FS-"),
    magic("a bcache device", 0x1018, &[0xC6, 0x85, 0x73, 0xF6, 0x4E, 0x1A, 0x45, 0xCA]),
    magic("a Linux RAID member", 0, &[0xFC, 0x4E, 0x2B, 0xA9, 1, 0, 0, 0]),
    magic("a Linux RAID member", 0x1000, &[0xFC, 0x4E, 0x2B, 0xA9, 1, 0, 0, 0]),
    magic("a Stratis device", 0x204, b"!Stra0tis\x86\xFF\x02^\x41rh"),
    magic("a VDO volume", 0, b"dmvdo001"),
    magic("a dm-integrity volume", 0, b"integrt\0"),
    magic("a Ceph BlueStore device", 0, b"bluestore block device"),
    magic("an Oracle ASM disk", 32, b"ORCLDISK"),
    // Partition tables.
    magic("a partition table (GPT)", 512, b"EFI PART"),
    magic("a partition table (GPT)", 4096, b"EFI PART"),
];

/// Signatures at the end of a page that mark swap space, for the possible page sizes (mkswap(8)).
const SWAP: [(&str, &[u8]); 3] = [
    ("swap space", b"SWAPSPACE2"),
    ("swap space", b"SWAP-SPACE"),
    ("a hibernated system's memory", b"S1SUSPEND\0"),
];
const PAGE_SIZES: [u64; 5] = [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10];

/// Range and spacing of ZFS's uberblocks within its first label (zfs on-disk format, 1.3).
const UBERBLOCKS: std::ops::Range<u64> = 0x2_0000..0x4_0000;
const UBERBLOCK_STEP: usize = 1024;
const UBERBLOCK: u64 = 0x00BA_B10C;

/// The format found on a device of `size` bytes, if any is recognised; `read` fills a buffer from an offset.
///
/// # Errors
/// When the device cannot be read: its content is then unknown.
pub(crate) fn find(
    mut read: impl FnMut(&mut [u8], u64) -> io::Result<()>,
    size: u64,
) -> io::Result<Option<&'static str>> {
    let mut has = |at: u64, bytes: &[u8]| -> io::Result<bool> {
        let mut found = [0; 32];
        let found = &mut found[..bytes.len()];
        if at + bytes.len() as u64 > size {
            return Ok(false);
        }
        read(found, at)?;
        Ok(found == bytes)
    };
    for Magic { name, at, bytes } in TABLE {
        if has(*at, bytes)? {
            return Ok(Some(name));
        }
    }
    for (page, (name, bytes)) in PAGE_SIZES.iter().flat_map(|page| SWAP.iter().map(move |word| (page, word)))
    {
        if has(page - 10, bytes)? {
            return Ok(Some(name));
        }
    }
    // The label is in one of the first four sectors (LVM2's own format).
    for sector in 0..4 {
        if has(512 * sector, b"LABELONE")? && has(512 * sector + 24, b"LVM2")? {
            return Ok(Some("an LVM physical volume"));
        }
    }
    // A GPT whose beginning may have been overwritten has its backup in the last block.
    for block in [512, 4096] {
        if size >= 2 * block && has(size - block, b"EFI PART")? {
            return Ok(Some("a partition table (GPT)"));
        }
    }
    // RAID metadata 1.0 and 0.90 is near the end (md(4)).
    let near_end = [((size / 512).saturating_sub(16) & !7) * 512, (size & !0xFFFF).saturating_sub(0x1_0000)];
    for at in near_end {
        if size > 0x2_0000 && has(at, &[0xFC, 0x4E, 0x2B, 0xA9])? {
            return Ok(Some("a Linux RAID member"));
        }
    }
    let mut start = vec![0; usize::try_from(size.min(UBERBLOCKS.end)).expect("a quarter of a MiB")];
    read(&mut start, 0)?;
    Ok(by_structure(&start))
}

/// Formats whose magic number is too short to be conclusive: other fields must match as well.
fn by_structure(start: &[u8]) -> Option<&'static str> {
    if is_ext(start) {
        return Some("an ext2, ext3 or ext4 file system");
    }
    if is_partition_table(start) {
        return Some("a partition table (MBR)");
    }
    let uberblock = |at: usize| {
        let number: Option<[u8; 8]> = start.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
        number.is_some_and(|n| u64::from_le_bytes(n) == UBERBLOCK || u64::from_be_bytes(n) == UBERBLOCK)
    };
    let mut places = (UBERBLOCKS.start as usize..UBERBLOCKS.end as usize).step_by(UBERBLOCK_STEP);
    places.any(uberblock).then_some("a ZFS pool member")
}

/// The superblock's magic number, with a valid revision and block size (ext4's disk layout).
fn is_ext(start: &[u8]) -> bool {
    let word = |at: usize| start.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    start.get(0x438..0x43A) == Some(&[0x53, 0xEF])
        && word(0x44C).is_some_and(|revision| revision <= 1)
        && word(0x418).is_some_and(|log_block_size| log_block_size <= 6)
}

/// The boot sector's signature, with entries that are all plausible and not all empty.
fn is_partition_table(start: &[u8]) -> bool {
    if start.get(510..512) != Some(&[0x55, 0xAA]) {
        return false;
    }
    let entries = start[446..510].chunks_exact(16);
    let plausible = entries.clone().all(|entry| matches!(entry[0], 0 | 0x80));
    plausible && entries.clone().any(|entry| entry[4] != 0)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::Payload;

    /// An empty device with some bytes at given offsets.
    fn device(size: u64, content: &[(u64, &[u8])]) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(size).unwrap();
        for (at, bytes) in content {
            file.write_all_at(bytes, *at).unwrap();
        }
        file
    }

    fn found(size: u64, content: &[(u64, &[u8])]) -> Option<&'static str> {
        let device = device(size, content);
        find(|into, at| device.read_exact_at(into, at), size).unwrap()
    }

    #[test]
    fn every_number_is_found_at_its_place_and_not_beside_it() {
        const SIZE: u64 = 1 << 20;
        for Magic { name, at, bytes } in TABLE {
            assert_eq!(found(SIZE, &[(*at, bytes)]), Some(*name));
            assert_eq!(found(SIZE, &[(*at + 1, bytes)]), None, "{name} one byte off");
            // A device that ends before the magic number is simply too small.
            assert_eq!(found(*at, &[]), None);
        }
        for (name, bytes) in SWAP {
            assert_eq!(found(SIZE, &[(65_536 - 10, bytes)]), Some(name));
        }
        assert_eq!(found(SIZE, &[(512, b"LABELONE"), (536, b"LVM2 001")]), Some("an LVM physical volume"));
        assert_eq!(found(SIZE, &[(512, b"LABELONE")]), None);
        assert_eq!(found(SIZE, &[(SIZE - 512, b"EFI PART")]), Some("a partition table (GPT)"));
        let raid: &[u8] = &[0xFC, 0x4E, 0x2B, 0xA9];
        assert_eq!(found(SIZE, &[(SIZE - 8192, raid)]), Some("a Linux RAID member"));
        assert_eq!(found(SIZE, &[(SIZE - 65_536, raid)]), Some("a Linux RAID member"));
        let uberblock = UBERBLOCK.to_be_bytes();
        assert_eq!(found(SIZE, &[(0x2_0000 + 7 * 1024, &uberblock)]), Some("a ZFS pool member"));
    }

    #[test]
    fn short_numbers_need_something_else_that_fits() {
        const SIZE: u64 = 1 << 20;
        let ext: (u64, &[u8]) = (0x438, &[0x53, 0xEF]);
        assert_eq!(found(SIZE, &[ext]), Some("an ext2, ext3 or ext4 file system"));
        assert_eq!(found(SIZE, &[ext, (0x44C, &[7])]), None, "no such revision");
        let boot: (u64, &[u8]) = (510, &[0x55, 0xAA]);
        assert_eq!(found(SIZE, &[boot]), None, "no partition");
        assert_eq!(found(SIZE, &[boot, (446 + 4, &[0x83])]), Some("a partition table (MBR)"));
        assert_eq!(found(SIZE, &[boot, (446, &[0x17, 0, 0, 0, 0x83])]), None, "no such flag");
    }

    #[test]
    fn what_we_write_ourselves_is_nothing_to_protect() {
        for seed in 0..20 {
            let mut content = vec![0; 1 << 20];
            Payload::new(seed).fill(0, 0, &mut content);
            assert_eq!(found(1 << 20, &[(0, &content)]), None);
        }
        for size in [0, 1, 511, 512, 4096, 65_536] {
            assert_eq!(found(size, &[]), None);
        }
    }
}
