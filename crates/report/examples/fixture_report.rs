//! Writes the report of a made-up run: `cargo run -p report --example fixture_report -- FILE.html`.
#![allow(clippy::unwrap_used)] // a tool for looking at reports may fail loudly

#[path = "../tests/fixture/mod.rs"]
mod fixture;

fn main() {
    let file = std::env::args().nth(1).expect("the file to write is the first argument");
    std::fs::write(file, report::html(&fixture::everything())).unwrap();
}
