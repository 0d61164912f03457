//! Bodies of jobs and initializations.

use provision::ApiSecret;
use serde_json::{Map, Value, json};
use units::{ParseError, Size};

use super::fields::{Fields, refused};
use super::groups::GroupBook;
use super::job::{JobKind, StorperfJob};
use super::workloads::{self, FioWorkload};
use crate::login::Login;
use crate::problem::Problem;

/// Maximum number of hosts, block sizes, queue depths and workloads.
const MOST: usize = 512;
/// The target of jobs that name none.
const USUAL_TARGET: &str = "/dev/vdb";
/// Samples that must be steady, unless a job says.
const USUAL_SAMPLES: u32 = 10;
/// Maximum minutes of a cell.
const LONGEST_MINUTES: u32 = 60 * 24 * 30;
/// Block size of initializations.
const FILL_BLOCK: u64 = 16384;
/// Direct I/O moves whole sectors.
const SECTOR: u64 = 512;

const JOB: [&str; 13] = [
    "target",
    "deadline",
    "steady_state_samples",
    "queue_depths",
    "block_sizes",
    "workload",
    "workloads",
    "metadata",
    "stack_name",
    "username",
    "password",
    "ssh_private_key",
    "slave_addresses",
];
const INITIALIZATION: [&str; 9] = [
    "target",
    "stack_name",
    "username",
    "password",
    "ssh_private_key",
    "slave_addresses",
    "filesize",
    "nrfiles",
    "numjobs",
];
/// Keys of metadata that name the job in reports.
const REPORTED: [&str; 7] =
    ["pod_name", "version", "scenario_name", "build_tag", "test_case", "disk_type", "storage_node_count"];

/// A job ready to become an experiment.
#[derive(Debug)]
pub(crate) struct JobRequest {
    /// What is kept of it.
    pub job: StorperfJob,
    /// Its workloads, in order.
    pub workloads: Vec<FioWorkload>,
    /// Block sizes as written.
    pub block_sizes: Vec<String>,
    /// Queue depths as written.
    pub queue_depths: Vec<String>,
    /// Samples that must be steady; `None`: nothing ends a cell early.
    pub samples: Option<u32>,
    /// Maximum minutes of a cell.
    pub deadline_min: Option<u32>,
    /// Hosts in ssh's form, with the user.
    pub hosts: Vec<String>,
    /// How to log in.
    pub login: Login,
}

/// Reads a job.
///
/// # Errors
/// A field cannot be used, or no hosts are known.
pub(crate) fn job(bytes: &[u8], groups: &GroupBook) -> Result<JobRequest, Problem> {
    let fields = Fields::of(bytes)?;
    if fields.is_empty() {
        return Err(refused("ERROR: Missing job data; next: send {\"target\": …, \"workloads\": …}"));
    }
    only(&fields, &JOB)?;
    let names = |name: &str, usual: &str| -> Result<Vec<String>, Problem> {
        Ok(fields.list(name, MOST)?.unwrap_or_else(|| vec![usual.to_owned()]))
    };
    let samples = fields.number("steady_state_samples", 1, 10_000)?.unwrap_or(USUAL_SAMPLES);
    let deadline_min = fields.number("deadline", 1, LONGEST_MINUTES)?;
    let block_sizes = names("block_sizes", "4096")?;
    let queue_depths = names("queue_depths", "1")?;
    let mut request = begin(&fields, JobKind::Measurement, groups)?;
    let metadata = &mut request.job.metadata;
    metadata.insert("block_sizes".to_owned(), json!(block_sizes.join(",")));
    metadata.insert("queue_depths".to_owned(), json!(queue_depths.join(",")));
    metadata.insert("steady_state_samples".to_owned(), json!(samples));
    metadata.insert("deadline".to_owned(), json!(deadline_min));
    metadata.extend(given_metadata(&fields)?);
    Ok(JobRequest {
        workloads: workloads_of(&fields)?,
        samples: Some(samples),
        deadline_min,
        block_sizes,
        queue_depths,
        ..request
    })
}

/// Reads an initialization.
///
/// # Errors
/// A field cannot be used, or no hosts are known.
pub(crate) fn initialization(bytes: &[u8], groups: &GroupBook) -> Result<JobRequest, Problem> {
    let fields = Fields::of(bytes)?;
    for name in ["mkfs", "mount_device"] {
        if fields.value(name).is_some() {
            return Err(refused(format!(
                "{name}: the service makes and mounts no file systems on hosts; next: make and mount it there, and send the \
                 mounted directory as target"
            )));
        }
    }
    only(&fields, &INITIALIZATION)?;
    let mut options = Vec::new();
    let mut block_bytes = FILL_BLOCK;
    if let Some(text) = fields.text("filesize")? {
        let Size(bytes) = text.parse().map_err(|error: ParseError| refused(format!("filesize: {error}")))?;
        block_bytes = whole_blocks(bytes).ok_or_else(|| {
            refused(format!("filesize: {text} is not a multiple of {SECTOR} bytes, as direct I/O needs"))
        })?;
        options.push(("filesize".to_owned(), bytes.to_string()));
    }
    for (name, most) in [("nrfiles", 1_000_000), ("numjobs", 4096)] {
        if let Some(number) = fields.number(name, 1, most)? {
            options.push((name.to_owned(), number.to_string()));
        }
    }
    let request = begin(&fields, JobKind::Initialization, groups)?;
    Ok(JobRequest { workloads: vec![workloads::fill(&options, block_bytes)], ..request })
}

/// The largest block, at most the usual one, that files of this size consist of.
fn whole_blocks(bytes: u64) -> Option<u64> {
    let (mut block, mut rest) = (FILL_BLOCK, bytes);
    while rest > 0 {
        (block, rest) = (rest, block % rest);
    }
    (bytes > 0 && block >= SECTOR).then_some(block)
}

fn only(fields: &Fields, known: &[&str]) -> Result<(), Problem> {
    match fields.first_unknown(known) {
        Some(name) => Err(refused(format!("there is no field {name:?}; next: write {}", known.join(", ")))),
        None => Ok(()),
    }
}

/// What jobs and initializations have in common.
fn begin(fields: &Fields, kind: JobKind, groups: &GroupBook) -> Result<JobRequest, Problem> {
    let target = fields.text("target")?.unwrap_or_else(|| USUAL_TARGET.to_owned());
    check_target(&target)?;
    let stack = fields.text("stack_name")?;
    let given = fields.list("slave_addresses", MOST)?;
    let (addresses, mut user, mut login) = match (given, groups.find(stack.as_deref())) {
        (Some(addresses), _) => (addresses, None, Login::default()),
        (None, Some(group)) => (group.addresses, group.user, group.login),
        (None, None) => {
            return Err(match stack {
                Some(name) => refused(format!(
                    "ERROR: Stack {name} does not exist; next: send slave_addresses, or POST the group to /api/v1.0/configurations"
                )),
                None => refused("there are no hosts; next: send slave_addresses"),
            });
        }
    };
    if let Some(name) = fields.text("username")? {
        check_user(&name)?;
        user = Some(name);
    }
    let secret = |name: &str| -> Result<Option<ApiSecret>, Problem> {
        Ok(fields.text(name)?.filter(|text| !text.is_empty()).map(|text| ApiSecret::new(&text)))
    };
    let (password, private_key) = (secret("password")?, secret("ssh_private_key")?);
    if password.is_some() || private_key.is_some() {
        login = Login { password, private_key };
    }
    let hosts = addresses.iter().map(|address| login_name(user.as_deref(), address)).collect();
    let mut metadata = Map::new();
    metadata.insert("agent_count".to_owned(), json!(addresses.len()));
    metadata.insert("target".to_owned(), json!(target));
    metadata.insert("stack_name".to_owned(), json!(stack));
    metadata.insert("slave_addresses".to_owned(), json!(addresses));
    metadata.insert("username".to_owned(), json!(user));
    let job = StorperfJob { kind, target, hosts: addresses, metadata };
    Ok(JobRequest {
        job,
        workloads: Vec::new(),
        block_sizes: Vec::new(),
        queue_depths: Vec::new(),
        samples: None,
        deadline_min: None,
        hosts,
        login,
    })
}

fn login_name(user: Option<&str>, address: &str) -> String {
    user.map_or_else(|| address.to_owned(), |user| format!("{user}@{address}"))
}

/// A user's name as ssh takes it, and nothing that it would take for something else.
pub(super) fn check_user(name: &str) -> Result<(), Problem> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '+');
    match !name.is_empty() && name.len() <= 64 && !name.starts_with('-') && name.chars().all(plain) {
        true => Ok(()),
        false => Err(refused(format!("username: {name:?} is no user's name"))),
    }
}

/// An absolute path without what fio's options or experiments would read as more than a path.
fn check_target(target: &str) -> Result<(), Problem> {
    let plain =
        |c: char| !c.is_control() && !matches!(c, ':' | ',' | '{' | '}' | '$' | '\\' | '"' | '\'' | '`');
    let upwards = target.split('/').any(|part| part == "..");
    match target.starts_with('/') && target.len() <= 1024 && !upwards && target.chars().all(plain) {
        true => Ok(()),
        false => Err(refused(format!(
            "target: {target:?} is no absolute path of plain characters; next: write /dev/vdb or /mnt/data"
        ))),
    }
}

fn workloads_of(fields: &Fields) -> Result<Vec<FioWorkload>, Problem> {
    match fields.workloads() {
        Some(named) if !named.is_empty() && named.len() <= MOST => {
            named.iter().map(|(name, options)| workloads::custom(name, options)).collect()
        }
        _ if fields.value("workloads").is_some() => {
            Err(refused(format!("workloads is not a map of 1 to {MOST} names and their fio options")))
        }
        _ => match fields.list("workload", MOST)? {
            Some(names) => names.iter().map(|name| workloads::built_in(name)).collect(),
            None => Ok(workloads::all_built_in()),
        },
    }
}

/// What the client wants to find in the report again: a flat map.
fn given_metadata(fields: &Fields) -> Result<Map<String, Value>, Problem> {
    match fields.value("metadata") {
        None => Ok(Map::new()),
        Some(Value::Object(map)) if map.len() <= MOST => {
            let nested = map.iter().find(|(_, value)| value.is_array() || value.is_object());
            match nested {
                Some((name, _)) => {
                    Err(refused(format!("metadata.{name} is nested; next: write texts and numbers")))
                }
                None => Ok(map.clone()),
            }
        }
        Some(_) => Err(refused("metadata is not a map")),
    }
}

impl StorperfJob {
    /// The metadata that reports have at their top, under the names there.
    pub(crate) fn reported(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        REPORTED.iter().filter_map(|name| {
            let value = self.metadata.get(*name)?;
            Some((if *name == "scenario_name" { "scenario" } else { *name }, value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &Value) -> Result<JobRequest, Problem> {
        job(body.to_string().as_bytes(), &GroupBook::default())
    }

    #[test]
    fn values_may_be_texts_numbers_or_lists() {
        for (sizes, depths, samples) in
            [(json!("4k, 8k"), json!("1,8"), json!("7")), (json!(["4k", "8k"]), json!([1, 8]), json!(7))]
        {
            let body = json!({
                "block_sizes": sizes, "queue_depths": depths, "steady_state_samples": samples, "workload": "rr, _warm_up",
                "slave_addresses": "a,b", "username": "me", "password": "hush", "metadata": {"pod_name": "p"},
            });
            let request = read(&body).unwrap();
            assert_eq!(
                (request.block_sizes, request.queue_depths),
                (vec!["4k".into(), "8k".into()], vec!["1".into(), "8".into()])
            );
            assert_eq!((request.samples, request.hosts), (Some(7), vec!["me@a".into(), "me@b".into()]));
            assert_eq!(request.job.target, "/dev/vdb");
            let names: Vec<&str> = request.workloads.iter().map(|workload| &*workload.name).collect();
            assert_eq!(names, ["rr", "_warm_up"]);
            let kept = serde_json::to_string(&request.job).unwrap();
            assert!(!kept.contains("hush") && request.job.metadata["pod_name"] == "p", "{kept}");
        }
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let hosts = json!(["a"]);
        for (body, said) in [
            (json!({}), "Missing job data"),
            (json!({"workload": "rr"}), "no hosts"),
            (json!({"workload": "rr", "stack_name": "x"}), "Stack x does not exist"),
            (json!({"workload": "zz", "slave_addresses": hosts}), "Unknown workload: zz"),
            (json!({"workloads": {"a-b": {}}, "slave_addresses": hosts}), "alphanumeric only: a-b"),
            (
                json!({"workloads": {"a": {"filename": "/etc/x"}}, "slave_addresses": hosts}),
                "below the target",
            ),
            (json!({"workloads": {"a": {"rw": "read\nname=x"}}, "slave_addresses": hosts}), "one line"),
            (json!({"workloads": {"a": {"rw;reboot": 1}}, "slave_addresses": hosts}), "no option of fio"),
            (json!({"target": "vdb", "slave_addresses": hosts}), "no absolute path"),
            (json!({"target": "/mnt/../etc", "slave_addresses": hosts}), "no absolute path"),
            (json!({"target": "/mnt/$(reboot)", "slave_addresses": hosts}), "no absolute path"),
            (json!({"username": "-oProxyCommand=x", "slave_addresses": hosts}), "no user's name"),
            (json!({"deadline": "soon", "slave_addresses": hosts}), "deadline"),
            (json!({"metadata": {"a": {}}, "slave_addresses": hosts}), "nested"),
            (json!({"tarket": "/mnt", "slave_addresses": hosts}), "no field \"tarket\""),
            (json!({"block_sizes": "4k,,8k", "slave_addresses": hosts}), "empty entry"),
        ] {
            let problem = serde_json::to_value(read(&body).unwrap_err()).unwrap();
            let detail = problem["detail"].as_str().unwrap();
            assert!(detail.contains(said), "{body}: {detail}");
        }
    }

    #[test]
    fn a_fill_has_blocks_that_leave_no_rest() {
        assert_eq!(
            [16384, 1 << 30, 10_240, 512, 1000, 0].map(whole_blocks),
            [Some(16384), Some(16384), Some(2048), Some(512), None, None]
        );
    }
}
