//! Parameters by name, from the command line and from a YAML file.

use std::collections::BTreeMap;

use experiment::hint;
use serde_json::Value;

/// What a parameter's value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Number,
    /// `Y` or `N`.
    Flag,
    /// Only `N`: what `Y` asks for is not supported; what to use instead.
    Not(&'static str),
    /// Accepted, without effect.
    Ignored,
}

/// Every parameter.
pub(crate) const PARAMETERS: &[(&str, Form)] = &[
    ("operation", Form::Text),
    ("top", Form::Text),
    ("host-set", Form::Text),
    ("files", Form::Number),
    ("threads", Form::Number),
    ("file-size", Form::Number),
    ("file-size-distribution", Form::Text),
    ("record-size", Form::Number),
    ("files-per-dir", Form::Number),
    ("dirs-per-dir", Form::Number),
    ("hash-into-dirs", Form::Flag),
    ("same-dir", Form::Flag),
    ("permute-host-dirs", Form::Flag),
    ("prefix", Form::Text),
    ("suffix", Form::Text),
    ("xattr-size", Form::Number),
    ("xattr-count", Form::Number),
    ("fsync", Form::Flag),
    ("pause", Form::Number),
    ("verify-read", Form::Flag),
    ("finish", Form::Flag),
    ("stonewall", Form::Flag),
    ("output-json", Form::Text),
    ("yaml-input-file", Form::Text),
    ("results", Form::Text),
    ("response-times", Form::Not("`manometer show last`, which has the percentiles of every operation")),
    ("auto-pause", Form::Not("--pause MICROSECONDS")),
    ("record-ctime-size", Form::Not("no label: await-create is not supported")),
    ("record-time-size", Form::Not("no label: await-create is not supported")),
    ("launch-by-daemon", Form::Not("--host-set, which starts the hosts' part over ssh")),
    ("incompressible", Form::Ignored),
    ("network-sync-dir", Form::Ignored),
    ("min-dirs-per-sec", Form::Ignored),
    ("remote-pgm-dir", Form::Ignored),
    ("cleanup-delay-usec-per-file", Form::Ignored),
    ("log-to-stderr", Form::Ignored),
    ("verbose", Form::Ignored),
];

/// Why parameters make no request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// An argument that is no parameter's name.
    #[error("{argument:?}: parameters are pairs of --name and value; next: write them so")]
    NoName {
        /// The argument.
        argument: String,
    },
    /// A name without a value.
    #[error("--{name} has no value; next: write one after it")]
    NoValue {
        /// The parameter.
        name: String,
    },
    /// No such parameter.
    #[error("there is no parameter --{name}; {hint}")]
    Unknown {
        /// Its name.
        name: String,
        /// What to write instead.
        hint: String,
    },
    /// A value that means nothing.
    #[error("--{name} {value}: {wanted}")]
    Value {
        /// The parameter.
        name: String,
        /// Its value.
        value: String,
        /// What to write instead.
        wanted: String,
    },
    /// Something that smallfile does and this program does not.
    #[error("--{name} {value} is not supported; next: use {instead}")]
    Unsupported {
        /// The parameter.
        name: String,
        /// Its value.
        value: String,
        /// What there is instead.
        instead: &'static str,
    },
    /// Values that contradict each other.
    #[error("{0}")]
    Together(String),
    /// The YAML file is no map of parameters.
    #[error("{file}: {error}; next: write a line `name: value` for each parameter, without --")]
    Yaml {
        /// The file.
        file: String,
        /// What is wrong.
        error: String,
    },
}

/// Parameters and their values, as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters(BTreeMap<String, String>);

impl Parameters {
    /// The value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    fn put(&mut self, name: &str, value: String) -> Result<(), ParameterError> {
        let Some((_, form)) = PARAMETERS.iter().find(|(known, _)| *known == name) else {
            let hint = hint(name, PARAMETERS.iter().map(|(name, _)| *name));
            return Err(ParameterError::Unknown { name: name.to_owned(), hint });
        };
        let wrong = |wanted: &str| {
            let (name, value, wanted) = (name.to_owned(), value.clone(), wanted.to_owned());
            Err(ParameterError::Value { name, value, wanted })
        };
        match form {
            Form::Text | Form::Ignored => {}
            Form::Number if value.parse::<u64>().is_ok() => {}
            Form::Number => return wrong("write a whole number"),
            Form::Flag if flag(&value).is_some() => {}
            Form::Not(_) if flag(&value) == Some(false) => {}
            Form::Not(instead) if flag(&value) == Some(true) => {
                return Err(ParameterError::Unsupported { name: name.to_owned(), value, instead });
            }
            Form::Flag | Form::Not(_) => return wrong("write Y or N"),
        }
        self.0.insert(name.to_owned(), value);
        Ok(())
    }

    /// Adds the parameters of a YAML file; those of the command line take precedence.
    ///
    /// # Errors
    /// The text is no map of parameters, or one of them has no meaning.
    pub fn add_yaml(&mut self, file: &str, text: &str) -> Result<(), ParameterError> {
        let wrong = |error: String| ParameterError::Yaml { file: file.to_owned(), error };
        let values: BTreeMap<String, Value> =
            serde_saphyr::from_str(text).map_err(|error| wrong(one_line(&error.to_string())))?;
        let mut from_file = Parameters::default();
        for (name, value) in values {
            let text = match value {
                Value::String(text) => text,
                Value::Number(number) => number.to_string(),
                Value::Bool(flag) => if flag { "Y" } else { "N" }.to_owned(),
                Value::Null | Value::Array(_) | Value::Object(_) => {
                    return Err(wrong(format!("{name} has no single value")));
                }
            };
            if name == "yaml-input-file" {
                return Err(wrong("yaml-input-file stands in itself".to_owned()));
            }
            from_file.put(&name, text)?;
        }
        from_file.0.append(&mut self.0);
        *self = from_file;
        Ok(())
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `Y` or `N`, or a word for it.
pub(crate) fn flag(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "y" | "yes" | "true" => Some(true),
        "n" | "no" | "false" => Some(false),
        _ => None,
    }
}

/// The parameters of a command line: `--name value` or `--name=value`; the last value of a name counts.
///
/// # Errors
/// The first argument that is wrong.
pub fn split_arguments(arguments: &[String]) -> Result<Parameters, ParameterError> {
    let mut parameters = Parameters::default();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let Some(name) = argument.strip_prefix("--") else {
            return Err(ParameterError::NoName { argument: argument.clone() });
        };
        let (name, value) = match name.split_once('=') {
            Some((name, value)) => (name, value.to_owned()),
            None => match arguments.next() {
                Some(value) => (name, value.clone()),
                None => return Err(ParameterError::NoValue { name: name.to_owned() }),
            },
        };
        parameters.put(name, value)?;
    }
    Ok(parameters)
}
