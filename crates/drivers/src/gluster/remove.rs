//! Removes our directory, after the load or what a killed run left.

use std::collections::BTreeSet;

use metrics::ErrorKind;

use super::config::GlusterConfig;
use super::control::{Control, Entry};
use super::volume::c_text;
use crate::failure::Failure;
use crate::file::names::{MARK, object_of};
use crate::numbers::is_directory;
use crate::own_directory;

/// Names that are fetched before they are removed.
const BATCH: usize = 4096;

/// Removes our directory with everything in it that we made; returns the number of files.
pub(super) fn remove_all(control: &Control) -> Result<u64, Failure> {
    let own = control.config.own_path();
    if !control.exists(&own)? {
        return Ok(0);
    }
    let mark = format!("{own}/{MARK}");
    if !control.exists(&mark)? {
        // Killed between creating the directory and marking it: an empty one is removed, any other stays.
        let removed = control.remove_one(&c_text(&own)?, true);
        return removed.map(|_| 0).map_err(|_| not_ours(&control.config));
    }
    let removed = empty(control, &own, 0)?;
    if control.entries(&own, BATCH)?.iter().any(|entry| entry.name != MARK.as_bytes()) {
        return Err(Failure::new(ErrorKind::AlreadyExists, own_directory::holds_others(own)));
    }
    control.remove_one(&c_text(&mark)?, false)?;
    control.remove_one(&c_text(&own)?, true)?;
    Ok(removed)
}

/// Removes our files from a directory at this level of the tree, and the directories of the tree in it; returns the number
/// of files.
fn empty(control: &Control, directory: &str, level: u32) -> Result<u64, Failure> {
    let tree = &control.config.tree;
    let (mut removed, mut below) = (0, BTreeSet::new());
    // Removing while listing may hide some names, so this repeats until it finds none.
    loop {
        let entries = control.entries(directory, BATCH)?;
        let of_tree = entries.iter().filter(|_| level < tree.depth());
        below.extend(
            of_tree.filter(|entry| tree.names_directory(&entry.name)).map(|entry| entry.name.clone()),
        );
        let ours = |entry: &Entry| {
            let name = String::from_utf8_lossy(&entry.name);
            object_of(&entry.name).map(|object| (format!("{directory}/{name}"), is_directory(object)))
        };
        let found: Vec<_> = entries.iter().filter_map(ours).collect();
        let more = control.remove_each(&found)?;
        removed += more;
        if more == 0 {
            break;
        }
    }
    for name in below {
        let path = format!("{directory}/{}", String::from_utf8_lossy(&name));
        removed += empty(control, &path, level + 1)?;
        // One that holds files of others stays, and is found above.
        match control.remove_one(&c_text(&path)?, true) {
            Err(failure) if failure.kind != ErrorKind::AlreadyExists => return Err(failure),
            _ => {}
        }
    }
    Ok(removed)
}

pub(super) fn not_ours(config: &GlusterConfig) -> Failure {
    Failure::new(ErrorKind::AlreadyExists, own_directory::not_ours(config.own_path()))
}
