//! Calibrations of hosts, stored beside the results file: one JSON file per host, with the latest calibration.

use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use stats::Calibration;

/// Maximum size of a file that is read.
const MAX_BYTES: u64 = 4 << 20;

/// A calibration cannot be saved or read.
#[derive(Debug, thiserror::Error)]
#[error("the calibration {path}: {why}; next: {next}", path = path.display())]
pub struct CalibrationError {
    path: PathBuf,
    why: String,
    next: &'static str,
}

/// Path of a host's calibration: in the directory `calibration` beside the results file.
pub fn calibration_path(results: &Path, host: &str) -> PathBuf {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = host.chars().take(200).map(plain).collect();
    let beside = results.parent().unwrap_or(Path::new("."));
    beside.join("calibration").join(format!("{}.json", name.trim_start_matches('.')))
}

/// Saves the calibration of its host, replacing an earlier one; returns its path.
///
/// # Errors
/// The directory or the file cannot be written.
pub fn save_calibration(results: &Path, calibration: &Calibration) -> Result<PathBuf, CalibrationError> {
    let path = calibration_path(results, &calibration.host);
    let failed = |error: std::io::Error| CalibrationError {
        path: path.clone(),
        why: format!("cannot be written: {error}"),
        next: "name a results file with --results in a directory where you may write",
    };
    if let Some(directory) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
    }
    let text = serde_json::to_string_pretty(calibration).map_err(|error| failed(error.into()))?;
    // Another process may write at the same time: each uses its own file until it is complete.
    let unfinished = path.with_extension(format!("{}.unfinished", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    let write = || -> std::io::Result<()> {
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
        file.write_all(text.as_bytes())?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        std::fs::rename(&unfinished, &path)
    };
    let mut write = write;
    if let Err(error) = write() {
        // It is ours alone, and may not exist.
        let _ = std::fs::remove_file(&unfinished);
        return Err(failed(error));
    }
    Ok(path)
}

/// The calibration of a host; `None` when there is none.
///
/// # Errors
/// The file cannot be read, or is not a calibration.
pub fn load_calibration(results: &Path, host: &str) -> Result<Option<Calibration>, CalibrationError> {
    let path = calibration_path(results, host);
    let failed = |why: String| CalibrationError {
        path: path.clone(),
        why,
        next: "run `manometer calibrate` again, or remove the file",
    };
    let size = match std::fs::metadata(&path) {
        Ok(facts) => facts.len(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(format!("cannot be read: {error}"))),
    };
    if size > MAX_BYTES {
        return Err(failed(format!("has {size} bytes, which no calibration has")));
    }
    let text = std::fs::read(&path).map_err(|error| failed(format!("cannot be read: {error}")))?;
    let found: Calibration =
        serde_json::from_slice(&text).map_err(|error| failed(format!("is no calibration: {error}")))?;
    if found.schema_version != stats::CALIBRATION_VERSION {
        return Err(failed(format!("has version {}, which is not known here", found.schema_version)));
    }
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(host: &str) -> Calibration {
        Calibration {
            schema: "manometer.calibration".into(),
            schema_version: stats::CALIBRATION_VERSION,
            manometer_version: "0".into(),
            host: host.into(),
            kernel: "6".into(),
            taken: "2026-11-22T08:00:00Z".into(),
            cores: 2,
            reactor: "io_uring".into(),
            seconds: 1.0,
            repetitions: 3,
            measures: Vec::new(),
            ceilings: Vec::new(),
            facts: Default::default(),
            remarks: Vec::new(),
        }
    }

    #[test]
    fn the_last_of_each_host_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let results = directory.path().join("data/results.sqlite");
        assert_eq!(load_calibration(&results, "a").unwrap(), None);
        let path = save_calibration(&results, &of("a")).unwrap();
        save_calibration(&results, &of("b")).unwrap();
        let later = Calibration { repetitions: 5, ..of("a") };
        assert_eq!(save_calibration(&results, &later).unwrap(), path);
        assert_eq!(load_calibration(&results, "a").unwrap(), Some(later));
        assert_eq!(load_calibration(&results, "b").unwrap(), Some(of("b")));
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 2, "nothing unfinished");
    }

    #[test]
    fn a_host_s_name_leads_nowhere_else() {
        let path = calibration_path(Path::new("/d/results.sqlite"), "../../etc/passwd");
        assert_eq!(path, Path::new("/d/calibration/-..-etc-passwd.json"));
    }

    #[test]
    fn what_is_no_calibration_is_said_with_a_mend() {
        let directory = tempfile::tempdir().unwrap();
        let results = directory.path().join("results.sqlite");
        let path = save_calibration(&results, &of("a")).unwrap();
        std::fs::write(&path, "{}").unwrap();
        let text = load_calibration(&results, "a").unwrap_err().to_string();
        assert!(
            text.contains("is no calibration") && text.contains("next:") && !text.contains('\n'),
            "{text}"
        );
        std::fs::write(&path, serde_json::to_string(&Calibration { schema_version: 9, ..of("a") }).unwrap())
            .unwrap();
        assert!(load_calibration(&results, "a").unwrap_err().to_string().contains("version 9"));
    }
}
