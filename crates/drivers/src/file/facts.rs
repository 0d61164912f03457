//! Facts about a place, for the result of a run.

use std::collections::BTreeMap;
use std::fs;
use std::os::linux::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{FileDriver, Place, devices};

/// Queue parameters that help to explain results, by their names in /sys/block/*/queue (sysfs-block).
const QUEUE: [(&str, &str); 8] = [
    ("device scheduler", "scheduler"),
    ("device rotational", "rotational"),
    ("device queue length", "nr_requests"),
    ("device write cache", "write_cache"),
    ("device logical block bytes", "logical_block_size"),
    ("device physical block bytes", "physical_block_size"),
    ("device largest request KiB", "max_sectors_kb"),
    (POLLS, "io_poll"),
];

/// Name of the fact that says whether a device can be polled.
const POLLS: &str = "device polls";

/// All facts that can be determined; others are omitted.
pub(super) fn of(driver: &FileDriver) -> BTreeMap<String, String> {
    let config = driver.config();
    let mut facts = BTreeMap::new();
    let mut say = |name: &str, value: String| {
        facts.insert(name.to_owned(), value);
    };
    let path = config.place.path();
    say("path", path.display().to_string());
    if !config.tree.is_flat() {
        say("tree", config.tree.to_string());
    }
    say("direct", config.direct.to_string());
    say("registered", config.registered.to_string());
    say("commit", if config.fdatasync { "fdatasync" } else { "fsync" }.to_owned());
    say("fallocate", config.fallocate.to_string());
    if let Ok(Some(alignment)) = driver.alignment() {
        say("alignment bytes", alignment.offset_bytes.to_string());
    }
    let there = existing(path);
    let Ok(metadata) = fs::metadata(&there) else { return facts };
    let block = matches!(config.place, Place::Device(_))
        && devices::open(&there, false, false).is_ok_and(devices::is_block);
    let number = if block { metadata.st_rdev() } else { metadata.st_dev() };
    if let Ok(size) = driver.device_size()
        && matches!(config.place, Place::Device(_))
    {
        say("size bytes", size.to_string());
    }
    let mount = if block { None } else { mount_of(metadata.st_dev(), &there) };
    let mut source = None;
    if let Some(mount) = mount {
        say("file system", mount.kind);
        say("mount point", mount.point);
        say("mount source", mount.source.clone());
        say("mount options", mount.options);
        source = Some(mount.source);
    }
    for (name, value) in device_facts(number, source.as_deref()) {
        say(name, value);
    }
    facts
}

/// The path, or its nearest existing ancestor.
fn existing(path: &Path) -> PathBuf {
    path.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/")).to_owned()
}

struct Mount {
    kind: String,
    point: String,
    source: String,
    options: String,
}

/// The mount that holds a path: the one with its device number whose mount point is the longest prefix.
fn mount_of(device: u64, path: &Path) -> Option<Mount> {
    let path = fs::canonicalize(path).ok()?;
    let text = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let number = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let mounts = text.lines().filter_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let before: Vec<&str> = before.split(' ').collect();
        let mut after = after.split(' ');
        let point = unescaped(before.get(4)?);
        let fits = path.starts_with(&point);
        let same = before.get(2)? == &number;
        let mount = Mount {
            kind: after.next()?.to_owned(),
            source: after.next()?.to_owned(),
            options: (*before.get(5)?).to_owned(),
            point,
        };
        fits.then_some((same, mount))
    });
    // Btrfs and overlayfs report other device numbers for mounts than for files.
    mounts.max_by_key(|(same, mount)| (*same, mount.point.len())).map(|(_, mount)| mount)
}

/// Decodes the octal escapes of blanks in mount points.
fn unescaped(point: &str) -> String {
    point.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
}

/// Whether the path's underlying device, or the device itself, has queues that can be polled; `None` when unknown.
pub(super) fn polls(path: &Path) -> Option<bool> {
    let metadata = fs::metadata(path).ok()?;
    let block = rustix::fs::FileType::from_raw_mode(metadata.st_mode()) == rustix::fs::FileType::BlockDevice;
    let number = if block { metadata.st_rdev() } else { metadata.st_dev() };
    let facts = device_facts(number, None);
    facts.iter().find(|(name, _)| *name == POLLS).map(|(_, value)| value != "0")
}

fn device_facts(number: u64, source: Option<&str>) -> Vec<(&'static str, String)> {
    let by_number = |number: u64| {
        let name = format!("/sys/dev/block/{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
        fs::canonicalize(name).ok()
    };
    let by_source = || by_number(fs::metadata(source?).ok()?.st_rdev());
    let Some(mut place) = by_number(number).or_else(by_source) else { return Vec::new() };
    let mut found = Vec::new();
    let name = |place: &Path| place.file_name().map(|name| name.to_string_lossy().into_owned());
    found.extend(name(&place).map(|name| ("device", name)));
    if place.join("partition").exists() {
        place.pop();
    }
    let read = |file: &str| {
        let text = fs::read_to_string(place.join(file)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    found.extend(read("device/model").map(|model| ("device model", model)));
    found.extend(read("device/firmware_rev").map(|firmware| ("device firmware", firmware)));
    for (name, file) in QUEUE {
        found.extend(read(&format!("queue/{file}")).map(|value| (name, value)));
    }
    found
}
