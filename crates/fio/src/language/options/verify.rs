//! Verification of what was written.

use super::ValueKind::{Bool, Flag, Integer, Text, Word};
use super::{FioOption, MOST, absent, differs, same};

const NO_TRIMS: &str = "verified blocks are not trimmed in between";
const TRIM_JOB: &str = "rw=trimwrite, or a job with rw=trim of its own";

pub(super) const OPTIONS: &[FioOption] = &[
    same("verify_only", &[], Flag),
    same("do_verify", &[], Bool),
    differs(
        "verify",
        &[],
        Word(&[
            "0",
            "none",
            "md5",
            "crc64",
            "crc32",
            "crc32c-intel",
            "crc32c",
            "crc16",
            "crc7",
            "sha1",
            "sha256",
            "sha512",
            "sha3-224",
            "sha3-256",
            "sha3-384",
            "sha3-512",
            "xxhash",
            "meta",
            "pattern",
            "pattern_hdr",
            "null",
        ]),
        "what would compare nothing is refused: read_iolog, and time_based without verify_backlog; a job that compared nothing fails",
    ),
    same("verify_offset", &[], Integer(0, MOST)),
    same("verify_interval", &[], Integer(0, MOST)),
    same("verify_pattern", &[], Text),
    absent(
        "verify_pattern_interval",
        Bool,
        "a pattern begins with each block",
        "%o in verify_pattern has the offset in each block",
    )
    .harmless(&["0"]),
    differs(
        "verify_write_sequence",
        &[],
        Bool,
        "accepted: a number is compared where a job reads back what it wrote itself, and nowhere else",
    ),
    differs(
        "verify_header_seed",
        &[],
        Bool,
        "accepted: seeds in headers are fio's own affair; what we wrote is compared byte by byte",
    ),
    same("verify_fatal", &[], Bool),
    same("verify_dump", &[], Bool),
    differs(
        "verify_async",
        &[],
        Integer(0, MOST),
        "accepted: the workers compare blocks themselves, and iodepth keeps I/O in flight meanwhile",
    ),
    absent(
        "verify_async_cpus",
        Text,
        "the workers compare blocks themselves",
        "cpus_allowed chooses their cores",
    ),
    same("verify_backlog", &[], Integer(0, i64::MAX)),
    same("verify_backlog_batch", &[], Integer(0, MOST)),
    absent(
        "verify_state_save",
        Bool,
        "no state of an interrupted verification is kept",
        "leave it out, or write verify_state_save=0",
    )
    .harmless(&["0"]),
    absent(
        "verify_state_load",
        Bool,
        "no state of an interrupted verification is kept",
        "leave it out: everything that the job would have written is compared",
    )
    .harmless(&["0"]),
    absent("trim_percentage", Integer(0, 100), NO_TRIMS, TRIM_JOB).harmless(&["0"]),
    absent("trim_verify_zero", Bool, NO_TRIMS, TRIM_JOB).harmless(&["0", "1"]),
    absent("trim_backlog", Integer(0, i64::MAX), NO_TRIMS, TRIM_JOB).harmless(&["0"]),
    absent("trim_backlog_batch", Integer(0, MOST), NO_TRIMS, TRIM_JOB).harmless(&["0"]),
    differs(
        "experimental_verify",
        &[],
        Bool,
        "accepted: reads are drawn again in the order of the writes anyway",
    ),
];
