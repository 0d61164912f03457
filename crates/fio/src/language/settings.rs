//! Turns options as written into settings: known, of the right kind, and valid for the engine in use.

use super::expand::expand;
use super::faults::{ScriptFault, Warning};
use super::lines::RawOption;
use super::options::{
    FioOption, OptionGroup, OptionSupport, every_engine, every_option, find_argument, find_engine,
    find_option,
};
use super::script::Reading;
use super::section::Setting;
use super::values;
use experiment::nearest;

/// Engine of a job that names none.
pub(crate) const USUAL_ENGINE: &str = "psync";

/// Builds settings from options, and collects faults.
pub(super) struct Settings<'a> {
    /// Context outside the files.
    pub reading: &'a Reading<'a>,
    /// All faults.
    pub faults: Vec<ScriptFault>,
    /// Everything tolerated with a warning.
    pub warnings: Vec<Warning>,
    /// A global section names an unsupported engine, so it is unknown whether options belong to it.
    pub engine_is_refused: bool,
}

impl Settings<'_> {
    /// The settings of one section (or of the options between two names on the command line). `inherited` applies
    /// before them.
    pub fn of(&mut self, options: &[RawOption], inherited: &[Setting], global: bool) -> Vec<Setting> {
        let values: Vec<Option<String>> = options.iter().map(|option| self.expanded(option)).collect();
        let kb_base = options
            .iter()
            .zip(&values)
            .rev()
            .filter(|(option, _)| option.name == "kb_base")
            .find_map(|(_, value)| value.as_deref().and_then(|value| value.parse().ok()))
            .or(inherited.last().map(|setting| setting.kb_base))
            .unwrap_or(1024);
        // Options of a refused engine cause no faults of their own.
        let refused = match options.iter().zip(&values).rfind(|(option, _)| option.name == "ioengine") {
            Some((_, value)) => !is_there(value.as_deref().unwrap_or_default()),
            None => self.engine_is_refused,
        };
        self.engine_is_refused = if global { refused } else { self.engine_is_refused };
        let own: Vec<Setting> = options
            .iter()
            .zip(values)
            .filter(|(option, _)| !refused || !is_of_engine(&option.name))
            .filter_map(|(option, value)| self.setting(option, value, kb_base, global))
            .collect();
        let engine = engine_of(own.iter().rev().chain(inherited.iter().rev())).to_owned();
        own.iter().for_each(|setting| self.check_engine(setting, &engine));
        own
    }

    fn expanded(&mut self, option: &RawOption) -> Option<String> {
        let value = option.value.as_deref()?;
        match expand(value, option.with_environment, self.reading) {
            Ok(value) => Some(value),
            Err(why) => {
                self.faults.push(ScriptFault::new(
                    &option.value_origin,
                    "the value becomes too long",
                    why.to_string(),
                ));
                Some(value.to_owned())
            }
        }
    }

    fn setting(
        &mut self,
        raw: &RawOption,
        value: Option<String>,
        kb_base: u32,
        global: bool,
    ) -> Option<Setting> {
        let Some(option) = find_option(&raw.name) else {
            self.unsupported(unknown(raw));
            return None;
        };
        if let OptionSupport::Absent { why, instead } = option.support {
            if !asks_for_nothing(option, value.as_deref()) {
                let text = format!("{} is not supported: {why}", raw.name);
                self.unsupported(ScriptFault::new(&raw.name_origin, text, instead));
            }
            return None;
        }
        if let Err(why) = values::check(option, value.as_deref(), kb_base) {
            let text = match &value {
                Some(value) if !value.is_empty() => format!("{} is not understood: {value:?}", raw.name),
                _ => format!("{} has no value", raw.name),
            };
            self.faults.push(ScriptFault::new(&raw.value_origin, text, why.to_string()));
            return None;
        }
        if option.name == "ioengine" && !self.knows_engine(raw, value.as_deref().unwrap_or_default()) {
            return None;
        }
        let has_value = value.is_some();
        let origin = raw.value_origin.clone();
        Some(Setting { option, value: value.unwrap_or_default(), has_value, global, kb_base, origin })
    }

    fn knows_engine(&mut self, raw: &RawOption, name: &str) -> bool {
        let there = || every_engine().filter(|engine| engine.is_there());
        let (text, hint) = match find_engine(name).map(|engine| engine.support) {
            Some(OptionSupport::Absent { why, instead }) => {
                (format!("the engine {name} is not there: {why}"), format!("instead: {instead}"))
            }
            Some(_) => return true,
            None => {
                let hint = match nearest(name, there().map(|engine| engine.name)) {
                    Some(near) => format!("did you mean {near:?}?"),
                    None => {
                        let names: Vec<&str> = there().map(|engine| engine.name).collect();
                        format!("there are {}", names.join(", "))
                    }
                };
                (format!("there is no engine {name:?}"), hint)
            }
        };
        self.faults.push(ScriptFault::new(&raw.value_origin, text, hint));
        false
    }

    fn check_engine(&mut self, setting: &Setting, engine: &str) {
        if let OptionGroup::Engine(engines) = setting.option.group
            && !engines.contains(&engine)
        {
            let text = format!("{} does not belong to ioengine={engine}", setting.option.name);
            let hint = format!("it belongs to {}", engines.join(", "));
            self.unsupported(ScriptFault::new(&setting.origin, text, hint));
        }
    }

    fn unsupported(&mut self, fault: ScriptFault) {
        if self.reading.ignore_unsupported {
            self.warnings.push(Warning(fault));
        } else {
            self.faults.push(fault);
        }
    }
}

/// A section's settings without those of engines that it does not use, whether inherited or already warned about.
pub(super) fn of_engine_in_use(settings: Vec<Setting>) -> Vec<Setting> {
    let engine = engine_of(settings.iter().rev()).to_owned();
    let fits = |option: &FioOption| match option.group {
        OptionGroup::Engine(engines) => engines.contains(&engine.as_str()),
        _ => true,
    };
    settings.into_iter().filter(|setting| fits(setting.option)).collect()
}

/// The engine that settings name; expects the last one first.
pub(crate) fn engine_of<'a>(mut from_last: impl Iterator<Item = &'a Setting>) -> &'a str {
    from_last
        .find(|setting| setting.option.name == "ioengine")
        .map_or(USUAL_ENGINE, |setting| setting.value.trim())
}

/// Whether jobs may name this engine.
fn is_there(engine: &str) -> bool {
    find_engine(engine.trim()).is_some_and(|engine| engine.is_there())
}

/// Whether an option with this name belongs to engines.
fn is_of_engine(name: &str) -> bool {
    find_option(name).is_some_and(|option| matches!(option.group, OptionGroup::Engine(_)))
}

fn asks_for_nothing(option: &FioOption, value: Option<&str>) -> bool {
    let value = value.unwrap_or("1").trim();
    let number = value.parse::<f64>().ok();
    option
        .harmless
        .iter()
        .any(|harmless| *harmless == value || number.is_some() && harmless.parse::<f64>().ok() == number)
}

fn unknown(raw: &RawOption) -> ScriptFault {
    let name = raw.name.as_str();
    let text = format!("there is no option {name:?}");
    if find_argument(name).is_some() {
        return ScriptFault::new(&raw.name_origin, text, format!("--{name} stands on the command line"));
    }
    if every_option().any(|option| option.group == OptionGroup::Profile && option.name == name) {
        let text = format!("{name} is not supported: it belongs to a profile, and there are none");
        return ScriptFault::new(&raw.name_origin, text, "write the load as jobs");
    }
    let known = every_option()
        .filter(|option| option.is_of_jobs())
        .flat_map(|option| std::iter::once(&option.name).chain(option.aliases).copied());
    let hint = match nearest(name, known) {
        Some(near) => format!("did you mean {near:?}?"),
        None => "docs/fio-options.md lists the options that there are".to_owned(),
    };
    ScriptFault::new(&raw.name_origin, text, hint)
}
