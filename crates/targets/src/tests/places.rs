//! The places that hold data: entered again, kept, or used as they are.

use super::*;

/// A file used like a device: nothing is created or removed, and a file that holds data is left alone.
#[test]
fn devices_are_used_as_a_whole() {
    let (directory, _, run) = run();
    let path = directory.path().join("device");
    std::fs::File::create(&path).unwrap().set_len((1 << 20) + 100).unwrap();
    let device = target(&format!("block://{}?direct=false", path.display()), &[]);
    let workload = changed(workload(&HALF_AND_HALF), |mix| (mix.files, mix.file_bytes) = (1, 0));
    let context = options(&run);
    let opened = open(&device, &workload, &context).unwrap();
    assert_eq!(opened.shape(&workload), DataShape::Device { bytes: 1 << 20 }, "whole blocks");
    assert!(opened.directory().is_none() && opened.stays());
    for generation in [1, 2] {
        assert_eq!(opened.prepare().unwrap(), Entered::Existing);
        fill(&opened, &workload, generation);
        let checked = check(&opened, &workload, ContentSummary::uniform(generation));
        assert_eq!((checked.checked.right, checked.checked.wrong), (64, 0), "{:?}", checked.corrupt);
        // The next cell opens it again.
        open(&device, &workload, &context).unwrap().prepare().unwrap();
    }
    // What one run may overwrite still holds data for every other run, in the same process too.
    let others = open(&device, &workload, &options(&run)).unwrap().prepare().unwrap_err().to_string();
    assert!(others.contains("holds data: nothing was written"), "{others}");
    opened.remove_all().unwrap();
    assert!(path.exists() && run.remaining().is_empty());
    let precious = directory.path().join("precious");
    std::fs::write(&precious, [1; 8192]).unwrap();
    let url = format!("block://{}?direct=false", precious.display());
    let error =
        open(&target(&url, &[]), &workload, &options(&run)).unwrap().prepare().unwrap_err().to_string();
    assert!(
        error.contains("is a file that holds data: nothing was written") && error.contains("--destroy"),
        "{error}"
    );
    assert_eq!(std::fs::read(&precious).unwrap(), [1; 8192]);
    let named = OpenContext { destroy: vec![precious.clone()], ..options(&run) };
    open(&target(&url, &[]), &workload, &named).unwrap().prepare().unwrap();
    let large = changed(workload, |mix| mix.file_bytes = 1 << 30);
    let Err(error) = open(&target(&url, &[]), &large, &named) else { panic!("it is not so large") };
    assert!(error.to_string().contains("1073741824 bytes are to be used"), "{error}");
}

/// What a killed run created is found again by the run that resumes it, and by no other.
#[test]
fn a_resumed_run_enters_the_same_place() {
    let (directory, journal, run) = run();
    let array = Provisioned::start(directory.path());
    let file = target(&format!("file://{}", directory.path().display()), &[]);
    let id = run.id().clone();
    let with = |run: &Run, target: &Target, ops: &[(OpKind, f64)]| {
        open(target, &workload(ops), &options(run)).unwrap()
    };
    let puts = [(OpKind::Put, 1.0)];
    let (nfs, s3) = (array.nfs(), array.s3());
    let cases = [(&file, &HALF_AND_HALF[..]), (&nfs, &HALF_AND_HALF[..]), (&s3, &puts[..])];
    for (target, ops) in &cases {
        let opened = with(&run, target, ops);
        assert_eq!(opened.prepare().unwrap(), Entered::New);
        fill(&opened, &workload(ops), 3);
        assert_eq!(opened.prepare().unwrap(), Entered::Existing, "the next cell");
        let payload = Payload::new(7).with(0.5, 0.2);
        assert_eq!(opened.held_generation(&payload, 0), Some(3), "{}", target.url);
        assert_eq!(opened.held_generation(&Payload::new(8), 0), None, "another run's data");
    }
    drop(run);
    let run = journal.reopen(&id).unwrap();
    for (target, ops) in &cases {
        let opened = with(&run, target, ops);
        assert_eq!(opened.prepare().unwrap(), Entered::Existing, "{}", target.url);
        let checked = check(&opened, &workload(ops), ContentSummary::uniform(3));
        assert!(checked.checked.right > 0 && checked.checked.wrong == 0, "{}", target.url);
        opened.remove_all().unwrap();
    }
}

#[test]
fn a_place_that_the_user_named_stays() {
    let (directory, _, run) = run();
    let url = format!("file://{}?directory=mine", directory.path().display());
    let workload = workload(&HALF_AND_HALF);
    let opened = open(&target(&url, &[]), &workload, &options(&run)).unwrap();
    assert!(opened.stays());
    assert!(opened.adopt().is_err(), "it is not there yet");
    assert_eq!(opened.prepare().unwrap(), Entered::New);
    assert!(opened.check_complete(&opened.data_set(&workload)).is_err(), "it is empty");
    fill(&opened, &workload, 0);
    opened.remove_all().unwrap();
    assert!(run.remaining().is_empty(), "it is nobody's to remove");
    assert_eq!(opened.prepare().unwrap(), Entered::Existing);
    opened.adopt().unwrap();
    let file = directory.path().join("mine").join(format!("{:016x}", 5));
    std::fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(100).unwrap();
    let error = opened.check_complete(&opened.data_set(&workload)).unwrap_err().to_string();
    assert!(error.contains("0000000000000005 has 100 bytes and should have 65536"), "{error}");
    // A directory of another owner is not entered.
    std::fs::create_dir(directory.path().join("theirs")).unwrap();
    let theirs = target(&url, &[("directory", "theirs")]);
    let opened = open(&theirs, &workload, &options(&run)).unwrap();
    assert!(opened.prepare().is_err());
}
