//! Incompatible combinations.

use crate::Mistake;

pub const ALL: &[Mistake] = &[
    Mistake::new("op-write-s3", "write on S3", store!("    ops: write\n")),
    Mistake::new("op-remove-s3", "remove on S3", store!("    ops: {get: 50%, remove: 50%}\n")),
    Mistake::new(
        "op-xattr-nfs",
        "extended attributes on NFS",
        "targets: {n: 'nfs://10.0.0.1/e'}\nworkloads: {x: {ops: setxattr}}\n",
    ),
    Mistake::new(
        "op-open-nfs-3",
        "opens on NFS version 3",
        "targets: {n: 'nfs://10.0.0.1/e'}\nworkloads: {x: {ops: {stat: 50%, open: 50%}}}\n",
    ),
    Mistake::new(
        "op-exec-rados",
        "methods on RADOS without a class",
        "targets: {p: 'rados://pool?exec_method=say_hello'}\nworkloads: {x: {ops: exec}}\n",
    ),
    Mistake::new(
        "op-omap-get-own",
        "keys of objects that the load creates",
        "targets: {p: 'rados://pool'}\nworkloads: {x: {ops: {put: 50%, omap-get: 50%}, works_on: own}}\n",
    ),
    Mistake::new(
        "op-readdirplus",
        "the protocol's word for a listing with attributes",
        "targets: {n: 'nfs://10.0.0.1/e'}\nworkloads: {x: {ops: readdirplus}}\n",
    ),
    Mistake::new(
        "tree-written",
        "a tree that exists and is to be written",
        "targets: {disk: file:///mnt/data}\nworkloads: {w: {ops: {read: 50%, write: 50%}, files: {tree: projects}}}\n",
    ),
    Mistake::new(
        "op-truncate-overwrite-read",
        "files emptied while others read them",
        "targets: {disk: file:///mnt/data}\nworkloads: {w: {ops: {truncate-overwrite: 50%, read-file: 50%}}}\n",
    ),
    Mistake::new(
        "op-overwrite-verify",
        "verification of whole files that are overwritten",
        "targets: {disk: file:///mnt/data}\nworkloads: {w: {ops: {overwrite: 50%, read-file: 50%}, verify: true}}\n",
    ),
    Mistake::new(
        "op-read-file-write-verify",
        "verification of whole files whose blocks are written",
        "targets: {disk: file:///mnt/data}\nworkloads: {w: {ops: {write: 50%, read-file: 50%}, verify: true}}\n",
    ),
    Mistake::new(
        "op-write-file-direct",
        "a whole file that does not fit direct I/O",
        "targets: {disk: {url: file:///mnt/data, direct: true}}\nworkloads: {w: {ops: write-file, file_size: 1000B}}\n",
    ),
    Mistake::new(
        "op-put-file",
        "put on files",
        "targets: {disk: file:///mnt/data}\nworkloads:\n  puts:\n    ops: put\n",
    ),
    Mistake::new(
        "op-stat-block",
        "stat on a block device",
        "targets: {d: 'block:///dev/x'}\nworkloads: {s: {ops: stat}}\n",
    ),
    Mistake::new(
        "op-zeroes-nfs",
        "zeroes over NFS",
        "targets: {n: 'nfs://filer/export'}\nworkloads: {zeroing: {ops: write-zeroes}}\n",
    ),
    Mistake::new(
        "block-larger",
        "blocks larger than the file",
        disk!("    block_size: 1MiB\n    file_size: 64KiB\n"),
    ),
    Mistake::new(
        "block-of-put",
        "a block size for put and get",
        store!("    ops: get\n    block_size: 64KiB\n"),
    ),
    Mistake::new(
        "block-crossed",
        "crossing block sizes of a workload without blocks",
        "targets: {disk: file:///mnt/data}\nworkloads:\n  read: {ops: read}\n  stat: {ops: stat}\nmatrix: {block_size: [4KiB]}\n",
    ),
    Mistake::new("files-on-s3", "files on S3", store!("    ops: get\n    files: 10\n")),
    Mistake::new("objects-on-files", "objects on files", disk!("    object_size: 8MiB\n")),
    Mistake::new(
        "files-on-block",
        "files on a block device",
        "targets: {d: 'block:///dev/x'}\nworkloads: {r: {ops: read, files: 4}}\n",
    ),
    Mistake::new(
        "stride",
        "a stride that is no multiple of the block",
        disk!("    block_size: 64KiB\n    access: {strided: 100KiB}\n"),
    ),
    Mistake::new(
        "direct-block",
        "direct I/O in odd sizes",
        "targets: {disk: {url: file:///mnt/data, direct: true}}\nworkloads: {r: {ops: read, block_size: 1000}}\n",
    ),
    Mistake::new("fsync-reads", "fsync without writes", disk!("    fsync_every: 32\n")),
    Mistake::new(
        "own-create-read",
        "empty files where files are read as a whole",
        "targets: {disk: file:///mnt/data}\nworkloads: {w: {works_on: own, ops: {create: 50%, read-file: 50%}}}\n",
    ),
    Mistake::new(
        "own-read",
        "blocks of a data set that is not there",
        "targets: {disk: file:///mnt/data}\nworkloads: {w: {works_on: own, ops: {write-file: 50%, read: 50%}}}\n",
    ),
    Mistake::new(
        "batch-size-alone",
        "batch size without batch deletes",
        store!("    ops: put\n    batch_size: 10\n"),
    ),
    Mistake::new(
        "batch-size-large",
        "more than 1,000 in a batch",
        store!("    ops: batch-delete\n    batch_size: 1001\n"),
    ),
    Mistake::new("fsync-s3", "fsync on S3", store!("    ops: put\n    fsync_every: 32\n")),
    Mistake::new("sink-file", "dropping data that comes through no socket", disk!("    sink: discard\n")),
    Mistake::new(
        "sink-verify",
        "verifying what is dropped",
        store!("    ops: get\n    verify: true\n    sink: discard\n"),
    ),
    Mistake::new(
        "rate-find",
        "a rate together with a search",
        disk!("    rate: 1000/s\n    find: p99 <= 2 ms\n"),
    ),
    Mistake::new(
        "find-sweep",
        "a search and a load sweep at once",
        disk!("    find: p99 <= 2 ms\n    sweep: auto\n"),
    ),
    Mistake::new(
        "verify-zipf",
        "verified writes with favourites",
        written!("    verify: true\n    access: {zipf: 1.1}\n"),
    ),
    Mistake::new(
        "verify-sizes",
        "verified writes of several sizes",
        written!("    verify: true\n    block_size: {4KiB: 60%, 64KiB: 40%}\n"),
    ),
    Mistake::new(
        "verify-lanes",
        "verified writes with more lanes than blocks",
        written!("    verify: true\n    file_size: 64KiB\n    queue_depth: 32\n"),
    ),
    Mistake::new(
        "verify-trim",
        "verifying what is trimmed meanwhile",
        "targets: {disk: file:///mnt/data}\nworkloads:\n  trims:\n    ops: {read: 50%, trim: 50%}\n    verify: true\n",
    ),
    Mistake::new(
        "files-and-objects",
        "files and objects in one workload",
        "targets: {t: 'sim:'}\nworkloads: {both: {ops: {write: 50%, put: 50%}}}\n",
    ),
    Mistake::new(
        "verify-stage",
        "a verify stage after unverified writes",
        written!("stages: {verify: true}\n"),
    ),
    Mistake::new(
        "verify-keep",
        "verified writes to data that is kept",
        "targets: {disk: {url: file:///mnt/data, directory: bench}}
workloads:
  randwrite: {ops: write, verify: true}
stages: {prepare: keep}
",
    ),
    Mistake::new(
        "keep-nothing",
        "keeping data in a directory that does not stay",
        disk!("stages: {prepare: keep}\n"),
    ),
    Mistake::new(
        "verify-nothing",
        "verifying although nothing is read",
        written!("    verify: true\nstages: {verify: false}\n"),
    ),
    Mistake::new(
        "prepare-verify",
        "verifying puts without preparation",
        store!("    ops: put\n    verify: true\nstages: {prepare: none}\n"),
    ),
    Mistake::new(
        "sizes-two",
        "two distributions of file sizes",
        disk!("    file_size: {exponential: 64KiB, shares: {4KiB: 100%}}\n"),
    ),
    Mistake::new(
        "sizes-sigma",
        "a lognormal distribution without its sigma",
        disk!("    file_size: {lognormal: {median: 16KiB}}\n"),
    ),
    Mistake::new(
        "sizes-block",
        "file sizes on a block device",
        "targets: {d: 'block:///dev/x'}\nworkloads: {r: {ops: read, file_size: {exponential: 1MiB}}}\n",
    ),
    Mistake::new(
        "sizes-direct",
        "direct I/O on files of any size",
        "targets: {disk: {url: file:///mnt/data, direct: true}}\nworkloads: {r: {ops: read, file_size: {exponential: 1MiB}}}\n",
    ),
    Mistake::new("prepare-none", "reading without preparation", disk!("stages: {prepare: none}\n")),
];
