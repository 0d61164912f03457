//! `s3://bucket?endpoint=https://host[:port]`: objects under a prefix of a bucket.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use drivers::s3::{
    Credentials, CredentialsError, Endpoint, PayloadSigning, S3Config, S3Driver, Secret, TlsConfig, Trust,
    region_from_environment,
};
use drivers::{Announce, DriverError};
use experiment::{Job, Target, Workload};
use provision::S3Place;

use super::options::Options;
use super::place::{Entered, Entry, PATIENCE, Place};
use super::url::{TargetUrl, form, wrong};
use super::{AccessKey, OpenContext, Secrets, TargetError, paths};

/// A bucket.
pub struct S3Target {
    pub(super) driver: S3Driver,
    pub(super) place: Place,
    /// The longest wait for an answer to the first questions.
    contact: Duration,
    /// Connections of all jobs.
    pub(super) connections: u64,
}

pub(super) fn open(
    target: &Target,
    url: &TargetUrl,
    workload: &Workload,
    options: &OpenContext,
) -> Result<S3Target, TargetError> {
    let given = Options::new(target, url, &["endpoint"])?;
    let bucket = &url.authority;
    if bucket.is_empty() || !matches!(&*url.path, "" | "/") {
        return Err(wrong(&target.url, &format!("a bucket alone stands after //; write {}", form("s3"))));
    }
    let Some(endpoint) = given.text("endpoint") else {
        return Err(wrong(&target.url, &format!("the endpoint is missing; write {}", form("s3"))));
    };
    // The endpoint's own message neither repeats what may be a password.
    let endpoint: Endpoint =
        endpoint.parse().map_err(|error| TargetError::Input(format!("target {}: {error}", target.name)))?;
    let credentials_file = given.text("credentials_file").map(PathBuf::from);
    let profile = given.text("profile").map(str::to_owned);
    let credentials = match options.secrets.key(&target.name) {
        Some(key) => of_key(key),
        None => credentials(credentials_file.as_ref(), profile.as_deref()).map_err(|error| {
            TargetError::Input(format!("target {}: {}", target.name, keys_missing(&error)))
        })?,
    };
    let insecure = given.flag("tls_insecure")?.unwrap_or(false);
    let ca_file = given.text("tls_ca").map(PathBuf::from);
    let trust = match &ca_file {
        Some(path) => Trust::CaFile(path.clone()),
        None if insecure => Trust::Insecure,
        None => Trust::System,
    };
    let kept = given.text("directory").map(|prefix| prefix.trim_end_matches('/').to_owned());
    let prefix = kept.clone().unwrap_or_else(|| options.place.object_name());
    let usual = S3Config::new(endpoint, bucket, &prefix, credentials);
    let connect_to: Option<SocketAddr> = given.number("connect_to", "ADDRESS:PORT, such as 10.0.0.1:443")?;
    let host = connect_to.map(|address| address.ip()).or_else(|| usual.endpoint.host.parse().ok());
    let ways = paths::read(&given, host.as_slice())?;
    if let Some(text) = given.text("addresses").filter(|_| connect_to.is_some()) {
        return Err(given.wrong("addresses", text, "it says the same as connect_to: give one of the two"));
    }
    let port = usual.endpoint.port;
    let addresses: Vec<SocketAddr> = ways
        .addresses
        .iter()
        .map(|address| SocketAddr::new(address.ip, address.port.unwrap_or(port)))
        .collect();
    if workload.sink == "discard" && !workload.verify && usual.endpoint.tls {
        return Err(wrong(
            &target.url,
            "sink: discard does not work over TLS, which must see the bytes to decrypt them; remove it, or use http",
        ));
    }
    let part_size = given.bytes("part_size")?.unwrap_or(usual.part_size);
    let config = S3Config {
        connect_to,
        addresses,
        paths: ways.paths,
        region: given
            .text("region")
            .map(str::to_owned)
            .or_else(region_from_environment)
            .unwrap_or(usual.region),
        path_style: given.flag("path_style")?.unwrap_or(usual.path_style),
        payload_signing: given.read("signing", str::parse::<PayloadSigning>)?.unwrap_or_default(),
        tls: TlsConfig { trust },
        part_size,
        may_put_parts: workload.file_bytes > part_size,
        control_timeout: Duration::try_from_secs_f64(workload.op_timeout_s).unwrap_or(PATIENCE).max(PATIENCE),
        retry_seed: options.seed,
        blocks: workload.job.as_ref().map(|job| names(job, workload.jobs)),
        ..usual
    };
    let place = match kept {
        // The objects of a job lie where the user named them.
        _ if workload.job.is_some() => Place::stays(&options.run),
        Some(_) => Place::stays(&options.run),
        None => {
            let entry = S3Place {
                endpoint: config.endpoint.to_string(),
                connect_to: config.addresses.first().copied().or(config.connect_to),
                bucket: config.bucket.clone(),
                prefix: format!("{prefix}/"),
                region: config.region.clone(),
                path_style: config.path_style,
                ca_file,
                insecure,
                credentials_file,
                profile,
                may_have_parts: config.may_put_parts,
            };
            options.own_place(Entry::S3(Box::new(entry)))
        }
    };
    let driver = S3Driver::new(config)
        .map_err(|error| TargetError::Input(format!("target {}: {}", target.name, error.detail)))?;
    let connections = paths::connections(workload, workload.queue_depth);
    Ok(S3Target { driver, place, contact: options.connect_timeout, connections })
}

/// The names of a job's files, below the bucket, by their numbers.
fn names(job: &Job, workers: u32) -> BTreeMap<u64, String> {
    let numbers = job.first_number..job.first_number.saturating_add(workers);
    let files = numbers.flat_map(|number| (0..job.files.per_worker()).map(move |file| (number, file)));
    let named = files.map(|(number, file)| {
        let path = job.files.names.path(&job.name, number, file);
        (job.files.object(number, file), path.trim_start_matches('/').to_owned())
    });
    named.collect()
}

/// The keys: from the file that the options name, else where the AWS tools look.
fn credentials(file: Option<&PathBuf>, profile: Option<&str>) -> Result<Credentials, CredentialsError> {
    match (file, profile) {
        (Some(file), Some(profile)) => Credentials::from_file(file, profile),
        (file, profile) => Credentials::find_in(file.map(PathBuf::as_path), &|name| match (name, profile) {
            ("AWS_PROFILE", Some(profile)) => Some(profile.to_owned()),
            _ => std::env::var(name).ok().filter(|value| !value.is_empty()),
        }),
    }
}

/// The key of a target that agents are given, if this host has one; it is theirs to say when there is none.
pub(super) fn key_of(target: &Target, secrets: &dyn Secrets) -> Option<AccessKey> {
    let url = TargetUrl::parse(&target.url).ok().filter(|url| url.scheme == "s3")?;
    let given = Options::new(target, &url, &["endpoint"]).ok()?;
    let file = given.text("credentials_file").map(PathBuf::from);
    let own = || {
        let found = credentials(file.as_ref(), given.text("profile")).ok()?;
        let (id, secret, token) = found.into_texts();
        Some(AccessKey { id, secret, token })
    };
    secrets.key(&target.name).or_else(own)
}

fn of_key(key: AccessKey) -> Credentials {
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
    pub(super) fn prepare(&self) -> Result<Entered, TargetError> {
        // A prefix needs no making: there is one as soon as there is an object. Whether there is one is asked for.
        let make = |announce: Announce<'_>| self.first_contact()?.check_bucket().and_then(|()| announce());
        self.place.enter(make, || self.look())
    }

    pub(super) fn adopt(&self) -> Result<(), TargetError> {
        Ok(self.look()?)
    }

    /// The driver with the patience of a first contact.
    fn first_contact(&self) -> Result<S3Driver, DriverError> {
        S3Driver::new(S3Config { control_timeout: self.contact, ..self.driver.config().clone() })
    }

    /// Looks whether our objects are there; a job's need not be, only its bucket.
    fn look(&self) -> Result<(), DriverError> {
        match self.driver.config().blocks {
            Some(_) => self.first_contact()?.check_bucket(),
            None => self.first_contact()?.adopt(),
        }
    }

    pub(super) fn remove_all(&self) -> Result<(), TargetError> {
        let parts = self.place.may_have_parts();
        self.place.leave(|| -> Result<(), DriverError> { self.driver.remove_all_of(parts).map(drop) })
    }
}
