//! Webhooks: where the operator lets them go, and one call with its attempts.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use provision::{PostUrl, Trust};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Deadline of one attempt.
const DEADLINE: Duration = Duration::from_secs(10);
/// Time before each further attempt, in seconds; then the call is given up.
const BACK_OFF_S: [i64; 5] = [1, 10, 60, 600, 3600];

/// Where schedules may send webhooks.
#[derive(Clone, Debug, Default)]
pub struct WebhookPolicy {
    /// The hosts; none by default.
    pub hosts: Vec<WebhookHost>,
    /// Whose certificates are trusted.
    pub trust: Trust,
}

/// A host that may receive webhooks: `HOST[:PORT][=TOKEN_FILE]`.
#[derive(Clone)]
pub struct WebhookHost {
    host: String,
    /// `None`: the scheme's.
    port: Option<u16>,
    token: Option<String>,
}

/// A text that names no host for webhooks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebhookHostError {
    /// It is malformed.
    #[error("{0:?}: write HOST, HOST:PORT or HOST:PORT=TOKEN_FILE")]
    Malformed(String),
    /// The file with its token cannot be used.
    #[error("the token file {}: {why}; next: write one line of printable ASCII into it", path.display())]
    Token {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

impl FromStr for WebhookHost {
    type Err = WebhookHostError;

    fn from_str(text: &str) -> Result<Self, WebhookHostError> {
        let malformed = || WebhookHostError::Malformed(text.to_owned());
        let (place, file) = match text.split_once('=') {
            Some((place, file)) => (place, Some(PathBuf::from(file))),
            None => (text, None),
        };
        if place.contains('/') {
            return Err(malformed());
        }
        // The scheme only completes the URL: without a port, that of each scheme is allowed.
        let url = PostUrl::parse(&format!("http://{place}")).map_err(|_| malformed())?;
        let has_port = place.rsplit_once(':').is_some_and(|(_, port)| !port.contains(']'));
        let token = file.map(|path| {
            let wrong = |why: String| WebhookHostError::Token { path: path.clone(), why };
            let content = std::fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
            let token = content.trim();
            match !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()) {
                true => Ok(token.to_owned()),
                false => Err(wrong("it is no token".to_owned())),
            }
        });
        Ok(Self {
            host: url.host().to_owned(),
            port: has_port.then(|| url.port()),
            token: token.transpose()?,
        })
    }
}

/// Without the token.
impl fmt::Debug for WebhookHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookHost")
            .field("host", &self.host)
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}

/// Why a schedule cannot have a webhook.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WebhookError {
    /// It is no URL.
    #[error("webhook: {0}")]
    Url(#[from] provision::PostUrlError),
    /// The operator did not allow the host.
    #[error(
        "webhook: {0} is not among the hosts that may receive webhooks; next: ask the operator to start the service \
         with --webhook-host HOST"
    )]
    NotAllowed(PostUrl),
}

impl WebhookPolicy {
    /// A URL that may be called.
    ///
    /// # Errors
    /// It is no URL, or its host is not allowed.
    pub(crate) fn check(&self, text: &str) -> Result<(PostUrl, Option<&str>), WebhookError> {
        let url = PostUrl::parse(text)?;
        let found = self.hosts.iter().find(|known| {
            known.host.eq_ignore_ascii_case(url.host())
                && known.port.map_or_else(|| url.has_usual_port(), |port| port == url.port())
        });
        match found {
            Some(found) => Ok((url, found.token.as_deref())),
            None => Err(WebhookError::NotAllowed(url)),
        }
    }
}

/// How far a call got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CallState {
    /// It is tried, again if necessary.
    Pending,
    /// The receiver took it.
    Delivered,
    /// It was given up.
    Failed,
}

/// A call of a webhook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct WebhookCall {
    /// The whole URL; its path may be secret.
    url: String,
    /// What is sent.
    body: String,
    /// How far it got.
    pub state: CallState,
    /// Attempts so far.
    pub attempts: u32,
    /// When it is tried next.
    next: Timestamp,
    /// Why the last attempt failed.
    pub error: Option<String>,
}

/// Why an attempt failed, and whether another may succeed.
struct Refusal {
    why: String,
    passing: bool,
}

impl WebhookCall {
    /// A call that is due at once.
    pub(crate) fn new(url: &str, body: String, now: Timestamp) -> Self {
        Self { url: url.to_owned(), body, state: CallState::Pending, attempts: 0, next: now, error: None }
    }

    /// Whether it is to be tried.
    pub(crate) fn is_pending(&self) -> bool {
        self.state == CallState::Pending
    }

    /// Whether it is to be tried now.
    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        self.is_pending() && self.next <= now
    }

    /// Tries it once; returns the call after that.
    pub(crate) async fn attempt(mut self, policy: &WebhookPolicy, clock: impl Fn() -> Timestamp) -> Self {
        let tried = self.send(policy).await;
        self.after(tried, clock())
    }

    async fn send(&mut self, policy: &WebhookPolicy) -> Result<(), Refusal> {
        let lasting = |why: String| Refusal { why, passing: false };
        // The operator may allow less than when the schedule was created.
        let (url, token) = policy.check(&self.url).map_err(|error| lasting(error.to_string()))?;
        match url.post(self.body.clone(), token, &policy.trust, DEADLINE).await {
            Ok(200..=299) => Ok(()),
            Ok(status @ 300..=399) => {
                Err(lasting(format!("{url}: HTTP {status}: redirects are not followed")))
            }
            Ok(status) => Err(Refusal {
                why: format!("{url}: HTTP {status}"),
                passing: status >= 500 || status == 408 || status == 429,
            }),
            Err(failure) => Err(Refusal { why: format!("{url}: {failure}"), passing: failure.is_passing() }),
        }
    }

    fn after(mut self, tried: Result<(), Refusal>, now: Timestamp) -> Self {
        self.attempts += 1;
        let Err(Refusal { why, passing }) = tried else {
            return Self { state: CallState::Delivered, error: None, ..self };
        };
        let wait = usize::try_from(self.attempts - 1).ok().and_then(|done| BACK_OFF_S.get(done));
        match wait.filter(|_| passing) {
            Some(wait) => {
                let next = now.checked_add(SignedDuration::from_secs(*wait)).unwrap_or(now);
                Self { next, error: Some(why), ..self }
            }
            None => Self { state: CallState::Failed, error: Some(why), ..self },
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test may fail loudly

    use super::*;

    fn policy(hosts: &[&str]) -> WebhookPolicy {
        let hosts = hosts.iter().map(|text| text.parse().unwrap()).collect();
        WebhookPolicy { hosts, trust: Trust::System }
    }

    #[test]
    fn only_named_hosts_and_ports_are_called() {
        let policy = policy(&["hooks.example", "10.0.0.1:8080", "[fd00::1]:444"]);
        for url in [
            "https://hooks.example/a",
            "http://HOOKS.example:80/",
            "http://10.0.0.1:8080",
            "https://[fd00::1]:444/",
        ] {
            assert!(policy.check(url).is_ok(), "{url}");
        }
        for url in [
            "https://hooks.example:8443/secret",
            "https://hooks.example.evil/secret",
            "http://10.0.0.1/secret",
            "http://127.0.0.1:8080/secret",
            "http://169.254.169.254/secret",
            "http://[fd00::1]/secret",
            "file:///secret",
        ] {
            let error = policy.check(url).unwrap_err().to_string();
            assert!(error.contains("next:") && !error.contains("secret"), "{error}");
        }
        assert!(WebhookPolicy::default().check("https://hooks.example/").is_err(), "none by default");
    }

    #[test]
    fn a_token_comes_from_a_file_and_is_not_printed() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("token");
        let text = format!("hooks.example={}", file.display());
        let refused = text.parse::<WebhookHost>().unwrap_err().to_string();
        assert!(refused.contains("token") && refused.contains("next:"), "{refused}");
        std::fs::write(&file, "xyzzy\n").unwrap();
        let policy = policy(&[&text]);
        assert!(!format!("{policy:?}").contains("xyzzy"));
        assert_eq!(policy.check("https://hooks.example/").unwrap().1, Some("xyzzy"));
        std::fs::write(&file, "two words").unwrap();
        assert!(text.parse::<WebhookHost>().is_err());
        for wrong in ["", "https://hooks.example", "a b", "host:port", "host/path"] {
            assert!(wrong.parse::<WebhookHost>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn attempts_are_bounded_and_wait_longer_each_time() {
        let mut now: Timestamp = "2026-11-24T02:00:00Z".parse().unwrap();
        let mut call = WebhookCall::new("https://hooks.example/", "{}".to_owned(), now);
        let mut waits = Vec::new();
        while call.is_pending() {
            assert!(call.is_due(now));
            call = call.after(Err(Refusal { why: "HTTP 500".to_owned(), passing: true }), now);
            if call.is_pending() {
                assert!(!call.is_due(now));
                waits.push(call.next.duration_since(now).as_secs());
                now = call.next;
            }
        }
        assert_eq!((waits.as_slice(), call.attempts), (BACK_OFF_S.as_slice(), 6));
        assert_eq!((call.state, call.error.as_deref()), (CallState::Failed, Some("HTTP 500")));
        let new = || WebhookCall::new("https://hooks.example/", "{}".to_owned(), now);
        let refused = new().after(Err(Refusal { why: "HTTP 404".to_owned(), passing: false }), now);
        assert_eq!((refused.state, refused.attempts), (CallState::Failed, 1));
        assert_eq!(new().after(Ok(()), now).state, CallState::Delivered);
    }
}
