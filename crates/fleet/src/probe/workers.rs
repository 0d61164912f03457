//! Worker threads: how long each ran and waited for a core (`/proc/self/task/*/schedstat`, proc(5)).

use std::collections::BTreeMap;

use reactor::live::WorkerThread;

use super::sample::WorkerSample;
use super::source::{Source, share};

/// State of the workers at the last sample: nanoseconds run and waited, by thread.
#[derive(Debug, Default)]
pub(super) struct Workers {
    before: BTreeMap<u32, [u64; 2]>,
}

impl Workers {
    /// Activity of each worker since the last sample.
    pub(super) fn look(
        &mut self,
        source: &Source,
        threads: &[WorkerThread],
        length_ns: u64,
    ) -> Vec<WorkerSample> {
        let mut now = BTreeMap::new();
        let mut samples = Vec::new();
        for WorkerThread { thread, worker } in threads.iter().copied() {
            let Some(counts) = counts(source, thread) else { continue };
            if let Some(before) = self.before.get(&thread) {
                let of = |at: usize| share(counts[at].saturating_sub(before[at]) as f64, length_ns as f64);
                samples.push(WorkerSample { worker, ran: of(0), waited: of(1) });
            }
            now.insert(thread, counts);
        }
        self.before = now;
        samples.sort_by_key(|sample| sample.worker);
        samples
    }
}

fn counts(source: &Source, thread: u32) -> Option<[u64; 2]> {
    let text = source.text(&format!("proc/self/task/{thread}/schedstat"))?;
    let mut fields = text.split_ascii_whitespace().map(|field| field.parse().ok());
    Some([fields.next()??, fields.next()??])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_told_from_their_second_look_on() {
        let root = tempfile::tempdir().unwrap();
        let source = Source::below(root.path());
        let set = |thread: &str, ran: u64, waited: u64| {
            let task = root.path().join("proc/self/task").join(thread);
            std::fs::create_dir_all(&task).unwrap();
            std::fs::write(task.join("schedstat"), format!("{ran} {waited} 6\n")).unwrap();
        };
        let of = |thread, worker| WorkerThread { thread, worker };
        let mut workers = Workers::default();
        set("11", 1000, 0);
        assert!(workers.look(&source, &[of(11, 1)], 1000).is_empty(), "nothing to compare with");
        set("11", 1900, 50);
        set("9", 5, 5);
        let seen = workers.look(&source, &[of(9, 0), of(11, 1)], 1000);
        assert_eq!(seen, [WorkerSample { worker: 1, ran: 0.9, waited: 0.05 }]);
        assert_eq!(workers.look(&source, &[of(9, 0), of(11, 1)], 1000).len(), 2);
        assert_eq!(workers.look(&source, &[of(9, 0), of(77, 2)], 1000).len(), 1, "a thread that is gone");
    }
}
