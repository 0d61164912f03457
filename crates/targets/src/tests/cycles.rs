//! The life cycle of each kind of target from creation to removal, verified; and detection of damage.

use super::*;

#[test]
fn files_go_through_a_whole_cycle() {
    let (directory, _, run) = run();
    let url = format!("file://{}", directory.path().display());
    let workload = workload(&HALF_AND_HALF);
    let opened = open(&target(&url, &[]), &workload, &options(&run)).unwrap();
    cycle(&opened, &workload);
    let place = directory.path().join(run.id().object_name());
    assert_eq!(opened.directory(), Some(place.as_path()));
    assert!(run.remaining()[0].contains(place.to_str().unwrap()), "{:?}", run.remaining());
    assert_eq!(opened.facts()["path"], place.to_str().unwrap());
    opened.remove_all().unwrap();
    assert!(!place.exists() && run.remaining().is_empty());
    // Removing nothing is no error.
    opened.remove_all().unwrap();
}

/// Injects one of each kind of damage into the files behind the target's back: each is found and named.
#[test]
fn injected_damage_is_found_and_named() {
    use std::os::unix::fs::FileExt;
    let (directory, _, run) = run();
    let url = format!("file://{}", directory.path().display());
    let workload = changed(workload(&HALF_AND_HALF), |mix| (mix.compressible, mix.dedupe) = (0.0, 0.0));
    let opened = open(&target(&url, &[]), &workload, &options(&run)).unwrap();
    opened.prepare().unwrap();
    fill(&opened, &workload, 2);
    let payload = Payload::new(7);
    let write = |object: u64, at: u64, data: &[u8]| {
        let path = opened.directory().unwrap().join(format!("{object:016x}"));
        std::fs::OpenOptions::new().write(true).open(path).unwrap().write_all_at(data, at).unwrap();
    };
    let content = |object: u64, generation: u64, at: u64, len: usize| {
        let mut data = vec![0; len];
        payload.fill(object, generation << 48 | at, &mut data);
        data
    };
    let mut flipped = content(1, 2, 5000, 1);
    flipped[0] ^= 0x20;
    write(1, 5000, &flipped);
    write(2, 8192, &content(2, 1, 8192, 4096));
    write(3, 0, &content(3, 1, 0, 65536));
    write(4, 16384, &content(5, 2, 4096, 4096));
    write(6, 32768, &[0; 4096]);
    write(7, 100, b"somebody else was here");
    let checked = check(&opened, &workload, ContentSummary::uniform(2));
    // Blocks of 16 KiB, of which file 3 has four.
    assert_eq!((checked.checked.wrong, checked.checked.right), (9, 8 * 4 - 9), "{:?}", checked.corrupt);
    let said = |object: u64, text: &str| {
        let details: Vec<&str> = checked
            .corrupt
            .iter()
            .filter(|range| range.object == object)
            .map(|range| &*range.detail)
            .collect();
        assert!(details.iter().any(|detail| detail.contains(text)), "{object}: {text}: {details:?}");
    };
    said(1, "1 bit differs at byte 5000");
    said(
        2,
        "4096 bytes from byte 8192 on are generation 1 of this place instead of 2: a lost write or a stale read",
    );
    said(3, "16384 bytes from byte 0 on are generation 1 of this place instead of 2");
    said(4, "belong to object 0000000000000005 at byte 4096 (generation 2): a misplaced block");
    said(6, "4096 bytes from byte 32768 on are zeros");
    said(7, "foreign");
    assert!(checked.corrupt.iter().all(|range| ![0, 5].contains(&range.object)));
    opened.remove_all().unwrap();
}

#[test]
fn nfs_goes_through_a_whole_cycle() {
    let (directory, _, run) = run();
    let array = Provisioned::start(directory.path());
    let workload = changed(workload(&HALF_AND_HALF), |mix| mix.fsync_every = 10);
    let opened = open(&array.nfs(), &workload, &options(&run)).unwrap();
    cycle(&opened, &workload);
    let facts = opened.facts();
    assert_eq!((&*facts["connections per job"], &*facts["export"]), ("2", &*array.export));
    assert!(facts["rtmax"].parse::<u64>().unwrap() > 4096, "{facts:?}");
    assert!(opened.cache(CacheControl::Drop).starts_with("not possible for nfs"));
    assert_eq!(run.remaining().len(), 1);
    opened.remove_all().unwrap();
    assert!(run.remaining().is_empty());
    assert_eq!(opened.prepare().unwrap(), Entered::New, "it was really removed");
}

#[test]
fn s3_goes_through_a_whole_cycle() {
    let (directory, _, run) = run();
    let array = Provisioned::start(directory.path());
    for ops in [[(OpKind::Put, 0.5), (OpKind::Get, 0.5)], [(OpKind::Put, 0.5), (OpKind::Read, 0.5)]] {
        let workload = workload(&ops);
        let opened = open(&array.s3(), &workload, &options(&run)).unwrap();
        cycle(&opened, &workload);
        let facts = opened.facts();
        assert_eq!((&*facts["bucket"], &*facts["part size"]), (&*array.bucket, "5242880"));
        opened.remove_all().unwrap();
        let error = opened.adopt().unwrap_err().to_string();
        assert!(error.contains("nothing lies under"), "{error}");
    }
}
