//! `manometer calibrate`: from its arguments to its output.

pub mod arguments;
mod output;

use std::io::Write;
use std::sync::Arc;

use anyhow::{Context, Result};
use checks::{CalibrateRequest, RecordOptions};
use runner::{Events, StopToken};

use crate::exit::of_check_error;
use crate::interrupt::whole_or_nothing;
use crate::messages::{self, Messages};
use crate::progress::ProgressView;
use crate::results::ResultsFormat;
use arguments::CalibrateArguments;

/// Calibrates this host; returns the process's exit code.
pub fn run(arguments: &CalibrateArguments, messages: &Messages) -> u8 {
    whole_or_nothing(messages, |stop| calibrate(arguments, stop, messages).map(|()| 0))
}

fn calibrate(arguments: &CalibrateArguments, stop: &StopToken, messages: &Messages) -> Result<()> {
    let results = arguments.file.path()?;
    let request = CalibrateRequest {
        seconds: arguments.seconds,
        repetitions: arguments.repetitions,
        reactor: arguments.reactor,
        program: std::env::current_exe().context("this program's own file is not known")?,
        scratch: std::env::temp_dir(),
        record: RecordOptions {
            results: arguments.file.path.clone(),
            command: host::environment::command_line(std::env::args()),
            ..RecordOptions::default()
        },
    };
    let events: Arc<dyn Events> = Arc::new(ProgressView::new(messages));
    let calibration = checks::calibrate(&request, &events, stop).map_err(of_check_error)?;
    let kept = store::save_calibration(&results, &calibration)?;
    let text = match arguments.output {
        ResultsFormat::Text => output::text(&calibration, messages::width()),
        ResultsFormat::Json => serde_json::to_string_pretty(&calibration)? + "\n",
    };
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    messages.note(&format!("kept in {}: later results on this host are judged against it", kept.display()));
    Ok(())
}
