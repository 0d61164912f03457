//! The first encounter after installation: help, completions, man pages, and commands that default to the last run.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod support;

use std::path::Path;
use std::process::{Command, Stdio};

use support::{Ended, run};

fn manometer(home: &Path, arguments: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_manometer"));
    command.args(arguments).env("HOME", home).stdin(Stdio::null()).current_dir(home);
    run(command.env_remove("XDG_DATA_HOME").env_remove("XDG_STATE_HOME"))
}

/// The commands that the top-level help lists.
fn commands(help: &str) -> Vec<String> {
    let list = help.split_once("Commands:\n").unwrap().1;
    let lines = list.lines().take_while(|line| !line.is_empty());
    lines
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

#[test]
fn help_says_where_to_start_and_knows_every_command() {
    let home = tempfile::tempdir().unwrap();
    let help = manometer(home.path(), &["help"]);
    assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
    assert!(help.stdout.contains("Where to start:\n  manometer run file:///mnt/data"), "{}", help.stdout);
    let commands = commands(&help.stdout);
    assert!(commands.len() > 15 && commands[0] == "run", "{commands:?}");
    for command in &commands {
        let of_command = manometer(home.path(), &["help", command]);
        assert_eq!(of_command.code, Some(0), "{command}: {of_command:#?}");
        assert!(of_command.stdout.contains("Usage:"), "{command}: {}", of_command.stdout);
    }
    // The lines that newcomers copy are correct.
    let examples =
        help.stdout.split_once("Where to start:\n").unwrap().1.lines().take_while(|line| !line.is_empty());
    for example in examples {
        let line = example.trim().split("  ").next().unwrap();
        let mut words: Vec<&str> = line.split(' ').skip(1).collect();
        if words[0] == "run" {
            words.extend(["--dry-run", "--no-preflight"]);
            let ended = manometer(home.path(), &words);
            assert_eq!(ended.code, Some(0), "{example}: {ended:#?}");
        }
    }
}

#[test]
fn shells_complete_commands_and_flags() {
    let home = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ended = manometer(home.path(), &["completions", shell]);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{shell}");
        for word in ["queue-depth", "completions"] {
            assert!(ended.stdout.contains(word), "{shell} lacks {word}");
        }
    }
    assert_eq!(manometer(home.path(), &["completions", "tcsh"]).code, Some(2));
}

#[test]
fn the_manual_has_a_page_for_each_command() {
    let home = tempfile::tempdir().unwrap();
    let ended = manometer(home.path(), &["man", "share/man/man1"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{ended:#?}");
    let page = |name: &str| std::fs::read_to_string(home.path().join("share/man/man1").join(name));
    assert!(page("manometer.1").unwrap().contains("Where to start"));
    for command in
        commands(&manometer(home.path(), &["help"]).stdout).iter().filter(|command| *command != "help")
    {
        let text =
            page(&format!("manometer-{command}.1")).unwrap_or_else(|error| panic!("{command}: {error}"));
        assert!(text.contains(".SH SYNOPSIS"), "{command}");
    }
    let refused = manometer(home.path(), &["man", "/proc/no/such"]);
    assert!(refused.code == Some(1) && refused.stderr.contains("next: "), "{refused:#?}");
}

#[test]
fn the_last_run_is_meant_where_none_is_named() {
    let home = tempfile::tempdir().unwrap();
    let measure = |latency: &str| {
        let url = format!("sim:?latency={latency}");
        let ended = manometer(home.path(), &["run", &url, "--for", "20s", "--warm-up", "0s", "-o", "json"]);
        let json: serde_json::Value =
            serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:#?}"));
        json["run"]["id"].as_str().unwrap().to_owned()
    };
    let (first, last) = (measure("uniform:1ms:2ms"), measure("uniform:2ms:3ms"));
    for arguments in [
        &["show"][..],
        &["show", "-o", "json"],
        &["export"],
        &["export", "-o", "csv"],
        &["export", "--format", "csv"],
    ] {
        let ended = manometer(home.path(), arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {ended:#?}");
        assert!(
            ended.stdout.contains(&last) && !ended.stdout.contains(&first),
            "{arguments:?}: {}",
            ended.stdout
        );
    }
    let bare = manometer(home.path(), &["compare"]);
    assert_eq!(
        (bare.code, &bare.stdout),
        (Some(0), &manometer(home.path(), &["compare", &first, &last]).stdout),
        "{bare:#?}"
    );
    assert_eq!(bare.stdout, manometer(home.path(), &["compare", &first]).stdout);
    // One spelling for a file everywhere; the older ones still work.
    for (flag, name) in [("--output-file", "a.html"), ("--output", "b.html"), ("-o", "c.html")] {
        assert_eq!(manometer(home.path(), &["report", flag, name]).code, Some(0), "{flag}");
        assert!(home.path().join(name).exists(), "{flag}");
    }
}
