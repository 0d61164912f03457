//! `manometer array` as a program: it says where it listens, ends on request, and refuses wrong usage.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

fn array(flags: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_manometer"));
    command.arg("array").args(flags).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env_remove("MANOMETER_ARRAY_TOKEN");
    command
}

/// Waits for the ready file; the limit only guards against hangs.
fn ready(path: &Path) -> Value {
    for _ in 0..6000 {
        if let Ok(text) = std::fs::read(path) {
            return serde_json::from_slice(&text).unwrap();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the array did not start");
}

/// Its output, once it has ended successfully.
fn end(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// 192.0.2.0/24 is for documentation: no host has an address in it.
#[test]
fn an_address_of_another_host_is_named_with_what_to_do() {
    let output = array(&["--management", "192.0.2.1:99"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1), "{said}");
    assert!(said.contains("192.0.2.1:99") && said.contains("next: give addresses of this host"), "{said}");
    assert_eq!(said.matches("os error").count(), 1, "{said}");
}

#[test]
fn it_says_where_everything_listens_and_ends_with_its_input() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ready.json");
    let data = "127.0.1.1,subnet=one,s3-tls=0";
    let flags =
        ["--management", "127.0.0.1:0", "--until-eof", "--data", data, "--data", "127.0.9.1,disabled"];
    let mut child = array(&flags).arg("--ready-file").arg(&path).spawn().unwrap();
    let facts = ready(&path);
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&path).unwrap());
    assert_eq!(mode & 0o777, 0o600, "it holds the token");
    for field in ["nfs_port", "mount_port", "portmap_port", "s3_port", "s3_tls_port"] {
        let port = facts["data"][0][field].as_u64().unwrap();
        TcpStream::connect(("127.0.1.1", u16::try_from(port).unwrap())).unwrap();
    }
    assert_eq!(facts["data"][1]["enabled"], false);
    let management = facts["management"].as_str().unwrap();
    TcpStream::connect(management).unwrap();
    drop(child.stdin.take());
    let printed = end(child);
    for field in ["management_url", "fingerprint", "token"] {
        assert!(printed.contains(facts[field].as_str().unwrap()), "{field}: {printed}");
    }
    assert!(TcpStream::connect(management).is_err());
}

#[test]
fn it_ends_with_a_signal_and_takes_the_token_from_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let (path, token) = (directory.path().join("ready.json"), directory.path().join("token"));
    std::fs::write(&token, "T-from-a-file\n").unwrap();
    let flags = ["--management", "127.0.0.1:0", "--plain-http", "--fault", "127.0.2.1=drop"];
    let child = array(&flags).arg("--token-file").arg(&token).arg("--ready-file").arg(&path).spawn().unwrap();
    let facts = ready(&path);
    assert_eq!(facts["token"], "T-from-a-file");
    assert!(
        facts["fingerprint"].is_null() && facts["management_url"].as_str().unwrap().starts_with("http://")
    );
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    end(child);
}

/// The printed lines are run unchanged, in a shell with no other context.
#[test]
fn the_lines_of_the_playground_work_as_they_are_printed() {
    let home = tempfile::tempdir().unwrap();
    let mut child = array(&["--playground"]).env("TMPDIR", home.path()).spawn().unwrap();
    let mut lines = Vec::new();
    let mut printed = BufReader::new(child.stdout.take().unwrap()).lines();
    while lines.last().is_none_or(|line: &String| !line.starts_with("Ctrl-C")) {
        lines.push(printed.next().expect("it prints what can be tried").unwrap());
    }
    let keys =
        lines.iter().find_map(|line| line.strip_prefix("export AWS_SHARED_CREDENTIALS_FILE=")).unwrap();
    let mode = |path: &Path| std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(path).unwrap()) & 0o777;
    assert_eq!((mode(Path::new(keys)), mode(Path::new(keys).parent().unwrap())), (0o600, 0o700));
    let secret = std::fs::read_to_string(keys).unwrap();
    let secret = secret.lines().find_map(|line| line.strip_prefix("aws_secret_access_key = ")).unwrap();
    assert!(secret.len() == 40 && lines.iter().all(|line| !line.contains(secret)), "{lines:?}");

    let programs = Path::new(env!("CARGO_BIN_EXE_manometer")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let tries: Vec<&String> = lines.iter().filter(|line| line.starts_with("manometer ")).collect();
    assert_eq!(tries.len(), 4, "{lines:#?}");
    for (line, wanted) in tries.iter().zip(["nfs-read", "nfs-read", "s3-get", "s3 write"]) {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("export AWS_SHARED_CREDENTIALS_FILE={keys}\n{line}")]);
        let output = shell.env_clear().env("PATH", &path).env("HOME", home.path()).output().unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && shown.contains(wanted), "{line}\n{shown}{said}");
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(!Path::new(keys).parent().unwrap().exists(), "the keys are gone with the array");
}

#[test]
fn exports_and_buckets_are_named_once_and_as_arrays_name_them() {
    for (flags, part) in [
        (&["--export", "a", "--export", "a"][..], "a: File system already exists."),
        (&["--bucket", "A"], "A: Invalid bucket name."),
        (&["--export", "/a"], "/a: Invalid name."),
    ] {
        let output = array(flags).args(["--management", "127.0.0.1:0"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{flags:?}: {said}");
        assert!(said.contains(part) && said.lines().count() == 1, "{flags:?}: {said}");
    }
}

#[test]
fn wrong_usage_is_named() {
    for (flags, code, part) in [
        (&["--fault", "127.0.0.1=explode"][..], 2, "explode"),
        (&["--data", "nowhere"], 2, "nowhere"),
        (&["--data", "127.0.1.1,nfs=70000"], 2, "nfs=70000"),
        (&["--api-versions", "3.0"], 2, "3.0"),
        (&["--token-file", "/nonexistent/token"], 2, "/nonexistent/token"),
        (&["--fault-file", "/nonexistent/faults"], 1, "/nonexistent/faults"),
        (&["--certificate", "/nonexistent/c", "--key", "/nonexistent/k"], 1, "/nonexistent/c"),
        (&["--management", "192.0.2.1:0"], 1, "192.0.2.1:0"),
    ] {
        let output = array(flags).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{flags:?}: {said}");
        assert!(said.contains(part), "{flags:?}: {said}");
    }
}
