//! What was seen of the observed hosts of the server: in figures, and as rows of the evidence.

use super::baseline::{BEATEN, REACHED};
use super::client::{ALL_FULL, FULL};
use super::evidence::{Disk, DiskBaseline, Evidence, Host};
use super::finding::{EvidenceRow, ServerFinding, ServerPart};
use super::foreign::is_part;
use super::network::CARD_FULL;
use super::server::{
    BEATEN_BY_DISK, HEADERS, busiest_card, busiest_disk, direction, most_as_alone, most_busy, most_throttled,
    of_baseline, used, way,
};
use super::target::QUOTA_USED;
use super::words::{age, percent};

/// Servers whose evidence is shown; those with the fullest parts come first.
const SHOWN: usize = 4;

/// How busy each server was.
pub(super) fn findings(evidence: &Evidence) -> Vec<ServerFinding> {
    let of = |server: &Host| {
        let core = server.busiest_core;
        ServerFinding {
            host: server.name.clone(),
            samples: server.samples,
            busy: server.busy,
            core: (server.samples > 0).then(|| ServerPart {
                name: core.number.to_string(),
                share: Some(core.busy),
                bytes_per_s: 0.0,
                baseline_bytes_per_s: None,
            }),
            disk: busiest_disk(server).map(|(disk, share)| ServerPart {
                name: disk.name.clone(),
                share: Some(share),
                bytes_per_s: disk.bytes_per_s,
                baseline_bytes_per_s: of_disk(server, disk),
            }),
            nic: busiest_card(server).map(|card| ServerPart {
                name: card.name.clone(),
                share: used(card).or_else(|| of_baseline(server).map(|(.., share)| share)),
                bytes_per_s: card.bytes_per_s,
                baseline_bytes_per_s: of_baseline(server).map(|(_, baseline, _)| baseline.bytes_per_s),
            }),
        }
    };
    evidence.servers.iter().map(of).collect()
}

/// What a disk did alone, in the direction in which it moves more.
fn of_disk(server: &Host, disk: &Disk) -> Option<f64> {
    let written = disk.written_bytes_per_s > disk.read_bytes_per_s;
    let same = |known: &&DiskBaseline| known.written == written && is_part(&known.device, &disk.name);
    server.disk_baselines.iter().find(same).map(|known| known.bytes_per_s)
}

/// Rows of the servers with the fullest parts.
pub(super) fn rows(evidence: &Evidence) -> Vec<EvidenceRow> {
    let mut servers: Vec<&Host> = evidence.servers.iter().collect();
    let fullness = |server: &Host| {
        let disk = busiest_disk(server).map_or(0.0, |(_, share)| share);
        let card = busiest_card(server).and_then(used).unwrap_or(0.0);
        disk.max(card).max(server.busy)
    };
    servers.sort_by(|a, b| fullness(b).total_cmp(&fullness(a)));
    servers.into_iter().take(SHOWN).flat_map(|server| of(evidence, server)).collect()
}

fn of(evidence: &Evidence, server: &Host) -> Vec<EvidenceRow> {
    let name = |part: &str| format!("{} {}: {part}", evidence.server_role, server.name);
    let says = |full: bool| if full { "full" } else { "has time left" }.to_owned();
    if server.samples == 0 {
        let value = "no sample".to_owned();
        let says = "nothing is known".to_owned();
        return vec![EvidenceRow { name: name("samples"), value, limit: String::new(), says }];
    }
    let core = server.busiest_core;
    let mut rows = vec![EvidenceRow {
        name: name("cores"),
        value: format!("{} busy, core {} {}", percent(server.busy), core.number, percent(core.busy)),
        limit: percent(ALL_FULL),
        says: says(server.busy >= ALL_FULL || core.busy >= ALL_FULL),
    }];
    if let Some((disk, share, what)) = most_throttled(server) {
        let says = if share >= QUOTA_USED { "held back" } else { "not reached" };
        rows.push(EvidenceRow {
            name: name(&format!("quota of {}", disk.name)),
            value: format!("{what} allowed, {} used", percent(share)),
            limit: percent(QUOTA_USED),
            says: says.to_owned(),
        });
    }
    rows.extend(most_as_alone(server).map(|(disk, baseline, share)| EvidenceRow {
        name: name(&format!("baseline {} of {}", baseline.name, disk.name)),
        value: format!(
            "{} {} of {}, {}",
            way(baseline),
            percent(share),
            units::ByteRate(baseline.bytes_per_s),
            age(baseline.age_s)
        ),
        limit: percent(REACHED),
        says: match share {
            share if share > BEATEN_BY_DISK => "measured in another way, not used".to_owned(),
            share if share >= REACHED => "reached".to_owned(),
            _ => "has room".to_owned(),
        },
    }));
    rows.extend(most_busy(server).map(|disk| EvidenceRow {
        name: name(&format!("disk {}", disk.name)),
        value: format!(
            "{} busy, {:.1} requests, {}",
            percent(disk.busy),
            disk.queue,
            units::ByteRate(disk.bytes_per_s)
        ),
        limit: percent(FULL),
        says: if disk.busy >= FULL { "busy all the time".to_owned() } else { says(false) },
    }));
    rows.extend(busiest_card(server).map(|card| {
        let limit = card.speed.map(|speed| units::ByteRate(speed * CARD_FULL).as_bits());
        EvidenceRow {
            name: name(&format!("NIC {}", card.name)),
            value: units::ByteRate(card.bytes_per_s).as_bits(),
            limit: limit.unwrap_or_default(),
            says: match used(card) {
                None => "no line rate known".to_owned(),
                Some(used) if used >= CARD_FULL => "full".to_owned(),
                Some(_) => "has room".to_owned(),
            },
        }
    }));
    rows.extend(of_baseline(server).map(|(card, baseline, share)| EvidenceRow {
        name: name(&format!("baseline {}", baseline.name)),
        value: format!(
            "{} of {} {}, {}",
            percent(share),
            units::ByteRate(baseline.bytes_per_s),
            direction(card),
            age(baseline.age_s)
        ),
        limit: percent(REACHED),
        says: match share {
            share if share > BEATEN + HEADERS => "out of date, not used: measure it again".to_owned(),
            share if share >= REACHED => "reached".to_owned(),
            _ => "has room".to_owned(),
        },
    }));
    rows
}
