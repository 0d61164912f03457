//! The operations of a brief experiment: shares of reads and writes, or operations by name.

use metrics::{OpChange, OpKind, OpSubject};
use units::Share;

use super::lines::{Line, Lines};
use super::{BriefExperiment, yaml};
use crate::kind::TargetKind;

/// Operations with their shares, one set for each matrix value.
#[derive(Debug)]
pub(super) struct Operations {
    /// At least one mix, each with at least one operation.
    mixes: Vec<Mix>,
    /// The command line input they come from.
    origin: Option<String>,
}

/// Operations and the text of their shares; a single one needs none.
type Mix = Vec<(String, Option<String>)>;

impl Operations {
    pub fn of(brief: &BriefExperiment, kind: Option<&'static TargetKind>) -> Self {
        let whole = kind.is_some_and(|kind| kind.objects && !kind.ranges);
        let words = if whole { [OpKind::Get, OpKind::Put] } else { [OpKind::Read, OpKind::Write] };
        let [read, write] = words.map(|op| op.name().to_owned());
        let named: Vec<(String, Option<String>)> =
            brief.ops.iter().flat_map(|text| yaml::items(text)).map(shared).collect();
        let shares = |given: &Option<String>| given.as_deref().map(yaml::items).unwrap_or_default();
        let (reads, writes) = (shares(&brief.read), shares(&brief.write));
        let flags = [("--read", &brief.read), ("--write", &brief.write)];
        let typed = flags
            .into_iter()
            .filter_map(|(flag, given)| given.as_ref().map(|given| format!("{flag} {given}")));
        let typed: Vec<String> = typed.chain(brief.ops.iter().map(|op| format!("--op {op}"))).collect();
        let origin = (!typed.is_empty()).then(|| typed.join(" "));
        let count = reads.len().max(writes.len());
        if count == 0 {
            let mixes = match named.as_slice() {
                [] => vec![vec![(read, None)]],
                named if named.iter().all(|(_, share)| share.is_none()) => {
                    named.iter().map(|op| vec![op.clone()]).collect()
                }
                named => vec![completed(named.to_vec(), None)],
            };
            return Self { mixes, origin };
        }
        let mix = |at: usize| {
            let share = |shares: &[String]| shares.get(at).or(shares.last()).cloned();
            let mut mix = Vec::new();
            mix.extend(share(&reads).map(|share| (read.clone(), Some(share))));
            mix.extend(share(&writes).map(|share| (write.clone(), Some(share))));
            mix.extend(named.iter().cloned());
            let other = match (reads.is_empty(), writes.is_empty()) {
                _ if !named.is_empty() => None,
                (false, true) => Some(&write),
                (true, false) => Some(&read),
                _ => None,
            };
            completed(mix, other)
        };
        Self { mixes: (0..count).map(mix).collect(), origin }
    }

    /// A name that describes the operations.
    pub fn workload_name(&self) -> &str {
        match self.mixes.as_slice() {
            [mix] => match mix.as_slice() {
                // An unknown operation is reported as such, not as a bad name.
                [(op, _)] if kind_of(op).is_some() => op,
                [_] => "load",
                _ => "mixed",
            },
            _ => "load",
        }
    }

    pub fn write(&self, lines: &mut Lines) {
        let text = |mix: &Mix| match mix.as_slice() {
            [(op, None)] => yaml::value(op),
            mix => {
                let share = |(op, share): &(String, Option<String>)| {
                    let share = share.as_deref().map_or_else(|| "''".to_owned(), yaml::value);
                    format!("{}: {share}", yaml::value(op))
                };
                format!("{{{}}}", mix.iter().map(share).collect::<Vec<_>>().join(", "))
            }
        };
        let about = "one operation, or shares: {read: 70%, write: 30%}";
        match self.mixes.as_slice() {
            [mix] => lines.add(Line::of(2, "ops", &text(mix)).from(self.origin.clone()).about(about)),
            mixes => {
                let all = format!("[{}]", mixes.iter().map(text).collect::<Vec<_>>().join(", "));
                lines.matrix_line(Line::of(1, "ops", &all).from(self.origin.clone()));
            }
        }
    }

    fn kinds(&self) -> impl Iterator<Item = OpKind> {
        self.mixes.iter().flatten().filter_map(|(op, _)| kind_of(op))
    }

    /// Whether some of them move blocks.
    pub fn move_ranges(&self) -> bool {
        self.kinds().any(OpKind::is_of_ranges)
    }

    /// Whether some of them are for objects only.
    pub fn are_for_objects(&self) -> bool {
        self.kinds().any(OpKind::is_for_objects)
    }

    /// Whether none of them changes anything.
    pub fn only_look(&self) -> bool {
        self.kinds().all(|op| op.traits().changes == OpChange::Nothing)
    }

    /// Whether they only query the names or attributes of a data set, and move no data.
    pub fn look_at_names(&self) -> bool {
        self.kinds().any(|op| op.traits().subject == OpSubject::DataSet)
            && self.kinds().all(|op| !op.moves_bytes() && !op.is_of_ranges())
    }
}

fn kind_of(name: &str) -> Option<OpKind> {
    OpKind::ALL.iter().copied().find(|kind| kind.name() == name)
}

/// Splits `stat=30%` into its parts.
fn shared(text: String) -> (String, Option<String>) {
    match text.split_once('=') {
        Some((op, share)) => (op.trim().to_owned(), Some(share.trim().to_owned())),
        None => (text, None),
    }
}

/// Completes a mix: fills in the one missing share, or adds the `other` operation if a single one does not make up the
/// whole. Operations with share 0 are dropped. Shares that cannot be parsed stay as they are, so that the reader
/// reports what is wrong with them.
fn completed(mut mix: Mix, other: Option<&String>) -> Mix {
    let parsed: Option<Vec<f64>> = mix
        .iter()
        .filter_map(|(_, share)| share.as_ref())
        .map(|share| share.parse::<Share>().ok().map(Share::value))
        .collect();
    let Some(parsed) = parsed else { return mix };
    // Round to what decimals mean: 1 - 0.7 is 30%.
    let rest = ((1.0 - parsed.iter().sum::<f64>()) * 1e9).round() / 1e9;
    if rest > 0.0
        && let Some(rest) = Share::new(rest)
    {
        let mut open = mix.iter_mut().filter(|(_, share)| share.is_none());
        match (open.next(), open.next(), other) {
            (Some((_, share)), None, _) => *share = Some(rest.to_string()),
            (None, None, Some(other)) => mix.push((other.clone(), Some(rest.to_string()))),
            _ => {}
        }
    }
    let never = |share: &Option<String>| {
        share.as_ref().and_then(|share| share.parse::<Share>().ok()).is_some_and(|share| share.value() == 0.0)
    };
    if mix.iter().any(|(_, share)| !never(share)) {
        mix.retain(|(_, share)| !never(share));
    }
    if let [(_, share)] = mix.as_mut_slice()
        && share
            .as_ref()
            .and_then(|share| share.parse::<Share>().ok())
            .is_some_and(|share| share.value() == 1.0)
    {
        *share = None;
    }
    mix
}
