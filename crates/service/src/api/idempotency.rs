//! The header `Idempotency-Key`, with which a POST can be repeated safely.

use axum::http::HeaderMap;

use crate::problem::Problem;

/// Maximum length of a key.
const LONGEST_KEY: usize = 255;

/// The key of a request, if it has one.
///
/// # Errors
/// It is empty, too long, or not ASCII.
pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(key) = headers.get("idempotency-key") else { return Ok(None) };
    match key.to_str() {
        Ok(text) if (1..=LONGEST_KEY).contains(&text.len()) => Ok(Some(text.to_owned())),
        _ => Err(Problem::bad_request(
            "idempotency-key",
            format!("an Idempotency-Key has 1 to {LONGEST_KEY} characters of ASCII"),
        )),
    }
}
