//! The tree of directories that a target's files with numbers are spread over, from its options.

use drivers::tree::{DirectoryTree, TreeLayout};

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

use super::{OpenRequest, TargetError};

/// Directories per level of a tree, unless the options say otherwise.
const USUAL_DIRECTORIES: u32 = 16;

/// The tree of directories that the options ask for.
pub(super) fn tree_of(request: &OpenRequest<'_>) -> Result<DirectoryTree, TargetError> {
    let OpenRequest { target, options: given, workload, .. } = *request;
    let wrong = |problem: String| Err(TargetError::Input(format!("target {}: {problem}", target.name)));
    let depth = given.number("depth").unwrap_or(0);
    let (directories, layout) = (given.number("directories"), given.text("layout"));
    if depth == 0 {
        return match directories.map(|_| "directories").or(layout.map(|_| "layout")) {
            Some(name) => {
                wrong(format!("{name}: there are no levels of directories; add depth, or take it out"))
            }
            None => Ok(DirectoryTree::default()),
        };
    }
    if workload.stream().is_some() || workload.user_files().is_some() || workload.pass().is_some() {
        return wrong("depth: files that are named have their own directories; take it out".to_owned());
    }
    let layout = request.read("layout", str::parse)?.unwrap_or_default();
    if layout == TreeLayout::Shared && directories.is_some() {
        return wrong("directories: layout shared has one per level; take it out".to_owned());
    }
    DirectoryTree::new(depth, directories.unwrap_or(USUAL_DIRECTORIES), layout)
        .or_else(|error| wrong(format!("depth: {error}")))
}

/// Writes a tree to the journal, as text.
pub(super) fn serialize<S: Serializer>(tree: &DirectoryTree, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(tree)
}

/// Reads a tree from the journal.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<DirectoryTree, D::Error> {
    String::deserialize(from)?.parse().map_err(D::Error::custom)
}
