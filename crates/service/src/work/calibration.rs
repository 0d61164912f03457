//! Calibrations of the service's own host.

use axum::http::StatusCode;
use checks::CalibrateRequest;
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::RunKind;
use super::fields::{FieldFault, read};
use super::reactor_form::ReactorForm;
use crate::new_work::{NewWork, RunSecrets};
use crate::options::RequestPolicy;
use crate::problem::Problem;

/// How to calibrate the service's host.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewCalibration)]
pub(crate) struct CalibrationForm {
    /// Measured seconds of each step per repetition
    #[schema(minimum = 0.05, maximum = 600, default = 1)]
    seconds: Option<f64>,
    /// Number of measurements of each step, alternating with the others
    #[schema(minimum = 1, maximum = 100, default = 5)]
    repetitions: Option<u32>,
    /// How I/O is submitted to the kernel
    #[schema(default = "auto")]
    reactor: Option<ReactorForm>,
}

/// A calibration that this service allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Calibration {
    /// Measured seconds of each step in each repetition.
    pub seconds: f64,
    /// Number of measurements of each step.
    pub repetitions: u32,
    /// How to submit I/O to the kernel.
    pub reactor: reactor::BackendChoice,
}

impl NewWork {
    /// A calibration, from the object that was posted.
    ///
    /// # Errors
    /// A field cannot be read.
    pub(crate) fn calibration(posted: Map<String, Value>) -> Result<Self, FieldFault> {
        let posted = Value::Object(posted);
        read::<CalibrationForm>(&posted)?;
        let (text, secrets) = (posted.to_string(), RunSecrets::default());
        Ok(Self { kind: RunKind::Calibration, text, secrets, storperf: None })
    }
}

impl Calibration {
    /// Reads the text of a calibration.
    ///
    /// # Errors
    /// The operator does not allow it, or a field is out of its bounds.
    pub(super) fn read(text: &str, policy: &RequestPolicy) -> Result<Self, Problem> {
        if !policy.local {
            let detail = "calibrations occupy the service's host, and are not allowed; next: ask the operator to start the \
                          service with --allow-local";
            return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "not-allowed", detail));
        }
        let value: Value = serde_json::from_str(text).map_err(|_| FieldFault::damaged())?;
        let form: CalibrationForm = read(&value)?;
        let seconds = form.seconds.unwrap_or(CalibrateRequest::USUAL_SECONDS);
        let repetitions = form.repetitions.unwrap_or(CalibrateRequest::USUAL_REPETITIONS);
        if !CalibrateRequest::SECONDS.contains(&seconds) {
            let why = "write seconds from 0.05 to 600, such as 1 or 0.5";
            return Err(FieldFault::of("seconds", why).into());
        }
        if !CalibrateRequest::REPETITIONS.contains(&repetitions) {
            return Err(FieldFault::of("repetitions", "write a number from 1 to 100").into());
        }
        Ok(Self { seconds, repetitions, reactor: ReactorForm::choice(form.reactor) })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_back(body: &Value, policy: &RequestPolicy) -> Result<Calibration, Problem> {
        let work = NewWork::calibration(body.as_object().unwrap().clone())?;
        Calibration::read(&work.text, policy)
    }

    #[test]
    fn it_needs_permission_and_has_bounds() {
        let allowed = RequestPolicy { local: true, ..RequestPolicy::default() };
        let usual = read_back(&json!({}), &allowed).unwrap();
        let expected = Calibration { seconds: 1.0, repetitions: 5, reactor: reactor::BackendChoice::Auto };
        assert_eq!(usual, expected);
        let refused = read_back(&json!({}), &RequestPolicy::default()).unwrap_err();
        assert!(refused.detail().contains("--allow-local"), "{refused:?}");
        for (body, said) in [
            (json!({ "seconds": 0.01 }), "seconds: "),
            (json!({ "seconds": "1" }), "seconds: "),
            (json!({ "repetitions": 0 }), "repetitions: "),
            (json!({ "repetitions": -1 }), "repetitions: "),
            (json!({ "results": "/tmp/x" }), "unknown field"),
        ] {
            let problem = read_back(&body, &allowed).unwrap_err();
            assert!(problem.status() == 422 && problem.detail().contains(said), "{body}: {problem:?}");
        }
    }
}
