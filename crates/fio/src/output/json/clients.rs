//! `client_stats`: replaces `jobs` in fio's document when hosts ran the jobs (`--client`).

use serde::Serialize;

use super::super::report::{FioClient, FioReport};
use super::JobPart;

/// A job on one host of a fleet.
#[derive(Serialize)]
pub struct ClientPart<'a> {
    #[serde(flatten)]
    job: JobPart<'a>,
    hostname: &'a str,
    port: u16,
}

/// An entry for each host and job, then one for all together, to which fio gives the last host's name.
pub fn stats(report: &FioReport, bins: bool) -> Vec<ClientPart<'_>> {
    let mut all = Vec::new();
    for (client, entries) in report.lists() {
        let Some(FioClient { host, port, .. }) = client.or(report.clients.last()) else { continue };
        for mut job in super::jobs(report, entries, bins) {
            (job.eta, job.elapsed) = (None, None);
            if client.is_none() {
                // All jobs together have no options and no target of their own.
                (job.options, job.target) = (None, None);
            }
            all.push(ClientPart { job, hostname: host, port: *port });
        }
    }
    all
}
