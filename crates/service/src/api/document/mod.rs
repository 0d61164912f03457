//! The OpenAPI document of `/api/v3`, generated from the handlers and the types of their responses.
//!
//! Types whose schemas are checked in with the formats of results (`schemas/run.schema.json`,
//! `schemas/comparison.schema.json`) are taken from there, so that each is described once.

pub(crate) mod stored;

use serde_json::{Map, Value, json};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

use crate::carry_out::CleanUpResult;
use crate::event::{CellEvent, EndEvent, IntervalEvent, MessageEvent, MissedEvent, StateEvent};
use crate::problem::Problem;

/// The media type of errors.
pub(super) const PROBLEM: &str = "application/problem+json";

/// What any request may be answered.
const REFUSALS: [(&str, &str); 4] = [
    ("400", "The request is malformed, or its URL carries a token"),
    ("401", "A token is required, and it is absent or wrong"),
    ("421", "The service is not addressed by one of its names"),
    ("500", "Something failed in the service"),
];

/// What is not in the handlers.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "manometer",
        description = "Runs experiments, checks, network tests, calibrations and clean-ups, and serves their events, figures and reports. Each error is a problem (RFC 9457) with \
                       a stable `code`. A program that reads responses ignores fields that it does not know.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    tags(
        (name = "experiments", description = "Experiments without a run"),
        (name = "runs", description = "The queue and its runs"),
        (name = "hosts", description = "The hosts that runs occupy, and their agents"),
        (name = "arrays", description = "Arrays on which runs created something, what runs left, and its removal"),
        (name = "baselines", description = "Named results, with which later runs are compared"),
        (name = "schedules", description = "Experiments that join the queue at given times, and the gates of their runs"),
        (name = "results", description = "What runs measured"),
        (name = "metrics", description = "Current figures for Prometheus")
    ),
    components(schemas(Problem, CleanUpResult, StateEvent, MessageEvent, IntervalEvent, CellEvent, MissedEvent, EndEvent)),
    modifiers(&Bearer)
)]
pub(crate) struct Frame;

/// The access token; a service on a loopback address needs none.
pub(super) struct Bearer;

impl Modify for Bearer {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer);
        let scheme = scheme.description(Some("The token of `manometer serve --token-file`"));
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(scheme.build()));
    }
}

/// The content of an error of `/api/v3`.
pub(super) fn problem() -> Value {
    json!({ PROBLEM: { "schema": { "$ref": "#/components/schemas/Problem" } } })
}

/// The whole document: what was collected from the handlers, what every operation has in common, the content of errors, and
/// the schemas of stored records.
pub(super) fn complete(collected: &utoipa::openapi::OpenApi, error: &Value) -> Value {
    let mut document = serde_json::to_value(collected).unwrap_or_default();
    document["security"] = json!([{}, { "token": [] }]);
    let paths = document["paths"].as_object_mut().into_iter().flat_map(Map::values_mut);
    for (method, operation) in paths.filter_map(Value::as_object_mut).flatten() {
        if let Some(responses) = operation["responses"].as_object_mut() {
            refusals(method, responses, error);
        }
        let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
        for parameter in parameters.into_iter().flatten() {
            // An optional parameter is absent, never null.
            if let Some(kind) = parameter.pointer("/schema/type/0").cloned() {
                parameter["schema"]["type"] = kind;
            }
        }
    }
    without_own_formats(&mut document);
    stored::add(&mut document);
    document
}

/// Adds what any request may be answered, and the body of every error.
fn refusals(method: &str, responses: &mut Map<String, Value>, error: &Value) {
    let cross_site = ("403", "A page of another site sent it");
    for (status, why) in REFUSALS.into_iter().chain((method != "get").then_some(cross_site)) {
        responses.entry(status).or_insert_with(|| json!({ "description": why }));
    }
    for (status, response) in responses {
        if status.as_str() >= "400" {
            response["content"] = error.clone();
        }
    }
}

/// Removes formats that no registry has, such as `u-int32`; bounds tell the same.
fn without_own_formats(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let own = fields.get("format").and_then(Value::as_str);
            if own.is_some_and(|format| format.starts_with("u-int")) {
                fields.remove("format");
            }
            fields.values_mut().for_each(without_own_formats);
        }
        Value::Array(items) => items.iter_mut().for_each(without_own_formats),
        _ => {}
    }
}
