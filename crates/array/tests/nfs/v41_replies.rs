//! NFSv4.1: sessions as the wire shows them, and replies that are repeated, refused or too long.

use array::faults::{FaultPlan, PathRule};
use wire::nfs3::{Name, Stability};
use wire::nfs4::OpArgument as Op;
use wire::nfs4::*;
use wire::rpc::{AcceptStatus, Auth, ReplyBody};
use wire::xdr::{Encode, decode_all};

use crate::client::{Fixture, on_both_reactors};
use crate::v41_client::*;

#[test]
fn other_versions_are_told_which_there_are() {
    on_both_reactors(|fixture| {
        let mut client = fixture.connect();
        let (_, record) = client.record(PROGRAM, 5, 0, &());
        client.send(&record);
        let status = AcceptStatus::ProgramMismatch { low: 3, high: 4 };
        assert_eq!(client.reply().1, ReplyBody::Accepted { verifier: Auth::NONE, status });
        assert!(client.call(PROGRAM, VERSION, 0, &()).is_empty(), "NULL");
        for minor_version in [0, 2] {
            let compound = Compound { tag: b"tag", minor_version, operations: &[Op::PutRootFh(())] };
            let reply = client.call(PROGRAM, VERSION, PROC_COMPOUND, &compound);
            let expected = ReplyHead { status: Nfs4Status::MINOR_VERS_MISMATCH, tag: Tag(b"tag"), count: 0 };
            assert_eq!(decode_all::<ReplyHead<'_>>(&reply), Ok(expected));
        }
    });
}

#[test]
fn operations_stand_where_they_may() {
    on_both_reactors(|fixture| {
        let mut client = Client41::join(fixture.connect(), b"a");
        let sequence = |client: &Client41| Op::Sequence(client.sequence_args(client.sequence));
        let bind = BindArgs { session: client.session, direction: BindArgs::FORE, rdma: false };
        let alone = [
            (vec![Op::PutRootFh(())], Nfs4Status::OP_NOT_IN_SESSION),
            (vec![Op::BindConnToSession(bind), Op::PutRootFh(())], Nfs4Status::NOT_ONLY_OP),
            (vec![Op::DestroyClientId(1), Op::PutRootFh(())], Nfs4Status::NOT_ONLY_OP),
            (vec![Op::BindConnToSession(BindArgs { session: [1; 16], ..bind })], Nfs4Status::BADSESSION),
            (vec![Op::DestroyClientId(client.id)], Nfs4Status::CLIENTID_BUSY),
            (vec![Op::DestroyClientId(77)], Nfs4Status::STALE_CLIENTID),
            (vec![Op::Illegal(())], Nfs4Status::OP_ILLEGAL),
            (vec![], Nfs4Status::OK),
        ];
        for (operations, status) in alone {
            assert_eq!(bare(&mut client.client, &operations).status(), status, "{operations:?}");
        }
        for direction in [BindArgs::FORE, BindArgs::FORE_OR_BOTH, BindArgs::BACK_OR_BOTH] {
            let reply = bare(&mut client.client, &[Op::BindConnToSession(BindArgs { direction, ..bind })]);
            let OpOutcome::BindConnToSession(Ok(bound)) = reply.last() else { panic!("{direction}") };
            assert_eq!(bound.direction, BindArgs::FORE);
        }
        let twice = sequence(&client);
        assert_eq!(client.call(&[twice]).end(), (Nfs4Status::SEQUENCE_POS, Operation::Sequence));
        assert_eq!(client.call(&[Op::ReclaimComplete(false)]).status(), Nfs4Status::COMPLETE_ALREADY);
        let destroy = Op::DestroySession(client.session);
        assert_eq!(client.call(&[destroy, Op::PutRootFh(())]).status(), Nfs4Status::NOT_ONLY_OP);
        assert_eq!(client.call(&[Op::PutRootFh(()), destroy]).status(), Nfs4Status::OK);
        assert_eq!(client.call(&[]).status(), Nfs4Status::BADSESSION);
        let forget = Op::DestroyClientId(client.id);
        assert_eq!(bare(&mut client.client, &[forget]).status(), Nfs4Status::OK);
    });
}

/// Numbers of operations that have no form here, and numbers that are none.
#[test]
fn unknown_operations_are_refused_in_their_place() {
    struct Raw<'a>(&'a SequenceArgs, u32);
    impl Encode for Raw<'_> {
        fn encode(&self, out: &mut Vec<u8>) {
            CallHead { tag: Tag(b""), minor_version: MINOR_VERSION, count: 2 }.encode(out);
            Op::Sequence(*self.0).encode(out);
            self.1.encode(out);
        }
    }
    on_both_reactors(|fixture| {
        let mut client = Client41::join(fixture.connect(), b"a");
        for (number, shown, status) in [
            (12, 12, Nfs4Status::NOTSUPP),
            (2, Operation::Illegal as u32, Nfs4Status::OP_ILLEGAL),
            (59, Operation::Illegal as u32, Nfs4Status::OP_ILLEGAL),
            (Operation::PutFh as u32, Operation::PutFh as u32, Nfs4Status::BADXDR),
        ] {
            let sequence = client.sequence_args(client.sequence);
            client.sequence += 1;
            let reply = client.client.call(PROGRAM, VERSION, PROC_COMPOUND, &Raw(&sequence, number));
            let end = &reply[reply.len() - 8..];
            assert_eq!(end, [shown.to_be_bytes(), status.0.to_be_bytes()].concat(), "{number}");
            assert_eq!(Reply(reply).status(), status);
        }
    });
}

#[test]
fn a_repeated_request_gets_the_reply_that_was_kept() {
    on_both_reactors(|fixture| {
        let mut client = Client41::join(fixture.connect(), b"a");
        let fs = client.export();
        let create = Op::Create(Create4Args {
            what: CreateWhat::Directory,
            name: Name(b"d"),
            attributes: Fattr::default(),
        });
        client.cache = true;
        let first = client.call(&[Op::PutFh(fs), create]);
        assert_eq!(first.status(), Nfs4Status::OK);
        // On another connection, too.
        client.client = fixture.connect();
        let again = client.send(client.sequence - 1, &[Op::PutFh(fs), create]);
        assert_eq!(again.0, first.0);
        client.cache = false;
        client.call(&[Op::PutFh(fs), Op::Remove(Name(b"d"))]);
        let again = client.send(client.sequence - 1, &[Op::PutFh(fs), Op::Remove(Name(b"d"))]);
        assert_eq!(again.end(), (Nfs4Status::RETRY_UNCACHED_REP, Operation::PutFh));
        let old = client.send(client.sequence - 2, &[Op::PutFh(fs)]);
        assert_eq!(old.end(), (Nfs4Status::SEQ_MISORDERED, Operation::Sequence));
    });
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    on_both_reactors(|fixture| {
        let narrow = ChannelAttributes {
            request_max: 8192,
            response_max: 8192,
            cached_response_max: 600,
            operations_max: 4,
            ..CHANNEL
        };
        let mut client = Client41::join_with(fixture.connect(), b"a", narrow);
        let fs = client.export();
        let (state, file) = open(&mut client, fs, b"f");
        let read = |count| Op::Read(Read4Args { state, offset: 0, count });
        let too_many = [Op::PutFh(fs); 4];
        assert_eq!(
            client.send(client.sequence, &too_many).end(),
            (Nfs4Status::TOO_MANY_OPS, Operation::Sequence)
        );
        let data = vec![1; 9000];
        let write = Op::Write(Write4Args { state, offset: 0, stable: Stability::Unstable, data: &data });
        assert_eq!(client.send(client.sequence, &[Op::PutFh(file), write]).status(), Nfs4Status::REQ_TOO_BIG);
        assert_eq!(
            client.call(&[Op::PutFh(file), read(8192)]).end(),
            (Nfs4Status::REP_TOO_BIG, Operation::Read)
        );
        assert_eq!(client.call(&[Op::PutFh(file), read(7000)]).status(), Nfs4Status::OK);
        client.cache = true;
        assert_eq!(client.call(&[Op::PutFh(file), read(600)]).status(), Nfs4Status::REP_TOO_BIG_TO_CACHE);
        let all = Op::GetAttr(ServedAttributes::KNOWN);
        let reply = client.call(&[Op::PutFh(file), all, all]);
        assert_eq!(reply.end(), (Nfs4Status::REP_TOO_BIG_TO_CACHE, Operation::GetAttr));
        let (id, sequence) = exchange(&mut client.client, b"b");
        let tiny = ChannelAttributes { response_max: 100, ..CHANNEL };
        assert_eq!(create_session(&mut client.client, id, sequence, tiny), Err(Nfs4Status::TOOSMALL));
        assert_eq!(create_session(&mut client.client, id ^ 1, 1, CHANNEL), Err(Nfs4Status::STALE_CLIENTID));
    });
}

#[test]
fn opens_come_after_reclaims() {
    on_both_reactors(|fixture| {
        let mut client = Client41::join(fixture.connect(), b"a");
        let fs = client.export();
        let (id, sequence) = exchange(&mut client.client, b"b");
        let created = create_session(&mut client.client, id, sequence, CHANNEL).unwrap();
        (client.session, client.sequence) = (created.session, 1);
        let open = Op::Open(open_args(b"o", b"f", OpenHow::Create(OpenCreate::Unchecked(Fattr::default()))));
        assert_eq!(client.call(&[Op::PutFh(fs), open]).status(), Nfs4Status::GRACE);
        assert_eq!(client.call(&[Op::ReclaimComplete(false), Op::PutFh(fs), open]).status(), Nfs4Status::OK);
    });
}

#[test]
fn faults_spare_what_finds_the_export() {
    on_both_reactors(|fixture: &Fixture| {
        let mut client = Client41::join(fixture.connect(), b"a");
        let fs = client.export();
        fixture.faults.set(FaultPlan {
            paths: vec![PathRule { error_share: Some(1.0), ..PathRule::default() }],
            ..FaultPlan::default()
        });
        // The operation fails, not the session: its slot goes on.
        for _ in 0..3 {
            let reply = client.call(&[Op::PutFh(fs), Op::GetAttr(Bitmap::EMPTY)]);
            assert_eq!(reply.end(), (Nfs4Status::DELAY, Operation::GetAttr));
        }
        let mut size = Vec::new();
        let mask = SetAttributes4 { mode: Some(0o700), ..SetAttributes4::default() }.put(&mut size);
        let attributes = Fattr { mask, values: &size };
        let set = Op::SetAttr(SetAttrArgs { state: StateId::ANONYMOUS, attributes });
        let reply = client.call(&[Op::PutFh(fs), set]);
        let OpOutcome::SetAttr(result) = reply.last() else { panic!("{:?}", reply.last()) };
        assert_eq!(result, SetAttrResult { status: Nfs4Status::DELAY, set: Bitmap::EMPTY });
        let other = Client41::join(fixture.connect(), b"b");
        drop(other);
        client.export();
    });
}
