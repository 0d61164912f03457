//! The RADOS driver against a scripted librados, compiled from `data/librados.c`.
#![allow(clippy::unwrap_used)]

mod rados_library;

use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use drivers::rados::{ObjectMethod, OmapShape, RadosAccess, RadosConfig, RadosDriver};
use drivers::{Done, Driver, Op, OpError, Payload, Session, Sink, WorkerContext};
use metrics::{ErrorKind, OpKind};
use reactor::{BackendChoice, Reactor};
use tempfile::TempDir;

/// The scripted library.
static LIBRARY: LazyLock<(TempDir, PathBuf)> = LazyLock::new(|| {
    let directory = rados_library::compiled();
    let file = directory.path().join("librados.so.2");
    (directory, file)
});

/// A driver whose objects have this prefix.
fn config(prefix: &str) -> RadosConfig {
    let library = Some(LIBRARY.1.clone());
    RadosConfig { library, ..RadosConfig::new(RadosAccess::default(), "bench", prefix) }
}

fn context(lanes: u32, op_timeout: Duration) -> WorkerContext {
    WorkerContext {
        worker: 0,
        lanes,
        payload: Payload::new(7),
        sink: Sink::Verify,
        op_timeout,
        connect_timeout: Duration::from_secs(5),
    }
}

/// Performs operations one after another in a session of its own.
fn perform(config: RadosConfig, ops: &[Op], op_timeout: Duration) -> (Vec<Result<Done, OpError>>, u64) {
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let driver = RadosDriver::new(config).unwrap();
    reactor.block_on(async {
        let session = driver.connect(&reactor, &context(1, op_timeout)).await.unwrap();
        let mut results = Vec::new();
        for op in ops {
            results.push(session.perform(op).await);
        }
        (results, session.facts().late_replies)
    })
}

const LONG: Duration = Duration::from_secs(30);

fn op(kind: OpKind, object: u64) -> Op {
    Op::new(kind, 0, object)
}

#[test]
fn objects_are_written_read_verified_and_removed() {
    let sized = |kind| op(kind, 1).range(0, 100_000);
    let ops = [
        sized(OpKind::Put),
        sized(OpKind::Get),
        op(OpKind::Read, 1).range(4096, 4096),
        op(OpKind::Write, 1).range(4096, 4096).generation(1),
        op(OpKind::Read, 1).range(4096, 4096).generation(1),
        op(OpKind::Append, 1).range(100_000, 4096),
        op(OpKind::Read, 1).range(100_000, 4096),
        op(OpKind::Stat, 1),
        op(OpKind::Truncate, 1).range(0, 4096),
        op(OpKind::Get, 1).range(0, 4096),
        op(OpKind::List, 0),
        op(OpKind::Delete, 1),
        op(OpKind::Create, 1),
        op(OpKind::Remove, 1),
    ];
    let (results, late) = perform(config("all"), &ops, LONG);
    for (op, result) in ops.iter().zip(results) {
        let done = result.unwrap_or_else(|error| panic!("{op:?}: {error}"));
        assert_eq!((done.bytes, done.rpcs), (op.payload_bytes(), 1), "{op:?}");
    }
    assert_eq!(late, 0);
}

#[test]
fn wrong_content_and_wrong_lengths_are_errors() {
    let ops = [
        op(OpKind::Put, 2).range(0, 8192),
        op(OpKind::Get, 2).range(0, 8192).generation(1),
        op(OpKind::Get, 2).range(0, 4096),
        op(OpKind::Get, 2).range(0, 16384),
        op(OpKind::Read, 2).range(8000, 4096),
    ];
    let (results, _) = perform(config("wrong"), &ops, LONG);
    let kinds: Vec<_> = results.into_iter().map(|result| result.err().map(|error| error.kind)).collect();
    let length = Some(ErrorKind::Length);
    assert_eq!(kinds, [None, Some(ErrorKind::Corrupt), length, length, length]);
}

#[test]
fn errors_have_names() {
    for (object, kind) in [
        (0x5, ErrorKind::NotFound),
        (0xe001, ErrorKind::AccessDenied),
        (0xe028, ErrorKind::NoSpace),
        (0xe005, ErrorKind::ServerFault),
        (0xe108, ErrorKind::AccessDenied),
    ] {
        let (results, _) = perform(config("errors"), &[op(OpKind::Stat, object)], LONG);
        let error = results[0].as_ref().unwrap_err();
        assert_eq!(error.kind, kind, "{object:x}: {error}");
        let start = format!("stat errors.{object:016x} in pool bench: ");
        assert!(error.detail.starts_with(&start), "{error}");
    }
    let (results, _) = perform(config("errors"), &[op(OpKind::Rename, 1)], LONG);
    assert_eq!(results[0].as_ref().unwrap_err().kind, ErrorKind::Rejected);
}

/// librados returns some operations only when they are cancelled, and others long after that: the lane continues, and
/// the memory of the first stays its own.
#[test]
fn an_operation_ends_at_its_deadline_and_keeps_its_memory_until_librados_is_done() {
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let driver = RadosDriver::new(config("late")).unwrap();
    let read = |object| op(OpKind::Read, object).range(0, 4096);
    reactor.block_on(async {
        let session = driver.connect(&reactor, &context(1, Duration::from_secs(1))).await.unwrap();
        session.perform(&op(OpKind::Put, 3).range(0, 4096)).await.unwrap();
        for stuck in [0xf1, 0xf2] {
            let error = session.perform(&read(stuck)).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::TimedOut, "{error}");
        }
        while session.facts().late_replies < 2 {
            session.perform(&read(3)).await.unwrap();
        }
    });
}

#[test]
fn a_session_is_closed_while_librados_has_its_operations() {
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let driver = RadosDriver::new(RadosConfig { clients: 3, ..config("closed") }).unwrap();
    let session = reactor.block_on(driver.connect(&reactor, &context(4, LONG))).unwrap();
    let stuck = async |lane: u32| {
        let object = [0xf1, 0xf2, 0xf2, 0xf1][lane as usize];
        let _ = session.perform(&Op::new(OpKind::Read, lane, object).range(0, 4096)).await;
    };
    let left = reactor.run_lanes((0..4).map(stuck).collect(), reactor.sleep(Duration::from_millis(20)));
    assert_eq!(left, 4);
    drop(session);
}

#[test]
fn what_cannot_be_opened_is_explained_in_one_line() {
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let refused = |config: RadosConfig| {
        let driver = RadosDriver::new(config).unwrap();
        reactor.block_on(driver.connect(&reactor, &context(1, LONG))).err().unwrap()
    };
    let usual = || config("refused");
    let access = RadosAccess::default;
    let stranger = RadosAccess { user: "stranger".to_owned(), ..access() };
    let no_conf = RadosAccess { conf: Some("/missing/ceph.conf".into()), ..access() };
    for (config, kind, text) in [
        (RadosConfig { pool: "sink".into(), ..usual() }, ErrorKind::NotFound, "there is no pool sink; next:"),
        (
            RadosConfig { access: stranger, ..usual() },
            ErrorKind::AccessDenied,
            "the monitors refuse client.stranger",
        ),
        (RadosConfig { access: no_conf, ..usual() }, ErrorKind::Local, "/missing/ceph.conf cannot be read"),
        (
            RadosConfig { library: Some("librados-missing.so.9".into()), ..usual() },
            ErrorKind::Local,
            "next: install the package librados2",
        ),
    ] {
        let error = refused(config);
        assert!(error.kind == kind && error.detail.contains(text), "{error:?}");
        assert!(!error.detail.contains('\n'), "{error}");
    }
    let old = rados_library::compiled_without("rados_read_op_omap_get_vals_by_keys");
    let error = refused(RadosConfig { library: Some(old.path().join("librados.so.2")), ..usual() });
    let part =
        "has no function rados_read_op_omap_get_vals_by_keys; next: install a newer version of the package";
    assert!(error.detail.contains(part) && !error.detail.contains('\n'), "{error}");
    assert!(RadosDriver::new(config("a/b")).is_err());
}

/// Pages of the list have three names.
#[test]
fn our_objects_are_found_and_removed_and_no_others() {
    let objects = [0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37];
    let put = |object| op(OpKind::Put, object).range(0, object * 16);
    let puts = objects.map(put);
    for prefix in ["ours", "ours2"] {
        let (results, _) = perform(config(prefix), &puts, LONG);
        assert!(results.iter().all(Result::is_ok), "{results:?}");
    }
    let listed = |prefix| {
        let mut found = Vec::new();
        let driver = RadosDriver::new(config(prefix)).unwrap();
        driver.list(LONG, &mut |number, size| found.push((number, size))).unwrap();
        found.sort_unstable();
        found
    };
    let all = objects.map(|object| (object, object * 16));
    assert_eq!(listed("ours"), all);
    let driver = RadosDriver::new(config("ours")).unwrap();
    driver.adopt(LONG).unwrap();
    assert_eq!(driver.beginning(0x31, 4096, LONG).unwrap().len(), 0x310);
    assert_eq!(driver.beginning(0x39, 4096, LONG).unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(driver.remove_all(LONG).unwrap(), 7);
    assert_eq!(driver.adopt(LONG).unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!((listed("ours"), listed("ours2")), (vec![], all.to_vec()));
    let answers = driver.ask(&["{}".to_owned(), "refused".to_owned()], LONG).unwrap();
    assert_eq!(answers, [Some("{}".to_owned()), None]);
    RadosDriver::new(config("ours2")).unwrap().remove_all(LONG).unwrap();
}

/// One that cannot be removed is an error, and the others are removed all the same.
/// Objects with their primary OSDs at one address are found again there, and removed wherever their primaries are by then.
#[test]
fn objects_are_placed_on_the_osds_of_an_address() {
    let at =
        |address: &str| RadosConfig { primary_address: Some(address.parse().unwrap()), ..config("placed") };
    let all = |kind| (0..12).map(move |object| op(kind, object).range(0, 4096)).collect::<Vec<Op>>();
    let failed = |config: RadosConfig, kind| {
        let (results, _) = perform(config, &all(kind), LONG);
        results.into_iter().filter(Result::is_err).count()
    };
    assert_eq!(failed(at("10.0.0.1"), OpKind::Put), 0);
    assert_eq!(failed(at("10.0.0.1"), OpKind::Get), 0);
    assert_eq!(failed(at("10.0.0.2"), OpKind::Get), 12, "they are on other OSDs");
    assert_eq!(failed(config("placed"), OpKind::Get), 12, "their names do not say where they are");
    let driver = RadosDriver::new(at("10.0.0.2")).unwrap();
    let mut found = Vec::new();
    driver.list(LONG, &mut |number, size| found.push((number, size))).unwrap();
    found.sort_unstable();
    assert_eq!(found, (0..12).map(|number| (number, 4096)).collect::<Vec<_>>());
    let sizes = RadosDriver::new(at("10.0.0.1")).unwrap().sizes(&[3, 40], LONG).unwrap();
    assert_eq!((sizes[&3], sizes[&40]), (Some(4096), None));
    assert_eq!(driver.remove_all(LONG).unwrap(), 12);
    let map = driver.osd_map(LONG).unwrap();
    assert_eq!((map.count(), map.addresses().count()), (3, 3));
}

#[test]
fn an_address_without_placement_groups_is_named() {
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    for (address, parts) in [
        ("10.0.0.3", ["8 placement groups", "10.0.0.3"]),
        ("10.0.0.9", ["no OSD that is up", "10.0.0.1, 10.0.0.2, 10.0.0.3"]),
    ] {
        let primary_address = Some(address.parse().unwrap());
        let driver = RadosDriver::new(RadosConfig { primary_address, ..config("nowhere") }).unwrap();
        let opened = reactor.block_on(driver.connect(&reactor, &context(1, LONG)));
        let error = opened.err().unwrap();
        assert_eq!(error.kind, ErrorKind::NotFound);
        assert!(parts.iter().all(|part| error.detail.contains(part)), "{}", error.detail);
        assert!(error.detail.contains("next: ") && !error.detail.contains('\n'), "{}", error.detail);
    }
}

#[test]
fn what_cannot_be_removed_is_reported() {
    let puts = [0x41, 0x42].map(|object| op(OpKind::Put, object).range(0, 16));
    perform(config("stays"), &puts, LONG);
    perform(config("stays"), &[op(OpKind::Put, 0xe016).range(0, 16)], LONG);
    let error = RadosDriver::new(config("stays")).unwrap().remove_all(LONG).unwrap_err();
    assert!(error.detail.starts_with("Ceph, pool bench: ") && !error.detail.contains('\n'), "{error}");
}

/// A driver with keys of this size, and a method.
fn with_more(prefix: &str, (keys, value_bytes): (u32, u32), method: ObjectMethod) -> RadosConfig {
    RadosConfig { omap: Some(OmapShape { keys, value_bytes }), exec: Some(method), ..config(prefix) }
}

fn hello(class: &str, method: &str, input: &str) -> ObjectMethod {
    let [class, method] = [class, method].map(str::to_owned);
    ObjectMethod { class, method, input: input.into(), output_bytes: 16 }
}

#[test]
fn keys_are_set_and_their_values_verified() {
    let kinds = |results: Vec<Result<Done, OpError>>| -> Vec<_> {
        results
            .into_iter()
            .map(|result| result.map(|done| (done.bytes, done.rpcs)).map_err(|e| e.kind))
            .collect()
    };
    let put = |object| op(OpKind::Put, object).range(0, 4096);
    let (set, get) = (|object| op(OpKind::OmapSet, object), |object| op(OpKind::OmapGet, object));
    let done = Ok((0, 1));
    let shape = |keys, value_bytes| with_more("omap", (keys, value_bytes), hello("hello", "say_hello", ""));
    // The generation of the object's data does not matter; 0xa1 forgets some keys, and a value of 0xa2 is wrong.
    let ops = [
        put(1),
        get(1),
        set(1),
        get(1),
        set(1).generation(3),
        get(1).generation(4),
        set(0xa1),
        get(0xa1),
        set(0xa2),
        get(0xa2),
        get(0xa3),
        set(0xe028),
    ];
    let (results, _) = perform(shape(12, 100), &ops, LONG);
    let details: Vec<String> =
        results.iter().filter_map(|result| Some(result.as_ref().err()?.detail.to_string())).collect();
    let missing = Err(ErrorKind::NotFound);
    let expected = [
        Ok((4096, 1)),
        missing,
        done,
        done,
        done,
        done,
        done,
        missing,
        done,
        Err(ErrorKind::Corrupt),
        missing,
        Err(ErrorKind::NoSpace),
    ];
    assert_eq!(kinds(results), expected);
    for (detail, part) in details.iter().zip([
        "omap-get omap.0000000000000001 in pool bench: 0 of 12 keys are set",
        "5 of 12 keys are set",
        "the value of key.000000: not what was written",
        "No such file or directory",
        "No space left on device",
    ]) {
        assert!(detail.contains(part) && !detail.contains('\n'), "{detail}");
    }
    // Fewer keys are there too; values of another size are not what was set.
    let (results, _) = perform(shape(3, 100), &[get(1)], LONG);
    assert_eq!(kinds(results), [done]);
    let (results, _) = perform(shape(12, 99), &[get(1)], LONG);
    assert_eq!(kinds(results), [Err(ErrorKind::Length)]);
    let (results, _) = perform(config("omap"), &[set(1), get(1)], LONG);
    assert_eq!(kinds(results), [Err(ErrorKind::Rejected), Err(ErrorKind::Rejected)]);
}

#[test]
fn methods_are_called_and_refused_in_one_line() {
    let with = |method| with_more("exec", (1, 1), method);
    let ops = [op(OpKind::Put, 1).range(0, 16), op(OpKind::Exec, 1), op(OpKind::Exec, 1)];
    let (results, _) = perform(with(hello("hello", "say_hello", "world")), &ops, LONG);
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    for (method, kind, part) in [
        (
            hello("hello", "say_hello", "everybody!"),
            ErrorKind::Length,
            "hello.say_hello: the output exceeds exec_output_size",
        ),
        (hello("hello", "say_bye", ""), ErrorKind::Rejected, "hello.say_bye: Operation not supported"),
        (
            hello("secret", "say_hello", ""),
            ErrorKind::AccessDenied,
            "secret.say_hello: Operation not permitted",
        ),
    ] {
        let (results, _) = perform(with(method), &[op(OpKind::Exec, 1)], LONG);
        let error = results[0].as_ref().unwrap_err();
        assert!(error.kind == kind && error.detail.contains(part), "{error}");
    }
}

#[test]
fn a_method_is_looked_for_without_calling_it() {
    let check = |method| RadosDriver::new(with_more("probe", (1, 1), method)).unwrap().check_method(LONG);
    check(hello("hello", "say_hello", "world")).unwrap();
    RadosDriver::new(config("probe")).unwrap().check_method(LONG).unwrap();
    for (method, kind, part) in [
        (
            hello("helo", "say_hello", ""),
            ErrorKind::Rejected,
            "no object class helo with a method say_hello; next:",
        ),
        (hello("secret", "say_hello", ""), ErrorKind::AccessDenied, "osd_class_load_list"),
        (hello("a\0b", "say_hello", ""), ErrorKind::Rejected, "a name holds a zero byte"),
    ] {
        let error = check(method).unwrap_err();
        assert!(error.kind == kind && error.detail.contains(part), "{error:?}");
        assert!(!error.detail.contains('\n'), "{error}");
    }
    let found = RadosDriver::new(config("probe")).unwrap().adopt(LONG).unwrap_err();
    assert_eq!(found.kind, ErrorKind::NotFound, "nothing was created");
}

/// librados returns it long after: the lane continues, and neither the keys nor the output are written to memory of others.
#[test]
fn keys_that_come_too_late_are_given_back() {
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let config = with_more("latemap", (4, 64), hello("hello", "say_hello", "world"));
    let driver = RadosDriver::new(config).unwrap();
    reactor.block_on(async {
        let session = driver.connect(&reactor, &context(1, Duration::from_secs(1))).await.unwrap();
        session.perform(&op(OpKind::OmapSet, 3)).await.unwrap();
        for (kind, stuck) in [(OpKind::OmapGet, 0xf2), (OpKind::Exec, 0xf1), (OpKind::OmapSet, 0xf1)] {
            let error = session.perform(&op(kind, stuck)).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::TimedOut, "{error}");
        }
        while session.facts().late_replies < 3 {
            session.perform(&op(OpKind::OmapGet, 3)).await.unwrap();
            session.perform(&op(OpKind::Exec, 3)).await.unwrap();
        }
    });
}
