//! Every example in `examples/experiments` gives a plan.
#![allow(clippy::unwrap_used)] // a test may fail loudly

use std::path::{Path, PathBuf};

use experiment::{Launcher, Plan, Settings, Sharing, SourceText, parse};

/// The examples, with the settings needed by those that have no defaults.
const SET: &[(&str, &[(&str, &str)])] = &[
    ("block-device.yaml", &[("device", "/dev/nvme1n1")]),
    ("demo-sim.yaml", &[]),
    ("disk-baseline.yaml", &[("target", "file:///mnt/data")]),
    ("existing-tree.yaml", &[]),
    ("fleet-nfs.yaml", &[("server", "10.0.0.10"), ("hosts", "node[01-04]")]),
    ("fleet-s3.yaml", &[]),
    ("fleet-scale.yaml", &[("target", "nfs://filer/export")]),
    ("gluster-creates.yaml", &[("server", "gluster1")]),
    ("gluster.yaml", &[]),
    ("io500-like.yaml", &[]),
    ("iscsi.yaml", &[("portal", "10.0.0.8"), ("iqn", "iqn.2026-01.org.example:lun")]),
    ("latency-search.yaml", &[]),
    ("load-sweep.yaml", &[]),
    ("memcached.yaml", &[]),
    ("network-baseline.yaml", &[("address", "10.0.0.5:9000")]),
    ("nfs-matrix.yaml", &[("server", "filer.example.com")]),
    ("osd-study.yaml", &[]),
    ("provisioned-pool.yaml", &[("admin", "mon1")]),
    ("provisioned-volume.yaml", &[("first", "gluster1"), ("second", "gluster2"), ("third", "gluster3")]),
    ("quick-local.yaml", &[]),
    ("rados.yaml", &[]),
    ("rbd.yaml", &[]),
    ("s3-objects.yaml", &[]),
    ("server-scale.yaml", &[("target", "nfs://filer/export")]),
    ("small-appends.yaml", &[]),
    ("snia-style.yaml", &[("device", "/dev/nvme1n1")]),
    ("storperf-like.yaml", &[]),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/experiments")
}

fn plan(name: &str) -> Plan {
    let text = std::fs::read_to_string(folder().join(name)).unwrap();
    let set =
        SET.iter().find(|(file, _)| *file == name).unwrap_or_else(|| panic!("{name} is not in the list")).1;
    let set: Vec<_> = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    // For files that leave the hosts to the command line.
    let twelve = Launcher::Local { count: 12 };
    let launcher = (name == "fleet-scale.yaml").then_some(&twelve);
    let settings = Settings { set: &set, launcher, ..Settings::of(targets::kinds()) };
    match parse(&SourceText { file: name, text: &text }, &settings) {
        Ok(plan) => plan,
        Err(faults) => panic!("\n{faults}"),
    }
}

#[test]
fn every_example_makes_a_plan() {
    let mut names: Vec<_> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".yaml"))
        .collect();
    names.sort();
    assert_eq!(names, SET.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for name in &names {
        let plan = plan(name);
        assert_eq!(plan.name, name.trim_end_matches(".yaml"));
        for cell in &plan.cells {
            println!("{name} {}", cell.name);
        }
        // What is stored with the results can be read back.
        let json = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan);
    }
}

#[test]
fn the_fleets_of_the_examples_are_as_they_say() {
    let nfs = plan("fleet-nfs.yaml");
    let fleet = nfs.fleet.as_ref().unwrap();
    assert_eq!((fleet.count(), fleet.sharing), (Some(4), Sharing::Neighbour));
    let own = fleet.cell_for(targets::kinds(), &nfs.cells[0], "node02", 1).unwrap();
    assert_eq!(own.target.url, "nfs://10.0.0.10/export");
    let s3 = plan("fleet-s3.yaml");
    let own = s3.fleet.as_ref().unwrap().cell_for(targets::kinds(), &s3.cells[0], "node3", 2).unwrap();
    assert_eq!(own.target.options["connect_to"], "10.0.1.2:443");
    let scale = plan("fleet-scale.yaml");
    let agents: Vec<_> = scale.cells.iter().filter_map(|cell| cell.agents).collect();
    assert_eq!(agents, [1, 2, 4, 8, 12, 1, 2, 4, 8, 12]);
    // Also with a device, which must not be asked for files.
    let text = std::fs::read_to_string(folder().join("disk-baseline.yaml")).unwrap();
    let set = [("target".to_owned(), "block:///dev/nvme1n1".to_owned())];
    let settings = Settings { set: &set, ..Settings::of(targets::kinds()) };
    let baseline = parse(&SourceText { file: "disk-baseline.yaml", text: &text }, &settings);
    assert_eq!(baseline.unwrap_or_else(|faults| panic!("{faults}")).cells.len(), 7);
}

/// The largest allowed matrix is read in a moment, not in minutes.
#[test]
fn the_largest_matrix_is_read() {
    let list = |n: u64| (1..=n).map(|value| value.to_string()).collect::<Vec<_>>().join(", ");
    let text = format!(
        "targets: {{t: 'null:'}}\nworkloads: {{w: {{ops: read}}}}\nmatrix: {{queue_depth: [{}], jobs: [{}], order: shuffled}}\n",
        list(1000),
        list(100)
    );
    let plan = parse(&SourceText { file: "f", text: &text }, &Settings::of(targets::kinds())).unwrap();
    assert_eq!(plan.cells.len(), 100_000);
    assert_eq!(plan.data_sets(targets::kinds()).len(), 1);
    let mut points: Vec<_> = plan.cells.iter().map(|cell| &cell.name).collect();
    points.sort();
    points.dedup();
    assert_eq!(points.len(), 100_000);
}

/// Complete files in the guide are valid, also with the matrix that the guide adds.
#[test]
fn the_files_of_the_guide_are_right() {
    let guide = std::fs::read_to_string(folder().join("../../docs/experiments.md")).unwrap();
    let blocks: Vec<&str> =
        guide.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let whole: Vec<&&str> =
        blocks.iter().filter(|text| text.contains("targets:") && text.contains("workloads:")).collect();
    assert_eq!(whole.len(), 7, "{blocks:?}");
    let matrix = blocks.iter().find(|text| text.starts_with("matrix:")).unwrap();
    for (text, cells) in [
        (whole[0].to_string(), 1),
        (whole[1].to_string(), 3),
        (format!("{}{matrix}", whole[1]), 54),
        (whole[2].to_string(), 1),
        (whole[3].to_string(), 1),
        (whole[4].to_string(), 2),
        (whole[5].to_string(), 4),
        (whole[6].to_string(), 5),
    ] {
        match parse(&SourceText { file: "guide.yaml", text: &text }, &Settings::of(targets::kinds())) {
            Ok(plan) => assert_eq!(plan.cells.len(), cells),
            Err(faults) => panic!("\n{faults}\n{text}"),
        }
    }
    // And the one on the fleet page.
    let page = std::fs::read_to_string(folder().join("../../docs/fleet.md")).unwrap();
    let parts: Vec<&str> =
        page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let first = parse(&SourceText { file: "read.yaml", text: parts[0] }, &Settings::of(targets::kinds()));
    assert_eq!(first.unwrap_or_else(|faults| panic!("{faults}")).fleet.unwrap().count(), Some(12));
    let variables = format!("{}workloads: {{r: {{target: filer, ops: read}}}}\n", parts[1]);
    let second = parse(&SourceText { file: "read.yaml", text: &variables }, &Settings::of(targets::kinds()));
    assert!(second.is_ok(), "{second:?}");
    for scale in parts[2].lines() {
        let text = format!("{}{scale}\n", parts[0]);
        let third = parse(&SourceText { file: "read.yaml", text: &text }, &Settings::of(targets::kinds()));
        assert!(third.is_ok(), "{third:?}");
    }
    // Every form of a rate that the guide shows.
    let rates = blocks.iter().find(|text| text.starts_with("rate:")).unwrap();
    for rate in rates.lines() {
        let text = format!("targets: {{t: 'null:'}}\nworkloads:\n  w:\n    ops: read\n    {rate}\n");
        assert!(
            parse(&SourceText { file: "guide.yaml", text: &text }, &Settings::of(targets::kinds())).is_ok(),
            "{rate}"
        );
    }
}
