//! Which text opens what, and the messages about invalid texts.

use super::*;

#[test]
fn what_is_wrong_with_a_target_is_one_line() {
    let (directory, _, run) = run();
    let here = directory.path().to_str().unwrap();
    let keys = directory.path().join("keys");
    std::fs::write(&keys, "[default]\naws_access_key_id=a\naws_secret_access_key=b\n").unwrap();
    let keys = keys.to_str().unwrap();
    let s3 = "s3://b?endpoint=http://127.0.0.1:1";
    for (url, options_given, problem) in [
        ("file:///no/such/place", &[][..], "there is no such directory"),
        (&format!("file://{keys}"), &[], &format!("it is a file; name a directory, such as file://{here}")),
        ("file://host/place", &[], "two slashes are a host's; write file:///"),
        (&format!("file://{here}"), &[("dircet", "true")], "no option \"dircet\"; did you mean \"direct\"?"),
        (
            &format!("file://{here}"),
            &[("direct", "maybe")],
            "direct: \"maybe\" is neither true nor false; write true or false",
        ),
        (
            &format!("file://{here}?engine=fast"),
            &[],
            "engine: \"fast\" does not fit; write auto, uring or threads",
        ),
        (&format!("file://{here}?engine=threads&sqpoll=true"), &[], "threads cannot poll"),
        (&format!("file://{here}?directory=a/b"), &[], "write one name"),
        (&format!("file://{here}?fallocate=lots"), &[], "write none or reserve"),
        ("block:///no/such/device", &[], "/no/such/device"),
        ("nfs://127.0.0.1", &[], "has no export; write nfs://host/export"),
        ("nfs:///export", &[], "has no host; write nfs://host/export"),
        ("nfs://127.0.0.1:0/export", &[], "is no port"),
        ("nfs://[::1/export", &[], "bracket is not closed"),
        ("nfs://127.0.0.1/export", &[("connections", "0")], "write a whole number from 1"),
        (
            "nfs://127.0.0.1/export",
            &[("connections", "few")],
            "connections: \"few\" does not fit; write a whole number",
        ),
        ("nfs://127.0.0.1/export?conections=2", &[], "did you mean \"connections\"?"),
        ("nfs://127.0.0.1/export?read_size=0", &[], "read_size: \"0\""),
        ("nfs://me:hunter2@127.0.0.1/export", &[], "a URL must hold no user and no password"),
        ("s3://b", &[], "does not say where the service is; write s3://bucket?endpoint="),
        ("s3://b/c?endpoint=http://h", &[], "nothing stands behind the bucket"),
        ("s3://b?endpoint=h", &[], "does not say where the service is"),
        ("s3://k:hunter2@b?endpoint=http://h", &[], "S3 keys are read from the environment"),
        ("s3://b?endpoint=http://k:hunter2@h", &[], "keys do not belong in a URL"),
        (s3, &[("credentials_file", "/no/such/file")], "credentials file /no/such/file"),
        (s3, &[("credentials_file", keys), ("profile", "other")], "no profile [other]"),
        (
            s3,
            &[("credentials_file", keys), ("part_size", "1MiB")],
            "part_size: \"1MiB\" is too small; write 5MiB or more",
        ),
        (
            s3,
            &[("credentials_file", keys), ("signing", "md5")],
            "signing: \"md5\" does not fit; write unsigned, signed",
        ),
        ("null:", &[("latency", "1ms")], "null: targets have no option \"latency\"; take it out"),
        ("sim:?latency=fast", &[], "latency: \"fast\" does not fit; write 1ms"),
        ("sim:?latecny=1ms", &[], "did you mean \"latency\"?"),
        ("sim:?stall=10s/1s", &[], "write LENGTH/PERIOD"),
        ("simm:", &[], "did you mean sim:?"),
    ] {
        let Err(error) = open(&target(url, options_given), &workload(&HALF_AND_HALF), &options(&run)) else {
            panic!("{url} {options_given:?} was opened");
        };
        let text = error.to_string();
        assert!(text.contains(problem), "{url}: {text}");
        assert!(!text.contains('\n') && !text.contains("hunter2"), "{text}");
    }
    assert!(run.remaining().is_empty());
}

#[test]
fn options_of_the_file_win_over_those_of_the_url() {
    let url = "nfs://127.0.0.1/export?connections=2&uid=5";
    let nfs = with_request(url, &[("connections", "3")], nfs::open).unwrap();
    assert_eq!((nfs.driver.config().connections_per_worker, nfs.driver.config().uid), (3, 5));
}

#[test]
fn simulated_targets_follow_their_script() {
    let (_directory, _, run) = run();
    let workload = workload(&[(OpKind::Read, 1.0)]);
    let opened = open(&target("sim:?latency=5ms&errors=1/10", &[]), &workload, &options(&run)).unwrap();
    assert!(opened.virtual_clock() && !opened.uses_page_cache());
    assert_eq!(opened.facts()["latency"], "5ms");
    assert_eq!(opened.prepare().unwrap(), Entered::New);
    let load = Load::Mix(Mix { generation: 0, ..mix_of(&opened, &workload) });
    let result = stage(&opened, &workload, load, StopRule::Ops(1000), Sink::Buffer);
    assert_eq!((result.total.ok(), result.total.failed()), (900, 100));
    let reads = result.total.op(OpKind::Read).unwrap();
    assert_eq!(reads.errors[ErrorKind::ServerFault as usize], 100);
    let median = reads.service.quantile_ns(0.5) as f64;
    assert!((median / 5e6 - 1.0).abs() < 0.01, "{median}");
}
