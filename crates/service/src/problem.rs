//! Errors of the API: problem details (RFC 9457).

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use experiment::{Diagnostic, Diagnostics};
use serde::Serialize;
use utoipa::ToSchema;

/// An error that a client receives as `application/problem+json`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// No page describes problems: `about:blank`, as the RFC defines it.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The status in words.
    title: &'static str,
    status: u16,
    /// The kind of problem; never changes.
    code: &'static str,
    /// What is wrong, and what to do next.
    detail: String,
    /// The path of the field that is wrong, such as `array.token`; absent if it is none in particular.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    field: Option<Box<str>>,
    /// Each fault of an experiment.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    faults: Vec<FaultView>,
    /// Number of further faults.
    #[serde(skip_serializing_if = "is_zero")]
    more_faults: u32,
}

/// A fault of an experiment.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Fault)]
struct FaultView {
    /// The line, from 1.
    line: usize,
    /// The column of its first character, from 1.
    column: usize,
    /// Number of characters.
    length: usize,
    /// What is wrong.
    text: String,
    /// What to do next.
    hint: String,
    /// The whole line.
    source_line: String,
    /// What else helps to understand it.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Problem {
    /// A problem with a status, a code and one line.
    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self {
            kind: "about:blank",
            title: status.canonical_reason().unwrap_or("Error"),
            status: status.as_u16(),
            code,
            detail: detail.into(),
            field: None,
            faults: Vec::new(),
            more_faults: 0,
        }
    }

    /// The status of its response.
    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// What is wrong, and what to do next.
    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    /// The request is malformed.
    pub(crate) fn bad_request(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, detail)
    }

    /// There is no such run.
    pub(crate) fn no_run(id: &str) -> Self {
        let detail = format!("there is no run {id:?}; next: GET /api/v3/runs lists all");
        Self::new(StatusCode::NOT_FOUND, "no-such-run", detail)
    }

    /// The key of a request belongs to an earlier one with another body, which added `what`.
    pub(crate) fn key_of_another(what: &str) -> Self {
        let detail = format!("this Idempotency-Key belongs to {what}, which was posted with another body");
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "idempotency-key", detail)
    }

    /// A field of a JSON body is wrong; the path is empty if it is none in particular.
    pub(crate) fn field(path: String, detail: impl Into<String>) -> Self {
        let field = (!path.is_empty()).then(|| path.into_boxed_str());
        Self { field, ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, "field", detail) }
    }

    /// The service has nothing at this path.
    pub(crate) fn no_such_page() -> Self {
        Self::new(StatusCode::NOT_FOUND, "no-such-page", "there is nothing at this path")
    }

    /// Something failed in the service.
    pub(crate) fn internal(detail: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "failure", detail.to_string())
    }

    /// The experiment has faults, or uses what the service does not allow.
    pub(crate) fn faults(faults: Diagnostics) -> Self {
        Self::faults_in("experiment", "the experiment", faults)
    }

    /// The job file has faults.
    pub(crate) fn job_faults(faults: Diagnostics) -> Self {
        Self::faults_in("jobs", "the job file", faults)
    }

    fn faults_in(code: &'static str, what: &str, faults: Diagnostics) -> Self {
        let count = faults.faults.len() + faults.more;
        let detail = match (count, faults.faults.first()) {
            (1, Some(fault)) => format!("line {}: {}; {}", fault.line, fault.text, fault.hint),
            (_, Some(fault)) => {
                let Diagnostic { line, text, hint, .. } = fault;
                format!("{what} has {count} faults; the first, in line {line}: {text}; {hint}")
            }
            (_, None) => format!("{what} has {count} faults"),
        };
        let views = faults.faults.into_iter().map(|fault| FaultView {
            line: fault.line,
            column: fault.column,
            length: fault.length,
            text: fault.text,
            hint: fault.hint,
            source_line: fault.source_line,
            note: fault.note,
        });
        Self {
            faults: views.collect(),
            more_faults: u32::try_from(faults.more).unwrap_or(u32::MAX),
            ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, detail)
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.status();
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = (status, body).into_response();
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
