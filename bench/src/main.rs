//! `bench`: one of our workloads against one target, printed as one line of JSON, to be compared with peers.
//!
//! The figure of merit is work per CPU second of the client, so every line contains the CPU time that this process used
//! inside the measured window.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

mod file;
mod iscsi;
mod load;
mod names;
mod nfs;
mod null;
mod rados;
mod s3;
mod sim;
mod tcp;

/// Runs one workload and prints what it cost.
#[derive(Parser)]
#[command(version, about)]
enum Command {
    /// Operations that cost nothing: the tool's own overhead.
    Null(null::Args),
    /// A scripted target on a virtual clock: how many operations a simulated hour has, and what memory it takes.
    Sim(sim::Args),
    /// Files on a local file system.
    File(file::Args),
    /// NFSv3 against a server.
    Nfs(nfs::Args),
    /// S3 against a server.
    S3(s3::Args),
    /// iSCSI against a target's logical unit, which is only read.
    Iscsi(iscsi::Args),
    /// RADOS against a Ceph cluster.
    Rados(rados::Args),
    /// Sends over TCP.
    TcpSend(tcp::SendArgs),
    /// Receives over TCP until killed; prints nothing.
    TcpReceive(tcp::ReceiveArgs),
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let measured = match Command::parse() {
        Command::Null(args) => null::run(&args),
        Command::File(args) => file::run(&args),
        Command::Nfs(args) => nfs::run(&args),
        Command::S3(args) => s3::run(&args),
        Command::Iscsi(args) => iscsi::run(&args),
        Command::Rados(args) => rados::run(&args),
        Command::TcpSend(args) => tcp::send(&args),
        Command::Sim(args) => return sim::run(&args),
        Command::TcpReceive(args) => return tcp::receive(&args),
    }?;
    measured.print()
}
