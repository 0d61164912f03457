//! A file's `observe` in the plan.
#![allow(clippy::unwrap_used)] // a test may fail loudly

use experiment::{Launcher, Observe, Plan, Settings, SourceText, parse};

const REST: &str = "targets: {d: 'nfs://filer/export'}\nworkloads: {r: {ops: read}}\n";

fn read(file: &str, launcher: Option<&Launcher>) -> Result<Plan, String> {
    let settings = Settings { launcher, ..Settings::of(targets::kinds()) };
    parse(&SourceText { file: "f.yaml", text: file }, &settings).map_err(|faults| faults.to_string())
}

fn observed(text: &str) -> Observe {
    let plan = read(&format!("{REST}observe: {text}\n"), None).unwrap_or_else(|faults| panic!("\n{faults}"));
    let stored: Plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
    assert_eq!(stored, plan);
    plan.observe.unwrap()
}

#[test]
fn hosts_are_reached_as_those_of_a_fleet_are() {
    let by_ssh = observed("{hosts: 'osd[1-3]', role: osd, ssh_options: -l root, silence_timeout: 5s}");
    let Launcher::Ssh { hosts, options, binary } = &by_ssh.launcher else { panic!("{by_ssh:?}") };
    assert_eq!((hosts.len(), options.join(" ").as_str(), binary), (3, "-l root", &None));
    assert_eq!((&*by_ssh.role, by_ssh.silence_timeout_ms, by_ssh.start_timeout_ms), ("osd", 5_000, 60_000));
    let name = by_ssh.stored_name("osd1");
    assert_eq!(name, "osd osd1");
    assert!(by_ssh.has_stored(&name) && !by_ssh.has_stored("osd1"));
    let here = observed("{local: 1}");
    assert_eq!((here.launcher.word(), &*here.role), ("local", "server"));
    let command = observed("{command: {hosts: [a, b], command: 'podman exec -i {host} manometer agent'}}");
    assert_eq!(command.launcher.word(), "command");
    assert_eq!(observed("{kubernetes: {count: 3, image: i, host_network: true}}").start_timeout_ms, 300_000);
}

#[test]
fn the_hosts_of_the_command_line_are_those_of_the_load() {
    let ours = Launcher::Local { count: 4 };
    let plan = read(&format!("{REST}observe: {{hosts: [osd1]}}\n"), Some(&ours)).unwrap();
    assert_eq!(plan.fleet.unwrap().launcher, ours);
    assert_eq!(plan.observe.unwrap().launcher.word(), "hosts");
}

#[test]
fn mistakes_are_named() {
    for (text, said) in [
        ("{role: osd}", "observe does not say which hosts of the server"),
        ("{hosts: [a], local: 1}", "observe has both hosts and local"),
        ("{hosts: [a, a]}", "is in it twice"),
        ("{hosts: [a], role: 'an osd'}", "is no role of hosts"),
        ("{hosts: [a], silence_timeout: 1ms}", "silence_timeout does not fit"),
        ("{hosts: [a], sharing: own}", "sharing"),
        ("{local: 1, binary: /x}", "binary is nothing for local"),
        ("{hosts: [a], ssh_options: '-o Password=x'}", "must hold no password"),
    ] {
        let faults = read(&format!("{REST}observe: {text}\n"), None).unwrap_err();
        assert!(faults.contains(said) && faults.contains("f.yaml:3:"), "{text}: {faults}");
    }
}
