//! Mistakes in the file itself: YAML, sections, names.

use crate::Mistake;

pub const ALL: &[Mistake] = &[
    Mistake::new("empty", "an empty file", ""),
    Mistake::new("only-comments", "nothing but comments", "# later\n# more\n"),
    Mistake::new("not-a-map", "a list at the top", "- read\n- write\n"),
    Mistake::new(
        "tab",
        "a tab for indentation",
        "targets:\n\tdisk: file:///mnt/data\nworkloads:\n  randread: {ops: read}\n",
    ),
    Mistake::new(
        "unclosed-bracket",
        "a bracket that is not closed",
        "targets: {disk: file:///mnt/data\nworkloads:\n  randread: {ops: read}\n",
    ),
    Mistake::new(
        "unclosed-quote",
        "a quote that is not closed",
        "name: 'nightly\ntargets: {disk: file:///mnt/data}\n",
    ),
    Mistake::new(
        "indentation",
        "keys of one map indented differently",
        "targets: {disk: file:///mnt/data}\nworkloads:\n  randread:\n    ops: read\n      jobs: 4\n",
    ),
    Mistake::new(
        "two-documents",
        "two documents in one file",
        "targets: {disk: file:///mnt/data}\nworkloads: {randread: {ops: read}}\n---\nname: second\n",
    ),
    Mistake::new("unknown-alias", "an alias without its anchor", disk!("    <<: *common\n")),
    Mistake::new("merge-no-map", "a merge of something that is no map", disk!("    <<: common\n")),
    Mistake::new(
        "duplicate-key",
        "a key given twice",
        disk!("    jobs: 2\n    queue_depth: 4\n    jobs: 4\n"),
    ),
    Mistake::new("key-is-a-list", "a key that is no word", disk!("    [a, b]: 2\n")),
    Mistake::new(
        "unknown-section",
        "a misspelt key at the top",
        "targets: {disk: file:///mnt/data}\nworkload:\n  randread: {ops: read}\n",
    ),
    Mistake::new(
        "workload-key-at-top",
        "a workload's key at the top",
        "targets: {disk: file:///mnt/data}\nworkloads: {randread: {ops: read}}\nqueue_depth: 32\n",
    ),
    Mistake::new(
        "fio-at-top",
        "fio's word at the top",
        "targets: {disk: file:///mnt/data}\nworkloads: {randread: {ops: read}}\nnumjobs: 4\n",
    ),
    Mistake::new(
        "stage-at-top",
        "a stage at the top",
        "targets: {disk: file:///mnt/data}\nworkloads: {randread: {ops: read}}\nwarm_up: 10s\n",
    ),
    Mistake::new("no-targets", "no targets", "workloads: {randread: {ops: read}}\n"),
    Mistake::new("no-workloads", "no workloads", "targets: {disk: file:///mnt/data}\n"),
    Mistake::new(
        "empty-workloads",
        "workloads without any",
        "targets: {disk: file:///mnt/data}\nworkloads: {}\n",
    ),
    Mistake::new(
        "targets-list",
        "a list of targets",
        "targets: [file:///mnt/data]\nworkloads: {randread: {ops: read}}\n",
    ),
    Mistake::new(
        "workload-without-name",
        "a workload without a name",
        "targets: {disk: file:///mnt/data}\nworkloads:\n  ops: read\n",
    ),
    Mistake::new(
        "bad-name",
        "a name with a blank or a point",
        "targets: {disk: file:///mnt/data}\nworkloads:\n  random read: {ops: read}\n",
    ),
    Mistake::new("name-is-a-list", "a list where one value belongs", disk!("name: [a, b]\n")),
    Mistake::new("bad-seed", "a seed that is no number", disk!("seed: lucky\n")),
    Mistake::new("unknown-key", "a misspelt key", disk!("    queue_dept: 32\n")),
    Mistake::new("no-value", "a key without a value", disk!("    queue_depth:\n")),
    Mistake::new(
        "many",
        "several mistakes at once",
        "name: nightly\ntargets:\n  disk: file://mnt/data\nworkloads:\n  randread:\n    ops: red\n    queue_depth: 0\n    block_size: 4 KiBB\n    colour: blue\n",
    ),
];
