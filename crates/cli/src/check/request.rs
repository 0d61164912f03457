//! Builds the request of a check from the arguments and the environment.

use std::fs::File;
use std::path::{Path, PathBuf};

use checks::{
    ArrayRequest, CephRequest, CheckInput, CheckInputError, CheckRequest, CheckS3Input, CheckSource,
    OptionStyle, RecordOptions, gateway, management_address,
};
use drivers::Sink;
use drivers::s3::{Endpoint, Fingerprint};
use experiment::Via;
use provision::{ApiSecret, Management, Trust};

use super::arguments::{CheckArguments, NfsVersionChoice, PayloadChoice, ReactorChoice, SinkChoice};

/// How options are written here.
const STYLE: OptionStyle = OptionStyle::Flags;

/// Where Ceph's packages put the configuration.
const CEPH_CONF: &str = "/etc/ceph/ceph.conf";

/// A usage error: one line that names the input and says what to write instead.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(String);

impl From<CheckInputError> for UsageError {
    fn from(error: CheckInputError) -> Self {
        Self(error.to_string())
    }
}

/// Interprets the arguments; `variable` reads the environment.
///
/// # Errors
/// [`UsageError`] for arguments that are contradictory, missing or unusable.
pub fn read(
    arguments: &CheckArguments,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<CheckRequest, UsageError> {
    let record = RecordOptions {
        results: arguments.results.clone(),
        command: host::environment::command_line(std::env::args()),
        ..RecordOptions::default()
    };
    let input = input(arguments, &variable)?;
    Ok(input.into_request(STYLE, record, arguments.journal_dir.clone(), std::env::temp_dir())?)
}

fn input(
    arguments: &CheckArguments,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<CheckInput, UsageError> {
    let mut input = CheckInput::new(CheckSource::Demo);
    input.s3 = s3(arguments, variable, input.s3)?;
    input.source = source(arguments, variable, &input.s3)?;
    input.data_vips.clone_from(&arguments.data_vip);
    (input.skip_nfs, input.skip_s3, input.skip_rados) =
        (arguments.skip_nfs, arguments.skip_s3, arguments.skip_rados);
    input.rados.conf = ceph_conf(arguments, variable);
    input.duration = arguments.duration.0;
    input.probe = !arguments.no_probe;
    input.sink = match (arguments.verify, arguments.sink) {
        (true, _) => Sink::Verify,
        (false, SinkChoice::Buffer) => Sink::Buffer,
        (false, SinkChoice::Discard) => Sink::Discard,
    };
    input.dataset = arguments.dataset;
    input.workers = arguments.workers;
    (input.lanes, input.connections) = (arguments.lanes, arguments.connections);
    (input.block_size, input.object_size) = (arguments.block_size, arguments.object_size);
    input.reactor = match arguments.reactor {
        ReactorChoice::Auto => reactor::BackendChoice::Auto,
        ReactorChoice::Uring => reactor::BackendChoice::Uring,
        ReactorChoice::Epoll => reactor::BackendChoice::Epoll,
    };
    (input.connect_timeout, input.op_timeout) = (arguments.connect_timeout.0, arguments.op_timeout.0);
    input.nfs.stable = arguments.stable;
    (input.nfs.uid, input.nfs.gid) = (arguments.uid, arguments.gid);
    input.nfs.version = arguments.nfs_version.map(NfsVersionChoice::protocol);
    (input.nfs.port, input.nfs.mount_port) = (arguments.nfs_port, arguments.mount_port);
    input.nfs.portmap_port = arguments.portmap_port;
    Ok(input)
}

fn source(
    arguments: &CheckArguments,
    variable: &impl Fn(&str) -> Option<String>,
    s3: &CheckS3Input,
) -> Result<CheckSource, UsageError> {
    if arguments.demo {
        return Ok(CheckSource::Demo);
    }
    if arguments.ceph {
        return Ok(CheckSource::Ceph(ceph(arguments)?));
    }
    let (filesystem, bucket) = (&arguments.filesystem, &arguments.bucket);
    if !arguments.nfs.is_empty() || !arguments.s3.is_empty() || !arguments.rados.is_empty() {
        for (given, name) in [(filesystem, "--filesystem"), (bucket, "--bucket")] {
            if given.is_some() {
                return Err(UsageError(format!(
                    "{name} names something on an array, --nfs, --s3 and --rados do without one: leave one of them out"
                )));
            }
        }
        return Ok(CheckSource::of_urls(STYLE, &arguments.nfs, &arguments.s3, &arguments.rados)?);
    }
    let given = arguments.management.as_deref().filter(|address| !address.trim().is_empty());
    if let (None, Some(address)) = (given, arguments.data_vip.first())
        && let Some(source) = CheckSource::of_names(*address, filesystem.as_deref(), bucket.as_deref(), s3)?
    {
        return Ok(source);
    }
    let address = given.ok_or_else(|| {
        UsageError(
            "no array is named: set FB_MGMT_VIP or give --management HOST; or check an existing \
             target with --nfs, --s3 or --rados (or --data-vip with --filesystem or --bucket), a Ceph cluster with \
             --ceph, or try --demo"
                .into(),
        )
    })?;
    Ok(CheckSource::Array(ArrayRequest {
        management: Management {
            address: management_address(STYLE, address)?,
            token: token(arguments, variable)?,
            trust: trust(arguments)?,
            call_timeout: checks::positive(STYLE, "call-timeout", arguments.call_timeout.0)?,
        },
        filesystem: filesystem.clone(),
        bucket: bucket.clone(),
    }))
}

/// The configuration of this host's librados. That of another host's tools may be another cluster's.
fn ceph_conf(arguments: &CheckArguments, variable: &impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let elsewhere = arguments.ceph_via.is_some() || arguments.ceph_via_command.is_some();
    let usual = || {
        let named = variable("CEPH_CONF").filter(|name| !name.is_empty()).map(PathBuf::from);
        named.or_else(|| Some(PathBuf::from(CEPH_CONF)).filter(|path| path.exists()))
    };
    arguments.ceph_conf.clone().or_else(|| if elsewhere { None } else { usual() })
}

fn ceph(arguments: &CheckArguments) -> Result<CephRequest, UsageError> {
    let words = |command: &String| command.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let via = match (&arguments.ceph_via, arguments.ceph_via_command.as_ref().map(words)) {
        (Some(host), _) => Some(Via::Ssh { host: host.clone(), options: Vec::new() }),
        (None, Some(command)) if command.is_empty() => {
            let text = "--ceph-via-command is empty: write a command, such as 'cephadm shell --'";
            return Err(UsageError(text.to_owned()));
        }
        (None, command) => command.map(|command| Via::Command { command }),
    };
    let mut options = arguments.ceph_option.clone();
    if let (None, Some(conf)) = (&via, &arguments.ceph_conf) {
        options.push(format!("--conf={}", conf.display()));
    }
    let gateways = arguments.ceph_gateway.iter().map(|url| gateway("--ceph-gateway", url));
    Ok(CephRequest {
        options,
        via,
        gateways: gateways.collect::<Result<_, _>>()?,
        pg_num: arguments.ceph_pg_num,
        ..CephRequest::default()
    })
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

fn s3(
    arguments: &CheckArguments,
    variable: &impl Fn(&str) -> Option<String>,
    usual: CheckS3Input,
) -> Result<CheckS3Input, UsageError> {
    if let Some(path) = arguments.s3_tls_ca.as_deref().filter(|_| !arguments.s3_tls_insecure) {
        readable("--s3-tls-ca", path)?;
    }
    let pinned = arguments.s3_tls_fingerprint.as_deref().map(str::parse::<Fingerprint>).transpose();
    Ok(CheckS3Input {
        port: Some(arguments.s3_port.unwrap_or(Endpoint::usual_port(arguments.s3_tls))),
        tls: arguments.s3_tls,
        tls_ca: arguments.s3_tls_ca.clone(),
        tls_fingerprint: pinned.map_err(|error| UsageError(format!("--s3-tls-fingerprint: {error}")))?,
        tls_insecure: arguments.s3_tls_insecure,
        region: (arguments.s3_region.clone())
            .or_else(|| drivers::s3::region_in(variable))
            .unwrap_or(usual.region),
        virtual_host: arguments.s3_virtual_host,
        payload: match arguments.s3_payload {
            PayloadChoice::Unsigned => "unsigned",
            PayloadChoice::Signed => "signed",
            PayloadChoice::Crc64nvme => "crc64nvme",
            PayloadChoice::Crc32c => "crc32c",
        },
        credentials_file: arguments.s3_credentials_file.clone(),
        profile: variable("AWS_PROFILE"),
    })
}

/// A file that is needed later must exist now.
fn readable(flag: &str, path: &Path) -> Result<(), UsageError> {
    File::open(path).map(drop).map_err(|error| {
        UsageError(format!("{flag} {}: {error}: name a file with certificates in PEM form", path.display()))
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        check: CheckArguments,
    }

    #[test]
    fn the_defaults_are_those_of_every_check() {
        let arguments = Command::try_parse_from(["check", "--demo"]).unwrap().check;
        let mut given = input(&arguments, &|_| None).unwrap();
        // The command line names the port that is used by default.
        assert_eq!(given.s3.port.take(), Some(80));
        assert_eq!(format!("{given:?}"), format!("{:?}", CheckInput::new(CheckSource::Demo)));
    }
}
