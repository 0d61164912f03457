//! Experiments that observe the server's hosts: what is stored of them, and what becomes of those that cannot be
//! reached or are lost.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod support;

use run_support::Lab;
use stats::limit::{Bottleneck, Cause};
use support::{children, run, start};

/// A run of a file target; the hosts `a` and `b` of its server are agents of this machine.
fn experiment(measure: &str, command: &str) -> String {
    format!(
        "
targets: {{t: 'file://DATA'}}
workloads: {{w: {{ops: {{read: 50%, write: 50%}}, files: 1, file_size: 1MiB, block_size: 4KiB}}}}
stages: {{warm_up: 0s, measure: {{at_least: {measure}, at_most: {measure}}}}}
steady: none
observe:
  role: osd
  command: {{hosts: [a, b], command: [{command}]}}
"
    )
}

fn agent() -> String {
    format!("env, 'OSD={{host}}', '{}', agent", env!("CARGO_BIN_EXE_manometer"))
}

fn limit(lab: &Lab) -> Bottleneck {
    *lab.results().remove(0).limit.unwrap()
}

#[test]
fn samples_of_the_servers_hosts_are_stored_and_judged() {
    let lab = Lab::new();
    let ended = lab.run(&experiment("3s", &agent()));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(ended.stderr.contains("2 osd hosts are observed"), "{}", ended.stderr);
    let found = limit(&lab);
    let hosts: Vec<&str> = found.servers.iter().map(|server| &*server.host).collect();
    assert_eq!(hosts, ["a", "b"]);
    assert!(found.servers.iter().all(|server| server.samples > 0 && server.core.is_some()), "{found:#?}");
    assert!(found.evidence.iter().any(|row| row.name == "osd b: cores"), "{found:#?}");
    // The servers' cores are those of the load: full ones are not the server's limit.
    assert!(!matches!(found.cause, Cause::ServerCores | Cause::ServerCore), "{found:#?}");
    let store = lab.store();
    let id = store.run("last").unwrap().id;
    let sampled = store.sampled_hosts(&id, 0).unwrap();
    for name in ["osd a", "osd b"] {
        assert!(sampled.iter().any(|host| host == name), "{sampled:?}");
        let samples = store.samples(&id, 0, name).unwrap();
        assert!(samples.iter().all(|sample| sample.at_ns < 60_000_000_000), "{samples:?}");
        assert!(samples.iter().any(|sample| !sample.value["cores"].as_array().unwrap().is_empty()));
    }
    // The load's own host is neither of them.
    assert_eq!(sampled.len(), 3, "{sampled:?}");
    lab.assert_clean();
}

#[test]
fn a_host_that_cannot_be_reached_ends_the_run_before_anything_is_written() {
    let lab = Lab::new();
    let ended = lab.run(&experiment("1s", "sh, -c, 'echo no route to {host} >&2; exit 255'"));
    assert_ne!(ended.code, Some(0), "{ended:#?}");
    let lines: Vec<&str> = ended.stderr.lines().filter(|line| line.contains("observe: ")).collect();
    assert_eq!(lines.len(), 1, "{}", ended.stderr);
    assert!(lines[0].contains("no route to a") && lines[0].contains("next: "), "{}", lines[0]);
    assert!(lab.store().run("last").is_err(), "no run is kept");
    lab.assert_clean();
    let file = lab.experiment("experiment.yaml", &experiment("1s", "'false', '{host}'"));
    let dry = run(lab.command().arg(file).arg("--dry-run"));
    assert!(dry.code != Some(0) && dry.stderr.contains("observe: "), "{dry:#?}");
}

#[test]
fn a_run_goes_on_without_a_server_that_is_lost() {
    let lab = Lab::new();
    let file = lab.experiment("experiment.yaml", &experiment("4s", &agent()));
    let running = start(lab.command().arg(file));
    lab.wait_for_intervals(1);
    let agents = children(running.id());
    assert_eq!(agents.len(), 2, "{agents:?}");
    rustix::process::kill_process(agents[0], rustix::process::Signal::KILL).unwrap();
    let ended = running.finish();
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(ended.stderr.contains("is no longer observed: "), "{}", ended.stderr);
    let result = lab.results().remove(0);
    assert!(result.total.ok > 0);
    let said = |reason: &String| reason.contains("is no longer observed: ") && reason.starts_with("osd ");
    assert!(result.verdict.reasons.iter().any(said), "{:#?}", result.verdict);
    let store = lab.store();
    let events = store.events(&store.run("last").unwrap().id).unwrap();
    assert!(events.iter().any(|event| event.kind == "server-lost"), "{events:#?}");
    assert!(result.limit.unwrap().servers.iter().any(|server| server.samples > 0));
    lab.assert_clean();
}
