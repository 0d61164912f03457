//! File systems by name, and operations on their trees.

use wire::nfs3::{CreateHow, FileType, SetAttributes, Stability};
use wire::rpc::Gids;

use super::*;

fn array() -> (Arc<Files>, Arc<Capacity>) {
    let capacity = Capacity::new(1 << 30);
    (Files::new(Arc::clone(&capacity)), capacity)
}

fn filesystem() -> (Arc<Files>, Arc<FileSystem>) {
    let (files, _) = array();
    files.create("fs", Options::default()).unwrap();
    let system = files.exported("fs", ExportVersion::V3).unwrap().0;
    (files, system)
}

fn user(uid: u32) -> Caller {
    Caller { uid, gid: uid, gids: Gids::default() }
}

const UNCHECKED: CreateHow = CreateHow::Unchecked(SetAttributes {
    mode: None,
    uid: None,
    gid: None,
    size: None,
    accessed: wire::nfs3::SetTime::Keep,
    modified: wire::nfs3::SetTime::Keep,
});

fn file(tree: &mut Tree, directory: NodeId, name: &[u8]) -> NodeId {
    tree.create(directory, &Caller::root(), name, &UNCHECKED).unwrap().node
}

fn directory(tree: &mut Tree, parent: NodeId, name: &[u8]) -> NodeId {
    tree.make(parent, &Caller::root(), name, What::Directory, &SetAttributes::default()).unwrap().node
}

fn names(tree: &Tree, directory: NodeId) -> Vec<String> {
    let mut names = Vec::new();
    let root = Caller::root();
    tree.list(directory, &root, 0, [0; 8], |entry| {
        names.push(String::from_utf8_lossy(entry.name).into_owned());
        true
    })
    .unwrap();
    names
}

#[test]
fn a_file_system_lives_until_it_is_eradicated() {
    let (files, capacity) = array();
    files.create("a", Options::default()).unwrap();
    assert_eq!(files.create("a", Options::default()), Err(FilesError::Exists));
    let (system, _) = files.exported("a", ExportVersion::V3).unwrap();
    let (root, made) = {
        let mut tree = system.lock();
        let root = tree.root();
        let made = file(&mut tree, root, b"f");
        tree.write(made, &Caller::root(), 0, &[1; 5000], Stability::FileSync).unwrap();
        (root, made)
    };
    assert_eq!(files.usage("a").unwrap().bytes, 8192);
    assert_eq!(files.usage("a").unwrap().counts, NodeCounts { files: 1, ..NodeCounts::default() });
    let handle = system.handle(made);
    assert_eq!(files.resolve(&handle).unwrap().1, made);
    assert_eq!(files.eradicate("a"), Err(FilesError::NotDestroyed));
    files.destroy("a").unwrap();
    assert!(files.exported("a", ExportVersion::V3).is_none());
    assert_eq!(files.resolve(&handle).unwrap_err(), Status::STALE);
    assert_eq!(files.create("a", Options::default()), Err(FilesError::Exists));
    files.recover("a").unwrap();
    assert!(files.resolve(&handle).is_ok());
    files.destroy("a").unwrap();
    files.eradicate("a").unwrap();
    assert_eq!(capacity.used(), 0, "even while somebody still holds the file system");
    assert_eq!(system.lock().attributes(root), Err(Status::STALE));
    files.create("a", Options::default()).unwrap();
    assert_eq!(files.resolve(&handle).unwrap_err(), Status::STALE, "the new one is another");
}

#[test]
fn what_is_not_exported_does_not_answer() {
    let (files, _) = array();
    files.create("a", Options { nfs_v3: false, ..Options::default() }).unwrap();
    assert!(files.exports(ExportVersion::V3).is_empty());
    assert_eq!(files.exports(ExportVersion::V4_1)[0].name, "a");
    let handle = {
        let (system, _) = files.exported("a", ExportVersion::V4_1).unwrap();
        let root = system.lock().root();
        system.handle(root)
    };
    let client = IpAddr::from([10, 0, 0, 1]);
    assert_eq!(files.resolve(&handle).unwrap_err(), Status::STALE);
    assert!(files.resolve_for(&handle, client).is_ok());
    let denied = Options { denied: vec![client], ..Options::default() };
    files.set_options("a", denied).unwrap();
    assert_eq!(files.resolve_for(&handle, client).unwrap_err(), Status::ACCES);
    assert!(files.resolve(&handle).is_ok(), "version 3 asks when it mounts");
    files.set_options("a", Options { nfs_v4_1: false, ..Options::default() }).unwrap();
    assert_eq!(files.resolve_for(&handle, client).unwrap_err(), Status::STALE);
    files.set_options("a", Options::default()).unwrap();
    files.rename("a", "b").unwrap();
    assert_eq!(files.exports(ExportVersion::V3)[0].name, "b");
    assert_eq!(files.set_options("a", Options::default()), Err(FilesError::Missing));
    let handle = FileHandle::new(b"short").unwrap();
    assert_eq!(files.resolve(&handle).unwrap_err(), Status::BADHANDLE);
}

#[test]
fn a_limit_stops_writes_and_spares_the_other_file_systems() {
    let (files, _) = array();
    files.create("small", Options { limit_bytes: Some(8192), ..Options::default() }).unwrap();
    files.create("large", Options::default()).unwrap();
    for (name, wanted) in [("small", Err(Status::NOSPC)), ("large", Ok(()))] {
        let (system, _) = files.exported(name, ExportVersion::V3).unwrap();
        let mut tree = system.lock();
        let root = tree.root();
        let made = file(&mut tree, root, b"f");
        let done = tree.write(made, &Caller::root(), 0, &[1; 8193], Stability::Unstable);
        assert_eq!(done.map(|_| ()), wanted, "{name}");
    }
    assert_eq!(files.usage("small").unwrap().bytes, 0);
}

#[test]
fn a_restart_loses_what_was_not_committed_and_changes_the_verifier() {
    let (files, system) = filesystem();
    let caller = Caller::root();
    let mut tree = system.lock();
    let root = tree.root();
    let (kept, lost) = (file(&mut tree, root, b"kept"), file(&mut tree, root, b"lost"));
    let first = tree.write(kept, &caller, 0, b"abc", Stability::Unstable).unwrap().verifier;
    assert_eq!(tree.commit(kept).unwrap().verifier, first);
    tree.write(lost, &caller, 0, b"abc", Stability::Unstable).unwrap();
    drop(tree);
    files.restart();
    let mut tree = system.lock();
    assert_ne!(tree.commit(lost).unwrap().verifier, first);
    assert_eq!(tree.attributes(kept).unwrap().size, 3);
    assert_eq!(tree.attributes(lost).unwrap().size, 0);
}

#[test]
fn create_has_three_ways() {
    let (_files, system) = filesystem();
    let caller = Caller::root();
    let mut tree = system.lock();
    let root = tree.root();
    let plain = SetAttributes::default();
    let first = tree.create(root, &caller, b"f", &CreateHow::Guarded(plain)).unwrap().node;
    tree.write(first, &caller, 0, b"abc", Stability::FileSync).unwrap();
    assert_eq!(tree.create(root, &caller, b"f", &CreateHow::Guarded(plain)), Err(Status::EXIST));
    let again = tree.create(root, &caller, b"f", &UNCHECKED).unwrap();
    assert_eq!((again.node, again.attributes.size), (first, 3));
    let cut = CreateHow::Unchecked(SetAttributes { size: Some(0), ..plain });
    assert_eq!(tree.create(root, &caller, b"f", &cut).unwrap().attributes.size, 0);
    let made = tree.create(root, &caller, b"x", &CreateHow::Exclusive([7; 8])).unwrap().node;
    assert_eq!(tree.create(root, &caller, b"x", &CreateHow::Exclusive([7; 8])).unwrap().node, made);
    assert_eq!(tree.create(root, &caller, b"x", &CreateHow::Exclusive([8; 8])), Err(Status::EXIST));
    assert_eq!(tree.create(root, &caller, b"f", &CreateHow::Exclusive([8; 8])), Err(Status::EXIST));
}

#[test]
fn names_that_cannot_be_are_refused() {
    let (_files, system) = filesystem();
    let caller = Caller::root();
    let mut tree = system.lock();
    let root = tree.root();
    for (name, status) in [
        (b"".as_slice(), Status::INVAL),
        (b".", Status::EXIST),
        (b"..", Status::EXIST),
        (b"a/b", Status::INVAL),
        (b"a\0b", Status::INVAL),
        (&[b'x'; 256], Status::NAMETOOLONG),
    ] {
        let made = tree.make(root, &caller, name, What::Directory, &SetAttributes::default());
        assert_eq!(made.map(|_| ()), Err(status), "{}", name.escape_ascii());
    }
    assert_eq!(tree.counts(), NodeCounts::default());
}

#[test]
fn removing_respects_kinds_and_content() {
    let (_files, system) = filesystem();
    let caller = Caller::root();
    let mut tree = system.lock();
    let root = tree.root();
    let inner = directory(&mut tree, root, b"d");
    file(&mut tree, inner, b"f");
    assert_eq!(tree.attributes(root).unwrap().links, 3);
    assert_eq!(tree.remove(root, &caller, b"d", false), Err(Status::ISDIR));
    assert_eq!(tree.remove(root, &caller, b"d", true), Err(Status::NOTEMPTY));
    assert_eq!(tree.remove(inner, &caller, b"f", true), Err(Status::NOTDIR));
    assert_eq!(tree.remove(inner, &caller, b"g", false), Err(Status::NOENT));
    assert_eq!(tree.remove(inner, &caller, b".", true), Err(Status::INVAL));
    tree.remove(inner, &caller, b"f", false).unwrap();
    tree.remove(root, &caller, b"d", true).unwrap();
    assert_eq!(tree.attributes(inner), Err(Status::STALE));
    assert_eq!(tree.attributes(root).unwrap().links, 2);
    assert_eq!(tree.counts(), NodeCounts::default());
}

#[test]
fn a_file_with_two_names_lives_until_both_are_gone() {
    let (_files, system) = filesystem();
    let caller = Caller::root();
    let mut tree = system.lock();
    let root = tree.root();
    let made = file(&mut tree, root, b"a");
    assert_eq!(tree.link(made, &caller, root, b"b").unwrap().attributes.links, 2);
    assert_eq!(tree.link(root, &caller, root, b"c"), Err(Status::INVAL));
    assert_eq!(tree.link(made, &caller, root, b"a"), Err(Status::EXIST));
    tree.rename(&caller, (root, b"a"), (root, b"b")).expect("two names of one file: nothing to do");
    assert_eq!(names(&tree, root), [".", "..", "a", "b"]);
    tree.remove(root, &caller, b"a", false).unwrap();
    assert_eq!(tree.attributes(made).unwrap().links, 1);
    tree.remove(root, &caller, b"b", false).unwrap();
    assert_eq!(tree.attributes(made), Err(Status::STALE));
}

#[test]
fn renaming_moves_replaces_and_refuses() {
    let (_files, system) = filesystem();
    let caller = Caller::root();
    let mut tree = system.lock();
    let root = tree.root();
    let (a, b) = (directory(&mut tree, root, b"a"), directory(&mut tree, root, b"b"));
    let moved = directory(&mut tree, a, b"d");
    let one = file(&mut tree, a, b"one");
    let two = file(&mut tree, b, b"two");
    tree.rename(&caller, (a, b"d"), (b, b"e")).unwrap();
    assert_eq!(tree.lookup(moved, &caller, b"..").unwrap(), b);
    assert_eq!((tree.attributes(a).unwrap().links, tree.attributes(b).unwrap().links), (2, 3));
    tree.rename(&caller, (a, b"one"), (b, b"two")).unwrap();
    assert_eq!(tree.lookup(b, &caller, b"two").unwrap(), one);
    assert_eq!(tree.attributes(two), Err(Status::STALE));
    assert_eq!(tree.rename(&caller, (root, b"b"), (moved, b"x")), Err(Status::INVAL));
    assert_eq!(tree.rename(&caller, (b, b"two"), (b, b"e")), Err(Status::EXIST));
    assert_eq!(tree.rename(&caller, (b, b"e"), (b, b"two")), Err(Status::EXIST));
    assert_eq!(tree.rename(&caller, (root, b"a"), (root, b"b")), Err(Status::NOTEMPTY));
    assert_eq!(tree.rename(&caller, (root, b"none"), (root, b"x")), Err(Status::NOENT));
    tree.rename(&caller, (root, b"a"), (b, b"e")).expect("an empty directory is replaced");
    assert_eq!(names(&tree, b), [".", "..", "two", "e"]);
    assert_eq!(tree.counts(), NodeCounts { files: 1, directories: 2, others: 0 });
}

#[test]
fn a_listing_goes_on_where_it_stopped() {
    let (_files, system) = filesystem();
    let caller = Caller::root();
    let mut tree = system.lock();
    let root = tree.root();
    for number in 0..100 {
        file(&mut tree, root, format!("f{number:03}").as_bytes());
    }
    let verifier = tree.listing_verifier(root);
    let (mut seen, mut cookie, mut end) = (Vec::new(), 0, false);
    while !end {
        let mut room = 7;
        let from = if cookie == 0 { [0; 8] } else { verifier };
        let before = cookie;
        end = tree
            .list(root, &caller, before, from, |entry| {
                if room == 0 {
                    return false;
                }
                room -= 1;
                cookie = entry.cookie;
                seen.push(entry.name.to_vec());
                true
            })
            .unwrap();
    }
    assert_eq!(seen.len(), 102);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 102);
    assert_eq!(tree.list(root, &caller, 5, [1; 8], |_| true), Err(Status::BAD_COOKIE));
}

#[test]
fn permission_bits_are_respected() {
    let (_files, system) = filesystem();
    let mut tree = system.lock();
    let root = tree.root();
    let private = SetAttributes { mode: Some(0o700), ..SetAttributes::default() };
    let home = tree.make(root, &user(5), b"home", What::Directory, &private).unwrap().node;
    let mine = tree.create(home, &user(5), b"f", &UNCHECKED).unwrap().node;
    assert_eq!(tree.lookup(home, &user(6), b"f"), Err(Status::ACCES));
    assert_eq!(tree.create(home, &user(6), b"g", &UNCHECKED), Err(Status::ACCES));
    assert_eq!(tree.write(mine, &user(6), 0, b"x", Stability::Unstable), Err(Status::ACCES));
    let mode = SetAttributes { mode: Some(0), ..SetAttributes::default() };
    assert_eq!(tree.set_attributes(mine, &user(6), &mode, None), Err(Status::PERM));
    tree.set_attributes(mine, &user(5), &mode, None).unwrap();
    tree.write(mine, &user(5), 0, b"x", Stability::Unstable).expect("the owner may");
    assert_eq!(tree.read(mine, &user(6), 0, &mut [0; 1]), Err(Status::ACCES));
    assert_eq!(tree.read(mine, &user(5), 0, &mut [0; 9]).map(|done| (done.len, done.eof)), Ok((1, true)));
}

#[test]
fn a_read_only_file_system_changes_nothing() {
    let (files, system) = filesystem();
    let root = {
        let mut tree = system.lock();
        let root = tree.root();
        file(&mut tree, root, b"f");
        root
    };
    files.set_options("fs", Options { read_only: true, ..Options::default() }).unwrap();
    let caller = Caller::root();
    let mut tree = system.lock();
    let f = tree.lookup(root, &caller, b"f").unwrap();
    assert_eq!(tree.create(root, &caller, b"g", &UNCHECKED), Err(Status::ROFS));
    assert_eq!(tree.write(f, &caller, 0, b"x", Stability::Unstable), Err(Status::ROFS));
    assert_eq!(tree.remove(root, &caller, b"f", false), Err(Status::ROFS));
    assert_eq!(tree.set_attributes(f, &caller, &SetAttributes::default(), None), Err(Status::ROFS));
    assert!(tree.read(f, &caller, 0, &mut [0; 1]).is_ok());
}

#[test]
fn setting_attributes_respects_kind_and_guard() {
    let (_files, system) = filesystem();
    let caller = Caller::root();
    let mut tree = system.lock();
    let root = tree.root();
    let f = file(&mut tree, root, b"f");
    let size = |size| SetAttributes { size: Some(size), ..SetAttributes::default() };
    tree.set_attributes(f, &caller, &size(1 << 40), None).unwrap();
    let now = tree.attributes(f).unwrap();
    assert_eq!((now.size, now.used, now.kind), (1 << 40, 0, FileType::Regular));
    assert_eq!(tree.set_attributes(f, &caller, &size(u64::MAX), None), Err(Status::FBIG));
    assert_eq!(tree.set_attributes(root, &caller, &size(0), None), Err(Status::ISDIR));
    let other = wire::nfs3::Time { seconds: 1, nanoseconds: 1 };
    assert_eq!(tree.set_attributes(f, &caller, &size(0), Some(other)), Err(Status::NOT_SYNC));
    tree.set_attributes(f, &caller, &size(0), Some(now.changed)).unwrap();
    assert_eq!(tree.write(f, &caller, u64::MAX, b"x", Stability::Unstable), Err(Status::FBIG));
    let link = tree.make(root, &caller, b"l", What::Symlink(b"to"), &size(9)).unwrap();
    assert_eq!(tree.readlink(link.node).unwrap().0, b"to");
    assert_eq!(tree.read(link.node, &caller, 0, &mut [0; 1]), Err(Status::INVAL));
}
