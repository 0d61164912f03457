//! `iscsi://[user@]portal[:port]/target/lun`: a logical unit, used as a whole like a block device, without an initiator of
//! the system's.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use drivers::iscsi::{IscsiConfig, IscsiDriver};
use experiment::OptionKind::{Bytes, Choice, Count, Flag, Span, Text};
use experiment::{OptionHelp, Target, TargetKind, TargetOptions, TargetUrl, Transport, UrlForm, Workload};
use metrics::OpKind::{Commit, Read, Stat, Trim, Write, WriteZeroes};
use wire::iscsi::{DigestUse, MAX_SEGMENT_BYTES, Offer, PORT};

use super::engines::{self, JobEngines};
use super::hosts::{address, host_and_port};
use super::iscsi_secrets::ChapSecrets;
use super::iscsi_unit::IscsiTarget;
use super::options::{ADDRESSES, AT_LEAST_ONE, PAIRING, SOURCE, USE_ADDRESSES};
use super::place::OwnPlace;
use super::protocol::wrong;
use super::{AccessKey, OpenRequest, OpenTarget, Protocol, Secrets, TargetError, kinds, paths};

/// The protocol of `iscsi:`.
pub(super) struct Iscsi;

/// Sizes of the protocol's parameters that may be offered (RFC 7143, 13.12 to 13.14).
const SEGMENT: experiment::OptionKind = Bytes { least: 512, most: MAX_SEGMENT_BYTES as u64 };
const DIGESTS: experiment::OptionKind = Choice(&["none", "preferred", "crc32c"]);

const OPTIONS: &[OptionHelp] = &[
    OptionHelp::new(
        "initiator",
        Text,
        "iqn.2026-01.manometer: and this host's name",
        "our name, which the target may have to allow",
    ),
    OptionHelp::new(
        "credentials_file",
        Text,
        "the LIBISCSI_CHAP_… environment",
        "file with names and secrets for CHAP, in the format of /etc/iscsi/iscsid.conf",
    )
    .reading_file(),
    OptionHelp::new("sessions", AT_LEAST_ONE, "1", "sessions per job, each with one connection"),
    OptionHelp::new(
        "header_digest",
        DIGESTS,
        "none",
        "checksums of headers (CRC32C); preferred: if the target has them",
    ),
    OptionHelp::new("data_digest", DIGESTS, "none", "checksums of data (CRC32C)"),
    OptionHelp::new("immediate_data", Flag, "true", "write commands may carry data"),
    OptionHelp::new(
        "initial_r2t",
        Flag,
        "false",
        "data behind those of the command wait until the target asks for them",
    ),
    OptionHelp::new(
        "first_burst",
        SEGMENT,
        "256KiB",
        "most data of a write that are sent without being asked for",
    ),
    OptionHelp::new("burst_size", SEGMENT, "4MiB", "most data that the target may ask for at once"),
    OptionHelp::new("receive_size", SEGMENT, "256KiB", "largest data segment that we take"),
    OptionHelp::new(
        "outstanding_r2t",
        Count { least: 1, most: u16::MAX as u64 },
        "16",
        "how often the target may ask for data of one write before it has got them",
    ),
    OptionHelp::new("stable", Flag, "false", "each write is on the medium before it is acknowledged (FUA)"),
    OptionHelp::new(
        "keepalive",
        Span,
        "5s",
        "silence after which the target is pinged, and within which it must reply; 0s: never",
    ),
    SOURCE,
    ADDRESSES,
    USE_ADDRESSES,
    PAIRING,
];

pub(super) static KIND: TargetKind = TargetKind {
    ranges: true,
    device: true,
    remote: true,
    sink_discard: true,
    transport: Transport::Network,
    ..TargetKind::new(
        "iscsi",
        "iscsi://portal/iqn.2026-01.org.example:target/1",
        UrlForm::LogicalUnit,
        &[Read, Write, Commit, Trim, Stat, WriteZeroes],
        OPTIONS,
    )
};

impl Protocol for Iscsi {
    fn kind(&self) -> &'static TargetKind {
        &KIND
    }

    fn engines(&self) -> JobEngines {
        engines::iscsi::ENGINES
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Box<dyn OpenTarget>, TargetError> {
        Ok(Box::new(open(request)?))
    }

    fn key(&self, target: &Target, options: &TargetOptions, secrets: &dyn Secrets) -> Option<AccessKey> {
        let own = || {
            let url = TargetUrl::parse(kinds(), &target.url).ok()?;
            let file = options.text("credentials_file").map(Path::new);
            ChapSecrets::find(url.user(), file, secrets).ok()?.into_key()
        };
        secrets.key(&target.name).or_else(own)
    }
}

/// A portal, target and unit, from a URL or from what `--destroy` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnitAddress {
    portal: SocketAddr,
    target: String,
    lun: u16,
}

impl UnitAddress {
    fn of(text: &str, url: &TargetUrl) -> Result<Self, TargetError> {
        let (host, port) = host_and_port(text, url.authority(), KIND.example)?;
        let (target, number) = url.path().trim_start_matches('/').split_once('/').unwrap_or_default();
        let lun = number.parse().map_err(|_| {
            let most = wire::iscsi::Lun::MAX;
            wrong(text, &format!("\"{number}\" is no number of a logical unit; write 0 to {most}"))
        })?;
        let portal = SocketAddr::new(address(text, &host)?, port.unwrap_or(PORT));
        Ok(Self { portal, target: target.to_owned(), lun })
    }

    /// Whether a text of `--destroy` names this unit.
    fn is_named_by(&self, text: &Path) -> bool {
        let named = text.to_str().and_then(|text| Some((text, TargetUrl::parse(kinds(), text).ok()?)));
        named.is_some_and(|(text, url)| {
            std::ptr::eq(url.kind(), &KIND) && Self::of(text, &url).is_ok_and(|named| named == *self)
        })
    }
}

fn open(request: &OpenRequest<'_>) -> Result<IscsiTarget, TargetError> {
    let OpenRequest { target, url, options: given, workload, context } = *request;
    let unit = UnitAddress::of(&target.url, url)?;
    let file = given.text("credentials_file").map(PathBuf::from);
    let secrets = match context.secrets.key(&target.name) {
        Some(key) => ChapSecrets::from(key),
        None => ChapSecrets::find(url.user(), file.as_deref(), &*context.secrets)
            .map_err(|error| TargetError::Input(format!("target {}: {error}", target.name)))?,
    };
    let ways = paths::read(request, &[unit.portal.ip()])?;
    let usual = IscsiConfig::new(unit.portal, unit.target.clone(), unit.lun);
    let config = IscsiConfig {
        addresses: ways.addresses,
        paths: ways.paths,
        initiator: given.text("initiator").map_or(usual.initiator, str::to_owned),
        secret: secrets.own,
        target_secret: secrets.target,
        sessions: given.number("sessions").unwrap_or(usual.sessions),
        offer: offer(given, usual.offer),
        stable: given.flag("stable").unwrap_or(usual.stable),
        keepalive: match given.span_ns("keepalive") {
            Some(0) => None,
            Some(ns) => Some(Duration::from_nanos(ns)),
            None => usual.keepalive,
        },
        ..usual
    };
    let parts = if workload.stream().is_some() { 1 } else { u64::from(context.parts.max(1)) };
    let destroy = context.destroy.iter().any(|named| unit.is_named_by(named));
    let mut opened = IscsiTarget {
        connections: paths::connections(workload, config.sessions),
        driver: driver(request, config)?,
        place: OwnPlace::stays(&context.run),
        patience: context.patience,
        destroy,
        provisioned: target.provision.is_some().then(|| url.path().trim_start_matches('/').to_owned()),
        fills: workload.stream().is_none(),
        writes: workload.changes_data(),
        sizes: sizes(workload),
        parts,
        used_bytes: workload.file_bytes(),
    };
    if opened.used_bytes == 0 {
        // All of the unit: only the target knows how much that is.
        let (facts, _) = opened.driver.look(context.patience.connect)?;
        opened.used_bytes = whole_blocks(facts.capacity.bytes() / parts, workload);
    }
    if parts > 1 {
        let config = IscsiConfig { slice_bytes: opened.used_bytes, ..opened.driver.config().clone() };
        opened.driver = driver(request, config)?;
    }
    Ok(opened)
}

fn driver(request: &OpenRequest<'_>, config: IscsiConfig) -> Result<IscsiDriver, TargetError> {
    IscsiDriver::new(config)
        .map_err(|error| TargetError::Input(format!("target {}: {}", request.target.name, error.detail)))
}

fn offer(given: &TargetOptions, usual: Offer) -> Offer {
    let digest = |name: &str| match given.text(name) {
        Some("crc32c") => DigestUse::Required,
        Some("preferred") => DigestUse::Preferred,
        _ => DigestUse::None,
    };
    let burst_bytes: Option<u32> = given.number("burst_size");
    let first: Option<u32> = given.number("first_burst");
    Offer {
        header_digest: digest("header_digest"),
        data_digest: digest("data_digest"),
        receive_bytes: given.number("receive_size").unwrap_or(usual.receive_bytes),
        burst_bytes: burst_bytes.unwrap_or(usual.burst_bytes).max(first.unwrap_or(0)),
        // A default that is larger than the burst would be a fault that is not the user's.
        first_burst_bytes: first.unwrap_or(usual.first_burst_bytes).min(burst_bytes.unwrap_or(u32::MAX)),
        immediate_data: given.flag("immediate_data").unwrap_or(usual.immediate_data),
        initial_r2t: given.flag("initial_r2t").unwrap_or(usual.initial_r2t),
        outstanding_r2t: given.number("outstanding_r2t").unwrap_or(usual.outstanding_r2t),
    }
}

/// Sizes that must be multiples of the unit's blocks.
fn sizes(workload: &Workload) -> Vec<u64> {
    let blocks = workload.block_sizes().iter().map(|size| size.bytes).collect::<Vec<_>>();
    blocks.into_iter().chain([workload.file_bytes()]).filter(|size| *size > 0).collect()
}

/// The largest part that whole blocks of every size fill.
fn whole_blocks(size: u64, workload: &Workload) -> u64 {
    let largest = workload.block_sizes().iter().map(|size| size.bytes).max().unwrap_or(1).max(1);
    if size < largest { size } else { size / largest * largest }
}
