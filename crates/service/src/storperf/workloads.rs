//! Workloads of `StorPerf`'s: its built-in ones, and those given as fio options.

use serde_json::Value;

use super::fields::{refused, text_of};
use crate::problem::Problem;

/// A workload as options of fio.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FioWorkload {
    /// Its name; with a leading underscore it is left out of the criteria.
    pub name: String,
    /// fio's options; the last of several with one name applies.
    pub options: Vec<(String, String)>,
    /// Block size and queue depth, if it always has the same.
    pub fixed: Option<(String, String)>,
}

/// The options that every workload begins with.
const BASE: [(&str, &str); 7] = [
    ("ioengine", "libaio"),
    ("direct", "1"),
    ("rw", "read"),
    ("iodepth", "1"),
    ("numjobs", "1"),
    ("loops", "200"),
    ("group_reporting", "1"),
];

/// Block size and queue depth of preparations.
const OF_PREPARATION: (&str, &str) = ("16384", "8");

/// A built-in workload and its own options.
type BuiltIn = (&'static str, &'static [(&'static str, &'static str)]);

const BUILT_IN: [BuiltIn; 6] = [
    ("rr", &[("rw", "randread")]),
    ("rs", &[("rw", "read")]),
    ("rw", &[("rw", "rw"), ("rwmixread", "70")]),
    ("wr", &[("rw", "randwrite")]),
    ("ws", &[("rw", "write")]),
    ("_warm_up", &[("rw", "write"), ("loops", "1")]),
];

/// Options that belong to the job, to what it is run by, or to files of the hosts that a load does not need.
const NOT_OF_A_WORKLOAD: [(&str, &str); 16] = [
    ("name", "the workload's name is its key in workloads"),
    ("bssplit", "block sizes come from block_sizes"),
    ("bsrange", "block sizes come from block_sizes"),
    ("blocksize_range", "block sizes come from block_sizes"),
    ("bs_unaligned", "block sizes come from block_sizes"),
    ("directory", "files are below the target"),
    ("filename", "files are below the target"),
    ("filename_format", "files are named as StorPerf names them"),
    ("opendir", "files are below the target"),
    ("read_iolog", "a workload replays no log"),
    ("write_iolog", "a workload writes no logs"),
    ("write_bw_log", "a workload writes no logs"),
    ("write_lat_log", "a workload writes no logs"),
    ("write_iops_log", "a workload writes no logs"),
    ("write_hist_log", "a workload writes no logs"),
    ("runtime", "its time is the job's deadline"),
];

/// Options that the job sets, whatever a workload says; `StorPerf` ignores them too.
const IGNORED: [&str; 5] = ["output-format", "status-interval", "bs", "blocksize", "iodepth"];

/// Maximum number of options.
const MOST_OPTIONS: usize = 100;

fn begin(name: &str) -> FioWorkload {
    let options = BASE.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    FioWorkload { name: name.to_owned(), options: options.collect(), fixed: None }
}

/// A built-in workload.
///
/// # Errors
/// There is none with this name.
pub(crate) fn built_in(name: &str) -> Result<FioWorkload, Problem> {
    let Some((_, own)) = BUILT_IN.iter().find(|known| known.0 == name) else {
        return Err(refused(format!("Unknown workload: {name}; next: write rr, rs, rw, wr, ws or _warm_up")));
    };
    let mut workload = begin(name);
    own.iter().for_each(|(name, value)| workload.set(name, value));
    if name.starts_with('_') {
        workload.fixed = Some((OF_PREPARATION.0.to_owned(), OF_PREPARATION.1.to_owned()));
    }
    Ok(workload)
}

/// The built-in workloads of a job that names none.
pub(crate) fn all_built_in() -> Vec<FioWorkload> {
    let measured = BUILT_IN.iter().filter(|(name, _)| !name.starts_with('_'));
    measured.filter_map(|(name, _)| built_in(name).ok()).collect()
}

/// Fills the target: each block once, in random order.
pub(crate) fn fill(options: &[(String, String)], block_bytes: u64) -> FioWorkload {
    let mut workload = begin("_warm_up");
    workload.set("rw", "randwrite");
    workload.set("loops", "1");
    options.iter().for_each(|(name, value)| workload.set(name, value));
    workload.fixed = Some((block_bytes.to_string(), OF_PREPARATION.1.to_owned()));
    workload
}

/// A workload of the map `workloads`.
///
/// # Errors
/// Its name or an option cannot be used.
pub(crate) fn custom(name: &str, options: &Value) -> Result<FioWorkload, Problem> {
    let plain = name.replace('_', "");
    if plain.is_empty() || name.len() > 40 || !plain.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(refused(format!(
            "Workload name must be alphanumeric only: {name}; next: use at most 40 letters, digits and underscores"
        )));
    }
    let Value::Object(options) = options else {
        return Err(refused(format!("workloads.{name} is not a map of fio options")));
    };
    if options.len() > MOST_OPTIONS {
        return Err(refused(format!("workloads.{name} has more than {MOST_OPTIONS} options")));
    }
    let mut workload = begin(name);
    for (option, value) in options {
        let option = if option == "readwrite" { "rw" } else { option.as_str() };
        if IGNORED.contains(&option) {
            continue;
        }
        let wrong = |why: &str| refused(format!("workloads.{name}.{option}: {why}"));
        if let Some((_, why)) = NOT_OF_A_WORKLOAD.iter().find(|(name, _)| *name == option) {
            return Err(wrong(why));
        }
        if !option.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-') {
            return Err(wrong("this is no option of fio"));
        }
        let value = match value {
            // A bare flag.
            Value::Null => "1".to_owned(),
            Value::Bool(value) => u8::from(*value).to_string(),
            value => {
                text_of(value).ok_or_else(|| wrong("an option is a text, a number, true, false or null"))?
            }
        };
        if value.contains(['\n', '\r', '\0']) {
            return Err(wrong("a value has one line"));
        }
        workload.set(option, &value);
    }
    Ok(workload)
}

impl FioWorkload {
    /// Sets an option; an earlier value no longer counts.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.options.retain(|(other, _)| other != name);
        self.options.push((name.to_owned(), value.to_owned()));
    }

    /// Whether an option is set.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.options.iter().any(|(other, _)| other == name)
    }
}
