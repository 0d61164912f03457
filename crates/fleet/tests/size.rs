//! A thousand light agents with one coordinator: everything arrives, merging keeps up, and memory use is bounded.
#![allow(clippy::unwrap_used)]

mod support;

use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use engine::{Control, StageResult};
use fleet::{HostGroupSettings, StageUpdate};
use metrics::{Histogram, Interval, OpKind};
use serde_json::json;
use support::*;

const AGENTS: usize = 1000;
const INTERVALS: u32 = 5;
/// Agents per thread of the process that simulates them.
const EACH: usize = 50;

/// The counts of agent `number` in an interval: latencies of about 100 µs to 1 ms, different each time.
fn interval(number: usize, index: u32) -> Interval {
    let (start_ns, length_ns) = (u64::from(index) * 200_000_000, 200_000_000);
    let mut interval = Interval { index, start_ns, length_ns, ..Interval::default() };
    let stats = interval.op_mut(OpKind::Read);
    let mut random = fastrand::Rng::with_seed((number as u64) << 32 | u64::from(index));
    for _ in 0..200 {
        stats.ok += 1;
        stats.bytes += 4096;
        stats.service.record(random.u64(100_000..1_000_000));
    }
    interval
}

/// Simulates [`EACH`] agents in one thread: everything arrives in one order, so they can be served one after another.
fn play(path: &std::path::Path, first: usize) {
    let mut agents: Vec<(usize, Liar)> = (first..first + EACH)
        .map(|number| {
            let socket = UnixStream::connect(path).unwrap();
            let mut agent = Liar::new((socket.try_clone().unwrap().into(), socket.into()));
            agent.say_bytes(&(number as u32).to_le_bytes());
            agent.say(&json!({ "Hello": fleet::Hello::own(Vec::new()) }));
            (number, agent)
        })
        .collect();
    let mut ids = Vec::new();
    for (_, agent) in &mut agents {
        let id = agent.until("Stage").unwrap()["id"].clone();
        agent.say(&json!({ "Ready": { "id": id } }));
        ids.push(id);
    }
    let mut starts = Vec::new();
    for (_, agent) in &mut agents {
        starts.push(agent.until("Go").unwrap()["start_ns"].as_u64().unwrap());
    }
    for index in 0..INTERVALS {
        std::thread::sleep(Duration::from_millis(200));
        for ((number, agent), id) in agents.iter_mut().zip(&ids) {
            agent.say(&json!({ "Interval": { "id": id, "interval": interval(*number, index) } }));
        }
    }
    for (((number, agent), id), started_ns) in agents.iter_mut().zip(&ids).zip(starts) {
        let mut total = Interval::default();
        (0..INTERVALS).for_each(|index| total.merge(&interval(*number, index)));
        total.length_ns = u64::from(INTERVALS) * 200_000_000;
        let result = StageResult { started_ns, ..StageResult::of_intervals(total) };
        agent.say(&json!({ "Finished": { "id": id, "outcome": { "Ok": result } } }));
    }
    for (_, agent) in &mut agents {
        // The fleet ends.
        agent.until("End");
    }
}

/// The process that simulates all agents: this very program, which was told where to find the coordinator.
#[test]
fn agents_of_another_process() {
    let Some(path) = std::env::var_os("FLEET_TEST_SOCKET") else { return };
    let path = std::path::PathBuf::from(path);
    allow_files();
    std::thread::scope(|scope| {
        let path = &path;
        (0..AGENTS).step_by(EACH).for_each(|first| drop(scope.spawn(move || play(path, first))));
    });
}

/// Allows two descriptors per agent.
fn allow_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
}

/// Resident private memory of this process, in KiB.
fn resident_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: Vec<u64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    (pages[1] - pages[2]) * rustix::param::page_size() as u64 / 1024
}

#[test]
fn a_thousand_agents() {
    allow_files();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("leader");
    let listener = UnixListener::bind(&path).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["agents_of_another_process", "--exact"])
        .env("FLEET_TEST_SOCKET", &path)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut sockets: Vec<Option<UnixStream>> = (0..AGENTS).map(|_| None).collect();
    for _ in 0..AGENTS {
        let (mut socket, _) = listener.accept().unwrap();
        let mut number = [0; 4];
        std::io::Read::read_exact(&mut socket, &mut number).unwrap();
        sockets[u32::from_le_bytes(number) as usize] = Some(socket);
    }
    let before_kib = resident_kib();
    let ends = sockets.into_iter().enumerate().map(|(number, socket)| {
        let socket = socket.unwrap();
        ends(&format!("n{number}"), (socket.try_clone().unwrap().into(), socket.into()))
    });
    let events = Events::default();
    let settings = HostGroupSettings {
        heartbeat: Duration::from_secs(2),
        ..HostGroupSettings::with_silence(Duration::from_secs(120))
    };
    let host_group = host_group(ends.collect(), settings, &events);
    let (mut wholes, mut parts, mut most_kib) = (Vec::new(), vec![0u32; AGENTS], 0);
    let mut observer = |seen: StageUpdate<'_>| match seen {
        StageUpdate::Whole(interval) => {
            wholes.push((interval.index, interval.ok()));
            most_kib = most_kib.max(resident_kib());
        }
        StageUpdate::Part { member, .. } => parts[member] += 1,
        StageUpdate::Sample { .. } => {}
    };
    let order = orders(&host_group, &measure(1.0));
    let result = host_group.run_stage(order, nothing_beside(), &Control::new(), &mut observer).unwrap();
    let held_kib = resident_kib();
    most_kib = most_kib.max(held_kib);
    assert_eq!(events.lost(), []);
    assert!(parts.iter().all(|count| *count == INTERVALS), "every part arrives");
    let each = 200 * AGENTS as u64;
    assert_eq!(wholes, (0..INTERVALS).map(|index| (index, each)).collect::<Vec<_>>());
    // A single histogram of everything gives the same result, to the last bit.
    let mut single = Histogram::new();
    for number in 0..AGENTS {
        (0..INTERVALS)
            .for_each(|index| single.merge(&interval(number, index).op(OpKind::Read).unwrap().service));
    }
    assert_eq!(result.whole.total.op(OpKind::Read).unwrap().service, single);
    assert_eq!((result.parts.len(), result.whole.total.ok()), (AGENTS, each * u64::from(INTERVALS)));
    let each_kib = |kib: u64| kib.saturating_sub(before_kib) / AGENTS as u64;
    println!(
        "{} KiB for each agent with all results held, {} KiB at most; skew {} µs ± {} µs",
        each_kib(held_kib),
        each_kib(most_kib),
        result.start_skew_ns / 1000,
        result.skew_uncertainty_ns / 1000
    );
    assert!(each_kib(most_kib) <= 160, "{} KiB for each agent", each_kib(most_kib));
    host_group.end();
    assert!(child.wait().unwrap().success());
}
