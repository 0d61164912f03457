//! `manometer array`: runs a simulated array until it is told to stop.

use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, anyhow, bail};
use array::{AddressConfig, Array, Config, ManagementTls, StartError, Token};
use clap::Args;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use units::Size;

use crate::exit;
use crate::messages::Messages;

/// Runs a simulated array: the management API, NFSv3 and S3 in memory, on loopback addresses.
///
/// It prints where it listens and runs until Ctrl-C or SIGTERM. Faults can be given at start and, with
/// a file, changed while it runs; docs/simulated-array.md describes them.
///
/// Exit code: 0 after it was told to stop, 1 if it cannot start, 2 wrong usage.
#[derive(Args, Debug)]
pub struct ArrayArguments {
    /// Where the management API listens
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8443")]
    management: SocketAddr,
    /// A data address: IP[,subnet=NAME][,interface=NAME][,prefix=BITS][,mtu=BYTES][,nfs=PORT][,mount=PORT]
    /// [,portmap=PORT][,s3=PORT][,s3-tls=PORT][,disabled]; ports not given are free ones. May be repeated
    /// [default: 127.0.1.1,subnet=subnet1 and 127.0.2.1,subnet=subnet2]
    #[arg(long, value_name = "IP,…")]
    data: Vec<Data>,
    /// File with the API token that logs in; without it the environment's MANOMETER_ARRAY_TOKEN is used,
    /// or else a random token, which is printed
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// PEM file with the certificate of the management API [default: a self-signed one made at start]
    #[arg(long, value_name = "FILE", requires = "key", conflicts_with = "plain_http")]
    certificate: Option<PathBuf>,
    /// PEM file with the private key of the certificate
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Serve the management API without TLS: the token travels in the clear
    #[arg(long)]
    plain_http: bool,
    /// API versions that are offered, separated by commas [default: 1.0 to 1.12 and 2.0 to 2.29]
    #[arg(long, value_name = "VERSIONS", value_delimiter = ',')]
    api_versions: Vec<String>,
    /// Space for files and objects together
    #[arg(long, value_name = "SIZE", default_value = "8GiB")]
    capacity: Size,
    /// A fault, for example 127.0.2.1/s3=drop or */nfs=latency:20ms; may be repeated
    #[arg(long, value_name = "WHERE=WHAT")]
    fault: Vec<String>,
    /// JSON file with faults, read again whenever it changes
    #[arg(long, value_name = "FILE", conflicts_with = "fault")]
    fault_file: Option<PathBuf>,
    /// Answer GET /state with everything that exists
    #[arg(long)]
    state: bool,
    /// Domain for virtual-host style S3 (BUCKET.DOMAIN)
    #[arg(long, value_name = "DOMAIN")]
    s3_domain: Option<String>,
    /// Threads that serve S3
    #[arg(long, value_name = "N", default_value_t = 1)]
    s3_threads: usize,
    /// Threads that serve NFS
    #[arg(long, value_name = "N", default_value_t = 1)]
    nfs_threads: usize,
    /// How the NFS threads do their I/O: auto, uring or epoll
    #[arg(long, value_name = "REACTOR", default_value = "auto")]
    reactor: reactor::BackendChoice,
    /// Most items on a page of a management list
    #[arg(long, value_name = "N", default_value_t = 1000)]
    page_items: usize,
    /// Write where everything listens, with the token, to this file as JSON when all of it answers
    #[arg(long, value_name = "FILE")]
    ready_file: Option<PathBuf>,
    /// Stop when standard input ends, so that the array does not outlive the program that started it
    #[arg(long)]
    until_eof: bool,
}

/// A `--data`.
#[derive(Clone, Debug)]
struct Data(AddressConfig);

impl FromStr for Data {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut items = text.split(',');
        let ip = items.next().unwrap_or_default();
        let ip: IpAddr = ip.parse().map_err(|_| format!("{ip:?} is not an IP address"))?;
        // The names are completed once all addresses are known.
        let mut data = AddressConfig::new(ip, "", "");
        for item in items {
            let (name, value) = item.split_once('=').unwrap_or((item, ""));
            let number =
                || value.parse::<u16>().map_err(|_| format!("{name}={value}: not a number up to 65535"));
            match name {
                "subnet" => data.subnet = value.into(),
                "interface" => data.interface = value.into(),
                "prefix" => {
                    data.prefix_bits = value.parse().map_err(|_| format!("prefix={value}: not a number"))?
                }
                "mtu" => data.mtu = u32::from(number()?),
                "nfs" => data.nfs_port = number()?,
                "mount" => data.mount_port = number()?,
                "portmap" => data.portmap_port = number()?,
                "s3" => data.s3_port = number()?,
                "s3-tls" => data.s3_tls_port = Some(number()?),
                "disabled" => data.enabled = false,
                other => return Err(format!("{other:?} is not known; see --help")),
            }
        }
        if usize::from(data.prefix_bits) > if ip.is_ipv4() { 32 } else { 128 } {
            return Err(format!("prefix={}: longer than the address", data.prefix_bits));
        }
        Ok(Self(data))
    }
}

/// Runs the array; the process's exit code.
pub fn run(arguments: ArrayArguments, messages: &Messages) -> u8 {
    let ready_file = arguments.ready_file.clone();
    let until_eof = arguments.until_eof;
    let config = match configuration(arguments) {
        Ok(config) => config,
        Err(error) => return exit::usage(messages, "array", &format!("{error:#}")),
    };
    match serve(config, ready_file.as_deref(), until_eof) {
        Ok(()) => 0,
        Err(error) => exit::failure(messages, &format!("{error:#}")),
    }
}

fn configuration(arguments: ArrayArguments) -> anyhow::Result<Config> {
    let mut config = Config { management: arguments.management, ..Config::loopback() };
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

fn serve(config: Config, ready_file: Option<&Path>, until_eof: bool) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    // The handlers are in place before the array is, so that no signal is missed.
    let (mut interrupts, mut terminations) = {
        let _entered = runtime.enter();
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
    };
    let mut array = Array::start(config).map_err(|error| {
        let next = match error {
            StartError::Listen { .. } | StartError::Nfs(_) => {
                "; next: give addresses of this host (`ip address` lists them) and ports that are free"
            }
            _ => "",
        };
        anyhow!("the simulated array cannot start: {error}{next}")
    })?;
    announce(&array)?;
    if let Some(path) = ready_file {
        write_ready(&array, path).with_context(|| format!("--ready-file {}", path.display()))?;
    }
    let (ended, end) = tokio::sync::oneshot::channel::<()>();
    // Without the flag the sender is kept, so that the end never comes.
    let mut kept = Some(ended);
    if let Some(ended) = kept.take_if(|_| until_eof) {
        std::thread::spawn(move || {
            let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
            let _ = ended.send(());
        });
    }
    runtime.block_on(async {
        tokio::select! {
            _ = interrupts.recv() => {}
            _ = terminations.recv() => {}
            _ = end => {}
        }
    });
    array.stop();
    Ok(())
}

/// Says where everything listens.
fn announce(array: &Array) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "management   {}", array.management_url())?;
    if let Some(fingerprint) = array.fingerprint() {
        writeln!(out, "fingerprint  {fingerprint}")?;
    }
    writeln!(out, "token        {}", array.token().reveal())?;
    for data in array.data() {
        write!(out, "data         {} ({}, {})", data.ip, data.interface, data.subnet)?;
        if data.enabled {
            let (nfs, mount, portmap) = (data.nfs_port, data.mount_port, data.portmap_port);
            write!(out, ": nfs {nfs}, mount {mount}, portmap {portmap}, s3 {}", data.s3_port)?;
            data.s3_tls_port.map_or(Ok(()), |port| write!(out, ", s3 over TLS {port}"))?;
            writeln!(out)?;
        } else {
            writeln!(out, ": disabled")?;
        }
    }
    out.flush()
}

/// Writes the ready file in one step, readable by its owner only: it holds the token.
fn write_ready(array: &Array, path: &Path) -> anyhow::Result<()> {
    let data: Vec<_> = array
        .data()
        .iter()
        .map(|data| {
            json!({
                "ip": data.ip,
                "interface": data.interface,
                "subnet": data.subnet,
                "enabled": data.enabled,
                "nfs_port": data.nfs_port,
                "mount_port": data.mount_port,
                "portmap_port": data.portmap_port,
                "s3_port": data.s3_port,
                "s3_tls_port": data.s3_tls_port,
            })
        })
        .collect();
    let ready = json!({
        "management": array.management_address(),
        "management_url": array.management_url(),
        "fingerprint": array.fingerprint(),
        "certificate_pem": array.certificate_pem(),
        "token": array.token().reveal(),
        "data": data,
    });
    let unfinished = path.with_extension("unfinished");
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
    file.write_all(ready.to_string().as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&unfinished, path)?;
    Ok(())
}
