//! Refusals by whoever executes an experiment, at the places of the file that they are about.

use crate::fault::Diagnostics;
use crate::place::{Log, Place};
use crate::source::SourceText;
use crate::tree::{self, Node};

/// A field of an experiment that is valid, but not allowed where the experiment would run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedField {
    /// The keys that lead to it: `["targets", "data", "tls_ca"]`. What the file does not have is refused at its nearest
    /// parent.
    pub path: Vec<String>,
    /// What is refused.
    pub text: String,
    /// What to write or do instead.
    pub hint: String,
}

/// Places refusals in the text of an experiment: each is one fault with its line and column.
pub fn refuse(source: &SourceText<'_>, fields: &[RefusedField]) -> Diagnostics {
    let log = Log::default();
    let root = tree::read(source.text, &Log::default());
    for field in fields {
        let place = root.as_ref().map_or(Place::START, |root| place_of(root, &field.path));
        log.fault(place, &*field.text, &*field.hint);
    }
    log.into_faults(source.file, source.text)
}

fn place_of(root: &Node, path: &[String]) -> Place {
    let mut node = root;
    let mut place = Place::START;
    for key in path {
        let Some(entry) = node.entries().iter().find(|entry| *entry.key == **key) else { break };
        place = entry.key_place;
        node = &entry.node;
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_at_its_key_or_the_nearest_parent() {
        let text = "results: a.sqlite\ntargets:\n  data:\n    url: 's3://b?tls_ca=x'\n    profile: me\n";
        let at = |path: &[&str]| {
            let path = path.iter().map(|key| (*key).to_owned()).collect();
            let field = RefusedField { path, text: "no".into(), hint: "take it out".into() };
            let found = refuse(&SourceText { file: "request", text }, &[field]);
            (found.faults[0].line, found.faults[0].column)
        };
        assert_eq!(at(&["results"]), (1, 1));
        assert_eq!(at(&["targets", "data", "profile"]), (5, 5));
        assert_eq!(at(&["targets", "data", "tls_ca"]), (3, 3), "written in the URL");
        assert_eq!(at(&["fleet"]), (1, 1));
    }
}
