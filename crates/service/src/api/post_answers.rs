//! What every request that adds a run takes and may be answered, for the documents.

use utoipa::{IntoParams, IntoResponses};

use super::runs::RunView;

/// The header that lets a request be repeated.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "it describes the header, which `idempotency_key` reads")]
pub(super) struct IdempotencyKey {
    /// Of the requests with the same key, only the first adds a run; the others return it
    #[param(rename = "Idempotency-Key", min_length = 1, max_length = 255, pattern = "^[!-~]([ -~]*[!-~])?$")]
    idempotency_key: Option<String>,
}

/// The answers to a body of JSON, besides those of the request's own.
#[derive(IntoResponses)]
#[expect(dead_code, clippy::large_enum_variant, reason = "it describes the answers, which handlers build")]
pub(super) enum PostAnswers {
    /// The run that an earlier request with this Idempotency-Key added
    #[response(status = 200, headers(("Location" = String, description = "Its path")))]
    Earlier(RunView),
    /// The body arrived too slowly
    #[response(status = 408)]
    TooSlow,
    /// The body is too large
    #[response(status = 413)]
    TooLarge,
    /// The body is not JSON
    #[response(status = 415)]
    NotJson,
    /// The queue is full, or the service is ending
    #[response(status = 503)]
    Unavailable,
}
