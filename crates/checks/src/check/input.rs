//! A check as people write it, on a command line or in a request: one set of defaults, limits and messages for both.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use drivers::Sink;
use drivers::s3::{Endpoint, Fingerprint};
use provision::ExportProtocol;
use targets::{ArrayPlace, CheckTarget, CheckTraits};
use units::Size;

use super::ceph_paths::bucket_behind;
use super::input_error::{CheckInputError, OptionStyle};
use super::request::{CheckAccess, CheckLoad, CheckRequest, CheckSource, ExistingTarget};
use crate::record_options::RecordOptions;

/// Maximum size of one NFS operation, in bytes.
const MAX_BLOCK: u64 = 16 << 20;
/// Maximum size of one object, in bytes: that of a PUT.
const MAX_OBJECT: u64 = 5 << 30;
/// Maximum ramp before a phase.
const MAX_RAMP: Duration = Duration::from_secs(2);

/// What to check and how, before it is interpreted. [`CheckInput::new`] has the defaults.
#[derive(Debug)]
pub struct CheckInput {
    /// The storage.
    pub source: CheckSource,
    /// Addresses to use instead of the automatically chosen ones.
    pub data_vips: Vec<IpAddr>,
    /// Leave NFS out.
    pub skip_nfs: bool,
    /// Leave S3 out.
    pub skip_s3: bool,
    /// Leave RADOS out.
    pub skip_rados: bool,
    /// Measured time of each phase.
    pub duration: Duration,
    /// Try half and twice as much in flight after phases with a doubtful limit.
    pub probe: bool,
    /// Where read data goes.
    pub sink: Sink,
    /// Most data that one phase writes before it starts over.
    pub dataset: Size,
    /// Load threads; `None`: one per core.
    pub workers: Option<u32>,
    /// Operations that each worker keeps in flight.
    pub lanes: u32,
    /// NFS connections per worker.
    pub connections: u32,
    /// Size of one NFS read or write.
    pub block_size: Size,
    /// Size of one object.
    pub object_size: Size,
    /// How to submit I/O to the kernel.
    pub reactor: reactor::BackendChoice,
    /// Timeout of connecting.
    pub connect_timeout: Duration,
    /// Timeout of one operation.
    pub op_timeout: Duration,
    /// What concerns NFS only.
    pub nfs: CheckNfsInput,
    /// What concerns S3 only.
    pub s3: CheckS3Input,
    /// What concerns RADOS only.
    pub rados: CheckRadosInput,
}

/// What concerns NFS only.
#[derive(Clone, Debug)]
pub struct CheckNfsInput {
    /// Make every write durable at once instead of by COMMIT.
    pub stable: bool,
    /// User ID; `None`: this process's.
    pub uid: Option<u32>,
    /// Group ID; `None`: this process's.
    pub gid: Option<u32>,
    /// Version; `None`: 3.
    pub version: Option<ExportProtocol>,
    /// Port of NFS, instead of asking the portmapper.
    pub port: Option<u16>,
    /// Port of MOUNT, instead of asking the portmapper.
    pub mount_port: Option<u16>,
    /// Port of the portmapper.
    pub portmap_port: u16,
}

/// What concerns S3 only.
#[derive(Clone, Debug)]
pub struct CheckS3Input {
    /// Port on an array's data addresses; `None`: 80, or 443 with TLS.
    pub port: Option<u16>,
    /// Use TLS on an array's data addresses.
    pub tls: bool,
    /// File of PEM certificates whose signatures are trusted.
    pub tls_ca: Option<PathBuf>,
    /// The certificate that is trusted.
    pub tls_fingerprint: Option<Fingerprint>,
    /// Do not verify certificates.
    pub tls_insecure: bool,
    /// Region that requests are signed for.
    pub region: String,
    /// Put the bucket into the host name instead of the path.
    pub virtual_host: bool,
    /// Integrity check of uploads: `unsigned`, `signed`, `crc64nvme` or `crc32c`.
    pub payload: &'static str,
    /// File with the keys of existing buckets.
    pub credentials_file: Option<PathBuf>,
    /// Profile in it.
    pub profile: Option<String>,
}

/// What concerns RADOS only.
#[derive(Clone, Debug, Default)]
pub struct CheckRadosInput {
    /// The cluster's configuration file on this host; `None`: the monitors suffice.
    pub conf: Option<PathBuf>,
}

impl CheckS3Input {
    /// Port on an array's data addresses.
    pub fn port(&self) -> u16 {
        self.port.unwrap_or(Endpoint::usual_port(self.tls))
    }
}

/// The protocols that have options.
struct Protocols {
    nfs: &'static CheckTraits,
    s3: &'static CheckTraits,
    rados: &'static CheckTraits,
}

impl Protocols {
    fn find() -> Result<Self, CheckInputError> {
        let on_array = |place: ArrayPlace| {
            let found = targets::checked().find(|protocol| protocol.on_array == place);
            found.ok_or(CheckInputError::NoProtocol(place))
        };
        Ok(Self {
            nfs: on_array(ArrayPlace::Export)?,
            s3: on_array(ArrayPlace::Bucket)?,
            rados: on_array(ArrayPlace::Pool)?,
        })
    }
}

impl CheckSource {
    /// Existing exports, buckets and pools, by their URLs.
    ///
    /// # Errors
    /// A URL cannot be read.
    pub fn of_urls(
        style: OptionStyle,
        nfs: &[String],
        s3: &[String],
        rados: &[String],
    ) -> Result<Self, CheckInputError> {
        let protocols = Protocols::find()?;
        let given =
            [("nfs", protocols.nfs, nfs), ("s3", protocols.s3, s3), ("rados", protocols.rados, rados)];
        let targets = given.into_iter().flat_map(|(option, protocol, texts)| {
            let option = style.name(option);
            texts.iter().map(move |text| match protocol.read(&option, text) {
                Ok(target) => Ok(ExistingTarget { protocol, target }),
                Err(source) => Err(CheckInputError::Target { option: option.clone(), source }),
            })
        });
        targets.collect::<Result<_, _>>().map(Self::Existing)
    }

    /// An existing export, an existing bucket, or both, on the server with this address; `None` without a name.
    ///
    /// # Errors
    /// None but a defect.
    pub fn of_names(
        host: IpAddr,
        export: Option<&str>,
        bucket: Option<&str>,
        s3: &CheckS3Input,
    ) -> Result<Option<Self>, CheckInputError> {
        let protocols = Protocols::find()?;
        let target = |protocol, port, tls, name: String| {
            let (host, options) = (host.to_string(), BTreeMap::new());
            ExistingTarget { protocol, target: CheckTarget { host, port, tls, name, options } }
        };
        let plain = |name: &str| name.trim_matches('/').to_owned();
        let export = export.map(|name| target(protocols.nfs, None, false, format!("/{}", plain(name))));
        let bucket = bucket.map(|name| target(protocols.s3, Some(s3.port()), s3.tls, plain(name)));
        let given: Vec<ExistingTarget> = export.into_iter().chain(bucket).collect();
        Ok((!given.is_empty()).then_some(Self::Existing(given)))
    }

    /// Whether it names a target of this protocol.
    fn has(&self, protocol: &'static CheckTraits) -> bool {
        match self {
            Self::Existing(given) => given.iter().any(|one| std::ptr::eq(one.protocol, protocol)),
            Self::Array(_) | Self::Demo => {
                matches!(protocol.on_array, ArrayPlace::Export | ArrayPlace::Bucket)
            }
            Self::Ceph(_) => matches!(protocol.on_array, ArrayPlace::Pool | ArrayPlace::Bucket),
        }
    }
}

/// The bucket that a check of a Ceph cluster creates behind the object gateway at `http://host:port` or `https://host:port`.
/// `option` is what carried it, for the message.
///
/// # Errors
/// It is none of both.
pub fn gateway(option: &str, given: &str) -> Result<CheckTarget, CheckInputError> {
    let endpoint = given.parse();
    endpoint.map(bucket_behind).map_err(|why| CheckInputError::Gateway { option: option.to_owned(), why })
}

/// The option that leaves a protocol out.
fn skip(style: OptionStyle, access: &CheckAccess) -> String {
    style.name(&format!("skip-{}", access.protocol.kind.scheme))
}

/// The address of an array's management, without surrounding white space.
///
/// # Errors
/// It is none.
pub fn management_address(style: OptionStyle, given: &str) -> Result<String, CheckInputError> {
    let address = given.trim();
    if address.is_empty() || address.contains('@') || address.contains(char::is_whitespace) {
        let option = style.name("management");
        return Err(CheckInputError::NoAddress { option, address: address.to_owned() });
    }
    Ok(address.to_owned())
}

/// A time that is not zero.
///
/// # Errors
/// It is zero.
pub fn positive(style: OptionStyle, option: &str, time: Duration) -> Result<Duration, CheckInputError> {
    match time.is_zero() {
        true => Err(CheckInputError::NoTime { option: style.name(option) }),
        false => Ok(time),
    }
}

impl CheckInput {
    /// A check of this storage, with the defaults.
    pub fn new(source: CheckSource) -> Self {
        Self {
            source,
            data_vips: Vec::new(),
            skip_nfs: false,
            skip_s3: false,
            skip_rados: false,
            duration: Duration::from_secs(60),
            probe: true,
            sink: Sink::Buffer,
            dataset: Size(64 << 30),
            workers: None,
            lanes: 16,
            connections: 4,
            block_size: Size(1 << 20),
            object_size: Size(8 << 20),
            reactor: reactor::BackendChoice::Auto,
            connect_timeout: Duration::from_secs(10),
            op_timeout: Duration::from_secs(30),
            nfs: CheckNfsInput {
                stable: false,
                uid: None,
                gid: None,
                version: None,
                port: None,
                mount_port: None,
                portmap_port: 111,
            },
            s3: CheckS3Input {
                port: None,
                tls: false,
                tls_ca: None,
                tls_fingerprint: None,
                tls_insecure: false,
                region: "us-east-1".to_owned(),
                virtual_host: false,
                payload: "unsigned",
                credentials_file: None,
                profile: None,
            },
            rados: CheckRadosInput::default(),
        }
    }

    /// The request. `style` is how its users write options, `journal` the directory of the journal (`None`: the user's),
    /// `scratch` a directory for files that exist only during the check.
    ///
    /// # Errors
    /// Something is contradictory or out of its limits.
    pub fn into_request(
        self,
        style: OptionStyle,
        record: RecordOptions,
        journal: Option<PathBuf>,
        scratch: PathBuf,
    ) -> Result<CheckRequest, CheckInputError> {
        let protocols = Protocols::find()?;
        let access = vec![
            CheckAccess {
                protocol: protocols.nfs,
                checked: self.source.has(protocols.nfs) && !self.skip_nfs,
                port: self.nfs.port,
                tls: false,
                options: self.nfs_options(),
            },
            CheckAccess {
                protocol: protocols.s3,
                checked: self.source.has(protocols.s3) && !self.skip_s3,
                port: Some(self.s3.port()),
                tls: self.s3.tls,
                options: self.s3_options(),
            },
            CheckAccess {
                protocol: protocols.rados,
                checked: self.source.has(protocols.rados) && !self.skip_rados,
                port: None,
                tls: false,
                options: options([("conf", self.rados.conf.as_ref().map(|conf| conf.display().to_string()))]),
            },
        ];
        let load = self.load(style)?;
        let request = CheckRequest {
            source: self.source,
            data_vips: self.data_vips,
            load,
            access,
            export_protocol: self.nfs.version.unwrap_or_default(),
            record,
            journal_dir: journal,
            scratch,
        };
        let keeps = |access: &&CheckAccess| access.checked && !access.protocol.kind.sink_discard;
        if let Some(access) = request.access.iter().find(keeps).filter(|_| request.load.sink == Sink::Discard)
        {
            let (scheme, skip) = (access.protocol.kind.scheme, skip(style, access));
            return Err(CheckInputError::NoDiscard { option: style.name("sink"), scheme, skip });
        }
        if request.load.sink == Sink::Discard && request.uses_tls() {
            return Err(CheckInputError::discard_over_tls(style));
        }
        if !request.access.iter().any(|access| access.checked) {
            let skipped = request.access.iter().filter(|access| request.source.has(access.protocol));
            let skips = skipped.map(|access| skip(style, access)).collect();
            return Err(CheckInputError::NothingLeft { skips });
        }
        Ok(request)
    }

    fn load(&self, style: OptionStyle) -> Result<CheckLoad, CheckInputError> {
        let time = |option: &str, time: Duration| positive(style, option, time);
        let size = |option: &str, size: Size, most: u64| match size.bytes() {
            0 => Err(CheckInputError::NoBytes { option: style.name(option) }),
            bytes if bytes > most => {
                let option = style.name(option);
                Err(CheckInputError::TooLarge { option, given: size, most: Size(most) })
            }
            bytes => Ok(bytes),
        };
        let number = |option: &str, given: u32, range: RangeInclusive<u32>| match range.contains(&given) {
            true => Ok(given),
            false => {
                let (least, most) = (u64::from(*range.start()), u64::from(*range.end()));
                let (option, given) = (style.name(option), u64::from(given));
                Err(CheckInputError::OutOfRange { option, given, least, most })
            }
        };
        for (option, port) in [
            ("nfs-port", self.nfs.port),
            ("mount-port", self.nfs.mount_port),
            ("portmap-port", Some(self.nfs.portmap_port)),
            ("s3-port", self.s3.port),
        ] {
            number(option, port.map_or(1, u32::from), 1..=u32::from(u16::MAX))?;
        }
        number("connections", self.connections, 1..=256)?;
        let window = time("duration", self.duration)?;
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let cores = u32::try_from(cores).unwrap_or(1);
        Ok(CheckLoad {
            window,
            // Start-up effects must not be counted: connections open, windows grow, caches fill.
            ramp: (window / 5).min(MAX_RAMP),
            probe: self.probe,
            workers: self.workers.map_or(Ok(cores), |workers| number("workers", workers, 1..=1024))?,
            lanes: number("lanes", self.lanes, 1..=4096)?,
            block_size: size("block-size", self.block_size, MAX_BLOCK)?,
            object_size: size("object-size", self.object_size, MAX_OBJECT)?,
            dataset: size("dataset", self.dataset, u64::MAX)?,
            sink: self.sink,
            reactor: self.reactor,
            connect_timeout: time("connect-timeout", self.connect_timeout)?,
            op_timeout: time("op-timeout", self.op_timeout)?,
        })
    }

    fn nfs_options(&self) -> BTreeMap<String, String> {
        let (nfs, block) = (&self.nfs, self.block_size.bytes().to_string());
        options([
            ("uid", nfs.uid.map(|uid| uid.to_string())),
            ("gid", nfs.gid.map(|gid| gid.to_string())),
            ("version", nfs.version.map(|version| version.number().to_owned())),
            ("connections", Some(self.connections.to_string())),
            ("stable", Some(nfs.stable.to_string())),
            ("read_size", Some(block.clone())),
            ("write_size", Some(block)),
            ("mount_port", nfs.mount_port.map(|port| port.to_string())),
            ("portmap_port", Some(nfs.portmap_port.to_string())),
        ])
    }

    fn s3_options(&self) -> BTreeMap<String, String> {
        let s3 = &self.s3;
        // An array creates keys of its own.
        let own_keys = matches!(self.source, CheckSource::Existing(_));
        let shown = |path: &PathBuf| path.display().to_string();
        options([
            ("region", Some(s3.region.clone())),
            ("signing", Some(s3.payload.to_owned())),
            ("path_style", Some((!s3.virtual_host).to_string())),
            ("tls_ca", s3.tls_ca.as_ref().filter(|_| !s3.tls_insecure).map(shown)),
            ("tls_fingerprint", s3.tls_fingerprint.map(|pinned| pinned.to_string())),
            ("tls_insecure", s3.tls_insecure.then(|| "true".to_owned())),
            ("credentials_file", s3.credentials_file.as_ref().filter(|_| own_keys).map(shown)),
            ("profile", s3.profile.clone().filter(|_| own_keys)),
        ])
    }
}

/// Options of a target, skipping those without a value.
fn options<const N: usize>(given: [(&str, Option<String>); N]) -> BTreeMap<String, String> {
    given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}
