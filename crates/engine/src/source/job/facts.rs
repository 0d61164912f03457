//! The report on a job.

use std::ops::Range;

use crate::{JobFacts, JobSpan};

impl JobFacts {
    /// Counts the start of an operation at this queue depth, itself included.
    #[inline]
    pub(super) fn begun(&mut self, in_flight: u32) {
        let bucket = in_flight.max(1).ilog2().min(6);
        self.depths[bucket as usize] += 1;
    }

    /// Counts an operation of a direction that ended in the window, which begins at `window_ns`.
    #[inline]
    pub(super) fn ended(&mut self, direction: usize, span: &Range<u64>, window_ns: u64) {
        let of = match direction {
            0 => &mut self.spans.read,
            1 => &mut self.spans.write,
            _ => &mut self.spans.trim,
        };
        let from_ns = span.start.saturating_sub(window_ns);
        let until_ns = span.end.saturating_sub(window_ns);
        match of {
            Some(of) => (of.from_ns, of.until_ns) = (of.from_ns.min(from_ns), of.until_ns.max(until_ns)),
            None => *of = Some(JobSpan { from_ns, until_ns }),
        }
    }
}
