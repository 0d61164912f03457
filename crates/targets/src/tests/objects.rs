//! Jobs whose blocks are objects.

use experiment::{FileNames, Job, JobFiles};

use super::*;

#[test]
fn keys_of_job_files_open_targets_and_are_nowhere_else() {
    let (_directory, _, run) = run();
    let names = FileNames { listed: vec!["/one".into(), "dir/two".into()], ..FileNames::default() };
    let files = JobFiles { names, ..JobFiles::default() };
    let job = Job { name: "puts".into(), files, ..Job::default() };
    let workload =
        Workload { load: experiment::Load::Stream(job.into()), ..workload(&[(OpKind::Write, 1.0)]) };
    let target =
        Target { name: "s3-of-a-test".into(), ..target("s3://bucket?endpoint=http://127.0.0.1:9", &[]) };
    let key = AccessKey { id: "ID".into(), secret: "hush".into(), token: None };
    let secrets: HeldSecrets = [(target.name.clone(), key)].into_iter().collect();
    let context = OpenContext { secrets: Arc::new(secrets), ..options(&run) };
    let (_, url, given) = parts(&target).unwrap();
    let request =
        OpenRequest { target: &target, url: &url, options: &given, workload: &workload, context: &context };
    let s3 = s3::open(&request).unwrap();
    let config = s3.driver.config().clone();
    let opened: Opened = Box::new(s3);
    assert_eq!(&*config.credentials.access_key, "ID");
    let names: Vec<_> = config.blocks.clone().unwrap().into_iter().collect();
    assert_eq!(names, [(0, "one".to_owned()), (1, "dir/two".to_owned())]);
    let facts = format!("{:?}", opened.facts());
    assert!(facts.contains("NAME_OFFSET_LENGTH") && !facts.contains("hush"), "{facts}");
    assert!(!format!("{config:?}").contains("hush"));
    // What is in the bucket belongs to the user.
    assert!(opened.stays() && run.remaining().is_empty());
}
