//! Directories and names.

use std::collections::BTreeSet;

use wire::nfs3::{
    AccessArgs, AccessOk, Attributes, CreateOk, Device, DirArgs, FileHandle, FileType, LinkArgs, LinkWcc,
    LookupOk, MkdirArgs, MknodArgs, MknodWhat, Name, Path, Procedure, ReaddirArgs, ReaddirOk,
    ReaddirplusArgs, ReaddirplusOk, ReadlinkOk, RenameArgs, RenameWcc, SetAttributes, Status, SymlinkArgs,
    WccData,
};

use crate::client::{Client, failed, ok, on_both_reactors};
use crate::reading::create;

fn place(directory: FileHandle, name: &[u8]) -> DirArgs<'_> {
    DirArgs { directory, name: Name(name) }
}

fn mkdir(client: &mut Client, parent: FileHandle, name: &[u8]) -> FileHandle {
    let args = MkdirArgs { place: place(parent, name), attributes: SetAttributes::default() };
    ok!(CreateOk, WccData, client.nfs(Procedure::Mkdir, &args)).file.unwrap()
}

fn lookup(client: &mut Client, directory: FileHandle, name: &[u8]) -> Result<FileHandle, Status> {
    let results = client.nfs(Procedure::Lookup, &place(directory, name));
    let found: wire::nfs3::ProcedureResult<LookupOk, Option<Attributes>> =
        wire::xdr::decode_all(&results).unwrap();
    found.map(|found| found.file).map_err(|failure| failure.status)
}

#[test]
fn names_come_and_go() {
    on_both_reactors(|fixture| {
        let (mut client, root) = fixture.mounted();
        let directory = mkdir(&mut client, root, b"d");
        let file = create(&mut client, directory, b"f");
        assert_eq!(lookup(&mut client, directory, b"f"), Ok(file));
        assert_eq!(lookup(&mut client, directory, b".."), Ok(root));
        let args = RenameArgs { from: place(directory, b"f"), to: place(root, b"g") };
        ok!(RenameWcc, RenameWcc, client.nfs(Procedure::Rename, &args));
        assert_eq!(lookup(&mut client, directory, b"f"), Err(Status::NOENT));
        let args = LinkArgs { file, link: place(directory, b"h") };
        let linked = ok!(LinkWcc, LinkWcc, client.nfs(Procedure::Link, &args));
        assert_eq!(linked.attributes.unwrap().links, 2);
        ok!(WccData, WccData, client.nfs(Procedure::Remove, &place(root, b"g")));
        let results = client.nfs(Procedure::Rmdir, &place(root, b"d"));
        assert_eq!(failed!(WccData, WccData, results), Status::NOTEMPTY);
        ok!(WccData, WccData, client.nfs(Procedure::Remove, &place(directory, b"h")));
        ok!(WccData, WccData, client.nfs(Procedure::Rmdir, &place(root, b"d")));
        assert_eq!(failed!(Attributes, (), client.nfs(Procedure::Getattr, &file)), Status::STALE);
        assert_eq!(lookup(&mut client, root, b"d"), Err(Status::NOENT));
    });
}

#[test]
fn a_name_that_is_too_long_has_its_own_error() {
    on_both_reactors(|fixture| {
        let (mut client, root) = fixture.mounted();
        assert_eq!(lookup(&mut client, root, &[b'x'; 300]), Err(Status::NAMETOOLONG));
        assert_eq!(lookup(&mut client, root, &[b'x'; 255]), Err(Status::NOENT));
    });
}

#[test]
fn links_and_special_files_are_kept() {
    on_both_reactors(|fixture| {
        let (mut client, root) = fixture.mounted();
        let attributes = SetAttributes::default();
        let args = SymlinkArgs { place: place(root, b"l"), attributes, target: Path(b"some/where") };
        let link = ok!(CreateOk, WccData, client.nfs(Procedure::Symlink, &args)).file.unwrap();
        let results = client.nfs(Procedure::Readlink, &link);
        assert_eq!(ok!(ReadlinkOk<'_>, Option<Attributes>, results).target, Path(b"some/where"));
        let results = client.nfs(Procedure::Readlink, &root);
        assert_eq!(failed!(ReadlinkOk<'_>, Option<Attributes>, results), Status::INVAL);
        let device = Device { major: 5, minor: 1 };
        let args = MknodArgs { place: place(root, b"c"), what: MknodWhat::Character(attributes, device) };
        let made = ok!(CreateOk, WccData, client.nfs(Procedure::Mknod, &args)).attributes.unwrap();
        assert_eq!((made.kind, made.device), (FileType::Character, device));
        let args = MknodArgs { place: place(root, b"x"), what: MknodWhat::Other(FileType::Regular) };
        assert_eq!(failed!(CreateOk, WccData, client.nfs(Procedure::Mknod, &args)), Status::BADTYPE);
    });
}

#[test]
fn access_follows_the_mode() {
    on_both_reactors(|fixture| {
        let (mut client, root) = fixture.mounted();
        let attributes = SetAttributes { mode: Some(0o750), ..SetAttributes::default() };
        let args = MkdirArgs { place: place(root, b"d"), attributes };
        let directory = ok!(CreateOk, WccData, client.nfs(Procedure::Mkdir, &args)).file.unwrap();
        let mut granted = |uid| {
            client.uid = uid;
            let results = client.nfs(Procedure::Access, &AccessArgs { file: directory, access: 0x1f });
            ok!(AccessOk, Option<Attributes>, results).access
        };
        assert_eq!(granted(0), 0x1f);
        // Everyone's group is 0 here.
        assert_eq!(granted(5), AccessArgs::READ | AccessArgs::LOOKUP);
    });
}

#[test]
fn directories_are_listed_in_pages() {
    on_both_reactors(|fixture| {
        let (mut client, root) = fixture.mounted();
        let directory = mkdir(&mut client, root, b"d");
        let wanted: BTreeSet<Vec<u8>> = (0..500).map(|n| format!("file-{n:04}").into_bytes()).collect();
        for name in &wanted {
            create(&mut client, directory, name);
        }
        let dots = [b".".to_vec(), b"..".to_vec()];
        for plus in [false, true] {
            let (mut seen, mut cookie, mut verifier, mut pages) = (Vec::new(), 0, [0; 8], 0);
            loop {
                pages += 1;
                let (names, eof, next);
                if plus {
                    let args =
                        ReaddirplusArgs { directory, cookie, verifier, dir_count: 2000, max_count: 4096 };
                    let results = client.nfs(Procedure::Readdirplus, &args);
                    assert!(results.len() <= 4096 + 4, "{} bytes", results.len());
                    let page = ok!(ReaddirplusOk<'_>, Option<Attributes>, results);
                    assert!(
                        page.entries.iter().all(|entry| entry.file.is_some() && entry.attributes.is_some())
                    );
                    names = page.entries.iter().map(|entry| entry.name.0.to_vec()).collect::<Vec<_>>();
                    (eof, next, verifier) = (page.eof, page.entries.last().unwrap().cookie, page.verifier);
                } else {
                    let args = ReaddirArgs { directory, cookie, verifier, count: 1000 };
                    let results = client.nfs(Procedure::Readdir, &args);
                    assert!(results.len() <= 1000 + 4, "{} bytes", results.len());
                    let page = ok!(ReaddirOk<'_>, Option<Attributes>, results);
                    names = page.entries.iter().map(|entry| entry.name.0.to_vec()).collect();
                    (eof, next, verifier) = (page.eof, page.entries.last().unwrap().cookie, page.verifier);
                }
                seen.extend(names);
                cookie = next;
                if eof {
                    break;
                }
            }
            assert!(pages > 10, "{pages} pages");
            assert_eq!(seen.len(), 502, "no name twice");
            assert!(dots.iter().chain(&wanted).all(|name| seen.contains(name)));
        }
    });
}

#[test]
fn listings_refuse_what_cannot_be() {
    on_both_reactors(|fixture| {
        let (mut client, root) = fixture.mounted();
        let file = create(&mut client, root, b"f");
        let mut list = |directory, cookie, verifier, count| {
            let results = client.nfs(Procedure::Readdir, &ReaddirArgs { directory, cookie, verifier, count });
            failed!(ReaddirOk<'_>, Option<Attributes>, results)
        };
        assert_eq!(list(root, 0, [0; 8], 100), Status::TOOSMALL);
        assert_eq!(list(root, 1, [9; 8], 4096), Status::BAD_COOKIE);
        assert_eq!(list(file, 0, [0; 8], 4096), Status::NOTDIR);
    });
}
