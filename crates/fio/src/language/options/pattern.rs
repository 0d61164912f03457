//! Choice and position of the next operation.

use super::ValueKind::{Amount, Bool, Flag, Float, Integer, Integers, Text, Word, Words};
use super::{FioOption, MOST, absent, differs, same};

const NO_SPRANDOM: &str = "a disk is not brought into a steady state by a plan of overwrites";
const PRECONDITION: &str =
    "precondition it by a job with rw=write, then one with rw=randwrite and io_size twice its size";

pub(super) const OPTIONS: &[FioOption] = &[
    same("direct", &[], Bool),
    absent(
        "atomic",
        Bool,
        "no Linux file system takes O_ATOMIC, and fio 3.33 has no other way",
        "direct=1 with sync=dsync makes each write durable",
    )
    .harmless(&["0"]),
    same("buffered", &[], Bool),
    differs(
        "rw",
        &["readwrite"],
        Word(&[
            "read",
            "write",
            "trim",
            "randread",
            "randwrite",
            "randtrim",
            "rw",
            "readwrite",
            "randrw",
            "trimwrite",
            "randtrimwrite",
        ]),
        "trims of a regular file punch holes, where fio 3.33 refuses them",
    ),
    same("rw_sequencer", &[], Word(&["sequential", "identical"])),
    differs(
        "unified_rw_reporting",
        &[],
        Word(&["none", "mixed", "both", "0", "1", "2"]),
        "with `both` the text has figures where fio prints zeros",
    ),
    differs("randrepeat", &[], Bool, "repeats the same order with each run; the order is not fio's"),
    differs("allrandrepeat", &[], Bool, "repeats everything with each run; the draws are not fio's"),
    differs("randseed", &[], Integer(i64::MIN, i64::MAX), "the same seed draws another order than in fio"),
    same("fallocate", &[], Word(&["none", "native", "posix", "keep", "truncate", "0", "1"])),
    same("fadvise_hint", &[], Word(&["0", "1", "random", "sequential"])),
    absent(
        "write_hint",
        Word(&["none", "short", "medium", "long", "extreme"]),
        "the kernel is not told how long data will live",
        "leave it out",
    )
    .harmless(&["none"]),
    same("offset", &["fileoffset"], Amount),
    same("offset_align", &[], Integer(0, i64::MAX)),
    same("offset_increment", &[], Amount),
    same("number_ios", &[], Integer(0, i64::MAX)),
    differs(
        "fsync",
        &[],
        Integer(0, MOST),
        "writes alone are counted; with rw=rw fio commits again after each read behind such a write",
    ),
    differs("fdatasync", &[], Integer(0, MOST), "as with fsync"),
    absent(
        "write_barrier",
        Integer(0, MOST),
        "Linux has no barrier writes any more",
        "fdatasync=N makes what was written durable after each N writes",
    )
    .harmless(&["0"]),
    differs(
        "sync_file_range",
        &[],
        Words(&["wait_before", "write", "wait_after"]),
        "of several files in turn it is the one written last",
    ),
    same("overwrite", &[], Bool),
    same("end_fsync", &[], Bool),
    differs(
        "fsync_on_close",
        &[],
        Bool,
        "at the end of each pass; not when openfiles lets another file take its turn",
    ),
    same("rwmixread", &[], Integer(0, 100)),
    same("rwmixwrite", &[], Integer(0, 100)),
    differs(
        "random_distribution",
        &[],
        Text,
        "the same distributions; which blocks are the favourites of zipf and pareto is drawn from our seed, not as in fio. normal is the bell \
         that is asked for around the middle or the centre given, where fio 3.33 scatters it and is never narrower than 8 %",
    ),
    absent("sprandom", Bool, NO_SPRANDOM, PRECONDITION).harmless(&["0"]),
    absent("spr_num_regions", Integer(1, MOST), NO_SPRANDOM, PRECONDITION),
    absent("spr_op", Float(0.0, 1.0), NO_SPRANDOM, PRECONDITION),
    absent(
        "random_sequence_stride",
        Integer(0, MOST),
        "places at random come from one generator for each worker",
        "randseed=N draws another order",
    )
    .harmless(&["0", "1"]),
    same("percentage_random", &[], Integers(0, 100)),
    same("norandommap", &[], Flag),
    differs(
        "softrandommap",
        &[],
        Bool,
        "accepted without effect: no map is kept that could fail to be allocated",
    ),
    differs(
        "random_generator",
        &[],
        Word(&["tausworthe", "lfsr", "tausworthe64"]),
        "accepted: one generator does what they promise, each block once before any comes again, without a map",
    ),
];
