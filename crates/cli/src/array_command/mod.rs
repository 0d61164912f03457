//! `manometer array`: runs a simulated array until it is told to stop.

mod announce;
mod data;
mod keys_file;
mod playground;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use anyhow::{Context, anyhow, bail};
use array::{Array, Config, ManagementTls, StartError, Token};
use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use units::Size;

use self::data::Data;
use self::keys_file::KeysFile;
use crate::exit;
use crate::interrupt;
use crate::messages::Messages;

/// Default address of the management API.
const MANAGEMENT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8443);

/// Runs a simulated array: the management API, NFS (versions 3 and 4.1) and S3 in memory, on loopback addresses.
///
/// With --playground it starts with an export, a bucket and keys, and prints commands to try.
///
/// Prints its addresses and runs until Ctrl-C or SIGTERM. Faults can be injected from the start, and changed
/// while it runs through a file; see docs/simulated-array.md.
///
/// Exit code: 0 stopped as asked, 1 cannot start, 2 wrong usage.
#[derive(Args, Debug)]
pub struct ArrayArguments {
    /// Create an export and a bucket, both called `bench`, and print commands to try
    #[arg(long)]
    playground: bool,
    /// Create a file system at start, exported over NFS to every client; may be repeated
    #[arg(long, value_name = "NAME")]
    export: Vec<String>,
    /// Create a bucket at start; its keys go to a file that is removed on exit; may be repeated
    #[arg(long, value_name = "NAME")]
    bucket: Vec<String>,
    /// Address of the management API [default: 127.0.0.1:8443; with --playground a free port]
    #[arg(long, value_name = "ADDRESS:PORT")]
    management: Option<SocketAddr>,
    /// Data address: IP[,subnet=NAME][,interface=NAME][,prefix=BITS][,mtu=BYTES][,nfs=PORT][,mount=PORT]
    /// [,portmap=PORT][,s3=PORT][,s3-tls=PORT][,disabled]; unspecified ports are free ones. May be repeated
    /// [default: 127.0.1.1,subnet=subnet1 and 127.0.2.1,subnet=subnet2]
    #[arg(long, value_name = "IP,…")]
    data: Vec<Data>,
    /// File with the API token [default: MANOMETER_ARRAY_TOKEN from the environment, else a random token,
    /// which is printed]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// PEM file with the management API's certificate [default: self-signed, created at start]
    #[arg(long, value_name = "FILE", requires = "key", conflicts_with = "plain_http")]
    certificate: Option<PathBuf>,
    /// PEM file with the certificate's private key
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Serve the management API without TLS; the token travels in clear text
    #[arg(long)]
    plain_http: bool,
    /// API versions to offer, separated by commas [default: 1.0 to 1.12 and 2.0 to 2.29]
    #[arg(long, value_name = "VERSIONS", value_delimiter = ',')]
    api_versions: Vec<String>,
    /// Capacity shared by files and objects
    #[arg(long, value_name = "SIZE", default_value = "8GiB")]
    capacity: Size,
    /// Inject a fault, for example 127.0.2.1/s3=drop or */nfs=latency:20ms; may be repeated
    #[arg(long, value_name = "WHERE=WHAT")]
    fault: Vec<String>,
    /// JSON file with faults, reread whenever it changes
    #[arg(long, value_name = "FILE", conflicts_with = "fault")]
    fault_file: Option<PathBuf>,
    /// Serve everything that exists at GET /state
    #[arg(long)]
    state: bool,
    /// Domain for virtual-hosted-style S3 (BUCKET.DOMAIN)
    #[arg(long, value_name = "DOMAIN")]
    s3_domain: Option<String>,
    /// Threads that serve S3
    #[arg(long, value_name = "N", default_value_t = 1)]
    s3_threads: usize,
    /// Threads that serve NFS
    #[arg(long, value_name = "N", default_value_t = 1)]
    nfs_threads: usize,
    /// I/O of the NFS threads: auto, uring or epoll
    #[arg(long, value_name = "REACTOR", default_value = "auto")]
    reactor: reactor::BackendChoice,
    /// Maximum items on a page of a management API list
    #[arg(long, value_name = "N", default_value_t = 1000)]
    page_items: usize,
    /// Once everything answers, write its addresses and the token to this file as JSON
    #[arg(long, value_name = "FILE")]
    ready_file: Option<PathBuf>,
    /// Exit when standard input closes, so that the array does not outlive the program that started it
    #[arg(long)]
    until_eof: bool,
}

/// Runs the array; returns the process's exit code.
pub fn run(arguments: ArrayArguments, messages: &Messages) -> u8 {
    let until = Until { ready_file: arguments.ready_file.clone(), end_of_input: arguments.until_eof };
    let playground = arguments.playground;
    let config = match configuration(arguments) {
        Ok(config) => config,
        Err(error) => return exit::usage(messages, "array", &format!("{error:#}")),
    };
    match serve(config, playground, &until) {
        Ok(()) => 0,
        Err(error) => exit::failure(messages, &format!("{error:#}")),
    }
}

fn configuration(arguments: ArrayArguments) -> anyhow::Result<Config> {
    let usual = if arguments.playground { SocketAddr::new(MANAGEMENT.ip(), 0) } else { MANAGEMENT };
    let named = |given: Vec<String>| match given.is_empty() && arguments.playground {
        true => vec![playground::NAME.to_owned()],
        false => given,
    };
    let mut config = Config {
        management: arguments.management.unwrap_or(usual),
        exports: named(arguments.export),
        buckets: named(arguments.bucket),
        ..Config::loopback()
    };
    if !arguments.data.is_empty() {
        config.data = arguments.data.into_iter().map(|Data(data)| data).collect();
        for (number, data) in (1..).zip(&mut config.data) {
            if data.subnet.is_empty() {
                data.subnet = format!("subnet{number}");
            }
            if data.interface.is_empty() {
                data.interface = format!("data{number}");
            }
        }
    }
    config.token = match &arguments.token_file {
        Some(path) => {
            let text =
                std::fs::read_to_string(path).with_context(|| format!("--token-file {}", path.display()))?;
            Token::new(text.trim())
        }
        None => std::env::var("MANOMETER_ARRAY_TOKEN").map_or_else(|_| Token::random(), Token::new),
    };
    if config.token.reveal().is_empty() {
        bail!("the API token is empty");
    }
    config.tls = match (arguments.certificate, arguments.key) {
        (Some(certificate), Some(key)) => ManagementTls::Files { certificate, key },
        _ if arguments.plain_http => ManagementTls::Off,
        _ => ManagementTls::SelfSigned,
    };
    if !arguments.api_versions.is_empty() {
        let known = array::config::all_versions();
        if let Some(unknown) = arguments.api_versions.iter().find(|version| !known.contains(version)) {
            bail!("--api-versions: {unknown:?} is none of 1.0 to 1.12 and 2.0 to 2.29");
        }
        config.versions = arguments.api_versions;
    }
    for flag in &arguments.fault {
        config.faults.add_flag(flag)?;
    }
    config.fault_file = arguments.fault_file;
    config.capacity_bytes = arguments.capacity.0;
    config.state_endpoint = arguments.state;
    config.s3_domain = arguments.s3_domain;
    config.s3_threads = arguments.s3_threads;
    config.nfs_threads = arguments.nfs_threads;
    config.nfs_reactor = arguments.reactor;
    config.page_items = arguments.page_items;
    Ok(config)
}

/// Who is told that the array is ready, and what ends it besides signals.
struct Until {
    ready_file: Option<PathBuf>,
    end_of_input: bool,
}

fn serve(config: Config, playground: bool, until: &Until) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    // The handlers are installed before the array starts, so that no signal is missed.
    let (mut interrupts, mut terminations, mut hangups) = {
        let _entered = runtime.enter();
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, interrupt::hangups()?)
    };
    let (exports, buckets) = (config.exports.clone(), config.buckets.clone());
    let mut array = Array::start(config).map_err(|error| {
        let next = match error {
            StartError::Listen { .. } | StartError::Nfs(_) => {
                "; next: give addresses of this host (`ip address` lists them) and ports that are free"
            }
            _ => "",
        };
        anyhow!("the simulated array cannot start: {error}{next}")
    })?;
    // Removed when this function ends, in any way.
    let keys = array.s3_key().map(KeysFile::write).transpose().context("the file with the S3 keys")?;
    let has = announce::Contents { exports: &exports, buckets: &buckets, keys: keys.as_ref() };
    announce::print(&array, &has)?;
    if playground {
        playground::print(&array, &has)?;
    }
    if let Some(path) = &until.ready_file {
        announce::write_ready(&array, &has, path)
            .with_context(|| format!("--ready-file {}", path.display()))?;
    }
    let (ended, end) = tokio::sync::oneshot::channel::<()>();
    // Without the flag the sender is kept, so that the end never comes.
    let mut kept = Some(ended);
    if let Some(ended) = kept.take_if(|_| until.end_of_input) {
        std::thread::spawn(move || {
            let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
            let _ = ended.send(());
        });
    }
    runtime.block_on(async {
        tokio::select! {
            _ = interrupts.recv() => {}
            _ = terminations.recv() => {}
            _ = interrupt::hangup(&mut hangups) => {}
            _ = end => {}
        }
    });
    array.stop();
    Ok(())
}
