//! Exports that do not admit a client, or not by this version.

use array::files::Options;
use drivers::nfs::{NfsConfig, NfsDriver, NfsVersion};
use metrics::{ErrorKind, OpKind};

use crate::fixture::*;

/// Why an export cannot be used.
fn refused(fixture: &Fixture, version: NfsVersion, export: &str) -> (ErrorKind, String) {
    let config = NfsConfig { export: export.to_owned(), ..fixture.config(version) };
    let error = NfsDriver::new(config).unwrap().limits(LIMIT).unwrap_err();
    (error.kind, error.detail.to_string())
}

#[test]
fn who_is_not_admitted_is_told_so() {
    for version in BOTH {
        let fixture = Fixture::new();
        let only = |range: &str| Options {
            allowed: Some(vec![array::files::ClientRange::parse(range).unwrap()]),
            ..Options::default()
        };
        fixture.files.set_options("fs", only("10.0.0.0/8")).unwrap();
        let (kind, text) = refused(&fixture, version, "/fs");
        assert_eq!(kind, ErrorKind::AccessDenied, "{version:?}: {text}");
        assert!(text.contains("export rule"), "{version:?}: {text}");
        fixture.files.set_options("fs", only("127.0.0.0/8")).unwrap();
        fixture.driver(version, 1);
        let (kind, text) = refused(&fixture, version, "/none");
        assert_eq!(kind, ErrorKind::NotFound, "{version:?}: {text}");
    }
}

#[test]
fn a_version_that_is_off_does_not_show_the_file_system() {
    let fixture = Fixture::new();
    for (version, options) in [
        (NfsVersion::V3, Options { nfs_v3: false, ..Options::default() }),
        (NfsVersion::V4_1, Options { nfs_v4_1: false, ..Options::default() }),
    ] {
        fixture.files.set_options("fs", options).unwrap();
        let (kind, text) = refused(&fixture, version, "/fs");
        assert_eq!(kind, ErrorKind::NotFound, "{version:?}: {text}");
    }
}

#[test]
fn a_read_only_file_system_takes_no_changes() {
    for version in BOTH {
        let (fixture, _driver, reactor, session) = started(version, 1, 1);
        perform(&reactor, &session, op(OpKind::Create, 1, 0, 0)).unwrap();
        let options = Options { read_only: true, ..Options::default() };
        fixture.files.set_options("fs", options).unwrap();
        for kind in [OpKind::Create, OpKind::Write, OpKind::Chmod, OpKind::Remove, OpKind::Mkdir] {
            let object = if matches!(kind, OpKind::Create | OpKind::Mkdir) { 2 } else { 1 };
            let len = if kind == OpKind::Write { 100 } else { 0 };
            let error = perform(&reactor, &session, op(kind, object, 0, len)).unwrap_err();
            assert_eq!(error.kind, ErrorKind::ReadOnly, "{version:?} {kind}: {error}");
        }
        perform(&reactor, &session, op(OpKind::Stat, 1, 0, 0)).unwrap();
    }
}
