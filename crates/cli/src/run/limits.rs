//! What may be holding a result back, seen while it is measured: cores, workers, the schedule, errors.

use std::collections::BTreeMap;
use std::path::Path;

use metrics::Interval;
use reactor::clock;

use crate::client::CpuWatch;
use crate::live::model::Limit;

/// How far the response time may be from the service time before operations are said to wait.
const WAITING: f64 = 1.5;

/// Watches the client during a measurement.
pub struct Watch {
    cores: CpuWatch,
    workers: Workers,
    /// When the last interval was seen, on the reactors' clock.
    last_ns: u64,
}

impl Watch {
    /// Begins to watch.
    pub fn start() -> Self {
        Self { cores: CpuWatch::start(), workers: Workers::default(), last_ns: clock::now_ns() }
    }

    /// The cores over a span of the reactors' clock.
    pub fn cores(&self) -> &CpuWatch {
        &self.cores
    }

    /// What there is to see after an interval, the tightest first.
    pub fn look(&mut self, interval: &Interval, lanes: u64) -> Vec<Limit> {
        let now = clock::now_ns();
        let elapsed = now.saturating_sub(self.last_ns);
        let mut limits = Vec::new();
        if let Some(share) = self.workers.busiest(Path::new("/proc/self/task"), elapsed) {
            let text = format!("{:.0} % of its core", share * 100.0);
            limits.push(Limit { name: "busiest worker".into(), share, text });
        }
        let cores = self.cores.between(self.last_ns, now);
        if let Some(core) = cores.iter().max_by(|a, b| a.busy.total_cmp(&b.busy)) {
            let text = format!("number {}, {:.0} % busy", core.core, core.busy * 100.0);
            limits.push(Limit { name: "busiest core".into(), share: core.busy, text });
            let steal = cores.iter().map(|core| core.steal).fold(0.0, f64::max);
            if steal > 0.01 {
                let text = format!("{:.0} % of a core went to other machines", steal * 100.0);
                limits.push(Limit { name: "steal".into(), share: steal, text });
            }
        }
        limits.extend(of_operations(interval, lanes));
        self.last_ns = now;
        limits.sort_by(|a, b| b.share.total_cmp(&a.share));
        limits
    }
}

/// What the operations themselves tell.
fn of_operations(interval: &Interval, lanes: u64) -> Vec<Limit> {
    let Some(all) = crate::run::figures::together(interval) else { return Vec::new() };
    let mut limits = Vec::new();
    let ended = all.ok + all.failed();
    if all.failed() > 0 {
        let share = all.failed() as f64 / ended as f64;
        let text = format!("{} in the last interval", all.failed());
        limits.push(Limit { name: "errors".into(), share, text });
    }
    // Little's law: the mean number of operations in service is their rate times their time.
    let seconds = interval.length_ns as f64 / 1e9;
    if seconds > 0.0 && lanes > 0 && all.ok > 0 {
        let busy = all.ok as f64 / seconds * all.service.mean_ns() / 1e9;
        let text = format!("{busy:.1} of {lanes} in use");
        limits.push(Limit { name: "lanes".into(), share: (busy / lanes as f64).min(1.0), text });
    }
    if all.response.is_some() {
        let (service, response) = (all.service.quantile_ns(0.99), all.response().quantile_ns(0.99));
        if service > 0 && response as f64 > service as f64 * WAITING {
            let text = format!("operations wait: p99 {} of it", units::latency(response - service));
            limits.push(Limit { name: "backlog".into(), share: 1.0, text });
        }
    }
    limits
}

/// Processor time of the workers' threads, from `/proc/self/task/*/schedstat` (proc(5)).
#[derive(Debug, Default)]
struct Workers {
    ran_ns: BTreeMap<String, u64>,
}

impl Workers {
    /// The largest share of its core that a worker used since the last look.
    fn busiest(&mut self, tasks: &Path, elapsed_ns: u64) -> Option<f64> {
        let mut busiest: Option<f64> = None;
        let mut seen = BTreeMap::new();
        for task in std::fs::read_dir(tasks).ok()?.filter_map(Result::ok) {
            let read = |file: &str| std::fs::read_to_string(task.path().join(file)).ok();
            if !read("comm").is_some_and(|name| name.starts_with("worker-")) {
                continue;
            }
            let ran = read("schedstat").and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
            let Some(ran) = ran else { continue };
            let id = task.file_name().to_string_lossy().into_owned();
            if let Some(before) = self.ran_ns.get(&id)
                && elapsed_ns > 0
            {
                let share = ran.saturating_sub(*before) as f64 / elapsed_ns as f64;
                busiest = Some(busiest.map_or(share, |most| most.max(share)));
            }
            seen.insert(id, ran);
        }
        self.ran_ns = seen;
        busiest
    }
}

#[cfg(test)]
mod tests {
    use metrics::OpKind;

    use super::*;
    use crate::run::figures::tests::interval;

    #[test]
    fn the_busiest_worker_is_found_among_threads() {
        let tasks = tempfile::tempdir().unwrap();
        let set = |id: &str, name: &str, ran: u64| {
            let task = tasks.path().join(id);
            std::fs::create_dir_all(&task).unwrap();
            std::fs::write(task.join("comm"), format!("{name}\n")).unwrap();
            std::fs::write(task.join("schedstat"), format!("{ran} 5 6\n")).unwrap();
        };
        let mut workers = Workers::default();
        set("10", "worker-0", 1000);
        set("11", "worker-1", 1000);
        set("12", "screen", 1000);
        assert_eq!(workers.busiest(tasks.path(), 100), None, "nothing to compare with");
        set("10", "worker-0", 1050);
        set("11", "worker-1", 1090);
        set("12", "screen", 1100);
        assert_eq!(workers.busiest(tasks.path(), 100), Some(0.9));
    }

    #[test]
    fn lanes_and_errors_are_told() {
        // 1000 operations of 1 ms in a second: one lane's worth.
        let mut seen = interval(0, &[(OpKind::Read, 1000, 4096, 1_000_000)]);
        seen.op_mut(OpKind::Read).errors[0] = 250;
        let limits = of_operations(&seen, 4);
        let lanes = limits.iter().find(|limit| limit.name == "lanes").unwrap();
        assert!((lanes.share - 0.25).abs() < 0.01, "{lanes:?}");
        assert!((limits[0].share - 0.2).abs() < 1e-9, "{limits:?}");
        assert!(of_operations(&Interval::default(), 4).is_empty());
    }
}
