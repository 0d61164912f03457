//! Operations of objects besides put, get and delete, and what is there afterwards.

use super::*;

const OPS: [(OpKind, f64); 9] = [
    (OpKind::Put, 0.2),
    (OpKind::Get, 0.2),
    (OpKind::Copy, 0.15),
    (OpKind::Delete, 0.2),
    (OpKind::PutTagging, 0.1),
    (OpKind::GetTagging, 0.1),
    (OpKind::Stat, 0.02),
    (OpKind::ListPrefixes, 0.01),
    (OpKind::BatchDelete, 0.02),
];

#[test]
fn objects_in_a_bucket_are_what_the_load_left() {
    mixed("1");
}

#[test]
fn objects_spread_over_prefixes_are_what_the_load_left() {
    mixed("16");
}

fn mixed(fan_out: &str) {
    let (directory, _, run) = run();
    let array = Provisioned::start(directory.path());
    let workload = changed(workload(&OPS), |mix| mix.file_bytes = 4096);
    let mut target = array.s3();
    target.options.insert("fan_out".into(), fan_out.into());
    let opened = open(&target, &workload, &options(&run)).unwrap();
    opened.prepare().unwrap();
    fill(&opened, &workload, 1);
    let mix = Mix { block_sizes: Vec::new(), verify: true, ..mix_of(&opened, &workload) };
    let mixed = stage(&opened, &workload, Load::Mix(mix), StopRule::Ops(3000), Sink::Verify);
    assert_eq!(mixed.total.failed(), 0, "{:?}", mixed.error_samples);
    for (kind, share) in OPS {
        let stats = mixed.total.op(kind).unwrap();
        // A batch waits for ten objects of its lane.
        let expected = if kind == OpKind::BatchDelete { 10.0 } else { share * 1500.0 };
        assert!(stats.ok as f64 > expected, "{} of {kind}", stats.ok);
        assert_eq!(stats.rpcs, stats.ok, "{kind} is one request");
        assert_eq!(stats.bytes, if kind.moves_bytes() { stats.ok * 4096 } else { 0 }, "{kind}");
    }
    // Copies are objects of the load's own: the data set is what it was.
    let checked = check(&opened, &workload, ContentSummary::uniform(1));
    assert_eq!((checked.checked.wrong, checked.checked.unread), (0, 0), "{:?}", checked.corrupt);
    let mut there = Vec::new();
    opened.items(&mut |number, size| there.push((number, size))).unwrap();
    there.sort_unstable();
    let mut left: Vec<_> = opened.data_set(&workload).sizes().chain(mixed.data_set.sizes()).collect();
    left.sort_unstable();
    assert_eq!(there, left);
    // The data of an object that the load put is made from its number; that of a copy is its source's.
    let payload = Payload::new(7).with(workload.compressible(), workload.dedupe());
    let own = mixed.data_set.sizes().map(|(number, _)| number);
    let (mut put, mut copied) = (0, 0);
    for number in own {
        let mut expected = vec![0; 4096];
        payload.fill(number, 1 << 48, &mut expected);
        let found = opened.first_bytes(number, 4096).unwrap();
        *(if found == expected { &mut put } else { &mut copied }) += 1;
    }
    assert!(put > 0 && copied > 0, "{put} {copied}");
    opened.remove_all().unwrap();
    assert!(run.remaining().is_empty());
}
