//! Writes the report and the notebook of a made-up run, and its comparison with a slower one: `cargo run -p report
//! --example fixture_report -- DIRECTORY`.
#![allow(clippy::unwrap_used)] // a tool for looking at reports may fail loudly

#[path = "../tests/fixture/mod.rs"]
mod fixture;

use std::path::PathBuf;

fn main() {
    let directory = PathBuf::from(std::env::args().nth(1).expect("the first argument is a directory"));
    let write = |name: &str, text: String| std::fs::write(directory.join(name), text).unwrap();
    let run = fixture::everything();
    write("report.html", report::html(&run));
    write("report.ipynb", report::notebook(&run));
    let fleet = fixture::fleet();
    write("fleet.html", report::html(&fleet));
    write("fleet.ipynb", report::notebook(&fleet));
    let mut slower = fixture::fleet();
    for host in &mut slower.cells[0].record.result.as_mut().unwrap().hosts {
        let total = &mut host.total.bytes_per_s;
        let share = if host.name == "client2" { 0.69 } else { 1.0 };
        (total.mean, total.low, total.high) = (total.mean * share, total.low * share, total.high * share);
    }
    let comparison = report::RunComparison::of(&fleet, &slower, &report::CompareOptions::default());
    write("fleet-comparison.html", comparison.html(&fleet, &slower));
    let (a, b) = (fixture::simple("aaaaaaaa", 1.0, 1), fixture::simple("bbbbbbbb", 0.93, 2));
    let comparison =
        report::RunComparison::of(&a, &b, &report::CompareOptions { threshold: 0.05, ..Default::default() });
    write("comparison.html", comparison.html(&a, &b));
    write("comparison.txt", comparison.text(Some(140)));
    write("comparison.md", comparison.markdown());
}
