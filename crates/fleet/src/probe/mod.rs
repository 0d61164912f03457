//! What a host does under load: cores, NICs, connections, disks, and pressure on them.
//!
//! Everything comes from /proc, /sys, the process's own sockets and a few echoes per second to the other end, all of
//! which any user may read and send; missing sources are skipped. A sample costs less than a millisecond of one core on
//! a host of usual size (it reports its own cost), and is bounded however large the host is. `docs/verdict.md` lists
//! what is read.

mod cards;
mod cores;
mod disks;
mod echo;
mod paths;
mod quota;
mod sample;
mod source;
mod window;
mod workers;

use reactor::live::{self, Scope};
use rustix::time::{ClockId, clock_gettime};

pub use sample::{
    CoreSample, DiskSample, HostSample, Memory, NicSample, OwnDisks, PathSample, Pressure, Quota, Softnet,
    WorkerSample,
};

pub use cards::{CardFacts, card_of};
pub use window::{CoreLoad, core_loads, host};

use source::{Source, thousandth};

/// Takes successive samples: each reports what happened since the previous one.
#[derive(Debug)]
pub struct Prober {
    source: Source,
    /// The run whose connections and workers are sampled.
    scope: Option<Scope>,
    last_ns: u64,
    own_cpu_ns: u64,
    groups: quota::Groups,
    cores: cores::Cores,
    waiting: cores::Waiting,
    own_waiting: cores::Waiting,
    memory: cores::MemoryLook,
    softnet: cards::SoftnetLook,
    cards: cards::Cards,
    paths: paths::Paths,
    echoes: echo::Echoes,
    disks: disks::Disks,
    own_disks: disks::OwnDisksLook,
    workers: workers::Workers,
}

impl Prober {
    /// Takes the initial readings; connections and workers are those of a run, or with `None` all of this process.
    pub fn new(scope: Option<Scope>) -> Self {
        Self::of(Source::host(), scope)
    }

    fn of(source: Source, scope: Option<Scope>) -> Self {
        let mut prober = Prober {
            groups: quota::Groups::find(&source),
            source,
            scope,
            last_ns: reactor::clock::now_ns(),
            own_cpu_ns: 0,
            cores: cores::Cores::default(),
            waiting: cores::Waiting::default(),
            own_waiting: cores::Waiting::default(),
            memory: cores::MemoryLook::default(),
            softnet: cards::SoftnetLook::default(),
            cards: cards::Cards::default(),
            paths: paths::Paths::default(),
            echoes: echo::Echoes::default(),
            disks: disks::Disks::default(),
            own_disks: disks::OwnDisksLook::default(),
            workers: workers::Workers::default(),
        };
        prober.sample();
        prober
    }

    /// What happened since the last sample. Reads files: not for a worker's thread.
    pub fn sample(&mut self) -> HostSample {
        let began_ns = cpu_ns(ClockId::ThreadCPUTime);
        let at_ns = reactor::clock::now_ns();
        let length_ns = at_ns.saturating_sub(self.last_ns);
        self.last_ns = at_ns;
        let source = &self.source;
        let own_files = self.groups.pressure_files();
        let own_pressure = own_files
            .and_then(|files| self.own_waiting.look(source, [&files[0], &files[1], &files[2]], length_ns));
        let mut paths = self.paths.look(self.scope, length_ns);
        let ends: Vec<_> = paths.iter().map(|path| (path.local, path.remote)).collect();
        let mut late_ns = 0;
        if !ends.is_empty() {
            let (echoed, late) = self.echoes.look(&ends);
            paths::put_echoes(&mut paths, &echoed);
            late_ns = late;
        }
        let own_cpu_ns = cpu_ns(ClockId::ProcessCPUTime);
        let own_ns = own_cpu_ns.saturating_sub(self.own_cpu_ns);
        self.own_cpu_ns = own_cpu_ns;
        let mut sample = HostSample {
            at_ns,
            length_ns,
            late_ns,
            cores: self.cores.look(source),
            allowed_cores: rustix::thread::sched_getaffinity(None).map_or(0, |set| set.count()),
            pressure: self.waiting.look(source, PRESSURE, length_ns),
            own_pressure,
            quota: self.groups.look(source, length_ns),
            memory: self.memory.look(source, length_ns),
            softnet: self.softnet.look(source, length_ns),
            nics: self.cards.look(source, length_ns),
            paths,
            disks: self.disks.look(source, &self.groups.disk_quotas(source), length_ns),
            own_disks: self.own_disks.look(source, length_ns),
            workers: self.workers.look(source, &live::workers(self.scope), length_ns),
            own_cores: if length_ns > 0 { thousandth(own_ns as f64 / length_ns as f64) } else { 0.0 },
            cost_ns: 0,
        };
        sample.cost_ns = cpu_ns(ClockId::ThreadCPUTime).saturating_sub(began_ns);
        sample
    }
}

/// Pressure files of the whole host.
const PRESSURE: [&str; 3] = ["proc/pressure/cpu", "proc/pressure/memory", "proc/pressure/io"];

fn cpu_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_without_any_file_gives_an_empty_sample() {
        let root = tempfile::tempdir().unwrap();
        let mut prober = Prober::of(Source::below(root.path()), None);
        let sample = prober.sample();
        assert!(sample.cores.is_empty() && sample.nics.is_empty() && sample.workers.is_empty());
        assert_eq!((sample.pressure, sample.quota), (None, None));
    }

    #[test]
    fn this_host_gives_one_that_survives_a_pipe() {
        let mut prober = Prober::new(None);
        let began_ns = reactor::clock::now_ns();
        let mut sample = prober.sample();
        while sample.cores.is_empty() {
            std::thread::sleep(std::time::Duration::from_millis(30));
            sample = prober.sample();
            assert!(reactor::clock::now_ns() - began_ns < 60_000_000_000, "no clock tick in a minute");
        }
        for core in &sample.cores {
            assert!((0.0..=1.0).contains(&core.busy()), "{core:?}");
        }
        assert!(sample.allowed_cores > 0 && sample.memory.available_bytes > 0);
        let text = serde_json::to_string(&sample).unwrap();
        assert_eq!(serde_json::from_str::<HostSample>(&text).unwrap(), sample);
    }
}
