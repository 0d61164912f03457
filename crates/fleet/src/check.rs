//! Validates what agents say: lengths, texts, lists, counts.

use engine::StageResult;
use metrics::{Interval, OpStats};
use targets::Look;

use crate::agent_fault::AgentFault;
use crate::order::SiteFacts;
use crate::probe::HostSample;

/// Upper bound of any count: nine million terabytes. The counts of a thousand agents can still be added.
const MOST: u64 = 1 << 53;
/// Maximum entries of lists that grow with workers or connections.
const MAX_ENTRIES: usize = 1 << 16;
/// Maximum examples of errors, places of wrong data, failures of jobs.
const MAX_EXAMPLES: usize = 256;
/// Maximum cores and workers of a sample.
const MAX_CORES: usize = 1024;
/// Maximum NICs, disks and paths of a sample.
const MAX_DEVICES: usize = 64;
/// Maximum characters of a text for people.
const MAX_TEXT: usize = 2000;

/// Maximum length of a body of this kind, in bytes; a message begins with its kind.
pub(crate) fn longest(body: &[u8]) -> usize {
    let kinds: [(&[u8], usize); 7] = [
        (b"{\"Finished\"", crate::frame::LONGEST),
        (b"{\"Answer\"", 4 << 20),
        (b"{\"Interval\"", 8 << 20),
        (b"{\"Sample\"", 512 << 10),
        (b"{\"Hello\"", 16 << 10),
        (b"{\"Said\"", 16 << 10),
        (b"{", 1 << 10),
    ];
    kinds.into_iter().find(|(kind, _)| body.starts_with(kind)).map_or(0, |(_, most)| most)
}

/// Replaces characters that control terminals or change the text direction by harmless ones, in all texts of a JSON
/// body. Its length and structure stay the same.
pub(crate) fn sanitize(body: &mut [u8]) {
    let mut at = 0;
    while at < body.len() {
        let rest = &mut body[at..];
        at += match rest {
            [b'\\', b'u', code @ ..] if code.len() >= 4 => {
                let value =
                    std::str::from_utf8(&code[..4]).ok().and_then(|hex| u32::from_str_radix(hex, 16).ok());
                if value.and_then(char::from_u32).is_some_and(is_control) {
                    code[..4].copy_from_slice(b"0020");
                }
                6
            }
            [b'\\', letter, ..] => {
                if matches!(letter, b'r' | b'b' | b'f') {
                    *letter = b't';
                }
                2
            }
            [first @ 0x7f, ..] => {
                *first = b' ';
                1
            }
            [0xc2, 0x80..=0x9f, ..] => {
                rest[..2].fill(b' ');
                2
            }
            [0xe2, 0x80, 0xaa..=0xae | 0x8e | 0x8f, ..] | [0xe2, 0x81, 0xa6..=0xa9, ..] => {
                rest[..3].fill(b' ');
                3
            }
            _ => 1,
        };
    }
}

fn is_control(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

/// Reduces a text for people to one line of readable length.
pub(crate) fn one_line(text: &str) -> String {
    let mut line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() > MAX_TEXT {
        line = line.chars().take(MAX_TEXT).collect();
        line.push('…');
    }
    line.chars().map(|c| if is_control(c) { ' ' } else { c }).collect()
}

/// Truncates a text, keeping its lines.
pub(crate) fn shorten(text: &mut String) {
    if text.len() > 4 * MAX_TEXT {
        text.truncate(text.floor_char_boundary(4 * MAX_TEXT));
    }
}

/// Facts of a target.
pub(crate) fn site(facts: &mut SiteFacts) -> Result<(), AgentFault> {
    shorten(&mut facts.kind);
    counts(&[
        facts.objects,
        facts.item_bytes,
        facts.bytes,
        facts.cache_bytes.unwrap_or(0),
        facts.connect_timeout_ns,
    ])
}

/// Findings about a target: bounded, one line each.
pub(crate) fn look(look: &mut Look) {
    look.findings.truncate(MAX_EXAMPLES);
    look.findings.iter_mut().for_each(|finding| finding.text = one_line(&finding.text));
    look.seen = one_line(&look.seen);
    if let Some(space) = &mut look.space {
        space.file_system = one_line(&space.file_system);
        space.place = one_line(&space.place);
        // Some servers report unlimited space.
        space.available_bytes = space.available_bytes.min(MOST);
    }
}

/// An observed host's sample: lists as long as a host may report, names of one line.
pub(crate) fn sample(sample: &mut HostSample) {
    sample.cores.truncate(MAX_CORES);
    sample.nics.truncate(MAX_DEVICES);
    sample.disks.truncate(MAX_DEVICES);
    sample.paths.truncate(MAX_DEVICES);
    sample.workers.truncate(MAX_CORES);
    let names = sample.nics.iter_mut().map(|nic| &mut nic.name);
    names.chain(sample.disks.iter_mut().map(|disk| &mut disk.name)).for_each(|name| *name = one_line(name));
}

/// Reported counts of one kind of operation.
fn stats(stats: &OpStats) -> Result<(), AgentFault> {
    counts(&[stats.ok, stats.bytes, stats.rpcs, stats.retries])?;
    counts(&stats.errors)?;
    for procedure in &stats.procedures {
        counts(&[procedure.calls, procedure.ok, procedure.errors, procedure.total_ns, procedure.max_ns])?;
    }
    if stats.service.count() > stats.ok || stats.response().count() > stats.ok {
        return Err(AgentFault::TooManyLatencies);
    }
    Ok(())
}

/// An interval, or a total.
pub(crate) fn interval(interval: &Interval) -> Result<(), AgentFault> {
    counts(&[interval.start_ns, interval.length_ns])?;
    interval.ops.iter().try_for_each(|(_, of_kind)| stats(of_kind))
}

/// A result. Lists are truncated to a readable length.
pub(crate) fn result(result: &mut StageResult) -> Result<(), AgentFault> {
    interval(&result.total)?;
    stats(&result.closing)?;
    for some in [result.before, result.after] {
        counts(&[some.ok, some.failed, some.timed_out, some.bytes])?;
    }
    counts(&[
        result.window_ns,
        result.in_flight_at_end,
        result.abandoned,
        result.offered,
        result.shed,
        result.late_starts,
        result.deepest_backlog,
        result.missed_starts,
        result.settled_ns,
        result.start_skew_ns,
        result.start_core_wait_ns,
        result.longest_pause_ns,
        result.unseen_intervals,
        result.process_cpu_ns,
        result.checked.right,
        result.checked.wrong,
        result.checked.unread,
        result.checked.uncertain,
        result.facts.reconnects,
        result.facts.retries,
        result.facts.short_answers,
        result.facts.late_replies,
        result.facts.closed_retransmits,
        result.job.fsyncs,
        result.job.overlooked,
        result.job.trace_waits,
    ])?;
    counts(&result.job.depths)?;
    counts(&result.worker_cpu_ns)?;
    let reasons = &mut result.facts.reconnect_reasons;
    reasons.truncate(MAX_EXAMPLES);
    counts(&reasons.iter().map(|reason| reason.count).collect::<Vec<_>>())?;
    let lists = [result.worker_cpu_ns.len(), result.facts.connections.len(), result.facts.closed_paths.len()];
    if lists.into_iter().any(|entries| entries > MAX_ENTRIES) {
        return Err(AgentFault::ListTooLong { most: MAX_ENTRIES });
    }
    result.error_samples.truncate(MAX_EXAMPLES);
    result.corrupt.truncate(MAX_EXAMPLES);
    result.job.failures.truncate(MAX_EXAMPLES);
    let texts = result.error_samples.iter_mut().map(|(_, text)| text);
    let texts = texts.chain(result.corrupt.iter_mut().map(|range| &mut range.detail));
    let texts = texts.chain(result.job.failures.iter_mut().map(|failure| &mut failure.detail));
    let texts = texts.chain(result.facts.reconnect_reasons.iter_mut().map(|reason| &mut reason.text));
    texts.chain(&mut result.refusal).for_each(shorten);
    Ok(())
}

fn counts(counts: &[u64]) -> Result<(), AgentFault> {
    match counts.iter().find(|count| **count > MOST) {
        Some(count) => Err(AgentFault::ImpossibleCount(*count)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_steer_a_terminal() {
        for (given, meant) in [
            ("\u{1b}[2Jgone", " [2Jgone"),
            ("a\r\u{8}b\u{c}", "a\t\tb\t"),
            ("two\nlines\tstay", "two\nlines\tstay"),
            ("\u{9b}31m \u{7f}", "  31m  "),
            ("\u{202e}abc\u{2066}", "   abc   "),
            ("C:\\u001b \\\\ \"", "C:\\u001b \\\\ \""),
            ("größer", "größer"),
        ] {
            let mut body = serde_json::to_vec(given).unwrap();
            sanitize(&mut body);
            let read: String = serde_json::from_slice(&body).unwrap();
            assert_eq!(read, meant, "{given:?}");
        }
        let mut escaped = br#""\u202e\u009b\u001b\n""#.to_vec();
        sanitize(&mut escaped);
        assert_eq!(serde_json::from_slice::<String>(&escaped).unwrap(), "   \n");
    }

    #[test]
    fn counts_and_latencies_must_agree() {
        let mut one = Interval::default();
        one.op_mut(metrics::OpKind::Read).ok = 1;
        one.op_mut(metrics::OpKind::Read).service.record(5);
        interval(&one).unwrap();
        one.op_mut(metrics::OpKind::Read).service.record(5);
        assert_eq!(interval(&one).unwrap_err().to_string(), "it counts fewer operations than latencies");
        one.op_mut(metrics::OpKind::Read).ok = u64::MAX;
        assert!(matches!(interval(&one), Err(AgentFault::ImpossibleCount(u64::MAX))));
    }
}
