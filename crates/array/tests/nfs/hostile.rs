//! Bytes that no client sends: valid calls with bytes changed, truncated or inserted.

use wire::nfs3::{
    Attributes, CreateArgs, CreateHow, DirArgs, FileHandle, LinkArgs, MkdirArgs, MknodArgs, MknodWhat, Name,
    Path, Procedure, ReadArgs, ReaddirArgs, ReaddirplusArgs, RenameArgs, SetAttributes, SetattrArgs,
    Stability, SymlinkArgs, WriteArgs,
};
use wire::rpc::LAST_FRAGMENT;
use wire::xdr::Encode;

use crate::client::{Client, ok, on_both_reactors};

const CASES: usize = 3000;

/// One call of nearly every procedure, as records without marks.
fn corpus(client: &mut Client, root: FileHandle) -> Vec<Vec<u8>> {
    let place = DirArgs { directory: root, name: Name(b"name") };
    let attributes = SetAttributes { size: Some(77), mode: Some(0o644), ..SetAttributes::default() };
    let how = CreateHow::Unchecked(attributes);
    let (offset, count, data) = (4096, 100, [7; 100].as_slice());
    let stable = Stability::Unstable;
    let mut records = Vec::new();
    let mut add = |procedure, arguments: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = Vec::new();
        arguments(&mut bytes);
        records.push(client.nfs_record(procedure, &Bytes(bytes)).1.split_off(4));
    };
    add(Procedure::Getattr, &|out| root.encode(out));
    add(Procedure::Create, &|out| CreateArgs { place, how }.encode(out));
    add(Procedure::Lookup, &|out| place.encode(out));
    add(Procedure::Setattr, &|out| SetattrArgs { file: root, attributes, guard: None }.encode(out));
    add(Procedure::Read, &|out| ReadArgs { file: root, offset, count }.encode(out));
    add(Procedure::Write, &|out| WriteArgs { file: root, offset, count, stable, data }.encode(out));
    add(Procedure::Mkdir, &|out| MkdirArgs { place, attributes }.encode(out));
    add(Procedure::Symlink, &|out| SymlinkArgs { place, attributes, target: Path(b"there") }.encode(out));
    add(Procedure::Mknod, &|out| MknodArgs { place, what: MknodWhat::Fifo(attributes) }.encode(out));
    add(Procedure::Rename, &|out| RenameArgs { from: place, to: place }.encode(out));
    add(Procedure::Link, &|out| LinkArgs { file: root, link: place }.encode(out));
    let verifier = [0; 8];
    add(Procedure::Readdir, &|out| ReaddirArgs { directory: root, cookie: 0, verifier, count }.encode(out));
    add(Procedure::Readdirplus, &|out| {
        ReaddirplusArgs { directory: root, cookie: 0, verifier, dir_count: 99, max_count: 999 }.encode(out);
    });
    records
}

/// Bytes encoded unchanged.
pub struct Bytes(pub Vec<u8>);

impl Encode for Bytes {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }
}

pub fn mutate(random: &mut fastrand::Rng, record: &[u8]) -> Vec<u8> {
    let mut bytes = record.to_vec();
    for _ in 0..random.usize(1..4) {
        let at = random.usize(0..bytes.len().max(1));
        match random.u8(0..5) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at.min(bytes.len()), random.u8(..)),
            2 => bytes.splice(at.min(bytes.len()).., random.u32(..).to_be_bytes()).for_each(drop),
            // Lengths and counts are words: this sets them to boundary values.
            3 => {
                let word = [u32::MAX, 1 << 31, 0, 1, 1 << 20, 65].map(u32::to_be_bytes)[random.usize(0..6)];
                let at = at & !3;
                if at + 4 <= bytes.len() {
                    bytes[at..at + 4].copy_from_slice(&word);
                }
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = random.u8(..);
                }
            }
        }
    }
    bytes
}

#[test]
fn whatever_comes_is_answered_or_ends_the_connection() {
    on_both_reactors(|fixture| {
        let (mut client, root) = fixture.mounted();
        let records = corpus(&mut client, root);
        let mut random = fastrand::Rng::with_seed(7);
        let (mut answered, mut closed) = (0, 0);
        for case in 0..CASES {
            let record = mutate(&mut random, &records[case % records.len()]);
            client.send(&(record.len() as u32 | LAST_FRAGMENT).to_be_bytes());
            // The server may close the connection before everything is sent.
            let _ = std::io::Write::write_all(&mut client.socket, &record);
            match client.receive() {
                Ok(Some(_)) => answered += 1,
                Ok(None) => {
                    closed += 1;
                    client = fixture.connect();
                }
                Err(error) => {
                    assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "case {case}: no answer");
                    closed += 1;
                    client = fixture.connect();
                }
            }
        }
        assert!(answered > CASES / 4 && closed > 0, "{answered} answered, {closed} closed");
        let mut client = fixture.connect();
        ok!(Attributes, (), client.nfs(Procedure::Getattr, &root));
        // Space accounting is unaffected.
        fixture.files.destroy("fs").unwrap();
        fixture.files.eradicate("fs").unwrap();
        assert_eq!(fixture.capacity.used(), 0);
    });
}
