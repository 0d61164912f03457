//! Load from other programs on the resources of this load: the disk under it and the NICs of its paths.
//!
//! Load beyond what this load can cause belongs to others. What it can cause exceeds its payload: file systems read and
//! write whole records, keep journals and read ahead, and packets have headers. Where the two cannot be told apart, no
//! claim is made.

use super::evidence::{Card, Disk, DiskPlace, Host, ObservedLoad};
use super::finding::{Bound, Cause, Confidence, Found};
use super::words::{part_of, percent};

/// A file system moves up to this many times the payload: each block is written once more, to a journal or to its new
/// location.
const FILE_SYSTEM: f64 = 2.0;
/// A raw device moves the payload and a few other requests.
const DEVICE: f64 = 1.25;
/// Extra bytes that one direct I/O operation may cost: inode, extents and a journal block.
const METADATA_BYTES: f64 = 16.0 * 1024.0;
/// Extra bytes that one operation may cost through the page cache, or through a file system with its own record size:
/// the usual read-ahead or the usual largest record, and as much again for its trees (btrfs writes 113 KiB for a
/// durable 4 KiB write).
const RECORD_BYTES: f64 = 256.0 * 1024.0;
/// File systems that pass direct I/O through block by block.
const PLAIN: [&str; 4] = ["ext2", "ext3", "ext4", "xfs"];
/// Other programs count when they cause at least this share of what is moved.
const THEIRS: f64 = 0.5;
/// A disk that is idle for more than half of the time has enough capacity for both.
const DISK_BUSY: f64 = 0.5;
/// Smallest piece into which a disk's queue splits an operation, in bytes.
const PIECE_BYTES: f64 = 64.0 * 1024.0;
/// Requests per piece on a raw device, with a margin for a few others.
const DEVICE_REQUESTS: f64 = 2.0;
/// Requests per piece made durable by a plain file system: the data, a journal's descriptor, blocks and commit, and the
/// same again for the inode.
const FILE_SYSTEM_REQUESTS: f64 = 16.0;
/// Requests in flight in addition to those of the lanes: a journal's.
const JOURNAL_REQUESTS: f64 = 4.0;
/// A NIC carries other load when its rate is this many times that of this load.
const CARD: f64 = 2.0;
/// Largest headers of a packet, in bytes: Ethernet, IPv6, TCP with options.
const HEADER_BYTES: f64 = 100.0;
/// Other load on a NIC matters from this share of its line rate on.
const CARD_SHARE: f64 = 0.1;
/// If the line rate is unknown, other load matters from this many bytes per second on: a tenth of 1 Gbit/s.
const CARD_BYTES: f64 = 12.5e6;

/// Load from other programs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Foreign {
    /// The disk or the NIC.
    pub(super) place: String,
    /// One line: `other programs use vda: 1.1 of 1.1 GB/s are not this load's`.
    pub(super) words: String,
}

impl Foreign {
    fn new(place: &str, what: &str) -> Self {
        Self { place: place.to_owned(), words: format!("other programs use {place}: {what}") }
    }

    /// A finding that the disk's or NIC's capacity for this load alone cannot be determined.
    pub(super) fn found(&self, used: f64, seen: &str) -> Found {
        let why = format!("{}, and it {seen}: its capacity for this load alone is unknown", self.words);
        let next = format!("stop other users of {}, or measure while it is idle", self.place);
        Found::new(Bound::Unclear, Cause::ForeignLoad, Confidence::High, why, &next)
            .at(self.place.clone())
            .share(used)
    }
}

/// All load from others on the resources of this host's load.
pub(super) fn all(host: &Host) -> Vec<Foreign> {
    let cards = host.cards.iter().filter_map(|card| on_card(host, card));
    on_disk(host).into_iter().chain(cards).collect()
}

/// Bytes per second that a host's program itself reads from and writes to disks: its payload, or the kernel's count if
/// that is higher.
pub(super) fn own_disk_bytes(host: &Host) -> (f64, f64) {
    let load = &host.load;
    // If the split between reads and writes is unknown, all bytes count in both directions.
    let (read, written) = match load.read_bytes_per_s + load.written_bytes_per_s > 0.0 {
        true => (load.read_bytes_per_s, load.written_bytes_per_s),
        false => (load.bytes_per_s, load.bytes_per_s),
    };
    (read.max(host.own_disk_read), written.max(host.own_disk_written))
}

/// Maximum number of requests that a load can have in flight at a disk.
pub(super) fn own_requests(load: &ObservedLoad) -> f64 {
    load.lanes * pieces(load)
}

fn pieces(load: &ObservedLoad) -> f64 {
    let op_bytes = if load.ops_per_s > 0.0 { load.bytes_per_s / load.ops_per_s } else { 0.0 };
    (op_bytes / PIECE_BYTES).ceil().max(1.0)
}

/// The disk that holds the load's data, if known.
pub(super) fn disk_of(host: &Host) -> Option<(&Disk, &DiskPlace)> {
    let place = host.load.place.as_ref()?;
    let disk = host.disks.iter().find(|disk| is_part(&place.device, &disk.name))?;
    Some((disk, place))
}

/// Whether a device is the disk or one of its partitions: `vda1` of `vda`, `nvme0n1p2` of `nvme0n1`.
pub(super) fn is_part(device: &str, disk: &str) -> bool {
    let Some(rest) = device.strip_prefix(disk) else { return false };
    let number = match disk.ends_with(|last: char| last.is_ascii_digit()) {
        true => rest.strip_prefix('p').unwrap_or("-"),
        false => rest,
    };
    !disk.is_empty() && (rest.is_empty() || number.bytes().all(|digit| digit.is_ascii_digit()))
}

/// Load from others on the disk that holds the data.
pub(super) fn on_disk(host: &Host) -> Option<Foreign> {
    let (disk, place) = disk_of(host)?;
    if disk.busy < DISK_BUSY {
        return None;
    }
    let (read, written) = own_disk_bytes(host);
    let (read, written) = (read + host.beside.disk_read, written + host.beside.disk_written);
    let ops = host.load.ops_per_s + host.beside.ops_per_s;
    let (factor, each, requests) = match (place.direct, place.file_system.as_str()) {
        (true, "") => (DEVICE, 0.0, Some(DEVICE_REQUESTS)),
        (true, kind) if PLAIN.contains(&kind) => (FILE_SYSTEM, METADATA_BYTES, Some(FILE_SYSTEM_REQUESTS)),
        _ => (FILE_SYSTEM, RECORD_BYTES, None),
    };
    // Partial writes read first.
    let more_read = disk.read_bytes_per_s > factor * read + written + ops * each;
    // Writeback of the page cache may be of earlier data.
    let more_written = place.direct && disk.written_bytes_per_s > factor * written + ops * each;
    let others = |seen: f64, own: f64| (seen - own).max(0.0);
    let theirs = others(disk.read_bytes_per_s, read)
        + if place.direct { others(disk.written_bytes_per_s, written) } else { 0.0 };
    let total = disk.read_bytes_per_s + disk.written_bytes_per_s;
    if (more_read || more_written) && theirs >= THEIRS * total {
        let what = format!("{} are not this load's", part_of(theirs, total));
        return Some(Foreign::new(&disk.name, &what));
    }
    // Other cells' operations are not counted here; lanes do not decide what goes through the page cache; and how many
    // requests trees or created and removed files take depends on the file system.
    let requests = requests.filter(|_| !host.load.concurrent && host.load.bytes_per_s > 0.0)?;
    if disk.requests_per_s > requests * ops * pieces(&host.load) {
        let what = format!(
            "it did {:.0} requests/s, of which this load's {ops:.0} op/s are a few",
            disk.requests_per_s
        );
        return Some(Foreign::new(&disk.name, &what));
    }
    let most = own_requests(&host.load) + host.beside.requests;
    (disk.queue > FILE_SYSTEM * most + JOURNAL_REQUESTS).then(|| {
        let what =
            format!("{:.1} requests were in it at once, and this load makes {most:.0} at most", disk.queue);
        Foreign::new(&disk.name, &what)
    })
}

/// The NIC's rate in the direction that the load used most, and the part of it on the load's own connections; `None` if
/// the load is not known to use the NIC.
pub(super) fn on_its_way(host: &Host, card: &Card) -> Option<(f64, f64)> {
    let uses = |path: &&super::evidence::Path| path.card == card.name;
    let own = || host.paths.iter().chain(&host.beside.paths).filter(uses);
    if card.loopback || card.name.is_empty() || host.paths.iter().filter(uses).count() == 0 {
        return None;
    }
    // Connections shorter than a second appear only in the payload.
    let sent = own().map(|path| path.sent).sum::<f64>();
    let received = own().map(|path| path.received).sum::<f64>();
    let sent = sent.max(host.load.written_bytes_per_s + host.beside.written);
    let received = received.max(host.load.read_bytes_per_s + host.beside.read);
    Some(if sent > received { (card.sent, sent) } else { (card.received, received) })
}

/// Load from others on a NIC that the load uses.
pub(super) fn on_card(host: &Host, card: &Card) -> Option<Foreign> {
    let (seen, own) = on_its_way(host, card)?;
    let theirs = seen - own;
    let matters = card.speed.map_or(CARD_BYTES, |speed| speed * CARD_SHARE);
    // No account contains other cells' connections that lasted less than a second.
    if host.load.concurrent || seen <= CARD * own + HEADER_BYTES * card.packets_per_s || theirs < matters {
        return None;
    }
    Some(Foreign::new(&card.name, &format!("{} are not this load's", part_of(theirs, seen))))
}

/// The disk that holds the data, if others load it.
pub(super) fn disk(host: &Host) -> Option<Found> {
    let (disk, _) = disk_of(host)?;
    Some(on_disk(host)?.found(disk.busy, &format!("was {} busy", percent(disk.busy))))
}
