//! What is said of the directory of our own that holds a load's files: in its mark, and when it is somebody else's.

use std::fmt::Display;

use crate::file::names::MARK;

/// Text in the mark file, for whoever finds it.
pub(crate) const MARK_TEXT: &str = "manometer made this directory for a measurement, and removes it with all files in it that have \
                                    names of 16 hexadecimal digits\n";

/// It cannot be created.
pub(crate) fn exists_already(directory: impl Display) -> String {
    format!(
        "directory {directory} exists already: it is not ours, so nothing was touched; choose another name or remove it"
    )
}

/// It is not removed.
pub(crate) fn not_ours(directory: impl Display) -> String {
    format!(
        "directory {directory} was not made by manometer (it has no file {MARK}): nothing in it was touched"
    )
}

/// What is ours in it was removed.
pub(crate) fn holds_others(directory: impl Display) -> String {
    format!("directory {directory} holds files that are not ours and was left with them: remove them by hand")
}
