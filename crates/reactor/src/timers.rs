//! Timers: a binary heap that tracks each timer's position, so that cancelling takes O(log n).
//!
//! Most timers are deadlines that never fire. With lazy deletion a heap would grow with the rate of operations; this
//! one holds exactly the pending timers and reuses its memory.

/// A timer. Once it has fired or been removed, the id refers to nothing and is harmless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimerId {
    index: u32,
    sequence: u64,
}

#[derive(Clone, Copy, Debug)]
struct Timer {
    at_ns: u64,
    /// Order of insertion: timers due at the same time fire in the order in which they were set.
    sequence: u64,
    task: u32,
    place: u32,
}

/// All pending timers of a reactor.
#[derive(Debug)]
pub(crate) struct Timers {
    heap: Vec<u32>,
    timers: Vec<Timer>,
    free: Vec<u32>,
    sequence: u64,
}

impl Default for Timers {
    fn default() -> Self {
        // Initial capacity for the usual few, so that a first timer in the middle of a measurement allocates nothing.
        let (heap, timers, free) = (Vec::with_capacity(64), Vec::with_capacity(64), Vec::with_capacity(64));
        Self { heap, timers, free, sequence: 0 }
    }
}

impl Timers {
    /// When the next timer is due, in nanoseconds.
    pub(crate) fn next_due(&self) -> Option<u64> {
        self.heap.first().map(|&id| self.timers[id as usize].at_ns)
    }

    /// Sets a timer that makes `task` ready at `at_ns`.
    pub(crate) fn insert(&mut self, at_ns: u64, task: u32) -> TimerId {
        self.sequence += 1;
        let timer = Timer { at_ns, sequence: self.sequence, task, place: self.heap.len() as u32 };
        let id = match self.free.pop() {
            Some(id) => {
                self.timers[id as usize] = timer;
                id
            }
            None => {
                self.timers.push(timer);
                (self.timers.len() - 1) as u32
            }
        };
        self.heap.push(id);
        self.rise(self.heap.len() - 1);
        TimerId { index: id, sequence: self.sequence }
    }

    /// Cancels a timer if it is still pending.
    pub(crate) fn remove(&mut self, id: TimerId) {
        let timer = &mut self.timers[id.index as usize];
        if timer.sequence != id.sequence {
            return;
        }
        // No later id has this number, so a second removal finds nothing.
        timer.sequence = 0;
        let place = timer.place as usize;
        debug_assert_eq!(self.heap[place], id.index);
        let last = self.heap.pop().expect("a pending timer is in the heap");
        self.free.push(id.index);
        if place < self.heap.len() {
            self.put(place, last);
            self.rise(place);
            self.sink(self.timers[last as usize].place as usize);
        }
    }

    /// Removes the next timer due at `now_ns`, and returns its task.
    pub(crate) fn pop_due(&mut self, now_ns: u64) -> Option<u32> {
        let index = *self.heap.first()?;
        let timer = self.timers[index as usize];
        if timer.at_ns > now_ns {
            return None;
        }
        self.remove(TimerId { index, sequence: timer.sequence });
        Some(timer.task)
    }

    fn put(&mut self, place: usize, id: u32) {
        self.heap[place] = id;
        self.timers[id as usize].place = place as u32;
    }

    fn before(&self, a: u32, b: u32) -> bool {
        let (a, b) = (&self.timers[a as usize], &self.timers[b as usize]);
        (a.at_ns, a.sequence) < (b.at_ns, b.sequence)
    }

    fn rise(&mut self, mut place: usize) {
        let id = self.heap[place];
        while place > 0 {
            let parent = (place - 1) / 2;
            if !self.before(id, self.heap[parent]) {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, id);
    }

    fn sink(&mut self, mut place: usize) {
        let id = self.heap[place];
        loop {
            let mut child = 2 * place + 1;
            if child >= self.heap.len() {
                break;
            }
            if child + 1 < self.heap.len() && self.before(self.heap[child + 1], self.heap[child]) {
                child += 1;
            }
            if !self.before(self.heap[child], id) {
                break;
            }
            self.put(place, self.heap[child]);
            place = child;
        }
        self.put(place, id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_fire_in_order_and_ties_in_the_order_they_were_set() {
        let mut timers = Timers::default();
        for (task, at) in [(1, 30), (2, 10), (3, 20), (4, 10)] {
            timers.insert(at, task);
        }
        assert_eq!(timers.pop_due(9), None);
        let mut fired = Vec::new();
        while let Some(task) = timers.pop_due(25) {
            fired.push(task);
        }
        assert_eq!(fired, [2, 4, 3]);
        assert_eq!(timers.next_due(), Some(30));
    }

    #[test]
    fn cancelled_timers_are_gone_and_their_memory_is_reused() {
        let mut timers = Timers::default();
        // A fixed linear congruential sequence: scrambled order, repeatable test.
        let mut x = 12345_u64;
        let mut model: Vec<(u64, TimerId)> = Vec::new();
        for step in 0..20_000_u64 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if model.len() < 50 || x >> 63 == 0 && model.len() < 100 {
                let at = (x >> 40) + step;
                model.push((at, timers.insert(at, 7)));
            } else {
                let (_, id) = model.swap_remove((x >> 33) as usize % model.len());
                timers.remove(id);
            }
            assert_eq!(timers.next_due(), model.iter().map(|(at, _)| *at).min());
        }
        assert!(timers.timers.len() <= 101, "memory follows the pending timers, not the number set");
    }
}
