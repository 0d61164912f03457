//! Leftovers and reports about them: nothing that was never created, and everything that was.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod support;

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use run_support::{Lab, names};
use rustix::process::Signal;
use support::{Stage, run, run_until_measured, start, wait_until};

/// A port that accepts connections and never answers: a firewall, a hanging gateway.
fn silent() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

fn keys(command: &mut Command) -> &mut Command {
    command.env("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE").env("AWS_SECRET_ACCESS_KEY", "example")
}

fn assert_nothing_was_said_or_kept(ended: &support::Ended, journal: &Path) {
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(!ended.stderr.contains("left behind"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("not removed"), "{}", ended.stderr);
    assert_eq!(names(journal), Vec::<String>::new(), "a journal was left: {ended:#?}");
}

#[test]
fn a_check_of_a_port_that_never_answers_leaves_nothing_behind() {
    let stage = Stage::plain(1);
    let (_listener, port) = silent();
    let nfs = run(stage
        .manometer("check")
        .args(["--nfs", &format!("nfs://127.0.0.1:{port}/export"), "--mount-port", &port.to_string()])
        .args(["--connect-timeout", "1s", "--op-timeout", "2s"]));
    assert_nothing_was_said_or_kept(&nfs, &stage.journal());
    let mut check = stage.manometer("check");
    check.args(["--s3", &format!("s3://lab?endpoint=http://127.0.0.1:{port}")]);
    check.args(["--connect-timeout", "1s", "--op-timeout", "2s"]);
    assert_nothing_was_said_or_kept(&run(keys(&mut check)), &stage.journal());
}

#[test]
fn a_run_against_a_port_that_never_answers_leaves_nothing_behind() {
    let (_listener, port) = silent();
    let targets = [
        (format!("{{url: 'nfs://127.0.0.1:{port}/export', mount_port: {port}}}"), "read"),
        (format!("'s3://lab?endpoint=http://127.0.0.1:{port}'"), "get"),
    ];
    for (target, op) in targets {
        let lab = Lab::new();
        let text = format!(
            "targets: {{t: {target}}}\nworkloads: {{w: {{ops: {op}, {size}: 64KiB}}}}\nsteady: none\n",
            size = if op == "get" { "object_size" } else { "file_size" },
        );
        let file = lab.experiment("e.yaml", &text);
        let ended = run(keys(&mut lab.command()).arg(file));
        assert_nothing_was_said_or_kept(&ended, &lab.path("journal"));
    }
}

#[test]
fn a_block_size_that_does_not_fit_is_refused_before_a_directory_is_made() {
    let lab = Lab::new();
    let text = "
targets: {t: 'file://DATA?direct=yes'}
workloads: {w: {ops: read, file_size: 1MiB, block_size: 1000}}
steady: none
";
    let ended = lab.run(text);
    assert!(matches!(ended.code, Some(1 | 2)), "{ended:#?}");
    assert!(!ended.stderr.contains("left behind"), "{}", ended.stderr);
    assert_eq!(names(&lab.data()), Vec::<String>::new());
    lab.assert_clean();
}

#[test]
fn what_one_host_made_is_removed_when_another_refuses() {
    let lab = Lab::new();
    std::fs::create_dir(lab.data().join("local-0")).unwrap();
    // Nothing can be created in /proc, which shows only when the directory is created.
    std::os::unix::fs::symlink("/proc", lab.data().join("local-1")).unwrap();
    let text = "
targets: {t: 'file://DATA/{host}'}
workloads: {w: {ops: read, file_size: 1MiB, block_size: 4KiB}}
steady: none
";
    let file = lab.experiment("e.yaml", text);
    let ended = run(lab.command().args(["--local", "2"]).arg(file));
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.stderr.contains("local-1") && ended.stderr.contains("making directory"), "{ended:#?}");
    assert!(!ended.stderr.contains("left behind"), "{}", ended.stderr);
    assert_eq!(names(&lab.data().join("local-0")), Vec::<String>::new(), "{ended:#?}");
    assert_eq!(names(&lab.path(".local/state/manometer/journal")), Vec::<String>::new());
    lab.assert_clean();
}

/// The journal of a dead run that lists one directory on a server.
fn write_journal(journal: &Path, id: &str, port: u16, directory: &str) {
    std::fs::create_dir_all(journal).unwrap();
    let lines = format!(
        "{{\"run\":{{\"format\":1,\"id\":\"{id}\",\"pid\":1,\"host\":\"h\",\"started\":\"2026-11-01T00:00:00Z\"}}}}\n\
         {{\"intend\":{{\"n\":0,\"at_s\":1,\"thing\":{{\"kind\":\"directory\",\"server\":\"127.0.0.1\",\
         \"export\":\"/export\",\"directory\":\"{directory}\",\"nfs_port\":{port},\"mount_port\":{port},\
         \"portmap_port\":111,\"uid\":0,\"gid\":0}}}}}}\n"
    );
    std::fs::write(journal.join(format!("{id}.jsonl")), lines).unwrap();
}

#[test]
fn a_journal_that_cannot_be_finished_names_the_way_out_and_is_forgotten_by_it() {
    let stage = Stage::plain(1);
    // Nobody listens there any more.
    let dead = silent().1;
    write_journal(&stage.journal(), "aaaaaaaa", dead, "manometer-aaaaaaaa");
    write_journal(&stage.journal(), "bbbbbbbb", dead, "manometer-bbbbbbbb");
    write_journal(&stage.journal(), "cccccccc", dead, "home");
    let ended = run(&mut stage.manometer("cleanup"));
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    for words in [
        "run bbbbbbbb: journal 2 of 3",
        "run bbbbbbbb: directory manometer-bbbbbbbb on 127.0.0.1:/export: not tried",
        "run cccccccc: directory home on 127.0.0.1:/export: refused",
        "--forget aaaaaaaa --forget bbbbbbbb --forget cccccccc",
    ] {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
    let ended = run(stage.manometer("cleanup").args(["--forget", "aaaaaaaa", "--forget", "cccccccc"]));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(ended.stderr.contains("run aaaaaaaa: not removed: directory manometer-aaaaaaaa"), "{ended:#?}");
    assert!(ended.stderr.contains("run cccccccc: forgotten"), "{ended:#?}");
    assert_eq!(names(&stage.journal()), ["bbbbbbbb.jsonl"]);
    run(stage.manometer("cleanup").args(["--forget", "aaaaaaaa"]))
        .assert_one_line(2, &["no journal of run aaaaaaaa"]);
}

#[test]
fn a_live_run_is_not_forgotten() {
    let lab = Lab::new();
    let running = start(lab.command().arg(lab.experiment("e.yaml", LONG)));
    lab.wait_for_intervals(1);
    let journal = lab.path("journal");
    let id = names(&journal).remove(0).trim_end_matches(".jsonl").to_owned();
    let mut cleanup = Command::new(env!("CARGO_BIN_EXE_manometer"));
    let ended = run(cleanup.args(["cleanup", "--forget", &id, "--journal-dir"]).arg(&journal));
    ended.assert_one_line(1, &["still running", "not forgotten"]);
    running.signal(Signal::INT);
    assert_eq!(running.finish().code, Some(130));
    lab.assert_clean();
}

const LONG: &str = "
targets: {t: 'file://DATA'}
workloads: {w: {ops: read, file_size: 1MiB, block_size: 4KiB}}
stages: {warm_up: 0s, measure: {at_least: 60s, at_most: 60s}}
steady: none
";

/// SIGHUP has its default action, even if these tests themselves run under `nohup`.
const HANGS_UP: [&str; 2] = ["env", "--default-signal=HUP"];

/// The same command, started through another one that execs it.
fn under(starter: &[&str], command: &Command) -> Command {
    let mut outer = Command::new(starter[0]);
    outer.args(&starter[1..]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    outer
}

/// Closing a terminal sends the signal, often twice; nobody may be able to read the last output.
#[test]
fn a_hangup_cleans_up_as_sigterm_does() {
    let lab = Lab::new();
    let file = lab.experiment("e.yaml", LONG);
    let running = start(&mut under(&HANGS_UP, lab.command().arg(file)));
    lab.wait_for_intervals(1);
    running.signal(Signal::HUP);
    running.signal(Signal::HUP);
    let ended = running.finish();
    assert_eq!(ended.code, Some(129), "{ended:#?}");
    lab.assert_clean();

    let mut stage = Stage::plain(1);
    stage.make_file_system("projects", "*(rw,no_root_squash)");
    stage.remember();
    let mut check = stage.check();
    check.args(["--duration", "60s"]);
    let running = start(&mut under(&HANGS_UP, &check));
    wait_until("the file system", || stage.array.state().to_string().contains("manometer-"));
    running.signal(Signal::HUP);
    std::thread::sleep(std::time::Duration::from_millis(50));
    running.signal(Signal::HUP);
    let ended = running.finish();
    assert_eq!(ended.code, Some(129), "{ended:#?}");
    stage.assert_untouched();
}

/// `nohup` ignores the signal before it starts the program: it stays ignored.
#[test]
fn a_hangup_that_is_ignored_from_the_start_stays_ignored() {
    let lab = Lab::new();
    let file = lab.experiment("e.yaml", &LONG.replace("60s", "3s"));
    let mut nohup = under(&["nohup"], lab.command().arg(file));
    let running = start(nohup.stdin(std::process::Stdio::null()));
    lab.wait_for_intervals(1);
    running.signal(Signal::HUP);
    let ended = running.finish();
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    lab.assert_clean();
}

/// A complete session loss: the terminal's other end is gone, the kernel sends the signal, and every write fails.
#[test]
fn a_terminal_that_goes_away_keeps_nothing_from_being_removed() {
    let lab = Lab::new();
    let file = lab.experiment("e.yaml", LONG);
    let command = lab.command();
    let words = command.get_args().map(|word| format!("'{}'", word.display()));
    let words: Vec<String> = words.collect();
    let line = format!(
        "echo $$ > '{}'; exec '{}' {} '{}'",
        lab.path("pid").display(),
        command.get_program().display(),
        words.join(" "),
        file.display()
    );
    // script(1) holds the other end of the terminal that the program runs in.
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm").env("HOME", lab.directory.path());
    let running = start(under(&HANGS_UP, &script).stdin(std::process::Stdio::null()));
    lab.wait_for_intervals(1);
    let pid = std::fs::read_to_string(lab.path("pid")).unwrap();
    let pid = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    running.signal(Signal::KILL);
    running.finish();
    wait_until("the program's end", || rustix::process::test_kill_process(pid).is_err());
    assert_eq!(lab.cells()[0].state, store::State::Interrupted);
    lab.assert_clean();
}

#[test]
fn a_standard_output_that_is_closed_is_an_error_before_any_work() {
    let lab = Lab::new();
    let program = env!("CARGO_BIN_EXE_manometer");
    for arguments in ["check --demo --duration 1s", "list", "run x.yaml"] {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec '{program}' {arguments} >&-")]).env("HOME", lab.directory.path());
        // The shell's own output is piped; the program's is closed.
        run(&mut shell).assert_one_line(1, &["standard output is closed"]);
    }
    let mut full = Command::new("sh");
    full.args(["-c", &format!("exec '{program}' run --dry-run \"$0\" > /dev/full")]);
    let ended = run(full.arg(lab.experiment("e.yaml", LONG)).env("HOME", lab.directory.path()));
    ended.assert_one_line(1, &["standard output", "No space left"]);
}

#[test]
fn dropping_bytes_that_must_be_decrypted_is_wrong_usage() {
    let lab = Lab::new();
    let stage = Stage::plain(1);
    let mut check = stage.manometer("check");
    check.args(["--s3", "https://127.0.0.1:1/bucket", "--sink", "discard"]);
    run(keys(&mut check)).assert_one_line(2, &["--sink discard", "TLS"]);
    let text = "
targets: {t: 's3://bucket?endpoint=https://127.0.0.1:1'}
workloads: {w: {ops: get, object_size: 64KiB, sink: discard}}
steady: none
";
    let file = lab.experiment("e.yaml", text);
    run(keys(&mut lab.command()).arg(file)).assert_one_line(2, &["sink: discard", "TLS"]);
    lab.assert_clean();
}

/// The flags of flashblade-plumbing: seconds without a unit, one address, names of existing targets, no array.
#[test]
fn the_spellings_of_flashblade_plumbing_are_understood() {
    let mut stage = Stage::plain(1);
    stage.make_file_system("projects", "*(rw,no_root_squash)");
    let made = stage.make_bucket("archive");
    stage.remember();
    let mut check = stage.bare_check();
    check.args(["--duration", "1", "--datavip", &stage.ip(0).to_string(), "--output", "csv"]);
    check.args([
        "--filesystem",
        "projects",
        "--bucket",
        "archive",
        "--nfs-port",
        &stage.nfs_port().to_string(),
    ]);
    check.env("AWS_ACCESS_KEY_ID", &made.access).env("AWS_SECRET_ACCESS_KEY", &made.secret);
    let ended = run_until_measured(&mut check);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let rows: Vec<&str> = ended.stdout.lines().skip(1).collect();
    let begins = |row: &str, protocol: &str| row.starts_with(&format!("{},{protocol},SUCCESS,", stage.ip(0)));
    assert!(rows.len() == 2 && begins(rows[0], "nfs") && begins(rows[1], "s3"), "{ended:#?}");
    stage.assert_untouched();
}
