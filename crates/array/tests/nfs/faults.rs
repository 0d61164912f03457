//! Faults that are activated while the server runs.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::Duration;

use array::faults::{FaultPlan, LatencyDistribution, NfsError, PathRule, Unreachable};
use wire::nfs3::{
    Attributes, DirArgs, LookupOk, Name, Procedure, ReadArgs, ReadOk, RenameArgs, RenameWcc, Stability,
    Status,
};

use crate::client::{Begun, Client, Fixture, PATIENCE, failed, ok, on_both_reactors};
use crate::reading::{create, write};

fn plan(rule: PathRule) -> FaultPlan {
    FaultPlan { paths: vec![rule], ..FaultPlan::default() }
}

/// Waits until the servers have noticed a change of their listeners.
fn until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Begun::now();
    while !done() {
        assert!(begun.elapsed() < PATIENCE, "{what} never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn connect(fixture: &Fixture) -> std::io::Result<TcpStream> {
    TcpStream::connect_timeout(&fixture.nfs_address(), Duration::from_millis(100))
}

#[test]
fn an_address_can_vanish_refuse_and_come_back() {
    on_both_reactors(|fixture| {
        let (mut client, root) = fixture.mounted();
        let rule = |unreachable| plan(PathRule { unreachable, ..PathRule::default() });
        fixture.faults.set(rule(Some(Unreachable::Drop)));
        until("dropping", || connect(fixture).is_err_and(|error| error.kind() == ErrorKind::TimedOut));
        assert_eq!(connect(fixture).unwrap_err().kind(), ErrorKind::TimedOut, "and it stays so");
        // The existing connection gets no more replies.
        client.socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let (_, record) = client.nfs_record(Procedure::Getattr, &root);
        client.send(&record);
        assert_eq!(client.receive().unwrap_err().kind(), ErrorKind::WouldBlock);
        fixture.faults.set(rule(Some(Unreachable::Refuse)));
        until("refusing", || {
            connect(fixture).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
        });
        fixture.faults.set(FaultPlan::default());
        until("accepting", || connect(fixture).is_ok());
        let mut client = fixture.connect();
        ok!(Attributes, (), client.nfs(Procedure::Getattr, &root));
    });
}

#[test]
fn an_address_that_drops_from_the_start_never_answers() {
    let rule = PathRule { unreachable: Some(Unreachable::Drop), ..PathRule::default() };
    for choice in [reactor::BackendChoice::Epoll, reactor::BackendChoice::Auto] {
        let fixture = Fixture::with_faults(choice, array::FaultHandle::new(plan(rule.clone())));
        assert_eq!(connect(&fixture).unwrap_err().kind(), ErrorKind::TimedOut);
        fixture.faults.set(FaultPlan::default());
        until("accepting", || connect(&fixture).is_ok());
    }
}

#[test]
fn a_stalled_address_accepts_and_never_answers() {
    on_both_reactors(|fixture| {
        fixture.faults.set(plan(PathRule { unreachable: Some(Unreachable::Stall), ..PathRule::default() }));
        let mut client = fixture.connect();
        client.socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let (_, record) = client.nfs_record(Procedure::Null, &());
        client.send(&record);
        assert_eq!(client.receive().unwrap_err().kind(), ErrorKind::WouldBlock);
    });
}

#[test]
fn errors_have_the_name_that_was_asked_for() {
    on_both_reactors(|fixture| {
        let (mut client, root) = fixture.mounted();
        for (nfs_error, status) in [
            (None, Status::JUKEBOX),
            (Some(NfsError::Io), Status::IO),
            (Some(NfsError::Nospc), Status::NOSPC),
        ] {
            let error_share = Some(1.0);
            fixture.faults.set(plan(PathRule { error_share, nfs_error, ..PathRule::default() }));
            let results = client.nfs(Procedure::Getattr, &root);
            assert_eq!(failed!(Attributes, (), results), status);
        }
        client.nfs(Procedure::Null, &());
        client.mount(b"/fs").expect("what finds the export is spared");
    });
}

#[test]
fn a_reset_comes_in_the_middle_of_a_reply() {
    on_both_reactors(|fixture| {
        let (mut client, root) = fixture.mounted();
        let file = create(&mut client, root, b"f");
        write(&mut client, file, 0, &vec![7; 1 << 20], Stability::FileSync);
        fixture.faults.set(plan(PathRule { reset_share: Some(1.0), ..PathRule::default() }));
        let (_, record) = client.nfs_record(Procedure::Read, &ReadArgs { file, offset: 0, count: 1 << 20 });
        client.send(&record);
        let mut got = 0;
        let mut buffer = vec![0; 1 << 20];
        let end = loop {
            match std::io::Read::read(&mut client.socket, &mut buffer) {
                Ok(0) => panic!("the connection was closed, not reset"),
                Ok(count) => got += count,
                // With a receive timeout the kernel does not restart a read that a notification of io_uring interrupts.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => break error,
            }
        };
        assert_eq!(end.kind(), ErrorKind::ConnectionReset);
        assert!(got < 1 << 20, "{got} bytes came");
    });
}

#[test]
fn latency_is_added_to_each_call_and_not_summed_over_those_in_flight() {
    on_both_reactors(|fixture| {
        let (mut client, root) = fixture.mounted();
        let latency = Some(LatencyDistribution::Fixed(Duration::from_millis(30)));
        fixture.faults.set(plan(PathRule { latency, ..PathRule::default() }));
        let begun = Begun::now();
        let calls = 2000;
        let mut all = Vec::new();
        for _ in 0..calls {
            all.extend(client.nfs_record(Procedure::Getattr, &root).1);
        }
        // More than may be delayed at once: the rest is read once the first have been answered.
        client.send(&all);
        ok!(Attributes, (), client.reply().2);
        assert!(begun.elapsed() >= Duration::from_millis(30));
        for _ in 1..calls {
            ok!(Attributes, (), client.reply().2);
        }
        // One after another they would take a minute.
        assert!(begun.elapsed() < PATIENCE);
    });
}

#[test]
fn replies_overtake_each_other_when_their_latency_says_so() {
    on_both_reactors(|fixture| {
        let (mut client, root) = fixture.mounted();
        let ms = Duration::from_millis;
        let latency = Some(LatencyDistribution::List([ms(200), ms(1)].into()));
        fixture.faults.set(plan(PathRule { latency, ..PathRule::default() }));
        let (slow, first) = client.nfs_record(Procedure::Getattr, &root);
        let (fast, second) = client.nfs_record(Procedure::Getattr, &root);
        client.send(&[first, second].concat());
        assert_eq!((client.reply().0, client.reply().0), (fast, slow));
    });
}

#[test]
fn bandwidth_is_shared_by_all_connections_and_limits_each_direction() {
    on_both_reactors(|fixture| {
        let (mut one, root) = fixture.mounted();
        let (mut two, _) = fixture.mounted();
        let file = create(&mut one, root, b"f");
        let block = vec![7; 256 << 10];
        write(&mut one, file, 0, &block, Stability::FileSync);
        let rate = 16 << 20;
        fixture.faults.set(plan(PathRule { bandwidth_bytes_per_s: Some(rate), ..PathRule::default() }));
        let begun = Begun::now();
        for _ in 0..4 {
            for client in [&mut one, &mut two] {
                let args = ReadArgs { file, offset: 0, count: 256 << 10 };
                let (_, record) = client.nfs_record(Procedure::Read, &args);
                client.send(&record);
            }
        }
        for client in [&mut one, &mut two] {
            for _ in 0..4 {
                let results = client.reply().2;
                assert_eq!(ok!(ReadOk<'_>, Option<Attributes>, results).data.len(), 256 << 10);
            }
        }
        // 2 MiB at 16 MiB/s.
        assert!(begun.elapsed() >= Duration::from_millis(125), "{:?}", begun.elapsed());
        let begun = Begun::now();
        write(&mut one, file, 0, &block, Stability::FileSync);
        assert!(begun.elapsed() >= Duration::from_micros(15_625), "{:?}", begun.elapsed());
    });
}

#[test]
fn stopping_the_server_ends_connections_and_frees_the_port() {
    on_both_reactors(|_| {});
    let mut fixture = Fixture::new(reactor::BackendChoice::Auto);
    let (mut client, _) = fixture.mounted();
    let endpoint = fixture.endpoint();
    fixture.server = Fixture::new(reactor::BackendChoice::Auto).server;
    assert!(matches!(client.receive(), Ok(None) | Err(_)));
    let settings = array::nfs::NfsServerSettings::default();
    array::nfs::NfsServer::start(&fixture.files, &fixture.faults, &[endpoint], settings)
        .expect("the port is free again");
}

#[test]
fn a_lost_rename_is_acknowledged_and_not_done() {
    on_both_reactors(|fixture| {
        let (mut client, root) = fixture.mounted();
        create(&mut client, root, b"a");
        fixture.faults.set(plan(PathRule { lost_rename_share: Some(1.0), ..PathRule::default() }));
        let place = |name| DirArgs { directory: root, name: Name(name) };
        let rename = RenameArgs { from: place(b"a"), to: place(b"b") };
        ok!(RenameWcc, RenameWcc, client.nfs(Procedure::Rename, &rename));
        let missing = client.nfs(Procedure::Rename, &RenameArgs { from: place(b"b"), ..rename });
        assert_eq!(failed!(RenameWcc, RenameWcc, missing), Status::NOENT, "other errors stay");
        fixture.faults.set(FaultPlan::default());
        let results = client.nfs(Procedure::Lookup, &place(b"b"));
        assert_eq!(failed!(LookupOk, Option<Attributes>, results), Status::NOENT);
        ok!(LookupOk, Option<Attributes>, client.nfs(Procedure::Lookup, &place(b"a")));
    });
}

#[test]
fn a_stale_read_returns_what_was_there_before_the_last_write() {
    on_both_reactors(|fixture| {
        let (mut client, root) = fixture.mounted();
        let file = create(&mut client, root, b"f");
        write(&mut client, file, 0, b"first", Stability::FileSync);
        let stale = |share| plan(PathRule { stale_read_share: Some(share), ..PathRule::default() });
        let read = |client: &mut Client, offset| {
            let results = client.nfs(Procedure::Read, &ReadArgs { file, offset, count: 100 });
            let read = ok!(ReadOk<'_>, Option<Attributes>, results);
            (read.data.to_vec(), read.eof)
        };
        fixture.faults.set(stale(1.0));
        assert_eq!(read(&mut client, 0), (b"first".to_vec(), true), "nothing older is known");
        write(&mut client, file, 3, b"LONGER", Stability::Unstable);
        assert_eq!(read(&mut client, 0), (b"first".to_vec(), true));
        assert_eq!(read(&mut client, 4), (b"t".to_vec(), true));
        assert_eq!(read(&mut client, 6), (Vec::new(), true));
        fixture.faults.set(stale(0.0));
        assert_eq!(read(&mut client, 0), (b"firLONGER".to_vec(), true));
    });
}
