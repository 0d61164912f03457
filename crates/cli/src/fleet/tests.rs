//! Flags become a fleet.

use clap::Parser;
use experiment::Pods;

use super::*;

#[derive(Parser, Debug)]
struct Command {
    #[command(flatten)]
    fleet: FleetArguments,
}

fn arguments(words: &[&str]) -> FleetArguments {
    Command::try_parse_from([&["x"], words].concat()).unwrap().fleet
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn each_launcher_has_its_flag() {
    let options = owned(&["-F", "my file", "-o", "Port=22"]);
    for (words, launcher) in [
        (&[][..], None),
        (&["--local", "3"], Some(Launcher::Local { count: 3 })),
        (
            &["--hosts", "a,n[1-2]"],
            Some(Launcher::Ssh { hosts: owned(&["a", "n1", "n2"]), options: vec![], binary: None }),
        ),
        (
            &["--hosts=a", "--ssh-option", "-F 'my file'", "--ssh-option=Port=22", "--agent-binary=/m"],
            Some(Launcher::Ssh { hosts: owned(&["a"]), options, binary: Some("/m".to_owned()) }),
        ),
        (&["--slurm"], Some(Launcher::Slurm { nodes: None, options: vec![], binary: None })),
        (
            &["--slurm", "nodes=12,partition=x,exclusive"],
            Some(Launcher::Slurm {
                nodes: Some(12),
                options: owned(&["--partition=x", "--exclusive"]),
                binary: None,
            }),
        ),
        (
            &["--hosts=a,b", "--launcher-command", "podman exec -i {host} m agent"],
            Some(Launcher::Command {
                hosts: owned(&["a", "b"]),
                command: owned(&["podman", "exec", "-i", "{host}", "m", "agent"]),
            }),
        ),
    ] {
        assert_eq!(arguments(words).launcher().unwrap(), launcher, "{words:?}");
    }
}

#[test]
fn pods_are_read() {
    let text =
        "count=2,image=r/m:1,namespace=bench,host-network,claim=data:/data,cpu=4,node-selector.x.y/z-w=v";
    let Some(Launcher::Kubernetes(pods)) = arguments(&["--kubernetes", text]).launcher().unwrap() else {
        panic!()
    };
    let mut expected = Pods { count: 2, image: "r/m:1".to_owned(), host_network: true, ..Pods::default() };
    expected.namespace = Some("bench".to_owned());
    expected.claim = Some(("data".to_owned(), "/data".to_owned()));
    expected.resources.insert("cpu".to_owned(), "4".to_owned());
    expected.node_selector.insert("x.y/z-w".to_owned(), "v".to_owned());
    assert_eq!(*pods, expected);
    for wrong in
        ["count=2", "image=x", "count=0,image=x", "count=1,image=x,claim=data", "count=1,image=x,colour=red"]
    {
        let error = arguments(&["--kubernetes", wrong]).launcher().unwrap_err();
        assert!(error.starts_with("--kubernetes") && !error.contains('\n'), "{error}");
    }
}

#[test]
fn a_file_of_hosts_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hosts");
    std::fs::write(&path, "# rack 1\nnode[01-02]\nme@c:22 # last\n").unwrap();
    assert_eq!(hosts_of(&format!("@{}", path.display())).unwrap(), ["node01", "node02", "me@c:22"]);
    std::fs::write(&path, "# nobody\n").unwrap();
    let error = hosts_of(&format!("@{}", path.display())).unwrap_err();
    assert!(error.contains("hosts: there are no hosts in it"), "{error}");
    assert!(hosts_of("@/nonexistent/x").unwrap_err().contains("cannot be read"));
}

#[test]
fn flags_win_over_the_file() {
    let mut plan = Fleet::of(Launcher::Local { count: 2 });
    plan.start_timeout_ms = 7_000;
    plan.sharing = Sharing::Common;
    let fleet =
        arguments(&["--hosts=a", "--on-host-failure=stop"]).fleet(Some(plan.clone())).unwrap().unwrap();
    assert_eq!(fleet.launcher.word(), "hosts");
    assert_eq!((fleet.sharing, fleet.on_failure), (Sharing::Common, FailurePolicy::Stop));
    assert_eq!(fleet.start_timeout_ms, 7_000);
    let fleet = arguments(&["--sharing=neighbour"]).fleet(Some(plan)).unwrap().unwrap();
    assert_eq!((fleet.launcher, fleet.sharing), (Launcher::Local { count: 2 }, Sharing::Neighbour));
    assert_eq!(arguments(&[]).fleet(None).unwrap(), None);
    assert!(arguments(&["--sharing=own"]).fleet(None).unwrap_err().contains("needs hosts"));
}

#[test]
fn what_is_wrong_is_one_line() {
    for (words, said) in [
        (&["--hosts=a,a"][..], "twice"),
        (&["--hosts="], "no hosts"),
        (&["--local=0"], "at least 1"),
        (&["--slurm=nodes=x"], "number of nodes"),
        (&["--slurm=--bad"], "options of salloc"),
        (&["--hosts=a", "--ssh-option=nonsense"], "--ssh-option"),
        (&["--hosts=a", "--launcher-command='"], "not closed"),
        (&["--agent-binary=/m"], "needs --hosts"),
        (&["--local=1", "--agent-binary=/m"], "nothing for local"),
        (&["--hosts=a", "--launcher-command=x", "--ssh-option=A=b"], "--ssh-"),
    ] {
        let error = arguments(words).launcher().unwrap_err();
        assert!(error.contains(said) && !error.contains('\n'), "{words:?}: {error}");
    }
    for words in [&["--hosts=a", "--local=1"][..], &["--ssh-option=A=b"], &["--local=1", "--slurm"]] {
        assert!(Command::try_parse_from([&["x"], words].concat()).is_err(), "{words:?}");
    }
}
