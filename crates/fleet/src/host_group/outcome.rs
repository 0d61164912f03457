//! The outcome of a stage, over all its members.

use std::time::Duration;

use engine::StageResult;
use metrics::Interval;

use super::many::{Many, Site};
use crate::order::HostRefusal;
use crate::seen::{HostGroupResult, PartResult};

/// Starts further than this from the common one are considered invalid, in nanoseconds.
const BELIEVED_NS: u64 = 1_000_000_000;
/// Members named when all are lost.
const MAX_NAMED: usize = 3;

/// One member's part of a running stage.
pub(super) struct Part {
    pub(super) member: usize,
    pub(super) name: String,
    pub(super) site: Site,
    /// Maximum time from the start; `None`: as long as operations complete.
    pub(super) limit: Option<Duration>,
    /// When it last reported completed operations, on this side's clock.
    pub(super) moved_ns: u64,
    pub(super) ready: bool,
    /// It was told the start time.
    pub(super) began: bool,
    /// No more messages will come.
    pub(super) ended: bool,
    pub(super) result: Option<Box<StageResult>>,
    pub(super) refusal: Option<HostRefusal>,
    pub(super) lost: Option<String>,
    /// Sum of its intervals so far.
    sum: Interval,
}

impl Part {
    pub(super) fn new(member: usize, name: String, site: Site, limit: Option<Duration>) -> Self {
        Part {
            member,
            name,
            site,
            limit,
            moved_ns: 0,
            ready: false,
            began: false,
            ended: false,
            result: None,
            refusal: None,
            lost: None,
            sum: Interval::default(),
        }
    }

    /// Stores the result: the sum of the intervals is no longer needed.
    pub(super) fn finish(&mut self, result: Box<StageResult>) {
        self.result = Some(result);
        self.sum = Interval::default();
    }

    /// Adds an interval, in case no result arrives.
    pub(super) fn add(&mut self, interval: &Interval) {
        if interval.ok() + interval.failed() > 0 {
            self.moved_ns = reactor::clock::now_ns();
        }
        self.sum.merge(interval);
        self.sum.length_ns = interval.start_ns.saturating_add(interval.length_ns);
    }
}

/// Merges the members' results.
pub(super) fn sum_up(
    many: &Many,
    parts: Vec<Part>,
    start_ns: Option<u64>,
) -> Result<HostGroupResult, HostRefusal> {
    if let Some(refusal) = refused(&parts) {
        return Err(refusal);
    }
    let Some(first) = parts.iter().position(|part| part.result.is_some()) else {
        return Err(HostRefusal::failed(all_lost(&parts)));
    };
    let now_ns = reactor::clock::now_ns();
    let believed =
        |at: &u64| start_ns.is_some_and(|start| *at + BELIEVED_NS >= start) && *at <= now_ns + BELIEVED_NS;
    let (mut starts, mut uncertainties) = (Vec::new(), Vec::new());
    let mut found = Vec::with_capacity(parts.len());
    let mut whole: Option<StageResult> = None;
    let order = std::iter::once(first).chain((0..parts.len()).filter(|place| *place != first));
    for place in order {
        let part = &parts[place];
        match (&part.result, part.began) {
            (Some(result), _) => add(&mut whole, StageResult::clone(result)),
            (None, true) => {
                // Its written data is lost with it; that of the others is known.
                let left = whole.as_ref().map(|whole| whole.left);
                add(&mut whole, StageResult::of_intervals(part.sum.clone()));
                if let (Some(whole), Some(left)) = (&mut whole, left) {
                    whole.left = left;
                }
            }
            // Lost before the start: it did not take part.
            (None, false) => {}
        }
    }
    for part in parts {
        let result = part.result.map_or_else(|| StageResult::of_intervals(part.sum), |result| *result);
        let wire = &many.wires[part.member];
        let started =
            (result.started_ns > 0 && !part.site.virtual_clock).then(|| wire.ours(result.started_ns));
        let started = started.flatten().filter(|(at, _)| believed(at));
        if let Some((at, uncertainty)) = started {
            starts.push((at, at.saturating_add(result.start_skew_ns)));
            uncertainties.push(uncertainty);
        }
        let started_ns = started.map(|(at, _)| at);
        found.push(PartResult { member: part.member, name: part.name, result, started_ns, lost: part.lost });
    }
    let mut whole = whole.expect("the first is there");
    whole.started_ns = starts.iter().map(|(first, _)| *first).min().unwrap_or(0);
    let last = starts.iter().map(|(_, last)| *last).max().unwrap_or(0);
    whole.start_skew_ns = last.saturating_sub(whole.started_ns);
    // The errors of any two clocks may add up.
    uncertainties.sort_unstable_by(|a, b| b.cmp(a));
    let skew_uncertainty_ns = if uncertainties.len() < 2 { 0 } else { uncertainties[0] + uncertainties[1] };
    let start_skew_ns = whole.start_skew_ns;
    Ok(HostGroupResult { whole, parts: found, start_skew_ns, skew_uncertainty_ns })
}

fn add(whole: &mut Option<StageResult>, result: StageResult) {
    match whole {
        Some(whole) => whole.merge(result),
        None => *whole = Some(result),
    }
}

/// The first refusal, with the member's name; one that was merely stopped comes after one that has a reason.
fn refused(parts: &[Part]) -> Option<HostRefusal> {
    let refusals = || parts.iter().filter_map(|part| Some((part, part.refusal.as_ref()?)));
    let (part, refusal) = refusals().find(|(_, refusal)| !refusal.stopped).or_else(|| refusals().next())?;
    let mut text = format!("{}: {}", part.name, refusal.text);
    crate::check::shorten(&mut text);
    Some(HostRefusal { text, ..*refusal })
}

fn all_lost(parts: &[Part]) -> String {
    let lost = || parts.iter().filter_map(|part| Some(format!("{}: {}", part.name, part.lost.as_ref()?)));
    let named = lost().take(MAX_NAMED).collect::<Vec<_>>().join("; ");
    let more = lost().count().saturating_sub(MAX_NAMED);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("no host is left: {named}{more}")
}
