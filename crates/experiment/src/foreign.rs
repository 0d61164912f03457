//! Terms of other benchmarks for things with different names here: users who bring one are told ours.

/// Programs, their terms, and what to write here instead. Comparison ignores case, dashes and dots.
const WORDS: &[(&str, &[&str], &str)] = &[
    ("fio", &["iodepth"], "queue_depth"),
    ("fio", &["bs"], "block_size"),
    ("fio", &["numjobs", "thread"], "jobs"),
    ("fio", &["rw", "readwrite"], "ops with access: write ops: {read: 70%, write: 30%} and access: random"),
    ("fio", &["rwmixread", "rwmixwrite"], "a share in ops: write ops: {read: 70%, write: 30%}"),
    (
        "fio",
        &["runtime", "time_based", "timeout"],
        "a fixed time: write steady: none and stages: {measure: 30s}",
    ),
    ("fio", &["ramp_time"], "stages: {warm_up: 10s}"),
    ("fio", &["size"], "file_size, the size of each of files"),
    ("fio", &["nrfiles"], "files"),
    ("fio", &["rate_iops"], "rate: write rate: 1000/s"),
    ("fio", &["ioengine", "filename"], "the target's URL: targets: {disk: file:///mnt/data}"),
    ("fio", &["fsync"], "fsync_every"),
    ("fio", &["thinktime"], "think"),
    ("fio", &["loops"], "repetitions in the matrix: matrix: {repetitions: 3}"),
    ("fio", &["random_distribution"], "access: write access: {zipf: 0.99}"),
    ("fio", &["buffer_compress_percentage"], "compressible"),
    ("fio", &["dedupe_percentage"], "dedupe"),
    ("fio", &["invalidate"], "cache"),
    ("fio", &["cpus_allowed", "numa_cpu_nodes"], "placement"),
    ("fio", &["steadystate", "ss"], "steady"),
    ("fio", &["randseed"], "seed"),
    ("fio", &["latency_target"], "find: write find: p99 <= 2 ms"),
    ("warp", &["duration"], "a fixed time: write steady: none and stages: {measure: 30s}"),
    ("warp", &["concurrent"], "queue_depth"),
    ("warp", &["obj.size", "obj_size"], "object_size"),
    ("warp", &["autoterm"], "steady: default, which holds unless another rule is given"),
    ("warp", &["bucket", "host"], "part of the target's URL: s3://bucket?endpoint=http://host:9000"),
    ("warp", &["noclear"], "stages: {clean_up: false}"),
    ("elbencho", &["threads"], "jobs"),
    ("elbencho", &["timelimit"], "a fixed time: write steady: none and stages: {measure: 30s}"),
    ("elbencho", &["rwmixpct"], "a share in ops: write ops: {read: 70%, write: 30%}"),
];

/// The equivalent of another program's term: `fio's iodepth is queue_depth`.
pub(crate) fn in_our_words(word: &str) -> Option<String> {
    let folded = fold(word);
    let (program, _, ours) =
        WORDS.iter().find(|(_, words, _)| words.iter().any(|known| fold(known) == folded))?;
    Some(format!("{program}'s {word} is {ours}"))
}

fn fold(word: &str) -> String {
    word.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known::WORKLOAD;

    #[test]
    fn words_of_other_programs_are_answered_with_ours() {
        for (word, said) in [
            ("iodepth", "fio's iodepth is queue_depth"),
            ("numjobs", "fio's numjobs is jobs"),
            ("time-based", "fio's time-based is a fixed time"),
            ("obj.size", "warp's obj.size is object_size"),
            ("Concurrent", "warp's Concurrent is queue_depth"),
        ] {
            let found = in_our_words(word).unwrap_or_default();
            assert!(found.starts_with(said), "{word}: {found}");
        }
        assert_eq!(in_our_words("depth"), None);
    }

    /// A word that is a key here has its meaning here.
    #[test]
    fn no_key_of_ours_is_called_foreign() {
        for key in WORKLOAD.iter().chain(crate::known::FILE).chain(crate::known::STAGES) {
            assert_eq!(in_our_words(key.name), None, "{}", key.name);
        }
    }
}
