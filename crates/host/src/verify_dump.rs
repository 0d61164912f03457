//! Blocks that differ from what was written, in files, as `verify_dump` asks for: `FILE.OFFSET.received` and
//! `FILE.OFFSET.expected`.

use std::path::Path;

use drivers::{Damaged, Payload};
use experiment::{FileNames, Job};

/// The payload of a job; when the job asks for that, it keeps what differs in files of a directory.
pub fn payload(job: &Job, directory: &Path) -> Payload {
    let payload = Payload::of_content(job.seed, &job.content, job.check.as_ref());
    if !job.check.as_ref().is_some_and(|check| check.dump) {
        return payload;
    }
    let (name, names) = (job.name.clone(), job.files.names.clone());
    let directory = directory.to_owned();
    // One for each job that asks for it, for as long as the process lives: payloads are copied freely.
    payload.keeping(Box::leak(Box::new(move |damaged: Damaged| {
        let (number, file) = FileNames::file_of(damaged.object);
        write(&directory, &names.path(&name, number, file), &damaged);
    })))
}

/// Writes both files. What cannot be written is left: the operation's own error says what is wrong.
fn write(directory: &Path, path: &str, damaged: &Damaged) {
    let base = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
    for (end, bytes) in [("received", &damaged.received), ("expected", &damaged.expected)] {
        let _ = std::fs::write(directory.join(format!("{base}.{}.{end}", damaged.offset)), bytes);
    }
}
