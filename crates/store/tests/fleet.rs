//! Hosts of a fleet: their series beside the combined one, their samples, baselines, and files from before hosts
//! existed.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use metrics::Interval;
use rusqlite::Connection;
use stats::Measure;
use store::{BaselineContent, HOSTS_KEPT, SAMPLES_KEPT, Store, StoreError};
use support::engine::Results;
use support::{HOSTS, baselines, fleet_result, fleet_run, interval, matrix, moment, run};

fn of_host(store: &Store, host: &str) -> Vec<Interval> {
    let kept = store.host_intervals("fffftttt", 0, ("measure", 0, host), 0..u32::MAX).unwrap();
    kept.map(Result::unwrap).collect()
}

#[test]
fn each_host_has_a_series_of_its_own_beside_the_whole() {
    let results = Results::new();
    drop(results.sample());
    let store = results.open();
    assert_eq!(store.run("fffftttt").unwrap().hosts, fleet_run().hosts);
    assert_eq!(store.cells("fffftttt").unwrap()[0].result, Some(fleet_result()));
    assert_eq!(store.host_series("fffftttt", 0).unwrap(), HOSTS);
    assert!(store.host_series("aaaabbb2", 0).unwrap().is_empty());
    for (index, host) in HOSTS.iter().enumerate() {
        assert_eq!(
            of_host(&store, host),
            (0..3).map(|n| interval(n + 10 * index as u32)).collect::<Vec<_>>()
        );
    }
    let whole: Vec<_> =
        store.intervals("fffftttt", 0, "measure", 0, 0..9).unwrap().map(Result::unwrap).collect();
    assert_eq!(whole, (0..3).map(interval).collect::<Vec<_>>());
    let stages = store.stages("fffftttt", 0).unwrap();
    assert_eq!(stages.len(), 1, "{stages:?}: those of hosts are no stages of their own");
    assert_eq!(store.sampled_hosts("fffftttt", 0).unwrap().len(), 3);
    let samples = store.samples("fffftttt", 0, HOSTS[1]).unwrap();
    assert_eq!(samples.iter().map(|sample| sample.at_ns / 1_000_000_000).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(samples[2].value, serde_json::json!({"cpu": 0.25, "second": 2}));
    // The views distinguish them.
    let count = |sql: &str| results.count(sql);
    assert_eq!(count("SELECT count(*) FROM series WHERE run = 'fffftttt'"), 3 * 2);
    assert_eq!(count("SELECT count(DISTINCT host) FROM host_series WHERE run = 'fffftttt'"), 3);
    assert_eq!(count("SELECT count(*) FROM host_figures WHERE run = 'fffftttt' AND lost IS NOT NULL"), 1);
}

#[test]
fn a_cell_that_begins_anew_or_is_forgotten_leaves_nothing_of_its_hosts() {
    let results = Results::new();
    let store = results.sample();
    store.begin_cell("fffftttt", 0, moment(0)).unwrap();
    assert!(store.host_series("fffftttt", 0).unwrap().is_empty());
    assert!(store.sampled_hosts("fffftttt", 0).unwrap().is_empty());
    // Hosts of the next attempt come first; those that other cells' results refer to stay.
    let renewed = store::HostRecord { name: "db9".into(), ..Default::default() };
    store.keep_hosts("fffftttt", &[renewed]).unwrap();
    let names: Vec<String> = store.run("fffftttt").unwrap().hosts.into_iter().map(|host| host.name).collect();
    assert_eq!(names, ["db9", "db1", "db2", HOSTS[2]]);
    store.forget("fffftttt").unwrap();
    for table in ["hosts", "host_environment", "samples"] {
        assert_eq!(results.count(&format!("SELECT count(*) FROM {table}")), 0, "{table}");
    }
}

#[test]
fn samples_are_thinned_evenly_and_never_more_than_there_is_room_for() {
    let results = Results::new();
    let store = results.open();
    store.begin_run(&run("aaaabbb2", "long")).unwrap();
    let mut writer = store.writer("aaaabbb2").unwrap();
    let seconds = SAMPLES_KEPT * 2 + 10;
    for second in 0..seconds {
        writer.sample(0, "db1", u64::from(second), &second).unwrap();
    }
    writer.finish().unwrap();
    let kept = store.samples("aaaabbb2", 0, "db1").unwrap();
    assert!(kept.len() <= SAMPLES_KEPT as usize && kept.len() > SAMPLES_KEPT as usize / 2, "{}", kept.len());
    assert_eq!(kept[0].at_ns, 0);
    assert!(kept.windows(2).all(|pair| pair[1].at_ns - pair[0].at_ns == 4), "every fourth");
    assert_eq!(kept.last().unwrap().at_ns, u64::from((seconds - 1) / 4 * 4));
}

#[test]
fn the_spread_names_the_slowest_and_leaves_the_lost_out() {
    let fleet = fleet_result().fleet.unwrap();
    let of = |measure| fleet.spread.iter().find(|spread| spread.measure == measure).unwrap();
    let rate = of(Measure::BytesPerS);
    assert_eq!((rate.least, rate.greatest, rate.mean), (2_048_000.0, 4_096_000.0, 3_072_000.0));
    assert_eq!(rate.slowest, "db2");
    assert!((rate.variation - 0.471_404_520_791).abs() < 1e-9, "{}", rate.variation);
    assert_eq!(of(Measure::OpsPerS).variation, 0.0);
    assert_eq!((fleet.start_skew_ns, fleet.skew_uncertainty_ns), (3000, 41_000));
    assert!(HOSTS_KEPT >= HOSTS.len());
}

#[test]
fn baselines_are_kept_replaced_found_and_forgotten() {
    let results = Results::new();
    let store = results.sample();
    assert_eq!(store.baselines().unwrap(), baselines());
    let disks = store.baseline("disks").unwrap();
    let cell = "mixed block_size=4KiB";
    assert_eq!(disks.bytes_per_s(cell, None), Some(4_096_000.0));
    assert_eq!(disks.bytes_per_s(cell, Some("db2")), Some(2_048_000.0));
    assert_eq!(disks.bytes_per_s("another", Some("db2")), Some(2_048_000.0), "the cell that moved most");
    assert_eq!(disks.bytes_per_s(cell, Some(HOSTS[2])), None, "it was lost");
    let network = store.baseline("network of rack 7").unwrap();
    assert_eq!(network.content, BaselineContent::Network(matrix()));
    assert_eq!(network.bytes_per_s(cell, Some("db1")), Some(1.2e9));
    assert_eq!(network.bytes_per_s(cell, None), Some(2.4e9));
    // It outlives its run.
    store.forget("fffftttt").unwrap();
    let replaced = store::Baseline { content: network.content, ..disks };
    store.save_baseline(&replaced).unwrap();
    assert_eq!(store.baseline("disks").unwrap(), replaced);
    store.forget_baseline("disks").unwrap();
    let line = store.baseline("disks").unwrap_err().to_string();
    assert!(line.contains("network of rack 7") && line.contains("next: "), "{line}");
    assert!(matches!(store.forget_baseline("disks"), Err(StoreError::NoBaseline { .. })));
    for name in ["", " ", "a\nb", &"x".repeat(101)] {
        let line =
            store.save_baseline(&store::Baseline { name: name.into(), ..replaced.clone() }).unwrap_err();
        assert!(line.to_string().contains("next: "), "{line}");
    }
}

/// A read-only archive in the layout without hosts.
#[test]
fn an_older_file_that_cannot_be_written_is_read_as_it_lies_there() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.sqlite");
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/results/v1.sqlite");
    fs::copy(old, &path).unwrap();
    let before = fs::read(&path).unwrap();
    let allow = |mode| fs::set_permissions(directory.path(), fs::Permissions::from_mode(mode)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    allow(0o555);
    let store = Store::open_existing(&path);
    allow(0o755);
    let store = store.unwrap();
    assert!(store.run("last").unwrap().hosts.is_empty());
    let measured = store.intervals("aaaabbb2", 1, "measure", 0, 0..u32::MAX).unwrap();
    assert_eq!(measured.map(Result::unwrap).collect::<Vec<_>>(), (0..5).map(interval).collect::<Vec<_>>());
    assert!(store.host_series("aaaabbb2", 1).unwrap().is_empty());
    assert!(store.sampled_hosts("aaaabbb2", 1).unwrap().is_empty());
    assert!(store.baselines().unwrap().is_empty());
    assert_eq!(store.stages("aaaabbb2", 1).unwrap().len(), 3);
    drop(store);
    // A process that may write anything has migrated it; any other has not.
    let connection = Connection::open(&path).unwrap();
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    drop(connection);
    assert!(version == store::VERSION || fs::read(&path).unwrap() == before);
}
