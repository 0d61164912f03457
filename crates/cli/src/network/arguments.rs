//! The arguments of `manometer network`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;
use units::{Size, Span};

use crate::fleet::FleetArguments;
use crate::results::{ResultsFile, ResultsFormat};

/// Measures the network between the hosts of a fleet, without storage, and names links that are worse than
/// the others.
///
/// Each pair of hosts moves bytes from memory to memory over TCP, one pair at a time, so that pairs do not
/// disturb each other. The output includes the kernel's view of the connections (retransmits, round-trip
/// time, what limited the sender). The measurement is stored like a run, with one cell per link, for
/// `manometer list`, `show`, `report` and `compare`.
///
/// Exit code: 0 no link is degraded, 1 a link is degraded or could not be measured, 2 wrong usage, 129, 130
/// or 143 interrupted.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct NetworkArguments {
    #[command(flatten)]
    pub fleet: FleetArguments,
    /// Measure only these links, from the first host to the second: a:b,c:d
    #[arg(long, value_name = "A:B,…", conflicts_with = "both_directions", help_heading = "Links")]
    pub pairs: Option<String>,
    /// Measure each pair in both directions, one after the other [default: only from the earlier host to the
    /// later]
    #[arg(long, help_heading = "Links")]
    pub both_directions: bool,
    /// Also measure both directions of each pair at the same time
    #[arg(long, help_heading = "Links")]
    pub duplex: bool,
    /// TCP connections per link; with several numbers, each is a separate measurement
    #[arg(long, value_name = "N,…", default_value = "1,8", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Links")]
    pub streams: Vec<u32>,
    /// Measured time per link
    #[arg(long, value_name = "DURATION", default_value = "5s", help_heading = "Links")]
    pub duration: Span,
    /// Ramp before it, which is not counted: the connections reach their rate
    #[arg(long, value_name = "DURATION", default_value = "1s", help_heading = "Links")]
    pub ramp: Span,
    /// Measure pairs without a common host at the same time: faster, and shows what the switches between them
    /// carry together
    #[arg(long, help_heading = "Links")]
    pub parallel: bool,
    /// Bytes per system call
    #[arg(long, value_name = "SIZE", default_value = "256KiB", help_heading = "Links")]
    pub block_size: Size,
    /// Address at which the other hosts reach a host [default: what its name resolves to here, else the one
    /// it reports]; may be repeated
    #[arg(long, value_name = "HOST=IP", value_parser = address, help_heading = "Links")]
    pub address: Vec<(String, IpAddr)>,
    /// First port on which the hosts listen for each other; concurrent links use the following ports
    #[arg(long, value_name = "PORT", default_value_t = 18_700, value_parser = clap::value_parser!(u16).range(1024..60_000), help_heading = "Links")]
    pub port: u16,
    /// How I/O is submitted to the kernel
    #[arg(long, value_name = "KIND", default_value = "auto", help_heading = "Links")]
    pub reactor: reactor::BackendChoice,

    /// Format of the result
    #[arg(short, long, value_name = "FORMAT", default_value = "text", help_heading = "Output")]
    pub output: ResultsFormat,
    /// Write a chart of the matrix to this file (SVG)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub picture: Option<PathBuf>,
    /// Save the result under this name, for the verdicts of later loads on these hosts
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    pub save_baseline: Option<String>,
    #[command(flatten)]
    pub file: ResultsFile,
}

const EXAMPLES: &str = "\
Examples:
  manometer network --hosts node[01-04]
  manometer network --hosts a,b,c --both-directions --streams 1,8 --duration 10s --picture links.svg
  manometer network --hosts @hosts.txt --save-baseline before-the-upgrade
  manometer network --hosts a,b --address a=10.1.0.1 --address b=10.1.0.2";

fn address(text: &str) -> Result<(String, IpAddr), String> {
    let wrong = || format!("{text:?}: write a host and its address, such as node1=10.1.0.5");
    let (host, ip) = text.split_once('=').ok_or_else(wrong)?;
    let ip = ip.parse().map_err(|_| wrong())?;
    if host.is_empty() { Err(wrong()) } else { Ok((host.to_owned(), ip)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_a_host_and_an_ip() {
        assert_eq!(address("a=10.0.0.1").unwrap(), ("a".to_owned(), "10.0.0.1".parse().unwrap()));
        assert_eq!(address("a=fe80::1").unwrap().1, "fe80::1".parse::<IpAddr>().unwrap());
        for wrong in ["a", "=10.0.0.1", "a=b", ""] {
            assert!(address(wrong).unwrap_err().contains("node1=10.1.0.5"));
        }
    }
}
