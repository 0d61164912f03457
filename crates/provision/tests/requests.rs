//! The requests sent in each version, compared with those of the vendor's SDKs.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use provision::{ApiSecret, BucketAccess, ExportProtocol, ProvisionError, Targets, Want, Wanted};
use serde_json::json;
use support::store::Store;
use support::{Fake, Scene};

/// Creates and removes everything in one API version; returns the requests.
fn whole_run(version: &str) -> Vec<String> {
    let store = Store::default();
    let shared = store.clone();
    let fake = Fake::logged_in(&[version], move |seen| shared.answer(seen));
    let scene = Scene::new();
    let mut session = scene.open(&fake.management()).unwrap();
    let targets = session.create(&Wanted::both()).unwrap();
    assert_eq!(
        targets,
        Targets {
            export: Some("/manometer-abcdefgh".into()),
            bucket: Some(BucketAccess {
                bucket: "manometer-abcdefgh".into(),
                access_key: "PSFBKEY".into(),
                secret_key: ApiSecret::new("the-secret-key"),
            }),
        }
    );
    assert_eq!(store.listing().len(), 5);
    let text = scene.text();
    assert!(!text.contains("the-secret-key") && !text.contains(support::TOKEN), "{text}");
    session.remove().unwrap();
    assert_eq!(store.listing(), [""; 0]);
    session.remove().unwrap();
    session.close().unwrap();
    scene.run.finish().unwrap();
    assert!(!scene.run.path().exists());
    let lines = fake.lines();
    let seen = fake.seen();
    assert_eq!(seen[1].header("api-token"), Some(support::TOKEN));
    assert!(seen[1].header("x-auth-token").is_none());
    for seen in &seen[2..] {
        assert_eq!(seen.header("x-auth-token"), Some("session-1"), "{}", seen.head);
        assert!(seen.header("api-token").is_none());
    }
    lines
}

#[test]
fn everything_in_the_newest_version_of_the_second_generation() {
    assert_eq!(
        whole_run("2.29"),
        [
            r#"GET /api/2.29/file-systems?names=manometer-abcdefgh"#,
            r#"POST /api/2.29/file-systems?names=manometer-abcdefgh {"nfs":{"rules":"*(rw,no_root_squash)","v3_enabled":true}}"#,
            r#"GET /api/2.29/object-store-accounts?names=manometer-abcdefgh"#,
            r#"POST /api/2.29/object-store-accounts?names=manometer-abcdefgh"#,
            r#"GET /api/2.29/object-store-users?names=manometer-abcdefgh%2Fmanometer-abcdefgh"#,
            r#"POST /api/2.29/object-store-users?names=manometer-abcdefgh%2Fmanometer-abcdefgh&full_access=true"#,
            r#"POST /api/2.29/object-store-access-keys {"user":{"name":"manometer-abcdefgh/manometer-abcdefgh"}}"#,
            r#"GET /api/2.29/buckets?names=manometer-abcdefgh"#,
            r#"POST /api/2.29/buckets?names=manometer-abcdefgh {"account":{"name":"manometer-abcdefgh"}}"#,
            r#"GET /api/2.29/buckets?names=manometer-abcdefgh"#,
            r#"PATCH /api/2.29/buckets?names=manometer-abcdefgh {"destroyed":true}"#,
            r#"DELETE /api/2.29/buckets?names=manometer-abcdefgh"#,
            r#"GET /api/2.29/object-store-users?names=manometer-abcdefgh%2Fmanometer-abcdefgh"#,
            r#"DELETE /api/2.29/object-store-access-keys?names=PSFBKEY"#,
            r#"DELETE /api/2.29/object-store-users?names=manometer-abcdefgh%2Fmanometer-abcdefgh"#,
            r#"GET /api/2.29/object-store-accounts?names=manometer-abcdefgh"#,
            r#"DELETE /api/2.29/object-store-accounts?names=manometer-abcdefgh"#,
            r#"GET /api/2.29/file-systems?names=manometer-abcdefgh"#,
            r#"PATCH /api/2.29/file-systems?names=manometer-abcdefgh {"nfs":{"v3_enabled":false}}"#,
            r#"PATCH /api/2.29/file-systems?names=manometer-abcdefgh {"destroyed":true}"#,
            r#"DELETE /api/2.29/file-systems?names=manometer-abcdefgh"#,
        ]
    );
}

#[test]
fn the_first_generation_names_file_systems_in_its_own_way() {
    let lines = whole_run("1.12");
    assert_eq!(lines.len(), 21);
    for expected in [
        r#"POST /api/1.12/file-systems {"name":"manometer-abcdefgh","nfs":{"rules":"*(rw,no_root_squash)","v3_enabled":true}}"#,
        r#"POST /api/1.12/object-store-users?names=manometer-abcdefgh%2Fmanometer-abcdefgh&full_access=true"#,
        r#"PATCH /api/1.12/file-systems?name=manometer-abcdefgh {"destroyed":true}"#,
        r#"DELETE /api/1.12/file-systems?name=manometer-abcdefgh"#,
        r#"PATCH /api/1.12/buckets?names=manometer-abcdefgh {"destroyed":true}"#,
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected} is missing in {lines:#?}");
    }
}

#[test]
fn old_versions_get_only_what_they_know() {
    let lines = whole_run("1.5");
    for expected in [
        r#"POST /api/1.5/file-systems {"name":"manometer-abcdefgh","nfs":{"enabled":true,"rules":"*(rw,no_root_squash)"}}"#,
        r#"POST /api/1.5/object-store-users?names=manometer-abcdefgh%2Fmanometer-abcdefgh"#,
        r#"PATCH /api/1.5/file-systems?name=manometer-abcdefgh {"nfs":{"enabled":false}}"#,
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected} is missing in {lines:#?}");
    }
    assert!(whole_run("1.6").iter().any(|line| line.contains("v3_enabled")));
    assert!(whole_run("2.0").iter().any(|line| line.contains("full_access=true")));
}

#[test]
fn versions_without_what_is_needed_are_refused_before_anything_is_made() {
    for (version, wanted, names) in [
        ("1.0", Wanted { filesystem: Some(Want::Create), bucket: None, ..Wanted::default() }, "1.1"),
        ("1.4", Wanted { filesystem: None, bucket: Some(Want::Create), ..Wanted::default() }, "1.5"),
    ] {
        let fake = Fake::logged_in(&[version], |_| panic!("nothing should be asked"));
        let scene = Scene::new();
        let error = scene.open(&fake.management()).unwrap().create(&wanted).unwrap_err().to_string();
        assert!(error.contains(version) && error.contains(names) && error.contains("next:"), "{error}");
    }
    let fake = Fake::logged_in(&["1.2"], |_| panic!("nothing should be asked"));
    let error = Scene::new().open(&fake.management()).unwrap().data_addresses().unwrap_err().to_string();
    assert!(error.contains("1.3"), "{error}");
}

#[test]
fn an_existing_bucket_gets_a_user_of_ours_in_its_account_and_an_existing_file_system_nothing() {
    let store = Store::default();
    store.put("file-systems", json!({ "name": "theirs", "nfs": { "v3_enabled": true } }));
    store.put("buckets", json!({ "name": "data", "account": { "name": "dept" } }));
    let before = store.listing();
    let shared = store.clone();
    let fake = Fake::logged_in(&["2.4"], move |seen| shared.answer(seen));
    let scene = Scene::new();
    let mut session = scene.open(&fake.management()).unwrap();
    let wanted = Wanted {
        filesystem: Some(Want::Existing("theirs".into())),
        bucket: Some(Want::Existing("data".into())),
        ..Wanted::default()
    };
    let targets = session.create(&wanted).unwrap();
    assert_eq!(targets.export.as_deref(), Some("/theirs"));
    assert_eq!(targets.bucket.unwrap().bucket, "data");
    assert_eq!(
        scene.run.remaining(),
        ["object store user dept/manometer-abcdefgh", "access key of dept/manometer-abcdefgh"]
    );
    session.remove().unwrap();
    assert_eq!(store.listing(), before);
}

#[test]
fn an_existing_file_system_is_used_whichever_names_the_api_has_for_its_protocols() {
    for (version, nfs) in [
        ("1.5", json!({ "enabled": true })),
        ("1.6", json!({ "enabled": true, "v3_enabled": true, "v4_1_enabled": false })),
        ("1.12", json!({ "enabled": true, "v3_enabled": true, "v4_1_enabled": false })),
        ("2.29", json!({ "v3_enabled": true, "v4_1_enabled": false })),
    ] {
        let store = Store::default();
        store.put("file-systems", json!({ "name": "theirs", "nfs": nfs }));
        let fake = Fake::logged_in(&[version], move |seen| store.answer(seen));
        let mut session = Scene::new().open(&fake.management()).unwrap();
        let mut ask = |over| {
            let filesystem = Some(Want::Existing("theirs".into()));
            session.create(&Wanted { filesystem, export_protocol: over, bucket: None })
        };
        assert_eq!(ask(ExportProtocol::Nfs3).unwrap().export.as_deref(), Some("/theirs"), "{version}");
        let refused = ask(ExportProtocol::Nfs4_1).unwrap_err().to_string();
        assert!(refused.contains("not exported over NFSv4.1"), "{version}: {refused}");
    }
}

/// The request that makes a file system over this protocol, with this version of the API.
fn made_over(version: &str, over: ExportProtocol) -> Result<String, ProvisionError> {
    let store = Store::default();
    let fake = Fake::logged_in(&[version], move |seen| store.answer(seen));
    let wanted = Wanted { filesystem: Some(Want::Create), export_protocol: over, bucket: None };
    Scene::new().open(&fake.management())?.create(&wanted)?;
    let made = fake
        .seen()
        .into_iter()
        .find(|seen| seen.head.starts_with("POST") && seen.head.contains("/file-systems"));
    Ok(made.unwrap().body.to_string())
}

#[test]
fn the_version_of_nfs_that_is_wanted_is_turned_on_and_no_other() {
    for version in ["1.6", "2.29"] {
        let three = made_over(version, ExportProtocol::Nfs3).unwrap();
        assert!(three.contains(r#""v3_enabled":true"#) && !three.contains("v4_1"), "{three}");
        let four = made_over(version, ExportProtocol::Nfs4_1).unwrap();
        assert!(four.contains(r#""v4_1_enabled":true"#) && !four.contains("v3"), "{four}");
    }
    let refused = made_over("1.5", ExportProtocol::Nfs4_1).unwrap_err().to_string();
    assert!(refused.contains("NFSv4.1") && refused.contains("1.6"), "{refused}");
}

#[test]
fn a_named_target_that_does_not_fit_is_named() {
    let store = Store::default();
    store.put("file-systems", json!({ "name": "smb", "nfs": { "v3_enabled": false } }));
    store.put("file-systems", json!({ "name": "dying", "destroyed": true, "nfs": { "v3_enabled": true } }));
    store.put("file-systems", json!({ "name": "new", "nfs": { "v3_enabled": false, "v4_1_enabled": true } }));
    let fake = Fake::logged_in(&["2.4"], move |seen| store.answer(seen));
    let (three, four) = (ExportProtocol::Nfs3, ExportProtocol::Nfs4_1);
    for (name, over, why) in [
        ("smb", three, "not exported over NFSv3"),
        ("new", three, "not exported over NFSv3"),
        ("dying", three, "destroyed"),
        ("dying", four, "destroyed"),
        ("smb", four, "not exported over NFSv4.1"),
        ("none", three, "does not exist"),
    ] {
        let wanted =
            Wanted { filesystem: Some(Want::Existing(name.into())), export_protocol: over, bucket: None };
        let error = Scene::new().open(&fake.management()).unwrap().create(&wanted).unwrap_err().to_string();
        assert!(
            error.contains(&format!("file system {name}")) && error.contains(why) && error.contains("next:"),
            "{error}"
        );
    }
}
