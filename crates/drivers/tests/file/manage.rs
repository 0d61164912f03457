//! Before and after the load: creating, adopting, dropping caches, removing.

use std::fs;

use drivers::Sink;
use drivers::file::{FileConfig, FileDriver, Place};
use drivers::tree::{DirectoryTree, TreeLayout};
use metrics::{ErrorKind, OpKind};
use reactor::{BackendChoice, Reactor};

use crate::support::{connect, directory, driver, image, op, perform, place};

#[test]
fn our_directory_comes_and_goes() {
    let place = place();
    let path = directory(place.path());
    let driver = driver(Place::Directory(path.clone()), |_| {});
    assert_eq!(driver.remove_all().unwrap(), 0, "not there yet");
    assert_eq!(driver.adopt().unwrap_err().kind, ErrorKind::NotFound);
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let early = connect(&reactor, &driver, Sink::Buffer).err().unwrap();
    assert!(early.detail.contains("must be prepared first"), "{early}");
    driver.prepare().unwrap();
    driver.adopt().unwrap();
    assert_eq!(driver.prepare().unwrap_err().kind, ErrorKind::AlreadyExists);
    let session = connect(&reactor, &driver, Sink::Buffer).unwrap();
    for object in 0..100 {
        perform(&reactor, &session, &op(OpKind::Create, object, 0, 0)).unwrap();
    }
    perform(&reactor, &session, &op(OpKind::Write, 3, 0, 999)).unwrap();
    let mut files = driver.files().unwrap();
    files.sort_unstable();
    assert_eq!((files.len(), files[3], files[4]), (100, (3, 999), (4, 0)));
    assert!(driver.invalidate().unwrap().starts_with("pages of 100 files given up"));
    drop(session);
    assert_eq!(driver.remove_all().unwrap(), 100);
    assert!(!path.exists());
    assert_eq!(driver.remove_all().unwrap(), 0);
}

#[test]
fn what_is_not_ours_stays() {
    let place = place();
    let path = directory(place.path());
    let driver = driver(Place::Directory(path.clone()), |_| {});
    // A directory that somebody else created, with a file whose name could be ours.
    fs::create_dir(&path).unwrap();
    fs::write(path.join("0123456789abcdef"), "precious").unwrap();
    for refused in
        [driver.prepare().unwrap_err(), driver.adopt().unwrap_err(), driver.remove_all().unwrap_err()]
    {
        assert_eq!(refused.kind, ErrorKind::AlreadyExists);
    }
    assert_eq!(fs::read_to_string(path.join("0123456789abcdef")).unwrap(), "precious");
    fs::remove_file(path.join("0123456789abcdef")).unwrap();
    // Ours, but with a foreign file.
    fs::remove_dir(&path).unwrap();
    driver.prepare().unwrap();
    fs::write(path.join("guest"), "precious").unwrap();
    fs::write(path.join("0000000000000001"), "ours").unwrap();
    let refused = driver.remove_all().unwrap_err();
    assert!(refused.detail.contains("files that are not ours"), "{refused}");
    assert!(path.join("guest").exists() && !path.join("0000000000000001").exists());
    fs::remove_file(path.join("guest")).unwrap();
    assert_eq!(driver.remove_all().unwrap(), 0);
    assert!(!path.exists());
}

#[test]
fn a_tree_is_removed_by_its_mark_alone_except_what_is_not_ours() {
    let place = place();
    let path = directory(place.path());
    let tree = DirectoryTree::new(2, 3, TreeLayout::Hashed).unwrap();
    let ours = driver(Place::Directory(path.clone()), |config| config.tree = tree);
    ours.prepare().unwrap();
    ours.adopt().unwrap();
    // Neither in the tree by its name, nor below a link.
    let elsewhere = place.path().join("elsewhere");
    fs::create_dir_all(path.join("03/00")).unwrap();
    fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, path.join("02/01/00")).unwrap();
    let strangers = [path.join("03/00"), elsewhere, path.join("00")].map(|at| at.join(format!("{:016x}", 1)));
    strangers.iter().for_each(|file| fs::write(file, "precious").unwrap());
    fs::write(path.join(tree.path_of(1)), "ours").unwrap();
    assert_eq!(ours.files().unwrap(), [(1, 4)]);
    // As clean-up after a crash does, which knows the path only.
    let later = driver(Place::Directory(path.clone()), |_| {});
    let refused = later.adopt().unwrap_err();
    assert!(refused.detail.contains("depth 2, directories 3, layout hashed"), "{refused}");
    let refused = later.remove_all().unwrap_err();
    assert!(refused.detail.contains("files that are not ours"), "{refused}");
    assert!(strangers.iter().all(|file| file.exists()) && !path.join(tree.path_of(1)).exists());
    assert!(path.join("02/01/00").is_symlink() && !path.join("01").exists());
    fs::remove_dir_all(path.join("03")).unwrap();
    fs::remove_file(path.join("02/01/00")).unwrap();
    fs::remove_file(&strangers[2]).unwrap();
    // A tree that is only in part there.
    assert_eq!(later.remove_all().unwrap(), 0);
    assert!(!path.exists());
}

#[test]
fn lists_go_through_all_leaves() {
    let place = place();
    let tree = DirectoryTree::new(1, 4, TreeLayout::Hashed).unwrap();
    let driver = driver(Place::Directory(directory(place.path())), |config| config.tree = tree);
    driver.prepare().unwrap();
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let session = connect(&reactor, &driver, Sink::Buffer).unwrap();
    // A leaf each. Then one that is gone is noticed.
    for _ in 0..8 {
        perform(&reactor, &session, &op(OpKind::List, 0, 0, 0)).unwrap();
    }
    fs::remove_dir(directory(place.path()).join("03")).unwrap();
    for _ in 0..3 {
        perform(&reactor, &session, &op(OpKind::List, 0, 0, 0)).unwrap();
    }
    let gone = perform(&reactor, &session, &op(OpKind::List, 0, 0, 0)).unwrap_err();
    assert_eq!(gone.kind, ErrorKind::NotFound);
}

#[test]
fn a_directory_behind_a_link_is_not_ours() {
    let place = place();
    let real = driver(Place::Directory(place.path().join("real")), |_| {});
    real.prepare().unwrap();
    fs::write(place.path().join("real/0000000000000001"), "").unwrap();
    std::os::unix::fs::symlink(place.path().join("real"), directory(place.path())).unwrap();
    let linked = driver(Place::Directory(directory(place.path())), |_| {});
    assert_eq!(linked.remove_all().unwrap_err().kind, ErrorKind::AlreadyExists);
    assert!(place.path().join("real/0000000000000001").exists());
}

#[test]
fn an_interrupted_preparation_is_cleaned_up() {
    let place = place();
    let driver = driver(Place::Directory(directory(place.path())), |_| {});
    fs::create_dir(directory(place.path())).unwrap();
    assert_eq!(driver.remove_all().unwrap(), 0);
    assert!(!directory(place.path()).exists());
}

#[test]
fn the_page_cache_forgets_what_is_invalidated() {
    let place = place();
    let driver = driver(Place::Directory(directory(place.path())), |_| {});
    driver.prepare().unwrap();
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let session = connect(&reactor, &driver, Sink::Buffer).unwrap();
    perform(&reactor, &session, &op(OpKind::Create, 1, 0, 0)).unwrap();
    perform(&reactor, &session, &op(OpKind::Write, 1, 0, 4 << 20)).unwrap();
    let file = fs::File::open(directory(place.path()).join(format!("{:016x}", 1))).unwrap();
    assert!(cached_bytes(&file, 4 << 20) > 3 << 20);
    driver.invalidate().unwrap();
    assert_eq!(cached_bytes(&file, 4 << 20), 0);
}

/// Bytes of a file in the page cache (mincore(2)).
fn cached_bytes(file: &fs::File, len: usize) -> usize {
    use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
    let mut pages = vec![0_u8; len / 4096];
    // SAFETY: a new mapping of a file that is longer; mincore fills one byte per page.
    unsafe {
        let start = mmap(std::ptr::null_mut(), len, ProtFlags::READ, MapFlags::SHARED, file, 0).unwrap();
        assert_eq!(libc::mincore(start, len, pages.as_mut_ptr()), 0);
        munmap(start, len).unwrap();
    }
    pages.iter().filter(|page| **page & 1 != 0).count() * 4096
}

#[test]
fn facts_say_where_the_bytes_lie() {
    let place = place();
    let ours = driver(Place::Directory(directory(place.path())), |config| config.direct = true);
    // Before it is created, and after.
    for _ in 0..2 {
        let facts = ours.facts();
        for name in ["path", "direct", "alignment bytes", "file system", "mount point", "mount source"] {
            assert!(facts.get(name).is_some_and(|value| !value.is_empty()), "{name}: {facts:?}");
        }
        let _ = ours.prepare();
    }
    let device = driver(Place::Device(image(place.path(), 12_345)), |_| {});
    assert_eq!(device.facts()["size bytes"], "12345");
    assert_eq!(device.files().unwrap(), [(0, 12_345)]);
    assert!(device.invalidate().unwrap().contains("DONTNEED"));
}

#[test]
fn a_configuration_that_makes_no_sense_is_refused() {
    let wrong = |change: fn(&mut FileConfig)| {
        let mut config = FileConfig::new(Place::Directory("/somewhere".into()));
        change(&mut config);
        FileDriver::new(config).unwrap_err().detail.into_string()
    };
    assert!(wrong(|c| c.place = Place::Directory("relative".into())).contains("absolute path"));
    assert!(wrong(|c| c.open_files = 0).contains("at least 1"));
    assert!(wrong(|c| c.fallocate = drivers::file::Fallocate::Zero).contains("needs their size"));
}
