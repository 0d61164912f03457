//! The option that names an engine, the engine options that protocols implement, and those of unsupported engines.

use std::sync::LazyLock;

use targets::{EngineOption, engine_options};

use super::ValueKind::{Bool, Integer, Text};
use super::{FioOption, MOST, OptionGroup, absent, differs};

const NO_ENGINE: &str = "its engine is not there";
const SEE_ENGINE: &str = "ioengine names the engines that there are";

/// All of them.
pub(super) fn options() -> &'static [FioOption] {
    static ALL: LazyLock<Vec<FioOption>> = LazyLock::new(|| {
        let of_protocols: Vec<FioOption> = engine_options().map(of_protocol).collect();
        // An option that a protocol implements is supported.
        let absent =
            ABSENT.iter().filter(|option| of_protocols.iter().all(|other| !other.is_called(option.name)));
        std::iter::once(&IOENGINE).chain(&of_protocols).chain(absent).copied().collect()
    });
    &ALL
}

/// Whether values of an option with this name must never be shown.
pub(crate) fn is_secret(name: &str) -> bool {
    engine_options().any(|option| option.secret && option.name == name)
}

fn of_protocol(option: &'static EngineOption) -> FioOption {
    let EngineOption { engines, name, aliases, kind, support, harmless, .. } = *option;
    FioOption { name, aliases, kind, group: OptionGroup::Engine(engines), support, harmless }
}

const IOENGINE: FioOption = differs(
    "ioengine",
    &[],
    Text,
    "all are the same load loop over io_uring or threads; which engines there are stands above",
);

const ABSENT: &[FioOption] = &[
    absent("cpuload", Integer(0, 100), NO_ENGINE, "run a load generator such as stress-ng beside it")
        .of(&["cpuio"]),
    absent("cpuchunks", Integer(0, MOST), NO_ENGINE, "run a load generator such as stress-ng beside it")
        .of(&["cpuio"]),
    absent("cpumode", Text, NO_ENGINE, "run a load generator such as stress-ng beside it").of(&["cpuio"]),
    absent("exit_on_io_done", Bool, NO_ENGINE, "run a load generator such as stress-ng beside it")
        .of(&["cpuio"]),
    absent("namenode", Text, NO_ENGINE, SEE_ENGINE).of(&["libhdfs"]),
    absent("serverip", Text, NO_ENGINE, SEE_ENGINE).of(&["librpma_apm_client", "librpma_gpspm_client"]),
    absent("direct_write_to_pmem", Bool, NO_ENGINE, SEE_ENGINE)
        .of(&["librpma_apm_server", "librpma_gpspm_server"]),
    absent("busy_wait_polling", Bool, NO_ENGINE, SEE_ENGINE).of(&["librpma_gpspm_server"]),
    absent("donorname", Text, NO_ENGINE, SEE_ENGINE).of(&["e4defrag"]),
    absent("inplace", Integer(0, 1), NO_ENGINE, SEE_ENGINE).of(&["e4defrag"]),
    absent("rbdname", Text, NO_ENGINE, "map the image with rbd map and name /dev/rbdN").of(&["rbd"]),
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
    absent("uri", Text, NO_ENGINE, "attach the export with nbd-client and name /dev/nbdN").of(&["nbd"]),
    absent("gpu_dev_ids", Text, NO_ENGINE, SEE_ENGINE).of(&["libcufile"]),
    absent("cuda_io", Text, NO_ENGINE, SEE_ENGINE).of(&["libcufile"]),
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
