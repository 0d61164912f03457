//! The report as CSV: either five columns that other tools already know, or these and every figure.

use checks::{CheckReport, CheckRow, PhaseFigures};
use units::ByteRate;

const SHORT: &str = "dataVip,protocol,result,write_tput,read_tput";
const PHASE: [&str; 15] = [
    "bytes",
    "window_s",
    "bytes_per_s",
    "ops",
    "p50_ms",
    "p99_ms",
    "max_ms",
    "errors",
    "retries",
    "reconnects",
    "retransmits",
    "in_flight_at_end",
    "mss_bytes",
    "busiest_core",
    "steal",
];

/// The rows in the order of flashblade-plumbing: all of NFS, then all of S3.
fn rows(report: &CheckReport) -> impl Iterator<Item = &CheckRow> {
    targets::checked().flat_map(|protocol| {
        let scheme = protocol.kind.scheme;
        report.rows.iter().filter(move |row| row.protocol == scheme)
    })
}

/// The five columns.
pub fn render(report: &CheckReport) -> String {
    let mut out = format!("{SHORT}\n");
    for row in rows(report) {
        out.push_str(&short(row));
        out.push('\n');
    }
    out
}

/// The five columns, followed by the write phase, the read phase, the path, and what limited the phases.
pub fn render_full(report: &CheckReport) -> String {
    let mut out = SHORT.to_owned();
    for phase in ["write", "read"] {
        for column in PHASE {
            out.push_str(&format!(",{phase}_{column}"));
        }
    }
    out.push_str(",subnet,array_mtu,nic,nic_mbit_per_s,warnings,cause,write_limit,read_limit\n");
    for row in rows(report) {
        let nic = row.phases().find_map(|(_, phase)| phase.client.nic.clone());
        let mut cells = vec![short(row)];
        cells.extend(phase(row.write.as_ref()));
        cells.extend(phase(row.read.as_ref()));
        cells.extend([
            field(row.path.subnet.as_deref().unwrap_or("-")),
            optional(row.path.array_mtu),
            field(nic.as_ref().map_or("-", |nic| &nic.name)),
            optional(nic.as_ref().and_then(|nic| nic.speed_mbit)),
            field(&row.warnings.join("; ")),
            field(row.cause.as_deref().unwrap_or_default()),
            limit(row.write.as_ref()),
            limit(row.read.as_ref()),
        ]);
        out.push_str(&cells.join(","));
        out.push('\n');
    }
    out
}

fn short(row: &CheckRow) -> String {
    let rate = |phase: &Option<PhaseFigures>| match phase {
        Some(phase) if phase.total.bytes() > 0 => phase.rate().to_string(),
        _ => "-".into(),
    };
    let (protocol, result) = (row.protocol, row.outcome.words());
    let (write, read) = (rate(&row.write), rate(&row.read));
    format!("{},{protocol},{result},{write},{read}", row.path.address)
}

fn phase(phase: Option<&PhaseFigures>) -> Vec<String> {
    let Some(phase) = phase else {
        return vec!["-".into(); PHASE.len()];
    };
    let ops = phase.data_ops();
    let milliseconds = |nanos: u64| format!("{:.3}", nanos as f64 / 1e6);
    let share = |value: f64| format!("{value:.3}");
    let ByteRate(rate) = phase.rate();
    vec![
        phase.total.bytes().to_string(),
        format!("{:.3}", phase.window_ns as f64 / 1e9),
        format!("{rate:.0}"),
        ops.ok.to_string(),
        milliseconds(ops.service.quantile_ns(0.50)),
        milliseconds(ops.service.quantile_ns(0.99)),
        milliseconds(ops.service.max_ns()),
        phase.failed().to_string(),
        phase.retries.to_string(),
        phase.reconnects.to_string(),
        phase.retransmits.to_string(),
        phase.in_flight_at_end.to_string(),
        phase.mss_bytes.to_string(),
        phase.client.busiest().map_or("-".into(), |core| share(core.busy)),
        share(phase.client.steal()),
    ]
}

fn limit(phase: Option<&PhaseFigures>) -> String {
    phase.and_then(|phase| phase.limit.as_ref()).map_or("-", |limit| limit.bound.words()).to_owned()
}

fn optional<T: ToString>(value: Option<T>) -> String {
    value.map_or("-".into(), |value| value.to_string())
}

/// A field as in RFC 4180: quoted if it contains a comma, a quote or a line end.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
