//! Summarises a window's samples for the verdict: means over time, weighted by the samples' lengths.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Serialize;
use stats::limit::{AgentsBeside, Card, Core, Disk, Host, ObservedLoad, Path};

use super::sample::{CoreSample, HostSample, PathSample};

/// A host over the window of these samples, with its part of the load.
pub fn host<'a>(name: &str, samples: impl IntoIterator<Item = &'a HostSample>, load: ObservedLoad) -> Host {
    let samples: Vec<&HostSample> = samples.into_iter().filter(|sample| sample.length_ns > 0).collect();
    let means = Means { length: samples.iter().map(|sample| sample.length_ns as f64).sum() };
    let of = |value: &dyn Fn(&HostSample) -> f64| means.of(&samples, value);
    let cores = cores(&samples, &means);
    let most = |key: fn(&(Core, f64)) -> f64| {
        cores.iter().max_by(|a, b| key(a).total_cmp(&key(b))).map_or(Core::default(), |(core, _)| *core)
    };
    let workers = workers(&samples, &means);
    let waiting = workers.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0.0, 0.0));
    Host {
        name: name.to_owned(),
        load,
        samples: samples.len() as u32,
        cores: samples.last().map_or(0.0, |sample| f64::from(sample.allowed_cores)),
        busiest_core: most(|(core, _)| core.busy),
        softirq_core: most(|(core, _)| core.softirq),
        busy: mean(cores.iter().map(|(core, _)| core.busy)),
        steal: cores.iter().map(|(_, steal)| *steal).fold(0.0, f64::max),
        own_cores: of(&|sample| sample.own_cores.into()),
        workers: workers.len() as u32,
        ran: workers.iter().map(|(ran, _)| *ran).fold(0.0, f64::max),
        waited: waiting.1,
        ran_while_waiting: waiting.0,
        quota_cores: samples.iter().rev().find_map(|sample| Some(f64::from(sample.quota?.cores?))),
        throttled_periods: of(&|sample| sample.quota.map_or(0.0, |quota| quota.throttled_periods.into())),
        memory_full: of(&|sample| {
            let full =
                |pressure: Option<super::Pressure>| pressure.map_or(0.0, |all| f64::from(all.memory_full));
            full(sample.pressure).max(full(sample.own_pressure))
        }),
        memory_stalls_per_s: of(&|sample| sample.memory.stalls_per_s.into()),
        softnet_dropped: samples.iter().map(|sample| sample.softnet.dropped).sum(),
        cards: cards(&samples, &means),
        paths: paths(&samples, &means),
        disks: disks(&samples, &means),
        own_disk_read: of(&|sample| sample.own_disks.map_or(0.0, |own| own.read_bytes_per_s as f64)),
        own_disk_written: of(&|sample| sample.own_disks.map_or(0.0, |own| own.written_bytes_per_s as f64)),
        machine: String::new(),
        beside: AgentsBeside::default(),
        ceiling_bytes_per_s: None,
        baseline: None,
        disk_baselines: Vec::new(),
    }
}

/// Means over the window's time: what a sample lacks counts as zero.
struct Means {
    length: f64,
}

impl Means {
    fn of(&self, samples: &[&HostSample], value: &dyn Fn(&HostSample) -> f64) -> f64 {
        let sum: f64 = samples.iter().map(|sample| value(sample) * sample.length_ns as f64).sum();
        if self.length > 0.0 { sum / self.length } else { 0.0 }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    if count > 0.0 { sum / count } else { 0.0 }
}

/// Time use of a core over a window: shares from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CoreLoad {
    /// The kernel's number of the core.
    pub core: u32,
    /// All but idle time, stolen time included.
    pub busy: f64,
    /// Time that the hypervisor gave to others.
    pub steal: f64,
}

/// Every core over the window of these samples, in the kernel's order.
pub fn core_loads<'a>(samples: impl IntoIterator<Item = &'a HostSample>) -> Vec<CoreLoad> {
    let samples: Vec<&HostSample> = samples.into_iter().filter(|sample| sample.length_ns > 0).collect();
    let means = Means { length: samples.iter().map(|sample| sample.length_ns as f64).sum() };
    let share = |value: f64| (value * 1000.0).round() / 1000.0;
    let each = cores(&samples, &means).into_iter();
    each.map(|(core, steal)| CoreLoad { core: core.number, busy: share(core.busy), steal: share(steal) })
        .collect()
}

/// Each core with its stolen share.
fn cores(samples: &[&HostSample], means: &Means) -> Vec<(Core, f64)> {
    let numbers: std::collections::BTreeSet<u32> =
        samples.iter().flat_map(|sample| sample.cores.iter().map(|core| core.core)).collect();
    let each = numbers.into_iter().map(|number| {
        let of = |value: fn(&CoreSample) -> f32| {
            means.of(samples, &|sample| {
                sample.cores.iter().find(|core| core.core == number).map_or(0.0, |core| value(core).into())
            })
        };
        let core = Core { number, busy: of(CoreSample::busy), softirq: of(|core| core.softirq) };
        (core, of(|core| core.steal))
    });
    each.collect()
}

/// Shares of time that each worker ran and waited, over the samples that contain it.
fn workers(samples: &[&HostSample], means: &Means) -> Vec<(f64, f64)> {
    let mut sums: BTreeMap<u32, (f64, f64, f64)> = BTreeMap::new();
    for sample in samples {
        for worker in &sample.workers {
            let length = sample.length_ns as f64;
            let sum = sums.entry(worker.worker).or_default();
            sum.0 += f64::from(worker.ran) * length;
            sum.1 += f64::from(worker.waited) * length;
            sum.2 += length;
        }
    }
    // A worker that existed only briefly says nothing.
    let enough = means.length * 0.2;
    sums.into_values().filter(|sum| sum.2 >= enough).map(|sum| (sum.0 / sum.2, sum.1 / sum.2)).collect()
}

fn cards(samples: &[&HostSample], means: &Means) -> Vec<Card> {
    let mut cards: BTreeMap<&str, (Card, f64, f64)> = BTreeMap::new();
    for sample in samples {
        let weight = sample.length_ns as f64 / means.length;
        for nic in &sample.nics {
            let (card, received, sent) = cards.entry(&nic.name).or_default();
            card.name.clone_from(&nic.name);
            card.speed = nic.speed_mbit.map(|mbit| mbit as f64 * 1e6 / 8.0);
            card.packets_per_s += (nic.received_packets_per_s + nic.sent_packets_per_s) as f64 * weight;
            card.dropped += nic.dropped;
            card.loopback = nic.loopback;
            *received += nic.received_bytes_per_s as f64 * weight;
            *sent += nic.sent_bytes_per_s as f64 * weight;
        }
    }
    cards
        .into_values()
        .map(|(card, received, sent)| Card { bytes_per_s: received.max(sent), received, sent, ..card })
        .collect()
}

/// What is summed for a path besides its means.
#[derive(Default)]
struct Counts {
    sent: u64,
    resent: u64,
    received: u64,
    out_of_order: u64,
    echoes: u64,
    echoes_lost: u64,
    /// The fastest echo of each sample.
    echoes_us: Vec<u32>,
}

fn paths(samples: &[&HostSample], means: &Means) -> Vec<Path> {
    let mut paths: BTreeMap<(IpAddr, IpAddr), (Path, Counts)> = BTreeMap::new();
    for sample in samples {
        for seen in &sample.paths {
            let (path, counts) = paths.entry((seen.local, seen.remote)).or_default();
            add(path, counts, seen, sample.length_ns as f64 / means.length);
        }
    }
    let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    let each = paths.into_iter().map(|((local, remote), (path, counts))| Path {
        name: remote.to_string(),
        own: local.to_string(),
        resent: share(counts.resent, counts.sent),
        out_of_order: share(counts.out_of_order, counts.received),
        segments: counts.sent + counts.received,
        echoes_lost: share(counts.echoes_lost, counts.echoes),
        echo_s: median(counts.echoes_us).map(|us| f64::from(us) / 1e6),
        ..path
    });
    each.collect()
}

fn add(path: &mut Path, counts: &mut Counts, seen: &PathSample, weight: f64) {
    path.connections = path.connections.max(f64::from(seen.connections));
    path.sent += seen.sent_bytes_per_s as f64 * weight;
    path.received += seen.received_bytes_per_s as f64 * weight;
    path.busy += f64::from(seen.busy) * weight;
    path.window_limited += f64::from(seen.window_limited) * weight;
    path.buffer_limited += f64::from(seen.buffer_limited) * weight;
    path.rtt_s += f64::from(seen.rtt_us) / 1e6 * weight;
    path.unread += f64::from(seen.unread_bytes) * weight;
    path.path_limited += f64::from(seen.path_limited) * weight;
    if let Some(card) = &seen.card {
        path.card.clone_from(card);
    }
    let least = f64::from(seen.min_rtt_us) / 1e6;
    if least > 0.0 && (path.least_rtt_s == 0.0 || least < path.least_rtt_s) {
        path.least_rtt_s = least;
    }
    if seen.mss_bytes > 0 && (path.mss_bytes == 0 || seen.mss_bytes < path.mss_bytes) {
        path.mss_bytes = seen.mss_bytes;
    }
    path.peer_window = path.peer_window.max(seen.peer_window_bytes.into());
    path.own_window = path.own_window.max(seen.own_window_bytes.into());
    counts.sent += seen.segments_sent;
    counts.resent += seen.retransmits;
    counts.received += seen.segments_received;
    counts.out_of_order += seen.out_of_order;
    counts.echoes += u64::from(seen.echoes);
    counts.echoes_lost += u64::from(seen.echoes_lost);
    counts.echoes_us.extend(seen.echo_us);
}

fn median(mut values: Vec<u32>) -> Option<u32> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

fn disks(samples: &[&HostSample], means: &Means) -> Vec<Disk> {
    let mut disks: BTreeMap<&str, Disk> = BTreeMap::new();
    for sample in samples {
        let weight = sample.length_ns as f64 / means.length;
        for seen in &sample.disks {
            let disk = disks.entry(&seen.name).or_default();
            disk.name.clone_from(&seen.name);
            disk.bytes_per_s += (seen.read_bytes_per_s + seen.written_bytes_per_s) as f64 * weight;
            disk.requests_per_s += f64::from(seen.requests_per_s) * weight;
            disk.busy += f64::from(seen.busy) * weight;
            disk.queue += f64::from(seen.queue) * weight;
            disk.read_bytes_per_s += seen.read_bytes_per_s as f64 * weight;
            disk.written_bytes_per_s += seen.written_bytes_per_s as f64 * weight;
            disk.reads_per_s += f64::from(seen.reads_per_s) * weight;
            disk.writes_per_s += f64::from(seen.writes_per_s) * weight;
            disk.quota = seen.quota;
        }
    }
    disks.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::super::{NicSample, WorkerSample};
    use super::*;

    fn sample(length_s: u64, busy: f32, ran: f32, echo_us: Option<u32>) -> HostSample {
        let path = PathSample {
            local: [10, 0, 0, 1].into(),
            remote: [10, 0, 0, 2].into(),
            connections: 4,
            sent_bytes_per_s: 100,
            received_bytes_per_s: 1000,
            busy,
            window_limited: 0.0,
            buffer_limited: 0.0,
            retransmits: 1,
            segments_sent: 100,
            out_of_order: 0,
            segments_received: 900,
            rtt_us: 500,
            min_rtt_us: if length_s == 1 { 80 } else { 60 },
            echo_us,
            echoes: 5,
            echoes_lost: 1,
            card: Some("e0".into()),
            path_limited: busy,
            mss_bytes: 1448,
            peer_window_bytes: 10,
            own_window_bytes: 20,
            unread_bytes: 0,
        };
        HostSample {
            length_ns: length_s * 1_000_000_000,
            cores: vec![CoreSample { core: 3, idle: 1.0 - busy, softirq: 0.1, ..CoreSample::default() }],
            allowed_cores: 2,
            workers: vec![WorkerSample { worker: 0, ran, waited: 0.1 }],
            nics: vec![NicSample {
                name: "e0".into(),
                sent_bytes_per_s: 10,
                received_bytes_per_s: 2000,
                speed_mbit: Some(8),
                ..NicSample::default()
            }],
            paths: vec![path],
            ..HostSample::default()
        }
    }

    #[test]
    fn means_are_weighted_by_time() {
        let samples = [sample(1, 0.2, 0.4, Some(1000)), sample(3, 0.6, 0.8, None)];
        let host = host("one", &samples, ObservedLoad::default());
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} and {b}");
        assert_eq!((host.samples, host.workers, host.busiest_core.number), (2, 1, 3));
        near(host.busy, 0.5);
        near(host.ran, 0.7);
        near(host.waited, 0.1);
        assert_eq!(host.cards[0].speed, Some(1e6));
        near(host.cards[0].bytes_per_s, 2000.0);
        let path = &host.paths[0];
        near(path.resent, 0.01);
        near(path.least_rtt_s, 60e-6);
        near(path.echo_s.unwrap(), 1e-3);
        near(path.echoes_lost, 0.2);
        near(path.received, 1000.0);
        near(path.path_limited, 0.5);
        assert_eq!(path.card, "e0");
        near(host.cards[0].sent, 10.0);
        assert_eq!(core_loads(&samples), [CoreLoad { core: 3, busy: 0.5, steal: 0.0 }]);
    }

    #[test]
    fn samples_of_earlier_versions_are_read() {
        let mut older = serde_json::to_value(sample(1, 0.2, 0.4, None)).unwrap();
        for field in ["card", "path_limited"] {
            older["paths"][0].as_object_mut().unwrap().remove(field);
        }
        older.as_object_mut().unwrap().remove("own_disks");
        older["disks"] = serde_json::json!([{"name": "vda", "busy": 0.5, "limited": true}]);
        let older: HostSample = serde_json::from_value(older).unwrap();
        let host = host("one", &[older], ObservedLoad::default());
        assert_eq!((host.disks[0].busy, host.paths[0].path_limited), (0.5, 0.0));
        assert_eq!(host.disks[0].quota, stats::limit::DiskQuota::default());
    }

    #[test]
    fn without_samples_nothing_is_known() {
        let host = host("one", &[], ObservedLoad::default());
        assert_eq!((host.samples, host.busy, host.paths.len()), (0, 0.0, 0));
    }
}
