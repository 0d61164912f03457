//! Every manometer command line in a code block of a document is valid: it names an existing command, with options and
//! values that this program accepts.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::{Path, PathBuf};

use clap::Parser as _;

use crate::fio::arguments::FioInvocation;
use crate::{Cli, Command};

/// Languages of code blocks that contain commands. Others are files, data and programs.
const OF_COMMANDS: [&str; 4] = ["", "sh", "bash", "console"];

/// The lines of a block of commands, each with its first line number; continued lines are joined.
fn lines(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut block: Option<bool> = None;
    let mut prompts = false;
    let mut goes_on = false;
    let all: Vec<&str> = text.lines().collect();
    for (index, line) in all.iter().enumerate() {
        if let Some(kind) = line.trim_start().strip_prefix("```") {
            block = match block {
                None => Some(OF_COMMANDS.contains(&kind.trim())),
                Some(_) => None,
            };
            // Where commands have a prompt, lines without one are output.
            prompts = all[index + 1..]
                .iter()
                .take_while(|line| !line.trim_start().starts_with("```"))
                .any(|line| line.starts_with("$ "));
            goes_on = false;
        } else if block == Some(true) {
            let part = line.trim_end().trim_end_matches('\\').trim();
            if goes_on {
                let (_, begun) = lines.last_mut().unwrap();
                begun.push(' ');
                begun.push_str(part);
            } else if !prompts || line.starts_with("$ ") {
                lines.push((index + 1, part.trim_start_matches("$ ").to_owned()));
            } else {
                continue;
            }
            goes_on = line.trim_end().ends_with('\\');
        }
    }
    lines
}

/// The words of each simple command of a line. A gap of two blanks also ends a command: a remark or another command
/// follows.
fn commands(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            (letter, Some(open)) if letter == open => quote = None,
            (letter, Some(_)) => word.get_or_insert_default().push(letter),
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            ('#', None) if word.is_none() => break,
            (' ' | '|' | ';' | '&' | '<' | '>', None) => {
                let ended = word.take();
                // `2>`: the number of a redirected descriptor.
                let redirected = matches!(letter, '<' | '>')
                    && ended.as_ref().is_some_and(|word| word.parse::<u8>().is_ok());
                commands.last_mut().unwrap().extend(ended.filter(|_| !redirected));
                if letter != ' ' || letters.peek() == Some(&' ') {
                    commands.push(Vec::new());
                }
            }
            (letter, None) => word.get_or_insert_default().push(letter),
        }
    }
    commands.last_mut().unwrap().extend(word);
    commands
}

/// The arguments, if the command is manometer; variable assignments may precede it, and `…` stands for an omission.
fn arguments(command: &[String]) -> Option<Vec<&str>> {
    let is_variable = |word: &&String| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
    };
    let words: Vec<&str> = command.iter().skip_while(is_variable).map(String::as_str).collect();
    (words.first() == Some(&"manometer") && words.len() > 1)
        .then(|| words.into_iter().filter(|word| *word != "…").collect())
}

/// What is wrong with the arguments.
fn fault(arguments: &[&str]) -> Option<String> {
    use clap::error::ErrorKind::{DisplayHelp, DisplayVersion};
    match Cli::try_parse_from(arguments) {
        Ok(Cli { command: Command::Fio(given) }) => {
            let line = match fio::split_arguments(&given.arguments) {
                Ok((line, _)) => line,
                Err(faults) => return Some(faults.to_string()),
            };
            FioInvocation::of(line).err().map(|error| error.to_string())
        }
        Ok(_) => None,
        Err(error) if matches!(error.kind(), DisplayHelp | DisplayVersion) => None,
        Err(error) => Some(error.to_string()),
    }
}

fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut documents: Vec<PathBuf> = std::fs::read_dir(root.join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect();
    documents.push(root.join("README.md"));
    documents.sort();
    documents
}

#[test]
fn command_lines_of_documents_can_be_given() {
    let mut seen = 0;
    let mut faults = Vec::new();
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        let name = document.file_name().unwrap().to_string_lossy().into_owned();
        for (number, line) in lines(&text) {
            for command in commands(&line) {
                let Some(arguments) = arguments(&command) else { continue };
                seen += 1;
                if let Some(fault) = fault(&arguments) {
                    faults.push(format!("{name}:{number}: {line}\n{fault}"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    // Checks that commands are found at all.
    assert!(seen >= 100, "only {seen} command lines are found in the documents");
}

#[test]
fn what_cannot_be_given_is_found() {
    let text = "a `manometer run`\n```yaml\nmanometer no\n```\n```console\n$ A=1 manometer run x.yaml \\\n   --bad  # why\nmanometer no\n```\n";
    let found = lines(text);
    assert_eq!(found, [(6, "A=1 manometer run x.yaml --bad  # why".to_owned())]);
    let command = &commands(&found[0].1)[0];
    assert_eq!(arguments(command).unwrap(), ["manometer", "run", "x.yaml", "--bad"]);
    assert!(fault(&arguments(command).unwrap()).unwrap().contains("--bad"));
    assert!(fault(&["manometer", "fio", "--name=a", "--output-format=xml"]).is_some());
    let two = commands("manometer list   manometer show 'a b' 2>x | jq .c");
    assert_eq!(two[0], ["manometer", "list"]);
    assert!(two.contains(&["manometer", "show", "a b"].map(str::to_owned).to_vec()), "{two:?}");
}
