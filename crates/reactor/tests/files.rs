//! Files: behaviour common to all backends.

#![allow(clippy::unwrap_used)] // a test may fail loudly

use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use reactor::{BackendChoice, Buffer, Durable, FileOptions, NAME_BUFFER, Reactor, Space};

/// A directory on tmpfs.
const MEMORY: &str = "/dev/shm";

/// Every backend that supports files, including the polling ones: without `O_DIRECT` those use their ordinary ring.
const CHOICES: [BackendChoice; 6] = [
    BackendChoice::Batching,
    BackendChoice::Uring,
    BackendChoice::Epoll,
    BackendChoice::Polling(reactor::Polling { completions: false, submissions: true }),
    BackendChoice::Polling(reactor::Polling { completions: true, submissions: false }),
    BackendChoice::Polling(reactor::Polling { completions: true, submissions: true }),
];

/// On every backend, in the usual directory for temporary files and in memory.
fn on_all(test: impl Fn(&Reactor, &Path)) {
    on_disk(&test);
    for choice in CHOICES {
        let place = tempfile::tempdir_in(MEMORY).unwrap();
        test(&Reactor::open(choice).unwrap(), place.path());
    }
}

/// On every backend, in the usual directory for temporary files.
fn on_disk(test: impl Fn(&Reactor, &Path)) {
    for choice in CHOICES {
        let place = tempfile::tempdir().unwrap();
        let reactor = Reactor::open(choice).expect("every backend works where the tests run");
        test(&reactor, place.path());
    }
}

fn name(reactor: &Reactor, text: &str) -> Buffer {
    let mut buffer = reactor.buffer(NAME_BUFFER);
    buffer[..text.len()].copy_from_slice(text.as_bytes());
    buffer
}

const NEW: FileOptions = FileOptions {
    write: true,
    create_new: true,
    direct: false,
    register: true,
    create: false,
    truncate: false,
    durable: Durable::Nothing,
};
const OLD: FileOptions = FileOptions { create_new: false, ..NEW };

#[test]
fn what_is_written_is_read_back_at_its_place() {
    on_all(|reactor, place| {
        reactor.block_on(async {
            let directory = reactor.plain_directory(place).unwrap();
            let (file, _) = directory.open_file(name(reactor, "one"), NEW).await;
            let file = file.unwrap();
            for registered in [false, true] {
                let buffer =
                    |len| if registered { reactor.registered_buffer(len) } else { reactor.buffer(len) };
                let mut out = buffer(10_000);
                for (at, byte) in out.iter_mut().enumerate() {
                    *byte = (at % 251) as u8 + u8::from(registered);
                }
                let expected = out.to_vec();
                // Often enough that the file becomes a registered one in between.
                for round in 0..10_u64 {
                    let (written, back) = file.write_at(out, 100..9100, 5000 + round * 9000).await;
                    assert_eq!(written.unwrap(), 9000);
                    out = back;
                }
                file.sync(false).await.unwrap();
                file.sync(true).await.unwrap();
                for round in 0..10_u64 {
                    let (read, back) = file.read_at(buffer(9000), 0..9000, 5000 + round * 9000).await;
                    assert_eq!(read.unwrap(), 9000);
                    assert_eq!(back[..], expected[100..9100]);
                }
            }
            let (read, back) = file.read_at(reactor.buffer(9000), 10..9000, 5000 + 9 * 9000 + 8000).await;
            assert_eq!(read.unwrap(), 1000, "a read ends with the file");
            assert_eq!(back[..10], [0; 10]);
            let (read, _) = file.read_at(back, 0..9000, 1 << 40).await;
            assert_eq!(read.unwrap(), 0);
        });
        assert_eq!(std::fs::metadata(place.join("one")).unwrap().len(), 5000 + 90_000);
    });
}

#[test]
fn files_are_made_looked_at_and_removed_by_name() {
    on_all(|reactor, place| {
        reactor.block_on(async {
            let directory = reactor.plain_directory(place).unwrap();
            let (file, buffer) = directory.open_file(name(reactor, "new"), NEW).await;
            let (written, _) = file.unwrap().write_at(reactor.buffer(77), 0..77, 0).await;
            assert_eq!(written.unwrap(), 77);
            let (again, buffer) = directory.open_file(buffer, NEW).await;
            assert_eq!(again.unwrap_err().raw_os_error(), Some(libc::EEXIST));
            let (size, buffer) = directory.size_of(buffer).await;
            assert_eq!(size.unwrap(), 77);
            let (gone, buffer) = directory.remove(buffer).await;
            gone.unwrap();
            let (size, buffer) = directory.size_of(buffer).await;
            assert_eq!(size.unwrap_err().raw_os_error(), Some(libc::ENOENT));
            let (gone, buffer) = directory.remove(buffer).await;
            assert_eq!(gone.unwrap_err().raw_os_error(), Some(libc::ENOENT));
            let (open, _) = directory.open_file(buffer, OLD).await;
            assert_eq!(open.unwrap_err().raw_os_error(), Some(libc::ENOENT));
        });
        assert!(!place.join("new").exists());
    });
}

#[test]
fn listings_name_every_file_and_begin_again() {
    on_all(|reactor, place| {
        for number in 0..300 {
            std::fs::write(place.join(format!("file-{number:03}")), "").unwrap();
        }
        reactor.block_on(async {
            let directory = reactor.plain_directory(place).unwrap();
            let listing = directory.open_listing().await.unwrap();
            for _ in 0..2 {
                let (mut bytes, mut buffer) = (Vec::new(), reactor.buffer(4096));
                loop {
                    let (count, back) = listing.entries(buffer).await;
                    buffer = back;
                    let count = count.unwrap();
                    if count == 0 {
                        break;
                    }
                    bytes.extend_from_slice(&buffer[..count]);
                }
                let found = bytes.windows(5).filter(|window| window == b"file-").count();
                assert_eq!(found, 300);
                listing.rewind();
            }
        });
    });
}

#[test]
fn space_is_reserved_and_given_back() {
    on_all(|reactor, place| {
        reactor.block_on(async {
            let directory = reactor.plain_directory(place).unwrap();
            let (file, _) = directory.open_file(name(reactor, "space"), NEW).await;
            let file = file.unwrap();
            file.allocate(Space::Reserve, 0, 1 << 20).await.unwrap();
            let blocks =
                || std::os::linux::fs::MetadataExt::st_blocks(&place.join("space").metadata().unwrap());
            assert_eq!(place.join("space").metadata().unwrap().len(), 1 << 20);
            assert!(blocks() >= 2048);
            let mut ones = reactor.buffer(8192);
            ones.fill(1);
            let (written, _) = file.write_at(ones, 0..8192, 0).await;
            written.unwrap();
            file.sync(false).await.unwrap();
            file.allocate(Space::Punch, 4096, (1 << 20) - 4096).await.unwrap();
            assert!(blocks() < 2048);
            let (read, back) = file.read_at(reactor.buffer(8192), 0..8192, 0).await;
            assert_eq!(read.unwrap(), 8192);
            assert!(back[..4096].iter().all(|byte| *byte == 1) && back[4096..].iter().all(|byte| *byte == 0));
            let refused = file.discard_blocks(0, 4096).await.unwrap_err();
            assert!(matches!(refused.raw_os_error(), Some(libc::ENOTTY | libc::EINVAL)), "{refused}");
        });
    });
}

#[test]
fn many_operations_at_once_keep_to_their_own_buffers() {
    on_all(|reactor, place| {
        let path = place.join("many");
        let content: Vec<u8> = (0..1_000_000_u32).map(|at| (at % 253) as u8).collect();
        std::fs::write(&path, &content).unwrap();
        let fd: OwnedFd = std::fs::File::open(&path).unwrap().into();
        let file = reactor.file(fd, FileOptions { register: true, ..FileOptions::default() });
        let reads = Cell::new(0);
        let lane = async |lane: usize| {
            let mut buffer = reactor.registered_buffer(4096);
            for round in 0..50 {
                let at = (lane * 7919 + round * 104_729) % 990_000;
                // Now and then nothing of it is in the page cache.
                if round % 10 == 0 {
                    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
                }
                let (count, back) = file.read_at(buffer, 0..4096, at as u64).await;
                // The page cache may hold only part of the data.
                let count = count.unwrap();
                assert!(count > 0 && back[..count] == content[at..at + count]);
                buffer = back;
                reads.set(reads.get() + 1);
            }
        };
        let left = reactor.run_lanes((0..40).map(lane).collect(), std::future::pending::<()>());
        assert_eq!((left, reads.get()), (0, 2000));
    });
}

#[test]
fn an_operation_that_nobody_waits_for_leaves_its_buffer_alone() {
    on_all(|reactor, place| {
        // A FIFO blocks its reader, like a dead network file system.
        let path = place.join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let both_ends = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let mut writer = both_ends.try_clone().unwrap();
        let file = reactor.file(both_ends.into(), FileOptions::default());
        reactor.block_on(async {
            let listing = file.clone();
            let waiting = async move { listing.entries(reactor.buffer(4096)).await };
            let (refused, _) = waiting.await;
            assert_eq!(refused.unwrap_err().raw_os_error(), Some(libc::ENOTDIR));
            let read = file.read_at(reactor.registered_buffer(4096), 0..4096, 0);
            let soon = reactor.now() + 20_000_000;
            // pread(2) refuses pipes, a ring read without a position does not: either way it is over.
            if reactor.timeout_at(soon, read).await.is_err() {
                std::io::Write::write_all(&mut writer, &[7; 4096]).unwrap();
            }
            reactor.sleep(Duration::from_millis(20)).await;
        });
    });
}

/// Holes need no device, so a polling ring can read them even if the device has no poll queues.
#[test]
fn a_ring_that_polls_completes_operations_and_timers_alike() {
    for choice in CHOICES {
        let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let path = place.path().join("holes");
        std::fs::File::create(&path).unwrap().set_len(1 << 30).unwrap();
        let reactor = Reactor::open(choice).unwrap();
        assert_eq!(
            reactor.polls_completions(),
            matches!(choice, BackendChoice::Polling(reactor::Polling { completions: true, .. }))
        );
        let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECT;
        let fd = rustix::fs::open(&path, flags, rustix::fs::Mode::empty()).unwrap();
        let file = reactor.file(fd, FileOptions { direct: true, register: true, ..FileOptions::default() });
        let lane = async |lane: u64| {
            let mut buffer = reactor.registered_buffer(4096);
            for round in 0..100 {
                buffer.fill(1);
                let (count, back) = file.read_at(buffer, 0..4096, (lane * 100 + round) * 4096).await;
                assert_eq!(count.unwrap(), 4096);
                buffer = back;
                assert!(buffer.iter().all(|byte| *byte == 0));
                if round % 25 == 0 {
                    let until = reactor.now() + 1_000_000;
                    reactor.sleep_until(until).await;
                    assert!(reactor.now() >= until);
                }
            }
        };
        assert_eq!(
            reactor.run_lanes((0..16).map(lane).collect(), std::future::pending::<()>()),
            0,
            "{choice}"
        );
        // A deadline ends a wait whether or not something is in flight, and dropped operations are not waited for.
        reactor.block_on(async {
            let past = reactor.now();
            for at in 0..50 {
                let _ =
                    reactor.timeout_at(past, file.read_at(reactor.buffer(4096), 0..4096, at * 4096)).await;
            }
        });
    }
}

#[test]
fn direct_reads_bypass_the_cache() {
    for choice in [BackendChoice::Uring, BackendChoice::Epoll] {
        // Not generally below /tmp, which may be a file system that keeps everything in memory.
        let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let reactor = Reactor::open(choice).unwrap();
        reactor.block_on(async {
            let directory = reactor.plain_directory(place.path()).unwrap();
            let options = FileOptions { direct: true, ..NEW };
            let (file, _) = directory.open_file(name(&reactor, "direct"), options).await;
            let file = file.unwrap();
            let mut buffer = reactor.registered_buffer(1 << 16);
            buffer.fill(9);
            let (written, buffer) = file.write_at(buffer, 0..1 << 16, 0).await;
            assert_eq!(written.unwrap(), 1 << 16);
            let (read, buffer) = file.read_at(buffer, 4096..8192, 4096).await;
            assert_eq!(read.unwrap(), 4096);
            let (refused, _) = file.read_at(buffer, 1..513, 7).await;
            assert_eq!(refused.unwrap_err().raw_os_error(), Some(libc::EINVAL), "not aligned");
        });
    }
}

#[test]
fn a_file_is_made_when_it_is_missing_and_kept_when_it_is_there() {
    on_all(|reactor, place| {
        reactor.block_on(async {
            let directory = reactor.plain_directory(place).unwrap();
            let options = FileOptions { create: true, create_new: false, durable: Durable::Data, ..NEW };
            for text in [*b"one", *b"two"] {
                let (file, _) = directory.open_file(name(reactor, "made"), options).await;
                let file = file.unwrap();
                let flags = rustix::fs::fcntl_getfl(&file).unwrap();
                assert_eq!(flags.bits() & libc::O_SYNC as u32, libc::O_DSYNC as u32);
                let mut buffer = reactor.buffer(3);
                buffer[..3].copy_from_slice(&text);
                assert_eq!(file.write_at(buffer, 0..3, 0).await.0.unwrap(), 3);
                file.sync_range(0, 0, 7).await.unwrap();
                assert_eq!(std::fs::read(place.join("made")).unwrap(), text);
            }
            let missing =
                directory.open_file(name(reactor, "missing"), FileOptions { create: false, ..options });
            assert_eq!(missing.await.0.unwrap_err().kind(), std::io::ErrorKind::NotFound);
        });
    });
}

#[test]
fn extended_attributes_are_kept() {
    const NAME: &std::ffi::CStr = c"user.test";
    // tmpfs has had those of users only since Linux 6.6.
    on_disk(|reactor, place| {
        reactor.block_on(async {
            let directory = reactor.plain_directory(place).unwrap();
            let (file, mut buffer) = directory.open_file(name(reactor, "one"), NEW).await;
            let file = file.unwrap();
            let (read, back) = file.xattr(NAME, buffer).await;
            assert_eq!(read.unwrap_err().raw_os_error(), Some(libc::ENODATA));
            buffer = back;
            for value in [&b"first"[..], b"the second"] {
                buffer[..value.len()].copy_from_slice(value);
                let set;
                (set, buffer) = file.set_xattr(NAME, buffer, value.len()).await;
                set.unwrap();
                buffer.fill(0);
                let read;
                (read, buffer) = file.xattr(NAME, buffer).await;
                assert_eq!(&buffer[..read.unwrap()], value);
            }
        });
    });
}

#[test]
fn a_closed_descriptor_is_free_again() {
    on_all(|reactor, place| {
        reactor.block_on(async {
            let directory = reactor.plain_directory(place).unwrap();
            let (file, mut buffer) = directory.open_file(name(reactor, "one"), NEW).await;
            drop(file.unwrap());
            for number in 0..100 {
                let text = format!("{number:03}");
                let file;
                (file, buffer) = directory.open_file(name(reactor, &text), NEW).await;
                let (file, other) = (file.as_ref().unwrap().clone(), file.unwrap());
                file.close().await.unwrap();
                let (written, _) = other.write_at(reactor.buffer(10), 0..10, 0).await;
                assert_eq!(written.unwrap(), 10, "another handle keeps it open");
                other.close().await.unwrap();
            }
            // More often than a process may have files open.
            for _ in 0..100 {
                let mut open = Vec::new();
                for _ in 0..20 {
                    let fd;
                    (fd, buffer) = directory.open_descriptor(buffer, OLD).await;
                    open.push(fd.unwrap());
                }
                for fd in open {
                    reactor.close(fd).await.unwrap();
                }
            }
            let targets = std::fs::read_dir("/proc/self/fd").unwrap();
            let targets = targets.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
            assert_eq!(targets.filter(|target| target.starts_with(place)).count(), 1, "the directory");
            let (missing, _) = directory.open_descriptor(name(reactor, "two"), OLD).await;
            assert_eq!(missing.unwrap_err().kind(), std::io::ErrorKind::NotFound);
        });
    });
}

/// Alone, a cached read is a system call; with several ready at once, they share a submission. Both bring the same bytes.
#[test]
fn cached_reads_bring_the_same_bytes_alone_and_together() {
    const BLOCKS: u64 = 64;
    const BLOCK: usize = 4096;
    on_all(|reactor, place| {
        let file = reactor.block_on(async {
            let directory = reactor.plain_directory(place).unwrap();
            let (file, _) = directory.open_file(name(reactor, "cached"), NEW).await;
            let file = file.unwrap();
            for block in 0..BLOCKS {
                let mut buffer = reactor.buffer(BLOCK);
                buffer.fill(block as u8 + 1);
                let (written, _) = file.write_at(buffer, 0..BLOCK, block * BLOCK as u64).await;
                assert_eq!(written.unwrap(), BLOCK);
            }
            file
        });
        for lanes in [1, 2, 3, 4, 5, 32_u64] {
            let seen = Cell::new(0);
            let lane = async |lane: u64| {
                let mut buffer = reactor.registered_buffer(BLOCK);
                for block in (lane..BLOCKS).step_by(lanes as usize) {
                    let read;
                    (read, buffer) = file.read_at(buffer, 0..BLOCK, block * BLOCK as u64).await;
                    assert_eq!(read.unwrap(), BLOCK);
                    assert!(
                        buffer.iter().all(|byte| *byte == block as u8 + 1),
                        "{lanes} lanes, block {block}"
                    );
                    seen.set(seen.get() + 1);
                }
            };
            let left = reactor.run_lanes((0..lanes).map(lane).collect(), std::future::pending::<()>());
            assert_eq!((left, seen.get()), (0, BLOCKS));
        }
    });
}
