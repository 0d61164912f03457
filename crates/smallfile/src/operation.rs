//! smallfile's operations, and the steps that they consist of.

use experiment::{PassStep, hint};

use crate::ParameterError;

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its name.
    pub name: &'static str,
    /// What it does to each file.
    pub steps: &'static [PassStep],
}

const fn operation(name: &'static str, steps: &'static [PassStep]) -> Operation {
    Operation { name, steps }
}

/// All that are supported.
const OPERATIONS: &[Operation] = &[
    operation("create", &[PassStep::WriteFile]),
    operation("append", &[PassStep::Append]),
    operation("overwrite", &[PassStep::Overwrite]),
    operation("truncate-overwrite", &[PassStep::TruncateOverwrite]),
    operation("read", &[PassStep::ReadFile]),
    operation("stat", &[PassStep::Stat]),
    operation("chmod", &[PassStep::Chmod]),
    operation("setxattr", &[PassStep::Setxattr]),
    operation("getxattr", &[PassStep::Getxattr]),
    operation("symlink", &[PassStep::Symlink]),
    operation("mkdir", &[PassStep::Mkdir]),
    operation("rmdir", &[PassStep::Rmdir]),
    operation("readdir", &[PassStep::Readdir]),
    operation("ls-l", &[PassStep::Readdir, PassStep::Stat]),
    operation("rename", &[PassStep::Rename]),
    operation("delete", &[PassStep::Remove]),
    operation("delete-renamed", &[PassStep::RemoveRenamed]),
    operation("cleanup", &[PassStep::CleanUp]),
    operation(
        "swift-put",
        &[
            PassStep::WriteTemporary,
            PassStep::ChmodTemporary,
            PassStep::SetxattrTemporary,
            PassStep::RenameTemporary,
        ],
    ),
    operation("swift-get", &[PassStep::ReadFile, PassStep::Getxattr]),
];

impl Operation {
    /// The operation with this name.
    ///
    /// # Errors
    /// There is none.
    pub fn of(name: &str) -> Result<Operation, ParameterError> {
        let name = if name == "delete_renamed" { "delete-renamed" } else { name };
        let found = OPERATIONS.iter().find(|operation| operation.name == name).copied();
        found.ok_or_else(|| match name {
            "await-create" => ParameterError::Unsupported {
                name: "operation".to_owned(),
                value: name.to_owned(),
                instead: "wait for the copy, then run --operation stat on it",
            },
            _ => ParameterError::Value {
                name: "operation".to_owned(),
                value: name.to_owned(),
                wanted: hint(name, OPERATIONS.iter().map(|operation| operation.name)),
            },
        })
    }
}
