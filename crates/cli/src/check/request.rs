//! From what was typed and the environment to the request of a check.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use checks::{ArrayRequest, CheckLoad, CheckRequest, CheckSource, NfsAccess, NfsUrl, S3Access, S3Url};
use drivers::Sink;
use drivers::s3::{Endpoint, PayloadSigning};
use provision::{ApiSecret, Management, Trust};
use units::Size;

use super::arguments::{CheckArguments, PayloadChoice, ReactorChoice, SinkChoice};

/// Wrong usage: one line that names the input and says what to write instead.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(String);

/// Makes sense of the arguments; `variable` reads the environment.
///
/// # Errors
/// [`UsageError`] for what contradicts itself, is missing or cannot be used.
pub fn read(
    arguments: &CheckArguments,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<CheckRequest, UsageError> {
    let source = source(arguments, &variable)?;
    let (nfs, s3) = match &source {
        CheckSource::Manual { nfs, s3 } => (!nfs.is_empty(), !s3.is_empty()),
        CheckSource::Array(_) | CheckSource::Demo => (true, true),
    };
    let request = CheckRequest {
        nfs: nfs && !arguments.skip_nfs,
        s3: s3 && !arguments.skip_s3,
        load: load(arguments)?,
        nfs_access: NfsAccess {
            uid: arguments.uid.unwrap_or_else(|| rustix::process::getuid().as_raw()),
            gid: arguments.gid.unwrap_or_else(|| rustix::process::getgid().as_raw()),
            nfs_port: arguments.nfs_port,
            mount_port: arguments.mount_port,
            portmap_port: arguments.portmap_port,
        },
        s3_access: s3_access(arguments, &variable)?,
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
    if !request.nfs && !request.s3 {
        return Err(UsageError(
            "nothing is left to check: take --skip-nfs or --skip-s3 away, or give the other target".into(),
        ));
    }
    Ok(request)
}

/// True when S3 is checked over TLS.
fn uses_tls(request: &CheckRequest) -> bool {
    request.s3
        && match &request.source {
            CheckSource::Manual { s3, .. } => s3.iter().any(|url| url.endpoint.tls),
            CheckSource::Array(_) | CheckSource::Demo => request.s3_access.tls,
        }
}

fn source(
    arguments: &CheckArguments,
    variable: &impl Fn(&str) -> Option<String>,
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
        let exports: Result<_, _> = arguments.nfs.iter().map(|text| NfsUrl::read(text)).collect();
        let buckets: Result<_, _> = arguments.s3.iter().map(|text| S3Url::read(text)).collect();
        return Ok(CheckSource::Manual {
            nfs: exports.map_err(UsageError)?,
            s3: buckets.map_err(UsageError)?,
        });
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

/// Targets that exist, named without their servers: `--data-vip ADDRESS --filesystem NAME --bucket NAME`.
fn by_name(arguments: &CheckArguments) -> Option<CheckSource> {
    let host = arguments.data_vip.first()?.to_string();
    let name = |given: &Option<String>| given.as_deref().map(|name| name.trim_matches('/').to_owned());
    let (filesystem, bucket) = (name(&arguments.filesystem), name(&arguments.bucket));
    let nfs: Vec<NfsUrl> = (filesystem.iter())
        .map(|name| NfsUrl { host: host.clone(), port: None, export: format!("/{name}") })
        .collect();
    let endpoint = Endpoint { tls: arguments.s3_tls, host, port: s3_port(arguments) };
    let s3: Vec<S3Url> =
        bucket.into_iter().map(|bucket| S3Url { endpoint: endpoint.clone(), bucket }).collect();
    (!nfs.is_empty() || !s3.is_empty()).then_some(CheckSource::Manual { nfs, s3 })
}

fn s3_port(arguments: &CheckArguments) -> u16 {
    arguments.s3_port.unwrap_or(if arguments.s3_tls { 443 } else { 80 })
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

fn s3_access(
    arguments: &CheckArguments,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<S3Access, UsageError> {
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
        profile: variable("AWS_PROFILE"),
        port: s3_port(arguments),
        tls: arguments.s3_tls,
        trust,
        region: (arguments.s3_region.clone())
            .or_else(|| drivers::s3::region_in(variable))
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
            ReactorChoice::Auto => reactor::BackendChoice::Auto,
            ReactorChoice::Uring => reactor::BackendChoice::Uring,
            ReactorChoice::Epoll => reactor::BackendChoice::Epoll,
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
