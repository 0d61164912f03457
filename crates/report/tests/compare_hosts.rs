//! Comparisons of fleets: the host that changed is named if the others did not change, and none if all changed alike.
#![allow(clippy::unwrap_used)] // a test may fail loudly

mod fixture;

use report::{CompareOptions, Document, RunComparison};
use store::{HostRecord, HostResult, LostHost};

/// A run of one cell on hosts with these throughputs.
fn run(id: &str, figures: &[f64]) -> Document {
    let mut document = fixture::simple(id, 1.0, 1);
    document.run.plan.cells.truncate(1);
    document.cells.truncate(1);
    let result = document.cells[0].record.result.as_mut().unwrap();
    let total = result.total.clone();
    result.hosts = figures
        .iter()
        .enumerate()
        .map(|(n, figure)| HostResult {
            name: format!("host{}", n + 1),
            index: n as u32,
            total: store::OpSummary { bytes_per_s: fixture::sure(*figure), ..total.clone() },
            ops: Vec::new(),
            started_ns: Some(0),
            clock: None,
            lost: None,
            client: Default::default(),
            paths: Vec::new(),
        })
        .collect();
    result.total.bytes_per_s = fixture::sure(figures.iter().sum());
    document.run.hosts = result
        .hosts
        .iter()
        .map(|host| HostRecord { name: host.name.clone(), ..Default::default() })
        .collect();
    document
}

fn compare(a: &[f64], b: &[f64]) -> RunComparison {
    RunComparison::of(&run("aaaaaaaa", a), &run("bbbbbbbb", b), &CompareOptions::default())
}

fn change(a: &[f64], b: &[f64]) -> Option<String> {
    compare(a, b).cells[0].host_change.clone()
}

#[test]
fn the_host_that_changed_is_named() {
    let same = [1e9; 4];
    assert_eq!(
        change(&same, &[1e9, 0.69e9, 1e9, 1e9]).unwrap(),
        "host2 is 31.0 % slower, the others are not"
    );
    let faster = change(&same, &[1e9, 1e9, 1.002e9, 1.3e9]).unwrap();
    assert_eq!(faster, "host4 is 30.0 % faster, the others are not");
    let both = change(&same, &[0.6e9, 1e9, 1e9, 1.3e9]).unwrap();
    assert_eq!(both, "host1 is 40.0 % slower, host4 is 30.0 % faster, the others are neither");
    // Of two hosts, the unchanged one is not named.
    assert_eq!(change(&[1e9; 2], &[1e9, 0.69e9]).unwrap(), "host2 is 31.0 % slower, the other is not");
    let several = change(&[1e9; 7], &[0.6e9, 0.7e9, 1e9, 1e9, 1e9, 1e9, 1e9]).unwrap();
    assert_eq!(several, "host1 and host2 are 30.0 % to 40.0 % slower, the others are not");
}

#[test]
fn nobody_is_named_when_all_changed_alike_or_none_did() {
    assert_eq!(change(&[1e9; 4], &[1e9, 1.001e9, 0.999e9, 1e9]), None);
    assert_eq!(change(&[1e9; 4], &[0.69e9, 0.69e9, 0.691e9, 0.69e9]), None);
    // If all changed, the host that changed differently is named, with the change of the others.
    let one = change(&[1e9; 4], &[0.95e9, 0.6e9, 0.95e9, 0.951e9]).unwrap();
    assert_eq!(one, "host2 is 40.0 % slower, the others changed by −5.00 % to −4.90 %");
}

/// One host of many that looks different by chance is not named; a large difference is.
#[test]
fn many_hosts_are_allowed_for() {
    let same = vec![1e9; 60];
    let mut other = same.clone();
    other[7] = 0.974e9;
    let alone = compare(&same[..8], &other[..8]);
    assert!(alone.cells[0].hosts[7].difference.p_value < 0.05, "{:?}", alone.cells[0].hosts[7].difference);
    assert_eq!(change(&same, &other), None);
    other[7] = 0.9e9;
    assert_eq!(change(&same, &other).unwrap(), "host8 is 10.0 % slower, the others are not");
}

#[test]
fn only_the_same_hosts_are_compared_and_those_that_came_to_the_end() {
    let a = run("aaaaaaaa", &[1e9; 3]);
    let mut b = run("bbbbbbbb", &[1e9, 1e9, 0.5e9]);
    b.cells[0].record.result.as_mut().unwrap().hosts[2].lost =
        Some(LostHost { at_s: 3.0, why: "its pipe was closed".into() });
    let comparison = RunComparison::of(&a, &b, &CompareOptions::default());
    assert_eq!(comparison.cells[0].hosts.len(), 2);
    assert_eq!(comparison.cells[0].host_change, None);

    let mut other = run("bbbbbbbb", &[1e9, 1e9, 0.5e9]);
    other.cells[0].record.result.as_mut().unwrap().hosts[2].name = "host9".into();
    other.run.hosts[2].name = "host9".into();
    other.run.hosts[0].environment.facts.insert("kernel".into(), "6.18.1".into());
    let comparison = RunComparison::of(&a, &other, &CompareOptions::default());
    assert!(comparison.cells[0].hosts.is_empty());
    let warned = |text: &str| assert!(comparison.warnings.iter().any(|line| line == text), "{comparison:#?}");
    warned("hosts only in A: host3");
    warned("hosts only in B: host9");
    warned("on host1: kernel differs: (unknown) in A, 6.18.1 in B");
    // Medians are stored for the combined result only.
    let p50 = CompareOptions { metrics: vec!["p50".parse().unwrap()], threshold: 0.0 };
    assert!(RunComparison::of(&a, &a, &p50).cells.iter().all(|cell| cell.hosts.is_empty()));
}

#[test]
fn text_json_and_page_show_the_hosts() {
    let (a, b) = (run("aaaaaaaa", &[1e9; 4]), run("bbbbbbbb", &[1e9, 0.69e9, 1e9, 1e9]));
    let comparison = RunComparison::of(&a, &b, &CompareOptions::default());
    let line = "host2 is 31.0 % slower, the others are not";
    let cell = &comparison.cells[0].cell;
    assert!(
        comparison.text(None).contains(&format!("\nhost: {cell}: {line}\n")),
        "{}",
        comparison.text(None)
    );
    assert!(comparison.markdown().contains("host2 is 31.0 % slower"), "{}", comparison.markdown());
    let json = comparison.json();
    assert_eq!(json["cells"][0]["host_change"], line);
    assert_eq!(json["cells"][0]["hosts"][1]["stands_out"], true);
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../schemas/comparison.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let page = comparison.html(&a, &b);
    assert!(page.contains(line) && page.contains("host2</span> <span class=\"badge warn\">! alone</span>"));
    assert!(page.contains("data-path=\"/cells/0/hosts/1/difference/relative\""));
}
