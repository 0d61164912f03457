//! What may be limiting a result, seen during the measurement: cores, workers, the schedule, errors.

use fleet::probe::{HostSample, core_loads};
use metrics::Interval;

use crate::progress::Limit;

/// Ratio of response time to service time above which operations count as waiting.
const WAITING: f64 = 1.5;

/// Possible limits after an interval, tightest first; `sample` is the host's latest.
pub fn look(sample: Option<&HostSample>, interval: &Interval, lanes: u64) -> Vec<Limit> {
    let mut limits = sample.map_or_else(Vec::new, of_host);
    limits.extend(of_operations(interval, lanes));
    limits.sort_by(|a, b| b.share.total_cmp(&a.share));
    limits
}

/// Limits seen in the host's processors.
fn of_host(sample: &HostSample) -> Vec<Limit> {
    let mut limits = Vec::new();
    if let Some(share) = sample.workers.iter().map(|worker| f64::from(worker.ran)).reduce(f64::max) {
        let text = format!("{:.0} % of its core", share * 100.0);
        limits.push(Limit { name: "busiest worker".into(), share, text });
    }
    let cores = core_loads([sample]);
    if let Some(core) = cores.iter().max_by(|a, b| a.busy.total_cmp(&b.busy)) {
        let text = format!("number {}, {:.0} % busy", core.core, core.busy * 100.0);
        limits.push(Limit { name: "busiest core".into(), share: core.busy, text });
        let steal = cores.iter().map(|core| core.steal).fold(0.0, f64::max);
        if steal > 0.01 {
            let text = format!("{:.0} % of a core went to other machines", steal * 100.0);
            limits.push(Limit { name: "steal".into(), share: steal, text });
        }
    }
    limits
}

/// Limits seen in the operations themselves.
fn of_operations(interval: &Interval, lanes: u64) -> Vec<Limit> {
    let all = interval.all_ops();
    let mut limits = Vec::new();
    let ended = all.ok + all.failed();
    if all.failed() > 0 {
        let share = all.failed() as f64 / ended as f64;
        let text = format!("{} in the last interval", all.failed());
        limits.push(Limit { name: "errors".into(), share, text });
    }
    // Little's law: the mean number of operations in service is their rate times their service time.
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

#[cfg(test)]
mod tests {
    use fleet::probe::{CoreSample, WorkerSample};
    use metrics::OpKind;

    use super::*;
    use crate::test_support::interval;

    #[test]
    fn the_tightest_comes_first() {
        let core = |core, idle, steal| CoreSample { core, idle, steal, ..CoreSample::default() };
        let sample = HostSample {
            length_ns: 1_000_000_000,
            workers: vec![
                WorkerSample { worker: 0, ran: 0.5, waited: 0.0 },
                WorkerSample { worker: 1, ran: 0.9, waited: 0.0 },
            ],
            cores: vec![core(0, 0.4, 0.0), core(7, 0.25, 0.125)],
            ..HostSample::default()
        };
        let limits = look(Some(&sample), &Interval::default(), 4);
        let seen: Vec<(&str, &str)> = limits.iter().map(|limit| (&*limit.name, &*limit.text)).collect();
        assert_eq!(
            seen,
            [
                ("busiest worker", "90 % of its core"),
                ("busiest core", "number 7, 75 % busy"),
                ("steal", "12 % of a core went to other machines"),
            ]
        );
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
