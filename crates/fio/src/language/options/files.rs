//! Files, devices and sizes.

use super::ValueKind::{Amount, Bool, Float, Integer, Range, Text, Word};
use super::{FioOption, MOST, absent, differs, same};

const NO_ZONES: &str = "zones of devices are not known here";

pub(super) const OPTIONS: &[FioOption] = &[
    same("directory", &[], Text),
    differs("filename", &[], Text, "standard input and output (-) are refused"),
    differs(
        "filename_format",
        &[],
        Text,
        "$clientuid is the host that --client names, not the address it is led from",
    ),
    differs(
        "unique_filename",
        &[],
        Bool,
        "accepted without effect: names are the same on all hosts of --client, unless filename_format has $clientuid",
    ),
    same("opendir", &[], Text),
    absent(
        "lockfile",
        Word(&["none", "exclusive", "readwrite"]),
        "workers do not lock files against each other",
        "serialize_overlap=1 keeps the operations of one job apart",
    )
    .harmless(&["none"]),
    same("nrfiles", &["nr_files"], Integer(0, MOST)),
    same("openfiles", &[], Integer(0, MOST)),
    same(
        "file_service_type",
        &[],
        Word(&["random", "zipf", "pareto", "normal", "gauss", "roundrobin", "sequential"]),
    ),
    absent(
        "ioscheduler",
        Text,
        "it would change a setting of the machine",
        "write the scheduler's name to /sys/block/DEVICE/queue/scheduler before the run",
    ),
    differs(
        "create_serialize",
        &[],
        Bool,
        "accepted without effect: files are laid out before the load, and that time is not part of it",
    ),
    same("create_fsync", &[], Bool),
    same("create_on_open", &[], Bool),
    same("create_only", &[], Bool),
    differs("allow_file_create", &[], Bool, "a file that is too short is named and kept; fio removes it"),
    same("allow_mounted_write", &[], Bool),
    same("pre_read", &[], Bool),
    same("unlink", &[], Bool),
    same("unlink_each_loop", &[], Bool),
    differs(
        "zonemode",
        &[],
        Word(&["none", "strided", "zbd"]),
        "none and strided, where of several files each has zones of its own; zbd is refused: zones of devices are not known here",
    ),
    same("zonerange", &[], Integer(0, i64::MAX)),
    same("zonesize", &[], Integer(0, i64::MAX)),
    absent("zonecapacity", Integer(0, i64::MAX), NO_ZONES, "leave it out").harmless(&["0"]),
    same("zoneskip", &[], Integer(0, i64::MAX)),
    absent("read_beyond_wp", Bool, NO_ZONES, "leave it out").harmless(&["0"]),
    absent("max_open_zones", Integer(0, 4096), NO_ZONES, "leave it out").harmless(&["0"]),
    absent("job_max_open_zones", Integer(0, 4096), NO_ZONES, "leave it out").harmless(&["0"]),
    absent("ignore_zone_limits", Bool, NO_ZONES, "leave it out").harmless(&["0"]),
    absent("recover_zbd_write_error", Bool, NO_ZONES, "leave it out").harmless(&["0"]),
    absent("zone_reset_threshold", Float(0.0, 1.0), NO_ZONES, "leave it out").harmless(&["0"]),
    absent("zone_reset_frequency", Float(0.0, 1.0), NO_ZONES, "leave it out").harmless(&["0"]),
    same("size", &[], Amount),
    same("io_size", &["io_limit"], Amount),
    differs("filesize", &[], Range, "sizes from a range are drawn from our seed, not as in fio"),
    differs("file_append", &[], Bool, "with loops every loop appends; fio 3.33 ends after the first"),
    same("fill_device", &["fill_fs"], Bool),
];
