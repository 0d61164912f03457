//! `bench`: one workload of ours against one target, as one line of JSON, to be put beside what peers do.
//!
//! What is compared is work per processor second of the client, so every line has the processor time that this
//! process used inside the measured window.

use anyhow::Result;
use clap::Parser;

mod load;
mod null;

/// Runs one workload and prints what it cost.
#[derive(Parser)]
#[command(version, about)]
enum Command {
    /// Operations that cost nothing: the tool's own overhead.
    Null(null::Args),
}

fn main() -> Result<()> {
    let measured = match Command::parse() {
        Command::Null(args) => null::run(&args),
    }?;
    measured.print()
}
