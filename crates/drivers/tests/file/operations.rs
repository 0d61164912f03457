//! Every operation on every backend.

use std::cell::Cell;

use drivers::file::{Fallocate, Place};
use drivers::{Op, Payload, Session, Sink};
use metrics::{ErrorKind, OpKind};
use reactor::{BackendChoice, Reactor};

use crate::support::{backends, connect, directory, driver, image, op, perform, place, with_directories};

#[test]
fn a_file_is_made_written_read_looked_at_and_removed() {
    with_directories(Sink::Verify, |reactor, session, driver| {
        let path = driver.config().place.path();
        for object in [0, 5, 0xFFFF_0001_0000_0002] {
            let name = path.join(format!("{object:016x}"));
            perform(reactor, session, &op(OpKind::Create, object, 0, 0)).unwrap();
            let again = perform(reactor, session, &op(OpKind::Create, object, 0, 0)).unwrap_err();
            assert_eq!(again.kind, ErrorKind::AlreadyExists);
            for block in 0..4 {
                let done =
                    perform(reactor, session, &op(OpKind::Write, object, block * 65_536, 65_536)).unwrap();
                assert_eq!(done.bytes, 65_536);
                assert!(done.rpcs >= 1);
            }
            perform(reactor, session, &op(OpKind::Commit, object, 0, 0)).unwrap();
            let mut expected = vec![0; 4 * 65_536];
            Payload::new(7).fill(object, 0, &mut expected);
            assert!(std::fs::read(&name).unwrap() == expected);
            for (offset, len) in [(0, 4 * 65_536), (4096, 4096), (3 * 65_536, 65_536), (131_072, 8192)] {
                let done = perform(reactor, session, &op(OpKind::Read, object, offset, len)).unwrap();
                assert_eq!(done.bytes, len);
            }
            perform(reactor, session, &op(OpKind::Stat, object, 0, 0)).unwrap();
            perform(reactor, session, &op(OpKind::List, 0, 0, 0)).unwrap();
            perform(reactor, session, &op(OpKind::Readdir, 0, 0, 0)).unwrap();
            perform(reactor, session, &op(OpKind::Remove, object, 0, 0)).unwrap();
            assert!(!name.exists());
            for kind in [OpKind::Read, OpKind::Write, OpKind::Stat, OpKind::Remove, OpKind::Commit] {
                let gone = perform(reactor, session, &op(kind, object, 4096, 4096)).unwrap_err();
                assert_eq!(gone.kind, ErrorKind::NotFound, "{kind}: {gone}");
                assert!(gone.detail.contains(&format!("/{object:016x}: ")), "{gone}");
            }
        }
    });
}

/// Several buffers of entries; `.` and `..` do not count.
#[test]
fn each_listing_goes_through_the_whole_directory() {
    const FILES: u64 = 10_000;
    with_directories(Sink::Buffer, |reactor, session, driver| {
        let path = driver.config().place.path();
        let there = std::fs::read_dir(path).unwrap().count() as u64;
        for file in 0..FILES {
            std::fs::File::create(path.join(format!("{file:016x}"))).unwrap();
        }
        for kind in [OpKind::List, OpKind::Readdir, OpKind::List] {
            let done = perform(reactor, session, &op(kind, 0, 0, 0)).unwrap();
            let mut seen = Vec::new();
            session.visit_procedures(0, |stats| seen.extend(stats.listing.is_some().then_some(*stats)));
            let [stats] = seen[..] else { panic!("{seen:?}") };
            let listing = stats.listing.unwrap();
            assert_eq!((listing.entries, listing.started), (there + FILES, 1), "{kind}");
            assert!(stats.calls > 2 && stats.calls == stats.ok, "{stats:?}");
            // Opening and closing are calls of the operation too.
            assert_eq!(u64::from(done.rpcs), stats.calls + 2);
            assert!(listing.first_total_ns > 0 && stats.max_ns <= stats.total_ns);
        }
        perform(reactor, session, &op(OpKind::Stat, 0, 0, 0)).unwrap();
        session.visit_procedures(0, |stats| {
            assert_eq!(stats.listing, None, "{stats:?} of an earlier operation")
        });
    });
}

#[test]
fn generations_tell_old_data_from_new() {
    with_directories(Sink::Verify, |reactor, session, _| {
        perform(reactor, session, &op(OpKind::Create, 1, 0, 0)).unwrap();
        let write = |generation| Op { generation, ..op(OpKind::Write, 1, 4096, 8192) };
        let read = |generation| Op { generation, ..op(OpKind::Read, 1, 4096, 8192) };
        perform(reactor, session, &write(3)).unwrap();
        perform(reactor, session, &read(3)).unwrap();
        let stale = perform(reactor, session, &read(4)).unwrap_err();
        assert_eq!(stale.kind, ErrorKind::Corrupt);
        assert!(stale.detail.starts_with("read of 8192 bytes at 4096, "), "{stale}");
        assert!(stale.detail.contains("generation 3 of this place instead of 4"), "{stale}");
    });
}

#[test]
fn a_flipped_bit_is_found_at_its_place() {
    with_directories(Sink::Verify, |reactor, session, driver| {
        perform(reactor, session, &op(OpKind::Create, 1, 0, 0)).unwrap();
        perform(reactor, session, &op(OpKind::Write, 1, 0, 1 << 20)).unwrap();
        perform(reactor, session, &op(OpKind::Commit, 1, 0, 0)).unwrap();
        let name = driver.config().place.path().join(format!("{:016x}", 1));
        let mut content = std::fs::read(&name).unwrap();
        content[777_777] ^= 16;
        std::fs::write(&name, content).unwrap();
        std::fs::File::open(&name).unwrap().sync_all().unwrap();
        let wrong = perform(reactor, session, &op(OpKind::Read, 1, 0, 1 << 20)).unwrap_err();
        assert_eq!(wrong.kind, ErrorKind::Corrupt);
        assert!(wrong.detail.contains("1 bit differs at byte 777777"), "{wrong}");
    });
}

#[test]
fn reads_beyond_the_end_are_errors_of_length() {
    with_directories(Sink::Buffer, |reactor, session, _| {
        perform(reactor, session, &op(OpKind::Create, 1, 0, 0)).unwrap();
        perform(reactor, session, &op(OpKind::Write, 1, 0, 8192)).unwrap();
        for offset in [4096, 8192, 1 << 30] {
            let short = perform(reactor, session, &op(OpKind::Read, 1, offset, 8192)).unwrap_err();
            assert_eq!(short.kind, ErrorKind::Length, "{short}");
            assert!(short.detail.contains(&format!("the file ends at {}", offset.max(8192))), "{short}");
        }
    });
}

#[test]
fn what_does_not_fit_past_the_page_cache_is_refused_in_one_line() {
    let place = place();
    let driver = driver(Place::Directory(directory(place.path())), |config| config.direct = true);
    driver.prepare().unwrap();
    let unit = u64::from(driver.alignment().unwrap().unwrap().offset_bytes);
    assert!(unit > 1);
    for choice in backends(false) {
        let reactor = Reactor::open(choice).unwrap();
        let session = connect(&reactor, &driver, Sink::Buffer).unwrap();
        perform(&reactor, &session, &op(OpKind::Create, 1, 0, 0)).unwrap();
        for (offset, len) in [(0, unit + 1), (unit / 2, unit)] {
            let wrong = perform(&reactor, &session, &op(OpKind::Write, 1, offset, len)).unwrap_err();
            assert_eq!(wrong.kind, ErrorKind::Rejected);
            assert!(wrong.detail.contains(&format!("multiples of {unit} bytes")), "{wrong}");
            assert!(!wrong.detail.contains('\n'));
        }
        perform(&reactor, &session, &op(OpKind::Remove, 1, 0, 0)).unwrap();
    }
    assert!(driver.check_block_bytes(unit * 3).is_ok());
    let wrong = driver.check_block_bytes(unit * 3 + 1).unwrap_err();
    assert!(wrong.detail.contains("blocks of") && wrong.detail.contains("set direct to false"), "{wrong}");
}

#[test]
fn many_more_files_than_stay_open() {
    for choice in backends(false) {
        let place = place();
        let driver = driver(Place::Directory(directory(place.path())), |config| config.open_files = 8);
        driver.prepare().unwrap();
        let reactor = Reactor::open(choice).unwrap();
        let session = connect(&reactor, &driver, Sink::Verify).unwrap();
        let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let (before, most) = (open(), Cell::new(0));
        let lane = async |lane: u32| {
            for round in 0..2 {
                for number in 0..50_u64 {
                    let object = u64::from(lane) << 32 | number;
                    let op = |kind| Op { lane, ..op(kind, object, 0, 5000) };
                    if round == 0 {
                        session.perform(&op(OpKind::Create)).await.unwrap();
                        session.perform(&op(OpKind::Write)).await.unwrap();
                    }
                    session.perform(&op(OpKind::Read)).await.unwrap();
                    most.set(most.get().max(open()));
                }
            }
        };
        reactor.run_lanes((0..8).map(lane).collect(), std::future::pending::<()>());
        // Other tests of this process run concurrently, but none keeps hundreds open.
        assert!(most.get() < before + 300, "{} descriptors for 400 files", most.get());
        assert_eq!(driver.files().unwrap().len(), 400);
        drop(session);
        assert_eq!(driver.remove_all().unwrap(), 400);
    }
}

#[test]
fn space_is_reserved_when_a_file_is_made() {
    for (fallocate, choice) in [Fallocate::None, Fallocate::Allocate, Fallocate::Zero]
        .into_iter()
        .flat_map(|how| backends(false).into_iter().map(move |choice| (how, choice)))
    {
        let place = place();
        let driver = driver(Place::Directory(directory(place.path())), |config| {
            (config.fallocate, config.file_bytes) = (fallocate, 1 << 20);
        });
        driver.prepare().unwrap();
        let reactor = Reactor::open(choice).unwrap();
        let session = connect(&reactor, &driver, Sink::Buffer).unwrap();
        perform(&reactor, &session, &op(OpKind::Create, 9, 0, 0)).unwrap();
        let metadata = driver.config().place.path().join(format!("{:016x}", 9)).metadata().unwrap();
        let reserved = std::os::linux::fs::MetadataExt::st_blocks(&metadata) * 512;
        let expected = if fallocate == Fallocate::None { 0 } else { 1 << 20 };
        assert_eq!((metadata.len(), reserved >= expected), (expected, true), "{fallocate} {choice}");
    }
}

#[test]
fn trims_leave_zeros_and_free_the_space() {
    with_directories(Sink::Buffer, |reactor, session, driver| {
        perform(reactor, session, &op(OpKind::Create, 1, 0, 0)).unwrap();
        perform(reactor, session, &op(OpKind::Write, 1, 0, 1 << 20)).unwrap();
        perform(reactor, session, &op(OpKind::Commit, 1, 0, 0)).unwrap();
        perform(reactor, session, &op(OpKind::Trim, 1, 4096, 65_536)).unwrap();
        let name = driver.config().place.path().join(format!("{:016x}", 1));
        let content = std::fs::read(&name).unwrap();
        assert_eq!(content.len(), 1 << 20);
        let zeros = content.iter().position(|byte| *byte == 0).unwrap();
        assert!(zeros < 4096 + 64 && content[4096..4096 + 65_536].iter().all(|byte| *byte == 0));
        assert!(content[4096 + 65_536..].iter().any(|byte| *byte != 0));
    });
}

/// Whether the file system has `FALLOC_FL_ZERO_RANGE`: tmpfs and overlays on it do not.
fn zeroes(result: Result<drivers::Done, drivers::OpError>) -> bool {
    match result {
        Ok(done) => {
            assert_eq!((done.bytes, done.rpcs), (0, 1));
            true
        }
        Err(error) => {
            assert_eq!(error.kind, ErrorKind::Rejected, "{error}");
            assert!(error.detail.contains("this file system or device does not have it"), "{error}");
            false
        }
    }
}

#[test]
fn zeroes_are_written_without_freeing_the_space() {
    with_directories(Sink::Verify, |reactor, session, driver| {
        perform(reactor, session, &op(OpKind::Create, 1, 0, 0)).unwrap();
        perform(reactor, session, &op(OpKind::Write, 1, 0, 1 << 20)).unwrap();
        perform(reactor, session, &op(OpKind::Commit, 1, 0, 0)).unwrap();
        if !zeroes(perform(reactor, session, &op(OpKind::WriteZeroes, 1, 4096, 65_536))) {
            return;
        }
        let name = driver.config().place.path().join(format!("{:016x}", 1));
        let metadata = name.metadata().unwrap();
        assert!(std::os::linux::fs::MetadataExt::st_blocks(&metadata) * 512 >= 1 << 20);
        let content = std::fs::read(&name).unwrap();
        assert!(content.len() == 1 << 20 && content[4096..4096 + 65_536].iter().all(|byte| *byte == 0));
        let read = |offset, len| op(OpKind::Read, 1, offset, len);
        perform(reactor, session, &read(4096, 65_536).generation(Op::ZEROES)).unwrap();
        perform(reactor, session, &read(4096 + 65_536, 65_536)).unwrap();
        for wrong in [read(4096, 65_536), read(0, 65_536).generation(Op::ZEROES)] {
            assert_eq!(perform(reactor, session, &wrong).unwrap_err().kind, ErrorKind::Corrupt);
        }
    });
}

#[test]
fn a_file_is_used_like_a_device_and_keeps_its_size() {
    for direct in [false, true] {
        for choice in backends(direct) {
            let place = place();
            let path = image(place.path(), 1 << 20);
            let driver = driver(Place::Device(path.clone()), |config| config.direct = direct);
            assert_eq!(driver.device_size().unwrap(), 1 << 20);
            let reactor = Reactor::open(choice).unwrap();
            let session = match connect(&reactor, &driver, Sink::Verify) {
                Ok(session) => session,
                Err(e) if reactor.polls_completions() && e.detail.contains("cannot be polled") => continue,
                Err(e) => panic!("{choice}: {e}"),
            };
            let unchecked = perform(&reactor, &session, &op(OpKind::Write, 0, 0, 4096)).unwrap_err();
            assert_eq!(unchecked.kind, ErrorKind::Rejected, "{unchecked}");
            drop(session);
            driver.check_device(&[]).unwrap();
            driver.prepare().unwrap();
            let session = connect(&reactor, &driver, Sink::Verify).unwrap();
            for (offset, len) in [(0, 65_536), (65_536, (1 << 20) - 65_536)] {
                perform(&reactor, &session, &op(OpKind::Write, 0, offset, len)).unwrap();
            }
            perform(&reactor, &session, &op(OpKind::Commit, 0, 0, 0)).unwrap();
            perform(&reactor, &session, &op(OpKind::Read, 0, 0, 1 << 20)).unwrap();
            perform(&reactor, &session, &op(OpKind::Stat, 0, 0, 0)).unwrap();
            let beyond = perform(&reactor, &session, &op(OpKind::Write, 0, 1 << 20, 4096)).unwrap_err();
            assert_eq!(beyond.kind, ErrorKind::Length);
            assert!(beyond.detail.contains("the device ends at 1048576"), "{beyond}");
            for kind in
                [OpKind::Create, OpKind::Remove, OpKind::List, OpKind::Setxattr, OpKind::Open, OpKind::Put]
            {
                let refused = perform(&reactor, &session, &op(kind, 0, 0, 0)).unwrap_err();
                assert_eq!(refused.kind, ErrorKind::Rejected);
            }
            zeroes(perform(&reactor, &session, &op(OpKind::WriteZeroes, 0, 0, 65_536)));
            assert_eq!(path.metadata().unwrap().len(), 1 << 20);
            perform(&reactor, &session, &op(OpKind::Trim, 0, 0, 1 << 20)).unwrap();
            assert_eq!(path.metadata().unwrap().len(), 1 << 20);
            assert!(std::fs::read(&path).unwrap().iter().all(|byte| *byte == 0));
        }
    }
}

#[test]
fn polling_through_the_page_cache_is_refused() {
    let place = place();
    let driver = driver(Place::Directory(directory(place.path())), |_| {});
    driver.prepare().unwrap();
    let reactor = Reactor::open(BackendChoice::polling(true, false)).unwrap();
    let refused = connect(&reactor, &driver, Sink::Buffer).err().unwrap();
    assert!(
        refused.detail.contains("(iopoll) works past the page cache only: set direct to true"),
        "{refused}"
    );
}

#[test]
fn ranges_longer_than_one_piece_are_moved_whole() {
    for choice in backends(false) {
        let place = place();
        let driver = driver(Place::Directory(directory(place.path())), |_| {});
        driver.prepare().unwrap();
        let reactor = Reactor::open(choice).unwrap();
        let session = connect(&reactor, &driver, Sink::Verify).unwrap();
        let len = (64 << 20) + 12_345;
        perform(&reactor, &session, &op(OpKind::Create, 1, 0, 0)).unwrap();
        let done = perform(&reactor, &session, &op(OpKind::Write, 1, 77, len)).unwrap();
        assert_eq!(done.bytes, len);
        let done = perform(&reactor, &session, &op(OpKind::Read, 1, 77, len)).unwrap();
        assert_eq!(done.bytes, len);
        assert!(done.rpcs >= 2);
    }
}

#[test]
fn names_and_attributes_are_changed_on_every_backend() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    with_directories(Sink::Buffer, |reactor, session, driver| {
        let path = |object: u64| driver.config().place.path().join(format!("{object:016x}"));
        let perform = |op: Op| perform(reactor, session, &op);
        let of = |kind, object| op(kind, object, 0, 0);
        perform(of(OpKind::Create, 1)).unwrap();
        perform(of(OpKind::Access, 1)).unwrap();
        std::fs::set_permissions(path(1), std::fs::Permissions::from_mode(0o600)).unwrap();
        perform(of(OpKind::Chmod, 1)).unwrap();
        assert_eq!(path(1).metadata().unwrap().mode() & 0o7777, 0o644);
        perform(op(OpKind::Truncate, 1, 0, 12_345)).unwrap();
        assert_eq!(path(1).metadata().unwrap().len(), 12_345);
        perform(op(OpKind::Truncate, 1, 0, 8192)).unwrap();
        assert_eq!(perform(op(OpKind::Append, 1, 8192, 4096)).unwrap().bytes, 4096);
        assert_eq!(path(1).metadata().unwrap().len(), 12_288);
        assert_eq!(perform(of(OpKind::Close, 1)).unwrap_err().kind, ErrorKind::Rejected);
        for _ in 0..3 {
            perform(of(OpKind::Open, 1)).unwrap();
            perform(of(OpKind::Close, 1)).unwrap();
        }
        assert_eq!(perform(of(OpKind::Close, 1)).unwrap_err().kind, ErrorKind::Rejected);
        perform(of(OpKind::Getxattr, 1)).unwrap();
        perform(of(OpKind::Setxattr, 1)).unwrap();
        perform(of(OpKind::Getxattr, 1)).unwrap();
        let attribute = || {
            let mut value = [0; 64];
            let len = rustix::fs::getxattr(path(1), "user.manometer", &mut value).unwrap();
            String::from_utf8(value[..len].to_vec()).unwrap()
        };
        let first = attribute();
        assert!(first.len() == 32 && first.starts_with(&format!("{:016x}", 1)), "{first}");
        perform(of(OpKind::Setxattr, 1)).unwrap();
        assert_ne!(attribute(), first, "each set changes something");
        let flags = rustix::fs::XattrFlags::empty();
        rustix::fs::setxattr(path(1), "user.manometer", &[b'0'; 32], flags).unwrap();
        assert_eq!(perform(of(OpKind::Getxattr, 1)).unwrap_err().kind, ErrorKind::Corrupt);
        perform(of(OpKind::Link, 1).other(2)).unwrap();
        assert_eq!(path(1).metadata().unwrap().ino(), path(2).metadata().unwrap().ino());
        perform(of(OpKind::Rename, 1).other(3)).unwrap();
        assert!(!path(1).exists() && path(3).exists());
        // The descriptor kept for the old name is not used for it.
        assert_eq!(perform(op(OpKind::Truncate, 1, 0, 5)).unwrap_err().kind, ErrorKind::NotFound);
        for (object, durable, calls) in [(7, false, 3), (8, true, 4)] {
            let op = Op { durable, ..op(OpKind::WriteFile, object, 0, 65_536) };
            let done = perform(op).unwrap();
            assert!(done.bytes == 65_536 && done.rpcs >= calls, "{done:?}");
            let mut expected = vec![0; 65_536];
            Payload::new(7).fill(object, 0, &mut expected);
            assert!(std::fs::read(path(object)).unwrap() == expected);
            assert_eq!(perform(op).unwrap_err().kind, ErrorKind::AlreadyExists);
            let whole = |kind, len| Op { durable, kind, len, ..op };
            let read = perform(Op { durable: false, ..whole(OpKind::ReadFile, 65_536) }).unwrap();
            assert!(read.bytes == 65_536 && read.rpcs >= 3, "{read:?}");
            let longer = perform(whole(OpKind::ReadFile, 69_632)).unwrap_err();
            assert_eq!(longer.kind, ErrorKind::Length);
            for (kind, len, left) in
                [(OpKind::Overwrite, 8192, 65_536), (OpKind::TruncateOverwrite, 8192, 8192)]
            {
                let done = perform(Op { generation: 1, ..whole(kind, len) }).unwrap();
                assert!(done.bytes == len && done.rpcs >= calls, "{done:?}");
                let found = std::fs::read(path(object)).unwrap();
                assert!(found.len() == left && found[..8192] != expected[..8192], "{kind}");
                assert!(left == 8192 || found[8192..] == expected[8192..], "{kind} changes what it writes");
            }
            perform(of(OpKind::Remove, object)).unwrap();
            for kind in [OpKind::ReadFile, OpKind::Overwrite, OpKind::TruncateOverwrite] {
                assert_eq!(perform(whole(kind, 4096)).unwrap_err().kind, ErrorKind::NotFound, "{kind}");
            }
        }
        perform(of(OpKind::Symlink, 4).other(3)).unwrap();
        assert_eq!(std::fs::read_link(path(4)).unwrap().to_str().unwrap(), format!("{:016x}", 3));
        perform(of(OpKind::Readlink, 4)).unwrap();
        perform(of(OpKind::Mkdir, 5)).unwrap();
        assert!(path(5).is_dir());
        perform(of(OpKind::Rmdir, 5)).unwrap();
        assert!(!path(5).exists());
        for (refused, kind) in [
            (of(OpKind::Link, 3).other(2), ErrorKind::AlreadyExists),
            (of(OpKind::Symlink, 4).other(3), ErrorKind::AlreadyExists),
            (of(OpKind::Rename, 9).other(10), ErrorKind::NotFound),
            (of(OpKind::Rmdir, 9), ErrorKind::NotFound),
            (of(OpKind::Readlink, 9), ErrorKind::NotFound),
            (of(OpKind::Access, 9), ErrorKind::NotFound),
            (of(OpKind::Chmod, 9), ErrorKind::NotFound),
            (of(OpKind::Open, 9), ErrorKind::NotFound),
            (of(OpKind::Setxattr, 9), ErrorKind::NotFound),
            (of(OpKind::Getxattr, 9), ErrorKind::NotFound),
            (op(OpKind::Append, 9, 0, 4096), ErrorKind::NotFound),
        ] {
            let error = perform(refused).unwrap_err();
            assert_eq!(error.kind, kind, "{error}");
        }
        for object in [2, 3, 4] {
            perform(of(OpKind::Remove, object)).unwrap();
        }
    });
}
