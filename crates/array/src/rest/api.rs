//! The API itself: sessions, versions, and the dispatch of calls to functions.

use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use serde_json::{Value, json};

use super::call::{Call, Failure, Outcome, Query};
use super::network::Network;
use super::page::List;
use super::session::Sessions;
use super::version::Version;
use super::{array_info, buckets, file_systems, keys, policies, users};
use crate::objects::Objects;
use crate::{Capacity, FaultHandle, Token};

/// State behind the API.
pub(crate) struct Api {
    pub(super) name: String,
    pub(super) array_id: String,
    pub(super) token: Token,
    pub(super) versions: Vec<Version>,
    pub(super) network: Network,
    pub(super) objects: Arc<RwLock<Objects>>,
    pub(super) capacity: Arc<Capacity>,
    pub(super) faults: FaultHandle,
    pub(super) sessions: Mutex<Sessions>,
    pub(super) page_items: usize,
}

/// The relevant parts of a request.
pub(super) struct Request {
    pub(super) method: String,
    /// The path, for example `/api/2.0/buckets`.
    pub(super) path: String,
    /// The part after the `?`.
    pub(super) query: String,
    pub(super) api_token: Option<String>,
    pub(super) session: Option<String>,
    pub(super) body: Vec<u8>,
}

/// A response.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Option<Value>,
    /// The token of a new session.
    pub(super) session: Option<String>,
}

impl Answer {
    pub(super) fn failure(failure: &Failure) -> Self {
        Self { status: failure.status, body: Some(failure.body()), session: None }
    }

    fn ok(body: Value) -> Self {
        Self { status: 200, body: Some(body), session: None }
    }
}

impl Api {
    pub(super) fn read(&self) -> RwLockReadGuard<'_, Objects> {
        self.objects.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, Objects> {
        self.objects.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a request.
    pub(super) fn answer(&self, request: &Request) -> Answer {
        self.try_answer(request).unwrap_or_else(|failure| Answer::failure(&failure))
    }

    fn try_answer(&self, request: &Request) -> Result<Answer, Failure> {
        let path = request.path.strip_prefix("/api/").ok_or_else(|| Failure::status(404, "Not found."))?;
        match (path, request.method.as_str()) {
            ("api_version", "GET") => {
                let versions: Vec<String> = self.versions.iter().map(Version::to_string).collect();
                Ok(Answer::ok(json!({ "versions": versions })))
            }
            ("login", "POST") => self.login(request.api_token.as_deref()),
            ("logout", "POST") => {
                let closed = request.session.as_deref().is_some_and(|token| self.sessions().close(token));
                let refused = || Failure::status(401, "Authorization is invalid.");
                if closed { Ok(Answer { status: 200, body: None, session: None }) } else { Err(refused()) }
            }
            ("api_version" | "login" | "logout", _) => Err(Failure::status(405, "Method not allowed.")),
            _ => self.versioned(path, request),
        }
    }

    fn sessions(&self) -> std::sync::MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn login(&self, token: Option<&str>) -> Result<Answer, Failure> {
        if token != Some(self.token.reveal()) {
            return Err(Failure::status(401, "Invalid API token."));
        }
        let session = self.sessions().open();
        Ok(Answer { status: 200, body: Some(json!({ "username": "pureuser" })), session: Some(session) })
    }

    fn versioned(&self, path: &str, request: &Request) -> Result<Answer, Failure> {
        let not_found = || Failure::status(404, "Not found.");
        let (version, resource) = path.split_once('/').ok_or_else(not_found)?;
        let version: Version = version.parse().map_err(|()| not_found())?;
        if !self.versions.contains(&version) {
            return Err(Failure::status(404, "The API version is not supported."));
        }
        let fault = self.faults.plan().session.clone();
        self.sessions().admit(request.session.as_deref(), &fault, version)?;
        let body = if request.body.iter().all(u8::is_ascii_whitespace) {
            json!({})
        } else {
            serde_json::from_slice(&request.body)
                .map_err(|_| Failure::bad("body", "The body is not JSON."))?
        };
        let call = Call {
            version,
            method: request.method.clone(),
            resource: resource.to_owned(),
            query: Query::parse(&request.query),
            body,
        };
        self.dispatch(&call).map(|body| Answer { status: 200, body, session: None })
    }

    fn dispatch(&self, call: &Call) -> Outcome {
        let simple =
            |items, kind| List { call, items, kind, page_items: self.page_items, total: None }.answer();
        let (resource, method) = (call.resource.as_str(), call.method.as_str());
        if call.version < since(resource) {
            return Err(Failure::status(404, "Not found."));
        }
        match (resource, method) {
            ("arrays", "GET") => simple(array_info::arrays(self, call.version), "Array"),
            ("arrays/space", "GET") => simple(array_info::space(self), "Array"),
            ("network-interfaces", "GET") => {
                simple(self.network.interfaces(call.version), "Network interface")
            }
            ("subnets", "GET") => simple(self.network.subnets(call.version), "Subnet"),
            ("file-systems", "GET") => file_systems::list(self, call),
            ("file-systems", "POST") => file_systems::create(self, call),
            ("file-systems", "PATCH") => file_systems::change_some(self, call),
            ("file-systems", "DELETE") => file_systems::eradicate(self, call),
            ("object-store-accounts", "GET") => users::list_accounts(self, call),
            ("object-store-accounts", "POST") => users::create_accounts(self, call),
            ("object-store-accounts", "DELETE") => users::delete_accounts(self, call),
            ("object-store-users", "GET") => users::list_users(self, call),
            ("object-store-users", "POST") => users::create_users(self, call),
            ("object-store-users", "DELETE") => users::delete_users(self, call),
            ("object-store-access-policies", "GET") => policies::list(self, call),
            ("object-store-access-keys", "GET") => keys::list(self, call),
            ("object-store-access-keys", "POST") => keys::create(self, call),
            ("object-store-access-keys", "PATCH") => keys::change(self, call),
            ("object-store-access-keys", "DELETE") => keys::delete(self, call),
            ("buckets", "GET") => buckets::list(self, call),
            ("buckets", "POST") => buckets::create(self, call),
            ("buckets", "PATCH") => buckets::change(self, call),
            ("buckets", "DELETE") => buckets::eradicate(self, call),
            (
                "object-store-users/object-store-access-policies"
                | "object-store-access-policies/object-store-users",
                method,
            ) => match method {
                "GET" => policies::list_members(self, call),
                "POST" => policies::add_members(self, call),
                "DELETE" => policies::remove_members(self, call),
                _ => Err(Failure::status(405, "Method not allowed.")),
            },
            _ => Err(Failure::status(404, "Not found.")),
        }
    }
}

/// The first version that has a resource.
fn since(resource: &str) -> Version {
    match resource {
        "arrays" | "arrays/space" | "file-systems" => Version::v1(0),
        resource if resource.contains("access-policies") => Version::v1(12),
        _ => Version::v1(3),
    }
}
