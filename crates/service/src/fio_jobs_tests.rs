//! Job files from requests.

use super::*;

/// Two jobs on a bucket each, with a key.
const S3: &str = "[global]\nioengine=http\nhttp_mode=s3\nhttp_host=203.0.113.9\nsize=1m\nbs=1m\nrw=read\n\
                  [a]\nhttp_s3_keyid=me\nhttp_s3_key=hunter2\nfilename=/one/x\n\
                  [b]\nhttp_s3_keyid=you\nhttp_s3_key=swordfish\nfilename=/two/x\n";

fn jobs(text: &str, hosts: &[&str]) -> FioJobs {
    let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
    FioJobs { text: text.to_owned(), name: "nightly".to_owned(), hosts, seed: 7 }
}

fn converted(text: &str, hosts: &[&str], policy: &RequestPolicy) -> ConvertedJobs {
    convert(jobs(text, hosts), policy).unwrap_or_else(|problem| panic!("{text}: {}", problem.detail()))
}

fn refusal(text: &str, hosts: &[&str], policy: &RequestPolicy) -> String {
    match convert(jobs(text, hosts), policy) {
        Ok(_) => panic!("accepted: {text}"),
        Err(problem) => problem.detail().to_owned(),
    }
}

#[test]
fn jobs_become_the_cells_of_an_experiment() {
    let text = "[global]\nioengine=null\nsize=1m\nbs=4k\n[one]\nrw=read\n[two]\nstonewall\nrw=randwrite\nrandrepeat=0\n";
    let found = converted(text, &[], &RequestPolicy::default());
    assert_eq!((&*found.plan.name, found.plan.cells.len()), ("nightly", 2));
    let names: Vec<&str> = found.plan.cells.iter().map(|cell| &*cell.workload_name).collect();
    assert_eq!(names, ["one", "two"]);
    assert_eq!(policy::hosts(&found.plan), [policy::THIS_HOST]);
    assert!(found.experiment.secrets.is_empty());
    let again = converted(text, &[], &RequestPolicy::default());
    assert_eq!(found.experiment.text, again.experiment.text, "the same seed, the same experiment");
    let other = convert(FioJobs { seed: 8, ..jobs(text, &[]) }, &RequestPolicy::default()).ok().unwrap();
    assert_ne!(found.experiment.text, other.experiment.text, "randrepeat=0");
}

#[test]
fn paths_are_absolute_and_allowed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().display();
    let (none, own) = (RequestPolicy::default(), vec![directory.path().to_owned()]);
    let allowed = RequestPolicy { paths: own, ..RequestPolicy::default() };
    let job = |place: &str| format!("[a]\nrw=read\nsize=1m\n{place}\n");
    for place in ["", "directory=data", "filename=x", "filename=/tmp/x:y", "filename_format=$jobname"] {
        let said = refusal(&job(place), &[], &allowed);
        assert!(said.starts_with("job \"a\" names no absolute path"), "{place}: {said}");
    }
    for place in [
        format!("directory={path}"),
        format!("filename={path}/x"),
        format!("filename_format={path}/$jobname"),
    ] {
        converted(&job(&place), &[], &allowed);
        let said = refusal(&job(&place), &[], &none);
        assert!(said.contains("not among the paths"), "{place}: {said}");
        // Other hosts have their own rules.
        converted(&job(&place), &["203.0.113.7"], &none);
    }
    let outside = refusal(&job(&format!("directory={path}/../..")), &[], &allowed);
    assert!(outside.contains("not among the paths"), "{outside}");
}

#[test]
fn no_file_and_no_variable_of_this_host_is_read() {
    let policy = RequestPolicy { paths: vec!["/".into()], ..RequestPolicy::default() };
    for (line, said) in [
        ("include /etc/passwd", "reads no files"),
        ("opendir=/etc", "reads no files"),
        ("buffer_pattern='/etc/passwd'", "reads no files"),
        ("read_iolog=/etc/passwd", "replays no logs"),
        ("write_lat_log=/tmp/x", "writes no logs"),
        ("filename=/tmp/${PATH}", "PATH"),
    ] {
        let text = format!("[a]\nrw=write\nsize=1m\ndirectory=/tmp\n{line}\n");
        let refused = refusal(&text, &[], &policy);
        assert!(refused.contains(said) && !refused.contains("root:"), "{line}: {refused}");
    }
}

#[test]
fn faults_have_their_lines() {
    let problem = convert(jobs("[a]\nrw=sideways\nsize=1m\n", &[]), &RequestPolicy::default()).err().unwrap();
    let view = serde_json::to_value(&problem).unwrap();
    assert_eq!((&view["code"], &view["status"]), (&"jobs".into(), &422.into()), "{view}");
    assert_eq!((&view["faults"][0]["line"], &view["faults"][0]["column"]), (&2.into(), &4.into()), "{view}");
}

#[test]
fn jobs_on_hosts_join_their_queue_and_a_brace_stays_one() {
    let text = "[a]\nrw=read\nsize=1m\ndirectory=/mnt/{x}\n";
    let hosts = ["me@203.0.113.7:2222", "203.0.113.8"];
    let found = converted(text, &hosts, &RequestPolicy::default());
    assert_eq!(policy::hosts(&found.plan), ["203.0.113.7", "203.0.113.8"]);
    let stream = found.plan.cells[0].workload.stream().unwrap();
    assert_eq!(stream.files.names.directories, ["/mnt/{x}"]);
}

#[test]
fn keys_leave_the_text_and_keep_their_jobs() {
    let found = converted(S3, &[], &RequestPolicy::default());
    let text = &found.experiment.text;
    assert!(!text.contains("hunter2") && !text.contains("swordfish"), "{text}");
    let keys = &found.experiment.secrets.keys;
    let secrets = found.plan.cells.iter().map(|cell| &*keys[&cell.target.name].secret);
    assert_eq!(secrets.collect::<Vec<_>>(), ["hunter2", "swordfish"]);
    let said = refusal(&S3.replace("/two/", "/one/"), &[], &RequestPolicy::default());
    assert!(said.contains("job \"b\" has another key") && !said.contains("swordfish"), "{said}");
}
