//! The sizes of the server in words, for people: every command that will be run.

use experiment::{EarlierData, ServerScale};

/// The sizes, the commands, and what happens to data. Scripts, which are arguments of several lines, follow, each once.
pub fn words(scale: &ServerScale) -> String {
    let mut scripts = Scripts::default();
    let (set, ready, reset) =
        (scripts.named(&scale.set), scripts.named(&scale.ready), scripts.named(&scale.reset));
    let command = |words: &[String]| format!("`{}`", words.join(" "));
    let sets: Vec<String> = scale.values.iter().map(|value| command(&scale.command(&set, value))).collect();
    let mut out =
        format!("Server: {} of {}, set by {}", scale.name, scale.values.join(", "), sets.join(", "));
    if !ready.is_empty() {
        out.push_str(&format!("; ready when {} succeeds", command(&ready)));
    }
    if !reset.is_empty() {
        out.push_str(&format!("; at the end {}", command(&reset)));
    }
    out.push_str(match scale.data {
        EarlierData::Remove => "; data sets are removed before the next size\n",
        EarlierData::Keep => "; data sets stay\n",
    });
    for (number, script) in (1..).zip(scripts.found) {
        out.push_str(&format!("  script {number}:\n"));
        script.lines().for_each(|line| out.push_str(&format!("    {line}\n")));
    }
    out
}

/// Arguments of several lines.
#[derive(Default)]
struct Scripts<'s> {
    found: Vec<&'s str>,
}

impl<'s> Scripts<'s> {
    /// The command with the scripts' numbers in their place.
    fn named(&mut self, words: &'s [String]) -> Vec<String> {
        words.iter().map(|word| if word.contains('\n') { self.number(word) } else { word.clone() }).collect()
    }

    fn number(&mut self, script: &'s str) -> String {
        let known = self.found.iter().position(|found| *found == script);
        let at = known.unwrap_or_else(|| {
            self.found.push(script);
            self.found.len() - 1
        });
        format!("[script {}]", at + 1)
    }
}
