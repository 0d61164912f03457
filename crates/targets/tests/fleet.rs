//! A file's fleet section in the plan, and each host's view of a target.
#![allow(clippy::unwrap_used)] // a test may fail loudly

use std::collections::BTreeMap;

use experiment::{
    FailurePolicy, Fleet, HostsFileError, Launcher, Plan, Pods, Settings, Sharing, SourceText, escape_braces,
    parse,
};

const REST: &str = "targets: {d: file:///mnt/data}\nworkloads: {r: {ops: read}}\n";

fn with(file: &str, settings: &Settings<'_>) -> Plan {
    parse(&SourceText { file: "f.yaml", text: file }, settings)
        .unwrap_or_else(|faults| panic!("\n{faults}\n{file}"))
}

fn plan(file: &str) -> Plan {
    with(file, &Settings::of(targets::kinds()))
}

fn fleet(text: &str) -> Fleet {
    plan(&format!("{text}{REST}")).fleet.unwrap()
}

fn ssh(hosts: &[&str]) -> Launcher {
    let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
    Launcher::Ssh { hosts, options: Vec::new(), binary: None }
}

#[test]
fn hosts_are_a_list_a_range_or_a_file() {
    for text in ["fleet: {hosts: [n1, n2]}\n", "fleet:\n  hosts: n[1-2]\n", "fleet: {hosts: 'n1,n2'}\n"] {
        assert_eq!(fleet(text), Fleet::of(ssh(&["n1", "n2"])), "{text}");
    }
    let read = |file: &str| match file {
        "rack.txt" => Ok("# a rack\nn[1-2]\nme@n3:22\n".to_owned()),
        _ => Err(HostsFileError::Unreadable {
            file: file.to_owned(),
            error: std::io::ErrorKind::NotFound.into(),
        }),
    };
    let settings = Settings { read_hosts: &read, ..Settings::of(targets::kinds()) };
    let made = with(&format!("fleet: {{hosts: '@rack.txt'}}\n{REST}"), &settings).fleet.unwrap();
    assert_eq!(made.launcher, ssh(&["n1", "n2", "me@n3:22"]));
    assert_eq!(made.count(), Some(3));
}

#[test]
fn every_launcher_has_its_keys() {
    let made = fleet(
        "fleet:\n  hosts: [a]\n  ssh_options: -F ssh.conf -o Compression=no\n  binary: /opt/manometer\n  \
         sharing: disjoint\n  on_host_failure: repeat-cell\n  start_timeout: 2m\n  silence_timeout: 5s\n",
    );
    let options = ["-F", "ssh.conf", "-o", "Compression=no"].map(str::to_owned).to_vec();
    let binary = Some("/opt/manometer".to_owned());
    assert_eq!(made.launcher, Launcher::Ssh { hosts: vec!["a".into()], options, binary });
    assert_eq!((made.sharing, made.on_failure), (Sharing::Disjoint, FailurePolicy::RepeatCell));
    assert_eq!((made.start_timeout_ms, made.silence_timeout_ms), (120_000, 5_000));

    let local = fleet("fleet: {local: 3}\n");
    assert_eq!(local.launcher, Launcher::Local { count: 3 });
    assert_eq!(local.host_names().unwrap(), ["local-0", "local-1", "local-2"]);

    let slurm = |nodes, options: &[&str]| Launcher::Slurm { nodes, options: strings(options), binary: None };
    assert_eq!(fleet("fleet: {slurm: 12}\n").launcher, slurm(Some(12), &[]));
    let made = fleet("fleet: {slurm: {options: [--partition=x, '--comment=a b']}}\n");
    assert_eq!((made.count(), made.host_names()), (None, None));
    assert_eq!(made.launcher, slurm(None, &["--partition=x", "--comment=a b"]));

    let made = fleet(
        "fleet:\n  kubernetes:\n    count: 4\n    image: r/m:1\n    namespace: bench\n    host_network: true\n    \
         node_selector: {disk: nvme}\n    resources: {cpu: 4, memory: 8Gi}\n    claim: {name: data, path: /data}\n    \
         pull_policy: Always\n",
    );
    let map = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let pods = Pods {
        count: 4,
        image: "r/m:1".into(),
        namespace: Some("bench".into()),
        host_network: true,
        node_selector: map(&[("disk", "nvme")]),
        resources: map(&[("cpu", "4"), ("memory", "8Gi")]),
        claim: Some(("data".into(), "/data".into())),
        pull_policy: Some("Always".into()),
        ..Pods::default()
    };
    assert_eq!(made.launcher, Launcher::Kubernetes(Box::new(pods)));

    let made =
        fleet("fleet:\n  command:\n    hosts: [a, b]\n    command: podman exec -i {host} manometer agent\n");
    let command = strings(&["podman", "exec", "-i", "{host}", "manometer", "agent"]);
    assert_eq!(made.launcher, Launcher::Command { hosts: strings(&["a", "b"]), command });
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn the_command_lines_launcher_takes_the_files_place() {
    let launcher = Launcher::Local { count: 2 };
    let settings = Settings { launcher: Some(&launcher), ..Settings::of(targets::kinds()) };
    let made = with(&format!("fleet: {{hosts: [a], sharing: common}}\n{REST}"), &settings).fleet.unwrap();
    assert_eq!((made.launcher, made.sharing), (launcher.clone(), Sharing::Common));
    // The file need not say how agents are started, nor have a fleet at all.
    let made = with(&format!("fleet: {{sharing: common}}\n{REST}"), &settings).fleet.unwrap();
    assert_eq!(made.sharing, Sharing::Common);
    assert_eq!(with(REST, &settings).fleet, Some(Fleet::of(launcher.clone())));
    assert_eq!(plan(REST).fleet, None);
    // The same for its sharing.
    let settings = Settings { sharing: Some(Sharing::Disjoint), ..settings };
    let made = with(&format!("fleet: {{sharing: common}}\n{REST}"), &settings).fleet.unwrap();
    assert_eq!(made.sharing, Sharing::Disjoint);
    assert_eq!(with(REST, &settings).fleet.unwrap().sharing, Sharing::Disjoint);
}

#[test]
fn each_host_has_its_own_target() {
    let plan = plan(
        "fleet:
  hosts: [\"me@n[1-2]:22\", n3]
  variables:
    \"*\": {address: \"10.0.0.{index}\", streams: 2}
    n[2-3]: {streams: 4, export: '/{host}'}
    me@n1:22: {export: '/first'}
targets:
  filer:
    url: nfs://{address}{export}
    connections: \"{streams}\"
    directory: 'a{{b}}{index}'
workloads: {r: {ops: read}}
",
    );
    let fleet = plan.fleet.as_ref().unwrap();
    let hosts = fleet.host_names().unwrap();
    assert_eq!(hosts, ["me@n1:22", "me@n2:22", "n3"]);
    let cell = &plan.cells[0];
    let made: Vec<_> = hosts
        .iter()
        .zip(0..)
        .map(|(host, index)| {
            let target = fleet.cell_for(targets::kinds(), cell, host, index).unwrap().target;
            (target.url, target.options["connections"].clone(), target.options["directory"].clone())
        })
        .collect();
    let expected = [
        ("nfs://10.0.0.0/first", "2", "a{b}0"),
        ("nfs://10.0.0.1/n2", "4", "a{b}1"),
        ("nfs://10.0.0.2/n3", "4", "a{b}2"),
    ];
    assert_eq!(made, expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned())));
    // A host found by a launcher: it has no export.
    let error = fleet.cell_for(targets::kinds(), cell, "n9", 3).unwrap_err().to_string();
    assert!(error.contains("\"n9\" has no variable \"export\"") && !error.contains('\n'), "{error}");
}

#[test]
fn values_of_a_host_are_checked_when_the_cell_is_made() {
    let text = "fleet:\n  slurm: {nodes: 2}\n  variables: {n1: {streams: 4}, n2: {streams: 8}}\ntargets:\n  filer: {url: 'nfs://h/e', connections: '{streams}'}\nworkloads: {r: {ops: read}}\n";
    let plan = plan(text);
    let mut fleet = plan.fleet.clone().unwrap();
    let cell = &plan.cells[0];
    assert_eq!(fleet.cell_for(targets::kinds(), cell, "n2", 1).unwrap().target.options["connections"], "8");
    fleet.variables.get_mut("n1").unwrap().insert("streams".into(), "many".into());
    let error = fleet.cell_for(targets::kinds(), cell, "n1", 0).unwrap_err().to_string();
    assert!(error.contains("n1") && error.contains("connections") && error.contains("many"), "{error}");
}

#[test]
fn braces_that_are_none_come_through() {
    let odd = "file:///mnt/{a}}{";
    let file = format!("targets: {{d: '{}'}}\nworkloads: {{r: {{ops: read}}}}\n", escape_braces(odd));
    assert_eq!(plan(&file).cells[0].target.url, odd);
    let with_fleet = plan(&format!("fleet: {{local: 2}}\n{file}"));
    let made = with_fleet
        .fleet
        .as_ref()
        .unwrap()
        .cell_for(targets::kinds(), &with_fleet.cells[0], "local-1", 1)
        .unwrap();
    assert_eq!(made.target.url, odd);
}

#[test]
fn names_of_a_jobs_files_may_have_the_host_in_them() {
    let workload = "workloads: {w: {ops: write, job: {name: w, region: {size: {bytes: 4096}},
        files: {names: {format: 'data.$clientuid.$jobnum'}}}}}\n";
    let names = |hosts: &str| -> Vec<String> {
        let plan = plan(&format!(
            "fleet: {{hosts: [{hosts}]}}\ntargets: {{d: 'file:///mnt'}}\n{workload}steady: none\n"
        ));
        let fleet = plan.fleet.as_ref().unwrap();
        let hosts = fleet.host_names().unwrap();
        let of = |(host, index): (&String, u32)| {
            let job = fleet
                .cell_for(targets::kinds(), &plan.cells[0], host, index)
                .unwrap()
                .workload
                .stream()
                .unwrap()
                .clone();
            job.files.names.path(&job.name, 0, 0)
        };
        hosts.iter().zip(0..).map(of).collect()
    };
    assert_eq!(names("n1, \"me@n2:2222\""), ["data.n1.0", "data.n2.0"]);
    // Two agents behind one name do not share a file.
    assert_eq!(names("\"n1:22\", \"n1:23\""), ["data.n1-0.0", "data.n1-1.0"]);
}

#[test]
fn a_scale_is_the_outermost_axis() {
    let agents = |text: &str| -> Vec<(Option<u32>, String)> {
        let file = format!("{text}{REST}matrix: {{queue_depth: [1, 8]}}\n");
        plan(&file).cells.into_iter().map(|cell| (cell.agents, cell.name)).collect()
    };
    let made = agents("fleet: {local: 6}\nscale: [1, 4, all]\n");
    let names: Vec<_> = made.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "r agents=1 queue_depth=1",
            "r agents=1 queue_depth=8",
            "r agents=4 queue_depth=1",
            "r agents=4 queue_depth=8",
            "r agents=6 queue_depth=1",
            "r agents=6 queue_depth=8",
        ]
    );
    let numbers = |text: &str| -> Vec<Option<u32>> {
        agents(text).into_iter().map(|(agents, _)| agents).step_by(2).collect()
    };
    assert_eq!(numbers("fleet: {local: 6}\nscale: doubling\n"), [Some(1), Some(2), Some(4), Some(6)]);
    assert_eq!(numbers("fleet: {local: 4}\nscale: {agents: [1, 4, all]}\n"), [Some(1), Some(4)]);
    assert_eq!(numbers("fleet: {local: 1}\nscale: doubling\n"), [Some(1)]);
    // The number of nodes of an allocation is unknown.
    assert_eq!(numbers("fleet: {slurm: {}}\nscale: [2, all]\n"), [Some(2), None]);

    let own = "fleet: {local: 4}\nscale: doubling\ntargets: {d: 'null:'}\nworkloads:\n  a: {ops: read}\n  \
               b: {ops: read, scale: none}\n  c: {ops: read, agents: 2, scale: none}\n  d: {ops: read, scale: [3]}\n";
    let all: Vec<_> = plan(own).cells.into_iter().map(|cell| (cell.workload_name, cell.agents)).collect();
    let expected =
        [("a", Some(1)), ("a", Some(2)), ("a", Some(4)), ("b", None), ("c", Some(2)), ("d", Some(3))];
    assert_eq!(all, expected.map(|(name, agents)| (name.to_owned(), agents)));
}
