//! The options of a target, from its URL's query and from the experiment file, read as what they are.
//!
//! Which options there are, what they mean and what holds without them is one table,
//! [`experiment::target_options`]; this reads their values.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::TargetError;
use super::url::TargetUrl;

/// Options by name. What the file says wins over what the URL says.
#[derive(Clone, Debug)]
pub(super) struct Options {
    /// The target as messages name it.
    target: String,
    values: BTreeMap<String, String>,
}

impl Options {
    /// Merges both sources. `besides` are names that only the URL knows, such as `endpoint`.
    ///
    /// # Errors
    /// An option that this kind of target does not know: one line, with the nearest that it does.
    pub(super) fn new(
        target: &experiment::Target,
        url: &TargetUrl,
        besides: &[&'static str],
    ) -> Result<Self, TargetError> {
        let mut values: BTreeMap<String, String> = url.query.iter().cloned().collect();
        values.extend(target.options.iter().map(|(name, value)| (name.clone(), value.clone())));
        let known: Vec<&'static str> = experiment::target_options(&url.scheme)
            .iter()
            .map(|help| help.name)
            .chain(besides.iter().copied())
            .collect();
        if let Some(name) = values.keys().find(|name| !known.contains(&name.as_str())) {
            let next = match experiment::nearest(name, known.iter().copied()) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None if known.is_empty() => "take it out: this kind has no options".to_owned(),
                None => format!("there are {}", known.join(", ")),
            };
            return Err(TargetError::Input(format!(
                "target {}: {}: targets have no option \"{name}\"; {next}",
                target.name, url.scheme
            )));
        }
        Ok(Self { target: target.name.clone(), values })
    }

    /// An option as text.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// An option, read by `read`.
    pub(super) fn read<T>(
        &self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, TargetError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        read(text).map(Some).map_err(|problem| self.wrong(name, text, &problem))
    }

    /// An option whose text its type reads; `form` says how to write it.
    pub(super) fn number<T: FromStr>(&self, name: &str, form: &str) -> Result<Option<T>, TargetError> {
        self.read(name, |text| text.parse().map_err(|_| format!("write {form}")))
    }

    /// True or false.
    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, TargetError> {
        self.read(name, |text| match text {
            "true" | "yes" | "on" | "1" => Ok(true),
            "false" | "no" | "off" | "0" => Ok(false),
            _ => Err("write true or false".to_owned()),
        })
    }

    /// A size in bytes that a request can have.
    pub(super) fn bytes(&self, name: &str) -> Result<Option<u64>, TargetError> {
        self.read(name, |text| {
            text.parse::<units::Size>().map(|size| size.0).map_err(|error| error.to_string())
        })
    }

    /// One line about a value that cannot be used; `problem` says how to write it, and may repeat the text itself.
    pub(super) fn wrong(&self, name: &str, text: &str, problem: &str) -> TargetError {
        let shown = if problem.starts_with('"') { String::new() } else { format!("\"{text}\": ") };
        TargetError::Input(format!("target {}: {name}: {shown}{problem}", self.target))
    }
}
