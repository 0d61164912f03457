//! The ssh launcher against a stand-in for ssh that runs the remote command here, in a home directory of its own.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::*;

/// A bench whose ssh runs everything here with `home` as the home directory, after `first`.
fn bench(first: &str) -> Bench {
    let bench = Bench::new();
    let home = bench.path("home");
    std::fs::create_dir(&home).unwrap();
    bench.program(
        "ssh",
        &format!(
            "echo \"$*\" >> {log}; all=\"$*\"\nHOME={home}; export HOME; unset XDG_CACHE_HOME\n\
             while test \"$1\" != --; do shift; done; host=$2; {first}\nexec /bin/sh -c \"$3\"",
            log = bench.path("log").display(),
            home = home.display(),
        ),
    );
    bench
}

fn ssh(hosts: &[&str], options: &[&str]) -> Launcher {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Launcher::Ssh { hosts: owned(hosts), options: owned(options), binary: None }
}

/// The copies below the home directory.
fn copies(bench: &Bench) -> Vec<PathBuf> {
    let cache = bench.path("home/.cache/manometer");
    let Ok(found) = std::fs::read_dir(cache) else { return Vec::new() };
    let mut found: Vec<PathBuf> = found.map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

fn files(directory: &Path) -> Vec<String> {
    let found = std::fs::read_dir(directory).unwrap();
    let mut found: Vec<String> = found.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    found.sort();
    found
}

fn said() -> (Say, Arc<std::sync::Mutex<Vec<String>>>) {
    let lines = Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = lines.clone();
    (Arc::new(move |line: &str| kept.lock().unwrap().push(line.to_owned())), lines)
}

#[test]
fn the_program_is_copied_once_and_checked() {
    // Output of the host's login shell is not mistaken for the script's lines.
    let bench = bench("echo welcome to $host; echo");
    let (say, lines) = said();
    let mut agents = launch(&ssh(&["me@a:2222"], &["-F", "x"]), &bench.settings(), &say).unwrap();
    assert_eq!(*lines.lock().unwrap(), ["me@a:2222: copied this program there"]);
    assert_eq!(agents[0].name, "me@a:2222");
    let deadline = Deadline::after(Duration::from_secs(20), NEVER);
    assert_eq!(agents[0].read_line(&deadline).unwrap(), "ready");
    assert_eq!(ask(&mut agents[0], "hello"), "hello");
    let log = std::fs::read_to_string(bench.path("log")).unwrap();
    assert!(log.starts_with("-F x -T "), "{log}");
    assert!(log.contains("-o BatchMode=yes") && log.contains("-p 2222 -- me@a exec /bin/sh -c"), "{log}");

    let made = copies(&bench);
    assert_eq!(made.len(), 1, "{made:?}");
    let name = made[0].file_name().unwrap().to_str().unwrap().to_owned();
    assert!(name.starts_with("agent-1.2.3-") && name.len() == "agent-1.2.3-".len() + 64, "{name}");
    assert_eq!(files(&made[0]), ["manometer"]);
    let mode = std::fs::metadata(made[0].join("manometer")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o755);
    assert_eq!(std::fs::metadata(&made[0]).unwrap().permissions().mode() & 0o7777, 0o700);

    // It exists: nothing is copied. When damaged, it is copied again.
    let (say, lines) = said();
    drop(launch(&ssh(&["a"], &[]), &bench.settings(), &say).unwrap());
    assert!(lines.lock().unwrap().is_empty());
    std::fs::write(made[0].join("manometer"), "#!/bin/sh\necho evil\n").unwrap();
    drop(launch(&ssh(&["a"], &[]), &bench.settings(), &say).unwrap());
    assert_eq!(lines.lock().unwrap().len(), 1);
    assert!(std::fs::read_to_string(made[0].join("manometer")).unwrap().contains("ready"));
}

#[test]
fn hosts_with_one_home_directory_may_be_started_together() {
    let bench = bench("");
    let names: Vec<String> = (0..8).map(|index| format!("n{index}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let agents = launch(&ssh(&names, &[]), &bench.settings(), &quiet()).unwrap();
    assert_eq!(agents.len(), 8);
    assert_eq!(files(&copies(&bench)[0]), ["manometer"]);
}

#[test]
fn copies_that_nobody_used_for_a_week_go() {
    let bench = bench("");
    let old = bench.path("home/.cache/manometer/agent-0.9.0-0");
    let recent = bench.path("home/.cache/manometer/agent-1.0.0-0");
    for directory in [&old, &recent] {
        std::fs::create_dir_all(directory).unwrap();
    }
    let touched = std::process::Command::new("touch").args(["-d", "9 days ago"]).arg(&old).status().unwrap();
    assert!(touched.success());
    drop(launch(&ssh(&["a"], &[]), &bench.settings(), &quiet()).unwrap());
    assert!(!old.exists() && recent.exists());
    assert_eq!(copies(&bench).len(), 2);
}

/// A host with only these tools, besides sh and its builtins.
fn host_with(tools: &[&str]) -> Bench {
    let bench = bench("PATH=$(/usr/bin/dirname \"$0\")/bin");
    std::fs::create_dir(bench.path("bin")).unwrap();
    for tool in tools {
        let found = ["/usr/bin", "/bin"].map(|place| Path::new(place).join(tool));
        let real = found.iter().find(|path| path.exists()).expect(tool);
        std::os::unix::fs::symlink(real, bench.path("bin").join(tool)).unwrap();
    }
    bench
}

const TOOLS: [&str; 10] =
    ["cat", "chmod", "find", "head", "mkdir", "mv", "rm", "sha256sum", "touch", "uname"];

/// Replaces a tool of the host.
fn replace(bench: &Bench, tool: &str, text: &str) {
    let place = bench.path("bin").join(tool);
    if place.is_symlink() {
        std::fs::remove_file(&place).unwrap();
    }
    bench.program(&format!("bin/{tool}"), text);
}

/// Makes the host's `tool` record its calls, and then do its work.
fn note_calls(bench: &Bench, tool: &str) {
    let note = bench.path(tool);
    replace(bench, tool, &format!("echo x >> {}; exec /usr/bin/{tool} \"$@\"", note.display()));
}

#[test]
fn a_program_is_compressed_for_hosts_that_have_gzip() {
    for gzip in [true, false] {
        let bench = host_with(&TOOLS);
        note_calls(&bench, "head");
        if gzip {
            note_calls(&bench, "gzip");
        }
        // Both exceed the capacity of a pipe.
        let filling = "# a program is seldom short\n".repeat(20_000);
        bench.program("agent", &format!("echo ready; exec cat\n{filling}"));
        let mut agents = launch(&ssh(&["a"], &[]), &bench.settings(), &quiet()).unwrap();
        let deadline = Deadline::after(Duration::from_secs(20), NEVER);
        assert_eq!(agents[0].read_line(&deadline).unwrap(), "ready");
        assert_eq!(ask(&mut agents[0], "hello"), "hello");
        let copy = std::fs::read(copies(&bench)[0].join("manometer")).unwrap();
        assert!(copy == std::fs::read(bench.path("agent")).unwrap());
        assert!(bench.path("head").exists(), "the noting of calls works");
        assert_eq!(bench.path("gzip").exists(), gzip, "gzip was called");
    }
}

#[test]
fn a_wrong_hash_is_an_error_and_the_copy_goes() {
    // A disk that stores something else: the tool that takes the copy on this host writes one byte more.
    for faulty in ["head", "gzip"] {
        let bench = host_with(&TOOLS);
        replace(&bench, faulty, &format!("/usr/bin/{faulty} \"$@\"; echo x"));
        let error = launch(&ssh(&["a"], &[]), &bench.settings(), &quiet()).unwrap_err().to_string();
        assert!(error.starts_with("a: what was copied there has the SHA-256 "), "{error}");
        assert_eq!(files(&copies(&bench)[0]), [""; 0]);
    }
}

#[test]
fn what_cannot_be_unpacked_is_an_error_and_goes() {
    let bench = host_with(&TOOLS);
    replace(&bench, "gzip", "echo gzip: out of memory >&2; exit 1");
    let error = launch(&ssh(&["a"], &[]), &bench.settings(), &quiet()).unwrap_err().to_string();
    assert!(
        error.starts_with("a: the host cannot write ") && error.contains("gzip: out of memory"),
        "{error}"
    );
    assert_eq!(files(&copies(&bench)[0]), [""; 0]);
}

#[test]
fn each_host_that_fails_has_a_line_with_advice() {
    let bench = bench(
        "case $host in b) echo 'me@b: Permission denied (publickey).' >&2; exit 255;; \
         c) echo 'Host key verification failed.' >&2; exit 255;; d) PATH=$(dirname \"$0\")/other:$PATH;; esac",
    );
    std::fs::create_dir(bench.path("other")).unwrap();
    bench.program("other/uname", "echo Linux s390x");
    let launcher = ssh(&["a", "b", "c", "d"], &[]);
    let lines = launch(&launcher, &bench.settings(), &quiet()).unwrap_err().lines();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(
        lines[0].starts_with("b: ended with exit code 255: ") && lines[0].contains("--ssh-password-file"),
        "{lines:?}"
    );
    assert!(lines[1].starts_with("c: ") && lines[1].contains("connect once by hand"), "{lines:?}");
    assert!(lines[2].starts_with("d: it is another kind of machine: Linux s390x"), "{lines:?}");
}

#[test]
fn a_login_that_sshd_turned_away_is_tried_again() {
    let bench = bench(
        "test -e \"$0.seen\" || { touch \"$0.seen\"; echo kex_exchange_identification: closed >&2; exit 255; }",
    );
    assert_eq!(launch(&ssh(&["a"], &[]), &bench.settings(), &quiet()).unwrap().len(), 1);
    assert_eq!(std::fs::read_to_string(bench.path("log")).unwrap().matches("-- a ").count(), 2);
}

#[test]
fn a_program_that_the_host_has_is_used() {
    let bench = bench("");
    bench.program("it's here", "echo $1; exec cat");
    let binary = bench.path("it's here").to_str().unwrap().to_owned();
    let launcher =
        |binary: String| Launcher::Ssh { hosts: vec!["a".to_owned()], options: vec![], binary: Some(binary) };
    let mut agents = launch(&launcher(binary), &bench.settings(), &quiet()).unwrap();
    let deadline = Deadline::after(Duration::from_secs(20), NEVER);
    assert_eq!(agents[0].read_line(&deadline).unwrap(), "agent");
    assert!(copies(&bench).is_empty());
    let error =
        launch(&launcher("/no/manometer".to_owned()), &bench.settings(), &quiet()).unwrap_err().to_string();
    assert!(error.starts_with("a: there is no /no/manometer") && error.contains("--agent-binary"), "{error}");
}

#[test]
fn a_password_goes_to_ssh_through_askpass_only() {
    // The stand-in for ssh looks for the secret wherever it must not be.
    let bench = bench(
        "env | grep -q s3cret && exit 9; case $all in *s3cret*) exit 9;; *BatchMode=no*) ;; *) exit 8;; esac; \
         test \"$SSH_ASKPASS_REQUIRE\" = force || exit 7; $SSH_ASKPASS \"me@$host's password: \" || exit 6",
    );
    // A stand-in for this program: it talks to the socket as `askpass` does.
    bench.program(
        "agent",
        "if test \"$1\" = agent; then echo ready; exec cat; fi; test -S \"$MANOMETER_ASKPASS_SOCKET\" && echo asked >&2; exit 1",
    );
    let mut settings = bench.settings();
    settings.login.password = Some(ApiSecret::new("s3cret"));
    let error = launch(&ssh(&["a"], &[]), &settings, &quiet()).unwrap_err().to_string();
    assert!(error.contains("exit code 6: asked"), "{error}");
    assert!(!error.contains("s3cret"));
}
