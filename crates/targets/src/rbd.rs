//! `rbd://pool/image`: an image of a Ceph cluster, used as a whole like a block device, through librbd. With `create` it is
//! one of the run's own.

use std::path::Path;

use drivers::rados::RadosDriver;
use drivers::rados::rbd::{RbdConfig, RbdCreation, RbdDriver};
use experiment::OptionKind::{Bytes, Flag, Text};
use experiment::{OptionHelp, TargetKind, TargetUrl, Transport, UrlForm, Workload};
use metrics::OpKind::{self, Commit, Read, Trim, Write, WriteZeroes};
use serde_json::Value;

use super::engines::{self, JobEngines};
use super::rados::{self, CLUSTER, CONF, ID, KEYRING, MONITORS};
use super::rbd_image::RbdTarget;
use super::rbd_place::{self, RbdPlace};
use super::{OpenRequest, OpenTarget, Protocol, RemovalContext, RemoveLeftError, TargetError, kinds};

/// The protocol of `rbd:`.
pub(super) struct Rbd;

/// The option with the size of an image that is created.
const CREATE: &str = "create";
/// Options that only images have that are created.
const OF_CREATED: [&str; 3] = [IMAGE_OBJECT_SIZE, "data_pool", "exclusive_lock"];
/// Not the size of a workload's objects.
const IMAGE_OBJECT_SIZE: &str = "image_object_size";

const OPTIONS: &[OptionHelp] = &[
    CONF,
    CLUSTER,
    ID,
    KEYRING,
    MONITORS,
    OptionHelp::new("namespace", Text, "the default one", "namespace within the pool that holds the image"),
    OptionHelp::new(
        CREATE,
        Bytes { least: 4096, most: 1 << 60 },
        "an image that exists",
        "size of an image that is created for the run and removed with it; the URL then names none: rbd://pool",
    ),
    OptionHelp::new(
        IMAGE_OBJECT_SIZE,
        Bytes { least: 4096, most: 32 << 20 },
        "the configuration's, usually 4MiB",
        "size of the objects of an image that is created, a power of two",
    ),
    OptionHelp::new(
        "data_pool",
        Text,
        "the image's pool",
        "pool for the data of an image that is created, such as an erasure-coded one",
    ),
    OptionHelp::new(
        "exclusive_lock",
        Flag,
        "true; false if several hosts share the image",
        "an image that is created has the features that the configuration gives it, usually with exclusive-lock; false: \
         only layering",
    ),
    OptionHelp::new(
        "cache",
        Flag,
        "false",
        "librbd caches data in this host's memory, if the configuration has it do so (rbd_cache)",
    ),
    OptionHelp::new(
        "trim_zeroes",
        Flag,
        "false",
        "a trim makes sure that reads return zeroes; otherwise it discards, which may leave parts of objects as they are",
    ),
];

pub(super) static KIND: TargetKind = TargetKind {
    ranges: true,
    device: true,
    created_by: Some(CREATE),
    remote: true,
    transport: Transport::Network,
    ..TargetKind::new(
        "rbd",
        "rbd://pool/image",
        UrlForm::NameInName,
        &[Read, Write, Commit, Trim, WriteZeroes],
        OPTIONS,
    )
};

impl Protocol for Rbd {
    fn kind(&self) -> &'static TargetKind {
        &KIND
    }

    fn engines(&self) -> JobEngines {
        engines::rbd::ENGINES
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Box<dyn OpenTarget>, TargetError> {
        Ok(Box::new(open(request)?))
    }

    fn remove_left(&self, place: &Value, cx: &mut RemovalContext<'_>) -> Result<(), RemoveLeftError> {
        rbd_place::remove_left(place, cx)
    }
}

/// Whether a text of `--destroy` names this image: what it says must be so.
fn is_named_by(request: &OpenRequest<'_>, namespace: &str, text: &Path) -> bool {
    let named = text.to_str().and_then(|text| TargetUrl::parse(kinds(), text).ok());
    named.is_some_and(|named| {
        let same = |(name, value): &(String, String)| match &**name {
            "namespace" => value == namespace,
            name => request.options.text(name) == Some(value),
        };
        let all = namespace.is_empty() || named.query().iter().any(|(name, _)| name == "namespace");
        std::ptr::eq(named.kind(), &KIND)
            && named.authority() == request.url.authority()
            && named.path() == request.url.path()
            && all
            && named.query().iter().all(same)
    })
}

/// The image's name, and how it is created, if it is.
fn image(request: &OpenRequest<'_>, hosts: u64) -> Result<(String, Option<RbdCreation>), TargetError> {
    let OpenRequest { target, url, options: given, context, workload } = *request;
    let wrong = |problem: String| TargetError::Input(format!("target {}: {problem}", target.name));
    let (pool, named) = (url.authority(), url.path().trim_start_matches('/'));
    let Some(bytes) = given.number(CREATE) else {
        if let Some(name) = OF_CREATED.iter().find(|name| given.iter().any(|(other, _)| other == **name)) {
            return Err(wrong(format!(
                "{name} is for images that are created; next: add create=SIZE, or remove it"
            )));
        }
        if named.is_empty() {
            return Err(wrong(format!(
                "no image is named; next: write rbd://{pool}/IMAGE, or rbd://{pool}?create=SIZE for one of the run's own"
            )));
        }
        return Ok((named.to_owned(), None));
    };
    if !named.is_empty() {
        return Err(wrong(format!(
            "create makes an image of the run's own, and {named} is named; next: write rbd://{pool}?create=SIZE"
        )));
    }
    if workload.stream().is_some() {
        return Err(wrong("a job uses an image that exists; next: name one, and remove create".to_owned()));
    }
    let object_bytes: Option<u64> = given.number(IMAGE_OBJECT_SIZE);
    if let Some(bytes) = object_bytes.filter(|bytes| !bytes.is_power_of_two()) {
        return Err(wrong(format!(
            "{IMAGE_OBJECT_SIZE}: {bytes} is no power of two; next: write such as 4MiB"
        )));
    }
    let creation = RbdCreation {
        bytes,
        object_bytes,
        data_pool: given.text("data_pool").map(str::to_owned),
        usual_features: given.flag("exclusive_lock").unwrap_or(hosts == 1),
    };
    Ok((context.place.object_name(), Some(creation)))
}

fn open(request: &OpenRequest<'_>) -> Result<RbdTarget, TargetError> {
    let OpenRequest { target, options: given, context, workload, .. } = *request;
    let wrong = |problem: &str| TargetError::Input(format!("target {}: {problem}", target.name));
    let parts = if workload.stream().is_some() { 1 } else { u64::from(context.parts.max(1)) };
    let (image, creation) = image(request, parts)?;
    let namespace = given.text("namespace").unwrap_or_default().to_owned();
    let destroy = context.destroy.iter().any(|text| is_named_by(request, &namespace, text));
    let entry = RbdPlace(rados::entry(request, namespace, image)?);
    let config = RbdConfig {
        cache: given.flag("cache").unwrap_or(false),
        zeroes: given.flag("trim_zeroes").unwrap_or(false),
        ..entry.config(rados::provisioned_key(request))
    };
    let driver = |config| RbdDriver::new(config).map_err(|error| wrong(&error.detail));
    // Only the pool of its configuration is asked about.
    let pool =
        RadosDriver::new(drivers::rados::RadosConfig { prefix: "rbd".to_owned(), ..config.pool.clone() })
            .map_err(|error| wrong(&error.detail))?;
    let place = context.place_unless(creation.is_none(), || entry);
    let mut opened = RbdTarget {
        driver: driver(config)?,
        pool,
        place,
        patience: context.patience,
        destroy,
        fills: workload.stream().is_none(),
        writes: workload.does(OpKind::changes_data),
        parts,
        used_bytes: workload.file_bytes(),
        creation,
    };
    if opened.used_bytes == 0 {
        // All of the image: only the cluster knows how much that is, if it exists.
        let bytes = match &opened.creation {
            Some(creation) => creation.bytes,
            None => opened.driver.look(context.patience.connect)?.bytes,
        };
        opened.used_bytes = whole_blocks(bytes / parts, workload);
    }
    if let Some(creation) = &opened.creation {
        opened.fits(creation.bytes)?;
    }
    if parts > 1 {
        opened.driver =
            driver(RbdConfig { slice_bytes: opened.used_bytes, ..opened.driver.config().clone() })?;
    }
    Ok(opened)
}

/// The largest part that whole blocks of every size fill.
fn whole_blocks(size: u64, workload: &Workload) -> u64 {
    let largest = workload.block_sizes().iter().map(|size| size.bytes).max().unwrap_or(1).max(1);
    if size < largest { size } else { size / largest * largest }
}
