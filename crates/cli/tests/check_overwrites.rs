//! `manometer check --verify` finds overwrites that were acknowledged and lost, or stored elsewhere.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use support::proxy::{Betrayal, NfsProxy};
use support::{Ended, Stage, run};

/// A check that writes 8 MiB many times, through a proxy that loses or misplaces some WRITEs.
fn check_through(betrayal: Betrayal) -> (Ended, u64) {
    let stage = Stage::plain(1);
    stage.make_file_system("projects", "*(rw,no_root_squash)");
    let proxy = NfsProxy::start(stage.ip(0), stage.nfs_port(), betrayal);
    let mut check = stage.bare_check();
    check.args(["--nfs", &format!("nfs://{}:{}/projects", stage.ip(0), proxy.port)]);
    check.args(["--verify", "--duration", "3s", "--output", "csv"]);
    let ended = run(&mut check);
    (ended, proxy.betrayed())
}

#[test]
fn lost_overwrites_are_corrupt_data() {
    let (ended, betrayed) = check_through(Betrayal::Lost { every: 10 });
    assert!(betrayed > 10, "the data set wrapped: {ended:#?}");
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.stdout.contains(",nfs,DATA CORRUPT,"), "{ended:#?}");
    assert!(ended.stderr.contains("a lost write or a stale read"), "{ended:#?}");
}

#[test]
fn misplaced_overwrites_are_corrupt_data() {
    let (ended, betrayed) = check_through(Betrayal::Misplaced { every: 10 });
    assert!(betrayed > 10, "the data set wrapped: {ended:#?}");
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.stdout.contains(",nfs,DATA CORRUPT,"), "{ended:#?}");
}
