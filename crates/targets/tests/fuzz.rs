//! Any input gives a plan or faults with a location, and never a panic: random bytes, and examples with words, lines
//! and characters changed, for a time (`MANOMETER_FUZZ_SECONDS`, default 1). A failing case prints its seed.
#![allow(clippy::unwrap_used)] // a test may fail loudly

#[path = "random/mod.rs"]
mod random;

use std::path::Path;
use std::time::{Duration, Instant};

use experiment::{Plan, Settings, SourceText, decode, parse};

use random::Random;

/// Words with a meaning somewhere.
const WORDS: &[&str] = &[
    "read",
    "write",
    "put",
    "get",
    "0",
    "1",
    "-1",
    "1e9",
    "4KiB",
    "64MiB",
    "16EiB",
    "30s",
    "0s",
    "1000/s",
    "0/s",
    "70%",
    "100%",
    "true",
    "none",
    "random",
    "sequential",
    "zipf",
    "[1, 2]",
    "[]",
    "{}",
    "{read: 50%, write: 50%}",
    "~",
    "''",
    "${size}",
    "${",
    "${env:HOME}",
    "*a",
    "&a",
    "<<: *a",
    "- ",
    "#",
    "\t",
    "---\n",
    "...",
    "queue_depth",
    "block_size",
    "jobs",
    "files",
    "file_size",
    "objects",
    "ops",
    "access",
    "rate",
    "find",
    "sweep",
    "auto",
    "p99 <= 2 ms",
    "errors == 0",
    "verify",
    "stages",
    "measure",
    "at_least",
    "at_most",
    "steady",
    "snia",
    "storperf",
    "fio",
    "matrix",
    "order",
    "shuffled",
    "repetitions",
    "targets",
    "workloads",
    "defaults",
    "parameters",
    "gates",
    "fleet",
    "hosts",
    "local",
    "slurm",
    "kubernetes",
    "command",
    "ssh_options",
    "sharing",
    "disjoint",
    "common",
    "variables",
    "{host}",
    "{index}",
    "{address}",
    "{{",
    "}}",
    "node[1-9]",
    "node[",
    "@hosts.txt",
    "scale",
    "agents",
    "addresses",
    "doubling",
    "all",
    "file:///x",
    "s3://b",
    "null:",
    "sim:?latency=1ms",
    "nfs://h/e",
    "block:///dev/x",
    ": ",
    "\n",
    "\n  ",
    "\n    ",
    "\u{feff}",
    "ä",
    "\u{2028}",
    "\0",
];

fn examples() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/experiments");
    let mut all: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all.into_iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

fn mutated(random: &mut Random, examples: &[String]) -> Vec<u8> {
    if random.below(10) == 0 {
        return (0..random.below(300)).map(|_| random.next() as u8).collect();
    }
    let mut bytes = examples[random.below(examples.len())].clone().into_bytes();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() + 1);
        match random.below(6) {
            // Inserts a word, or replaces another.
            0 => drop(bytes.splice(at..at, WORDS[random.below(WORDS.len())].bytes())),
            1 | 2 => {
                let word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.%/".contains(byte);
                let from = bytes[..at].iter().rposition(|byte| !word(byte)).map_or(0, |at| at + 1);
                let to = at + bytes[at..].iter().position(|byte| !word(byte)).unwrap_or(0);
                drop(bytes.splice(from..to.max(from), WORDS[random.below(WORDS.len())].bytes()));
            }
            // Removes a piece, or duplicates it.
            3 => drop(bytes.drain(at..(at + random.below(40)).min(bytes.len()))),
            4 => {
                let piece = bytes[at..(at + random.below(80)).min(bytes.len())].to_vec();
                drop(bytes.splice(at..at, piece));
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = random.next() as u8;
                }
            }
        }
    }
    bytes
}

fn check_plan(plan: &Plan, text: &str) {
    assert!(!plan.cells.is_empty(), "{text}");
    for (index, cell) in plan.cells.iter().enumerate() {
        let workload = &cell.workload;
        assert_eq!(cell.index as usize, index);
        assert!((workload.ops.iter().map(|op| op.weight).sum::<f64>() - 1.0).abs() < 1e-9, "{text}");
        assert!(
            (workload.block_sizes().iter().map(|size| size.weight).sum::<f64>() - 1.0).abs() < 1e-9,
            "{text}"
        );
        assert!(workload.queue_depth > 0 && workload.jobs > 0, "{text}");
        // Only the target knows how many files a tree has.
        assert_eq!(workload.files() == 0, workload.tree().is_some(), "{text}");
        assert!(cell.stages.measure_at_least_s <= cell.stages.measure_at_most_s, "{text}");
    }
    if let Some(fleet) = &plan.fleet {
        // What was checked before does not fail later.
        for (host, index) in fleet.host_names().into_iter().flatten().zip(0..).take(100) {
            for cell in plan.cells.iter().take(10) {
                fleet
                    .cell_for(targets::kinds(), cell, &host, index)
                    .unwrap_or_else(|wrong| panic!("{wrong}\n{text}"));
            }
        }
        assert!(
            plan.cells.iter().all(|cell| fleet.count() >= cell.agents || fleet.count().is_none()),
            "{text}"
        );
    }
    let (low, high) = plan.expected_seconds();
    assert!(low.is_finite() && low <= high, "{low} {high}\n{text}");
    let _ = (plan.bytes_to_write(targets::kinds()), plan.data_sets(targets::kinds()));
    let stored = serde_json::to_string(plan).unwrap();
    assert_eq!(&serde_json::from_str::<Plan>(&stored).unwrap(), plan, "{text}");
}

/// Removes the defaults that no workload uses, because each has the key itself.
fn drop_overridden_defaults(file: &mut serde_json::Value) {
    let workloads = file["workloads"].as_object().cloned().unwrap_or_default();
    if let Some(defaults) = file.get_mut("defaults").and_then(|defaults| defaults.as_object_mut()) {
        defaults.retain(|key, _| workloads.values().any(|workload| workload.get(key).is_none()));
    }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a test's budget, not a measurement")]
fn anything_makes_a_plan_or_faults_with_a_place() {
    let seconds: f64 =
        std::env::var("MANOMETER_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let examples = examples();
    let schema = jsonschema::validator_for(&experiment::schema(targets::kinds())).unwrap();
    let began = Instant::now();
    let (mut seed, mut plans) = (1u64, 0);
    while began.elapsed() < Duration::from_secs_f64(seconds) || seed < 300 {
        seed += 1;
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let bytes = mutated(&mut random, &examples);
        let set = [("device".to_owned(), "/dev/x".to_owned()), ("server".to_owned(), "h".to_owned())];
        let launcher = experiment::Launcher::Local { count: 8 };
        // A --set path may not exist, which is a fault without a line; half of the files get none.
        let set = if seed.is_multiple_of(2) { &set[..1 + random.below(2)] } else { &[] };
        let launcher = seed.is_multiple_of(3).then_some(&launcher);
        let settings = Settings { set, launcher, ..Settings::of(targets::kinds()) };
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let text = match decode("fuzz.yaml", &bytes) {
                Ok(text) => text,
                Err(faults) => return Err(faults),
            };
            let plan = parse(&SourceText { file: "fuzz.yaml", text }, &settings)?;
            check_plan(&plan, text);
            Ok(text)
        }));
        let shown = || String::from_utf8_lossy(&bytes).into_owned();
        match outcome {
            Ok(Ok(text)) => {
                plans += 1;
                // The schema accepts every file that can run; except that a key crossed by the matrix, and a default
                // that every workload overrides, may hold anything, and blanks of other alphabets are beyond a schema.
                if !text.contains("matrix:")
                    && text.is_ascii()
                    && let Ok(mut value) = serde_saphyr::from_str::<serde_json::Value>(text)
                {
                    drop_overridden_defaults(&mut value);
                    let errors: Vec<_> =
                        schema.iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path)).collect();
                    assert!(errors.is_empty(), "seed {seed}: {errors:?}\n{text}");
                }
            }
            Ok(Err(faults)) => {
                assert!(!faults.faults.is_empty(), "seed {seed}");
                let lines = shown().split('\n').count();
                for fault in &faults.faults {
                    let placed = (1..=lines).contains(&fault.line) && fault.column >= 1;
                    assert!(
                        placed || fault.origin.is_some() && !set.is_empty(),
                        "seed {seed}: {fault:?}\n{}",
                        shown()
                    );
                    assert!(!fault.text.is_empty() && !fault.hint.is_empty(), "seed {seed}: {fault:?}");
                }
                assert!(faults.to_string().len() < 50_000, "seed {seed}: {faults}");
            }
            Err(_) => panic!("seed {seed} panics:\n{}", shown()),
        }
    }
    // Mutations are small enough that some files stay valid.
    assert!(plans > 0, "{seed} cases and no plan");
}
