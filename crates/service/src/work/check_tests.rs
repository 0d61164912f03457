//! Requests for checks: what is read, what is refused, and that secrets stay out of the text.

use checks::CephRequest;
use experiment::Via;
use serde_json::json;

use super::*;
use crate::policy::ALLOW_COMMAND;
use crate::problem::Problem;

fn posted(body: Value) -> Result<NewWork, FieldFault> {
    let Value::Object(fields) = body else { panic!("a body is an object") };
    NewWork::check(fields)
}

fn read_back(body: Value) -> Result<CheckRequest, FieldFault> {
    let work = posted(body)?;
    request(&work.text, &work.secrets, &RequestPolicy::default())
}

#[test]
fn a_demonstration_has_the_defaults_of_the_command_line() {
    let found = read_back(json!({ "demo": true })).unwrap();
    let usual = CheckInput::new(CheckSource::Demo);
    let usual = usual.into_request(STYLE, RecordOptions::default(), None, PathBuf::new()).unwrap();
    assert_eq!(format!("{found:?}"), format!("{usual:?}"));
}

#[test]
fn options_are_those_of_the_command_line() {
    let found = read_back(json!({
        "nfs": ["nfs://10.0.0.1/a"], "duration": "10s", "lanes": 2, "workers": 1, "connections": 1, "verify": true,
        "block_size": "64KiB", "dataset": "8MiB", "nfs_version": "4.1", "nfs_port": 2049, "uid": 7, "stable": true,
        "data_vip": ["10.0.0.2", "fd00::1"], "no_probe": true, "connect_timeout": "3s", "reactor": "epoll",
    }))
    .unwrap();
    let load = &found.load;
    assert_eq!((load.window, load.ramp), (Duration::from_secs(10), Duration::from_secs(2)));
    assert_eq!((load.lanes, load.workers, load.block_size, load.dataset), (2, 1, 64 << 10, 8 << 20));
    assert!(load.sink == Sink::Verify && !load.probe && found.data_vips.len() == 2);
    let nfs = found.access.iter().find(|access| access.checked).unwrap();
    let option = |name: &str| nfs.options.get(name).map(String::as_str);
    assert_eq!((nfs.port, option("uid"), option("version")), (Some(2049), Some("7"), Some("4.1")));
    assert_eq!((option("connections"), option("stable")), (Some("1"), Some("true")));
}

#[test]
fn secrets_are_neither_in_the_text_nor_in_what_is_shown() {
    let body = json!({
        "array": { "management": "array1", "token": "canary-token", "bucket": "b", "tls_insecure": true },
    });
    let array = posted(body).unwrap();
    assert_eq!(
        array.text, r#"{"array":{"bucket":"b","management":"array1","tls_insecure":true}}"#,
        "what was posted but for the token"
    );
    let body = json!({
        "s3": ["s3://b?endpoint=http://h"],
        "keys": { "s3": { "id": "me", "secret": "canary-secret", "token": "canary-session" } },
    });
    let bucket = posted(body).unwrap();
    assert_eq!(bucket.text, r#"{"s3":["s3://b?endpoint=http://h"]}"#);
    for work in [array, bucket] {
        assert!(!work.secrets.is_empty() && !format!("{work:?}").contains("canary"), "{work:?}");
        assert!(request(&work.text, &work.secrets, &RequestPolicy::default()).is_ok());
        let without = request(&work.text, &RunSecrets::default(), &RequestPolicy::default()).err().unwrap();
        assert!(["array.token", "keys.s3"].contains(&&*without.field), "{without:?}");
    }
}

#[test]
fn the_key_identifies_a_request_and_its_secret_does_not() {
    let with = |id: &str, secret: &str| {
        let keys = json!({ "s3": { "id": id, "secret": secret } });
        posted(json!({ "s3": ["s3://b?endpoint=http://h"], "keys": keys })).unwrap().digest()
    };
    assert_eq!(with("a", "x"), with("a", "y"));
    assert_ne!(with("a", "x"), with("b", "x"));
    let check = posted(json!({ "demo": true })).unwrap();
    assert_ne!(check.digest(), NewWork::experiment(check.text.clone()).digest(), "of another kind");
}

#[test]
fn what_is_wrong_is_named_by_its_field() {
    let array = |more: Value| {
        let mut array = json!({ "management": "h", "token": "t" });
        array.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "array": array })
    };
    let with = |more: Value| {
        let mut body = json!({ "nfs": ["nfs://h/e"] });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    for (body, field, said) in [
        (json!({}), "", "names no storage"),
        (with(json!({ "demo": true })), "", "or several"),
        (with(json!({ "tls_ca": "/etc/passwd" })), "tls_ca", "unknown field"),
        (with(json!({ "results": "/tmp/x" })), "results", "unknown field"),
        (json!({ "nfs": ["file:///etc"] }), "nfs", "begin with nfs://"),
        (json!({ "nfs": ["nfs:///"] }), "nfs", "nfs"),
        (json!({ "s3": ["s3://b?endpoint=http://h&tls_ca=/etc/passwd"] }), "s3", "tls_ca reads files"),
        (
            json!({ "s3": ["s3://b?endpoint=http://h&credentials_file=/etc/x"] }),
            "s3",
            "credentials_file reads",
        ),
        (json!({ "s3": ["s3://b?endpoint=http://h&profile=x"] }), "s3", "profile reads files"),
        (json!({ "s3": ["s3://b?endpoint=http://h"] }), "keys.s3", "is absent"),
        (with(json!({ "keys": { "nfs": { "id": "a", "secret": "b" } } })), "keys.nfs", "only s3"),
        (json!({ "nfs": vec!["nfs://h/e"; 65] }), "nfs", "65 are more than 64"),
        (with(json!({ "skip_nfs": true })), "skip_nfs", "nothing is left"),
        (with(json!({ "duration": "0s" })), "duration", "longer than nothing"),
        (with(json!({ "duration": 60 })), "duration", "a string"),
        (with(json!({ "duration": "2d" })), "duration", "longer than"),
        (with(json!({ "block_size": "1GiB" })), "block_size", "more than 16MiB"),
        (with(json!({ "lanes": 0 })), "lanes", "from 1 to 4096"),
        (with(json!({ "mount_port": 0 })), "mount_port", "from 1 to 65535"),
        (with(json!({ "data_vip": ["nowhere"] })), "data_vip[0]", "cannot be read"),
        (with(json!({ "sink": "file" })), "sink", "`buffer`"),
        (with(json!({ "sink": "discard", "verify": true })), "sink", "contradicts verify"),
        (with(json!({ "s3_tls_fingerprint": "x" })), "s3_tls_fingerprint", "64 hexadecimal"),
        (json!({ "array": { "management": "h" } }), "array.token", "absent"),
        (json!({ "array": { "token": "t" } }), "array", "missing field `management`"),
        (array(json!({ "management": "a b" })), "array.management", "is no address"),
        (array(json!({ "tls_ca": "/x" })), "array.tls_ca", "unknown field"),
        (array(json!({ "call_timeout": "0s" })), "array.call_timeout", "longer than nothing"),
        (array(json!({ "tls_fingerprint": "x", "tls_insecure": true })), "array.tls_insecure", "contradicts"),
        (with(json!({ "ceph": {} })), "", "or several"),
        (json!({ "ceph": {} }), "ceph", "start the service with --allow-command"),
        (json!({ "ceph": { "conf": "/etc/passwd" } }), "ceph.conf", "unknown field"),
        (json!({ "rados": ["rados://p?conf=/etc/passwd"] }), "rados", "conf reads files"),
        (json!({ "rados": ["rados://p"], "skip_rados": true }), "skip_rados", "nothing is left"),
    ] {
        let Err(fault) = read_back(body.clone()) else { panic!("{body} is accepted") };
        assert_eq!(fault.field, field, "{body}: {fault:?}");
        assert!(fault.why.contains(said) && !fault.why.contains('\n'), "{body}: {fault:?}");
        assert!(
            !fault.why.replace(ALLOW_COMMAND, "").contains("--"),
            "options are written as in JSON: {fault:?}"
        );
        assert_eq!(Problem::from(fault).status(), 422);
    }
}

/// Reads a check of a cluster, where commands are allowed.
fn of_ceph(ceph: Value) -> Result<CephRequest, FieldFault> {
    let work = posted(json!({ "ceph": ceph }))?;
    let policy = RequestPolicy { commands: true, ..RequestPolicy::default() };
    match request(&work.text, &work.secrets, &policy)?.source {
        CheckSource::Ceph(ceph) => Ok(ceph),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_ceph_cluster_is_described_as_on_the_command_line() {
    let usual = of_ceph(json!({})).unwrap();
    assert_eq!(format!("{usual:?}"), format!("{:?}", CephRequest::default()));
    let found = of_ceph(json!({
        "via_command": ["cephadm", "shell", "--"], "options": ["--id=operator"], "gateways": ["https://rgw:8443"], "pg_num": 8,
    }))
    .unwrap();
    let command = ["cephadm", "shell", "--"].map(str::to_owned).to_vec();
    assert_eq!(
        (found.via, found.options, found.pg_num),
        (Some(Via::Command { command }), vec!["--id=operator".to_owned()], Some(8))
    );
    assert_eq!(
        (&*found.gateways[0].host, found.gateways[0].port, found.gateways[0].tls),
        ("rgw", Some(8443), true)
    );
    let there = of_ceph(json!({ "via": "admin@mon1" })).unwrap();
    assert_eq!(there.via, Some(Via::Ssh { host: "admin@mon1".to_owned(), options: Vec::new() }));
    for (ceph, field, said) in [
        (json!({ "via": "a", "via_command": ["b"] }), "ceph.via", "contradicts"),
        (json!({ "gateways": ["ftp://x"] }), "ceph.gateways", "ftp"),
        (json!({ "options": vec!["x"; 65] }), "ceph.options", "65 are more than 64"),
        (json!({ "pg_num": 0 }), "ceph.pg_num", "from 1 to 65536"),
    ] {
        let fault = of_ceph(ceph).unwrap_err();
        assert_eq!(fault.field, field, "{fault:?}");
        assert!(fault.why.contains(said) && !fault.why.contains('\n'), "{fault:?}");
    }
}
