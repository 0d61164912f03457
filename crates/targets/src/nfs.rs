//! `nfs://host[:port]/export`: a directory of files on an export, without mounting it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use drivers::nfs::{ExportFiles, ExportNames, Lookup, NfsAddress, NfsConfig, NfsDriver, NfsVersion};
use drivers::{Announce, DriverError};
use experiment::OptionKind::{Bytes, Choice, Flag, Text};
use experiment::{
    CalibratedOp, Cell, Job, NeededValue, OpNeed, OptionHelp, Pass, TargetKind, TargetUrl, Transport,
    UrlForm, Workload,
};
use metrics::OpKind::{
    self, Access, Append, Chmod, Close, Commit, Create, Link, List, Mkdir, Open, Overwrite, Read, ReadFile,
    Readdir, Readlink, Remove, Rename, Rmdir, Stat, Symlink, Truncate, TruncateOverwrite, Write, WriteFile,
};

use serde_json::Value;

use super::by_name::{FilesByName, FoundByName};
use super::complete::item_number;
use super::engines::{self, JobEngines};
use super::hosts::{address, host_and_port};
use super::nfs_check;
use super::nfs_pass;
use super::nfs_place::{self, NfsPlace};
use super::options::{
    ADDRESSES, AT_LEAST_ONE, DEPTH, DIRECTORIES, DIRECTORY, LAYOUT, NUMBER, PAIRING, PORT, SOURCE,
    USE_ADDRESSES,
};
use super::paths::{named, shown};
use super::place::{Entered, OwnPlace, PATIENCE};
use super::protocol::wrong;
use super::tree::tree_of;
use super::{
    CheckTraits, ClearedFiles, FindingKind, FreeSpace, LaidOut, Look, OpenRequest, OpenTarget, Patience,
    Protocol, RemovalContext, RemoveLeftError, StageRunner, TargetError, kinds, paths,
};

/// The protocol of `nfs:`.
pub(super) struct Nfs;

const OPTIONS: &[OptionHelp] = &[
    OptionHelp::new(
        "version",
        Choice(&["3", "4.1"]),
        "3",
        "version of the protocol; 4.1 needs one port only (2049), and the path is the one that the server's NFSv4 root shows",
    ),
    DIRECTORY,
    OptionHelp::new("connections", AT_LEAST_ONE, "1", "TCP connections per job"),
    OptionHelp::new(
        "stable",
        Flag,
        "false",
        "make each write durable before its reply (FILE_SYNC) instead of by COMMIT",
    ),
    OptionHelp::new(
        "lookup",
        Choice(&["cached", "each_component"]),
        "cached",
        "how operations find files: by handles that are known, or by a LOOKUP for each part of the path",
    ),
    DEPTH,
    DIRECTORIES,
    LAYOUT,
    OptionHelp::new("uid", NUMBER, "0", "user ID of every call (AUTH_SYS)"),
    OptionHelp::new("gid", NUMBER, "0", "group ID of every call"),
    OptionHelp::new(
        "read_size",
        Bytes { least: 1, most: u32::MAX as u64 },
        "the server's, at most 1MiB",
        "largest READ; longer reads are split",
    ),
    OptionHelp::new(
        "write_size",
        Bytes { least: 1, most: u32::MAX as u64 },
        "the server's, at most 1MiB",
        "largest WRITE; longer writes are split",
    ),
    OptionHelp::new(
        "more_urls",
        Text,
        "none",
        "further URLs of the same data, separated by commas; jobs use them in turn",
    ),
    SOURCE,
    ADDRESSES,
    USE_ADDRESSES,
    PAIRING,
    OptionHelp::new("mount_port", PORT, "from the portmapper", "port of the MOUNT program"),
    OptionHelp::new("portmap_port", PORT, "111", "port of the portmapper"),
];

pub(super) static KIND: TargetKind = TargetKind {
    ranges: true,
    remote: true,
    own_place: true,
    user_files: true,
    passes: true,
    sink_discard: true,
    late_layout: true,
    op_needs: &[needs_version_4_1(Open), needs_version_4_1(Close)],
    calibrated: &[
        CalibratedOp::new(Read, "read", "NFS read"),
        CalibratedOp::new(Write, "write", "NFS write"),
    ],
    transport: Transport::Network,
    ..TargetKind::new(
        "nfs",
        "nfs://host/export",
        UrlForm::HostAndPath,
        &[
            Read,
            Write,
            Create,
            Commit,
            Stat,
            Remove,
            List,
            Access,
            Chmod,
            Truncate,
            Rename,
            Link,
            Symlink,
            Readlink,
            Mkdir,
            Rmdir,
            Append,
            Readdir,
            Open,
            Close,
            WriteFile,
            ReadFile,
            Overwrite,
            TruncateOverwrite,
        ],
        OPTIONS,
    )
};

/// An operation that only version 4.1 has.
const fn needs_version_4_1(op: OpKind) -> OpNeed {
    let value = NeededValue::This { value: "4.1", otherwise: "NFS version 3" };
    OpNeed { op, option: "version", value }
}

impl Protocol for Nfs {
    fn kind(&self) -> &'static TargetKind {
        &KIND
    }

    fn engines(&self) -> JobEngines {
        engines::nfs::ENGINES
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Box<dyn OpenTarget>, TargetError> {
        Ok(Box::new(open(request)?))
    }

    fn check(&self) -> Option<&'static CheckTraits> {
        Some(&nfs_check::CHECK)
    }

    fn remove_left(&self, place: &Value, cx: &mut RemovalContext<'_>) -> Result<(), RemoveLeftError> {
        nfs_place::remove_left(place, cx)
    }
}

/// An export.
pub(super) struct NfsTarget {
    pub(super) driver: NfsDriver,
    pub(super) place: OwnPlace,
    patience: Patience,
    /// Connections across all jobs.
    pub(super) connections: u64,
    /// URL of the export, without options.
    pub(super) url: String,
    /// The files of a mix that the user named.
    pub(super) by_name: Option<FilesByName>,
    pub(super) destroy: Vec<PathBuf>,
    pub(super) cleared: ClearedFiles,
    /// The load changes existing data.
    writes: bool,
}

pub(super) fn open(request: &OpenRequest<'_>) -> Result<NfsTarget, TargetError> {
    let OpenRequest { target, url, options: given, workload, context } = *request;
    let job = workload.stream();
    let first = place_in(&target.url, url)?;
    let kept = given.text("directory").map(str::to_owned);
    let directory = kept.clone().unwrap_or_else(|| request.own_directory());
    let usual = NfsConfig::new(first.server, first.export, directory);
    let more = given.text("more_urls").map_or(Ok(Vec::new()), more)?;
    let servers: Vec<IpAddr> =
        std::iter::once(usual.server).chain(more.iter().map(|url| url.server)).collect();
    let ways = paths::read(request, &servers)?;
    let config = NfsConfig {
        version: version(given.text("version")),
        // Address where the directory is created and removed.
        server: ways.addresses.first().map_or(usual.server, |address| address.ip),
        addresses: ways.addresses,
        paths: ways.paths,
        nfs_port: first.nfs_port,
        mount_port: given.number("mount_port"),
        portmap_port: given.number("portmap_port").unwrap_or(usual.portmap_port),
        uid: given.number("uid").unwrap_or_else(|| own_id(job, rustix::process::getuid().as_raw())),
        gid: given.number("gid").unwrap_or_else(|| own_id(job, rustix::process::getgid().as_raw())),
        connections_per_worker: given.number("connections").unwrap_or(usual.connections_per_worker),
        stable: given.flag("stable").unwrap_or(usual.stable),
        lookup: match given.text("lookup") {
            Some("each_component") => Lookup::EachComponent,
            _ => usual.lookup,
        },
        tree: tree_of(request)?,
        read_size: given.number("read_size"),
        write_size: given.number("write_size"),
        more,
        named: named_files(workload).map(Arc::new),
        ..usual
    };
    // Files with names lie where the user put them.
    let place = context.place_unless(kept.is_some() || config.named.is_some(), || place_of(&config));
    let connections = paths::connections(workload, config.connections_per_worker);
    let driver = NfsDriver::new(config)
        .map_err(|error| TargetError::Input(format!("target {}: {}", target.name, error.detail)))?;
    let (url, _) = target.url.split_once('?').unwrap_or((&target.url, ""));
    let mut opened = NfsTarget {
        driver,
        place,
        patience: context.patience,
        connections,
        url: url.trim_end_matches('/').to_owned(),
        by_name: None,
        destroy: context.destroy.clone(),
        cleared: context.cleared.clone(),
        writes: workload.changes_data(),
    };
    if let Some(tree) = workload.tree() {
        opened.walk(workload, tree)?;
    } else if let Some(mut files) = FilesByName::of(workload) {
        if files.wants_sizes() {
            files.set_sizes(&opened.found_by_name(&files)?)?;
        }
        opened.by_name = Some(files);
    }
    Ok(opened)
}

/// The version of the protocol by the name that the option has for it.
fn version(name: Option<&str>) -> NfsVersion {
    if name == Some("4.1") { NfsVersion::V4_1 } else { NfsVersion::V3 }
}

/// The files at paths of the user's, for a job, a mix or a pass.
fn named_files(workload: &Workload) -> Option<ExportFiles> {
    if let Some(pass) = workload.pass() {
        return Some(nfs_pass::files(pass));
    }
    if let Some(job) = workload.stream() {
        return Some(ExportFiles {
            names: ExportNames::Files { job: job.name.clone(), names: job.files.names.clone() },
            first_number: job.first_number,
            files: job.files.per_worker(),
        });
    }
    let names = workload.user_files()?.names.clone();
    let files = u32::try_from(workload.files()).unwrap_or(u32::MAX);
    Some(ExportFiles { names: ExportNames::Files { job: String::new(), names }, first_number: 0, files })
}

/// Default user id of the calls: for jobs that of this process, as in libnfs; else root.
fn own_id(job: Option<&Job>, own: u32) -> u32 {
    if job.is_some() { own } else { 0 }
}

/// Location of the export, from its URL.
fn place_in(text: &str, url: &TargetUrl) -> Result<NfsAddress, TargetError> {
    let (host, nfs_port) = host_and_port(text, url.authority(), KIND.example)?;
    Ok(NfsAddress {
        server: address(text, &host)?,
        export: url.path().to_owned(),
        nfs_port,
        mount_port: None,
    })
}

/// Further URLs, separated by commas.
fn more(texts: &str) -> Result<Vec<NfsAddress>, TargetError> {
    let one = |text: &str| {
        let text = text.trim();
        let url = TargetUrl::parse(kinds(), text)
            .map_err(|fault| wrong(text, &format!("{}; {}", fault.text, fault.hint)))?;
        if !std::ptr::eq(url.kind(), &raw const KIND) {
            return Err(wrong(
                text,
                &format!("more_urls takes other URLs of the same kind; write {}", KIND.example),
            ));
        }
        let mut place = place_in(text, &url)?;
        for (name, value) in url.query() {
            match &**name {
                "mount_port" => {
                    let port = value.parse().ok().filter(|port| *port > 0);
                    let problem = || wrong(text, "mount_port: write a port from 1 to 65535");
                    place.mount_port = Some(port.ok_or_else(problem)?);
                }
                _ => {
                    let problem = format!("\"{name}\" holds for all URLs; give it with the first");
                    return Err(wrong(text, &problem));
                }
            }
        }
        Ok(place)
    };
    texts.split(',').map(one).collect()
}

fn place_of(config: &NfsConfig) -> NfsPlace {
    NfsPlace {
        version: config.version.into(),
        server: config.server,
        export: config.export.clone(),
        directory: config.directory.clone(),
        nfs_port: config.addresses.first().and_then(|address| address.port).or(config.nfs_port),
        mount_port: config.mount_port,
        portmap_port: config.portmap_port,
        uid: config.uid,
        gid: config.gid,
        tree: config.tree,
    }
}

impl OpenTarget for NfsTarget {
    fn kind(&self) -> &'static TargetKind {
        &KIND
    }

    fn driver(&self) -> &dyn StageRunner {
        &self.driver
    }

    fn own_facts(&self) -> BTreeMap<String, String> {
        let config = self.driver.config();
        let mut facts = named([
            ("protocol", format!("NFS version {} over TCP, in user space", config.version.name())),
            ("export", config.export.clone()),
            match (&self.by_name, &config.named) {
                (Some(files), _) if files.are_of_tree() => {
                    ("files", files.facts().map(|(_, shown)| shown).unwrap_or_default())
                }
                (_, Some(_)) => ("files", "named by the user, below the export's root".to_owned()),
                (_, None) => ("directory", config.directory.clone()),
            },
            ("connections per job", config.connections_per_worker.to_string()),
            (
                "writes",
                if config.stable { "FILE_SYNC" } else { "UNSTABLE, made durable by COMMIT" }.to_owned(),
            ),
            ("uid", config.uid.to_string()),
            ("gid", config.gid.to_string()),
        ]);
        if !config.tree.is_flat() {
            facts.insert("tree".to_owned(), config.tree.to_string());
        }
        if !config.more.is_empty() {
            let others = config.more.iter().map(|other| format!("{} {}", other.server, other.export));
            facts.insert("further addresses".to_owned(), others.collect::<Vec<_>>().join(", "));
        }
        let addresses = shown(&config.addresses);
        facts.extend(named(paths::facts(&config.paths, &addresses, self.connections)));
        let seen = match self.driver.limits(PATIENCE) {
            Ok(limits) => named([
                ("address", limits.remote.to_string()),
                ("rtmax", limits.read_max.to_string()),
                ("wtmax", limits.write_max.to_string()),
                ("read size", limits.read_size.to_string()),
                ("write size", limits.write_size.to_string()),
            ]),
            Err(error) => named([
                ("address", config.server.to_string()),
                ("rtmax", format!("unknown: {}", error.detail)),
            ]),
        };
        facts.extend(seen);
        facts
    }

    fn by_name(&self) -> Option<&FilesByName> {
        self.by_name.as_ref()
    }

    fn found_by_name(&self) -> Result<Vec<FoundByName>, TargetError> {
        self.by_name.as_ref().map_or(Ok(Vec::new()), |files| NfsTarget::found_by_name(self, files))
    }

    fn place(&self) -> Option<&OwnPlace> {
        Some(&self.place)
    }

    fn look(&self, writes: bool) -> Look {
        let config = self.driver.config();
        let found = match self.driver.look_at_export(self.patience.connect) {
            Ok(found) => found,
            Err(error) => return Look::refused(&error.into()),
        };
        let place = format!("{}:{}", found.remote.ip(), config.export);
        let file_system =
            found.file_system.map_or_else(|| place.clone(), |fsid| format!("{} {fsid}", found.remote.ip()));
        let space = found.available_bytes.map(|available_bytes| FreeSpace {
            file_system,
            place: place.clone(),
            available_bytes,
            holds_data: found.directory_exists,
        });
        let look = Look { space, seen: "the export answers".to_owned(), ..Look::default() };
        let mut look = look.with_mtu(&config.paths, found.remote);
        let mut creates = writes;
        if let Some(files) = &self.by_name {
            (look, creates) = self.look_by_name(files, writes, look);
        }
        if !creates || found.may_write != Some(false) {
            return look;
        }
        let text = format!(
            "export {place}: uid {} gid {} may not write there; next: change the permissions or the export rule, or give the \
             options uid and gid",
            config.uid, config.gid
        );
        look.with(FindingKind::Failure, text)
    }

    fn prepare(&self) -> Result<Entered, TargetError> {
        if let Some(files) = &self.by_name {
            self.enter_by_name(files, true)?;
            return Ok(Entered::Existing);
        }
        if self.driver.config().named.is_some() {
            return Ok(Entered::Existing);
        }
        let make = |announce: Announce<'_>| self.driver.prepare_announced(self.patience.connect, announce);
        self.place.enter(make, || self.driver.adopt(self.patience.connect))
    }

    fn adopt(&self) -> Result<(), TargetError> {
        if let Some(files) = self.by_name.as_ref().filter(|files| !files.are_filled()) {
            return self.enter_by_name(files, self.writes);
        }
        if self.driver.config().named.is_some() {
            return Ok(());
        }
        Ok(self.driver.adopt(self.patience.connect)?)
    }

    fn remove_all(&self) -> Result<(), TargetError> {
        self.place.leave(|| self.driver.remove_all(self.patience.answer).map(drop))
    }

    fn items(&self, each: &mut dyn FnMut(u64, u64)) -> Result<bool, DriverError> {
        let mut one = |name: &str, size| item_number(name).into_iter().for_each(|number| each(number, size));
        self.driver.list_each(PATIENCE, |name, size| one(name, size))?;
        Ok(true)
    }

    fn first_bytes(&self, object: u64, len: u32) -> Option<Vec<u8>> {
        // Files named by jobs have no generation.
        let of_job = self.driver.config().named.is_some() && self.by_name.is_none();
        if of_job { None } else { self.driver.beginning(object, len, PATIENCE).ok() }
    }

    fn interface(&self) -> Result<String, paths::InterfaceError> {
        let config = self.driver.config();
        paths::interface(&config.paths, config.server)
    }

    fn lay_out_pass(&self, pass: &Pass, lanes: u32) -> Result<(), TargetError> {
        self.make_directories(pass, lanes)
    }

    fn finish_pass(&self, pass: &Pass, lanes: u32) -> Result<(), TargetError> {
        self.remove_directories(pass, lanes)
    }

    fn lay_out_job(&self, job: &Job, cell: &Cell) -> Result<LaidOut, TargetError> {
        self.lay_out(job, &cell.workload)
    }

    fn finish_files(&self, job: &Job, laid_out: &LaidOut) -> Result<(), TargetError> {
        self.remove_files(job, laid_out)
    }
}
