//! The sizes of the server in words, for people: every command that will be run.

use experiment::{EarlierData, ServerScale};

/// The sizes, the commands, and what happens to data.
pub fn words(scale: &ServerScale) -> String {
    let command = |words: &[String]| format!("`{}`", words.join(" "));
    let sets: Vec<String> =
        scale.values.iter().map(|value| command(&scale.command(&scale.set, value))).collect();
    let mut out =
        format!("Server: {} of {}, set by {}", scale.name, scale.values.join(", "), sets.join(", "));
    if !scale.ready.is_empty() {
        out.push_str(&format!("; ready when {} succeeds", command(&scale.ready)));
    }
    if !scale.reset.is_empty() {
        out.push_str(&format!("; at the end {}", command(&scale.reset)));
    }
    out.push_str(match scale.data {
        EarlierData::Remove => "; data sets are removed before the next size\n",
        EarlierData::Keep => "; data sets stay\n",
    });
    out
}
