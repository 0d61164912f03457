//! Files that the user named: paths, opening, and work on them before and after a load.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use content::FileNames;
use drivers::file::{FileDriver, FileKind, Fill, Hint, NamedFiles, Place};
use drivers::{CommitKind, Op, Sink};
use metrics::{ErrorKind, OpKind};
use reactor::{BackendChoice, Durable, Reactor};

use super::support::{backends, connect, driver, op, perform, place};

fn named(place: &Path, names: FileNames) -> NamedFiles {
    NamedFiles {
        directory: place.to_owned(),
        job: "a job".into(),
        names,
        write: true,
        create: true,
        hint: Hint::Random,
    }
}

fn listed(names: &[&str]) -> FileNames {
    FileNames { listed: names.iter().map(|name| (*name).to_owned()).collect(), ..FileNames::default() }
}

/// Runs a test with a driver for named files on every backend, with buffered and direct I/O.
fn on_all(names: &FileNames, test: impl Fn(&Reactor, &FileDriver, &Path)) {
    for direct in [false, true] {
        for choice in backends(false) {
            let place = place();
            let driver =
                driver(Place::Named(named(place.path(), names.clone())), |config| config.direct = direct);
            driver.prepare().unwrap();
            test(&Reactor::open(choice).unwrap(), &driver, place.path());
        }
    }
}

#[test]
fn an_object_is_the_file_that_the_format_names() {
    on_all(&FileNames::default(), |reactor, driver, place| {
        let session = connect(reactor, driver, Sink::Verify).unwrap();
        let names = FileNames::default();
        for (number, file) in [(0, 0), (0, 1), (3, 1)] {
            let object = names.object(number, file);
            perform(reactor, &session, &op(OpKind::Write, object, 0, 8192)).unwrap();
            perform(reactor, &session, &op(OpKind::Read, object, 4096, 4096)).unwrap();
            let path = place.join(format!("a job.{number}.{file}"));
            assert_eq!(driver.path_of(object), path);
            assert_eq!(std::fs::metadata(&path).unwrap().len(), 8192);
        }
        drop(session);
        driver.adopt().unwrap();
        assert_eq!(driver.remove_all().unwrap(), 0, "what the user named stays");
        assert_eq!(std::fs::read_dir(place).unwrap().count(), 3);
    });
}

#[test]
fn odd_names_and_absolute_paths_are_taken_as_they_are() {
    let elsewhere = place();
    let absolute = elsewhere.path().join("x y");
    let odd = ["with blank", "a:colon", "-dash", "new\nline", "umläut", absolute.to_str().unwrap()];
    on_all(&listed(&odd), |reactor, driver, place| {
        let session = connect(reactor, driver, Sink::Buffer).unwrap();
        for (file, name) in odd.iter().enumerate() {
            perform(reactor, &session, &op(OpKind::Write, file as u64, 0, 4096)).unwrap();
            assert_eq!(std::fs::metadata(place.join(name)).unwrap().len(), 4096, "{name:?}");
        }
        std::fs::remove_file(&absolute).unwrap();
    });
}

#[test]
fn a_missing_file_is_named_in_the_error_and_not_made_by_reading() {
    let place = place();
    let names = listed(&["there/is/none", &"n".repeat(3000)]);
    let driver = driver(Place::Named(NamedFiles { write: false, ..named(place.path(), names) }), |_| {});
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let session = connect(&reactor, &driver, Sink::Buffer).unwrap();
    let error = perform(&reactor, &session, &op(OpKind::Read, 0, 0, 4096)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert!(error.detail.contains("there/is/none"), "{error}");
    let error = perform(&reactor, &session, &op(OpKind::Read, 1, 0, 4096)).unwrap_err();
    assert!(error.detail.contains("1 to 2047 bytes"), "{error}");
    assert_eq!(driver.look(0).unwrap().kind, FileKind::Missing);
}

#[test]
fn files_are_made_with_their_directories_and_as_much_space_as_is_asked_for() {
    let place = place();
    let driver = driver(Place::Named(named(place.path(), listed(&["d/e/f"]))), |_| {});
    let path = place.path().join("d/e/f");
    for (fill, bytes, held) in [
        (Fill::None, 0, false),
        (Fill::Reserve, 65_536, true),
        (Fill::Posix, 65_536, true),
        (Fill::Behind, 0, true),
        (Fill::Hole, 65_536, false),
    ] {
        driver.make(0, 65_536, fill, false).unwrap();
        let made = std::fs::metadata(&path).unwrap();
        assert_eq!((made.len(), made.blocks() * 512 >= 65_536), (bytes, held), "{fill:?}");
        driver.make(0, 4096, Fill::Hole, false).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 4096, "made anew");
        driver.make(0, 8192, Fill::Reserve, true).unwrap();
        assert_eq!(driver.look(0).unwrap().bytes, 8192, "kept, and longer");
    }
    let directory = std::fs::metadata(place.path().join("d/e")).unwrap();
    assert_eq!(directory.permissions().mode() & 0o777, 0o700);
    driver.forget_pages(0, 0, 0).unwrap();
    driver.remove_named(0).unwrap();
    driver.remove_named(0).unwrap();
    assert!(!path.exists());
    driver.forget_pages(0, 0, 0).unwrap();
}

#[test]
fn writes_can_be_durable_and_commits_are_what_the_engine_says() {
    for durable in [Durable::Nothing, Durable::Data, Durable::All] {
        for choice in backends(false) {
            let place = place();
            let names = listed(&["f"]);
            let driver = driver(Place::Named(named(place.path(), names)), |config| config.durable = durable);
            let reactor = Reactor::open(choice).unwrap();
            let session = connect(&reactor, &driver, Sink::Verify).unwrap();
            perform(&reactor, &session, &op(OpKind::Write, 0, 0, 4096)).unwrap();
            for kind in [CommitKind::Usual, CommitKind::Full, CommitKind::Data, CommitKind::Range(7)] {
                let commit = Op { commit: kind, ..op(OpKind::Commit, 0, 0, 0) };
                perform(&reactor, &session, &commit).unwrap();
            }
            perform(&reactor, &session, &op(OpKind::Read, 0, 0, 4096)).unwrap();
            perform(&reactor, &session, &op(OpKind::Trim, 0, 0, 4096)).unwrap();
            assert_eq!(std::fs::metadata(place.path().join("f")).unwrap().blocks(), 0, "a hole");
        }
    }
}

#[test]
fn character_devices_are_read_and_written() {
    let names = listed(&["/dev/zero", "/dev/null"]);
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let place = place();
    let driver = driver(Place::Named(named(place.path(), names)), |_| {});
    let session = connect(&reactor, &driver, Sink::Buffer).unwrap();
    assert_eq!(driver.look(0).unwrap().kind, FileKind::Character);
    perform(&reactor, &session, &op(OpKind::Read, 0, 1 << 20, 65_536)).unwrap();
    perform(&reactor, &session, &op(OpKind::Write, 1, 1 << 30, 65_536)).unwrap();
    let error = perform(&reactor, &session, &op(OpKind::Read, 1, 0, 4096)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Length, "/dev/null has nothing to read");
    driver.forget_pages(0, 0, 4096).unwrap();
    driver.remove_named(0).unwrap();
    assert!(Path::new("/dev/zero").exists());
}

#[test]
fn many_files_go_through_few_descriptors() {
    const FILES: u64 = 10_000;
    let place = place();
    let driver =
        driver(Place::Named(named(place.path(), FileNames::default())), |config| config.open_files = 4);
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let session = connect(&reactor, &driver, Sink::Verify).unwrap();
    for file in 0..FILES {
        perform(&reactor, &session, &op(OpKind::Write, file, 0, 512)).unwrap();
    }
    for file in (0..FILES).step_by(97) {
        perform(&reactor, &session, &op(OpKind::Read, file, 0, 512)).unwrap();
    }
    let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let ours =
        open.filter(|fd| std::fs::read_link(fd.path()).is_ok_and(|path| path.starts_with(place.path())));
    assert!(ours.count() <= 5, "four files and the directory");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), FILES as usize);
}

#[test]
fn what_is_neither_file_nor_device_is_refused() {
    let place = place();
    std::fs::create_dir(place.path().join("d")).unwrap();
    let driver = driver(Place::Named(named(place.path(), listed(&["d", "f"]))), |_| {});
    assert!(driver.look(0).unwrap_err().detail.contains("neither a file nor a device"));
    std::fs::write(place.path().join("f"), "text").unwrap();
    let error = driver.check_named(1, &[], false).unwrap_err();
    assert!(error.detail.contains("no block device"), "{error}");
}
