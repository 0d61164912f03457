//! Protection of devices: one that is in use or holds data is written only when the user named that very device.

use std::fs;
use std::os::linux::fs::MetadataExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use metrics::ErrorKind;
use rustix::fs::{CWD, FileType, Mode, OFlags, SeekFrom, openat, seek};

use super::errors::{kind_of, words};
use super::{devices, signatures};
use crate::DriverError;

/// Identity of a device or file, independent of its path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Identity {
    /// Device number.
    Block(u64),
    /// File system and inode.
    File(u64, u64),
}

fn identity(path: &Path) -> std::io::Result<Identity> {
    let metadata = fs::metadata(path)?;
    Ok(match FileType::from_raw_mode(metadata.st_mode()) {
        FileType::BlockDevice => Identity::Block(metadata.st_rdev()),
        _ => Identity::File(metadata.st_dev(), metadata.st_ino()),
    })
}

/// Accepts a device or file that holds nothing of value, or that is one of those the user named.
pub(super) fn check(path: &Path, destroy: &[PathBuf]) -> Result<(), DriverError> {
    let wrong =
        |e: std::io::Error| DriverError::new(kind_of(&e), format!("{}: {}", path.display(), words(&e)));
    let device = identity(path).map_err(wrong)?;
    if destroy.iter().any(|named| identity(named).is_ok_and(|named| named == device)) {
        return Ok(());
    }
    let Some(found) = found_on(path, device)? else { return Ok(()) };
    let hint = match destroy {
        [] => format!("to overwrite it anyway, give --destroy {}", path.display()),
        [named] => format!(
            "--destroy names {}, a different device or file; give --destroy {}, too",
            named.display(),
            path.display()
        ),
        _ => format!("to overwrite it, too, give --destroy {}", path.display()),
    };
    let text = format!("{} {found}: nothing was written; {hint}", path.display());
    Err(DriverError::new(ErrorKind::Rejected, text))
}

/// As [`check`], for a device that the user named by its path, with several devices that may be overwritten; a mounted
/// one passes only if `mounted_too`. Returns its number.
pub(super) fn check_named(path: &Path, destroy: &[PathBuf], mounted_too: bool) -> Result<u64, DriverError> {
    let wrong =
        |e: std::io::Error| DriverError::new(kind_of(&e), format!("{}: {}", path.display(), words(&e)));
    let device = identity(path).map_err(wrong)?;
    let Identity::Block(number) = device else {
        let text = format!("{}: it is no block device", path.display());
        return Err(DriverError::new(ErrorKind::Rejected, text));
    };
    if let Some(mounted) = mounted(&Family::of(number))
        && !mounted_too
    {
        let text = format!(
            "{} {mounted}: nothing was written; unmount it, or say allow_mounted_write=1 in the job and --destroy {}",
            path.display(),
            path.display()
        );
        return Err(DriverError::new(ErrorKind::Rejected, text));
    }
    check(path, destroy)?;
    Ok(number)
}

/// The reason not to write, as the rest of a sentence that begins with the path.
fn found_on(path: &Path, device: Identity) -> Result<Option<String>, DriverError> {
    if let Some(use_) = in_use(device) {
        return Ok(Some(use_));
    }
    let fd = devices::open(path, false, false)?;
    let size = devices::size_of(&fd, path)?;
    let file = fs::File::from(fd);
    let found = signatures::find(|into, at| file.read_exact_at(into, at), size).map_err(|e| {
        let text = format!("{}: it cannot be read to see what it holds: {}", path.display(), words(&e));
        DriverError::new(kind_of(&e), text)
    })?;
    if let Some(name) = found {
        return Ok(Some(format!("carries {name}")));
    }
    match device {
        // The kernel denies exclusive access to a device in use, whatever uses it; this also detects mounts in other
        // containers.
        Identity::Block(_) => {
            let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NONBLOCK;
            let alone = openat(CWD, path, flags, Mode::empty());
            let used = alone.is_err_and(|e| e == rustix::io::Errno::BUSY);
            Ok(used
                .then(|| "is in use by the kernel (mounted, swap, RAID, or part of another device)".into()))
        }
        // Only its owner knows what a file is worth; one that is all holes is worth nothing.
        Identity::File(..) => {
            let holds_data = !matches!(seek(&file, SeekFrom::Data(0)), Err(rustix::io::Errno::NXIO));
            Ok((size > 0 && holds_data).then(|| "is a file that holds data".into()))
        }
    }
}

/// How the device, or a device that is part of it, is in use.
fn in_use(device: Identity) -> Option<String> {
    match device {
        Identity::Block(number) => {
            let family = Family::of(number);
            mounted(&family).or_else(|| swapped(&family)).or_else(|| held(&family))
        }
        Identity::File(..) => swap_entries()
            .into_iter()
            .any(|entry| identity(&entry).is_ok_and(|swap| swap == device))
            .then(|| "is in use as swap space".to_owned())
            .or_else(|| looped(device)),
    }
}

/// A device and its partitions.
struct Family {
    /// Directories in /sys/class/block: the device's own first, then its partitions'.
    places: Vec<PathBuf>,
    numbers: Vec<u64>,
}

impl Family {
    fn of(number: u64) -> Family {
        let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
        let mut family = Family { places: Vec::new(), numbers: vec![number] };
        let Ok(own) = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")) else { return family };
        for entry in fs::read_dir(&own).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.join("partition").exists()
                && let Some(number) = number_of(&path)
            {
                family.places.push(path);
                family.numbers.push(number);
            }
        }
        // Holders of a whole disk concern its partitions as well.
        if own.join("partition").exists()
            && let Some(disk) = own.parent()
        {
            family.places.push(disk.to_owned());
        }
        family.places.insert(0, own);
        family
    }

    fn has(&self, path: &Path) -> bool {
        matches!(identity(path), Ok(Identity::Block(number)) if self.numbers.contains(&number))
    }
}

/// The device number in a /sys directory.
fn number_of(place: &Path) -> Option<u64> {
    let text = fs::read_to_string(place.join("dev")).ok()?;
    let (major, minor) = text.trim().split_once(':')?;
    Some(rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?))
}

/// Its mount point, if it is mounted (proc_pid_mountinfo(5)).
fn mounted(family: &Family) -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    mounts.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(' ').collect();
        let (major, minor) = fields.get(2)?.split_once(':')?;
        let number = rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?);
        // File systems that span several devices have device numbers of their own, but name one of them as their
        // source.
        let after = fields.iter().position(|field| *field == "-")?;
        let source = fields.get(after + 2).is_some_and(|source| family.has(Path::new(source)));
        let mounted = family.numbers.contains(&number) || source;
        mounted.then(|| format!("is mounted at {}", fields.get(4).unwrap_or(&"?")))
    })
}

/// The active swap areas.
fn swap_entries() -> Vec<PathBuf> {
    let text = fs::read_to_string("/proc/swaps").unwrap_or_default();
    text.lines().skip(1).filter_map(|line| line.split_whitespace().next()).map(PathBuf::from).collect()
}

fn swapped(family: &Family) -> Option<String> {
    swap_entries().iter().any(|entry| family.has(entry)).then(|| "is in use as swap space".to_owned())
}

/// What is built on it: LVM, RAID, multipath, encryption.
fn held(family: &Family) -> Option<String> {
    family.places.iter().find_map(|place| {
        let holder = fs::read_dir(place.join("holders")).ok()?.flatten().next()?;
        Some(format!(
            "is part of {} (LVM, RAID, multipath or encryption)",
            holder.file_name().to_string_lossy()
        ))
    })
}

/// The loop device backed by a file.
fn looped(device: Identity) -> Option<String> {
    fs::read_dir("/sys/block").ok()?.flatten().find_map(|entry| {
        let backing = fs::read_to_string(entry.path().join("loop/backing_file")).ok()?;
        let same = identity(Path::new(backing.trim_end())).is_ok_and(|backing| backing == device);
        same.then(|| format!("backs the loop device {}", entry.file_name().to_string_lossy()))
    })
}
