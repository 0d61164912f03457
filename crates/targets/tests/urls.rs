//! One parser for URLs of all kinds of targets; each problem is reported in one line.
#![allow(clippy::unwrap_used)] // a test may fail loudly

use experiment::TargetUrl;

#[test]
fn urls_come_apart() {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    for (text, scheme, authority, path, query) in [
        ("file:///mnt/a%20b", "file", "", "/mnt/a b", vec![]),
        ("FILE:///x?direct=true", "file", "", "/x", vec![pair("direct", "true")]),
        ("block:///dev/nvme0n1", "block", "", "/dev/nvme0n1", vec![]),
        (
            "nfs://[fd00::1]:20049/a/b?uid=3&gid=4",
            "nfs",
            "[fd00::1]:20049",
            "/a/b",
            vec![pair("uid", "3"), pair("gid", "4")],
        ),
        ("s3://b?endpoint=https://h:9000&region=eu-1", "s3", "b", "", vec![pair("region", "eu-1")]),
        ("tcp://h:9", "tcp", "h:9", "", vec![]),
        ("null:", "null", "", "", vec![]),
        ("sim:?drift=1%&noise=5%25", "sim", "", "", vec![pair("drift", "1%"), pair("noise", "5%")]),
        ("sim:", "sim", "", "", vec![]),
        ("gluster://h:24008/gv/a/b?clients=2", "gluster", "h:24008", "/gv/a/b", vec![pair("clients", "2")]),
        ("iscsi://h/iqn.2026-01.a:b/1", "iscsi", "h", "/iqn.2026-01.a:b/1", vec![]),
        ("rbd://pool/image?namespace=n", "rbd", "pool", "/image", vec![pair("namespace", "n")]),
        ("rbd://pool?create=1GiB", "rbd", "pool", "", vec![pair("create", "1GiB")]),
        (
            "iscsi://me@[::1]:3261/iqn.2026-01.a:b/255?sessions=2",
            "iscsi",
            "[::1]:3261",
            "/iqn.2026-01.a:b/255",
            vec![pair("sessions", "2")],
        ),
    ] {
        let url = TargetUrl::parse(targets::kinds(), text).unwrap();
        assert_eq!(url.kind().scheme, scheme, "{text}");
        assert_eq!((url.authority(), url.path(), url.query()), (authority, path, &*query), "{text}");
    }
    let url = TargetUrl::parse(targets::kinds(), "s3://b?endpoint=https://h:9000&region=eu-1").unwrap();
    assert_eq!(url.endpoint(), Some("https://h:9000"));
    assert_eq!(url.user(), None);
    let unit = TargetUrl::parse(targets::kinds(), "iscsi://me@h/iqn.2026-01.a:b/1").unwrap();
    assert_eq!(unit.user(), Some("me"));
}

#[test]
fn what_is_wrong_is_said_with_what_to_write() {
    for (text, problem, hint) in [
        ("/mnt/data", "is a path, not a URL", "write file:///mnt/data"),
        ("/dev/sdb", "is a path, not a URL", "write block:///dev/sdb"),
        ("data", "is no URL", "file:///mnt/data, block:///dev/nvme0n1"),
        ("nsf://host/export", "there is no kind of target \"nsf\"", "did you mean nfs:?"),
        ("gopher://host/", "there is no kind of target \"gopher\"", "write such as file:///mnt/data"),
        ("file:/mnt", "has no absolute path", "write file:///mnt/data"),
        ("nfs:host", "has no host", "write nfs://host/export"),
        ("nfs://host", "has no export", "write nfs://host/export"),
        ("gluster://host", "has no volume", "write gluster://host/volume"),
        ("gluster:///gv", "has no host", "write gluster://host/volume"),
        ("tcp://host", "has no host and port", "write tcp://host:port"),
        ("tcp://host:9/x", "nothing stands behind the port", "write tcp://host:port"),
        ("s3://b/c?endpoint=http://h", "nothing stands behind the bucket", "write s3://bucket?endpoint="),
        ("null:x", "nothing stands before the question mark", "write null:"),
        ("sim://host?latency=1ms", "nothing stands before the question mark", "write sim:?latency=1ms"),
        ("sim:?latency", "has no value", "write name=value"),
        ("sim:?seed=1&seed=2", "\"seed\" is given twice", "give it once"),
        ("rbd:///image", "has no name after the slashes", "write rbd://pool/image"),
        ("rbd://pool/space/image", "nothing stands behind the second name", "write rbd://pool/image"),
        ("iscsi:///iqn.2026-01.a:b/1", "has no host", "write iscsi://portal/"),
        ("iscsi://h", "names no target behind the host", "write iscsi://portal/"),
        ("iscsi://h/iqn.2026-01.a:b", "has no number of a logical unit", "write iscsi://portal/"),
        ("iscsi://h/iqn.2026-01.a:b/one", "has no number of a logical unit", "write iscsi://portal/"),
        ("iscsi://@h/iqn.2026-01.a:b/1", "no user stands before the @", "write iscsi://portal/"),
        ("file:///a%00b", "makes no text", "write the character itself"),
        ("file:///a%ffb", "makes no text", "write the character itself"),
    ] {
        let fault = TargetUrl::parse(targets::kinds(), text).unwrap_err();
        assert!(fault.text.contains(problem) && fault.hint.contains(hint), "{text}: {fault:?}");
        assert!(!fault.text.contains('\n') && !fault.hint.contains('\n'));
    }
    for text in ["nfs://me:hunter2@host/export", "s3://key:hunter2@bucket?endpoint=http://h"] {
        let fault = TargetUrl::parse(targets::kinds(), text).unwrap_err();
        assert!(fault.text.contains("no user and no password"), "{fault:?}");
        assert!(!format!("{fault:?}").contains("hunter2"));
    }
    for text in [
        "iscsi://me%hunter2@h/iqn.2026-01.a:b/1",
        "iscsi://me:hunter2@h/iqn.2026-01.a:b/1",
        "iscsi://h/iqn.2026-01.a:b/1?target_password=hunter2",
    ] {
        let fault = TargetUrl::parse(targets::kinds(), text).unwrap_err();
        assert!(fault.text.contains("must hold no "), "{fault:?}");
        assert!(!format!("{fault:?}").contains("hunter2"));
    }
}

#[test]
fn every_protocol_has_a_scheme_of_its_own_and_a_right_example() {
    let kinds = targets::kinds();
    for kind in kinds {
        assert_eq!(kinds.iter().filter(|other| other.scheme == kind.scheme).count(), 1);
        let example = kind.example.replace(":port", ":9000");
        let url = TargetUrl::parse(kinds, &example).unwrap();
        assert!(std::ptr::eq(url.kind(), *kind), "{example}");
        // What is used as a whole has no place of the run's own, and only a local device a page cache.
        assert!(!kind.device || !kind.own_place && kind.page_cache != kind.remote, "{example}");
    }
}
