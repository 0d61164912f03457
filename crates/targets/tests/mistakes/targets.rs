//! Mistakes in targets.

use crate::Mistake;

pub const ALL: &[Mistake] = &[
    Mistake::new(
        "target-path",
        "a path instead of a URL",
        "targets: {disk: /mnt/data}\nworkloads: {r: {ops: read}}\n",
    ),
    Mistake::new(
        "target-device-path",
        "a device's path instead of a URL",
        "targets: {disk: /dev/sdb}\nworkloads: {r: {ops: read}}\n",
    ),
    Mistake::new(
        "target-two-slashes",
        "two slashes instead of three",
        "targets: {disk: file://mnt/data}\nworkloads: {r: {ops: read}}\n",
    ),
    Mistake::new("target-no-url", "no URL at all", "targets: {disk: data}\nworkloads: {r: {ops: read}}\n"),
    Mistake::new(
        "target-foreign",
        "a kind of target that there is not",
        "targets: {store: hdfs://namenode/bench}\nworkloads: {r: {ops: read}}\n",
    ),
    Mistake::new(
        "target-scheme",
        "a misspelt kind of target",
        "targets: {disk: nsf://filer/export}\nworkloads: {r: {ops: read}}\n",
    ),
    Mistake::new(
        "target-https",
        "an https URL for a bucket",
        "targets: {disk: 'https://s3.example.com/bucket'}\nworkloads: {g: {ops: get}}\n",
    ),
    Mistake::new(
        "target-nfs",
        "NFS without an export",
        "targets: {filer: nfs://filer}\nworkloads: {r: {ops: read}}\n",
    ),
    Mistake::new(
        "target-s3",
        "S3 without an endpoint",
        "targets: {store: s3://bench}\nworkloads: {g: {ops: get}}\n",
    ),
    Mistake::new(
        "target-sim",
        "an unknown key in a sim URL",
        "targets: {t: 'sim:?latncy=1ms'}\nworkloads: {r: {ops: read}}\n",
    ),
    Mistake::new(
        "target-password",
        "a user and password in a URL",
        "targets: {store: 's3://AKIAEXAMPLE:hunter2@bench?endpoint=http://h'}\nworkloads: {g: {ops: get}}\n",
    ),
    Mistake::new(
        "target-secret",
        "a secret in a URL's query",
        "targets: {store: 's3://bench?endpoint=http://h&secret_key=x'}\nworkloads: {g: {ops: get}}\n",
    ),
    Mistake::new(
        "target-without-url",
        "a target with options only",
        "targets: {disk: {direct: true}}\nworkloads: {r: {ops: read}}\n",
    ),
    Mistake::new(
        "target-option",
        "an option that the kind does not know",
        "targets: {disk: {url: file:///mnt/data, conections: 4}}\nworkloads: {r: {ops: read}}\n",
    ),
    Mistake::new(
        "target-direct-nfs",
        "direct on NFS",
        "targets: {filer: {url: nfs://filer/export, direct: true}}\nworkloads: {r: {ops: read}}\n",
    ),
    Mistake::new(
        "target-flag",
        "yes instead of true",
        "targets: {disk: {url: file:///mnt/data, direct: yes}}\nworkloads: {r: {ops: read}}\n",
    ),
    Mistake::new(
        "target-flag-in-url",
        "neither true nor false in a URL's query",
        "targets: {disk: 'file:///mnt/data?direct=maybe'}\nworkloads: {r: {ops: read}}\n",
    ),
    Mistake::new(
        "target-latency-in-url",
        "a latency in a sim URL that is none",
        "targets: {t: 'sim:?latency=fast'}\nworkloads: {r: {ops: read}}\n",
    ),
    Mistake::new(
        "target-direct-yes",
        "a block that direct I/O cannot move, with direct asked for in the URL",
        "targets: {disk: 'file:///mnt/data?direct=yes'}\nworkloads: {r: {ops: read, block_size: 1000}}\n",
    ),
    Mistake::new(
        "target-count",
        "no connections",
        "targets: {filer: {url: nfs://filer/export, connections: 0}}\nworkloads: {r: {ops: read}}\n",
    ),
    Mistake::new(
        "target-part-size",
        "parts smaller than S3 allows",
        "targets: {s: {url: 's3://b?endpoint=http://h', part_size: 1MiB}}\nworkloads: {g: {ops: get}}\n",
    ),
    Mistake::new(
        "target-choice",
        "a misspelt word for an option",
        "targets: {disk: {url: file:///mnt/data, engine: io_urin}}\nworkloads: {r: {ops: read}}\n",
    ),
    Mistake::new("target-unknown", "a target that is not there", disk!("    target: dsk\n")),
    Mistake::new("target-inline", "a URL as a workload's target", disk!("    target: file:///mnt/other\n")),
    Mistake::new(
        "target-which",
        "two targets and no choice",
        "targets: {a: file:///mnt/a, b: file:///mnt/b}\nworkloads: {r: {ops: read}}\n",
    ),
    Mistake::new(
        "accounting-none",
        "accounting without counters",
        "targets: {t: {url: file:///mnt/data, accounting: {gluter: gv}}}\nworkloads: {w: {ops: read}}\n",
    ),
    Mistake::new(
        "accounting-two",
        "accounting by two counters",
        "targets: {t: {url: file:///mnt/data, accounting: {gluster: gv, ceph: a}}}\nworkloads: {w: {ops: read}}\n",
    ),
    Mistake::new(
        "accounting-volume",
        "a volume that is an option",
        "targets: {t: {url: file:///mnt/data, accounting: {gluster: {volume: --help}}}}\nworkloads: {w: {ops: read}}\n",
    ),
    Mistake::new(
        "accounting-via",
        "accounting through several hosts",
        "targets: {t: {url: file:///mnt/data, accounting: {ceph: {mds: [a, b], via: 'node[1-3]'}}}}\nworkloads: {w: {ops: read}}\n",
    ),
    Mistake::new(
        "accounting-via-none",
        "a way to no host",
        "targets: {t: {url: file:///mnt/data, accounting: {command: {run: [date], via: {ssh_options: -v}}}}}\nworkloads: {w: {ops: read}}\n",
    ),
    Mistake::new(
        "provision-none",
        "a place for something provisioned, and nothing is",
        "targets: {t: 'gluster://server1/{provisioned}'}\nworkloads: {w: {ops: read}}\n",
    ),
    Mistake::new(
        "provision-nowhere",
        "something provisioned that the URL does not use",
        "targets: {t: {url: gluster://server1/gv, provision: {gluster: {bricks: 'server1:/b'}}}}\nworkloads: {w: {ops: read}}\n",
    ),
    Mistake::new(
        "provision-scheme",
        "a volume for another protocol",
        "targets: {t: {url: 'nfs://server1/{provisioned}', provision: {gluster: {bricks: 'server1:/b'}}}}\nworkloads: {w: {ops: read}}\n",
    ),
    Mistake::new(
        "provision-tools",
        "provisioned by two tools",
        "targets: {t: {url: 'gluster://s/{provisioned}', provision: {gluster: {bricks: 's:/b'}, tgt: {directory: /b, size: 1GiB}}}}\nworkloads: {w: {ops: read}}\n",
    ),
    Mistake::new(
        "provision-bricks",
        "a brick without a host",
        "targets: {t: {url: 'gluster://s/{provisioned}', provision: {gluster: {bricks: /b, replica: 1}}}}\nworkloads: {w: {ops: read}}\n",
    ),
    Mistake::new(
        "provision-sets",
        "bricks that make up no sets",
        "targets: {t: {url: 'gluster://s/{provisioned}', provision: {gluster: {bricks: ['s:/a', 's:/b'], replica: 3}}}}\nworkloads: {w: {ops: read}}\n",
    ),
    Mistake::new(
        "provision-arbiter",
        "an arbiter without copies",
        "targets: {t: {url: 'gluster://s/{provisioned}', provision: {gluster: {bricks: 's:/b', arbiter: 1}}}}\nworkloads: {w: {ops: read}}\n",
    ),
    Mistake::new(
        "provision-settings",
        "a setting that is an option",
        "targets: {t: {url: 'gluster://s/{provisioned}', provision: {gluster: {bricks: 's:/b', settings: {'--x': on}}}}}\nworkloads: {w: {ops: read}}\n",
    ),
    Mistake::new(
        "provision-size",
        "a unit without size",
        "targets: {t: {url: 'iscsi://s/{provisioned}', provision: {tgt: {directory: luns}}}}\nworkloads: {w: {ops: read}}\n",
    ),
    Mistake::new(
        "provision-directory",
        "a unit in no directory",
        "targets: {t: {url: 'iscsi://s/{provisioned}', provision: {tgt: {directory: luns, size: 1GiB}}}}\nworkloads: {w: {ops: read}}\n",
    ),
    Mistake::new(
        "provision-device",
        "a device with a size",
        "targets: {t: {url: 'iscsi://s/{provisioned}', provision: {tgt: {device: /dev/sdb, size: 1GiB}}}}\nworkloads: {w: {ops: read}}\n",
    ),
    Mistake::new(
        "provision-initiators",
        "an address that is none",
        "targets: {t: {url: 'iscsi://s/{provisioned}', provision: {tgt: {directory: /b, size: 1GiB, initiators: 'ALL; x'}}}}\nworkloads: {w: {ops: read}}\n",
    ),
];
