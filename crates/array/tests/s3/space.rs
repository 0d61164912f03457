//! The space that objects use, and behaviour when there is none.

use array::Config;
use array::faults::FaultPlan;
use serde_json::{Value, json};

use super::Stage;

const MIB: usize = 1 << 20;

#[test]
fn a_full_array_says_so_and_stores_nothing() {
    let stage = Stage::new(Config { capacity_bytes: 3 * MIB as u64, ..Config::loopback() });
    assert_eq!(stage.s3("PUT", "/bucket/a", &vec![1; 2 * MIB]).status, 200);
    let refused = stage.s3("PUT", "/bucket/b", &vec![2; 2 * MIB]);
    assert_eq!(refused.status, 507);
    assert!(refused.text().contains("<Code>InsufficientStorage</Code>"), "{}", refused.text());
    assert_eq!(stage.array.capacity().used(), 2 * MIB as u64);
    assert_eq!(stage.s3("PUT", "/bucket/b", &vec![2; MIB]).status, 200);
    assert_eq!(stage.s3("DELETE", "/bucket/a", b"").status, 204);
    assert_eq!(stage.s3("PUT", "/bucket/c", &vec![3; 2 * MIB]).status, 200);
}

#[test]
fn the_fault_fills_the_array_and_empties_it_again() {
    let stage = Stage::new(Config {
        faults: FaultPlan { full_disk: true, ..FaultPlan::default() },
        ..Config::loopback()
    });
    assert_eq!(stage.s3("PUT", "/bucket/a", b"x").status, 507);
    assert_eq!(stage.s3("PUT", "/bucket/empty", b"").status, 200);
    stage.array.faults().set(FaultPlan::default());
    assert_eq!(stage.s3("PUT", "/bucket/a", b"x").status, 200);
}

#[test]
fn replacing_takes_the_room_of_one() {
    let stage = Stage::new(Config::loopback());
    for length in [MIB, 10, 2 * MIB] {
        assert_eq!(stage.s3("PUT", "/bucket/a", &vec![1; length]).status, 200);
        assert_eq!(stage.array.capacity().used(), length as u64);
    }
}

#[test]
fn a_destroyed_bucket_is_gone_for_s3_and_eradicated_with_what_is_in_it() {
    let stage = Stage::new(Config::loopback());
    stage.s3("PUT", "/bucket/a", &vec![1; MIB]);
    stage.manage("PATCH", "buckets?names=bucket", &json!({ "destroyed": true }));
    let gone = stage.s3("GET", "/bucket/a", b"");
    assert!(gone.status == 404 && gone.text().contains("NoSuchBucket"));
    assert_eq!(stage.bucket()["objects"], 1);
    stage.manage("PATCH", "buckets?names=bucket", &json!({ "destroyed": false }));
    assert_eq!(stage.s3("GET", "/bucket/a", b"").status, 200);
    stage.manage("PATCH", "buckets?names=bucket", &json!({ "destroyed": true }));
    stage.manage("DELETE", "buckets?names=bucket", &Value::Null);
    assert_eq!(stage.array.capacity().used(), 0);
}

#[test]
fn files_and_objects_share_the_space() {
    let stage = Stage::new(Config { capacity_bytes: 3 * MIB as u64, ..Config::loopback() });
    // As if files used it: management shows the same number.
    stage.array.capacity().take(2 * MIB as u64).unwrap();
    assert_eq!(stage.s3("PUT", "/bucket/a", &vec![1; 2 * MIB]).status, 507);
    stage.array.capacity().give_back(2 * MIB as u64);
    assert_eq!(stage.s3("PUT", "/bucket/a", &vec![1; 2 * MIB]).status, 200);
}
