//! The evidence as a table: what was looked at, its value, and the threshold that makes it a limit.

use super::baseline;
use super::client::{ALL_FULL, FULL, THROTTLED, WAITED};
use super::evidence::{Disk, Host, TargetMedium};
use super::finding::EvidenceRow;
use super::network::{self, CARD_FULL};
use super::target::{LANES_USED, QUOTA_USED, in_use, quota_used, round_trip_s};
use super::words::{percent, time};
use super::{foreign, loss};

/// Rows of one host; unknown values are omitted.
pub(super) fn rows(host: &Host) -> Vec<EvidenceRow> {
    let mut rows = Vec::new();
    let mut row = |name: &str, value: String, limit: String, says: &str| {
        rows.push(EvidenceRow { name: name.to_owned(), value, limit, says: says.to_owned() });
    };
    let room = |full: bool| if full { "full" } else { "has time left" };
    if host.workers > 0 {
        row(
            "busiest worker",
            format!("{} of a core", percent(host.ran)),
            percent(FULL),
            room(host.ran >= FULL),
        );
        let waits = if host.waited >= WAITED { "held back" } else { "gets its core" };
        row("worker waited for a core", percent(host.waited), percent(WAITED), waits);
    }
    if host.samples > 0 {
        row(
            "all cores",
            format!("{} busy", percent(host.busy)),
            percent(ALL_FULL),
            room(host.busy >= ALL_FULL),
        );
    }
    if let Some(cores) = host.quota_cores {
        let value = format!("{cores:.2} cores, used up in {} of periods", percent(host.throttled_periods));
        let says = if host.throttled_periods >= THROTTLED { "held back" } else { "not reached" };
        row("processor quota", value, percent(THROTTLED), says);
    }
    if host.load.kind == TargetMedium::Network {
        network_rows(host, &mut row);
    }
    if host.load.kind == TargetMedium::Local {
        for disk in host.disks.iter().take(4) {
            disk_rows(host, disk, &mut row);
        }
    }
    let load = &host.load;
    if load.lanes > 0.0 && load.ops_per_s > 0.0 {
        let used = in_use(load);
        let says = if used >= LANES_USED * load.lanes { "all in use" } else { "not all are needed" };
        row("lanes", format!("{used:.1} of {:.0}", load.lanes), percent(LANES_USED), says);
        let mean = format!("{} on average", time(load.latency_s));
        row("operation", mean, String::new(), &format!("p99 {}", time(load.p99_s)));
    }
    rows
}

fn disk_rows(host: &Host, disk: &Disk, row: &mut dyn FnMut(&str, String, String, &str)) {
    let value = format!(
        "{} busy, {:.1} requests, {}",
        percent(disk.busy),
        disk.queue,
        units::ByteRate(disk.bytes_per_s)
    );
    let foreign = foreign::on_disk(host).is_some_and(|foreign| foreign.place == disk.name);
    let says = match (foreign, disk.busy >= FULL) {
        (true, _) => "used by other programs as well",
        (false, true) => "busy all the time",
        (false, false) => "has time left",
    };
    row(&format!("disk {}", disk.name), value, percent(FULL), says);
    if let Some((used, what)) = quota_used(host, disk) {
        let says = if used >= QUOTA_USED { "held back" } else { "not reached" };
        let value = format!("{what} allowed, {} used", percent(used));
        row(&format!("quota of {}", disk.name), value, percent(QUOTA_USED), says);
    }
}

fn network_rows(host: &Host, row: &mut dyn FnMut(&str, String, String, &str)) {
    // Every host has a few unrelated packets.
    let most = host.cards.iter().map(|card| card.bytes_per_s).fold(0.0, f64::max);
    for card in host.cards.iter().filter(|card| card.bytes_per_s > 0.01 * most).take(4) {
        let carried = foreign::on_its_way(host, card).map_or(card.bytes_per_s, |(carried, _)| carried);
        let value = units::ByteRate(carried).as_bits();
        let limit = card.speed.map(|speed| units::ByteRate(speed * CARD_FULL).as_bits());
        let says = match (foreign::on_card(host, card), card.speed) {
            (Some(_), _) => "used by other programs as well",
            (None, Some(speed)) if carried >= CARD_FULL * speed => "full",
            (None, Some(_)) => "has room",
            (None, None) => "no line rate known",
        };
        row(&format!("card {}", card.name), value, limit.unwrap_or_default(), says);
    }
    if let Some(EvidenceRow { name, value, limit, says }) = baseline::row(host) {
        row(&name, value, limit, &says);
    }
    let Some(path) = host.paths.iter().max_by(|a, b| a.rate().total_cmp(&b.rate())) else { return };
    let queue = network::queue(path).is_some();
    let trip = round_trip_s(path);
    let kind = if path.echo_s.is_some() { "round trip (echo)" } else { "round trip (min)" };
    let value = format!("{}, min {}", time(trip), time(path.least_rtt_s));
    let limit = format!("{:.0} × min", network::GROWN);
    row(kind, value, limit, if queue { "packets queue on the path" } else { "no queue on the path" });
    let (lost, counts) = network::losses(path);
    let says = match (lost >= counts, loss::without_effect(&host.load, path)) {
        (false, _) => "no loss that counts",
        (true, None) => "packets are lost",
        (true, Some(_)) => "packets are lost, but do not limit",
    };
    row(if path.sends() { "retransmits" } else { "out of order" }, percent(lost), percent(counts), says);
    if path.sends() {
        let value = format!("{} of the time", percent(path.window_limited));
        let says = if path.window_limited >= 0.5 { "the target holds the sender back" } else { "open" };
        row("target's window closed", value, percent(0.5), says);
    }
    if path.mss_bytes > 0 {
        let says = if path.mss_bytes < network::SMALL { "small packets" } else { "usual" };
        row("segments", format!("{} bytes", path.mss_bytes), format!("{} bytes", network::SMALL), says);
    }
}
