//! Checks of storage from the service's own host, over the network.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use checks::{
    ArrayRequest, CheckInput, CheckInputError, CheckRequest, CheckSource, ExistingTarget, OptionStyle,
    RecordOptions, management_address, positive,
};
use drivers::Sink;
use provision::{ApiSecret, ExportProtocol, Management, Trust};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::RunKind;
use super::check_ceph::CephForm;
use super::fields::{FieldFault, read, size, time, trust};
use super::reactor_form::ReactorForm;
use crate::body::{KeyForm, access_keys};
use crate::new_work::{NewWork, RunSecrets};
use crate::options::RequestPolicy;

/// How options are written here.
const STYLE: OptionStyle = OptionStyle::Fields;
/// Maximum number of targets, of addresses, and of words.
const MOST: usize = 64;
/// The protocol whose targets need keys.
const S3: &str = "s3";
/// Length of a call of a management API, unless a request says otherwise.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// A check, by the options of `manometer check` without those that name files: exactly one of `demo`, `array`, `ceph`, or
/// `nfs`, `s3` and `rados`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewCheck)]
pub(crate) struct CheckForm {
    /// Check a simulated array in the service; it keeps what is written in memory, at most 1 GiB at a time
    #[serde(default)]
    demo: bool,
    /// Check these exports: `nfs://host[:port]/export`
    #[schema(max_items = 64)]
    #[serde(default)]
    nfs: Vec<String>,
    /// Check these buckets: `s3://bucket?endpoint=https://host` or `https://host/bucket`; `keys` has their key
    #[schema(max_items = 64)]
    #[serde(default)]
    s3: Vec<String>,
    /// Check these pools of a Ceph cluster, through each public address of its OSDs: `rados://pool`
    #[schema(max_items = 64)]
    #[serde(default)]
    rados: Vec<String>,
    /// Check an array, which creates what is needed
    array: Option<ArrayForm>,
    /// Check a Ceph cluster, on which what is needed is created; the service must allow commands
    ceph: Option<CephForm>,
    /// The key for the buckets in `s3`, by the name `s3`. It stays in memory until the run ends
    #[serde(default)]
    keys: BTreeMap<String, KeyForm>,
    /// Check these data addresses instead of one per subnet of an array, or of what a host name resolves to
    #[schema(value_type = Vec<String>, max_items = 64)]
    #[serde(default)]
    data_vip: Vec<IpAddr>,
    /// Leave NFS out
    #[serde(default)]
    skip_nfs: bool,
    /// Leave S3 out
    #[serde(default)]
    skip_s3: bool,
    /// Leave RADOS out
    #[serde(default)]
    skip_rados: bool,
    /// Measured time of each phase (write, then read), at most a day
    #[schema(default = "60s")]
    duration: Option<String>,
    /// Do not try half and twice as much in flight after phases with a doubtful limit
    #[serde(default)]
    no_probe: bool,
    /// Compare every byte read with what was written
    #[serde(default)]
    verify: bool,
    /// Most data that one phase writes before it starts again from the beginning
    #[schema(default = "64GiB")]
    dataset: Option<String>,
    /// Load threads; one per core by default
    #[schema(minimum = 1, maximum = 1024)]
    workers: Option<u32>,
    /// Operations that each worker keeps in flight
    #[schema(minimum = 1, maximum = 4096, default = 16)]
    lanes: Option<u32>,
    /// NFS connections per worker
    #[schema(minimum = 1, maximum = 256, default = 4)]
    connections: Option<u32>,
    /// Size of one NFS read or write
    #[schema(default = "1MiB")]
    block_size: Option<String>,
    /// Size of one object of S3 or RADOS
    #[schema(default = "8MiB")]
    object_size: Option<String>,
    /// Where read data goes: into a buffer, or dropped in the kernel after its length is checked
    #[schema(default = "buffer")]
    sink: Option<SinkForm>,
    /// How I/O is submitted to the kernel
    #[schema(default = "auto")]
    reactor: Option<ReactorForm>,
    /// Timeout of connecting; an address that does not answer in time is reported and skipped
    #[schema(default = "10s")]
    connect_timeout: Option<String>,
    /// Timeout of one operation
    #[schema(default = "30s")]
    op_timeout: Option<String>,
    /// Ask the NFS server to make every write durable at once instead of by COMMIT
    #[serde(default)]
    stable: bool,
    /// User ID in NFS requests; the service's by default
    uid: Option<u32>,
    /// Group ID in NFS requests; the service's by default
    gid: Option<u32>,
    /// Version of NFS
    #[schema(default = "3")]
    nfs_version: Option<NfsVersionForm>,
    /// Port of NFS, instead of asking the portmapper
    #[schema(minimum = 1, maximum = 65535)]
    nfs_port: Option<u16>,
    /// Port of MOUNT, instead of asking the portmapper
    #[schema(minimum = 1, maximum = 65535)]
    mount_port: Option<u16>,
    /// Port of the portmapper
    #[schema(minimum = 1, maximum = 65535, default = 111)]
    portmap_port: Option<u16>,
    /// Port of S3 on an array's data addresses; 80 by default, 443 with `s3_tls`
    #[schema(minimum = 1, maximum = 65535)]
    s3_port: Option<u16>,
    /// Use TLS on an array's data addresses
    #[serde(default)]
    s3_tls: bool,
    /// Trust the S3 certificate with this SHA-256 fingerprint
    s3_tls_fingerprint: Option<String>,
    /// Do not verify S3 certificates
    #[serde(default)]
    s3_tls_insecure: bool,
    /// Region that S3 requests are signed for
    #[schema(default = "us-east-1")]
    s3_region: Option<String>,
    /// Put the bucket name into the host name instead of the path
    #[serde(default)]
    s3_virtual_host: bool,
    /// Integrity check of uploads: none, a signed SHA-256, or a CRC in a trailer
    #[schema(default = "unsigned")]
    s3_payload: Option<PayloadForm>,
}

/// An array to check.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CheckArray)]
pub(crate) struct ArrayForm {
    /// Its management address: host, host:port or [IPv6]:port
    management: String,
    /// The API token. It stays in memory until the run ends
    #[serde(default)]
    #[schema(value_type = String, required = true)]
    token: Option<String>,
    /// Use this existing file system; the check creates and removes a directory of its own in it
    #[serde(default)]
    filesystem: Option<String>,
    /// Use this existing bucket; the check creates and removes objects of its own in it
    #[serde(default)]
    bucket: Option<String>,
    /// Trust the management certificate with this SHA-256 fingerprint
    #[serde(default)]
    tls_fingerprint: Option<String>,
    /// Do not verify the management certificate; anyone on the path can then read the token
    #[serde(default)]
    tls_insecure: bool,
    /// Timeout of one management API call
    #[serde(default)]
    #[schema(default = "30s")]
    call_timeout: Option<String>,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Sink)]
enum SinkForm {
    Buffer,
    Discard,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[schema(as = NfsVersion)]
enum NfsVersionForm {
    #[serde(rename = "3")]
    V3,
    #[serde(rename = "4.1")]
    V4_1,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = PayloadSigning)]
enum PayloadForm {
    Unsigned,
    Signed,
    Crc64nvme,
    Crc32c,
}

impl NewWork {
    /// A check, from the object that was posted: its secrets are taken out of the text.
    ///
    /// # Errors
    /// A field cannot be read.
    pub(crate) fn check(mut posted: Map<String, Value>) -> Result<Self, FieldFault> {
        let form: CheckForm = read(&Value::Object(posted.clone()))?;
        let keys = access_keys(form.keys);
        let array_token = form.array.and_then(|array| array.token).map(|token| ApiSecret::new(&token));
        posted.remove("keys");
        if let Some(array) = posted.get_mut("array").and_then(Value::as_object_mut) {
            array.remove("token");
        }
        let secrets = RunSecrets { keys, array_token, ..RunSecrets::default() };
        Ok(Self { kind: RunKind::Check, text: Value::Object(posted).to_string(), secrets, storperf: None })
    }
}

/// Reads the text of a check, with the secrets that came with it. Where it is recorded, and its directories, are still
/// absent.
///
/// # Errors
/// A field is wrong, contradicts another one, or would read a file of the service's host.
pub(super) fn request(
    text: &str,
    secrets: &RunSecrets,
    policy: &RequestPolicy,
) -> Result<CheckRequest, FieldFault> {
    let value: Value = serde_json::from_str(text).map_err(|_| FieldFault::damaged())?;
    let form: CheckForm = read(&value)?;
    let lists = [
        ("nfs", form.nfs.len()),
        ("s3", form.s3.len()),
        ("rados", form.rados.len()),
        ("data_vip", form.data_vip.len()),
    ];
    for (field, count) in lists {
        at_most(field, count, "post several checks")?;
    }
    let source = source(&form, secrets, policy)?;
    check_keys(&form, secrets)?;
    input(source, &form)?.into_request(STYLE, RecordOptions::default(), None, PathBuf::new()).map_err(fault)
}

/// Refuses a list that is longer than any useful one.
pub(super) fn at_most(field: &str, count: usize, next: &str) -> Result<(), FieldFault> {
    match count > MOST {
        true => Err(FieldFault::of(field, format_args!("{count} are more than {MOST}; next: {next}"))),
        false => Ok(()),
    }
}

pub(super) fn fault(error: CheckInputError) -> FieldFault {
    FieldFault { field: error.option().to_owned(), why: error.to_string() }
}

/// Where the storage is.
fn source(form: &CheckForm, secrets: &RunSecrets, policy: &RequestPolicy) -> Result<CheckSource, FieldFault> {
    let named = [&form.nfs, &form.s3, &form.rados].into_iter().any(|urls| !urls.is_empty());
    match (form.demo, &form.array, &form.ceph, named) {
        (true, None, None, false) => Ok(CheckSource::Demo),
        (false, Some(array), None, false) => self::array(array, secrets).map(CheckSource::Array),
        (false, None, Some(ceph), false) => ceph.request(policy).map(CheckSource::Ceph),
        (false, None, None, true) => {
            let source = CheckSource::of_urls(STYLE, &form.nfs, &form.s3, &form.rados).map_err(fault)?;
            if let CheckSource::Existing(targets) = &source {
                targets.iter().try_for_each(reads_no_file)?;
            }
            Ok(source)
        }
        _ => Err(FieldFault {
            field: String::new(),
            why: "the body names no storage, or several; next: give one of \"demo\": true, \"array\", \"ceph\", or \
                  \"nfs\", \"s3\" and \"rados\""
                .to_owned(),
        }),
    }
}

fn array(form: &ArrayForm, secrets: &RunSecrets) -> Result<ArrayRequest, FieldFault> {
    let within = |mut fault: FieldFault| {
        fault.field = format!("array.{}", fault.field);
        fault.why = format!("array.{}", fault.why);
        fault
    };
    let address = management_address(STYLE, &form.management).map_err(|error| within(fault(error)))?;
    let token = secrets.array_token.clone().filter(|token| !token.is_empty()).ok_or_else(|| {
        FieldFault::of("array.token", "it is absent; next: give the API token of a user of the array")
    })?;
    let trust = trust("array.", form.tls_fingerprint.as_deref(), form.tls_insecure)?;
    let trust = trust.unwrap_or(Trust::System);
    let call_timeout = time("call_timeout", form.call_timeout.as_deref(), CALL_TIMEOUT)
        .and_then(|time| positive(STYLE, "call-timeout", time).map_err(fault))
        .map_err(within)?;
    Ok(ArrayRequest {
        management: Management { address, token, trust, call_timeout },
        filesystem: form.filesystem.clone(),
        bucket: form.bucket.clone(),
    })
}

/// Refuses options in the URL of a target that make this host read its own files.
fn reads_no_file(given: &ExistingTarget) -> Result<(), FieldFault> {
    let kind = given.protocol.kind;
    let reading =
        kind.options.iter().find(|help| help.reads_file && given.target.options.contains_key(help.name));
    match reading {
        None => Ok(()),
        Some(help) => {
            let why = format!(
                "{} reads files of the service's host; next: take it out; keys go into \"keys\"",
                help.name
            );
            Err(FieldFault::of(kind.scheme, why))
        }
    }
}

/// Existing buckets need a key, and nothing else has one.
fn check_keys(form: &CheckForm, secrets: &RunSecrets) -> Result<(), FieldFault> {
    let field = |name: &str| format!("keys.{name}");
    if let Some(other) = secrets.keys.keys().find(|name| *name != S3) {
        return Err(FieldFault::of(&field(other), "only s3 has a key; next: take it out"));
    }
    match (form.s3.is_empty() || form.skip_s3, secrets.keys.contains_key(S3)) {
        (false, false) => {
            let why = "the key for the buckets is absent; next: give {\"s3\": {\"id\": …, \"secret\": …}}";
            Err(FieldFault { field: field(S3), why: format!("{}: {why}", field(S3)) })
        }
        _ => Ok(()),
    }
}

fn input(source: CheckSource, form: &CheckForm) -> Result<CheckInput, FieldFault> {
    let mut input = CheckInput::new(source);
    input.data_vips.clone_from(&form.data_vip);
    (input.skip_nfs, input.skip_s3, input.skip_rados) = (form.skip_nfs, form.skip_s3, form.skip_rados);
    input.duration = time("duration", form.duration.as_deref(), input.duration)?;
    input.probe = !form.no_probe;
    input.sink = match (form.verify, form.sink) {
        (true, None) => Sink::Verify,
        (true, Some(_)) => {
            return Err(FieldFault::of("sink", "it contradicts verify; next: leave one of them out"));
        }
        (false, None | Some(SinkForm::Buffer)) => Sink::Buffer,
        (false, Some(SinkForm::Discard)) => Sink::Discard,
    };
    input.dataset = size("dataset", form.dataset.as_deref(), input.dataset)?;
    input.workers = form.workers;
    input.lanes = form.lanes.unwrap_or(input.lanes);
    input.connections = form.connections.unwrap_or(input.connections);
    input.block_size = size("block_size", form.block_size.as_deref(), input.block_size)?;
    input.object_size = size("object_size", form.object_size.as_deref(), input.object_size)?;
    input.reactor = ReactorForm::choice(form.reactor);
    input.connect_timeout = time("connect_timeout", form.connect_timeout.as_deref(), input.connect_timeout)?;
    input.op_timeout = time("op_timeout", form.op_timeout.as_deref(), input.op_timeout)?;
    input.nfs.stable = form.stable;
    (input.nfs.uid, input.nfs.gid) = (form.uid, form.gid);
    input.nfs.version = form.nfs_version.map(|version| match version {
        NfsVersionForm::V3 => ExportProtocol::Nfs3,
        NfsVersionForm::V4_1 => ExportProtocol::Nfs4_1,
    });
    (input.nfs.port, input.nfs.mount_port) = (form.nfs_port, form.mount_port);
    input.nfs.portmap_port = form.portmap_port.unwrap_or(input.nfs.portmap_port);
    (input.s3.port, input.s3.tls, input.s3.tls_insecure) = (form.s3_port, form.s3_tls, form.s3_tls_insecure);
    let pinned = form.s3_tls_fingerprint.as_deref().map(str::parse).transpose();
    input.s3.tls_fingerprint = pinned.map_err(|error| FieldFault::of("s3_tls_fingerprint", error))?;
    if let Some(region) = &form.s3_region {
        input.s3.region.clone_from(region);
    }
    input.s3.virtual_host = form.s3_virtual_host;
    input.s3.payload = match form.s3_payload {
        None | Some(PayloadForm::Unsigned) => "unsigned",
        Some(PayloadForm::Signed) => "signed",
        Some(PayloadForm::Crc64nvme) => "crc64nvme",
        Some(PayloadForm::Crc32c) => "crc32c",
    };
    Ok(input)
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
