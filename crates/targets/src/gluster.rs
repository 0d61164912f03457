//! `gluster://host[:port]/volume[/path]`: a directory of files in a Gluster volume, through libgfapi.

use std::collections::BTreeMap;
use std::net::IpAddr;

use drivers::gluster::{GLUSTERD_PORT, GlusterConfig, GlusterDriver};
use drivers::paths::Paths;
use drivers::{Announce, DriverError};
use experiment::OptionKind::{Count, Flag};
use experiment::{Cell, Job, OptionHelp, TargetKind, Transport, UrlForm};
use serde_json::Value;

use super::engines::{self, JobEngines};
use super::file_job;
use super::file_kinds::FILE_OPERATIONS;
use super::gluster_place::{self, GlusterPlace};
use super::hosts::{address, host_and_port};
use super::options::{DEPTH, DIRECTORIES, DIRECTORY, LAYOUT};
use super::paths::{self, named};
use super::place::{Entered, OwnPlace, PATIENCE};
use super::tree::tree_of;
use super::{
    FreeSpace, LaidOut, Look, OpenRequest, OpenTarget, Patience, Protocol, RemovalContext, RemoveLeftError,
    StageRunner, TargetError, named_job,
};

/// The protocol of `gluster:`.
pub(super) struct Gluster;

const OPTIONS: &[OptionHelp] = &[
    DIRECTORY,
    OptionHelp::new(
        "clients",
        Count { least: 1, most: 256 },
        "1",
        "instances of libgfapi on each host, each with connections and threads of its own, that jobs use in turn",
    ),
    OptionHelp::new(
        "o_direct",
        Flag,
        "false",
        "open files with O_DIRECT, which passes the caches of the volume's client and of the bricks as the volume's options say",
    ),
    DEPTH,
    DIRECTORIES,
    LAYOUT,
];

static KIND: TargetKind = TargetKind {
    ranges: true,
    remote: true,
    own_place: true,
    late_layout: true,
    transport: Transport::Network,
    ..TargetKind::new("gluster", "gluster://host/volume", UrlForm::HostAndVolume, FILE_OPERATIONS, OPTIONS)
};

impl Protocol for Gluster {
    fn kind(&self) -> &'static TargetKind {
        &KIND
    }

    fn engines(&self) -> JobEngines {
        engines::gluster::ENGINES
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Box<dyn OpenTarget>, TargetError> {
        Ok(Box::new(open(request)?))
    }

    fn remove_left(&self, place: &Value, cx: &mut RemovalContext<'_>) -> Result<(), RemoveLeftError> {
        gluster_place::remove_left(place, cx)
    }
}

/// A volume.
struct GlusterTarget {
    driver: GlusterDriver,
    place: OwnPlace,
    patience: Patience,
    address: IpAddr,
}

fn open(request: &OpenRequest<'_>) -> Result<GlusterTarget, TargetError> {
    let OpenRequest { target, url, options: given, context, workload } = *request;
    let (host, port) = host_and_port(&target.url, url.authority(), KIND.example)?;
    let address = address(&target.url, &host)?;
    let path = url.path().trim_matches('/');
    let (volume, parent) = path.split_once('/').unwrap_or((path, ""));
    let kept = given.text("directory");
    let job = workload.stream();
    let entry = GlusterPlace {
        host,
        port: port.unwrap_or(GLUSTERD_PORT),
        volume: volume.to_owned(),
        parent: parent.trim_matches('/').to_owned(),
        directory: kept.map_or_else(|| request.own_directory(), str::to_owned),
        tree: tree_of(request)?,
    };
    let usual = entry.config();
    let names = job.map(|job| named_job::names(job, workload.jobs)).unwrap_or_default();
    let config = GlusterConfig {
        clients: given.number("clients").unwrap_or(usual.clients),
        direct: given.flag("o_direct").unwrap_or(usual.direct),
        fdatasync: workload.fdatasync(),
        open_files: job.map_or(usual.open_files, |job| file_job::open_files(job, workload.jobs)),
        create: job.is_none_or(|job| job.files.layout.create),
        named: names
            .into_iter()
            .map(|(number, name)| (number, name.trim_start_matches('/').to_owned()))
            .collect(),
        ..usual
    };
    // A job's files lie where the user put them.
    let place = context.place_unless(kept.is_some() || job.is_some(), || entry);
    let driver = GlusterDriver::new(config)
        .map_err(|error| TargetError::Input(format!("target {}: {}", target.name, error.detail)))?;
    Ok(GlusterTarget { driver, place, patience: context.patience, address })
}

impl GlusterTarget {
    fn is_named(&self) -> bool {
        !self.driver.config().named.is_empty()
    }

    /// The path in the volume that holds our directory, with the volume.
    fn location(&self) -> String {
        let GlusterConfig { volume, parent, .. } = self.driver.config();
        if parent.is_empty() { volume.clone() } else { format!("{volume}/{parent}") }
    }
}

impl OpenTarget for GlusterTarget {
    fn kind(&self) -> &'static TargetKind {
        &KIND
    }

    fn driver(&self) -> &dyn StageRunner {
        &self.driver
    }

    fn own_facts(&self) -> BTreeMap<String, String> {
        let config = self.driver.config();
        let mut facts = named([
            ("protocol", "Gluster through libgfapi".to_owned()),
            ("volume", config.volume.clone()),
            ("glusterd", format!("{} port {}", config.host, config.port)),
            match self.is_named() {
                true => ("files", format!("named by the user, below {}", self.location())),
                false => ("directory", format!("{}/{}", self.location(), config.directory)),
            },
            ("client instances", config.clients.to_string()),
            ("O_DIRECT", config.direct.to_string()),
        ]);
        if !config.tree.is_flat() {
            facts.insert("tree".to_owned(), config.tree.to_string());
        }
        match self.driver.look(PATIENCE) {
            Ok(seen) => {
                facts.extend(seen.id.map(|id| ("volume ID".to_owned(), id)));
                facts.extend(named([
                    ("bricks", seen.bricks.to_string()),
                    ("translators", seen.translators.join(", ")),
                ]));
            }
            Err(error) => drop(facts.insert("volume ID".to_owned(), format!("unknown: {}", error.detail))),
        }
        facts
    }

    fn place(&self) -> Option<&OwnPlace> {
        Some(&self.place)
    }

    fn look(&self, _writes: bool) -> Look {
        let seen = match self.driver.look(self.patience.connect) {
            Ok(seen) => seen,
            Err(error) => return Look::refused(&error.into()),
        };
        let config = self.driver.config();
        let space = seen.available_bytes.map(|available_bytes| FreeSpace {
            file_system: format!("gluster {}", seen.id.unwrap_or_else(|| config.volume.clone())),
            place: format!("volume {}", config.volume),
            available_bytes,
            holds_data: seen.directory_exists || self.is_named(),
        });
        Look { seen: format!("the volume with {} bricks answers", seen.bricks), space, ..Look::default() }
    }

    fn prepare(&self) -> Result<Entered, TargetError> {
        if self.is_named() {
            return Ok(Entered::Existing);
        }
        let make = |announce: Announce<'_>| self.driver.prepare_announced(self.patience.connect, announce);
        self.place.enter(make, || self.driver.adopt(self.patience.connect))
    }

    fn adopt(&self) -> Result<(), TargetError> {
        if self.is_named() {
            return Ok(());
        }
        Ok(self.driver.adopt(self.patience.connect)?)
    }

    fn remove_all(&self) -> Result<(), TargetError> {
        self.place.leave(|| self.driver.remove_all(self.patience.answer).map(drop))
    }

    fn items(&self, each: &mut dyn FnMut(u64, u64)) -> Result<bool, DriverError> {
        self.driver.list(self.patience.answer, each)?;
        Ok(true)
    }

    fn first_bytes(&self, object: u64, len: u32) -> Option<Vec<u8>> {
        // Files named by jobs have no generation.
        if self.is_named() { None } else { self.driver.beginning(object, len, PATIENCE).ok() }
    }

    fn interface(&self) -> Result<String, paths::InterfaceError> {
        paths::interface(&Paths::default(), self.address)
    }

    fn lay_out_job(&self, job: &Job, cell: &Cell) -> Result<LaidOut, TargetError> {
        let sizes = |numbers: &[u64]| self.driver.sizes(numbers, PATIENCE);
        named_job::lay_out(job, &cell.workload, "file", &self.driver.config().named, sizes)
    }

    fn finish_files(&self, job: &Job, _laid_out: &LaidOut) -> Result<(), TargetError> {
        named_job::finish(job, &self.driver.config().named, |numbers| self.driver.remove(numbers, PATIENCE))
    }
}
