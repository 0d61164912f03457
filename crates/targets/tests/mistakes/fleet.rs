//! The fleet, its variables, and scale.

use crate::Mistake;

/// A fleet and more of the file, with a valid target and workload.
macro_rules! fleet {
    ($rest:literal) => {
        concat!($rest, "targets: {disk: file:///mnt/data}\nworkloads:\n  randread: {ops: read}\n")
    };
}

/// A fleet of three hosts and a target.
macro_rules! target {
    ($target:literal) => {
        concat!(
            "fleet:\n  hosts: [n1, n2, n3]\n  variables:\n    \"*\": {nic: eth0, streams: 2}\n    n2: {streams: many, address: 10.0.0.2}\n",
            "targets:\n  filer: ",
            $target,
            "\nworkloads:\n  randread: {ops: read}\n"
        )
    };
}

pub const ALL: &[Mistake] = &[
    Mistake::new("fleet-key", "a misspelt key of the fleet", fleet!("fleet: {host: [a, b]}\n")),
    Mistake::new("fleet-nothing", "a fleet without a launcher", fleet!("fleet: {sharing: own}\n")),
    Mistake::new("fleet-two", "a fleet with two launchers", fleet!("fleet: {hosts: [a], local: 2}\n")),
    Mistake::new("fleet-list", "hosts in the place of the fleet", fleet!("fleet: [a, b]\n")),
    Mistake::new("fleet-twice", "a host that is named twice", fleet!("fleet: {hosts: [a, b, a]}\n")),
    Mistake::new("fleet-range", "a range of hosts that counts down", fleet!("fleet: {hosts: ['n[9-1]']}\n")),
    Mistake::new(
        "fleet-brackets",
        "a range of hosts that is not closed",
        fleet!("fleet: {hosts: ['n[1-9']}\n"),
    ),
    Mistake::new("fleet-url", "a URL instead of a host", fleet!("fleet: {hosts: ['ssh://a']}\n")),
    Mistake::new("fleet-dash", "an option instead of a host", fleet!("fleet: {hosts: ['-p 2222 a']}\n")),
    Mistake::new("fleet-file", "a file of hosts that is not there", fleet!("fleet: {hosts: '@rack.txt'}\n")),
    Mistake::new(
        "fleet-file-line",
        "a file of hosts with a wrong line",
        fleet!("fleet: {hosts: '@twice.txt'}\n"),
    ),
    Mistake::new("fleet-none", "no processes at all", fleet!("fleet: {local: 0}\n")),
    Mistake::new("fleet-local", "a word for a number of processes", fleet!("fleet: {local: true}\n")),
    Mistake::new(
        "fleet-options",
        "options of ssh without ssh",
        fleet!("fleet: {local: 2, ssh_options: [-v]}\n"),
    ),
    Mistake::new(
        "fleet-binary-slurm",
        "a binary of Slurm in the wrong place",
        fleet!("fleet: {slurm: 2, binary: /opt/manometer}\n"),
    ),
    Mistake::new(
        "fleet-binary",
        "a binary without its folder",
        fleet!("fleet: {hosts: [a], binary: manometer}\n"),
    ),
    Mistake::new(
        "fleet-password",
        "a password on a command line",
        fleet!("fleet: {command: {hosts: [a], command: 'sshpass -p hunter2 ssh {host} manometer agent'}}\n"),
    ),
    Mistake::new("fleet-slurm-key", "a misspelt key of slurm", fleet!("fleet: {slurm: {node: 4}}\n")),
    Mistake::new("fleet-pods", "pods without an image", fleet!("fleet: {kubernetes: {count: 4}}\n")),
    Mistake::new(
        "fleet-claim",
        "a claim without its path",
        fleet!("fleet: {kubernetes: {count: 4, image: i, claim: {name: data}}}\n"),
    ),
    Mistake::new(
        "fleet-host-path",
        "a path on the nodes that is not absolute",
        fleet!("fleet: {kubernetes: {count: 4, image: i, host_path: data}}\n"),
    ),
    Mistake::new(
        "fleet-pull",
        "a misspelt pull policy",
        fleet!("fleet: {kubernetes: {count: 4, image: i, pull_policy: Allways}}\n"),
    ),
    Mistake::new(
        "fleet-command",
        "a command that does not say where",
        fleet!("fleet: {command: {hosts: [a, b], command: [manometer, agent]}}\n"),
    ),
    Mistake::new(
        "fleet-command-hosts",
        "a command without hosts",
        fleet!("fleet: {command: {command: 'podman exec -i {host} manometer agent'}}\n"),
    ),
    Mistake::new(
        "fleet-command-name",
        "a variable that commands have not",
        fleet!("fleet: {command: {hosts: [a, b], command: 'podman exec -i {hots} manometer agent'}}\n"),
    ),
    Mistake::new("fleet-sharing", "a misspelt sharing", fleet!("fleet: {local: 2, sharing: disjunct}\n")),
    Mistake::new(
        "fleet-failure",
        "an unknown policy for hosts that fail",
        fleet!("fleet: {local: 2, on_host_failure: ignore}\n"),
    ),
    Mistake::new(
        "fleet-silence",
        "no patience with a silent host",
        fleet!("fleet: {local: 2, silence_timeout: 10ms}\n"),
    ),
    Mistake::new(
        "fleet-block",
        "a block device for several hosts",
        "fleet: {local: 2, sharing: disjoint}\ntargets: {dev: block:///dev/sdb}\nworkloads: {r: {ops: read}}\n",
    ),
    Mistake::new(
        "fleet-common",
        "verified writes of all hosts in one place",
        "fleet: {local: 2, sharing: common}\ntargets: {disk: file:///mnt/data}\nworkloads: {w: {ops: write, verify: true}}\n",
    ),
    Mistake::new(
        "fleet-churn",
        "creating files in one place of all hosts",
        "fleet: {local: 2, sharing: disjoint}\ntargets: {disk: file:///mnt/data}\nworkloads: {w: {ops: {create: 50%, remove: 50%}}}\n",
    ),
    Mistake::new(
        "variable-no-fleet",
        "a host's variable without a fleet",
        "targets:\n  filer: nfs://{host}/export\nworkloads: {r: {ops: read}}\n",
    ),
    Mistake::new("variable-brace", "a brace that stands alone", target!("nfs://h{/export")),
    Mistake::new("variable-unknown", "an unknown variable", target!("nfs://{adress}/export")),
    Mistake::new("variable-missing", "a variable that not all hosts have", target!("nfs://{address}/export")),
    Mistake::new("variable-kind", "a variable for the kind of target", target!("\"{nic}://h/export\"")),
    Mistake::new(
        "variable-value",
        "a variable that does not fit an option of one host",
        target!("{url: nfs://h/export, connections: '{streams}'}"),
    ),
    Mistake::new(
        "variable-host",
        "variables of a host that is not there",
        fleet!("fleet: {hosts: [node1], variables: {nod1: {nic: eth1}}}\n"),
    ),
    Mistake::new(
        "variable-reserved",
        "a variable called host",
        fleet!("fleet: {hosts: [a], variables: {a: {host: b}}}\n"),
    ),
    Mistake::new(
        "variable-name",
        "a variable's name with a dash",
        fleet!("fleet: {hosts: [a], variables: {a: {data-nic: eth1}}}\n"),
    ),
    Mistake::new(
        "variable-secret",
        "a secret among the variables",
        fleet!("fleet: {hosts: [a], variables: {a: {secret_key: x}}}\n"),
    ),
    Mistake::new(
        "variable-nested",
        "a variable within a variable",
        fleet!("fleet: {hosts: [a], variables: {a: {net: ten, address: '{net}.1'}}}\n"),
    ),
    Mistake::new("scale-no-fleet", "a scale without a fleet", fleet!("scale: [1, 2]\n")),
    Mistake::new(
        "scale-more",
        "more agents than there are hosts",
        fleet!("fleet: {local: 4}\nscale: [1, 8]\n"),
    ),
    Mistake::new("scale-twice", "a scale with a number twice", fleet!("fleet: {local: 4}\nscale: [1, 1]\n")),
    Mistake::new("scale-word", "an unknown word as a scale", fleet!("fleet: {local: 4}\nscale: double\n")),
    Mistake::new("scale-zero", "a scale from nothing", fleet!("fleet: {local: 4}\nscale: [0, 4]\n")),
    Mistake::new("scale-empty", "an empty scale", fleet!("fleet: {local: 4}\nscale: []\n")),
    Mistake::new("scale-key", "a misspelt key of scale", fleet!("fleet: {local: 4}\nscale: {agent: [1]}\n")),
    Mistake::new(
        "scale-doubling",
        "doubling up to nobody knows what",
        fleet!("fleet: {slurm: {options: [--exclusive]}}\nscale: doubling\n"),
    ),
    Mistake::new(
        "scale-crossed",
        "agents in the scale and in the matrix",
        fleet!("fleet: {local: 4}\nscale: doubling\nmatrix: {agents: [1, 2]}\n"),
    ),
    Mistake::new(
        "scale-addresses",
        "addresses of a target that has none",
        fleet!("scale: {addresses: [1, 2]}\n"),
    ),
    Mistake::new(
        "files-all-hosts",
        "files that all hosts would write",
        "fleet: {local: 2}\ntargets: {disk: file:///mnt/data}\nworkloads: {w: {ops: write, files: {names: [db1.dat]}}}\n",
    ),
    Mistake::new(
        "agents-no-fleet",
        "agents without a fleet",
        "targets: {disk: file:///mnt/data}\nworkloads: {r: {ops: read, agents: 2}}\n",
    ),
    Mistake::new(
        "agents-more",
        "a workload with more agents than there are hosts",
        "fleet: {local: 2}\ntargets: {disk: file:///mnt/data}\nworkloads: {r: {ops: read, agents: 3}}\n",
    ),
];
