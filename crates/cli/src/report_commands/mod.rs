//! `manometer report`, `notebook` and `compare`: runs in human-readable form.

pub mod compare;
pub mod notebook;
pub mod report;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use store::RunRecord;

use crate::messages::Messages;
use crate::results::destination::{begins_like_sqlite, write_whole};
use crate::results::{self, WrongInput};

/// Writes a page or notebook: to the named file, `-` for standard output, or a file named after the run.
pub fn write(
    output: Option<&Path>,
    run: &RunRecord,
    end: &str,
    text: &str,
    messages: &Messages,
) -> Result<()> {
    if output == Some(Path::new("-")) {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        return Ok(out.flush()?);
    }
    let path = output.map_or_else(|| default_name(run, end), Path::to_owned);
    if begins_like_sqlite(&path) {
        bail!(WrongInput(format!("-o {}: is a results file; next: name another file", path.display())));
    }
    write_whole(&path, text).map_err(|why| {
        anyhow!(
            "{}: cannot be written: {why}; next: name a file where you may write with -o FILE",
            path.display()
        )
    })?;
    messages.note(&format!("wrote {}", path.display()));
    Ok(())
}

/// `NAME-ID.html`, without characters that are special to a shell or a file system.
fn default_name(run: &RunRecord, end: &str) -> PathBuf {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '-' };
    let name: String = run.name.chars().take(60).map(plain).collect();
    let name = name.trim_matches('-');
    PathBuf::from(match name {
        "" => format!("{}.{end}", run.id),
        name => format!("{name}-{}.{end}", run.id),
    })
}

/// The exit code for a command's outcome.
pub fn ended(outcome: Result<u8>, messages: &Messages) -> u8 {
    outcome.unwrap_or_else(|error| results::ended(Err(error), messages))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str) -> RunRecord {
        RunRecord {
            id: "k3m9x2pq".into(),
            name: name.into(),
            started: jiff::Timestamp::UNIX_EPOCH,
            finished: None,
            state: store::State::Finished,
            version: String::new(),
            plan: experiment::Plan {
                name: name.into(),
                description: None,
                seed: 0,
                results: None,
                fleet: None,
                observe: None,
                server_scale: None,
                cells: Vec::new(),
            },
            environment: store::Environment::default(),
            hosts: Vec::new(),
        }
    }

    #[test]
    fn a_page_is_there_as_a_whole_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.html");
        std::fs::write(&path, "before").unwrap();
        let link = directory.path().join("link.html");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write_whole(&link, "after").unwrap();
        assert!(link.is_symlink() && std::fs::read_to_string(&path).unwrap() == "after");
        // A directory takes the draft's name, so that the draft cannot be written.
        std::fs::create_dir(directory.path().join("x.html.unfinished")).unwrap();
        assert!(write_whole(&path, "later").is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "after");
        assert!(write_whole(Path::new("/dev/full"), "x").is_err());
        assert!(Path::new("/dev/full").exists());
    }

    #[test]
    fn a_hostile_name_makes_a_harmless_file() {
        assert_eq!(default_name(&run("nvme acceptance"), "html"), Path::new("nvme-acceptance-k3m9x2pq.html"));
        assert_eq!(default_name(&run("../../etc/passwd"), "html"), Path::new("etc-passwd-k3m9x2pq.html"));
        assert_eq!(default_name(&run("-rf /;"), "ipynb"), Path::new("rf-k3m9x2pq.ipynb"));
        assert_eq!(default_name(&run("…"), "html"), Path::new("k3m9x2pq.html"));
    }
}
