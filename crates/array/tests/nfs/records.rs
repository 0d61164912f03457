//! The wire format: pipelining, fragments, garbage.

use wire::nfs3::{self, Attributes, FileHandle, Procedure};
use wire::rpc::{AcceptStatus, Auth, AuthStatus, CallHeader, LAST_FRAGMENT, ReplyBody};
use wire::xdr::Encode;

use crate::client::{Client, ok, on_both_reactors};

fn status(body: ReplyBody<'_>) -> AcceptStatus {
    match body {
        ReplyBody::Accepted { status, .. } => status,
        other => panic!("{other:?}"),
    }
}

#[test]
fn pipelined_calls_are_all_answered_in_order() {
    on_both_reactors(|fixture| {
        let (mut client, root) = fixture.mounted();
        let mut sent = Vec::new();
        let mut all = Vec::new();
        for _ in 0..2000 {
            let (xid, record) = client.nfs_record(Procedure::Getattr, &root);
            sent.push(xid);
            all.extend(record);
        }
        let mut writer = client.socket.try_clone().unwrap();
        let sender = std::thread::spawn(move || std::io::Write::write_all(&mut writer, &all).unwrap());
        for xid in sent {
            let (answered, body, results) = client.reply();
            assert_eq!((answered, status(body)), (xid, AcceptStatus::Success));
            ok!(Attributes, (), results);
        }
        sender.join().unwrap();
    });
}

/// Splits a record into fragments of these sizes, then the rest.
fn fragmented(record: &[u8], sizes: &[usize]) -> Vec<u8> {
    let mut rest = &record[4..];
    let mut out = Vec::new();
    for size in sizes {
        let (fragment, behind) = rest.split_at(*size);
        out.extend((fragment.len() as u32).to_be_bytes());
        out.extend(fragment);
        rest = behind;
    }
    out.extend((rest.len() as u32 | LAST_FRAGMENT).to_be_bytes());
    out.extend(rest);
    out
}

#[test]
fn fragments_are_put_together_however_they_arrive() {
    on_both_reactors(|fixture| {
        let (mut client, root) = fixture.mounted();
        for sizes in [&[0usize, 1, 2, 3, 0][..], &[10], &[40, 40]] {
            let (xid, record) = client.nfs_record(Procedure::Getattr, &root);
            let (next, whole) = client.nfs_record(Procedure::Getattr, &root);
            let mut bytes = fragmented(&record, sizes);
            bytes.extend(whole);
            // Seven bytes at a time, so that marks are split as well.
            for drop in bytes.chunks(7) {
                client.send(drop);
            }
            assert_eq!(client.reply().0, xid);
            assert_eq!(client.reply().0, next);
        }
    });
}

#[test]
fn a_record_beyond_the_bound_closes_the_connection() {
    on_both_reactors(|fixture| {
        let mut client = fixture.connect();
        client.send(&(LAST_FRAGMENT | 0x7fff_ffff).to_be_bytes());
        assert!(matches!(client.receive(), Ok(None) | Err(_)), "the stream ends");
        // The same in fragments that are each small.
        let mut client = fixture.connect();
        let fragment = [&(256u32 << 10).to_be_bytes()[..], &vec![0; 256 << 10]].concat();
        for _ in 0..8 {
            if std::io::Write::write_all(&mut client.socket, &fragment).is_err() {
                break;
            }
        }
        assert!(matches!(client.receive(), Ok(None) | Err(_)), "the stream ends");
        // And the server still serves others.
        fixture.mounted();
    });
}

#[test]
fn garbage_is_refused_by_name() {
    on_both_reactors(|fixture| {
        let (mut client, root) = fixture.mounted();
        for (arguments, procedure) in [
            (vec![0xff; 40], Procedure::Getattr),
            (vec![], Procedure::Read),
            (vec![0, 0, 0, 4, 1, 2, 3, 4, 9, 9, 9, 9], Procedure::Getattr),
        ] {
            let (xid, record) = client.nfs_record(procedure, &Raw(arguments));
            client.send(&record);
            let (answered, body, _) = client.reply();
            assert_eq!((answered, status(body)), (xid, AcceptStatus::GarbageArguments));
        }
        ok!(Attributes, (), client.nfs(Procedure::Getattr, &root));
        // Not even a call's header: there is nothing to reply to.
        client.send(&[0x80, 0, 0, 8, 1, 2, 3, 4, 0, 0, 0, 9]);
        assert_eq!(client.receive().unwrap(), None);
    });
}

/// Bytes encoded unchanged.
struct Raw(Vec<u8>);

impl Encode for Raw {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }
}

#[test]
fn unknown_programs_versions_and_procedures_are_refused() {
    on_both_reactors(|fixture| {
        let mut client = fixture.connect();
        let mut refused = |program, version, procedure| {
            let (_, record) = client.record(program, version, procedure, &());
            client.send(&record);
            status(client.reply().1)
        };
        assert_eq!(refused(999, 1, 0), AcceptStatus::ProgramUnavailable);
        assert_eq!(refused(nfs3::PROGRAM, 5, 0), AcceptStatus::ProgramMismatch { low: 3, high: 4 });
        assert_eq!(refused(nfs3::PROGRAM, 3, 22), AcceptStatus::ProcedureUnavailable);
        assert_eq!(refused(wire::mount::PROGRAM, 3, 6), AcceptStatus::ProcedureUnavailable);
        let mut out = Vec::new();
        let at = wire::rpc::begin_record(&mut out);
        let mut header = CallHeader::new(7, nfs3::PROGRAM, 3, 0, Auth::NONE);
        header.rpc_version = 3;
        header.encode(&mut out);
        wire::rpc::end_record(&mut out, at, 0);
        client.send(&out);
        assert_eq!(client.reply().1, ReplyBody::RpcMismatch { low: 2, high: 2 });
        out.clear();
        let at = wire::rpc::begin_record(&mut out);
        let broken = Auth { flavor: wire::rpc::AUTH_SYS, body: &[1, 2, 3, 4] };
        CallHeader::new(8, nfs3::PROGRAM, 3, 0, broken).encode(&mut out);
        wire::rpc::end_record(&mut out, at, 0);
        client.send(&out);
        assert_eq!(client.reply().1, ReplyBody::AuthError(AuthStatus::BadCredential));
    });
}

#[test]
fn many_clients_are_served_at_once_and_may_leave_at_any_time() {
    on_both_reactors(|fixture| {
        let (_, root) = fixture.mounted();
        let mut clients: Vec<Client> = (0..50).map(|_| fixture.connect()).collect();
        for client in &mut clients {
            let (_, record) = client.nfs_record(Procedure::Getattr, &root);
            client.send(&record);
        }
        // Every second client disconnects without waiting, some in the middle of a record.
        let mut staying = Vec::new();
        for (number, mut client) in clients.into_iter().enumerate() {
            if number % 2 == 0 {
                staying.push(client);
            } else {
                client.send(&[0x80, 0, 1]);
            }
        }
        for client in &mut staying {
            ok!(Attributes, (), client.reply().2);
            ok!(Attributes, (), client.nfs(Procedure::Getattr, &root));
        }
    });
}

#[test]
fn a_client_that_only_writes_is_still_answered_when_it_has_ended() {
    on_both_reactors(|fixture| {
        let (mut client, root) = fixture.mounted();
        let (_, record) = client.nfs_record(Procedure::Getattr, &FileHandle::new(root.as_bytes()).unwrap());
        client.send(&record);
        client.socket.shutdown(std::net::Shutdown::Write).unwrap();
        ok!(Attributes, (), client.reply().2);
        assert_eq!(client.receive().unwrap(), None);
    });
}
