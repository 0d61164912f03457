//! The option that names an engine, and the options that engines have of their own.

use super::ValueKind::{Bool, Flag, Integer, Integers, Text, Word};
use super::{FioOption, MOST, absent, differs, ours, same};

const URING: &[&str] = &["io_uring", "io_uring_cmd"];
const PRIORITIES: &[&str] = &["io_uring", "io_uring_cmd", "libaio"];
const NET: &[&str] = &["net", "netsplice"];
const HTTP: &[&str] = &["http"];
const NFS: &[&str] = &["nfs"];

const ONE_PRIORITY: &str = "all operations of a job have one priority";
const TWO_JOBS: &str = "two jobs, each with its own prio and prioclass";
const NO_MULTICAST: &str = "the net engine speaks TCP";
const NO_ENGINE: &str = "its engine is not there";
const SEE_ENGINE: &str = "ioengine names the engines that there are";
const NO_SWIFT: &str = "objects are stored over S3 only";

pub(super) const OPTIONS: &[FioOption] = &[
    differs(
        "ioengine",
        &[],
        Text,
        "all are the same load loop over io_uring or threads; which engines there are stands above",
    ),
    absent("cmdprio_percentage", Integers(0, 100), ONE_PRIORITY, TWO_JOBS).of(PRIORITIES).harmless(&["0"]),
    absent("cmdprio_class", Integers(0, 3), ONE_PRIORITY, TWO_JOBS).of(PRIORITIES),
    absent("cmdprio", Integers(0, 7), ONE_PRIORITY, TWO_JOBS).of(PRIORITIES),
    absent("cmdprio_bssplit", Text, ONE_PRIORITY, TWO_JOBS).of(PRIORITIES),
    same("fixedbufs", &[], Flag).of(URING),
    differs("nonvectored", &[], Integer(-1, MOST), "accepted: each operation has one buffer in any case")
        .of(URING),
    absent("force_async", Integer(0, MOST), "operations are submitted without that flag", "leave it out")
        .of(URING)
        .harmless(&["0"]),
    same("registerfiles", &[], Flag).of(URING),
    same("sqthread_poll", &[], Flag).of(&["io_uring", "io_uring_cmd", "xnvme"]),
    absent(
        "sqthread_poll_cpu",
        Integer(0, MOST),
        "the kernel chooses the core of its polling thread",
        "leave it out",
    )
    .of(URING),
    absent("cmd_type", Word(&["nvme"]), "commands of NVMe are not passed through", "ioengine=io_uring")
        .of(&["io_uring_cmd", "io_uring"]),
    differs(
        "hipri",
        &[],
        Flag,
        "with io_uring as in fio; with pvsync2 completions are polled for through io_uring",
    )
    .of(&["io_uring", "io_uring_cmd", "pvsync2", "sg", "xnvme"]),
    differs(
        "userspace_reap",
        &[],
        Flag,
        "accepted: io_uring's endings are read without a system call anyway",
    )
    .of(&["libaio"]),
    absent("hipri_percentage", Integer(0, 100), "all operations are polled for, or none", "hipri=1")
        .of(&["pvsync2"])
        .harmless(&["100"]),
    absent(
        "uncached",
        Integer(0, MOST),
        "the kernel is not asked for it",
        "direct=1 does not fill the page cache",
    )
    .of(&["pvsync2", "io_uring", "io_uring_cmd"])
    .harmless(&["0"]),
    absent(
        "nowait",
        Bool,
        "operations that would wait are not given back",
        "leave it out; rate_iops with percentiles shows who waits",
    )
    .of(&["pvsync2", "libaio", "io_uring", "io_uring_cmd"])
    .harmless(&["0"]),
    absent("thp", Integer(0, 1), "files are not mapped into memory", "leave it out")
        .of(&["mmap"])
        .harmless(&["0"]),
    absent("cpuload", Integer(0, 100), NO_ENGINE, "run a load generator such as stress-ng beside it")
        .of(&["cpuio"]),
    absent("cpuchunks", Integer(0, MOST), NO_ENGINE, "run a load generator such as stress-ng beside it")
        .of(&["cpuio"]),
    absent("cpumode", Text, NO_ENGINE, "run a load generator such as stress-ng beside it").of(&["cpuio"]),
    absent("exit_on_io_done", Bool, NO_ENGINE, "run a load generator such as stress-ng beside it")
        .of(&["cpuio"]),
    absent("namenode", Text, NO_ENGINE, SEE_ENGINE).of(&["libhdfs"]),
    same("port", &[], Integer(1, 65_535)).of(&["net", "netsplice", "rdma", "libhdfs"]),
    same("hostname", &[], Text).of(&["net", "netsplice", "rdma"]),
    absent("serverip", Text, NO_ENGINE, SEE_ENGINE).of(&["librpma_apm_client", "librpma_gpspm_client"]),
    absent("direct_write_to_pmem", Bool, NO_ENGINE, SEE_ENGINE)
        .of(&["librpma_apm_server", "librpma_gpspm_server"]),
    absent("busy_wait_polling", Bool, NO_ENGINE, SEE_ENGINE).of(&["librpma_gpspm_server"]),
    absent("interface", Text, NO_MULTICAST, "bind through hostname and the machine's routes").of(NET),
    absent("ttl", Integer(0, 255), NO_MULTICAST, "leave it out").of(NET).harmless(&["1"]),
    same("nodelay", &[], Bool).of(NET),
    differs(
        "protocol",
        &["proto"],
        Word(&["tcp", "tcpv6", "udp", "udpv6", "unix", "vsock"]),
        "tcp and tcpv6; the others are refused",
    )
    .of(NET),
    same("listen", &[], Flag).of(NET),
    same("pingpong", &[], Flag).of(NET),
    same("window_size", &[], Integer(0, MOST)).of(NET),
    same("mss", &[], Integer(0, MOST)).of(NET),
    absent("donorname", Text, NO_ENGINE, SEE_ENGINE).of(&["e4defrag"]),
    absent("inplace", Integer(0, 1), NO_ENGINE, SEE_ENGINE).of(&["e4defrag"]),
    absent("clustername", Text, NO_ENGINE, SEE_ENGINE).of(&["rados", "rbd"]),
    absent("rbdname", Text, NO_ENGINE, "map the image with rbd map and name /dev/rbdN").of(&["rbd"]),
    absent("clientname", Text, NO_ENGINE, SEE_ENGINE).of(&["rados", "rbd"]),
    absent("conf", Text, NO_ENGINE, SEE_ENGINE).of(&["rados"]),
    absent("busy_poll", Bool, NO_ENGINE, SEE_ENGINE).of(&["rados", "rbd"]),
    absent("touch_objects", Bool, NO_ENGINE, SEE_ENGINE).of(&["rados"]),
    absent("pool", Text, NO_ENGINE, SEE_ENGINE).of(&["rados", "rbd", "dfs"]),
    absent("cont", Text, NO_ENGINE, SEE_ENGINE).of(&["dfs"]),
    absent("chunk_size", Integer(0, i64::MAX), NO_ENGINE, SEE_ENGINE).of(&["dfs", "libhdfs"]),
    absent("object_class", Text, NO_ENGINE, SEE_ENGINE).of(&["dfs"]),
    absent("skip_bad", Bool, NO_ENGINE, SEE_ENGINE).of(&["mtd"]),
    absent("hdfsdirectory", Text, NO_ENGINE, SEE_ENGINE).of(&["libhdfs"]),
    absent("single-instance", Bool, NO_ENGINE, SEE_ENGINE).of(&["libhdfs", "gfapi"]),
    absent("volume", Text, NO_ENGINE, SEE_ENGINE).of(&["gfapi", "gfapi_async"]),
    absent("brick", Text, NO_ENGINE, SEE_ENGINE).of(&["gfapi", "gfapi_async"]),
    absent("verb", Text, NO_ENGINE, SEE_ENGINE).of(&["rdma"]),
    absent("bindname", Text, NO_ENGINE, SEE_ENGINE).of(&["rdma"]),
    absent("stat_type", Text, NO_ENGINE, "an experiment with the operation stat").of(&["filestat"]),
    absent("readfua", Bool, NO_ENGINE, "name the disk's block device instead of its sg device").of(&["sg"]),
    absent("writefua", Bool, NO_ENGINE, "name the disk's block device instead of its sg device").of(&["sg"]),
    absent("sg_write_mode", Text, NO_ENGINE, "name the disk's block device instead of its sg device")
        .of(&["sg"]),
    absent("stream_id", Integer(0, MOST), NO_ENGINE, SEE_ENGINE).of(&["sg"]),
    same("http_host", &[], Text).of(HTTP),
    absent("http_user", Text, NO_SWIFT, "http_s3_keyid").of(HTTP),
    absent("http_pass", Text, NO_SWIFT, "http_s3_key").of(HTTP),
    same("https", &[], Word(&["off", "on", "insecure"])).of(HTTP),
    differs(
        "http_mode",
        &[],
        Word(&["webdav", "swift", "s3"]),
        "only s3; it must be said, because fio's default is webdav",
    )
    .of(HTTP),
    same("http_s3_region", &[], Text).of(HTTP),
    same("http_s3_key", &[], Text).of(HTTP),
    same("http_s3_keyid", &[], Text).of(HTTP),
    absent("http_s3_sse_customer_key", Text, "objects are stored without a customer's key", "leave it out")
        .of(HTTP),
    absent(
        "http_s3_sse_customer_algorithm",
        Text,
        "objects are stored without a customer's key",
        "leave it out",
    )
    .of(HTTP),
    absent("http_s3_storage_class", Text, "objects are stored in the bucket's default class", "leave it out")
        .of(HTTP)
        .harmless(&["STANDARD"]),
    absent("http_swift_auth_token", Text, NO_SWIFT, "http_mode=s3").of(HTTP),
    absent("http_verbose", Integer(0, 2), "requests are not printed", "leave it out")
        .of(HTTP)
        .harmless(&["0"]),
    absent("uri", Text, NO_ENGINE, "attach the export with nbd-client and name /dev/nbdN").of(&["nbd"]),
    absent("gpu_dev_ids", Text, NO_ENGINE, SEE_ENGINE).of(&["libcufile"]),
    absent("cuda_io", Text, NO_ENGINE, SEE_ENGINE).of(&["libcufile"]),
    differs(
        "nfs_url",
        &[],
        Text,
        "a URL in libnfs form, or several with commas between them, of which the clones use one each in turn",
    )
    .of(NFS),
    ours(
        "nfs_connections",
        Integer(1, 4096),
        "connections of each clone to the server of its URL; 1 unless given",
    )
    .of(NFS),
    ours("sim_url", Text, "how the simulated target answers, as in an experiment: sim:?latency=1ms")
        .of(&["sim"]),
    absent("program", Text, NO_ENGINE, "start it beside manometer").of(&["exec"]),
    absent("arguments", Text, NO_ENGINE, "start it beside manometer").of(&["exec"]),
    absent("grace_time", Integer(0, MOST), NO_ENGINE, "start it beside manometer").of(&["exec"]),
    absent("std_redirect", Bool, NO_ENGINE, "start it beside manometer").of(&["exec"]),
    absent("xnvme_async", Text, NO_ENGINE, "ioengine=io_uring").of(&["xnvme"]),
    absent("xnvme_sync", Text, NO_ENGINE, "ioengine=io_uring").of(&["xnvme"]),
    absent("xnvme_admin", Text, NO_ENGINE, "ioengine=io_uring").of(&["xnvme"]),
    absent("xnvme_dev_nsid", Integer(0, MOST), NO_ENGINE, "ioengine=io_uring").of(&["xnvme"]),
    absent("xnvme_iovec", Integer(0, MOST), NO_ENGINE, "ioengine=io_uring").of(&["xnvme"]),
];
