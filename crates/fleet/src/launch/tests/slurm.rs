//! The Slurm launcher against stand-ins for srun, salloc and scancel.

use super::super::slurm;
use super::*;

fn bench() -> Bench {
    let bench = Bench::new();
    let log = bench.path("log");
    bench.program(
        "srun",
        &format!(
            "echo \"srun $*\" >> {log}; while test \"$1\" != --nodelist; do shift; done\n\
             test \"$2\" = n3 && {{ echo 'srun: error: n3 is down' >&2; exit 1; }}\n\
             while test \"${{1#/}}\" = \"$1\"; do shift; done; exec \"$@\"",
            log = log.display()
        ),
    );
    bench.program(
        "salloc",
        &format!(
            "echo \"salloc $*\" >> {log}; while test \"$1\" != /bin/sh; do shift; done\n\
             SLURM_JOB_ID=77 SLURM_JOB_NODELIST='n[1-2]' \"$@\"; echo given back >> {log}",
            log = log.display()
        ),
    );
    bench.program("scancel", &format!("echo \"scancel $*\" >> {}", log.display()));
    bench
}

fn start(bench: &Bench, nodes: Option<u32>, within: slurm::Within) -> Result<Vec<Launched>, LaunchError> {
    let options = ["--partition=x".to_owned()];
    let slurm = slurm::Slurm { nodes, options: &options, binary: None };
    slurm::launch(&slurm, within, &bench.settings(), &quiet())
}

fn log(bench: &Bench) -> String {
    std::fs::read_to_string(bench.path("log")).unwrap_or_default()
}

#[test]
fn an_allocation_is_asked_for_used_and_given_back() {
    let bench = bench();
    let mut agents = start(&bench, Some(2), None).unwrap();
    assert_eq!(agents.iter().map(|agent| agent.name.as_str()).collect::<Vec<_>>(), ["n1", "n2"]);
    let deadline = Deadline::after(Duration::from_secs(20), NEVER);
    assert_eq!(agents[1].read_line(&deadline).unwrap(), "ready");
    assert_eq!(ask(&mut agents[1], "hello"), "hello");
    let text = log(&bench);
    assert!(
        text.contains(
            "salloc --nodes=2 --exclusive --job-name=manometer --immediate=25 --partition=x /bin/sh -c"
        ),
        "{text}"
    );
    assert!(
        text.contains("srun --jobid 77 --nodes=1 --ntasks=1 --nodelist n2 --overlap --unbuffered"),
        "{text}"
    );
    drop(agents.remove(0));
    assert!(!log(&bench).contains("given back"));
    drop(agents);
    assert!(log(&bench).ends_with("given back\n"), "{}", log(&bench));
    assert!(!log(&bench).contains("scancel"));
}

#[test]
fn within_an_allocation_nothing_is_asked_for() {
    let bench = bench();
    let agents = start(&bench, Some(1), Some(("5".to_owned(), "n[1-2]".to_owned()))).unwrap();
    assert_eq!(agents.len(), 1);
    let text = log(&bench);
    assert!(
        !text.contains("salloc") && text.contains("--jobid 5") && text.contains("--partition=x"),
        "{text}"
    );
    let error = start(&bench, Some(3), Some(("5".to_owned(), "n[1-2]".to_owned()))).unwrap_err();
    assert!(error.to_string().contains("has 2 nodes and 3 are asked for"), "{error}");
}

#[test]
fn a_node_that_is_down_is_named() {
    let bench = bench();
    let error = start(&bench, None, Some(("5".to_owned(), "n[1,3]".to_owned()))).unwrap_err();
    let lines = error.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0]
            .starts_with("n3: srun on it in job 5: ended with exit code 1: srun: error: n3 is down; next: "),
        "{lines:?}"
    );
}

#[test]
fn an_allocation_that_is_not_granted_is_an_error() {
    let bench = bench();
    assert!(matches!(start(&bench, None, None).unwrap_err(), LaunchError::Input(_)));
    bench.program("salloc", "echo 'salloc: error: invalid partition' >&2; exit 1");
    let error = start(&bench, Some(2), None).unwrap_err().to_string();
    assert!(
        error.contains("salloc for 2 nodes: ended with exit code 1: salloc: error: invalid partition"),
        "{error}"
    );
    bench.program("salloc", "echo 'salloc: Pending job allocation 9' >&2; exec sleep 1000");
    let mut settings = bench.settings();
    settings.start_timeout = Duration::from_millis(300);
    let options = [];
    let slurm = slurm::Slurm { nodes: Some(2), options: &options, binary: None };
    let error = slurm::launch(&slurm, None, &settings, &quiet()).unwrap_err().to_string();
    assert!(
        error.contains("no answer within 0.3 s; it last said: salloc: Pending job allocation 9"),
        "{error}"
    );
}
