//! The engines that fio names: those that protocols implement, and substitutes for the others.

use std::sync::LazyLock;

use experiment::TargetKind;
use targets::{JobEngine, job_engines};

use super::OptionSupport;

/// An engine of fio.
#[derive(Clone, Copy, Debug)]
pub struct FioEngine {
    /// Its name in `ioengine`.
    pub name: &'static str,
    /// How it compares with fio's engine.
    pub support: OptionSupport,
    /// The kind of target that it loads, and how; `None` for an unsupported engine.
    pub loads: Option<(&'static TargetKind, &'static JobEngine)>,
}

impl FioEngine {
    /// Whether it is supported.
    pub const fn is_there(&self) -> bool {
        self.loads.is_some()
    }
}

const fn no(name: &'static str, why: &'static str, instead: &'static str) -> FioEngine {
    FioEngine { name, support: OptionSupport::Absent { why, instead }, loads: None }
}

const NO_LIBRARY: &str = "its client library is not part of this program";
const AS_FILES: &str = "mount it and use files, or use NFS or S3 where it speaks them";
const NO_MOVES: &str = "data goes through buffers of the process";
const NO_DIRECTORIES: &str = "directories are no load: files are";
const NOT_LINUX: &str = "it belongs to another operating system";

const ABSENT: &[FioEngine] = &[
    no("netsplice", NO_MOVES, "ioengine=net"),
    no("splice", NO_MOVES, "ioengine=psync"),
    no("io_uring_cmd", "commands of NVMe are not passed through", "ioengine=io_uring on the block device"),
    no("xnvme", "commands of NVMe are not passed through", "ioengine=io_uring on the block device"),
    no("sg", "commands of SCSI are not passed through", "ioengine=io_uring on the block device"),
    no("libzbc", "zones of devices are not known here", "ioengine=io_uring on the block device"),
    no("cpuio", "only storage is loaded", "run a load generator such as stress-ng beside it"),
    no("exec", "only storage is loaded", "start the program beside manometer"),
    no("filecreate", "jobs read, write and trim", "an experiment with the operation create: manometer run"),
    no("filestat", "jobs read, write and trim", "an experiment with the operation stat: manometer run"),
    no("filedelete", "jobs read, write and trim", "an experiment with the operation remove: manometer run"),
    no("dircreate", NO_DIRECTORIES, "an experiment with the operation create: manometer run"),
    no("dirstat", NO_DIRECTORIES, "an experiment with the operation stat: manometer run"),
    no("dirdelete", NO_DIRECTORIES, "an experiment with the operation remove: manometer run"),
    no("libblkio", NO_LIBRARY, "ioengine=io_uring on the block device"),
    no("falloc", "space is not allocated as a load", "fallocate=native allocates before the load"),
    no("ftruncate", "files are not cut as a load", "ioengine=psync"),
    no("e4defrag", "extents are not moved", "ioengine=psync"),
    no("rdma", "it needs RDMA hardware and its libraries", "ioengine=net"),
    no("librpma_apm_server", "it needs RDMA hardware and its libraries", "ioengine=net"),
    no("librpma_apm_client", "it needs RDMA hardware and its libraries", "ioengine=net"),
    no("librpma_gpspm_server", "it needs RDMA hardware and its libraries", "ioengine=net"),
    no("librpma_gpspm_client", "it needs RDMA hardware and its libraries", "ioengine=net"),
    no("rbd", NO_LIBRARY, "map the image with rbd map and name /dev/rbdN"),
    no("gfapi", NO_LIBRARY, AS_FILES),
    no("gfapi_async", NO_LIBRARY, AS_FILES),
    no("libhdfs", NO_LIBRARY, AS_FILES),
    no("dfs", NO_LIBRARY, AS_FILES),
    no("ime_psync", NO_LIBRARY, AS_FILES),
    no("ime_psyncv", NO_LIBRARY, AS_FILES),
    no("ime_aio", NO_LIBRARY, AS_FILES),
    no("libiscsi", NO_LIBRARY, "log in with iscsiadm and name the block device"),
    no("nbd", NO_LIBRARY, "attach the export with nbd-client and name /dev/nbdN"),
    no("libcufile", NO_LIBRARY, "ioengine=io_uring with direct=1"),
    no("mtd", "raw flash is not supported", "ioengine=psync on a file system on it"),
    no("pmemblk", NO_LIBRARY, "ioengine=psync on a file system mounted with DAX"),
    no("libpmem", NO_LIBRARY, "ioengine=psync on a file system mounted with DAX"),
    no("dev-dax", NO_LIBRARY, "ioengine=psync on a file system mounted with DAX"),
    no("external", "engines are not loaded at run time", "one of the engines that there are"),
    no("solarisaio", NOT_LINUX, "ioengine=libaio"),
    no("windowsaio", NOT_LINUX, "ioengine=libaio"),
    no("guasi", "fio has dropped it", "ioengine=libaio"),
];

/// All engines, supported ones first.
pub fn every_engine() -> impl Iterator<Item = &'static FioEngine> + Clone {
    static ALL: LazyLock<Vec<FioEngine>> = LazyLock::new(|| {
        let there: Vec<FioEngine> = job_engines()
            .map(|(kind, engine)| FioEngine {
                name: engine.name,
                support: engine.support,
                loads: Some((kind, engine)),
            })
            .collect();
        // An engine that a protocol implements is supported.
        let absent = ABSENT.iter().filter(|engine| there.iter().all(|other| other.name != engine.name));
        there.iter().chain(absent).copied().collect()
    });
    ALL.iter()
}

/// The engine with this name. A suffix after a colon (`external:FILE`) is not part of it.
pub fn find_engine(name: &str) -> Option<&'static FioEngine> {
    let name = name.split(':').next().unwrap_or(name);
    every_engine().find(|engine| engine.name == name)
}
