//! The size of the server as an axis of the experiment: values, and the commands that bring the server to each.

use serde::{Deserialize, Serialize};

use crate::job::is_default;
use crate::plan::{Cell, Plan};

/// Sizes of the server, how it is brought to each of them, and what becomes of the data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerScale {
    /// The user's name of the axis, as in [`Cell::point`]: `osds`.
    pub name: String,
    /// The sizes as text, in the order in which they are measured.
    pub values: Vec<String>,
    /// The program and its arguments that bring the server to a size; `{value}` is substituted. There is no shell.
    pub set: Vec<String>,
    /// The command that exits with 0 once the server is ready, repeated until it does; empty: ready when `set` ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ready: Vec<String>,
    /// The command that is run after the last cell, once a size was set; empty: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reset: Vec<String>,
    /// Timeout of `set`, of all attempts of `ready` together, and of `reset`, in milliseconds.
    pub timeout_ms: u64,
    /// Time between two attempts of `ready`, in milliseconds.
    pub interval_ms: u64,
    /// What happens to data of the earlier size.
    #[serde(default, skip_serializing_if = "is_default")]
    pub data: EarlierData,
}

/// What happens to data sets before the server gets another size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EarlierData {
    /// They are removed, and filled again at the new size: a server that moves data to its new parts, or loses some
    /// with the removed ones, is not measured while it does.
    #[default]
    Remove,
    /// They stay: the size does not change where data is.
    Keep,
}

impl EarlierData {
    /// The word used in experiment files.
    pub fn word(self) -> &'static str {
        match self {
            EarlierData::Remove => "remove",
            EarlierData::Keep => "keep",
        }
    }
}

/// The variable in commands that stands for the size.
pub(crate) const VALUE: &str = "{value}";

impl ServerScale {
    /// A command for a size.
    pub fn command(&self, words: &[String], value: &str) -> Vec<String> {
        words.iter().map(|word| word.replace(VALUE, value)).collect()
    }

    /// The size that a cell is measured at.
    pub fn size_of<'c>(&self, cell: &'c Cell) -> Option<&'c str> {
        cell.point.get(&self.name).map(String::as_str)
    }
}

impl Plan {
    /// The size of the server that a cell is measured at, if the experiment has several.
    pub fn server_size<'c>(&self, cell: &'c Cell) -> Option<&'c str> {
        self.server_scale.as_ref()?.size_of(cell)
    }

    /// The size that a cell's data set belongs to, as `osds=3`: another size needs another data set.
    pub fn size_of_data(&self, cell: &Cell) -> Option<String> {
        let scale = self.server_scale.as_ref().filter(|scale| scale.data == EarlierData::Remove)?;
        Some(format!("{}={}", scale.name, scale.size_of(cell)?))
    }
}
