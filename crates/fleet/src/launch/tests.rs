//! Launchers against small programs that stand in for agents and tools.

use std::io::{Read, Write};
use std::path::Path;

use experiment::Via;

use super::*;

const NEVER: &(dyn Fn() -> bool + Sync) = &|| false;

fn quiet() -> Say {
    Arc::new(|_| {})
}

fn settings() -> LaunchSettings<'static> {
    LaunchSettings::new("1.2.3", Duration::from_secs(20), NEVER)
}

fn command(hosts: &[&str], words: &[&str]) -> Launcher {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Launcher::Command { hosts: owned(hosts), command: owned(words) }
}

/// The reply of an echoing agent to a line.
fn ask(launched: &mut Launched, line: &str) -> String {
    launched.input.write_all(format!("{line}\n").as_bytes()).unwrap();
    let deadline = Deadline::after(Duration::from_secs(20), NEVER);
    launched.read_line(&deadline).unwrap()
}

#[test]
fn agents_of_this_host_are_processes_of_the_program() {
    let mut settings = settings();
    settings.program = "/bin/sh".into();
    settings.agent = vec!["-c".to_owned(), "echo ready; exec cat".to_owned()];
    let mut agents = launch(&Launcher::Local { count: 3 }, &settings, &quiet()).unwrap();
    assert_eq!(agents.iter().map(|a| a.name.as_str()).collect::<Vec<_>>(), ["local-0", "local-1", "local-2"]);
    for agent in &mut agents {
        let deadline = Deadline::after(Duration::from_secs(20), NEVER);
        assert_eq!(agent.read_line(&deadline).unwrap(), "ready");
        let said = agent.name.clone();
        assert_eq!(ask(agent, &said), said);
    }
    // An agent ends when its input is closed, and not before.
    let Launched { input, mut output, mut process, .. } = agents.remove(0);
    assert!(process.ended().is_none());
    drop(input);
    assert_eq!(output.read(&mut [0; 1]).unwrap(), 0);
    assert!(process.end(Duration::from_secs(20)).unwrap().success());
}

#[test]
fn host_and_index_are_put_into_the_command_without_a_shell() {
    let launcher = command(
        &["a b", "$HOME;true"],
        &["/bin/sh", "-c", "echo \"$1 $2\"; exec cat", "sh", "at-{host}", "{index}{index}"],
    );
    let mut agents = launch(&launcher, &settings(), &quiet()).unwrap();
    let deadline = Deadline::after(Duration::from_secs(20), NEVER);
    assert_eq!(agents[0].read_line(&deadline).unwrap(), "at-a b 00");
    assert_eq!(agents[1].read_line(&deadline).unwrap(), "at-$HOME;true 11");
}

#[test]
fn a_host_that_does_not_start_is_named_with_what_it_said() {
    let launcher = command(
        &["good", "bad"],
        &[
            "/bin/sh",
            "-c",
            "test $1 = good && echo ready && exec cat; echo no such container >&2; exit 3",
            "sh",
            "{host}",
        ],
    );
    let error = launch(&launcher, &settings(), &quiet()).unwrap_err();
    let lines = error.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("bad: `/bin/sh"), "{lines:?}");
    assert!(lines[0].contains("ended with exit code 3: no such container; next: "), "{lines:?}");
}

#[test]
fn an_agent_that_says_nothing_is_ended_at_the_deadline() {
    let mut settings = settings();
    settings.start_timeout = Duration::from_millis(200);
    let launcher = command(&["slow"], &["/bin/sh", "-c", "echo looking >&2; exec sleep 1000", "{host}"]);
    let error = launch(&launcher, &settings, &quiet()).unwrap_err().to_string();
    assert!(error.contains("no answer within 0.2 s; it last said: looking"), "{error}");
}

#[test]
fn the_user_can_end_a_start() {
    let stop = || true;
    let settings = LaunchSettings::new("1.2.3", Duration::from_secs(1000), &stop);
    let launcher = command(&["slow"], &["/bin/sleep", "1000", "{host}"]);
    let error = launch(&launcher, &settings, &quiet()).unwrap_err().to_string();
    assert!(error.contains("interrupted") || error.contains("invalid time interval"), "{error}");
}

#[test]
fn a_template_that_names_no_host_starts_one_agent_at_most() {
    let error = launch(&command(&["a", "b"], &["cat"]), &settings(), &quiet()).unwrap_err();
    assert!(matches!(error, LaunchError::Input(_)), "{error}");
    assert!(launch(&command(&["a"], &[]), &settings(), &quiet()).is_err());
    assert!(launch(&Launcher::Local { count: 0 }, &settings(), &quiet()).is_err());
    let error = launch(&command(&["a"], &["/nonexistent/tool"]), &settings(), &quiet()).unwrap_err();
    assert!(error.to_string().starts_with("a: /nonexistent/tool cannot be started: "), "{error}");
}

/// Creates a program, by letting another process copy it: a file that this process has open for writing cannot be run
/// by a child that another test just forked.
pub(super) fn program(path: &Path, text: &str) {
    let new = path.with_extension("new");
    std::fs::write(&new, text).unwrap();
    let made = std::process::Command::new("install").arg("-m755").arg(&new).arg(path).status();
    assert!(made.unwrap().success());
}

/// A directory of stand-ins for tools, and a stand-in for the agent.
struct Bench {
    directory: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let bench = Self { directory: tempfile::tempdir().unwrap() };
        bench.program("agent", "echo ready; exec cat");
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn program(&self, name: &str, text: &str) {
        program(&self.path(name), &format!("#!/bin/sh\n{text}\n"));
    }

    fn settings(&self) -> LaunchSettings<'static> {
        let mut settings = settings();
        settings.tools = Some(self.directory.path().to_owned());
        settings.program = self.path("agent");
        settings
    }
}

mod slurm;
mod ssh;

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn a_command_gives_its_output_or_says_what_came_of_it() {
    let settings = settings();
    let print = words(&["/bin/echo", "a b", "$HOME"]);
    assert_eq!(output_of(&print, "", None, &settings).unwrap(), "a b $HOME\n");
    let through = Via::Command { command: words(&["/usr/bin/env"]) };
    assert_eq!(output_of(&print, "", Some(&through), &settings).unwrap(), "a b $HOME\n");
    assert_eq!(output_of(&words(&["/bin/sh"]), "echo \"$0\"\n", None, &settings).unwrap(), "/bin/sh\n");
    for (command, said) in [
        (words(&["/bin/sh", "-c", "echo no volume >&2; exit 3"]), "ended with exit code 3: no volume"),
        (words(&["/nonesuch/gluster", "x"]), "`/nonesuch/gluster x`: /nonesuch/gluster cannot be started"),
        (words(&["/bin/cat", "/dev/zero"]), "printed more than 16 MiB"),
    ] {
        let text = output_of(&command, "", None, &settings).unwrap_err().to_string();
        assert!(text.contains(said) && !text.contains('\n'), "{text}");
    }
    let hasty = LaunchSettings::new("1.2.3", Duration::from_millis(300), NEVER);
    let text = output_of(&words(&["/bin/sleep", "600"]), "", None, &hasty).unwrap_err().to_string();
    assert_eq!(text, "`/bin/sleep 600`: no answer within 0.3 s");
}

#[test]
fn a_command_reaches_another_host_through_any_login_shell() {
    let directory = tempfile::tempdir().unwrap();
    let tool = directory.path().join("ssh");
    // Its last argument is what a login shell gets.
    std::fs::write(&tool, "#!/bin/sh\nfor last; do :; done\nexec /bin/sh -c \"$last\"\n").unwrap();
    let made = std::process::Command::new("chmod").arg("755").arg(&tool).status();
    assert!(made.unwrap().success());
    let mut settings = settings();
    settings.tools = Some(directory.path().to_owned());
    let via = Via::Ssh { host: "me@server:22".to_owned(), options: Vec::new() };
    let print = words(&["printf", "%s,", "it's", "$HOME", "a b"]);
    assert_eq!(output_of(&print, "", Some(&via), &settings).unwrap(), "it's,$HOME,a b,");
    let text = output_of(&words(&["false"]), "", Some(&via), &settings).unwrap_err().to_string();
    assert!(text.starts_with("`ssh me@server:22 false`: ended with exit code 1"), "{text}");
    assert!(text.contains("next: try by hand: ssh me@server:22 true"), "{text}");
}
