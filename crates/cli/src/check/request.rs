//! Builds the request of a check from the arguments and the environment.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use checks::{ArrayRequest, CheckAccess, CheckLoad, CheckRequest, CheckSource, ExistingTarget};
use drivers::Sink;
use drivers::s3::{Endpoint, Fingerprint};
use provision::{ApiSecret, Management, Trust};
use targets::{ArrayPlace, CheckTarget, CheckTraits, TargetError};
use units::Size;

use super::arguments::{CheckArguments, PayloadChoice, ReactorChoice, SinkChoice};

/// A usage error: one line that names the input and says what to write instead.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(String);

/// Interprets the arguments; `variable` reads the environment.
///
/// # Errors
/// [`UsageError`] for arguments that are contradictory, missing or unusable.
pub fn read(
    arguments: &CheckArguments,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<CheckRequest, UsageError> {
    let protocols = Protocols::find()?;
    let source = source(arguments, &variable, &protocols)?;
    let given = |protocol: &'static CheckTraits| match &source {
        CheckSource::Existing(given) => given.iter().any(|one| std::ptr::eq(one.protocol, protocol)),
        CheckSource::Array(_) | CheckSource::Demo => true,
    };
    let (nfs, s3) = (given(protocols.nfs), given(protocols.s3));
    let request = CheckRequest {
        load: load(arguments)?,
        access: vec![
            CheckAccess {
                protocol: protocols.nfs,
                checked: nfs && !arguments.skip_nfs,
                port: arguments.nfs_port,
                tls: false,
                options: nfs_options(arguments),
            },
            CheckAccess {
                protocol: protocols.s3,
                checked: s3 && !arguments.skip_s3,
                port: Some(s3_port(arguments)),
                tls: arguments.s3_tls,
                options: s3_options(arguments, &variable, matches!(source, CheckSource::Existing(_)))?,
            },
        ],
        data_vips: arguments.data_vip.clone(),
        source,
        results: arguments.results.clone(),
        command: host::environment::command_line(std::env::args()),
        journal_dir: arguments.journal_dir.clone(),
        scratch: std::env::temp_dir(),
    };
    if request.load.sink == Sink::Discard && uses_tls(&request) {
        return Err(UsageError(
                "--sink discard does not work with S3 over TLS, which must see the bytes to decrypt them: take --sink \
                 discard away, use http, or leave S3 out with --skip-s3"
                    .into(),
            ));
    }
    if !request.access.iter().any(|access| access.checked) {
        return Err(UsageError(
            "nothing is left to check: take --skip-nfs or --skip-s3 away, or give the other target".into(),
        ));
    }
    Ok(request)
}

/// The protocols that have flags.
struct Protocols {
    nfs: &'static CheckTraits,
    s3: &'static CheckTraits,
}

impl Protocols {
    fn find() -> Result<Self, UsageError> {
        let on_array = |place: ArrayPlace| {
            let found = targets::checked().find(|protocol| protocol.on_array == place);
            found.ok_or_else(|| {
                UsageError(format!("nothing is checked on an array's {place:?}; this is a defect"))
            })
        };
        Ok(Self { nfs: on_array(ArrayPlace::Export)?, s3: on_array(ArrayPlace::Bucket)? })
    }
}

/// Whether anything is checked over TLS.
fn uses_tls(request: &CheckRequest) -> bool {
    request.access.iter().filter(|access| access.checked).any(|access| match &request.source {
        CheckSource::Existing(given) => {
            given.iter().any(|one| std::ptr::eq(one.protocol, access.protocol) && one.target.tls)
        }
        CheckSource::Array(_) | CheckSource::Demo => access.tls,
    })
}

fn source(
    arguments: &CheckArguments,
    variable: &impl Fn(&str) -> Option<String>,
    protocols: &Protocols,
) -> Result<CheckSource, UsageError> {
    if arguments.demo {
        return Ok(CheckSource::Demo);
    }
    if !arguments.nfs.is_empty() || !arguments.s3.is_empty() {
        for (given, name) in [(&arguments.filesystem, "--filesystem"), (&arguments.bucket, "--bucket")] {
            if given.is_some() {
                return Err(UsageError(format!(
                    "{name} names something on an array, --nfs and --s3 do without one: leave one of them out"
                )));
            }
        }
        let given = [("--nfs", protocols.nfs, &arguments.nfs), ("--s3", protocols.s3, &arguments.s3)];
        let texts = given.into_iter().flat_map(|(flag, protocol, texts)| {
            texts.iter().map(move |text| Ok(ExistingTarget { protocol, target: protocol.read(flag, text)? }))
        });
        return texts
            .collect::<Result<_, TargetError>>()
            .map(CheckSource::Existing)
            .map_err(|error| UsageError(error.to_string()));
    }
    let given = arguments.management.as_deref().map(str::trim).filter(|address| !address.is_empty());
    if let (None, Some(source)) = (given, by_name(arguments, protocols)) {
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
    Ok(CheckSource::Array(ArrayRequest {
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

/// Existing targets, named without their servers: `--data-vip ADDRESS --filesystem NAME --bucket NAME`.
fn by_name(arguments: &CheckArguments, protocols: &Protocols) -> Option<CheckSource> {
    let host = arguments.data_vip.first()?.to_string();
    let named = |given: &Option<String>, protocol, port, tls, root: &str| {
        let name = format!("{root}{}", given.as_deref()?.trim_matches('/'));
        let (host, options) = (host.clone(), BTreeMap::new());
        Some(ExistingTarget { protocol, target: CheckTarget { host, port, tls, name, options } })
    };
    let export = named(&arguments.filesystem, protocols.nfs, None, false, "/");
    let port = Some(s3_port(arguments));
    let bucket = named(&arguments.bucket, protocols.s3, port, arguments.s3_tls, "");
    let given: Vec<ExistingTarget> = export.into_iter().chain(bucket).collect();
    (!given.is_empty()).then_some(CheckSource::Existing(given))
}

fn s3_port(arguments: &CheckArguments) -> u16 {
    arguments.s3_port.unwrap_or(Endpoint::usual_port(arguments.s3_tls))
}

fn token(
    arguments: &CheckArguments,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<ApiSecret, UsageError> {
    if let Some(path) = &arguments.token_file {
        return ApiSecret::from_file(path).map_err(|error| UsageError(format!("--token-file: {error}")));
    }
    let token = variable("FB_TOKEN").map(|text| ApiSecret::new(&text));
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

/// Options of a target, skipping those without a value.
fn options<const N: usize>(given: [(&str, Option<String>); N]) -> BTreeMap<String, String> {
    given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn nfs_options(arguments: &CheckArguments) -> BTreeMap<String, String> {
    let block = arguments.block_size.bytes().to_string();
    options([
        ("uid", Some(arguments.uid.unwrap_or_else(|| rustix::process::getuid().as_raw()).to_string())),
        ("gid", Some(arguments.gid.unwrap_or_else(|| rustix::process::getgid().as_raw()).to_string())),
        ("version", arguments.nfs_version.map(|version| version.name().to_owned())),
        ("connections", Some(arguments.connections.to_string())),
        ("stable", Some(arguments.stable.to_string())),
        ("read_size", Some(block.clone())),
        ("write_size", Some(block)),
        ("mount_port", arguments.mount_port.map(|port| port.to_string())),
        ("portmap_port", Some(arguments.portmap_port.to_string())),
    ])
}

/// `own_keys`: whether the user's keys are needed, instead of keys that an array creates.
fn s3_options(
    arguments: &CheckArguments,
    variable: &impl Fn(&str) -> Option<String>,
    own_keys: bool,
) -> Result<BTreeMap<String, String>, UsageError> {
    let ca_file = arguments.s3_tls_ca.as_deref().filter(|_| !arguments.s3_tls_insecure);
    if let Some(path) = ca_file {
        readable("--s3-tls-ca", path)?;
    }
    let pinned = arguments.s3_tls_fingerprint.as_deref().map(str::parse::<Fingerprint>).transpose();
    let pinned = pinned.map_err(|error| UsageError(format!("--s3-tls-fingerprint: {error}")))?;
    let region = (arguments.s3_region.clone())
        .or_else(|| drivers::s3::region_in(variable))
        .unwrap_or_else(|| "us-east-1".into());
    let signing = match arguments.s3_payload {
        PayloadChoice::Unsigned => "unsigned",
        PayloadChoice::Signed => "signed",
        PayloadChoice::Crc64nvme => "crc64nvme",
        PayloadChoice::Crc32c => "crc32c",
    };
    let shown = |path: &Path| path.display().to_string();
    Ok(options([
        ("region", Some(region)),
        ("signing", Some(signing.to_owned())),
        ("path_style", Some((!arguments.s3_virtual_host).to_string())),
        ("tls_ca", ca_file.map(shown)),
        ("tls_fingerprint", pinned.map(|pinned| pinned.to_string())),
        ("tls_insecure", arguments.s3_tls_insecure.then(|| "true".to_owned())),
        ("credentials_file", arguments.s3_credentials_file.as_deref().filter(|_| own_keys).map(shown)),
        ("profile", variable("AWS_PROFILE").filter(|_| own_keys)),
    ]))
}

fn load(arguments: &CheckArguments) -> Result<CheckLoad, UsageError> {
    let window = positive("--duration", arguments.duration.0)?;
    let size = |flag: &str, size: Size, most: u64| match size.bytes() {
        0 => Err(UsageError(format!("{flag} 0: it must be at least 1 byte"))),
        bytes if bytes > most => {
            Err(UsageError(format!("{flag} {size}: more than {} is not supported", Size(most))))
        }
        bytes => Ok(bytes),
    };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Ok(CheckLoad {
        window,
        // Start-up effects must not be counted: connections open, windows grow, caches fill.
        ramp: (window / 5).min(Duration::from_secs(2)),
        probe: !arguments.no_probe,
        workers: arguments.workers.unwrap_or_else(|| u32::try_from(cores).unwrap_or(1)),
        lanes: arguments.lanes,
        block_size: size("--block-size", arguments.block_size, 16 << 20)?,
        object_size: size("--object-size", arguments.object_size, 5 << 30)?,
        dataset: size("--dataset", arguments.dataset, u64::MAX)?,
        sink: match (arguments.verify, arguments.sink) {
            (true, _) => Sink::Verify,
            (false, SinkChoice::Buffer) => Sink::Buffer,
            (false, SinkChoice::Discard) => Sink::Discard,
        },
        reactor: match arguments.reactor {
            ReactorChoice::Auto => reactor::BackendChoice::Auto,
            ReactorChoice::Uring => reactor::BackendChoice::Uring,
            ReactorChoice::Epoll => reactor::BackendChoice::Epoll,
        },
        connect_timeout: positive("--connect-timeout", arguments.connect_timeout.0)?,
        op_timeout: positive("--op-timeout", arguments.op_timeout.0)?,
    })
}

/// A file that is needed later must exist now.
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
