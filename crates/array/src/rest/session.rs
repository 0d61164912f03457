//! Management sessions: opened with the API token, ended by logout, or early by a fault.

use std::collections::HashMap;

use reactor::clock;

use super::call::Failure;
use super::version::Version;
use crate::faults::SessionFault;
use crate::objects::uuid;

/// An open session.
#[derive(Debug)]
struct Session {
    opened_ns: u64,
    calls: u64,
}

/// Sessions by their tokens.
#[derive(Debug, Default)]
pub(super) struct Sessions(HashMap<String, Session>);

impl Sessions {
    /// Opens one and returns its token.
    pub(super) fn open(&mut self) -> String {
        let token = uuid();
        self.0.insert(token.clone(), Session { opened_ns: clock::now_ns(), calls: 0 });
        token
    }

    /// Ends one; false if it does not exist.
    pub(super) fn close(&mut self, token: &str) -> bool {
        self.0.remove(token).is_some()
    }

    /// Counts a call of a session.
    ///
    /// # Errors
    /// The session no longer exists: 401 in generation 1, 403 in generation 2.
    pub(super) fn admit(
        &mut self,
        token: Option<&str>,
        fault: &SessionFault,
        version: Version,
    ) -> Result<(), Failure> {
        let refused = if version.is_2() {
            Failure::status(403, "Forbidden")
        } else {
            Failure::status(401, "Authorization is invalid.")
        };
        let Some(token) = token else { return Err(Failure::status(401, "Authorization is required.")) };
        let Some(session) = self.0.get_mut(token) else { return Err(refused) };
        let age_ms = (clock::now_ns() - session.opened_ns) / 1_000_000;
        let over = fault.expires_after_calls.is_some_and(|calls| session.calls >= calls)
            || fault.expires_after_ms.is_some_and(|ms| age_ms >= ms);
        if over {
            self.0.remove(token);
            return Err(refused);
        }
        session.calls += 1;
        Ok(())
    }
}
