//! Logins, what a target and a unit say about themselves, and what protects a unit's content.

use drivers::iscsi::{IscsiConfig, IscsiDriver};
use drivers::{Driver, Session, Sink};
use metrics::{ErrorKind, OpKind};
use reactor::{BackendChoice, Reactor};
use wire::iscsi::{ChapSecret, Lun};

use super::script::Script;
use super::target::{NAME, OWN, Target, UNIT_BYTES};
use super::{LIMIT, SHORT, config, context, op};

fn secret(name: &str, secret: &str) -> Option<ChapSecret> {
    Some(ChapSecret { name: name.into(), secret: secret.into() })
}

#[test]
fn logins_by_chap() {
    let script = Script { secret: secret("u1", "passw0rd1234"), ..Script::default() };
    let target = Target::start(script);
    let with = |own, mutual| {
        let config = IscsiConfig { secret: own, target_secret: mutual, ..config(&target) };
        IscsiDriver::new(config).unwrap().unit(LIMIT)
    };
    let own = || secret("u1", "passw0rd1234");
    assert_eq!(with(own(), None).unwrap().inquiry.product, "SCRIPTED UNIT");
    with(own(), secret(OWN.0, OWN.1)).unwrap();
    for (own, mutual, words) in [
        (None, None, "set LIBISCSI_CHAP_USERNAME"),
        (secret("u1", "guessed-wrong"), None, "check the name and the secret for CHAP"),
        (secret("u2", "passw0rd1234"), None, "check the name and the secret for CHAP"),
        (own(), secret(OWN.0, "another-secret"), "does not know the secret"),
        (own(), secret("another", OWN.1), "has another name"),
    ] {
        let error = with(own, mutual).unwrap_err();
        assert_eq!(error.kind, ErrorKind::AccessDenied, "{error}");
        assert!(error.detail.contains(words), "{error}");
        for hidden in ["passw0rd1234", "guessed-wrong", "another-secret"] {
            assert!(!error.detail.contains(hidden), "{error}");
        }
    }
    target.check();
}

#[test]
fn refused_logins_are_explained() {
    for (login_status, kind, words) in [
        (0x0202, ErrorKind::AccessDenied, "allow this initiator"),
        (0x0203, ErrorKind::NotFound, "check the target's name"),
        (0x0301, ErrorKind::Busy, "service unavailable"),
        (0x0101, ErrorKind::Protocol, "redirection without an address"),
        (0x0207, ErrorKind::Rejected, "missing parameter"),
    ] {
        let target = Target::start(Script { login_status, ..Script::default() });
        let error = IscsiDriver::new(config(&target)).unwrap().unit(LIMIT).unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.detail.contains(words), "{error}");
    }
    // A listener that never answers.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = IscsiConfig::new(listener.local_addr().unwrap(), NAME, 1);
    let error = IscsiDriver::new(silent).unwrap().unit(SHORT).unwrap_err();
    assert_eq!(error.kind, ErrorKind::ConnectFailed, "{error}");
    drop(listener);
}

#[test]
fn configurations_are_checked() {
    let target = Target::start(Script::default());
    let refused = |change: &dyn Fn(&mut IscsiConfig), words: &str| {
        let mut config = config(&target);
        change(&mut config);
        let error = IscsiDriver::new(config).unwrap_err();
        assert!(error.detail.contains(words), "{error}");
    };
    refused(&|config| config.target = "disk".into(), "write an iSCSI name");
    refused(&|config| config.initiator = "iqn.2026-01.lab:a b".into(), "initiator name");
    refused(&|config| config.lun = Lun::MAX + 1, "LUN 16384");
    refused(&|config| config.offer.receive_bytes = 511, "receive_size 511");
    refused(&|config| config.offer.first_burst_bytes = 8 << 20, "first_burst");
    refused(&|config| config.sessions = 0, "sessions");
    refused(&|config| config.target_secret = secret("a", "b"), "mutual CHAP needs both");
}

#[test]
fn targets_and_units_are_found() {
    let target = Target::start(Script::default());
    let driver = IscsiDriver::new(config(&target)).unwrap();
    let found = driver.targets(LIMIT).unwrap();
    let portal = format!("{},1", target.address);
    assert_eq!(found.iter().map(|target| &*target.name).collect::<Vec<_>>(), [NAME, "iqn.2026-01.lab:t2"]);
    assert_eq!(found[1].portals, [portal]);
    let units: Vec<_> = driver.units(LIMIT).unwrap().iter().map(Lun::to_string).collect();
    assert_eq!(units, ["1", "300"]);
    let unit = driver.unit(LIMIT).unwrap();
    assert_eq!((unit.limits.transfer_blocks, unit.serial, unit.capacity.unmaps), (256, None, true));
    let other = IscsiDriver::new(IscsiConfig { lun: 2, ..config(&target) }).unwrap();
    let error = other.unit(LIMIT).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound, "{error}");
    assert!(error.detail.contains("the target has LUN 1, 300"), "{error}");
    target.check();
}

#[test]
fn what_a_unit_holds_is_not_overwritten_unasked() {
    let target = Target::start(Script::default());
    let driver = IscsiDriver::new(config(&target)).unwrap();
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let write = |driver: &IscsiDriver| {
        reactor.block_on(async {
            let session = driver.connect(&reactor, &context(Sink::Buffer)).await.unwrap();
            session.perform(&op(OpKind::Read, 0, 512)).await.unwrap();
            let trimmed = session.perform(&op(OpKind::Trim, 0, 512)).await;
            assert_eq!(trimmed.is_ok(), session.perform(&op(OpKind::Write, 0, 512)).await.is_ok());
            trimmed
        })
    };
    assert_eq!(write(&driver).unwrap_err().kind, ErrorKind::Local, "before it was checked");
    // The last place where a backup of a partition table may be, and the first of a file system.
    for (at, bytes, name) in
        [(UNIT_BYTES - 512, &b"EFI PART"[..], "(GPT)"), (0, &b"XFSB"[..], "an XFS file system")]
    {
        target.data.lock().unwrap()[at..at + bytes.len()].copy_from_slice(bytes);
        let error = driver.allow_writing(false, LIMIT).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Rejected, "{error}");
        assert!(error.detail.contains(name) && error.detail.contains("--destroy"), "{error}");
        write(&driver).unwrap_err();
        assert_eq!(driver.bytes_at(0, 4, LIMIT).unwrap() == b"XFSB", at == 0);
        target.data.lock().unwrap().fill(0);
    }
    driver.allow_writing(false, LIMIT).unwrap();
    write(&driver).unwrap();
    let again = IscsiDriver::new(config(&target)).unwrap();
    target.data.lock().unwrap()[..4].copy_from_slice(b"XFSB");
    again.allow_writing(true, LIMIT).unwrap();
    write(&again).unwrap();
    target.check();
}
