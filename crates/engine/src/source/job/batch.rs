//! How the queue is kept full: submitting in batches, reaping in batches, draining before refilling.

use experiment::Queue;

/// The queue of a worker. An operation is in it from its start until its completion is reaped.
#[derive(Debug)]
pub(super) struct Batches {
    depth: u32,
    together: u32,
    least: u32,
    most: u32,
    low: u32,
    queued: u32,
    /// Completed, but not yet reaped.
    ended: u32,
    /// Operations of this batch that may still start.
    tokens: u32,
    /// It was full, and is not being refilled yet.
    draining: bool,
}

impl Batches {
    /// `None` if every operation goes by itself.
    pub(super) fn new(queue: &Queue, depth: u32) -> Option<Batches> {
        let plain = queue.batch <= 1
            && queue.complete_least <= 1
            && queue.complete_most == 0
            && (queue.low == 0 || queue.low >= depth);
        let low = if queue.low == 0 { depth } else { queue.low.min(depth) };
        (!plain).then(|| Batches {
            depth,
            together: queue.batch.clamp(1, depth),
            least: queue.complete_least.clamp(1, depth),
            most: if queue.complete_most == 0 { depth } else { queue.complete_most },
            low,
            queued: 0,
            ended: 0,
            tokens: 0,
            draining: false,
        })
    }

    /// Whether an operation may start.
    pub(super) fn may_begin(&mut self) -> bool {
        if self.draining || self.queued == self.depth {
            return false;
        }
        if self.tokens == 0 && self.depth - self.queued >= self.together {
            self.tokens = self.together;
        }
        self.tokens > 0
    }

    pub(super) fn begun(&mut self) {
        self.tokens = self.tokens.saturating_sub(1);
        self.queued += 1;
        self.draining = self.queued == self.depth;
    }

    /// An operation has ended.
    pub(super) fn ended(&mut self) {
        self.ended += 1;
        if !self.draining {
            self.queued -= self.ended;
            self.ended = 0;
            return;
        }
        while self.draining && self.ended >= self.least.min(self.queued).max(1) {
            let taken = self.ended.min(self.most.max(self.least));
            self.ended -= taken;
            self.queued -= taken;
            self.draining = self.queued > self.low || self.queued == self.depth;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batches(batch: u32, complete_least: u32, low: u32, depth: u32) -> Batches {
        let queue = Queue { batch, complete_least, low, ..Queue::default() };
        Batches::new(&queue, depth).unwrap()
    }

    fn begin_all(queue: &mut Batches) -> u32 {
        let mut begun = 0;
        while queue.may_begin() {
            queue.begun();
            begun += 1;
        }
        begun
    }

    #[test]
    fn a_full_queue_waits_for_a_batch_of_endings_or_of_room() {
        // Submit batch, reap batch, low-water mark: completions after which nothing starts yet, and number that starts
        // after one more.
        let cases = [(batches(4, 0, 0, 8), 3, 4), (batches(1, 4, 0, 8), 3, 4), (batches(1, 0, 2, 8), 5, 6)];
        for (mut queue, too_few, begun) in cases {
            assert_eq!(begin_all(&mut queue), 8);
            (0..too_few).for_each(|_| queue.ended());
            assert_eq!(begin_all(&mut queue), 0, "{queue:?}");
            queue.ended();
            assert_eq!(begin_all(&mut queue), begun, "{queue:?}");
        }
    }

    #[test]
    fn what_is_one_by_one_needs_no_batches() {
        assert!(Batches::new(&Queue { batch: 1, low: 8, ..Queue::default() }, 8).is_none());
        // More at once than the depth allows: the queue empties.
        let mut queue = batches(100, 100, 0, 4);
        assert_eq!(begin_all(&mut queue), 4);
        (0..4).for_each(|_| queue.ended());
        assert_eq!(begin_all(&mut queue), 4);
    }
}
