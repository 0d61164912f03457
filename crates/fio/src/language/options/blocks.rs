//! Block sizes and buffer content.

use super::ValueKind::{Bool, Flag, Integer, Integers, Ranges, Text, Word};
use super::{FioOption, MOST, absent, differs, same};

const SIZES_AND_MAP: &str = "sizes and shares are kept exactly; where each block comes once, fio cuts blocks short at what was \
     used before, and so does more operations for the same bytes, or ends early in a mix";
const REPEATS: &str = "4 KiB at a time, out of 256 that repeat, instead of whole blocks";

pub(super) const OPTIONS: &[FioOption] = &[
    same("bs", &["blocksize"], Integers(1, i64::MAX)),
    differs("bsrange", &["blocksize_range"], Ranges, SIZES_AND_MAP),
    differs("bssplit", &[], Text, SIZES_AND_MAP),
    same("bs_unaligned", &["blocksize_unaligned"], Flag),
    same("bs_is_seq_rand", &[], Bool),
    same("ba", &["blockalign"], Integers(1, i64::MAX)),
    same("zero_buffers", &[], Flag),
    differs(
        "refill_buffers",
        &[],
        Flag,
        "accepted: every block is fresh bytes anyway, unless zeros or a pattern are asked for",
    ),
    differs(
        "scramble_buffers",
        &[],
        Bool,
        "accepted: every block is fresh bytes anyway, unless zeros or a pattern are asked for",
    ),
    same("buffer_compress_percentage", &[], Integer(0, 100)),
    same("buffer_compress_chunk", &[], Integer(0, MOST)),
    same("buffer_pattern", &[], Text),
    differs("dedupe_percentage", &[], Integer(0, 100), REPEATS),
    differs("dedupe_mode", &[], Word(&["repeat", "working_set"]), REPEATS),
    differs("dedupe_working_set_percentage", &[], Integer(0, 100), REPEATS),
    absent("dedupe_global", Bool, "each job repeats its own blocks", "one job with numjobs=N shares them")
        .harmless(&["0"]),
    same("invalidate", &[], Bool),
    same("sync", &[], Word(&["none", "0", "sync", "1", "dsync"])),
    differs(
        "mem",
        &["iomem"],
        Word(&["malloc", "shm", "shmhuge", "mmap", "mmapshared", "mmaphuge", "cudamalloc"]),
        "malloc, shm, mmap and mmapshared are accepted: buffers are memory of the process, aligned to pages; huge pages \
         and memory of graphics cards are refused",
    ),
    differs(
        "iomem_align",
        &["mem_align"],
        Integer(0, MOST),
        "accepted up to 4096: buffers are aligned to pages",
    ),
    absent("hugepage-size", Integer(0, MOST), "buffers are not taken from huge pages", "leave it out"),
    absent(
        "lockmem",
        Integer(0, i64::MAX),
        "memory is not taken away from the machine",
        "run inside a control group with a memory limit: systemd-run -p MemoryMax=…",
    )
    .harmless(&["0"]),
];
