//! Which file comes next.

use std::collections::VecDeque;

use experiment::FileService;

use super::chance::RandomPlace;

/// Number of draws that may hit a finished file before any unfinished one is taken.
const TRIES: u32 = 64;

/// A worker's unfinished files, and the order in which they are used.
#[derive(Clone, Debug)]
pub(super) struct FileQueue {
    service: Service,
    /// Operations on a file before switching to the next.
    each: u32,
    count: u32,
    /// Number of files open at once.
    open: usize,
    /// The open files; the first is in use.
    active: VecDeque<u32>,
    /// The next file to open.
    next: u32,
    left: u32,
    random: fastrand::Rng,
}

#[derive(Clone, Debug)]
enum Service {
    InTurn,
    OneByOne,
    AtRandom(RandomPlace),
}

impl FileQueue {
    pub(super) fn new(service: FileService, count: u32, open: u32, seed: u64) -> Self {
        let ranked = |distribution| {
            Service::AtRandom(RandomPlace::new(&distribution, count.into(), 1, count.into(), seed))
        };
        use experiment::Distribution::{Normal, Pareto, Zipf};
        let (service, each) = match service {
            FileService::RoundRobin(each) => (Service::InTurn, each),
            FileService::Sequential => (Service::OneByOne, u32::MAX),
            FileService::Random(each) => (Service::AtRandom(RandomPlace::Even), each),
            FileService::Zipf(theta, each) => (ranked(Zipf { theta, centre: Some(0.0) }), each),
            FileService::Pareto(h, each) => (ranked(Pareto { h, centre: Some(0.0) }), each),
            FileService::Normal(deviation, each) => (ranked(Normal { deviation, centre: None }), each),
        };
        let open = if open == 0 { count } else { open.min(count) } as usize;
        let random = fastrand::Rng::with_seed(seed);
        let mut queue = FileQueue {
            service,
            each: each.max(1),
            count,
            open,
            active: VecDeque::new(),
            next: 0,
            left: 0,
            random,
        };
        queue.begin();
        queue
    }

    /// Puts all files to use again.
    pub(super) fn begin(&mut self) {
        self.active.clear();
        self.next = 0;
        while self.active.len() < self.open {
            self.open_next();
        }
        self.left = 0;
        self.choose();
    }

    /// The file in use; `None` if all are finished.
    #[inline]
    pub(super) fn current(&self) -> Option<u32> {
        self.active.front().copied()
    }

    /// Counts an operation on the file in use.
    #[inline]
    pub(super) fn used(&mut self) {
        if self.count > 1 {
            self.left -= 1;
            if self.left == 0 {
                if matches!(self.service, Service::InTurn) {
                    self.active.rotate_left(1);
                }
                self.choose();
            }
        }
    }

    /// The file in use is finished.
    pub(super) fn done(&mut self) {
        self.active.pop_front();
        if self.next < self.count {
            self.open_next();
        }
        self.choose();
    }

    fn open_next(&mut self) {
        self.active.push_back(self.next);
        self.next += 1;
    }

    fn choose(&mut self) {
        self.left = self.each;
        let Service::AtRandom(chance) = &self.service else { return };
        if self.active.len() < 2 {
            return;
        }
        let mut at = None;
        if !matches!(chance, RandomPlace::Even) {
            for _ in 0..TRIES {
                let file = chance.draw(&mut self.random, self.count.into()) as u32;
                at = self.active.iter().position(|active| *active == file);
                if at.is_some() {
                    break;
                }
            }
        }
        let at = at.unwrap_or_else(|| self.random.usize(..self.active.len()));
        self.active.swap(0, at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files in the order of use, each with this many operations.
    fn order(service: FileService, files: &[u32], open: u32) -> Vec<u32> {
        let mut left = files.to_vec();
        let mut queue = FileQueue::new(service, files.len() as u32, open, 1);
        let mut order = Vec::new();
        while let Some(file) = queue.current() {
            if left[file as usize] == 0 {
                queue.done();
                continue;
            }
            left[file as usize] -= 1;
            order.push(file);
            queue.used();
        }
        order
    }

    #[test]
    fn files_take_turns_or_follow_each_other() {
        let rounds = FileService::RoundRobin;
        assert_eq!(order(rounds(1), &[2, 2, 2], 0), [0, 1, 2, 0, 1, 2]);
        assert_eq!(order(rounds(2), &[4, 4], 0), [0, 0, 1, 1, 0, 0, 1, 1]);
        assert_eq!(order(rounds(1), &[3, 1, 2], 0), [0, 1, 2, 0, 2, 0]);
        assert_eq!(order(FileService::Sequential, &[2, 1, 2], 0), [0, 0, 1, 2, 2]);
        assert_eq!(order(rounds(1), &[2, 2, 2, 2], 2), [0, 1, 0, 1, 2, 3, 2, 3]);
        assert_eq!(order(rounds(1), &[5], 0), [0; 5]);
    }

    #[test]
    fn by_chance_every_file_is_done_in_the_end() {
        for service in [FileService::Random(1), FileService::Zipf(1.2, 1), FileService::Normal(20.0, 3)] {
            let order = order(service, &[50; 8], 0);
            assert_eq!(order.len(), 400);
            assert_ne!(order[..50], [0; 50]);
        }
        // With zipf the first file is the favourite: 1/H(8) = 0.41 of the draws with theta 1.2.
        let order = order(FileService::Zipf(1.2, 1), &[10_000; 8], 0);
        let first = order[..10_000].iter().filter(|file| **file == 0).count();
        assert!((4000..4800).contains(&first), "{first}");
    }
}
