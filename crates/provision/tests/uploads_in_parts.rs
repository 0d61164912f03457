//! Whether unfinished uploads may lie on a place, as the journal remembers it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use provision::S3Place;
use serde_json::json;
use support::Scene;

fn s3_place(bucket: &str) -> S3Place {
    S3Place {
        endpoint: "http://127.0.0.1:9000".into(),
        connect_to: None,
        bucket: bucket.into(),
        prefix: "manometer-abcdefgh/".into(),
        region: "us-east-1".into(),
        path_style: true,
        ca_file: None,
        insecure: false,
        credentials_file: None,
        profile: None,
        may_have_parts: false,
    }
}

#[test]
fn a_prefix_where_parts_may_lie_stays_one_whatever_is_put_later() {
    let small = s3_place("bucket");
    let large = S3Place { may_have_parts: true, ..small.clone() };
    let scene = Scene::new();
    let first = scene.run.objects(&small).unwrap();
    assert_eq!(scene.run.objects(&small).unwrap(), first, "it is known");
    assert!(!scene.run.objects_may_have_parts(&small));
    let second = scene.run.objects(&large).unwrap();
    assert_ne!(second, first);
    assert_eq!(scene.run.objects(&small).unwrap(), second, "small objects do not undo it");
    assert!(scene.run.objects_may_have_parts(&small));
    assert_eq!(scene.run.remaining().len(), 1, "{:?}", scene.run.remaining());
    // A journal of an earlier version does not say.
    let place: S3Place = serde_json::from_value(json!({
        "endpoint": "http://h", "connect_to": null, "bucket": "b", "prefix": "p/", "region": "r", "path_style": true,
        "ca_file": null, "insecure": false, "credentials_file": null, "profile": null
    }))
    .unwrap();
    assert!(place.may_have_parts);
    scene.run.removed(second).unwrap();
    assert!(scene.run.remaining().is_empty());
}
