//! READ, WRITE, COMMIT and related behaviour.

use array::files::Options;
use wire::nfs3::{
    Attributes, CommitArgs, CommitOk, CreateArgs, CreateHow, CreateOk, DirArgs, FileHandle, FsinfoOk,
    FsstatOk, Name, PathconfOk, Procedure, ReadArgs, ReadOk, SetAttributes, SetattrArgs, Stability, Status,
    WccData, WriteArgs, WriteOk,
};

use crate::client::{Client, failed, ok, on_both_reactors};

pub fn create(client: &mut Client, directory: FileHandle, name: &[u8]) -> FileHandle {
    let place = DirArgs { directory, name: Name(name) };
    let args = CreateArgs { place, how: CreateHow::Guarded(SetAttributes::default()) };
    ok!(CreateOk, WccData, client.nfs(Procedure::Create, &args)).file.unwrap()
}

pub fn write(client: &mut Client, file: FileHandle, offset: u64, data: &[u8], stable: Stability) -> WriteOk {
    let args = WriteArgs { file, offset, count: data.len() as u32, stable, data };
    ok!(WriteOk, WccData, client.nfs(Procedure::Write, &args))
}

fn read(client: &mut Client, file: FileHandle, offset: u64, count: u32) -> (Vec<u8>, bool) {
    let results = client.nfs(Procedure::Read, &ReadArgs { file, offset, count });
    let read = ok!(ReadOk<'_>, Option<Attributes>, results);
    assert_eq!(read.count as usize, read.data.len());
    (read.data.to_vec(), read.eof)
}

/// Bytes that differ everywhere.
fn pattern(len: usize) -> Vec<u8> {
    (0..len as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

#[test]
fn what_is_written_is_read_back() {
    on_both_reactors(|fixture| {
        let (mut client, root) = fixture.mounted();
        let file = create(&mut client, root, b"f");
        let data = pattern(3 << 20);
        for (number, block) in data.chunks(1 << 20).enumerate() {
            let written = write(&mut client, file, (number << 20) as u64, block, Stability::FileSync);
            assert_eq!((written.count, written.committed), (1 << 20, Stability::FileSync));
        }
        for (offset, count) in
            [(0, 1 << 20), (1, 1 << 20), (1_048_575, 2), (3 << 20, 10), ((3 << 20) - 5, 100), (0, 7)]
        {
            let (got, eof) = read(&mut client, file, offset, count);
            let from = (offset as usize).min(data.len());
            let to = data.len().min(from + count as usize);
            assert!(got == data[from..to], "at {offset}");
            assert_eq!(eof, to == data.len(), "at {offset}");
        }
        assert_eq!(
            read(&mut client, file, 0, 1 << 24).0.len(),
            1 << 20,
            "more than the largest READ is cut to it"
        );
        assert_eq!(read(&mut client, file, u64::MAX, 10), (Vec::new(), true));
        assert_eq!(fixture.files.usage("fs").unwrap().bytes, 3 << 20);
    });
}

#[test]
fn many_writes_and_reads_may_be_in_flight() {
    on_both_reactors(|fixture| {
        let (mut client, root) = fixture.mounted();
        let file = create(&mut client, root, b"f");
        let data = pattern(16 << 20);
        let mut requests = Vec::new();
        for (number, block) in data.chunks(1 << 20).enumerate() {
            let offset = (number << 20) as u64;
            let args = WriteArgs { file, offset, count: 1 << 20, stable: Stability::Unstable, data: block };
            requests.push(client.nfs_record(Procedure::Write, &args).1);
        }
        let mut writer = client.socket.try_clone().unwrap();
        let sender = std::thread::spawn(move || {
            requests.iter().for_each(|request| std::io::Write::write_all(&mut writer, request).unwrap());
        });
        for _ in 0..16 {
            ok!(WriteOk, WccData, client.reply().2);
        }
        sender.join().unwrap();
        // All reads are requested before the first reply is read: the server holds no more than a few buffers of
        // replies.
        for number in 0..16 {
            let args = ReadArgs { file, offset: number << 20, count: 1 << 20 };
            let (_, record) = client.nfs_record(Procedure::Read, &args);
            client.send(&record);
        }
        for block in data.chunks(1 << 20) {
            let results = client.reply().2;
            assert!(ok!(ReadOk<'_>, Option<Attributes>, results).data == block);
        }
    });
}

#[test]
fn a_restart_drops_what_was_not_committed_and_says_so() {
    on_both_reactors(|fixture| {
        let (mut client, root) = fixture.mounted();
        let (kept, lost) = (create(&mut client, root, b"kept"), create(&mut client, root, b"lost"));
        let first = write(&mut client, kept, 0, b"kept", Stability::Unstable);
        assert_eq!(first.committed, Stability::Unstable);
        let commit = |client: &mut Client, file| {
            let results = client.nfs(Procedure::Commit, &CommitArgs { file, offset: 0, count: 0 });
            ok!(CommitOk, WccData, results).verifier
        };
        assert_eq!(commit(&mut client, kept), first.verifier);
        write(&mut client, lost, 0, b"lost", Stability::Unstable);
        fixture.faults.update(|plan| plan.nfs_restarts += 1);
        let begun = crate::client::Begun::now();
        while commit(&mut client, kept) == first.verifier {
            assert!(begun.elapsed() < crate::client::PATIENCE, "the restart never came");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert_eq!(read(&mut client, kept, 0, 10).0, b"kept");
        assert_eq!(read(&mut client, lost, 0, 10).0, b"");
    });
}

#[test]
fn a_full_array_and_a_read_only_export_say_so() {
    on_both_reactors(|fixture| {
        let (mut client, root) = fixture.mounted();
        let file = create(&mut client, root, b"f");
        fixture.capacity.set_total(8192);
        let args = |data| WriteArgs { file, offset: 0, count: 9000, stable: Stability::Unstable, data };
        let data = vec![1; 9000];
        let results = client.nfs(Procedure::Write, &args(&data));
        assert_eq!(failed!(WriteOk, WccData, results), Status::NOSPC);
        write(&mut client, file, 0, &data[..8192], Stability::Unstable);
        let stat = ok!(FsstatOk, Option<Attributes>, client.nfs(Procedure::Fsstat, &root));
        assert_eq!((stat.total_bytes, stat.free_bytes), (8192, 0));
        fixture.files.set_options("fs", Options { read_only: true, ..Options::default() }).unwrap();
        let results = client.nfs(Procedure::Write, &args(&data));
        assert_eq!(failed!(WriteOk, WccData, results), Status::ROFS);
    });
}

#[test]
fn facts_about_the_file_system_are_sensible() {
    on_both_reactors(|fixture| {
        let (mut client, root) = fixture.mounted();
        let info = ok!(FsinfoOk, Option<Attributes>, client.nfs(Procedure::Fsinfo, &root));
        assert_eq!((info.read_max, info.write_max), (1 << 20, 1 << 20));
        let conf = ok!(PathconfOk, Option<Attributes>, client.nfs(Procedure::Pathconf, &root));
        assert_eq!(conf.name_max, 255);
        client.nfs(Procedure::Null, &());
        let file = create(&mut client, root, b"f");
        let attributes = SetAttributes { size: Some(5000), mode: Some(0o600), ..SetAttributes::default() };
        let wcc = ok!(
            WccData,
            WccData,
            client.nfs(Procedure::Setattr, &SetattrArgs { file, attributes, guard: None })
        );
        let after = wcc.after.unwrap();
        assert_eq!((wcc.before.unwrap().size, after.size, after.mode), (0, 5000, 0o600));
        assert_eq!(read(&mut client, file, 0, 6000), (vec![0; 5000], true));
    });
}

#[test]
fn a_write_whose_count_is_not_its_length_is_refused() {
    on_both_reactors(|fixture| {
        let (mut client, root) = fixture.mounted();
        let file = create(&mut client, root, b"f");
        let args = WriteArgs { file, offset: 0, count: 9, stable: Stability::Unstable, data: b"ten bytes!" };
        assert_eq!(failed!(WriteOk, WccData, client.nfs(Procedure::Write, &args)), Status::INVAL);
        let results = client.nfs(Procedure::Read, &ReadArgs { file: root, offset: 0, count: 9 });
        assert_eq!(failed!(ReadOk<'_>, Option<Attributes>, results), Status::ISDIR);
    });
}
