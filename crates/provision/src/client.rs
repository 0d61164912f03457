//! Client of the management API: version negotiation, login, session renewal, paging, and the one function that makes
//! every call.

use std::time::Duration;

use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::cancel::Cancel;
use crate::error::{ArrayMessage, CallError, Failure, ProvisionError};
use crate::http::{Address, Answer, Payload, Request, Transport, Trust};
use crate::secret::ApiSecret;
use crate::steps::ManagementStep;
use crate::version::{ApiVersion, Generation};

/// Maximum pages of a listing: arrays return up to a thousand items per page.
const PAGE_LIMIT: usize = 1000;
/// Characters shown of an unexpected response.
const SHOWN_CHARACTERS: usize = 200;

/// How to reach and authenticate to an array's management API.
#[derive(Clone, Debug)]
pub struct Management {
    /// `HOST`, `HOST:PORT`, or a URL; TLS unless it begins with `http://`.
    pub address: String,
    /// The API token.
    pub token: ApiSecret,
    /// Which certificate is accepted.
    pub trust: Trust,
    /// Timeout of each call, from connecting to the last byte of the response.
    pub call_timeout: Duration,
}

/// Parameters of a call, besides those that its step determines.
#[derive(Debug, Default)]
pub(crate) struct Parameters {
    /// The object of the call, for messages.
    pub subject: String,
    pub query: Vec<(&'static str, String)>,
    pub body: Option<Value>,
}

/// A logged-in client.
#[derive(Debug)]
pub(crate) struct Client {
    /// `None` only while it is being dropped.
    runtime: Option<Runtime>,
    transport: Transport,
    token: ApiSecret,
    session: Option<ApiSecret>,
    version: Option<ApiVersion>,
    cancel: Cancel,
    /// Whether `cancel` ends calls; false during removal.
    pub interruptible: bool,
}

impl Client {
    /// Negotiates a version and logs in.
    pub(crate) fn open(management: &Management, cancel: &Cancel) -> Result<Self, ProvisionError> {
        if management.token.is_empty() {
            return Err(ProvisionError::Input(
                "there is no API token; next: set FB_TOKEN or give a file with it (on the array: pureadmin create --api-token)".into(),
            ));
        }
        if HeaderValue::from_str(management.token.reveal()).is_err() {
            return Err(ProvisionError::Input(
                "the API token has characters in it that no token has; next: check where it comes from"
                    .into(),
            ));
        }
        let address = Address::parse(&management.address)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| ProvisionError::Input(format!("no event loop: {error}")))?;
        let mut client = Self {
            runtime: Some(runtime),
            transport: Transport::new(address, &management.trust, management.call_timeout)?,
            token: management.token.clone(),
            session: None,
            version: None,
            cancel: cancel.clone(),
            interruptible: true,
        };
        client.negotiate()?;
        client.login()?;
        Ok(client)
    }

    /// The negotiated version.
    pub(crate) fn version(&self) -> ApiVersion {
        self.version.expect("open() ends with a version or an error")
    }

    /// The negotiated generation.
    pub(crate) fn generation(&self) -> Generation {
        self.version().generation()
    }

    /// Timeout of each call.
    pub(crate) fn deadline(&self) -> Duration {
        self.transport.deadline()
    }

    /// Sleeps.
    pub(crate) fn pause(&self, time: Duration) {
        self.runtime().block_on(async { tokio::time::sleep(time).await });
    }

    /// Makes a call; renews the session once if the array reports that it has expired.
    pub(crate) fn call(&mut self, step: ManagementStep, parameters: &Parameters) -> Result<Value, CallError> {
        let first = self.call_once(step, parameters);
        let ended =
            matches!(&first, Err(CallError { failure: Failure::Status { status: 401 | 403, .. }, .. }));
        // A rejected call had no effect, so even a creation may be repeated. Arrays answer 403 both for an expired
        // session and for missing permissions; a second rejection means the latter.
        if !ended || self.session.is_none() {
            return first;
        }
        self.session = None;
        self.login()?;
        self.call_once(step, parameters)
    }

    /// Makes a call that returns a list, and follows its pages.
    pub(crate) fn list<T: DeserializeOwned>(
        &mut self,
        step: ManagementStep,
        parameters: &Parameters,
    ) -> Result<Vec<T>, CallError> {
        let mut all = Vec::new();
        let mut query = parameters.query.clone();
        let token_name = match self.generation() {
            Generation::One => "token",
            Generation::Two => "continuation_token",
        };
        let mut last = None;
        for _ in 0..PAGE_LIMIT {
            let page = Parameters { subject: parameters.subject.clone(), query: query.clone(), body: None };
            let value = self.call(step, &page)?;
            let page: Page<T> = serde_json::from_value(value)
                .map_err(|error| self.nonsense(step, parameters, error.to_string()))?;
            all.extend(page.items);
            let token =
                page.continuation_token.or(page.pagination_info.and_then(|info| info.continuation_token));
            let Some(token) = token.filter(|token| !token.is_empty()) else { return Ok(all) };
            if last.as_ref() == Some(&token) {
                return Err(self.nonsense(step, parameters, "it is continued by itself".into()));
            }
            query.retain(|(name, _)| *name != token_name);
            query.push((token_name, token.clone()));
            last = Some(token);
        }
        Err(self.nonsense(step, parameters, format!("it has more than {PAGE_LIMIT} pages")))
    }

    /// Ends the session.
    pub(crate) fn logout(&mut self) -> Result<(), CallError> {
        if self.session.is_none() {
            return Ok(());
        }
        let outcome = self.call_once(ManagementStep::Logout, &Parameters::default());
        self.session = None;
        outcome.map(drop)
    }

    fn negotiate(&mut self) -> Result<(), ProvisionError> {
        #[derive(Deserialize)]
        struct Versions {
            versions: Vec<String>,
        }
        let value = self.call_once(ManagementStep::ListVersions, &Parameters::default())?;
        let offered: Versions = serde_json::from_value(value).map_err(|error| {
            self.nonsense(ManagementStep::ListVersions, &Parameters::default(), error.to_string())
        })?;
        self.version = Some(ApiVersion::newest_common(&offered.versions)?);
        Ok(())
    }

    fn login(&mut self) -> Result<(), CallError> {
        let answer = self.exchange(ManagementStep::Login, &Parameters::default())?;
        let token = answer.headers.get("x-auth-token").and_then(|value| value.to_str().ok());
        match token.map(ApiSecret::new).filter(|token| !token.is_empty()) {
            Some(token) => {
                self.session = Some(token);
                Ok(())
            }
            None => Err(self.nonsense(
                ManagementStep::Login,
                &Parameters::default(),
                "there is no x-auth-token header in it".into(),
            )),
        }
    }

    fn call_once(&mut self, step: ManagementStep, parameters: &Parameters) -> Result<Value, CallError> {
        let answer = self.exchange(step, parameters)?;
        if answer.body.is_empty() || answer.status == StatusCode::NO_CONTENT || step == ManagementStep::Logout
        {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&answer.body)
            .map_err(|error| self.nonsense(step, parameters, format!("{error}, in: {}", shown(&answer.body))))
    }

    /// The only function that sends requests.
    fn exchange(&mut self, step: ManagementStep, parameters: &Parameters) -> Result<Answer, CallError> {
        let mut target = step.path_in(self.version);
        for (position, (name, value)) in parameters.query.iter().enumerate() {
            target.push(if position == 0 { '?' } else { '&' });
            target.push_str(name);
            target.push('=');
            percent_encode(value, &mut target);
        }
        let secret = match step {
            ManagementStep::ListVersions => None,
            ManagementStep::Login => Some(("api-token", &self.token)),
            _ => self.session.as_ref().map(|session| ("x-auth-token", session)),
        };
        let secrets = secret.and_then(|(name, secret)| {
            Some((HeaderName::from_static(name), HeaderValue::from_str(secret.reveal()).ok()?))
        });
        let request = Request {
            method: step.http_method(),
            target,
            secrets: secrets.into_iter().collect(),
            body: parameters.body.as_ref().map(|body| Payload::json(body.to_string())),
        };
        let cancel = self.interruptible.then_some(&self.cancel);
        let outcome = self.runtime().block_on(self.transport.exchange(request, cancel));
        let answer = outcome.map_err(|failure| self.failed(step, parameters, failure))?;
        if answer.status.is_success() {
            return Ok(answer);
        }
        let mut messages = messages(&answer.body);
        for entry in &mut messages {
            entry.message = self.token.redact(&entry.message);
        }
        Err(self.failed(step, parameters, Failure::Status { status: answer.status.as_u16(), messages }))
    }

    fn failed(&self, step: ManagementStep, parameters: &Parameters, failure: Failure) -> CallError {
        let request = format!("{} {}{}", step.method(), self.transport.address(), step.path_in(self.version));
        CallError { step, subject: parameters.subject.clone(), request, failure }
    }

    /// The error for a malformed response.
    pub(crate) fn nonsense(&self, step: ManagementStep, parameters: &Parameters, cause: String) -> CallError {
        self.failed(step, parameters, Failure::Answer(cause))
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("it is taken in drop only")
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A hanging name lookup occupies a thread of the runtime; nothing waits for it.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[derive(Deserialize)]
struct Page<T> {
    items: Vec<T>,
    #[serde(default)]
    continuation_token: Option<String>,
    #[serde(default)]
    pagination_info: Option<PaginationInfo>,
}

#[derive(Deserialize)]
struct PaginationInfo {
    #[serde(default)]
    continuation_token: Option<String>,
}

/// The array's own error messages: `errors` in both generations, with `message` and `context`; a proxy in front of the
/// API returns a bare `message`.
fn messages(body: &[u8]) -> Vec<ArrayMessage> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Body {
        Many {
            #[serde(alias = "error")]
            errors: Vec<Entry>,
        },
        One(Entry),
    }
    #[derive(Deserialize)]
    struct Entry {
        message: String,
        #[serde(default)]
        context: Option<String>,
    }
    let entries = match serde_json::from_slice::<Body>(body) {
        Ok(Body::Many { errors }) => errors,
        Ok(Body::One(entry)) => vec![entry],
        Err(_) if body.iter().all(u8::is_ascii_whitespace) => Vec::new(),
        Err(_) => vec![Entry { message: String::from_utf8_lossy(body).into_owned(), context: None }],
    };
    let shown_entry = |entry: Entry| ArrayMessage {
        message: shown(entry.message.as_bytes()),
        context: entry.context.map(|context| shown(context.as_bytes())).filter(|context| !context.is_empty()),
    };
    entries.into_iter().map(shown_entry).collect()
}

/// The start of external text, on one line, without control characters.
fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * SHOWN_CHARACTERS)]);
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().filter(|character| !character.is_control()).take(SHOWN_CHARACTERS).collect()
}

/// Percent-encodes everything but the unreserved characters of RFC 3986, section 2.3.
fn percent_encode(text: &str, out: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => {
                use std::fmt::Write;
                write!(out, "%{byte:02X}").expect("writing to a string cannot fail");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_encoded() {
        let mut out = String::new();
        percent_encode("a/b c=ü~", &mut out);
        assert_eq!(out, "a%2Fb%20c%3D%C3%BC~");
    }

    #[test]
    fn errors_of_both_generations_are_read_and_anything_else_is_shown_short() {
        let two = br#"{"errors":[{"message":"Bucket does not exist.","context":"x"}]}"#;
        assert_eq!(
            messages(two),
            [ArrayMessage { message: "Bucket does not exist.".into(), context: Some("x".into()) }]
        );
        let one = br#"{"errors":[{"code":6,"context":"","message":"Gone"}]}"#;
        assert_eq!(messages(one), [ArrayMessage { message: "Gone".into(), context: None }]);
        assert_eq!(
            messages(br#"{"message":"Forbidden"}"#),
            [ArrayMessage { message: "Forbidden".into(), context: None }]
        );
        assert_eq!(messages(b" \r\n"), []);
        let page = format!("<html>\n\x1b[31m {}", "x".repeat(5000));
        let shown = &messages(page.as_bytes())[0].message;
        assert!(shown.starts_with("<html> [31m x") && shown.chars().count() == SHOWN_CHARACTERS, "{shown}");
    }
}
