//! A prefix of our own in a bucket.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use drivers::s3::{
    Credentials, CredentialsError, Endpoint, EndpointError, Fingerprint, S3Config, S3Driver, TlsConfig, Trust,
};
use provision::Container;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::journaled_place::JournaledPlace;
use super::place::PATIENCE;
use super::removal::{RemovalContext, RemoveLeftError};
use super::s3::of_key;

/// Our prefix in a bucket, with what is needed to find it again; the user supplies the keys again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct S3Place {
    /// Scheme, host and port, such as `http://10.0.0.1:80`.
    pub endpoint: String,
    /// Address to connect to, where it differs from the endpoint's.
    pub connect_to: Option<SocketAddr>,
    /// Name of the bucket.
    pub bucket: String,
    /// The prefix of our objects' keys, such as `manometer-abcdefgh/`.
    pub prefix: String,
    /// Region used in signatures.
    pub region: String,
    /// Whether the bucket is in the path instead of the host name.
    pub path_style: bool,
    /// CA file for the endpoint, if not the system's roots.
    pub ca_file: Option<PathBuf>,
    /// Whether the endpoint's certificate goes unverified.
    pub insecure: bool,
    /// Fingerprint of the trusted certificate, if given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
    /// Shared credentials file that the keys came from, if any.
    pub credentials_file: Option<PathBuf>,
    /// Profile in that file.
    pub profile: Option<String>,
    /// Whether objects may have been uploaded in parts, so that unfinished uploads may be left. Journals of earlier
    /// versions do not say; they are read as yes.
    #[serde(default = "unknown_parts")]
    pub may_have_parts: bool,
}

const fn unknown_parts() -> bool {
    true
}

impl JournaledPlace for S3Place {
    const SCHEME: &'static str = "s3";

    fn name(&self) -> Option<&str> {
        self.prefix.strip_suffix('/')
    }

    fn within(&self) -> Option<Container> {
        Some(Container::Bucket(self.bucket.clone()))
    }

    fn united(&self, other: &Self) -> Option<Self> {
        let both = Self { may_have_parts: self.may_have_parts || other.may_have_parts, ..self.clone() };
        let alike = Self { may_have_parts: both.may_have_parts, ..other.clone() };
        (both == alike).then_some(both)
    }
}

impl fmt::Display for S3Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "objects {} in bucket {} at {}", self.prefix, self.bucket, self.endpoint)
    }
}

/// Removes what a dead run left behind.
pub(super) fn remove_left(place: &Value, cx: &mut RemovalContext<'_>) -> Result<(), RemoveLeftError> {
    let place: S3Place = cx.read(place)?;
    let at = place.connect_to.map(|address| format!(" at {address}")).unwrap_or_default();
    let server = format!("the S3 server {}{at}", place.endpoint);
    let keys = keys(&place, cx).map_err(|error| RemoveLeftError::Input(no_keys(&error)))?;
    let endpoint: Endpoint =
        place.endpoint.parse().map_err(|error: EndpointError| RemoveLeftError::Input(error.to_string()))?;
    let trust = match (cx.pinned().or(place.fingerprint), place.ca_file, place.insecure) {
        (Some(pinned), _, _) => Trust::Fingerprint(pinned),
        (None, Some(path), _) => Trust::CaFile(path),
        (None, None, true) => Trust::Insecure,
        (None, None, false) => Trust::System,
    };
    let driver = S3Driver::new(S3Config {
        connect_to: place.connect_to,
        region: place.region,
        path_style: place.path_style,
        may_put_parts: place.may_have_parts,
        tls: TlsConfig { trust },
        ..S3Config::new(endpoint, &place.bucket, place.prefix.trim_end_matches('/'), keys)
    })?;
    cx.on_server(server, || driver.with_control_timeout(PATIENCE).remove_all())
}

fn keys(place: &S3Place, cx: &mut RemovalContext<'_>) -> Result<Credentials, CredentialsError> {
    if let Some(key) = cx.key.take() {
        return Ok(of_key(key));
    }
    match (cx.credentials_file().or(place.credentials_file.as_ref()), &place.profile) {
        (Some(file), Some(profile)) => Credentials::from_file(file, profile),
        (file, _) => Credentials::find_in(file.map(PathBuf::as_path), &|name| cx.variable(name)),
    }
}

/// Why there are no S3 keys, and where they may be put, for commands that take `--s3-credentials-file`.
pub fn no_keys(error: &CredentialsError) -> String {
    match error {
        CredentialsError::None => "no S3 keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, give \
                                   --s3-credentials-file FILE, or make ~/.aws/credentials"
            .into(),
        other => format!(
            "{other}; next: give S3 keys with --s3-credentials-file FILE, or with AWS_ACCESS_KEY_ID and \
             AWS_SECRET_ACCESS_KEY"
        ),
    }
}
