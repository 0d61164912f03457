//! Engines: the protocol named by a job's `ioengine` builds its target.

use experiment::{FileNames, Target, TargetKind, hint};
use targets::{EngineJob, JobEngine, JobOperations};

use super::asked::Asked;
use super::order::Order;
use crate::language::settings::USUAL_ENGINE;
use crate::{every_engine, find_engine};

/// The engine of a job, and the kind of target that it loads.
pub(crate) fn engine(asked: &Asked<'_>) -> (&'static TargetKind, &'static JobEngine) {
    let loads = |name: &str| find_engine(name).and_then(|engine| engine.loads);
    let name = asked.text("ioengine").unwrap_or(USUAL_ENGINE);
    loads(name).unwrap_or_else(|| {
        let there = every_engine().filter(|engine| engine.is_there()).map(|engine| engine.name);
        asked.fault("ioengine", format!("there is no engine {name:?}"), hint(name, there));
        loads(USUAL_ENGINE).expect("the engine of jobs that name none is there")
    })
}

/// The target. Changes file names where part of a name belongs to the target.
pub(crate) fn target(
    asked: &Asked<'_>,
    engine: &JobEngine,
    order: &Order,
    names: &mut FileNames,
    section_number: usize,
) -> Target {
    let made = (engine.target)(&Job { asked, order, file_names: &names.listed });
    if let Some(listed) = made.file_names {
        names.listed = listed;
    }
    Target::new(target_name(engine, section_number), made.url, made.options)
}

/// Each section has a target of its own if it may have its own credentials.
pub(crate) fn target_name(engine: &JobEngine, section_number: usize) -> String {
    match section_number {
        number if number > 0 && engine.key_options.is_some() => {
            format!("{}-{}", engine.target_name, number + 1)
        }
        _ => engine.target_name.to_owned(),
    }
}

/// Whether operations bypass the page cache: the last of `direct` and `buffered` applies.
pub(crate) fn is_direct(asked: &Asked<'_>) -> bool {
    let place = |name: &str| asked.section.settings.iter().rposition(|setting| setting.option.name == name);
    match (place("direct"), place("buffered")) {
        (direct, Some(buffered)) if direct < Some(buffered) => !asked.flag_or("buffered", true),
        _ => asked.flag("direct"),
    }
}

/// What an engine may query about a section.
struct Job<'s, 'a> {
    asked: &'s Asked<'a>,
    order: &'s Order,
    file_names: &'s [String],
}

impl EngineJob for Job<'_, '_> {
    fn text(&self, option: &'static str) -> Option<&str> {
        self.asked.text(option)
    }

    fn number(&self, option: &'static str) -> Option<u64> {
        self.asked.number(option)
    }

    fn flag(&self, option: &'static str) -> bool {
        self.asked.flag(option)
    }

    fn is_set(&self, option: &'static str) -> bool {
        self.asked.has(option)
    }

    fn fault(&self, option: &'static str, text: String, correction: String) {
        self.asked.fault(option, text, correction);
    }

    fn directory(&self) -> &str {
        self.asked.around.directory
    }

    fn file_names(&self) -> &[String] {
        self.file_names
    }

    fn is_direct(&self) -> bool {
        is_direct(self.asked)
    }

    fn operations(&self) -> JobOperations {
        let Order { reads, writes, trims, random, .. } = *self.order;
        JobOperations { reads, writes, trims, random }
    }
}
