//! Load of other programs on what this load uses: on the disk under it, on the cards of its paths.
//!
//! More than this load can make is others'. What it can make is more than its payload: file systems read and write whole records,
//! keep journals and read ahead, packets have headers. Where it cannot be told what is whose, nothing is said.

use super::evidence::{Card, Disk, DiskPlace, Host, ObservedLoad};
use super::finding::{Bound, Cause, Confidence, Found};
use super::words::{part_of, percent};

/// A file system moves up to this many times the payload: each block once more to a journal or to its new place.
const FILE_SYSTEM: f64 = 2.0;
/// A device that is used as a whole moves the payload and what little other requests there are.
const DEVICE: f64 = 1.25;
/// Bytes that one operation past the page cache may cost besides its own: inode, extents and a block of the journal.
const METADATA_BYTES: f64 = 16.0 * 1024.0;
/// Bytes that one operation may cost where data goes through the page cache, or through a file system with records of its own: the
/// usual read-ahead or the usual largest record, and as much again for its trees (btrfs writes 113 KiB for 4 KiB that are made durable).
const RECORD_BYTES: f64 = 256.0 * 1024.0;
/// File systems that move blocks past the page cache as they are asked for.
const PLAIN: [&str; 4] = ["ext2", "ext3", "ext4", "xfs"];
/// Others count when this share of what is moved is theirs.
const THEIRS: f64 = 0.5;
/// A disk that does nothing for more than half of the time has room for both.
const DISK_BUSY: f64 = 0.5;
/// Smallest piece that a disk's queue cuts an operation into, in bytes.
const PIECE_BYTES: f64 = 64.0 * 1024.0;
/// Requests for one piece of a device, with room for those of a few others.
const DEVICE_REQUESTS: f64 = 2.0;
/// Requests for one piece that a plain file system makes durable: the data, a journal's descriptor, its blocks and its commit, and those
/// again for the inode.
const FILE_SYSTEM_REQUESTS: f64 = 16.0;
/// Requests in flight beside those of the lanes: a journal's.
const JOURNAL_REQUESTS: f64 = 4.0;
/// A card carries others' load when it carries this many times the load's.
const CARD: f64 = 2.0;
/// Largest headers of a packet, in bytes: Ethernet, IPv6, TCP with options.
const HEADER_BYTES: f64 = 100.0;
/// Others' load on a card matters from this share of its line rate on.
const CARD_SHARE: f64 = 0.1;
/// And where that is unknown from so many bytes a second on: a tenth of 1 Gbit/s.
const CARD_BYTES: f64 = 12.5e6;

/// Load of others.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Foreign {
    /// The disk or the card.
    pub(super) place: String,
    /// In a line: `other programs use vda: 1.1 of 1.1 GB/s are not this load's`.
    pub(super) words: String,
}

impl Foreign {
    fn new(place: &str, what: &str) -> Self {
        Self { place: place.to_owned(), words: format!("other programs use {place}: {what}") }
    }

    /// That it cannot be told what the disk or the card gives this load alone.
    pub(super) fn found(&self, used: f64, seen: &str) -> Found {
        let why = format!("{}, and it {seen}: what it gives this load alone cannot be told", self.words);
        let next = format!("stop what else uses {}, or measure while it is idle", self.place);
        Found::new(Bound::Unclear, Cause::ForeignLoad, Confidence::High, why, &next)
            .at(self.place.clone())
            .share(used)
    }
}

/// All that others do on what this host's load uses.
pub(super) fn all(host: &Host) -> Vec<Foreign> {
    let cards = host.cards.iter().filter_map(|card| on_card(host, card));
    on_disk(host).into_iter().chain(cards).collect()
}

/// Bytes a second that a host's program moves from and to disks itself: its payload, or what the kernel counted if that is more.
pub(super) fn own_disk_bytes(host: &Host) -> (f64, f64) {
    let load = &host.load;
    // Where it is not known which way the bytes went, they may have gone either way.
    let (read, written) = match load.read_bytes_per_s + load.written_bytes_per_s > 0.0 {
        true => (load.read_bytes_per_s, load.written_bytes_per_s),
        false => (load.bytes_per_s, load.bytes_per_s),
    };
    (read.max(host.own_disk_read), written.max(host.own_disk_written))
}

/// Requests that a load can have in a disk at once.
pub(super) fn own_requests(load: &ObservedLoad) -> f64 {
    load.lanes * pieces(load)
}

fn pieces(load: &ObservedLoad) -> f64 {
    let op_bytes = if load.ops_per_s > 0.0 { load.bytes_per_s / load.ops_per_s } else { 0.0 };
    (op_bytes / PIECE_BYTES).ceil().max(1.0)
}

/// The disk that the data of a load is on, where that is known.
pub(super) fn disk_of(host: &Host) -> Option<(&Disk, &DiskPlace)> {
    let place = host.load.place.as_ref()?;
    let disk = host.disks.iter().find(|disk| is_part(&place.device, &disk.name))?;
    Some((disk, place))
}

/// Whether a device is a disk or one of its partitions: `vda1` of `vda`, `nvme0n1p2` of `nvme0n1`.
fn is_part(device: &str, disk: &str) -> bool {
    let Some(rest) = device.strip_prefix(disk) else { return false };
    let number = match disk.ends_with(|last: char| last.is_ascii_digit()) {
        true => rest.strip_prefix('p').unwrap_or("-"),
        false => rest,
    };
    !disk.is_empty() && (rest.is_empty() || number.bytes().all(|digit| digit.is_ascii_digit()))
}

/// Load of others on the disk that the data is on.
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
    // What is written in part is read first.
    let more_read = disk.read_bytes_per_s > factor * read + written + ops * each;
    // What the page cache writes may be from before.
    let more_written = place.direct && disk.written_bytes_per_s > factor * written + ops * each;
    let others = |seen: f64, own: f64| (seen - own).max(0.0);
    let theirs = others(disk.read_bytes_per_s, read)
        + if place.direct { others(disk.written_bytes_per_s, written) } else { 0.0 };
    let total = disk.read_bytes_per_s + disk.written_bytes_per_s;
    if (more_read || more_written) && theirs >= THEIRS * total {
        let what = format!("{} are not this load's", part_of(theirs, total));
        return Some(Foreign::new(&disk.name, &what));
    }
    // Other cells' operations are not counted here; what goes through the page cache is not asked for by lanes; and how many requests
    // trees take, or files that are made and removed, is the file system's affair.
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

/// What a card carried in the direction in which the load used it most, and how much of that the load's connections did; `None`
/// where it is not known that any used it.
pub(super) fn on_its_way(host: &Host, card: &Card) -> Option<(f64, f64)> {
    let uses = |path: &&super::evidence::Path| path.card == card.name;
    let own = || host.paths.iter().chain(&host.beside.paths).filter(uses);
    if card.loopback || card.name.is_empty() || host.paths.iter().filter(uses).count() == 0 {
        return None;
    }
    // Connections that lived for less than a second are in the payload only.
    let sent = own().map(|path| path.sent).sum::<f64>();
    let received = own().map(|path| path.received).sum::<f64>();
    let sent = sent.max(host.load.written_bytes_per_s + host.beside.written);
    let received = received.max(host.load.read_bytes_per_s + host.beside.read);
    Some(if sent > received { (card.sent, sent) } else { (card.received, received) })
}

/// Load of others on a card that the load uses.
pub(super) fn on_card(host: &Host, card: &Card) -> Option<Foreign> {
    let (seen, own) = on_its_way(host, card)?;
    let theirs = seen - own;
    let matters = card.speed.map_or(CARD_BYTES, |speed| speed * CARD_SHARE);
    // Connections of other cells that lived for less than a second are in nobody's account.
    if host.load.concurrent || seen <= CARD * own + HEADER_BYTES * card.packets_per_s || theirs < matters {
        return None;
    }
    Some(Foreign::new(&card.name, &format!("{} are not this load's", part_of(theirs, seen))))
}

/// The disk that the data is on, where others load it.
pub(super) fn disk(host: &Host) -> Option<Found> {
    let (disk, _) = disk_of(host)?;
    Some(on_disk(host)?.found(disk.busy, &format!("was {} busy", percent(disk.busy))))
}
