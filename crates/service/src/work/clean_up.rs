//! Clean-ups: the removal of what a dead run left, as its journal lists it.

use std::collections::BTreeMap;
use std::time::Duration;

use provision::{ApiSecret, CleanupOptions, RunId};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::RunKind;
use super::fields::{FieldFault, read, time, trust};
use crate::body::{KeyForm, access_keys};
use crate::new_work::{NewWork, RunSecrets};

/// Time for one call of a management API, unless a request says otherwise.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// Time after which no removal starts, unless a request says otherwise.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// Whose leftovers are removed, and the secrets that this needs.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewCleanUp)]
pub(crate) struct CleanUpForm {
    /// The id of the run that left something
    #[schema(pattern = "^[a-z2-7]{8}$")]
    run: String,
    /// The API token of the run's array. It stays in memory until the clean-up ends
    token: Option<String>,
    /// The key for buckets in which the run left objects, by the name `s3`. It stays in memory until the clean-up ends
    #[serde(default)]
    keys: BTreeMap<String, KeyForm>,
    /// Trust the management certificate with this SHA-256 fingerprint, instead of what the run trusted
    tls_fingerprint: Option<String>,
    /// Do not verify the management certificate; anyone on the path can then read the token
    #[serde(default)]
    tls_insecure: bool,
    /// Timeout of one management API call
    #[schema(default = "30s")]
    call_timeout: Option<String>,
    /// Start no further removals after this time
    #[schema(default = "10m")]
    time_limit: Option<String>,
}

/// A clean-up.
#[derive(Clone, Debug)]
pub(crate) struct CleanUp {
    /// The run whose leftovers are removed.
    pub run: RunId,
    pub options: CleanupOptions,
}

impl NewWork {
    /// A clean-up, from the object that was posted: its secrets are taken out of the text.
    ///
    /// # Errors
    /// A field cannot be read.
    pub(crate) fn clean_up(mut posted: Map<String, Value>) -> Result<Self, FieldFault> {
        let form: CleanUpForm = read(&Value::Object(posted.clone()))?;
        let keys = access_keys(form.keys);
        let array_token = form.token.map(|token| ApiSecret::new(&token)).filter(|token| !token.is_empty());
        posted.remove("keys");
        posted.remove("token");
        let secrets = RunSecrets { keys, array_token, ..RunSecrets::default() };
        Ok(Self { kind: RunKind::CleanUp, text: Value::Object(posted).to_string(), secrets, storperf: None })
    }
}

impl CleanUp {
    /// Reads the text of a clean-up.
    ///
    /// # Errors
    /// A field is wrong, or contradicts another one.
    pub(crate) fn read(text: &str) -> Result<Self, FieldFault> {
        let value: Value = serde_json::from_str(text).map_err(|_| FieldFault::damaged())?;
        let form: CleanUpForm = read(&value)?;
        let run = form.run.parse().map_err(|error| FieldFault::of("run", error))?;
        let trust = trust("", form.tls_fingerprint.as_deref(), form.tls_insecure)?;
        let call_timeout = time("call_timeout", form.call_timeout.as_deref(), CALL_TIMEOUT)?;
        if call_timeout.is_zero() {
            return Err(FieldFault::of("call_timeout", "write more than 0, such as 30s"));
        }
        let time_limit = time("time_limit", form.time_limit.as_deref(), TIME_LIMIT)?;
        Ok(Self { run, options: CleanupOptions { call_timeout, trust, time_limit } })
    }
}

#[cfg(test)]
mod tests {
    use provision::Trust;
    use serde_json::json;

    use super::*;

    #[test]
    fn its_secrets_are_not_in_its_text_and_its_fields_have_bounds() {
        let body = json!({ "run": "abcdefgh", "token": "hush-1", "keys": { "s3": { "id": "ID", "secret": "hush-2" } },
            "tls_insecure": true, "time_limit": "1m" });
        let work = NewWork::clean_up(body.as_object().unwrap().clone()).unwrap();
        assert!(!work.text.contains("hush") && !work.text.contains("keys"), "{}", work.text);
        assert!(work.secrets.array_token.is_some() && work.secrets.keys.contains_key("s3"));
        let read = CleanUp::read(&work.text).unwrap();
        assert_eq!((read.run.as_str(), read.options.time_limit), ("abcdefgh", Duration::from_secs(60)));
        assert_eq!(read.options.trust, Some(Trust::Insecure));
        for (text, field) in [
            (r#"{"run": "../../etc"}"#, "run"),
            (r#"{"run": "abcdefgh", "tls_insecure": true, "tls_fingerprint": "00"}"#, "tls_insecure"),
            (r#"{"run": "abcdefgh", "tls_fingerprint": "no"}"#, "tls_fingerprint"),
            (r#"{"run": "abcdefgh", "call_timeout": "0s"}"#, "call_timeout"),
            (r#"{"run": "abcdefgh", "time_limit": "9d"}"#, "time_limit"),
        ] {
            assert_eq!(CleanUp::read(text).unwrap_err().field, field, "{text}");
        }
    }
}
