//! Protection of devices against accidental writes.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use content::FileNames;
use drivers::file::{Hint, NamedFiles, Place};
use metrics::ErrorKind;

use crate::support::{driver, image, place};

/// Checks a file used like a device; returns the reason for a refusal.
fn refusal(path: &Path, destroy: Option<&Path>) -> Option<String> {
    let driver = driver(Place::Device(path.to_owned()), |_| {});
    let destroy: Vec<PathBuf> = destroy.map(Path::to_owned).into_iter().collect();
    driver.check_device(&destroy).err().map(|e| {
        assert_eq!(e.kind, ErrorKind::Rejected);
        assert!(!e.detail.contains('\n'));
        e.detail.into_string()
    })
}

#[test]
fn a_file_of_nothing_but_holes_may_be_written() {
    let place = place();
    assert_eq!(refusal(&image(place.path(), 1 << 20), None), None);
}

#[test]
fn a_file_that_holds_data_must_be_named() {
    let place = place();
    let path = image(place.path(), 1 << 20);
    fs::OpenOptions::new().write(true).open(&path).unwrap().write_at(b"thesis", 500_000).unwrap();
    let refused = refusal(&path, None).unwrap();
    assert!(refused.contains("is a file that holds data: nothing was written"), "{refused}");
    assert!(refused.ends_with(&format!("give --destroy {}", path.display())), "{refused}");
    // Another file does not match; this one under another name does.
    let other = place.path().join("other");
    fs::write(&other, "").unwrap();
    assert!(refusal(&path, Some(&other)).unwrap().contains("a different device"));
    assert!(refusal(&path, Some(&place.path().join("missing"))).is_some());
    let link = place.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert_eq!(refusal(&path, Some(&link)), None);
    assert_eq!(refusal(&link, Some(&path)), None);
    assert!(refusal(&link, None).is_some());
}

#[test]
fn what_tools_make_is_recognised() {
    let tools: [(&str, &[&str], &str); 2] = [
        ("mkfs.ext4", &["-q", "-F"], "an ext2, ext3 or ext4 file system"),
        ("mkswap", &["--quiet"], "swap space"),
    ];
    for (tool, arguments, name) in tools {
        let place = place();
        let path = image(place.path(), 16 << 20);
        let search = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
        let run = std::process::Command::new(tool).env("PATH", search).args(arguments).arg(&path).output();
        // Without the tool there is nothing to compare with.
        let Ok(run) = run else { continue };
        assert!(run.status.success(), "{tool}: {run:?}");
        let refused = refusal(&path, None).unwrap();
        assert!(refused.contains(&format!("carries {name}")), "{refused}");
        assert_eq!(refusal(&path, Some(&path)), None);
    }
}

/// The disk of the root file system, whichever it is; in a container there may be none.
fn root_disk() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let device = Path::new(after.split(' ').nth(1)?);
        (before.split(' ').nth(4)? == "/" && device.exists()).then(|| device.to_owned())
    })
}

#[test]
fn the_disk_under_the_root_is_refused() {
    if let Some(device) = root_disk() {
        let refused = refusal(&device, None).unwrap();
        assert!(refused.contains("is mounted at /"), "{refused}");
    }
}

#[test]
fn a_mounted_disk_that_a_job_names_takes_two_leaves() {
    let Some(device) = root_disk() else { return };
    let names = FileNames { listed: vec![device.to_str().unwrap().to_owned()], ..FileNames::default() };
    let named = NamedFiles {
        directory: place().path().to_owned(),
        job: "a".into(),
        names,
        write: true,
        create: true,
        hint: Hint::None,
    };
    let driver = driver(Place::Named(named), |_| {});
    let refused = driver.check_named(0, std::slice::from_ref(&device), false).unwrap_err().detail;
    assert!(refused.contains("allow_mounted_write"), "{refused}");
    let refused = driver.check_named(0, &[], true).unwrap_err().detail;
    assert!(refused.contains("--destroy"), "{refused}");
}

#[test]
fn neither_directories_nor_terminals_are_devices() {
    let place = place();
    for path in [place.path(), Path::new("/dev/null"), &place.path().join("missing")] {
        let driver = driver(Place::Device(path.to_owned()), |_| {});
        assert!(driver.check_device(&[]).is_err());
        assert!(driver.prepare().is_err());
    }
}
