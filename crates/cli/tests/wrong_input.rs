//! Wrong input: one clear line that names the input and the next step, the right exit code, and nothing left behind.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use support::{Stage, run};

/// Usage errors need no array: nothing is contacted.
fn usage(arguments: &[&str], environment: &[(&str, &str)], words: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let mut check = std::process::Command::new(env!("CARGO_BIN_EXE_manometer"));
    check.arg("check").args(arguments).env_clear().env("HOME", directory.path());
    let ended = run(check.envs(environment.iter().copied()));
    ended.assert_one_line(2, words);
    assert_eq!(ended.stdout, "");
}

#[test]
fn no_management_address() {
    usage(&[], &[], &["FB_MGMT_VIP", "--management"]);
    usage(&[], &[("FB_MGMT_VIP", " "), ("FB_TOKEN", "T-1")], &["FB_MGMT_VIP", "--management"]);
}

#[test]
fn no_token() {
    usage(&["--management", "127.0.0.1"], &[], &["FB_TOKEN", "--token-file", "pureadmin"]);
    usage(&["--management", "127.0.0.1"], &[("FB_TOKEN", "")], &["FB_TOKEN", "--token-file"]);
    usage(&["--management", "127.0.0.1", "--token-file", "/nonexistent/token"], &[], &["/nonexistent/token"]);
}

#[test]
fn a_token_is_not_taken_as_an_argument() {
    usage(&["--token", "T-1"], &[], &["--token"]);
}

#[test]
fn bad_urls() {
    usage(&["--nfs", "filer:/export"], &[], &["--nfs", "filer:/export", "nfs://host/export"]);
    usage(&["--s3", "bucket"], &[], &["--s3", "bucket", "s3://bucket?endpoint="]);
    usage(&["--s3", "https://host:99999/b"], &[], &["--s3", "99999"]);
}

#[test]
fn flags_that_do_not_exist_or_do_not_fit() {
    usage(&["--frobnicate"], &[], &["--frobnicate"]);
    usage(&["--output", "xml"], &[], &["xml", "--output"]);
    usage(&["--reactor", "kqueue"], &[], &["kqueue", "--reactor"]);
    usage(&["--demo", "--duration", "fast"], &[], &["\"fast\" is not a duration", "30s"]);
    usage(&["--demo", "--duration", "0s"], &[], &["--duration", "10s"]);
    usage(&["--demo", "--block-size", "1 parsec"], &[], &["1 parsec", "4KiB"]);
    usage(&["--demo", "--block-size", "0"], &[], &["--block-size"]);
    usage(&["--demo", "--skip-nfs", "--skip-s3"], &[], &["--skip-nfs", "--skip-s3"]);
    usage(&["--nfs", "nfs://h/e", "--skip-nfs"], &[], &["--skip-nfs"]);
    usage(&["--nfs", "nfs://h/e", "--bucket", "b"], &[], &["--bucket", "--nfs"]);
    usage(&["--demo", "--output-file", "/nonexistent/report"], &[], &["--output-file"]);
    let address = [("FB_MGMT_VIP", "127.0.0.1"), ("FB_TOKEN", "T-1")];
    usage(&["--tls-fingerprint", "abc"], &address, &["--tls-fingerprint", "64"]);
    usage(&["--management", "me@host"], &[("FB_TOKEN", "T-1")], &["--management"]);
}

#[test]
fn a_refused_token_is_named() {
    let mut stage = Stage::new(1);
    stage.remember();
    let ended = run(stage.check().env("FB_TOKEN", "T-wrong-secret"));
    ended.assert_one_line(1, &["log in", "check the API token"]);
    assert!(!ended.stderr.contains("T-wrong-secret"), "{ended:#?}");
    stage.assert_untouched();
}

#[test]
fn a_certificate_that_is_not_trusted_says_how_to_pin_it() {
    let mut stage = Stage::new(1);
    stage.remember();
    let fingerprint = stage.array.fingerprint().unwrap().to_owned();
    let mut check = stage.bare_check();
    check.env("FB_MGMT_VIP", stage.array.management_address().to_string());
    check.env("FB_TOKEN", stage.array.token().reveal());
    let pin = format!("--tls-fingerprint {fingerprint}");
    run(&mut check).assert_one_line(1, &["certificate", &pin, "--tls-insecure"]);
    // A fingerprint of another array is refused, too.
    run(check.args(["--tls-fingerprint", &"0".repeat(64)])).assert_one_line(1, &["certificate"]);
    stage.assert_untouched();
}

#[test]
fn an_array_that_is_not_there() {
    let stage = Stage::new(1);
    let mut check = stage.check();
    check.env("FB_MGMT_VIP", format!("{}:9", stage.ip(0)));
    run(&mut check).assert_one_line(1, &[":9", "no connection", "check the management address"]);
}

#[test]
fn a_bucket_or_file_system_that_does_not_exist_on_the_array() {
    let mut stage = Stage::new(1);
    stage.remember();
    run(stage.check().args(["--bucket", "nosuch"])).assert_one_line(1, &["nosuch", "--bucket"]);
    run(stage.check().args(["--filesystem", "nosuch"])).assert_one_line(1, &["nosuch", "--filesystem"]);
    stage.assert_untouched();
}

#[test]
fn a_bucket_that_does_not_exist_or_keys_that_are_refused() {
    let mut stage = Stage::plain(1);
    let keys = stage.make_bucket("archive");
    stage.remember();
    let check = |bucket: &str, secret: &str| {
        let mut check = stage.bare_check();
        check.args(["--s3", &stage.s3_url(bucket)]);
        check.env("AWS_ACCESS_KEY_ID", &keys.access).env("AWS_SECRET_ACCESS_KEY", secret);
        run(&mut check)
    };
    check("nosuch", &keys.secret).assert_one_line(1, &["FAILED TO CONNECT", "nosuch", "exist"]);
    let refused = check("archive", "not-the-secret");
    refused.assert_one_line(1, &["FAILED TO CONNECT", "archive", "key"]);
    assert!(!refused.stderr.contains("not-the-secret"), "{refused:#?}");
    let nobody = run(stage.bare_check().args(["--s3", &stage.s3_url("archive")]));
    nobody.assert_one_line(1, &["keys", "AWS_ACCESS_KEY_ID"]);
    stage.assert_untouched();
}

#[test]
fn an_export_that_does_not_exist_or_does_not_let_this_client_in() {
    let mut stage = Stage::plain(1);
    stage.make_file_system("closed", "203.0.113.0/24(rw,no_root_squash)");
    stage.remember();
    for (export, words) in [("nosuch", ["MOUNT FAILED", "/nosuch"]), ("closed", ["MOUNT FAILED", "/closed"])]
    {
        let ended = run(stage.bare_check().args(["--nfs", &stage.nfs_url(export)]));
        ended.assert_one_line(1, &words);
    }
    stage.assert_untouched();
}

#[test]
fn an_export_that_is_read_only() {
    let mut stage = Stage::plain(1);
    stage.make_file_system("frozen", "*(ro)");
    stage.remember();
    let ended = run(stage.bare_check().args(["--nfs", &stage.nfs_url("frozen")]));
    ended.assert_one_line(1, &["/frozen", "read-only"]);
    stage.assert_untouched();
}

#[test]
fn a_disk_that_is_full() {
    let mut stage = Stage::with(1, |config| config.capacity_bytes = 1 << 20);
    stage.remember();
    for skip in ["--skip-s3", "--skip-nfs"] {
        let ended = run(stage.check().args([skip, "--output", "csv"]));
        ended.assert_one_line(1, &["WRITE FAILED", "no-space", "free space"]);
        assert!(ended.stdout.contains(",WRITE FAILED,"), "{ended:#?}");
        stage.assert_untouched();
    }
}

#[test]
fn a_journal_that_cannot_be_written_stops_everything_before_it_begins() {
    let mut stage = Stage::new(1);
    stage.remember();
    std::fs::write(stage.journal(), "a file where a directory should be").unwrap();
    run(&mut stage.check()).assert_one_line(1, &["journal", "--journal-dir"]);
    std::fs::remove_file(stage.journal()).unwrap();
    stage.assert_untouched();
}

#[test]
fn cleanup_without_a_journal_or_token_says_so() {
    let stage = Stage::new(1);
    let mut cleanup = stage.manometer("cleanup");
    let ended = run(&mut cleanup);
    ended.assert_one_line(2, &["--journal-dir", "no such directory"]);
    assert!(ended.stderr.contains("`manometer cleanup --help`"), "{}", ended.stderr);
}
