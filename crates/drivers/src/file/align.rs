//! Alignment that `O_DIRECT` requires of offsets, lengths and memory.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};

/// Alignment for direct I/O, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alignment {
    /// Of offsets and lengths.
    pub offset_bytes: u32,
    /// Of addresses.
    pub memory_bytes: u32,
}

/// Assumed where the kernel does not say: the smallest sector size. If it is too small, the kernel rejects the
/// operation.
const SECTOR: u32 = 512;

impl Alignment {
    /// The kernel's answer for an open file or device: `STATX_DIOALIGN` (statx(2), Linux 6.1), else a device's logical
    /// block size. `None` when it reports that `O_DIRECT` is not possible.
    pub(super) fn of(fd: impl AsFd) -> Option<Alignment> {
        match stated(fd.as_fd().as_raw_fd()) {
            Some((0, _)) => None,
            Some((offset_bytes, memory_bytes)) => Some(Alignment { offset_bytes, memory_bytes }),
            None => {
                let sector = rustix::fs::ioctl_blksszget(fd).unwrap_or(SECTOR);
                Some(Alignment { offset_bytes: sector, memory_bytes: sector })
            }
        }
    }

    /// True when a range is aligned.
    #[inline]
    pub(super) fn fits(self, offset: u64, len: u64) -> bool {
        let unit = u64::from(self.offset_bytes);
        // A division would cost more than all other checks together, and is almost never needed.
        if unit.is_power_of_two() {
            (offset | len) & (unit - 1) == 0
        } else {
            offset.is_multiple_of(unit) && len.is_multiple_of(unit)
        }
    }
}

/// Alignment of offsets and of memory, where the kernel states them.
fn stated(fd: i32) -> Option<(u32, u32)> {
    let mut stat = MaybeUninit::<libc::statx>::zeroed();
    // SAFETY: the path is an empty string, and the output buffer has the size that the kernel expects.
    let status = unsafe {
        libc::statx(fd, c"".as_ptr(), libc::AT_EMPTY_PATH, libc::STATX_DIOALIGN, stat.as_mut_ptr())
    };
    if status != 0 {
        return None;
    }
    // SAFETY: all-zero is a valid value, and the kernel has filled in the fields it supports.
    let stat = unsafe { stat.assume_init() };
    let known = stat.stx_mask & libc::STATX_DIOALIGN != 0;
    known.then_some((stat.stx_dio_offset_align, stat.stx_dio_mem_align))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_fit_when_offset_and_length_are_multiples() {
        let alignment = Alignment { offset_bytes: 512, memory_bytes: 4 };
        assert!(alignment.fits(0, 512) && alignment.fits(1 << 40, 4096));
        assert!(!alignment.fits(0, 100) && !alignment.fits(256, 512));
        let odd = Alignment { offset_bytes: 520, memory_bytes: 4 };
        assert!(odd.fits(1040, 520) && !odd.fits(1024, 520) && !odd.fits(520, 512));
    }

    #[test]
    fn the_kernel_says_what_a_file_needs() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let alignment = Alignment::of(&file).unwrap();
        assert!(alignment.offset_bytes.is_power_of_two() && alignment.memory_bytes.is_power_of_two());
    }
}
