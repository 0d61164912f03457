//! This process's workers: how long each ran and how long it waited for a core (`/proc/self/task/*/schedstat`, proc(5)).

use std::collections::BTreeMap;

use super::sample::WorkerSample;
use super::source::{Source, share};

/// More threads than this are not looked at.
const MOST_THREADS: usize = 4096;

/// Workers as they were at the look before: number, nanoseconds run and waited, by thread.
#[derive(Debug, Default)]
pub(super) struct Workers {
    before: BTreeMap<String, (u32, [u64; 2])>,
    /// Threads that are no workers. Asked once: workers are named before they run.
    others: Vec<String>,
}

impl Workers {
    /// What each worker did since the look before.
    pub(super) fn look(&mut self, source: &Source, length_ns: u64) -> Vec<WorkerSample> {
        let threads = source.names("proc/self/task", MOST_THREADS);
        self.others.retain(|thread| threads.binary_search(thread).is_ok());
        let mut now = BTreeMap::new();
        let mut samples = Vec::new();
        for thread in threads {
            if self.others.contains(&thread) {
                continue;
            }
            let before = self.before.get(&thread).copied();
            let Some(worker) = before.map(|(worker, _)| worker).or_else(|| number(source, &thread)) else {
                self.others.push(thread);
                continue;
            };
            let Some(counts) = counts(source, &thread) else { continue };
            if let Some((_, before)) = before {
                let of = |at: usize| share(counts[at].saturating_sub(before[at]) as f64, length_ns as f64);
                samples.push(WorkerSample { worker, ran: of(0), waited: of(1) });
            }
            now.insert(thread, (worker, counts));
        }
        self.before = now;
        samples.sort_by_key(|sample| sample.worker);
        samples
    }
}

fn number(source: &Source, thread: &str) -> Option<u32> {
    source.text(&format!("proc/self/task/{thread}/comm"))?.trim().strip_prefix("worker-")?.parse().ok()
}

fn counts(source: &Source, thread: &str) -> Option<[u64; 2]> {
    let text = source.text(&format!("proc/self/task/{thread}/schedstat"))?;
    let mut fields = text.split_ascii_whitespace().map(|field| field.parse().ok());
    Some([fields.next()??, fields.next()??])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_told_and_other_threads_are_not() {
        let root = tempfile::tempdir().unwrap();
        let source = Source::below(root.path());
        let set = |thread: &str, name: &str, ran: u64, waited: u64| {
            let task = root.path().join("proc/self/task").join(thread);
            std::fs::create_dir_all(&task).unwrap();
            std::fs::write(task.join("comm"), format!("{name}\n")).unwrap();
            std::fs::write(task.join("schedstat"), format!("{ran} {waited} 6\n")).unwrap();
        };
        let mut workers = Workers::default();
        set("11", "worker-1", 1000, 0);
        set("12", "screen", 1000, 0);
        assert!(workers.look(&source, 1000).is_empty(), "nothing to compare with");
        set("11", "worker-1", 1900, 50);
        set("9", "worker-0", 5, 5);
        let seen = workers.look(&source, 1000);
        assert_eq!(seen, [WorkerSample { worker: 1, ran: 0.9, waited: 0.05 }]);
        assert_eq!(workers.look(&source, 1000).len(), 2);
    }
}
