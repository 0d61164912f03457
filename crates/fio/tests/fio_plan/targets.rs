//! Engines and their targets.

use std::collections::BTreeMap;

use super::{cell_of, job, planned, script};

/// The URL and the options of a job's target.
fn target(options: &str) -> (String, BTreeMap<String, String>) {
    let cell = cell_of(&format!("[j]\nsize=1m\n{}\n", options.replace("; ", "\n")));
    (cell.target.url, cell.target.options)
}

fn of(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn engines_of_files_are_one_target() {
    for (options, expected) in [
        ("rw=read", of(&[("engine", "threads")])),
        ("ioengine=sync", of(&[("engine", "threads")])),
        ("ioengine=vsync", of(&[("engine", "threads")])),
        ("ioengine=pvsync", of(&[("engine", "threads")])),
        (
            "ioengine=pvsync2; direct=1; hipri",
            of(&[("engine", "uring"), ("direct", "true"), ("iopoll", "true")]),
        ),
        ("ioengine=mmap", of(&[("engine", "threads")])),
        ("ioengine=libaio; direct=1", of(&[("engine", "auto"), ("direct", "true")])),
        ("ioengine=posixaio", of(&[("engine", "auto")])),
        ("ioengine=io_uring", of(&[("engine", "uring")])),
    ] {
        assert_eq!(target(options), ("file:///work".to_owned(), expected), "{options}");
    }
    assert_eq!(target("ioengine=null"), ("null:".to_owned(), of(&[])));
    assert_eq!(target("ioengine=sim; sim_url=sim:?latency=1ms").0, "sim:?latency=1ms");
    assert_eq!(target("ioengine=sim").0, "sim:");
}

#[test]
fn nfs_urls_are_those_of_libnfs() {
    let (url, options) = target("ioengine=nfs; nfs_url=nfs://10.0.0.1/export?uid=7; nfs_connections=4");
    assert_eq!((&*url, options), ("nfs://10.0.0.1/export", of(&[("connections", "4"), ("uid", "7")])));
    for between in [",", " ", ", "] {
        let (url, options) = target(&format!("ioengine=nfs; nfs_url=nfs://a/e{between}nfs://b/e"));
        assert_eq!((&*url, &*options["more_urls"]), ("nfs://a/e", "nfs://b/e"), "{between:?}");
    }
    for version in ["3", "4.1"] {
        let (_, options) = target(&format!("ioengine=nfs; nfs_url=nfs://a/e; nfs_version={version}"));
        assert_eq!(options, of(&[("version", version)]));
    }
    for (options, part) in [
        ("ioengine=nfs\nnfs_url=nfs://a/e\nnfs_version=4", "write 3 or 4.1"),
        ("ioengine=nfs\nnfs_url=a/e", "nfs://"),
        ("ioengine=nfs\nnfs_url=nfs://a/e\nrw=randtrim", "has no trims"),
        ("ioengine=nfs", "nfs://"),
    ] {
        let said = planned(&format!("[j]\nsize=1m\n{options}\n")).unwrap_err();
        assert!(said.contains(part), "{options}\n{said}");
    }
}

#[test]
fn net_is_one_end_of_a_stream() {
    let (url, options) = target(
        "ioengine=net; rw=write; hostname=h; port=5; nodelay=1; window_size=64k; mss=1400; pingpong; protocol=tcp",
    );
    let expected = [
        ("mss", "1400"),
        ("nodelay", "true"),
        ("pingpong", "true"),
        ("port_per_job", "true"),
        ("window_size", "65536"),
    ];
    assert_eq!((&*url, options), ("tcp://h:5", of(&expected)));
    let (url, options) = target("ioengine=net; rw=read; listen; port=5");
    assert_eq!((&*url, &*options["listen"]), ("tcp://0.0.0.0:5", "true"));
    for (options, line, part) in [
        ("ioengine=net\nport=5\nhostname=h\nrw=randread", 6, "at random"),
        ("ioengine=net\nport=5\nhostname=h\nrw=rw", 6, "read or written"),
        ("ioengine=net\nport=5\nhostname=h\nlisten", 5, "listener"),
        ("ioengine=net\nhostname=h", 1, "port is missing"),
        ("ioengine=net\nport=5\nhostname=h\nprotocol=udp", 6, "tcp"),
    ] {
        let said = planned(&format!("[j]\nsize=1m\n{options}\n")).unwrap_err();
        assert!(said.contains(part) && said.contains(&format!("jobs.fio:{line}:")), "{options}\n{said}");
    }
}

const S3: &str = "[j]\nsize=1m\nioengine=http\nhttp_mode=s3\nhttps=insecure\nhttp_s3_keyid=me\nhttp_s3_key=hunter2\n\
                  http_s3_region=eu\n";

#[test]
fn objects_lie_in_a_bucket_and_keys_stay_out_of_the_plan() {
    let text = format!("{S3}http_host=h:9000\nfilename=/bucket/some/object\n");
    let cell = cell_of(&text);
    assert_eq!(cell.target.url, "s3://bucket?endpoint=https://h:9000");
    assert_eq!(
        cell.target.options,
        of(&[("path_style", "true"), ("region", "eu"), ("tls_insecure", "true")])
    );
    assert_eq!(job(&cell).files.names.listed, ["some/object"]);
    let stored = serde_json::to_string(&cell).unwrap();
    assert!(!stored.contains("hunter2"), "{stored}");
    let keys = fio::meaning::access_keys(&script(&text));
    assert_eq!((&*keys[&cell.target.name].id, &*keys[&cell.target.name].secret), ("me", "hunter2"));
    assert!(!format!("{keys:?}").contains("hunter2"));
}

#[test]
fn a_bucket_may_stand_in_the_hosts_name() {
    let cell = cell_of(&format!("{S3}http_host=bucket.s3.example.org\nfilename=/object\n"));
    assert_eq!(cell.target.url, "s3://bucket?endpoint=https://s3.example.org");
    assert_eq!(cell.target.options["path_style"], "false");
    let said = planned(&format!("{S3}http_host=h\nfilename=/object\n")).unwrap_err();
    assert!(said.contains("/BUCKET/OBJECT"), "{said}");
    let said = planned("[j]\nsize=1m\nioengine=http\nhttp_mode=webdav\nfilename=/b/o\n").unwrap_err();
    assert!(said.contains("http_mode=s3"), "{said}");
}

#[test]
fn an_image_of_rbd_is_named_by_pool_and_name() {
    let (url, options) = target(
        "ioengine=rbd; pool=p; rbdname=disk-1; clientname=client.me; clustername=lab; conf=/c; busy_poll=0; rbd_cache=1",
    );
    let expected = of(&[("cache", "true"), ("cluster", "lab"), ("conf", "/c"), ("id", "me")]);
    assert_eq!((&*url, options), ("rbd://p/disk-1", expected));
    let cell = cell_of("[j]\nioengine=rbd\npool=p\nrbdname=i\niodepth=8\nrw=randtrim\n");
    assert_eq!((cell.workload.queue_depth, &*job(&cell).files.names.listed), (8, &["i".to_owned()][..]));
    for (options, line, part) in [
        ("ioengine=rbd\nrbdname=i", 1, "ceph osd pool ls"),
        ("ioengine=rbd\npool=p", 1, "rbd ls POOL"),
        ("ioengine=rbd\npool=p\nrbdname=a/b", 5, "rbd://"),
    ] {
        let said = planned(&format!("[j]\nsize=1m\n{options}\n")).unwrap_err();
        assert!(said.contains(part) && said.contains(&format!("jobs.fio:{line}:")), "{options}\n{said}");
    }
}

#[test]
fn objects_of_rados_lie_in_a_pool() {
    let (url, options) = target(
        "ioengine=rados; pool=bench; clientname=client.me; clustername=lab; conf=/c; busy_poll=1; touch_objects=1; \
         rados_clients=2",
    );
    let expected = of(&[("clients", "2"), ("cluster", "lab"), ("conf", "/c"), ("id", "me")]);
    assert_eq!((&*url, options), ("rados://bench", expected));
    assert_eq!(target("ioengine=rados; pool=bench"), ("rados://bench".to_owned(), of(&[])));
    let cell = cell_of("[j]\nsize=1m\nioengine=rados\npool=p\nnrfiles=2\niodepth=8\n");
    assert_eq!((cell.workload.queue_depth, job(&cell).files.names.listed.len()), (8, 0));
    for (options, line, part) in [
        ("ioengine=rados", 1, "ceph osd pool ls"),
        ("ioengine=rados\npool=a/b", 4, "rados://"),
        ("ioengine=rados\npool=p\nrw=randtrim", 5, "not trimmed"),
    ] {
        let said = planned(&format!("[j]\nsize=1m\n{options}\n")).unwrap_err();
        assert!(said.contains(part) && said.contains(&format!("jobs.fio:{line}:")), "{options}\n{said}");
    }
    let said = planned("[j]\nioengine=rados\npool=p\n").unwrap_err();
    assert!(said.contains("add size"), "{said}");
}
