//! COMPOUNDs that no client sends: valid ones with bytes changed, truncated or inserted.

use wire::nfs3::{Name, Path, Stability};
use wire::nfs4::OpArgument as Op;
use wire::nfs4::*;
use wire::xdr::Encode;

use crate::client::on_both_reactors;
use crate::hostile::{Bytes, mutate};
use crate::v41_client::*;

const CASES: usize = 3000;

/// One COMPOUND for nearly every operation.
fn corpus(client: &Client41, fs: Handle, state: StateId) -> Vec<Vec<u8>> {
    let mut values = Vec::new();
    let mask =
        SetAttributes4 { size: Some(77), mode: Some(0o644), ..SetAttributes4::default() }.put(&mut values);
    let attributes = Fattr { mask, values: &values };
    let what = CreateWhat::Symlink(Path(b"there"));
    let (name, data) = (Name(b"name"), [7; 100].as_slice());
    let (all, stable) = (ServedAttributes::KNOWN, Stability::Unstable);
    let list = ReadDirArgs { cookie: 0, verifier: [0; 8], dir_count: 99, max_count: 999, attributes: all };
    let how = OpenHow::Create(OpenCreate::ExclusiveWith([1; 8], attributes));
    let bind = BindArgs { session: client.session, direction: BindArgs::FORE, rdma: false };
    let operations = [
        vec![Op::GetAttr(all), Op::Access(63), Op::GetFh(())],
        vec![
            Op::Open(open_args(b"o", b"f", how)),
            Op::Close(CloseArgs { sequence: 0, state: StateId::CURRENT }),
        ],
        vec![Op::Lookup(name), Op::LookupParent(())],
        vec![Op::SetAttr(SetAttrArgs { state: StateId::ANONYMOUS, attributes })],
        vec![Op::Create(Create4Args { what, name, attributes: Fattr::default() }), Op::ReadLink(())],
        vec![
            Op::SaveFh(()),
            Op::Rename(Rename4Args { from: name, to: name }),
            Op::RestoreFh(()),
            Op::Link(name),
        ],
        vec![Op::ReadDir(list), Op::Remove(name)],
        vec![Op::Lookup(Name(b"f")), Op::Write(Write4Args { state, offset: 9, stable, data })],
        vec![Op::Lookup(Name(b"f")), Op::Read(Read4Args { state, offset: 0, count: 1000 })],
        vec![Op::FreeStateId(state), Op::SecInfo(name)],
    ];
    let mut all: Vec<Vec<u8>> = operations
        .iter()
        .map(|operations| {
            let mut compound = vec![Op::Sequence(client.sequence_args(0)), Op::PutFh(fs)];
            compound.extend_from_slice(operations);
            encoded(&compound)
        })
        .collect();
    all.push(encoded(&[Op::BindConnToSession(bind)]));
    all
}

fn encoded(operations: &[Op<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Compound { tag: b"tag", minor_version: MINOR_VERSION, operations }.encode(&mut bytes);
    bytes
}

/// Where SEQUENCE's number begins: behind the tag, the minor version, the count, its own number and the session.
const SEQUENCE_AT: usize = 8 + 4 + 4 + 4 + 16;

#[test]
fn mutated_compounds_are_survived() {
    on_both_reactors(|fixture| {
        let mut client = Client41::join(fixture.connect(), b"a");
        let fs = client.export();
        let (state, _) = open(&mut client, fs, b"f");
        let corpus = corpus(&client, fs, state);
        let mut random = fastrand::Rng::with_seed(41);
        for case in 0..CASES {
            let mut bytes = corpus[random.usize(0..corpus.len())].clone();
            if bytes.len() > SEQUENCE_AT + 4 {
                bytes[SEQUENCE_AT..SEQUENCE_AT + 4].copy_from_slice(&client.sequence.to_be_bytes());
            }
            let bytes = mutate(&mut random, &bytes);
            let (xid, record) = client.client.record(PROGRAM, VERSION, PROC_COMPOUND, &Bytes(bytes));
            client.client.send(&record);
            let (answered, ..) = client.client.reply();
            assert_eq!(answered, xid, "case {case}");
            // Whether it was executed shows in what the next sequence number may be.
            if client.send(client.sequence, &[]).status() == Nfs4Status::OK {
                client.sequence += 1;
            } else {
                client.sequence += 1;
                if client.send(client.sequence, &[]).status() != Nfs4Status::OK {
                    client = Client41::join(client.client, &case.to_be_bytes());
                    continue;
                }
                client.sequence += 1;
            }
        }
        let fs = client.export();
        assert_eq!(client.call(&[Op::PutFh(fs), Op::GetAttr(Bitmap::EMPTY)]).status(), Nfs4Status::OK);
    });
}
