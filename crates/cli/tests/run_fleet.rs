//! Runs on several agents on this host, started by the real program: one result, one end, nothing left behind.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod support;

use std::process::Command;

use run_support::{Lab, names};
use rustix::process::{Pid, Signal};
use serde_json::Value;
use store::{CellResult, State};
use support::{Ended, Running, children, run, start, wait_until};

const SIMULATED: &str = "
targets: {t: 'sim:?latency=exponential:1ms&noise=5%'}
workloads: {w: {ops: read, queue_depth: 8, files: 4, file_size: 64MiB, block_size: 4KiB}}
";

/// Long enough to be disturbed.
const LONG: &str = "
targets: {t: 'file://DATA'}
workloads: {w: {ops: {read: 50%, write: 50%}, files: 2, file_size: 1MiB, block_size: 4KiB, verify: true}}
stages: {warm_up: 0s, measure: {at_least: 6s, at_most: 6s}, verify: true}
steady: none
";

fn agents(lab: &Lab, count: &str, more: &[&str]) -> Command {
    let mut command = lab.command();
    command.args(["--local", count]).args(more);
    command
}

fn carry_out(lab: &Lab, text: &str, count: &str, more: &[&str]) -> Ended {
    let file = lab.experiment("fleet.yaml", text);
    run(agents(lab, count, more).arg(file))
}

/// Agents keep their own journals in the default directory.
fn assert_clean(lab: &Lab) {
    lab.assert_clean();
    assert_eq!(journals_of_agents(lab), Vec::<String>::new(), "an agent's journal was left");
}

fn journals_of_agents(lab: &Lab) -> Vec<String> {
    names(&lab.path(".local/state/manometer/journal"))
}

/// Kills one of the agents of a run whose first cell is being measured.
fn kill_an_agent(lab: &Lab, running: &Running) {
    lab.wait_for_intervals(1);
    let agents = children(running.id());
    assert_eq!(agents.len(), 3, "{agents:?}");
    rustix::process::kill_process(agents[1], Signal::KILL).unwrap();
}

#[test]
fn a_fleet_of_one_measures_what_this_process_alone_measures() {
    let lab = Lab::new();
    let (alone, _) = lab.run_json(SIMULATED);
    assert_eq!(alone.code, Some(0), "{alone:#?}");
    let figures = |result: &CellResult| (result.total.clone(), result.ops.clone(), result.steady.clone());
    let here = figures(&lab.results()[0]);
    let fleet = carry_out(&lab, SIMULATED, "1", &[]);
    assert_eq!(fleet.code, Some(0), "{fleet:#?}");
    // The first agent draws as a run on this host alone would.
    assert_eq!(figures(&lab.results()[0]), here);
}

#[test]
fn simulated_fleets_are_exact_and_the_whole_is_the_sum_of_its_hosts() {
    let lab = Lab::new();
    let once = |seed: &str| -> CellResult {
        let ended = carry_out(&lab, &format!("seed: {seed}\n{SIMULATED}"), "3", &[]);
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        lab.results().remove(0)
    };
    let (first, second) = (once("5"), once("5"));
    let parts = |result: &CellResult| {
        result.hosts.iter().map(|host| (host.name.clone(), host.total.clone())).collect::<Vec<_>>()
    };
    assert_eq!((&first.total, parts(&first)), (&second.total, parts(&second)));
    assert_eq!(first.hosts.len(), 3);
    let sum: u64 = first.hosts.iter().map(|host| host.total.ok).sum();
    assert_eq!(sum, first.total.ok);
    let spread = &first.fleet.as_ref().unwrap().spread;
    assert!(spread.iter().all(|one| one.least <= one.mean && one.mean <= one.greatest), "{spread:?}");
    assert_eq!(first.hosts[0].name, "local-0");
    let hosts = lab.store().run("last").unwrap().hosts;
    assert!(hosts.iter().all(|host| host.environment.facts.contains_key("kernel")), "{hosts:#?}");
}

#[test]
fn hosts_share_data_in_every_way() {
    let lab = Lab::new();
    let short = LONG.replace("6s", "1s");
    let read = short.replace("{read: 50%, write: 50%}", "read");
    for (text, sharing) in [(&short, "own"), (&short, "disjoint"), (&read, "common"), (&read, "neighbour")] {
        let ended = carry_out(&lab, text, "3", &["--sharing", sharing]);
        assert_eq!(ended.code, Some(0), "{sharing}: {ended:#?}");
        let result = lab.results().remove(0);
        assert!(result.hosts.iter().all(|host| host.total.ok > 0), "{sharing}: {result:#?}");
        let verified = result.stages.iter().find(|stage| stage.name == "verify").unwrap();
        assert_eq!((verified.failed, verified.bytes), (0, 6 << 20), "{sharing}: {verified:?}");
        assert_clean(&lab);
    }
}

#[test]
fn a_run_goes_on_without_a_killed_agent_and_removes_what_that_made() {
    let lab = Lab::new();
    let file = lab.experiment("fleet.yaml", LONG);
    let running = start(agents(&lab, "3", &[]).arg(&file));
    kill_an_agent(&lab, &running);
    let ended = running.finish();
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(ended.stderr.contains(": lost: "), "{}", ended.stderr);
    let cell = lab.cells().remove(0);
    assert_eq!(cell.state, State::Finished);
    let result = cell.result.unwrap();
    let lost: Vec<_> = result.hosts.iter().filter(|host| host.lost.is_some()).collect();
    assert_eq!((lost.len(), result.hosts.len()), (1, 3), "{:#?}", result.hosts);
    let said = |reason: &String| reason.starts_with(&format!("host {} was lost:", lost[0].name));
    assert!(result.verdict.reasons.iter().any(said), "{:#?}", result.verdict);
    let store = lab.store();
    let events = store.events(&store.run("last").unwrap().id).unwrap();
    assert!(events.iter().any(|event| event.kind == "host-lost"), "{events:#?}");
    assert_clean(&lab);
}

#[test]
fn a_run_stops_or_repeats_the_cell_when_that_is_wanted() {
    let lab = Lab::new();
    let file = lab.experiment("fleet.yaml", LONG);
    let running = start(agents(&lab, "3", &["--on-host-failure", "stop"]).arg(&file));
    kill_an_agent(&lab, &running);
    let ended = running.finish();
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.stderr.contains("a host was lost in cell 1"), "{}", ended.stderr);
    assert_clean(&lab);

    let lab = Lab::new();
    let file = lab.experiment("fleet.yaml", LONG);
    let running = start(agents(&lab, "3", &["--on-host-failure", "repeat-cell"]).arg(&file));
    kill_an_agent(&lab, &running);
    let ended = running.finish();
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let result = lab.results().remove(0);
    let hosts = result.hosts.iter().filter(|host| host.total.ok > 0).count();
    assert_eq!((hosts, result.hosts.len()), (2, 2), "{:#?}", result.hosts);
    assert_clean(&lab);
}

#[test]
fn agents_whose_leader_was_killed_remove_what_they_made() {
    let lab = Lab::new();
    let file = lab.experiment("fleet.yaml", &LONG.replace("6s", "60s"));
    let running = start(agents(&lab, "3", &[]).arg(&file));
    lab.wait_for_intervals(1);
    let agents = children(running.id());
    running.signal(Signal::KILL);
    assert_eq!(running.finish().code, None);
    wait_until("the agents' end", || {
        agents.iter().all(|pid| rustix::process::test_kill_process(*pid).is_err())
    });
    assert_eq!(names(&lab.data()), Vec::<String>::new(), "data was left");
    assert_eq!(journals_of_agents(&lab), Vec::<String>::new());
}

#[test]
fn one_signal_ends_the_cell_on_all_hosts_keeps_it_and_cleans_up() {
    let lab = Lab::new();
    let file = lab.experiment("fleet.yaml", &LONG.replace("6s", "60s"));
    let running = start(agents(&lab, "2", &["--output", "json"]).arg(&file));
    lab.wait_for_intervals(1);
    running.signal(Signal::INT);
    let ended = running.finish();
    assert_eq!(ended.code, Some(130), "{ended:#?}");
    let json: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(json["cells"][0]["result"]["hosts"].as_array().unwrap().len(), 2);
    assert_clean(&lab);
}

#[test]
fn what_cannot_be_a_fleet_is_one_line() {
    let lab = Lab::new();
    let file = lab.experiment("fleet.yaml", SIMULATED);
    for (flags, words) in [
        (vec!["--local", "0"], vec!["--local 0", "at least 1"]),
        (vec!["--hosts", "a,a"], vec!["--hosts", "a"]),
        (vec!["--sharing", "common"], vec!["--sharing", "hosts"]),
        (vec!["--hosts", "@/nowhere"], vec!["/nowhere", "cannot be read"]),
    ] {
        let ended = run(lab.command().args(&flags).arg(&file));
        ended.assert_one_line(2, &words);
    }
    let job = "job: {name: w, region: {size: {bytes: 4096}}, logs: {latency: DATA/log}}";
    let logs = format!("targets: {{t: 'null:'}}\nworkloads: {{w: {{ops: read, {job}}}}}\nsteady: none\n");
    for flags in [&[][..], &["--dry-run"]] {
        let ended = carry_out(&lab, &logs, "2", flags);
        ended.assert_one_line(2, &["job \"w\" writes a log", "one host alone"]);
    }
    assert_eq!(names(&lab.data()), Vec::<String>::new(), "no empty log is made");
}

#[test]
fn a_target_that_one_host_cannot_use_is_said_before_anything_is_written() {
    let lab = Lab::new();
    // Only the first host has its directory.
    std::fs::create_dir(lab.data().join("local-0")).unwrap();
    let text = LONG.replace("file://DATA", "file://DATA/{host}");
    let ended = carry_out(&lab, &text, "3", &[]);
    ended.assert_one_line(2, &["local-1 (and another host)", "/local-1", "no such directory"]);
    assert!(lab.store().run("last").is_err(), "a run that cannot begin was written down");
    assert_eq!(names(&lab.data().join("local-0")), Vec::<String>::new());
    std::fs::remove_dir(lab.data().join("local-0")).unwrap();
    assert_clean(&lab);
}

/// Enough files that a host can be killed while they are created.
const MANY: &str = "
targets: {t: 'file://DATA'}
workloads: {w: {ops: read, files: 400, file_size: 128KiB, block_size: 4KiB, verify: true}}
stages: {warm_up: 0s, measure: {at_least: 1s, at_most: 1s}}
steady: none
";

/// Kills the last of three agents while the data set is created.
fn kill_in_preparation(lab: &Lab, running: &Running) {
    wait_until("files", || {
        let places: Vec<String> = names(&lab.data());
        places.iter().map(|place| names(&lab.data().join(place)).len()).sum::<usize>() > 250
    });
    let agents = children(running.id());
    assert_eq!(agents.len(), 3, "{agents:?}");
    rustix::process::kill_process(agents[2], Signal::KILL).unwrap();
}

#[test]
fn a_host_that_is_lost_in_preparation_is_gone_on_without() {
    for sharing in ["own", "common", "neighbour"] {
        let lab = Lab::new();
        let running = start(agents(&lab, "3", &["--sharing", sharing]).arg(lab.experiment("f.yaml", MANY)));
        kill_in_preparation(&lab, &running);
        let ended = running.finish();
        assert_eq!(ended.code, Some(0), "{sharing}: {ended:#?}");
        assert!(!ended.stderr.contains("target's health"), "{sharing}: {}", ended.stderr);
        let cell = lab.cells().remove(0);
        assert_eq!(cell.state, State::Finished, "{sharing}");
        let result = cell.result.unwrap();
        assert_eq!(result.total.failed, 0, "{sharing}: {result:#?}");
        assert_eq!(result.hosts.iter().filter(|host| host.total.ok > 0).count(), 2, "{sharing}");
        assert_clean(&lab);
    }
}

#[test]
fn a_cell_is_repeated_although_a_lost_host_had_made_files() {
    let lab = Lab::new();
    let mut command = agents(&lab, "3", &["--on-host-failure", "repeat-cell"]);
    let running = start(command.arg(lab.experiment("f.yaml", MANY)));
    kill_in_preparation(&lab, &running);
    let ended = running.finish();
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_eq!(lab.results().remove(0).hosts.len(), 2);
    assert_clean(&lab);
}

/// Another host removes what a lost host created; its own journal, which nobody can reach, is removed by the next run
/// there.
#[test]
fn the_journal_of_a_lost_host_goes_with_the_next_run_there() {
    let mut stage = support::Stage::plain(1);
    stage.make_file_system("projects", "*(rw,no_root_squash)");
    stage.remember();
    let lab = Lab::new();
    let text = format!(
        "
targets: {{t: {{url: '{}', mount_port: {}}}}}
workloads: {{w: {{ops: read, block_size: 4KiB, file_size: 64KiB}}}}
stages: {{warm_up: 0s, measure: {{at_least: 4s, at_most: 4s}}}}
steady: none
",
        stage.nfs_url("projects"),
        stage.mount_port()
    );
    let file = lab.experiment("e.yaml", &text);
    // Each host has its own home directory, and so its own journals.
    let agent = format!(
        "env HOME={}/{{host}} {} agent",
        lab.directory.path().display(),
        env!("CARGO_BIN_EXE_manometer")
    );
    let command = || {
        let mut command = lab.command();
        command.args(["--hosts", "a,b", "--launcher-command", &agent]).arg(&file);
        command
    };
    let journals = |host: &str| names(&lab.path(host).join(".local/state/manometer/journal"));
    let running = start(&mut command());
    lab.wait_for_intervals(1);
    let home = format!("HOME={}", lab.path("b").display());
    let of_b = |pid: &Pid| {
        let environment =
            std::fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == home.as_bytes())
    };
    let agent = children(running.id()).into_iter().find(of_b).unwrap();
    rustix::process::kill_process(agent, Signal::KILL).unwrap();
    let ended = running.finish();
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(ended.stderr.contains("b: what it made is removed; its journal"), "{}", ended.stderr);
    assert_eq!((journals("a").len(), journals("b").len()), (0, 1), "nobody could reach it");
    let ended = run(&mut command());
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_eq!((journals("a").len(), journals("b").len()), (0, 0), "{ended:#?}");
    stage.assert_untouched();
    lab.assert_clean();
}
