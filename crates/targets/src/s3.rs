//! `s3://bucket?endpoint=https://host[:port]`: objects under a prefix of a bucket.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use drivers::s3::{
    Credentials, CredentialsError, Endpoint, Fingerprint, PayloadSigning, S3Config, S3Driver, TlsConfig,
    Trust, region_in,
};
use drivers::{Announce, DriverError, Secret};
use experiment::OptionKind::{Bytes, Choice, Flag, Text};
use experiment::{
    CalibratedOp, Job, OptionHelp, SyntaxError, Target, TargetKind, TargetOptions, Transport, UrlForm,
};
use metrics::ErrorKind;
use metrics::OpKind::{
    BatchDelete, Copy, Delete, Get, GetTagging, List, ListPrefixes, Put, PutTagging, Read, Stat,
};

use serde_json::Value;

use super::complete::item_number;
use super::engines::{self, JobEngines};
use super::options::{ADDRESSES, DIRECTORY, PAIRING, SOURCE, USE_ADDRESSES};
use super::paths::named;
use super::place::{Entered, OwnPlace, PATIENCE};
use super::protocol::wrong;
use super::s3_check;
use super::s3_place::{self, S3Place};
use super::{
    AccessKey, CheckTraits, Look, OpenRequest, OpenTarget, Protocol, RemovalContext, RemoveLeftError,
    Secrets, StageRunner, TargetError, paths,
};

/// The protocol of `s3:`.
pub(super) struct S3;

/// Numbers of common prefixes: each is 16 to the power of its place.
const FAN_OUTS: &[&str] = &["1", "16", "256", "4096"];

const OPTIONS: &[OptionHelp] = &[
    DIRECTORY,
    OptionHelp::new("region", Text, "us-east-1", "region to sign requests for"),
    OptionHelp::new("path_style", Flag, "true", "put the bucket into the path instead of the host name"),
    OptionHelp::new(
        "signing",
        Choice(&["unsigned", "signed", "crc64nvme", "crc32c"]),
        "unsigned",
        "integrity check of put payloads",
    ),
    OptionHelp::new(
        "part_size",
        Bytes { least: 5 << 20, most: 5 << 30 },
        "64MiB",
        "part size of multipart uploads; smaller objects are put whole",
    ),
    OptionHelp::new(
        "fan_out",
        Choice(FAN_OUTS),
        "1",
        "common prefixes that the keys are spread over, for list-prefixes; a kept directory needs the same",
    ),
    OptionHelp::new(
        "connect_to",
        Text,
        "what the host name resolves to",
        "ADDRESS:PORT to connect to, such as one data address",
    ),
    SOURCE,
    ADDRESSES,
    USE_ADDRESSES,
    PAIRING,
    OptionHelp::new(
        "credentials_file",
        Text,
        "the AWS_… environment, else ~/.aws/credentials",
        "file with access keys",
    )
    .reading_file(),
    OptionHelp::new("profile", Text, "default", "profile in the credentials file").reading_file(),
    OptionHelp::new("tls_ca", Text, "the system's", "CA file that signed the server's certificate")
        .reading_file(),
    OptionHelp::new(
        "tls_fingerprint",
        Text,
        "none",
        "SHA-256 fingerprint of the server's certificate; trusted whoever signed it",
    ),
    OptionHelp::new("tls_insecure", Flag, "false", "do not verify the server's certificate"),
];

pub(super) static KIND: TargetKind = TargetKind {
    objects: true,
    remote: true,
    own_place: true,
    prefix_place: true,
    sink_discard: true,
    calibrated: &[CalibratedOp::new(Get, "get", "S3 GET"), CalibratedOp::new(Put, "put", "S3 PUT")],
    transport: Transport::Network,
    ..TargetKind::new(
        "s3",
        "s3://bucket?endpoint=https://host:port",
        UrlForm::Bucket,
        &[Read, Stat, Put, Get, List, Delete, Copy, PutTagging, GetTagging, BatchDelete, ListPrefixes],
        OPTIONS,
    )
};

impl Protocol for S3 {
    fn kind(&self) -> &'static TargetKind {
        &KIND
    }

    fn engines(&self) -> JobEngines {
        engines::s3::ENGINES
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Box<dyn OpenTarget>, TargetError> {
        Ok(Box::new(open(request)?))
    }

    fn check(&self) -> Option<&'static CheckTraits> {
        Some(&s3_check::CHECK)
    }

    fn remove_left(&self, place: &Value, cx: &mut RemovalContext<'_>) -> Result<(), RemoveLeftError> {
        s3_place::remove_left(place, cx)
    }

    fn key(&self, target: &Target, options: &TargetOptions, secrets: &dyn Secrets) -> Option<AccessKey> {
        let own = || {
            let file = options.text("credentials_file").map(PathBuf::from);
            let found = credentials(file.as_ref(), options.text("profile"), secrets).ok()?;
            let (id, secret, token) = found.into_texts();
            Some(AccessKey { id, secret, token })
        };
        secrets.key(&target.name).or_else(own)
    }
}

/// A bucket.
pub(super) struct S3Target {
    pub(super) driver: S3Driver,
    pub(super) place: OwnPlace,
    /// Timeout of the response to the first requests.
    contact: Duration,
    /// Connections across all jobs.
    pub(super) connections: u64,
    /// The bucket is that of a user whom the run provisions: it is created when it is first entered, and removed with the user.
    creates_bucket: bool,
}

pub(super) fn open(request: &OpenRequest<'_>) -> Result<S3Target, TargetError> {
    let OpenRequest { target, url, options: given, workload, context } = *request;
    let bucket = url.authority();
    let endpoint = url.endpoint().unwrap_or_default();
    // The endpoint's own message does not echo a possible password either.
    let endpoint: Endpoint =
        endpoint.parse().map_err(|error| TargetError::Input(format!("target {}: {error}", target.name)))?;
    let credentials_file = given.text("credentials_file").map(PathBuf::from);
    let profile = given.text("profile").map(str::to_owned);
    let credentials = match context.secrets.key(&target.name) {
        Some(key) => of_key(key),
        None => {
            let found = credentials(credentials_file.as_ref(), profile.as_deref(), &*context.secrets);
            found.map_err(|error| {
                TargetError::Input(format!("target {}: {}", target.name, keys_missing(&error)))
            })?
        }
    };
    let insecure = given.flag("tls_insecure").unwrap_or(false);
    let ca_file = given.text("tls_ca").map(PathBuf::from);
    let pinned: Option<Fingerprint> = request.read("tls_fingerprint", str::parse)?;
    let trust = match (pinned, &ca_file) {
        (Some(pinned), _) => Trust::Fingerprint(pinned),
        (None, Some(path)) => Trust::CaFile(path.clone()),
        (None, None) if insecure => Trust::Insecure,
        (None, None) => Trust::System,
    };
    let kept = given.text("directory").map(|prefix| prefix.trim_end_matches('/').to_owned());
    let prefix = kept.clone().unwrap_or_else(|| context.place.object_name());
    let usual = S3Config::new(endpoint, bucket, &prefix, credentials);
    let connect_to: Option<SocketAddr> = request.read("connect_to", |text| {
        text.parse().map_err(|_| SyntaxError::Form("write ADDRESS:PORT, such as 10.0.0.1:443"))
    })?;
    let host = connect_to.map(|address| address.ip()).or_else(|| usual.endpoint.host.parse().ok());
    let ways = paths::read(request, host.as_slice())?;
    if let Some(text) = given.text("addresses").filter(|_| connect_to.is_some()) {
        return Err(request.wrong_option(
            "addresses",
            text,
            "it says the same as connect_to: give one of the two",
        ));
    }
    let port = usual.endpoint.port;
    let addresses: Vec<SocketAddr> = ways
        .addresses
        .iter()
        .map(|address| SocketAddr::new(address.ip, address.port.unwrap_or(port)))
        .collect();
    if workload.sink == "discard" && !workload.verifies() && usual.endpoint.tls {
        return Err(wrong(
            &target.url,
            "sink: discard does not work over TLS, which must see the bytes to decrypt them; remove it, or use http",
        ));
    }
    let part_size = given.number("part_size").unwrap_or(usual.part_size);
    let config = S3Config {
        connect_to,
        addresses,
        paths: ways.paths,
        region: given
            .text("region")
            .map(str::to_owned)
            .or_else(|| region_in(&|name| context.secrets.variable(name)))
            .unwrap_or(usual.region),
        path_style: given.flag("path_style").unwrap_or(usual.path_style),
        payload_signing: request.read("signing", str::parse::<PayloadSigning>)?.unwrap_or_default(),
        tls: TlsConfig { trust },
        part_size,
        prefix_digits: given
            .text("fan_out")
            .and_then(|text| FAN_OUTS.iter().position(|known| *known == text))
            .map_or(0, |digits| digits as u32),
        may_put_parts: workload.max_file_bytes() > part_size,
        control_timeout: Duration::try_from_secs_f64(workload.op_timeout_s)
            .unwrap_or(PATIENCE)
            .max(context.patience.answer),
        retry_seed: context.seed,
        blocks: workload.stream().map(|job| names(job, workload.jobs)),
        ..usual
    };
    // A job's objects lie where the user put them.
    let place = context.place_unless(kept.is_some() || workload.lays_out_files(), || S3Place {
        endpoint: config.endpoint.to_string(),
        connect_to: config.addresses.first().copied().or(config.connect_to),
        bucket: config.bucket.clone(),
        prefix: format!("{prefix}/"),
        region: config.region.clone(),
        path_style: config.path_style,
        ca_file,
        insecure,
        fingerprint: pinned,
        credentials_file,
        profile,
        may_have_parts: config.may_put_parts,
    });
    let driver = S3Driver::new(config)
        .map_err(|error| TargetError::Input(format!("target {}: {}", target.name, error.detail)))?;
    let connections = paths::connections(workload, workload.queue_depth);
    Ok(S3Target {
        driver,
        place,
        contact: context.patience.connect,
        connections,
        creates_bucket: target.provision.is_some(),
    })
}

/// The names of a job's files within the bucket, by number.
fn names(job: &Job, workers: u32) -> BTreeMap<u64, String> {
    let numbers = job.first_number..job.first_number.saturating_add(workers);
    let files = numbers.flat_map(|number| (0..job.files.per_worker()).map(move |file| (number, file)));
    let named = files.map(|(number, file)| {
        let path = job.files.names.path(&job.name, number, file);
        (job.files.names.object(number, file), path.trim_start_matches('/').to_owned())
    });
    named.collect()
}

/// The keys: from the file that the options name, else from where the AWS tools look.
fn credentials(
    file: Option<&PathBuf>,
    profile: Option<&str>,
    secrets: &dyn Secrets,
) -> Result<Credentials, CredentialsError> {
    match (file, profile) {
        (Some(file), Some(profile)) => Credentials::from_file(file, profile),
        (file, profile) => Credentials::find_in(file.map(PathBuf::as_path), &|name| match (name, profile) {
            ("AWS_PROFILE", Some(profile)) => Some(profile.to_owned()),
            _ => secrets.variable(name),
        }),
    }
}

pub(super) fn of_key(key: AccessKey) -> Credentials {
    Credentials { session_token: key.token.map(Secret::new), ..Credentials::new(key.id, key.secret) }
}

/// Why there are no S3 keys, and where they may be put.
fn keys_missing(error: &CredentialsError) -> String {
    match error {
        CredentialsError::None => {
            "no S3 keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, give the option \
                                   credentials_file, or make ~/.aws/credentials"
                .into()
        }
        other => other.to_string(),
    }
}

impl S3Target {
    /// The driver with the timeout of a first contact.
    fn first_contact(&self) -> S3Driver {
        self.driver.with_control_timeout(self.contact)
    }

    /// Checks that our objects exist; for a job, only that its bucket does.
    fn find(&self) -> Result<(), DriverError> {
        match self.driver.config().blocks {
            Some(_) => self.first_contact().check_bucket(),
            None => self.first_contact().adopt(),
        }
    }
}

impl OpenTarget for S3Target {
    fn kind(&self) -> &'static TargetKind {
        &KIND
    }

    fn driver(&self) -> &dyn StageRunner {
        &self.driver
    }

    fn own_facts(&self) -> BTreeMap<String, String> {
        let config = self.driver.config();
        let signing = match config.payload_signing {
            PayloadSigning::Unsigned => "unsigned",
            PayloadSigning::Signed => "SHA-256 in the signature",
            PayloadSigning::CrcTrailer => "CRC-64/NVME in a trailer",
            PayloadSigning::Crc32cTrailer => "CRC-32C in a trailer",
        };
        let mut facts = named([
            ("protocol", "S3 over HTTP/1.1, a connection for each operation in flight".to_owned()),
            ("endpoint", config.endpoint.to_string()),
            ("bucket", config.bucket.clone()),
            match config.blocks {
                Some(_) => ("objects", "one for each block: NAME_OFFSET_LENGTH".to_owned()),
                None => ("prefix", config.prefix.clone()),
            },
            ("common prefixes", FAN_OUTS.get(config.prefix_digits as usize).unwrap_or(&"1").to_string()),
            ("region", config.region.clone()),
            ("addressing", if config.path_style { "path" } else { "virtual host" }.to_owned()),
            ("payload signing", signing.to_owned()),
            ("part size", config.part_size.to_string()),
        ]);
        let addresses: Vec<String> = self.driver.addresses().iter().map(ToString::to_string).collect();
        facts.insert("address".to_owned(), addresses.join(", "));
        facts.extend(named(paths::facts(&config.paths, &addresses, self.connections)));
        if config.endpoint.tls {
            let trust = match &config.tls.trust {
                Trust::System => "verified by the system's authorities".to_owned(),
                Trust::CaFile(path) => format!("verified by {}", path.display()),
                Trust::Fingerprint(_) => "verified by its fingerprint".to_owned(),
                Trust::Insecure => "not verified".to_owned(),
            };
            facts.insert("certificate".to_owned(), trust);
        }
        facts
    }

    fn place(&self) -> Option<&OwnPlace> {
        Some(&self.place)
    }

    fn look(&self, _writes: bool) -> Look {
        let config = self.driver.config();
        match self.first_contact().look_at_bucket() {
            Ok(ahead_s) => Look { seen: "the bucket answers".to_owned(), ..Look::default() }
                .with_clock(&config.endpoint.to_string(), ahead_s.unwrap_or(0))
                .with_mtu(&config.paths, self.driver.addresses()[0]),
            Err(error) if self.creates_bucket && error.kind == ErrorKind::NotFound => {
                Look { seen: "the service answers".to_owned(), ..Look::default() }
            }
            Err(error) => Look::refused(&error.into()),
        }
    }

    fn prepare(&self) -> Result<Entered, TargetError> {
        // A prefix needs no creation: it exists once an object does. Only the bucket is checked.
        let contact = self.first_contact();
        let has_bucket = || match contact.check_bucket() {
            Err(error) if self.creates_bucket && error.kind == ErrorKind::NotFound => contact.create_bucket(),
            checked => checked,
        };
        let make = |announce: Announce<'_>| has_bucket().and_then(|()| announce());
        self.place.enter(make, || self.find())
    }

    fn adopt(&self) -> Result<(), TargetError> {
        Ok(self.find()?)
    }

    fn remove_all(&self) -> Result<(), TargetError> {
        let parts = self.place.known().is_none_or(|place: S3Place| place.may_have_parts);
        self.place.leave(|| -> Result<(), DriverError> { self.driver.remove_all_of(parts).map(drop) })
    }

    fn items(&self, each: &mut dyn FnMut(u64, u64)) -> Result<bool, DriverError> {
        self.driver
            .list_prefix(|key, size| item_number(key).into_iter().for_each(|number| each(number, size)))?;
        Ok(true)
    }

    fn first_bytes(&self, object: u64, len: u32) -> Option<Vec<u8>> {
        self.driver.beginning(object, len.into()).ok()
    }

    fn interface(&self) -> Result<String, paths::InterfaceError> {
        paths::interface(&self.driver.config().paths, self.driver.addresses()[0].ip())
    }
}
