//! `rados://pool`: objects in a pool of a Ceph cluster, through librados.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use drivers::rados::{RadosConfig, RadosDriver};
use drivers::{Announce, DriverError, Secret};
use experiment::OptionKind::{Count, Text};
use experiment::{Cell, Job, NeededValue, OpNeed, OptionHelp, SyntaxError, TargetKind, Transport, UrlForm};
use metrics::ErrorKind;
use metrics::OpKind::{
    Append, Create, Delete, Exec, Get, List, OmapGet, OmapSet, Put, Read, Remove, Stat, Truncate, Write,
};
use serde_json::Value;

use super::engines::{self, JobEngines};
use super::lay_out::refuse_trims;
use super::options::DIRECTORY;
use super::paths::named;
use super::place::{Entered, OwnPlace, PATIENCE};
use super::rados_check;
use super::rados_options::{
    EXEC_CLASS, EXEC_INPUT, EXEC_METHOD, EXEC_OUTPUT_SIZE, OMAP_KEYS, OMAP_VALUE_SIZE, method, omap,
};
use super::rados_place::{self, RadosPlace};
use super::rados_pool::PoolFacts;
use super::{
    CheckTraits, LaidOut, Look, OpenRequest, OpenTarget, Patience, Protocol, RemovalContext, RemoveLeftError,
    StageRunner, TargetError, named_job,
};

/// The protocol of `rados:`.
pub(super) struct Rados;

pub(super) const CONF: OptionHelp = OptionHelp::new(
    "conf",
    Text,
    "/etc/ceph/ceph.conf, or $CEPH_CONF",
    "the cluster's configuration file; it says where the user's keyring is",
)
.reading_file();
pub(super) const CLUSTER: OptionHelp = OptionHelp::new(
    "cluster",
    Text,
    "ceph",
    "name of the cluster, which configuration files may refer to as $cluster",
);
/// The user unless another is named, without `client.`.
pub(super) const USUAL_ID: &str = "admin";
pub(super) const ID: OptionHelp = OptionHelp::new("id", Text, USUAL_ID, "the user, without client.");
pub(super) const KEYRING: OptionHelp =
    OptionHelp::new("keyring", Text, "where the configuration says", "file with the user's key")
        .reading_file();
pub(super) const MONITORS: OptionHelp = OptionHelp::new(
    "monitors",
    Text,
    "the configuration's",
    "addresses of the monitors, such as 10.0.0.1,10.0.0.2, in place of mon_host in the configuration; together with \
     keyring they need no configuration file",
);

pub(super) const PRIMARY_ADDRESS: OptionHelp = OptionHelp::checked(
    "primary_address",
    "all",
    "only objects whose primary OSDs have this public address, such as one of several paths; they get locators for it",
    |text| {
        text.parse::<IpAddr>()
            .map(drop)
            .map_err(|_| SyntaxError::Form("write an IP address, such as 10.0.0.1"))
    },
);

const OPTIONS: &[OptionHelp] = &[
    DIRECTORY,
    CONF,
    CLUSTER,
    ID,
    KEYRING,
    MONITORS,
    PRIMARY_ADDRESS,
    OptionHelp::new(
        "namespace",
        Text,
        "one of the run's own",
        "namespace within the pool, such as one that the user's caps are limited to",
    ),
    OptionHelp::new(
        "clients",
        Count { least: 1, most: 256 },
        "1",
        "instances of librados on each host, each with connections and threads of its own, that operations use in turn",
    ),
    OMAP_KEYS,
    OMAP_VALUE_SIZE,
    EXEC_CLASS,
    EXEC_METHOD,
    EXEC_INPUT,
    EXEC_OUTPUT_SIZE,
];

pub(super) static KIND: TargetKind = TargetKind {
    objects: true,
    ranges: true,
    // As of rados bench, and of RBD and CephFS.
    usual_object_bytes: 4 << 20,
    usual_files: 64,
    usual_file_bytes: 4 << 20,
    remote: true,
    own_place: true,
    prefix_place: true,
    late_layout: true,
    op_needs: &[
        OpNeed { op: Exec, option: EXEC_CLASS.name, value: NeededValue::Any { such_as: "hello" } },
        OpNeed { op: Exec, option: EXEC_METHOD.name, value: NeededValue::Any { such_as: "say_hello" } },
    ],
    transport: Transport::Network,
    ..TargetKind::new(
        "rados",
        "rados://pool",
        UrlForm::Name,
        &[
            Read, Write, Create, Append, Truncate, Remove, Put, Get, Stat, List, Delete, OmapSet, OmapGet,
            Exec,
        ],
        OPTIONS,
    )
};

impl Protocol for Rados {
    fn kind(&self) -> &'static TargetKind {
        &KIND
    }

    fn engines(&self) -> JobEngines {
        engines::rados::ENGINES
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Box<dyn OpenTarget>, TargetError> {
        Ok(Box::new(open(request)?))
    }

    fn check(&self) -> Option<&'static CheckTraits> {
        Some(&rados_check::CHECK)
    }

    fn remove_left(&self, place: &Value, cx: &mut RemovalContext<'_>) -> Result<(), RemoveLeftError> {
        rados_place::remove_left(place, cx)
    }
}

/// A pool.
pub(super) struct RadosTarget {
    pub(super) driver: RadosDriver,
    place: OwnPlace,
    patience: Patience,
}

/// A pool's namespace and a prefix in it, with how the cluster is reached, by the options that all protocols of Ceph's have.
pub(super) fn entry(
    request: &OpenRequest<'_>,
    namespace: String,
    prefix: String,
) -> Result<RadosPlace, TargetError> {
    let OpenRequest { target, url, options: given, context, .. } = *request;
    let wrong = |problem: String| TargetError::Input(format!("target {}: {problem}", target.name));
    // A run's journal is read from other directories too.
    let file = |name: &str| -> Result<Option<PathBuf>, TargetError> {
        let text = given.text(name).map(Path::new);
        text.map(std::path::absolute)
            .transpose()
            .map_err(|error| wrong(format!("{name}: {error}; next: write an absolute path")))
    };
    let (keyring, monitors) = (file("keyring")?, given.text("monitors").map(str::to_owned));
    let conf = match file("conf")? {
        Some(conf) => Some(conf),
        None if monitors.is_some() => None,
        // Programs that serve several users have no environment, and the configuration of this machine's user, with its
        // keyring, is not theirs.
        None if context.secrets.variable("HOME").is_none() => {
            return Err(wrong(
                "there is no configuration of a Ceph cluster; next: give the option conf".to_owned(),
            ));
        }
        None => context.secrets.variable("CEPH_CONF").map(PathBuf::from),
    };
    let id = match (context.secrets.key(&target.name), given.text("id")) {
        (Some(_), Some(_)) => {
            return Err(wrong("the run creates a user of its own; next: remove the option id".to_owned()));
        }
        (Some(key), None) => key.id,
        (None, id) => id.unwrap_or(USUAL_ID).to_owned(),
    };
    let pool = url.authority().to_owned();
    let cluster = given.text("cluster").map(str::to_owned);
    Ok(RadosPlace { cluster, conf, monitors, id, keyring, pool, namespace, prefix })
}

/// The key of a user that the run created for the target.
pub(super) fn provisioned_key(request: &OpenRequest<'_>) -> Option<Secret> {
    request.context.secrets.key(&request.target.name).map(|key| Secret::new(key.secret))
}

fn open(request: &OpenRequest<'_>) -> Result<RadosTarget, TargetError> {
    let OpenRequest { target, options: given, context, workload, .. } = *request;
    let wrong = |problem: String| TargetError::Input(format!("target {}: {problem}", target.name));
    let kept = given.text("directory");
    let job = workload.stream();
    let prefix = kept.map_or_else(|| context.place.object_name(), str::to_owned);
    let namespace = match (given.text("namespace"), kept) {
        (Some(namespace), _) => namespace.to_owned(),
        (None, Some(_)) => String::new(),
        // A job's objects lie where the user put them.
        (None, None) if job.is_some() => String::new(),
        // Listing it passes over the objects of others on the servers, not here.
        (None, None) => prefix.clone(),
    };
    let entry = entry(request, namespace, prefix)?;
    let primary_address = given.text(PRIMARY_ADDRESS.name).and_then(|text| text.parse().ok());
    if job.is_some() && primary_address.is_some() {
        return Err(wrong(format!(
            "{} is for objects of the run's own, and the objects of a job lie where their names say; next: leave it out",
            PRIMARY_ADDRESS.name
        )));
    }
    let config = RadosConfig {
        clients: given.number("clients").unwrap_or(1),
        omap: workload.does(|op| matches!(op, OmapSet | OmapGet)).then(|| omap(given)),
        exec: workload.does(|op| op == Exec).then(|| method(given)),
        primary_address,
        named: job.map(|job| named_job::names(job, workload.jobs)).unwrap_or_default(),
        ..entry.config(provisioned_key(request))
    };
    let place = context.place_unless(kept.is_some() || job.is_some(), || entry);
    let driver = RadosDriver::new(config).map_err(|error| wrong(error.detail.into()))?;
    Ok(RadosTarget { driver, place, patience: context.patience })
}

impl OpenTarget for RadosTarget {
    fn kind(&self) -> &'static TargetKind {
        &KIND
    }

    fn driver(&self) -> &dyn StageRunner {
        &self.driver
    }

    fn own_facts(&self) -> BTreeMap<String, String> {
        let config = self.driver.config();
        let mut facts = named([
            ("protocol", "RADOS through librados' asynchronous calls".to_owned()),
            ("pool", config.pool.clone()),
            ("namespace", config.namespace.clone()),
            ("object prefix", format!("{}.", config.prefix)),
            ("user", format!("client.{}", config.access.user)),
            ("client instances", config.clients.to_string()),
        ]);
        facts.extend(
            config.primary_address.map(|address| ("primary OSDs".to_owned(), format!("those at {address}"))),
        );
        facts.extend(config.omap.map(|omap| {
            let text = format!("{} keys of {} bytes in each operation", omap.keys, omap.value_bytes);
            ("omap".to_owned(), text)
        }));
        facts.extend(config.exec.as_ref().map(|exec| {
            let text = format!("{}.{}, {} bytes of input", exec.class, exec.method, exec.input.len());
            ("exec".to_owned(), text)
        }));
        facts.extend(PoolFacts::named(&self.driver));
        facts
    }

    fn place(&self) -> Option<&OwnPlace> {
        Some(&self.place)
    }

    fn look(&self, _writes: bool) -> Look {
        let pool = match PoolFacts::ask(&self.driver, self.patience.connect) {
            Ok(pool) => pool,
            Err(error) => return Look::refused(&error.into()),
        };
        let config = self.driver.config();
        if config.omap.is_some() && pool.is_erasure_coded() {
            let text = format!(
                "pool {} is erasure-coded, and its objects have no omap; next: name a replicated pool",
                config.pool
            );
            return Look::refused(&DriverError::new(ErrorKind::Rejected, text).into());
        }
        if let Err(error) = self.driver.check_method(self.patience.connect) {
            return Look::refused(&error.into());
        }
        let space = pool.space(config, self.place.is_kept());
        Look { seen: format!("{pool} answers"), space, ..Look::default() }
    }

    fn lay_out_job(&self, job: &Job, cell: &Cell) -> Result<LaidOut, TargetError> {
        refuse_trims(job, &cell.workload, "RADOS")?;
        let sizes = |numbers: &[u64]| self.driver.sizes(numbers, PATIENCE);
        named_job::lay_out(job, &cell.workload, "object", &self.driver.config().named, sizes)
    }

    fn finish_files(&self, job: &Job, _laid_out: &LaidOut) -> Result<(), TargetError> {
        named_job::finish(job, &self.driver.config().named, |numbers| self.driver.remove(numbers, PATIENCE))
    }

    fn prepare(&self) -> Result<Entered, TargetError> {
        if !self.driver.config().named.is_empty() {
            // A job's own objects are inspected when they are laid out.
            return Ok(Entered::Existing);
        }
        // A prefix needs no creation. Removal relies on listing objects, so whether they can be listed is checked before
        // there are any. That asks every placement group, and is not the first contact.
        let make = |announce: Announce<'_>| {
            match self.driver.adopt(self.patience.answer) {
                Err(error) if error.kind != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            announce()
        };
        self.place.enter(make, || self.driver.adopt(self.patience.answer))
    }

    fn adopt(&self) -> Result<(), TargetError> {
        if !self.driver.config().named.is_empty() {
            return Ok(());
        }
        Ok(self.driver.adopt(self.patience.connect)?)
    }

    fn remove_all(&self) -> Result<(), TargetError> {
        self.place
            .leave(|| -> Result<(), DriverError> { self.driver.remove_all(self.patience.answer).map(drop) })
    }

    fn items(&self, each: &mut dyn FnMut(u64, u64)) -> Result<bool, DriverError> {
        self.driver.list(self.patience.answer, each)?;
        Ok(true)
    }

    fn first_bytes(&self, object: u64, len: u32) -> Option<Vec<u8>> {
        self.driver.beginning(object, len, PATIENCE).ok()
    }
}
