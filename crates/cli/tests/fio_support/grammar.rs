//! Random job files, and their predicted behaviour.

use std::fmt::Write;

/// A pseudo-random generator, reproducible from its seed.
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// True with a probability of one in `n`.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of these.
    pub fn of<T: Copy>(&mut self, these: &[T]) -> T {
        these[self.below(these.len() as u64) as usize]
    }
}

/// A job's predicted operations and bytes, over all its clones.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// The job's name.
    pub name: String,
    /// Reads, writes and trims: min and max of each.
    pub ops: [(u64, u64); 3],
    /// Total operations.
    pub total_ops: (u64, u64),
    /// Total bytes.
    pub total_bytes: (u64, u64),
}

/// A job file.
pub struct JobFile {
    /// Its text.
    pub text: String,
    /// The jobs' predictions, or the wrong line.
    pub outcome: Result<Vec<Prediction>, usize>,
}

/// Lines that are wrong anywhere in a section.
const WRONG: &[&str] = &[
    "nonsense=1",
    "bs=1.5k",
    "bs=",
    "rw=randreed",
    "runtime=10min",
    "iodepth=0",
    "rwmixread=101",
    "size=150%",
    "ioengine=libhdfs",
    "ioengine=libaoi",
    "cgroup=x",
    "zonemode=zbd",
    "userspace_reap",
    "include nowhere.inc",
    "[unclosed",
    "loops=(1",
    "percentile_list=1,2",
    "kb_base=512",
    "numjobs",
    "bssplit=4k/200:8k/10",
    "wait_for=nobody-at-all",
];

/// A random job file; `engine` runs it.
pub fn job_file(random: &mut Random, engine: &str, arithmetic: bool) -> JobFile {
    let mut text = String::from("; made by a test\n[global]\n");
    let _ = writeln!(text, "{engine}");
    for line in
        ["stonewall", "randrepeat=0", "# a comment", "", "thread", "group_reporting=0", "description=x = y"]
    {
        if random.one_in(4) {
            let _ = writeln!(text, "{line}");
        }
    }
    if random.one_in(3) {
        // Jobs of one group would be reported under the first one's name.
        text.push_str("stonewall\ngroup_reporting\n");
    }
    let mut predictions = Vec::new();
    for number in 0..=random.below(3) {
        predictions.push(job(random, &mut text, &format!("job{number}"), arithmetic));
    }
    if !random.one_in(4) {
        return JobFile { text, outcome: Ok(predictions) };
    }
    // Somewhere after the first section's header, outside the comment at the start.
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let at = 2 + random.below(lines.len() as u64 - 1) as usize;
    lines.insert(at, random.of(WRONG).to_owned());
    JobFile { text: lines.join("\n") + "\n", outcome: Err(at + 1) }
}

fn job(random: &mut Random, text: &mut String, name: &str, arithmetic: bool) -> Prediction {
    let _ = writeln!(text, "[{name}]{}", random.of(&["", " ; a comment", "  "]));
    let rw = random.of(&[
        "read",
        "write",
        "randread",
        "randwrite",
        "rw",
        "randrw",
        "readwrite",
        "trim",
        "randtrim",
        "trimwrite",
    ]);
    let block = 512 << random.below(8);
    let by_chance = rw.starts_with("rand");
    let repeats = by_chance && random.one_in(3);
    let files = 1 + if random.one_in(3) { random.below(4) } else { 0 };
    // Blocks per file, and the remainder at its end.
    let blocks = 4 + random.below(100);
    let left_over = if random.one_in(3) { random.below(block / 512) * 512 } else { 0 };
    let size = (blocks * block + left_over) * files;
    let clones = 1 + if random.one_in(3) { random.below(3) } else { 0 };
    let mut lines = vec![
        format!("{}={rw}", random.of(&["rw", "readwrite"])),
        format!("{}={}", random.of(&["bs", "blocksize"]), spelled(random, block, arithmetic)),
        format!("size={}", spelled(random, size, arithmetic)),
        format!("iodepth={}", 1 + random.below(16)),
    ];
    if files > 1 {
        lines.push(format!("nrfiles={files}"));
    }
    if clones > 1 {
        lines.push(format!("numjobs={clones}"));
    }
    let mut ops = if repeats {
        lines.push("norandommap".to_owned());
        size.div_ceil(block).min(if left_over > 0 { u64::MAX } else { blocks * files })
    } else {
        blocks * files
    };
    let mixed = ["rw", "randrw", "readwrite"].contains(&rw);
    // Sequential reads and writes each have their own cursor, so that neither reaches the end before the amount is
    // done.
    let mut more = if mixed && left_over > 0 { size.div_ceil(block).saturating_sub(ops) } else { 0 };
    let distribution = random.of(&["zipf:1.1", "pareto:0.3", "normal:20", "random"]);
    if by_chance && left_over == 0 && files == 1 && random.one_in(4) {
        lines.push(format!("random_distribution={distribution}"));
    }
    // At most one way of ending other than the size.
    match random.below(6) {
        0 => {
            let number = 1 + random.below(ops);
            lines.push(format!("number_ios={number}"));
            (ops, more) = (number, 0);
        }
        1 if left_over == 0 && files == 1 => {
            let times = 1 + random.below(3 * blocks);
            lines.push(format!("io_size={}", spelled(random, times * block, arithmetic)));
            // After the first pass, trims count towards the amount too, and passes are whole (tried with fio 3.33).
            let whole = blocks * times.div_ceil(2 * blocks);
            ops = if rw == "trimwrite" && times > blocks { whole } else { times };
        }
        2 => {
            let loops = 2 + random.below(2);
            lines.push(format!("loops={loops}"));
            (ops, more) = (ops * loops, more * loops);
        }
        // Time-based, which takes no real time on the simulated target.
        3 if arithmetic && !mixed && rw != "trimwrite" => {
            let rate = 50 + random.below(950);
            lines.extend(["time_based".to_owned(), "runtime=2s".to_owned(), format!("rate_iops={rate}")]);
            (ops, more) = (2 * rate - 2, 4);
        }
        _ => {}
    }
    let writes = !rw.contains("read") || rw == "readwrite";
    for (line, fits) in [
        ("fsync=3", writes && !rw.contains("trim")),
        ("thinktime=20us", true),
        ("startdelay=1ms", true),
        ("randseed=7", true),
        ("random_generator=lfsr", by_chance && !repeats && files == 1),
        ("iodepth_batch=2", true),
        ("rate_iops=20000", !mixed && rw != "trimwrite" && !lines.contains(&"time_based".to_owned())),
        ("percentage_random=50", by_chance && !repeats && left_over == 0 && files == 1),
    ] {
        if fits && random.one_in(6) {
            lines.push(line.to_owned());
        }
    }
    let mix = 10 * random.below(11);
    if mixed {
        lines.push(format!("rwmixread={mix}"));
    }
    // The order of lines does not matter.
    for at in (1..lines.len()).rev() {
        lines.swap(at, random.below(at as u64 + 1) as usize);
    }
    for line in &lines {
        // For some options, fio reads blanks after the = as part of the value.
        let equals = random.of(&["=", "= ", " = "]);
        let _ = writeln!(text, "{}", line.replacen('=', if arithmetic { equals } else { "=" }, 1));
    }
    let loose = repeats && left_over > 0;
    predict(name, rw, (ops * clones, (ops + more) * clones), block, mix, loose)
}

fn predict(name: &str, rw: &str, ops: (u64, u64), block: u64, mix: u64, loose: bool) -> Prediction {
    let none = (0, 0);
    let all = (if loose { ops.0 / 2 } else { ops.0 }, ops.1);
    let each = match rw {
        "rw" | "randrw" | "readwrite" => {
            // Six standard deviations.
            let (share, most) = (mix as f64 / 100.0, all.1 as f64);
            let spread = 6.0 * (most * share * (1.0 - share)).sqrt();
            let around = |share: f64| {
                (
                    (all.0 as f64 * share - spread).max(0.0) as u64,
                    (most * share + spread).min(most).ceil() as u64,
                )
            };
            [around(share), around(1.0 - share), none]
        }
        "trimwrite" => [none, all, all],
        _ if rw.contains("read") => [all, none, none],
        _ if rw.contains("write") => [none, all, none],
        _ => [none, none, all],
    };
    let times = if rw == "trimwrite" { 2 } else { 1 };
    let total_ops = (all.0 * times, all.1 * times);
    let total_bytes = (total_ops.0 * block, total_ops.1 * block);
    Prediction { name: name.to_owned(), ops: each, total_ops, total_bytes }
}

/// A size in one of its valid spellings.
fn spelled(random: &mut Random, bytes: u64, arithmetic: bool) -> String {
    let kib = bytes / 1024;
    match random.below(if arithmetic { 7 } else { 5 }) {
        0 => bytes.to_string(),
        1 => format!("{bytes:#x}"),
        2 if bytes.is_multiple_of(1024) => format!("{kib}k"),
        3 if bytes.is_multiple_of(1024) => format!("{kib}KB"),
        4 => format!("{bytes}b"),
        5 => format!("({bytes}+{bytes})/2").replacen('(', "((", 1) + ")",
        6 => format!("({}*512)", bytes / 512),
        _ => bytes.to_string(),
    }
}
