//! Where metrics are pushed by OTLP. What is secret, or belongs to the machine, comes from the variables that OpenTelemetry
//! names for it (opentelemetry.io, "OpenTelemetry Protocol Exporter").

use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use provision::{PostUrl, PostUrlError, Trust};

/// The path of metrics at an endpoint that names none.
const METRICS_PATH: &str = "/v1/metrics";
/// Headers of each push, `name=value` with commas between them.
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
/// File with the certificates that are trusted, in PEM.
const CERTIFICATE: &str = "OTEL_EXPORTER_OTLP_CERTIFICATE";

/// Where to, and how often.
#[derive(Clone, Debug)]
pub struct OtlpOptions {
    pub(super) url: PostUrl,
    pub(super) every: Duration,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) trust: Trust,
}

/// Why metrics cannot be pushed there. Values are not repeated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OtlpOptionsError {
    /// The URL.
    #[error(transparent)]
    Url(#[from] PostUrlError),
    /// The headers.
    #[error("{HEADERS}: entry {0} is no header; next: write NAME=VALUE, with commas between entries")]
    Header(usize),
}

impl OtlpOptions {
    /// The usual time between two pushes.
    pub const USUAL: Duration = Duration::from_secs(10);

    /// Reads an endpoint, such as `http://collector:4318`; `environment` returns the value of a variable.
    ///
    /// # Errors
    /// The URL, or what the environment says about headers, is malformed.
    pub fn new(
        endpoint: &str,
        every: Duration,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, OtlpOptionsError> {
        let url = PostUrl::parse(endpoint)?;
        let url = if url.has_path() { url } else { url.with_path(METRICS_PATH) };
        let trust = environment(CERTIFICATE).filter(|path| !path.is_empty());
        let trust = trust.map_or(Trust::System, |path| Trust::CaFile(path.into()));
        let headers = environment(HEADERS).unwrap_or_default();
        let entries = headers.split(',').filter(|entry| !entry.trim().is_empty()).enumerate();
        let headers: Result<Vec<_>, _> =
            entries.map(|(at, entry)| header(entry).ok_or(OtlpOptionsError::Header(at + 1))).collect();
        Ok(Self { url, every, headers: headers?, trust })
    }
}

/// `name=value`, with other characters of the value as `%XX`.
fn header(entry: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = entry.split_once('=')?;
    let name = HeaderName::from_bytes(name.trim().as_bytes()).ok()?;
    let value: Vec<u8> = percent_decode_str(value.trim()).collect();
    let mut value = HeaderValue::from_bytes(&value).ok()?;
    value.set_sensitive(true);
    Some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(endpoint: &str, headers: Option<&str>) -> Result<OtlpOptions, OtlpOptionsError> {
        let headers = headers.map(str::to_owned);
        OtlpOptions::new(endpoint, OtlpOptions::USUAL, |name| headers.clone().filter(|_| name == HEADERS))
    }

    #[test]
    fn an_endpoint_without_a_path_has_the_usual_one() {
        let text = |endpoint| options(endpoint, None).unwrap().url.secret_text();
        assert_eq!(text("http://collector:4318"), "http://collector:4318/v1/metrics");
        assert_eq!(text("http://collector:4318/"), "http://collector:4318/v1/metrics");
        assert_eq!(text("https://otlp.example/api/v1/otlp"), "https://otlp.example/api/v1/otlp");
        assert!(options("collector:4318", None).is_err());
    }

    #[test]
    fn headers_come_from_the_environment_and_are_not_repeated() {
        let found =
            options("http://c", Some("authorization=Bearer%20abc, x-tenant = lab ,")).unwrap().headers;
        let values: Vec<(&str, &str)> =
            found.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        assert_eq!(values, [("authorization", "Bearer abc"), ("x-tenant", "lab")]);
        assert!(!format!("{found:?}").contains("abc"));
        let error = options("http://c", Some("a=b,secret")).unwrap_err().to_string();
        assert!(error.contains("entry 2") && !error.contains("secret"), "{error}");
    }
}
