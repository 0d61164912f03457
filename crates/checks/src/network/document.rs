//! The results of a network measurement as JSON, conforming to `schemas/network.schema.json`.

use serde::Serialize;
use stats::{NETWORK_VERSION, NetworkJudgement, NetworkMatrix};

use super::{NetworkReport, words};

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    schema_version: u32,
    manometer_version: &'static str,
    taken: jiff::Timestamp,
    seconds: f64,
    parallel: bool,
    #[serde(flatten)]
    matrix: &'a NetworkMatrix,
    judgement: &'a NetworkJudgement,
    verdict: Vec<String>,
}

impl NetworkReport {
    /// Every fault, or the statement that there is none; one line each.
    pub fn verdict(&self) -> Vec<String> {
        let lines = words::verdict(&self.matrix, &self.judgement);
        lines.into_iter().map(|line| line.replace(char::is_control, " ")).collect()
    }

    /// All of it as one indented object in JSON, with a final line end.
    pub fn json(&self) -> String {
        let document = Document {
            schema: "manometer.network",
            schema_version: NETWORK_VERSION,
            manometer_version: env!("CARGO_PKG_VERSION"),
            taken: self.taken,
            seconds: self.seconds,
            parallel: self.parallel,
            matrix: &self.matrix,
            judgement: &self.judgement,
            verdict: self.verdict(),
        };
        serde_json::to_string_pretty(&document).expect("all keys are strings") + "\n"
    }
}
