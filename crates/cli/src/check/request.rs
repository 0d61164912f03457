//! The validated request: what to check, made once from what was typed and from the environment.

use std::fs::File;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use drivers::Sink;
use drivers::s3::{Endpoint, PayloadSigning};
use provision::{Management, Secret, Trust};
use units::Size;

use super::arguments::{CheckArguments, Format, PayloadChoice, ReactorChoice, SinkChoice};
use super::url::{self, NfsUrl, S3Url};
use crate::check::report::Settings;

/// Wrong usage: one line that names the input and says what to write instead.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(String);

/// Whose storage is checked.
#[derive(Debug)]
pub enum Source {
    /// An array that makes the targets.
    Array(ArrayRequest),
    /// Exports and buckets that exist.
    Manual {
        /// The exports.
        nfs: Vec<NfsUrl>,
        /// The buckets.
        s3: Vec<S3Url>,
    },
    /// A simulated array in this process.
    Demo,
}

/// The array's two inputs and what may be asked of it.
#[derive(Debug)]
pub struct ArrayRequest {
    /// Where and with which token to log in.
    pub management: Management,
    /// An existing file system to use.
    pub filesystem: Option<String>,
    /// An existing bucket to use.
    pub bucket: Option<String>,
}

/// How much load of which shape.
#[derive(Clone, Debug)]
pub struct Load {
    /// Measured time of a phase.
    pub window: Duration,
    /// Time before it that is not counted.
    pub ramp: Duration,
    /// Threads.
    pub workers: u32,
    /// Operations in flight a thread.
    pub lanes: u32,
    /// NFS connections a thread.
    pub connections: u32,
    /// Bytes of one NFS operation.
    pub block_size: u64,
    /// Bytes of one object.
    pub object_size: u64,
    /// Most that is written before starting over.
    pub dataset: u64,
    /// Where the data of reads goes.
    pub sink: Sink,
    /// Durable writes at once.
    pub stable: bool,
    /// io_uring or epoll.
    pub reactor: reactor::Choice,
    /// Longest wait for a connection.
    pub connect_timeout: Duration,
    /// Longest wait for an operation.
    pub op_timeout: Duration,
}

/// How NFS is reached.
#[derive(Clone, Debug)]
pub struct NfsAccess {
    /// User that requests carry.
    pub uid: u32,
    /// Group that requests carry.
    pub gid: u32,
    /// Port of NFS, if not asked for.
    pub nfs_port: Option<u16>,
    /// Port of MOUNT, if not asked for.
    pub mount_port: Option<u16>,
    /// Port to ask on.
    pub portmap_port: u16,
}

/// How S3 is reached.
#[derive(Clone, Debug)]
pub struct S3Access {
    /// File with the keys.
    pub credentials_file: Option<PathBuf>,
    /// Port on the array's data addresses.
    pub port: u16,
    /// Whether the array's data addresses speak TLS.
    pub tls: bool,
    /// Whose certificates are accepted.
    pub trust: drivers::s3::Trust,
    /// Region to sign for.
    pub region: String,
    /// Bucket in front of the host name.
    pub virtual_host: bool,
    /// How uploads are protected.
    pub signing: PayloadSigning,
}

/// Everything that a check needs to know.
#[derive(Debug)]
pub struct Request {
    /// Whose storage.
    pub source: Source,
    /// Whether NFS is checked.
    pub nfs: bool,
    /// Whether S3 is checked.
    pub s3: bool,
    /// Addresses to use instead of the chosen ones.
    pub data_vips: Vec<IpAddr>,
    /// The load.
    pub load: Load,
    /// Reaching NFS.
    pub nfs_access: NfsAccess,
    /// Reaching S3.
    pub s3_access: S3Access,
    /// Format of the report.
    pub format: Format,
    /// File for the report.
    pub output_file: Option<PathBuf>,
    /// Directory of the journal.
    pub journal_dir: Option<PathBuf>,
}

impl Request {
    /// Makes sense of the arguments; `variable` reads the environment.
    ///
    /// # Errors
    /// [`UsageError`] for what contradicts itself, is missing or cannot be used.
    pub fn new(
        arguments: CheckArguments,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, UsageError> {
        let source = source(&arguments, variable)?;
        let (nfs, s3) = match &source {
            Source::Manual { nfs, s3 } => (!nfs.is_empty(), !s3.is_empty()),
            Source::Array(_) | Source::Demo => (true, true),
        };
        let request = Self {
            nfs: nfs && !arguments.skip_nfs,
            s3: s3 && !arguments.skip_s3,
            load: load(&arguments)?,
            nfs_access: NfsAccess {
                uid: arguments.uid.unwrap_or_else(|| rustix::process::getuid().as_raw()),
                gid: arguments.gid.unwrap_or_else(|| rustix::process::getgid().as_raw()),
                nfs_port: arguments.nfs_port,
                mount_port: arguments.mount_port,
                portmap_port: arguments.portmap_port,
            },
            s3_access: s3_access(&arguments)?,
            data_vips: arguments.data_vip,
            source,
            format: arguments.output,
            output_file: arguments.output_file,
            journal_dir: arguments.journal_dir,
        };
        if request.load.sink == Sink::Discard && request.uses_tls() {
            return Err(UsageError(
                "--sink discard does not work with S3 over TLS, which must see the bytes to decrypt them: take --sink \
                 discard away, use http, or leave S3 out with --skip-s3"
                    .into(),
            ));
        }
        if !request.nfs && !request.s3 {
            return Err(UsageError(
                "nothing is left to check: take --skip-nfs or --skip-s3 away, or give the other target"
                    .into(),
            ));
        }
        Ok(request)
    }

    /// True when S3 is checked over TLS.
    fn uses_tls(&self) -> bool {
        self.s3
            && match &self.source {
                Source::Manual { s3, .. } => s3.iter().any(|url| url.endpoint.tls),
                Source::Array(_) | Source::Demo => self.s3_access.tls,
            }
    }

    /// The load as the report shows it.
    pub fn settings(&self) -> Settings {
        let load = &self.load;
        Settings {
            duration_s: load.window.as_secs_f64(),
            ramp_s: load.ramp.as_secs_f64(),
            workers: load.workers,
            lanes: load.lanes,
            connections: load.connections,
            block_size: load.block_size,
            object_size: load.object_size,
            dataset: load.dataset,
            sink: super::stage::sink_name(load.sink),
            stable: load.stable,
            s3_payload: match self.s3_access.signing {
                PayloadSigning::Unsigned => "unsigned",
                PayloadSigning::Signed => "signed",
                PayloadSigning::CrcTrailer => "crc64nvme",
                PayloadSigning::Crc32cTrailer => "crc32c",
            },
        }
    }
}

fn source(
    arguments: &CheckArguments,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Source, UsageError> {
    if arguments.demo {
        return Ok(Source::Demo);
    }
    if !arguments.nfs.is_empty() || !arguments.s3.is_empty() {
        for (given, name) in [(&arguments.filesystem, "--filesystem"), (&arguments.bucket, "--bucket")] {
            if given.is_some() {
                return Err(UsageError(format!(
                    "{name} names something on an array, --nfs and --s3 do without one: leave one of them out"
                )));
            }
        }
        let exports: Result<_, _> = arguments.nfs.iter().map(|text| url::nfs(text)).collect();
        let buckets: Result<_, _> = arguments.s3.iter().map(|text| url::s3(text)).collect();
        return Ok(Source::Manual { nfs: exports.map_err(UsageError)?, s3: buckets.map_err(UsageError)? });
    }
    let given = arguments.management.as_deref().map(str::trim).filter(|address| !address.is_empty());
    if let (None, Some(source)) = (given, by_name(arguments)) {
        return Ok(source);
    }
    let address = given.ok_or_else(|| {
        UsageError(
            "no array is named: set FB_MGMT_VIP or give --management HOST; or check an existing \
             target with --nfs or --s3 (or --data-vip with --filesystem or --bucket), or try --demo"
                .into(),
        )
    })?;
    if address.contains('@') || address.contains(char::is_whitespace) {
        return Err(UsageError(format!(
            "--management {address:?} is no address: write host, host:port or [IPv6]:port"
        )));
    }
    Ok(Source::Array(ArrayRequest {
        management: Management {
            address: address.to_owned(),
            token: token(arguments, variable)?,
            trust: trust(arguments)?,
            call_timeout: positive("--call-timeout", arguments.call_timeout.0)?,
        },
        filesystem: arguments.filesystem.clone(),
        bucket: arguments.bucket.clone(),
    }))
}

/// Targets that exist, named without their servers: `--data-vip ADDRESS --filesystem NAME --bucket NAME`.
fn by_name(arguments: &CheckArguments) -> Option<Source> {
    let host = arguments.data_vip.first()?.to_string();
    let name = |given: &Option<String>| given.as_deref().map(|name| name.trim_matches('/').to_owned());
    let (filesystem, bucket) = (name(&arguments.filesystem), name(&arguments.bucket));
    let nfs: Vec<NfsUrl> = (filesystem.iter())
        .map(|name| NfsUrl { host: host.clone(), port: None, export: format!("/{name}") })
        .collect();
    let endpoint = Endpoint { tls: arguments.s3_tls, host, port: s3_port(arguments) };
    let s3: Vec<S3Url> =
        bucket.into_iter().map(|bucket| S3Url { endpoint: endpoint.clone(), bucket }).collect();
    (!nfs.is_empty() || !s3.is_empty()).then_some(Source::Manual { nfs, s3 })
}

fn s3_port(arguments: &CheckArguments) -> u16 {
    arguments.s3_port.unwrap_or(if arguments.s3_tls { 443 } else { 80 })
}

fn token(
    arguments: &CheckArguments,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Secret, UsageError> {
    if let Some(path) = &arguments.token_file {
        return Secret::from_file(path).map_err(|error| UsageError(format!("--token-file: {error}")));
    }
    let token = variable("FB_TOKEN").map(|text| Secret::new(&text));
    token.filter(|token| !token.is_empty()).ok_or_else(|| {
        UsageError(
            "no API token: set FB_TOKEN or give --token-file FILE (on the array, `pureadmin create \
             --api-token` makes one)"
                .into(),
        )
    })
}

fn trust(arguments: &CheckArguments) -> Result<Trust, UsageError> {
    if arguments.tls_insecure {
        return Ok(Trust::Insecure);
    }
    if let Some(path) = &arguments.tls_ca {
        readable("--tls-ca", path)?;
        return Ok(Trust::CaFile(path.clone()));
    }
    match &arguments.tls_fingerprint {
        None => Ok(Trust::System),
        Some(text) => {
            let pinned = text.parse().map_err(|error| UsageError(format!("--tls-fingerprint: {error}")))?;
            Ok(Trust::Fingerprint(pinned))
        }
    }
}

fn s3_access(arguments: &CheckArguments) -> Result<S3Access, UsageError> {
    use drivers::s3::Trust;
    let trust = if arguments.s3_tls_insecure {
        Trust::Insecure
    } else if let Some(path) = &arguments.s3_tls_ca {
        readable("--s3-tls-ca", path)?;
        Trust::CaFile(path.clone())
    } else if let Some(text) = &arguments.s3_tls_fingerprint {
        let pinned = text.parse().map_err(|error| UsageError(format!("--s3-tls-fingerprint: {error}")))?;
        Trust::Fingerprint(pinned)
    } else {
        Trust::System
    };
    Ok(S3Access {
        credentials_file: arguments.s3_credentials_file.clone(),
        port: s3_port(arguments),
        tls: arguments.s3_tls,
        trust,
        region: (arguments.s3_region.clone())
            .or_else(drivers::s3::region_from_environment)
            .unwrap_or_else(|| "us-east-1".into()),
        virtual_host: arguments.s3_virtual_host,
        signing: match arguments.s3_payload {
            PayloadChoice::Unsigned => PayloadSigning::Unsigned,
            PayloadChoice::Signed => PayloadSigning::Signed,
            PayloadChoice::Crc64nvme => PayloadSigning::CrcTrailer,
            PayloadChoice::Crc32c => PayloadSigning::Crc32cTrailer,
        },
    })
}

fn load(arguments: &CheckArguments) -> Result<Load, UsageError> {
    let window = positive("--duration", arguments.duration.0)?;
    let size = |flag: &str, size: Size, most: u64| match size.bytes() {
        0 => Err(UsageError(format!("{flag} 0: it must be at least 1 byte"))),
        bytes if bytes > most => {
            Err(UsageError(format!("{flag} {size}: more than {} is not supported", Size(most))))
        }
        bytes => Ok(bytes),
    };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Ok(Load {
        window,
        // What starts up must not be counted: connections open, windows grow, caches fill.
        ramp: (window / 5).min(Duration::from_secs(2)),
        workers: arguments.workers.unwrap_or_else(|| u32::try_from(cores).unwrap_or(1)),
        lanes: arguments.lanes,
        connections: arguments.connections,
        block_size: size("--block-size", arguments.block_size, 16 << 20)?,
        object_size: size("--object-size", arguments.object_size, 5 << 30)?,
        dataset: size("--dataset", arguments.dataset, u64::MAX)?,
        sink: match (arguments.verify, arguments.sink) {
            (true, _) => Sink::Verify,
            (false, SinkChoice::Buffer) => Sink::Buffer,
            (false, SinkChoice::Discard) => Sink::Discard,
        },
        stable: arguments.stable,
        reactor: match arguments.reactor {
            ReactorChoice::Auto => reactor::Choice::Auto,
            ReactorChoice::Uring => reactor::Choice::Uring,
            ReactorChoice::Epoll => reactor::Choice::Epoll,
        },
        connect_timeout: positive("--connect-timeout", arguments.connect_timeout.0)?,
        op_timeout: positive("--op-timeout", arguments.op_timeout.0)?,
    })
}

/// A file that is needed later must be there now.
fn readable(flag: &str, path: &Path) -> Result<(), UsageError> {
    File::open(path).map(drop).map_err(|error| {
        UsageError(format!("{flag} {}: {error}: name a file with certificates in PEM form", path.display()))
    })
}

fn positive(flag: &str, duration: Duration) -> Result<Duration, UsageError> {
    if duration.is_zero() {
        return Err(UsageError(format!("{flag} 0: it must be longer than nothing, such as 10s")));
    }
    Ok(duration)
}
