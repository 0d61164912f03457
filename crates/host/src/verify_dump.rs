//! Dumps blocks that differ from what was written into files, for `verify_dump`: `FILE.OFFSET.received` and
//! `FILE.OFFSET.expected`.

use std::path::Path;

use drivers::{Damaged, Payload};
use experiment::{FileNames, Job};

/// The payload of a job; with `verify_dump` it writes differing blocks to files in a directory.
pub fn payload(job: &Job, directory: &Path) -> Payload {
    let payload = Payload::of_content(job.seed, &job.content, job.check.as_ref());
    if !job.check.as_ref().is_some_and(|check| check.dump) {
        return payload;
    }
    let (name, names) = (job.name.clone(), job.files.names.clone());
    let directory = directory.to_owned();
    // Leaked once per job that asks for it, for the life of the process: payloads are copied freely.
    payload.keeping(Box::leak(Box::new(move |damaged: Damaged| {
        let (number, file) = FileNames::file_of(damaged.object);
        write(&directory, &names.path(&name, number, file), &damaged);
    })))
}

/// Writes both files. Write errors are ignored: the operation's own error tells what is wrong.
fn write(directory: &Path, path: &str, damaged: &Damaged) {
    let base = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
    for (end, bytes) in [("received", &damaged.received), ("expected", &damaged.expected)] {
        let _ = std::fs::write(directory.join(format!("{base}.{}.{end}", damaged.offset)), bytes);
    }
}
