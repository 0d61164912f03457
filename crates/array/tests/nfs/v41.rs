//! NFSv4.1: files and names, and the statuses that the RFC gives to what cannot be done.

use std::net::IpAddr;

use array::files::Options;
use wire::nfs3::{FileType, Name, Path, Stability};
use wire::nfs4::OpArgument as Op;
use wire::nfs4::*;

use crate::client::on_both_reactors;
use crate::v41_client::*;

fn attributes(reply: &Reply) -> ServedAttributes<'_> {
    match reply.outcomes().pop() {
        Some(OpOutcome::GetAttr(Ok(sent))) => ServedAttributes::of(&sent).unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_root_contains_the_exports_of_this_version() {
    on_both_reactors(|fixture| {
        fixture.files.create("other", Options::default()).unwrap();
        fixture.files.create("v3-only", Options { nfs_v4_1: false, ..Options::default() }).unwrap();
        let denied = Options { denied: vec![IpAddr::from([127, 0, 0, 1])], ..Options::default() };
        fixture.files.create("private", denied).unwrap();
        let mut client = Client41::join(fixture.connect(), b"a");
        let asked =
            Bitmap::of(&[Attribute::TYPE, Attribute::FSID, Attribute::FILE_ID, Attribute::MOUNTED_ON]);
        let list =
            ReadDirArgs { cookie: 0, verifier: [0; 8], dir_count: 0, max_count: 4096, attributes: asked };
        let reply = client.call(&[Op::PutRootFh(()), Op::ReadDir(list)]);
        let OpOutcome::ReadDir(Ok(page)) = reply.last() else { panic!("{:?}", reply.last()) };
        let names: Vec<_> = page.entries.iter().map(|entry| entry.name.0).collect();
        assert!(page.eof);
        assert_eq!(names, [b"fs".as_slice(), b"other"]);
        // One entry at a time: the list goes on where it stopped.
        let one = ReadDirArgs { dir_count: 1, ..list };
        let reply = client.call(&[Op::PutRootFh(()), Op::ReadDir(one)]);
        let OpOutcome::ReadDir(Ok(first)) = reply.last() else { panic!("{:?}", reply.last()) };
        assert_eq!((first.entries.len(), first.eof), (1, false));
        let more = ReadDirArgs { cookie: first.entries[0].cookie, verifier: first.verifier, ..list };
        let reply = client.call(&[Op::PutRootFh(()), Op::ReadDir(more)]);
        let OpOutcome::ReadDir(Ok(second)) = reply.last() else { panic!("{:?}", reply.last()) };
        assert_eq!(second.entries[0].name.0, b"other");

        let look_up = |client: &mut Client41, name| {
            client.call(&[Op::PutRootFh(()), Op::Lookup(Name(name)), Op::GetAttr(asked)]).status()
        };
        assert_eq!(look_up(&mut client, b"v3-only"), Nfs4Status::NOENT);
        assert_eq!(look_up(&mut client, b"private"), Nfs4Status::ACCESS);
        assert_eq!(look_up(&mut client, b"."), Nfs4Status::BADNAME);
        let root = client.call(&[Op::PutRootFh(()), Op::GetAttr(asked)]);
        let export = client.call(&[Op::PutRootFh(()), Op::Lookup(Name(b"fs")), Op::GetAttr(asked)]);
        assert_ne!(attributes(&root).file_system, attributes(&export).file_system);
        assert_ne!(
            attributes(&export).mounted_on,
            attributes(&export).file_id,
            "it lies on another file system"
        );
        // Back up from the export, and no further.
        let fs = client.export();
        let up = client.handle(&[Op::PutFh(fs), Op::LookupParent(())]);
        assert_eq!(up, client.handle(&[Op::PutRootFh(())]));
        assert_eq!(client.call(&[Op::PutRootFh(()), Op::LookupParent(())]).status(), Nfs4Status::NOENT);
        for change in [Op::Remove(Name(b"fs")), Op::Open(open_args(b"o", b"x", OpenHow::Existing))] {
            assert_eq!(client.call(&[Op::PutRootFh(()), change]).status(), Nfs4Status::ROFS);
        }
        // What the server stops exporting is stale at once.
        fixture.files.set_options("fs", Options { nfs_v4_1: false, ..Options::default() }).unwrap();
        assert_eq!(client.call(&[Op::PutFh(fs)]).status(), Nfs4Status::STALE);
    });
}

#[test]
fn every_supported_attribute_has_a_value() {
    on_both_reactors(|fixture| {
        let mut client = Client41::join(fixture.connect(), b"a");
        let fs = client.export();
        for place in [Op::PutRootFh(()), Op::PutFh(fs)] {
            let reply = client.call(&[place, Op::GetAttr(ServedAttributes::KNOWN)]);
            let all = attributes(&reply);
            let supported = all.supported.unwrap();
            assert_eq!(supported, ServedAttributes::KNOWN.or(SetAttributes4::KNOWN));
            assert_eq!((all.kind, all.lease_s), (Some(FileType::Directory), Some(90)));
            let mut values = Vec::new();
            assert_eq!(all.put(&mut values), ServedAttributes::KNOWN);
        }
        let write_only = Op::GetAttr(Bitmap::of(&[Attribute::SET_ACCESSED]));
        assert_eq!(client.call(&[Op::PutFh(fs), write_only]).status(), Nfs4Status::INVAL);
    });
}

#[test]
fn files_are_created_in_every_mode() {
    on_both_reactors(|fixture| {
        let mut client = Client41::join(fixture.connect(), b"a");
        let fs = client.export();
        let mut mode = Vec::new();
        let mask =
            SetAttributes4 { mode: Some(0o600), size: Some(10), ..SetAttributes4::default() }.put(&mut mode);
        let given = Fattr { mask, values: &mode };
        let mut open = |how| {
            let reply = client.call(&[Op::PutFh(fs), Op::Open(open_args(b"o", b"f", OpenHow::Create(how)))]);
            match reply.last() {
                OpOutcome::Open(result) => result.map(|opened| (opened.set, opened.directory)),
                other => panic!("{other:?}"),
            }
        };
        let (set, directory) = open(OpenCreate::Guarded(given)).unwrap();
        assert_eq!(set, mask);
        assert!(directory.atomic && directory.after > directory.before);
        assert_eq!(open(OpenCreate::Guarded(given)), Err(Nfs4Status::EXIST));
        let (set, directory) = open(OpenCreate::Unchecked(given)).unwrap();
        assert!(
            set.has(Attribute::SIZE) && !set.has(Attribute::MODE),
            "of an existing file only the size is set"
        );
        assert_eq!(directory.after, directory.before);
        assert_eq!(open(OpenCreate::Exclusive([1; 8])), Err(Nfs4Status::EXIST));
        client.call(&[Op::PutFh(fs), Op::Remove(Name(b"f"))]);
        let mut open = |how| {
            let open = Op::Open(open_args(b"o", b"f", OpenHow::Create(how)));
            client.call(&[Op::PutFh(fs), open, Op::GetAttr(Bitmap::of(&[Attribute::MODE, Attribute::SIZE]))])
        };
        for _ in 0..2 {
            let reply = open(OpenCreate::ExclusiveWith([5; 8], given));
            assert_eq!((attributes(&reply).mode, attributes(&reply).size), (Some(0o600), Some(10)));
        }
        assert_eq!(open(OpenCreate::ExclusiveWith([6; 8], given)).status(), Nfs4Status::EXIST);
    });
}

#[test]
fn data_needs_an_open_that_allows_it() {
    on_both_reactors(|fixture| {
        let mut client = Client41::join(fixture.connect(), b"a");
        let fs = client.export();
        let (state, file) = open(&mut client, fs, b"f");
        let write = |state| {
            let (offset, stable) = (5, Stability::Unstable);
            Op::Write(Write4Args { state, offset, stable, data: b"hello" })
        };
        let read = |state, count| Op::Read(Read4Args { state, offset: 3, count });
        let reply =
            client.call(&[Op::PutFh(file), write(state), Op::Commit(Commit4Args { offset: 0, count: 0 })]);
        assert_eq!(reply.end(), (Nfs4Status::OK, Operation::Commit));
        for state in [state, StateId { sequence: 0, ..state }, StateId::ANONYMOUS, StateId::READ_BYPASS] {
            let reply = client.call(&[Op::PutFh(file), read(state, 100), Op::GetFh(())]);
            let OpOutcome::Read(Ok(found)) = reply.outcomes()[2] else { panic!("{:?}", reply.outcomes()) };
            assert_eq!((found.data, found.eof), (b"\0\0hello".as_slice(), true));
        }
        // An open for reading only, as the current state of its own COMPOUND.
        let reading = OpenArgs { access: OpenArgs::READ, ..open_args(b"reader", b"f", OpenHow::Existing) };
        let reply = client.call(&[Op::PutFh(fs), Op::Open(reading), read(StateId::CURRENT, 2)]);
        assert_eq!(reply.end(), (Nfs4Status::OK, Operation::Read));
        let reply = client.call(&[Op::PutFh(fs), Op::Open(reading), write(StateId::CURRENT)]);
        assert_eq!(reply.end(), (Nfs4Status::OPENMODE, Operation::Write));
        let reply = client.call(&[Op::PutFh(file), read(StateId::CURRENT, 2)]);
        assert_eq!(reply.status(), Nfs4Status::BAD_STATEID, "no operation has set one");
        let close = |state| Op::Close(CloseArgs { sequence: 0, state });
        assert_eq!(client.call(&[Op::PutFh(file), close(state)]).status(), Nfs4Status::OK);
        assert_eq!(client.call(&[Op::PutFh(file), write(state)]).status(), Nfs4Status::BAD_STATEID);
        // Removed while it is open: gone, but the open can still be ended.
        let (state, file) = open(&mut client, fs, b"g");
        client.call(&[Op::PutFh(fs), Op::Remove(Name(b"g"))]);
        assert_eq!(client.call(&[Op::PutFh(file), read(state, 1)]).status(), Nfs4Status::STALE);
        assert_eq!(client.call(&[Op::PutFh(file), close(state)]).status(), Nfs4Status::OK);
    });
}

#[test]
fn states_are_tested_and_not_freed_while_open() {
    on_both_reactors(|fixture| {
        let mut client = Client41::join(fixture.connect(), b"a");
        let fs = client.export();
        let (state, _) = open(&mut client, fs, b"f");
        let mut encoded = Vec::new();
        for state in [state, StateId { sequence: 9, ..state }, StateId { sequence: 1, other: [3; 12] }] {
            wire::xdr::Encode::encode(&state, &mut encoded);
        }
        let reply = client.call(&[Op::TestStateId(StateIds::new(&encoded).unwrap())]);
        let OpOutcome::TestStateId(Ok(statuses)) = reply.last() else { panic!("{:?}", reply.last()) };
        let expected = [Nfs4Status::OK, Nfs4Status::BAD_STATEID, Nfs4Status::BAD_STATEID];
        assert_eq!(statuses.iter().collect::<Vec<_>>(), expected);
        assert_eq!(client.call(&[Op::FreeStateId(state)]).status(), Nfs4Status::LOCKS_HELD);
        assert_eq!(
            client.call(&[Op::PutFh(fs), Op::SecInfo(Name(b"f")), Op::GetFh(())]).status(),
            Nfs4Status::NOFILEHANDLE
        );
        let flavors = client.call(&[Op::PutFh(fs), Op::SecInfoNoName(SecurityOf::Current)]);
        assert!(matches!(flavors.last(), OpOutcome::SecInfoNoName(Ok(Flavors { sys: true, .. }))));
    });
}

#[test]
fn an_open_that_denies_others_is_respected() {
    on_both_reactors(|fixture| {
        let mut one = Client41::join(fixture.connect(), b"one");
        let mut two = Client41::join(fixture.connect(), b"two");
        let fs = one.export();
        let how = OpenHow::Create(OpenCreate::Unchecked(Fattr::default()));
        let alone = OpenArgs { deny: OpenArgs::WRITE, ..open_args(b"o", b"f", how) };
        let state = match one.call(&[Op::PutFh(fs), Op::Open(alone)]).last() {
            OpOutcome::Open(Ok(opened)) => opened.state,
            other => panic!("{other:?}"),
        };
        let open = Op::Open(open_args(b"o", b"f", OpenHow::Existing));
        assert_eq!(two.call(&[Op::PutFh(fs), open]).status(), Nfs4Status::SHARE_DENIED);
        let file = Handle(one.handle(&[Op::PutFh(fs), Op::Lookup(Name(b"f"))]));
        let data = b"x".as_slice();
        let write = Write4Args { state: StateId::ANONYMOUS, offset: 0, stable: Stability::Unstable, data };
        assert_eq!(two.call(&[Op::PutFh(file), Op::Write(write)]).status(), Nfs4Status::LOCKED);
        one.call(&[Op::PutFh(file), Op::Close(CloseArgs { sequence: 0, state })]);
        assert_eq!(two.call(&[Op::PutFh(fs), open]).status(), Nfs4Status::OK);
    });
}

#[test]
fn names_and_types_have_the_statuses_of_the_rfc() {
    on_both_reactors(|fixture| {
        let mut client = Client41::join(fixture.connect(), b"a");
        let fs = client.export();
        let create =
            |what, name| Op::Create(Create4Args { what, name: Name(name), attributes: Fattr::default() });
        let link = create(CreateWhat::Symlink(Path(b"there")), b"link");
        let directory = Handle(client.handle(&[Op::PutFh(fs), create(CreateWhat::Directory, b"d")]));
        let link = Handle(client.handle(&[Op::PutFh(fs), link]));
        let pipe = Handle(client.handle(&[Op::PutFh(fs), create(CreateWhat::Fifo, b"p")]));
        let (_, file) = open(&mut client, fs, b"f");
        let reply = client.call(&[Op::PutFh(link), Op::ReadLink(())]);
        assert!(matches!(reply.last(), OpOutcome::ReadLink(Ok(Path(b"there")))), "{:?}", reply.last());
        let read = Op::Read(Read4Args { state: StateId::ANONYMOUS, offset: 0, count: 1 });
        let list = ReadDirArgs {
            cookie: 0,
            verifier: [0; 8],
            dir_count: 0,
            max_count: 4096,
            attributes: Bitmap::EMPTY,
        };
        let name = |name: &'static [u8]| Op::Lookup(Name(name));
        let rename = Op::Rename(Rename4Args { from: Name(b"f"), to: Name(b"f2") });
        for (operations, status) in [
            (vec![Op::PutFh(directory), read], Nfs4Status::ISDIR),
            (vec![Op::PutFh(link), read], Nfs4Status::SYMLINK),
            (vec![Op::PutFh(pipe), read], Nfs4Status::WRONG_TYPE),
            (vec![Op::PutFh(file), Op::ReadLink(())], Nfs4Status::WRONG_TYPE),
            (vec![Op::PutFh(file), name(b"x")], Nfs4Status::NOTDIR),
            (vec![Op::PutFh(link), name(b"x")], Nfs4Status::SYMLINK),
            (vec![Op::PutFh(fs), name(b"")], Nfs4Status::INVAL),
            (vec![Op::PutFh(fs), name(b"a/b")], Nfs4Status::BADCHAR),
            (vec![Op::PutFh(fs), name(b"..")], Nfs4Status::BADNAME),
            (vec![Op::PutFh(fs), name(&[b'x'; 300])], Nfs4Status::NAMETOOLONG),
            (vec![Op::PutFh(fs), create(CreateWhat::Directory, b"d")], Nfs4Status::EXIST),
            (vec![Op::PutFh(fs), Op::Open(open_args(b"o", b"d", OpenHow::Existing))], Nfs4Status::ISDIR),
            (vec![Op::PutFh(fs), Op::Open(open_args(b"o", b"link", OpenHow::Existing))], Nfs4Status::SYMLINK),
            (vec![Op::PutFh(fs), Op::Open(open_args(b"o", b"none", OpenHow::Existing))], Nfs4Status::NOENT),
            (vec![Op::PutFh(fs), Op::ReadDir(ReadDirArgs { cookie: 1, ..list })], Nfs4Status::BAD_COOKIE),
            (vec![Op::PutFh(fs), Op::ReadDir(ReadDirArgs { max_count: 30, ..list })], Nfs4Status::TOOSMALL),
            (vec![Op::PutFh(file), Op::ReadDir(list)], Nfs4Status::NOTDIR),
            (vec![Op::PutFh(fs), rename], Nfs4Status::NOFILEHANDLE),
            (vec![Op::PutFh(fs), Op::RestoreFh(())], Nfs4Status::RESTOREFH),
            (vec![Op::GetFh(())], Nfs4Status::NOFILEHANDLE),
            (vec![Op::PutFh(Handle(wire::nfs3::FileHandle::EMPTY))], Nfs4Status::BADHANDLE),
            (
                vec![Op::PutFh(directory), Op::SaveFh(()), Op::PutFh(fs), Op::Link(Name(b"hard"))],
                Nfs4Status::ISDIR,
            ),
            (vec![Op::PutFh(fs), Op::SaveFh(()), rename], Nfs4Status::OK),
            (vec![Op::PutFh(file), Op::SaveFh(()), Op::PutFh(fs), Op::Link(Name(b"hard"))], Nfs4Status::OK),
            (vec![Op::PutFh(fs), Op::Remove(Name(b"hard"))], Nfs4Status::OK),
            (vec![Op::PutFh(fs), Op::Remove(Name(b"d"))], Nfs4Status::OK),
            (vec![Op::PutFh(fs), Op::Remove(Name(b"d"))], Nfs4Status::NOENT),
        ] {
            let reply = client.call(&operations);
            assert_eq!(reply.status(), status, "{:?}", operations.last());
        }
    });
}
