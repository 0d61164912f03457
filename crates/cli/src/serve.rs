//! `manometer serve`: the service's arguments, its signals, its exit code.

use std::fs::File;
use std::io::Read as _;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use database::DatabaseServer;
use exporters::CpuBudget;
use provision::Trust;
use runner::StopReason;
use service::{
    RequestPolicy, ServeOptions, Service, ServiceError, ServiceTls, TokenDigest, WebhookHost,
    WebhookHostError, WebhookPolicy, wall_clock,
};
use tokio::signal::unix::{Signal, SignalKind, signal};
use units::Span;

use crate::exit;
use crate::exports::PushArguments;
use crate::fleet::ssh_words;
use crate::interrupt;
use crate::messages::Messages;

/// Runs experiments, checks, network tests and calibrations that are sent to it over HTTP, several at a time on different hosts.
///
/// Open its address in a browser for the dashboard, or POST an experiment file to /api/v3/runs, or JSON to
/// /api/v3/checks, /network-tests or /calibrations; watch /api/v3/runs/ID/events; read /api/v3/runs/ID/report. An experiment waits while another one uses one of its
/// hosts. All results are kept in DIR/results.sqlite, for `manometer list --results`, `show`, `report` and
/// `compare`; or, with --database, in a PostgreSQL database that several services share. On the loopback address no
/// token is needed: every user of this machine can then use the service. With --tls, or a certificate from files,
/// connections are encrypted.
///
/// Schedules (/api/v3/schedules) start an experiment at given times, compare each run with the earlier ones, and call a
/// webhook when one is slower; --webhook-host names the hosts that may be called.
///
/// Experiments in requests see neither the environment nor the files of this host, except below each
/// --allow-path.
///
/// The first SIGINT or SIGTERM ends the measurements under way with their current interval and then the
/// service; the second ends them at once. What waits in the queue is started by the next service.
///
/// Exit code: 0 ended by a signal, 1 the system refused something, 2 wrong usage.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ServeArguments {
    /// Address to listen on; any but a loopback one requires --token-file
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:5000")]
    listen: SocketAddr,
    /// Directory for results, journals and the queue; created for its owner only
    #[arg(long, value_name = "DIR")]
    directory: PathBuf,
    /// Database that several services share, instead of files: postgres://USER@HOST/DATABASE, without the password
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// File with the password of --database, only readable by its owner
    #[arg(long, value_name = "FILE", requires = "database", env = "MANOMETER_DATABASE_PASSWORD_FILE")]
    database_password_file: Option<PathBuf>,
    /// File of PEM certificates whose signatures on the server's certificate are trusted; else those of this host
    #[arg(long, value_name = "FILE", requires = "database")]
    database_ca: Option<PathBuf>,
    /// File with the token that every request must carry (Authorization: Bearer TOKEN)
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Encrypt connections; without the next two options with a certificate that the first start creates in DIR
    #[arg(long)]
    tls: bool,
    /// File with the certificate, in PEM, followed by those of its issuers; read again when it is renewed
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// File with the certificate's private key, in PEM
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Where measurements are pushed
    #[command(flatten)]
    pushes: PushArguments,
    /// A name of this service, besides its addresses and localhost; may be repeated
    #[arg(long = "host-name", value_name = "NAME")]
    host_names: Vec<String>,
    /// Let experiments use this directory or device of this host, and what is below it; may be repeated
    #[arg(long = "allow-path", value_name = "PATH")]
    allow_paths: Vec<PathBuf>,
    /// Let experiments start commands on this host: fleets by `command`, options and binaries for ssh and Slurm
    #[arg(long)]
    allow_command: bool,
    /// Let experiments start several agents on this host (fleets by `local`), and allow calibrations of it
    #[arg(long)]
    allow_local: bool,
    /// Accept experiments with at most this many cells
    #[arg(long, value_name = "N", default_value_t = RequestPolicy::MAX_CELLS,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    max_cells: u32,
    /// Option for ssh to the hosts of fleets, such as "-i KEY" or StrictHostKeyChecking=accept-new; may be repeated
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    ssh_option: Vec<String>,
    /// Let schedules send webhooks to this host, with the token in the file if one is given; may be repeated
    #[arg(long = "webhook-host", value_name = "HOST[:PORT][=TOKEN_FILE]")]
    webhook_hosts: Vec<String>,
    /// File with the authorities (PEM) that sign the certificates of webhook hosts; by default, the system's
    #[arg(long, value_name = "FILE")]
    webhook_ca: Option<PathBuf>,
    /// Length of a sample of StorPerf's jobs
    #[arg(long, value_name = "TIME", default_value = "60s")]
    storperf_sample: String,
    /// Share of this host's processors that requests may use while a load runs on this host; above it they wait
    #[arg(long, value_name = "PERCENT", default_value_t = CpuBudget::DEFAULT_PERCENT,
          value_parser = clap::value_parser!(u32).range(1..=100))]
    request_cpu: u32,
}

/// Bytes that are read of a file with a password.
const LONGEST_PASSWORD: u64 = 4096;

const EXAMPLES: &str = "\
Examples:
  manometer serve --directory /var/lib/manometer
  manometer serve --directory state --listen 0.0.0.0:5000 --tls --token-file token --host-name lab.example
  manometer serve --directory state --allow-path /mnt/scratch
  manometer serve --directory state --database postgres://lab@db.example/lab --database-password-file pw

To send an experiment and watch it:
  curl -H 'Content-Type: application/yaml' --data-binary @nightly.yaml http://127.0.0.1:5000/api/v3/runs
  curl -N http://127.0.0.1:5000/api/v3/runs/ID/events";

/// Serves until a signal ends it; returns the process's exit code.
pub fn run(arguments: ServeArguments, messages: &Messages) -> u8 {
    match serve(arguments, messages) {
        Ok(()) => 0,
        Err(ServiceError::Usage(line)) => exit::usage(messages, "serve", &line),
        Err(ServiceError::Failure(line)) => exit::failure(messages, &line),
    }
}

fn serve(arguments: ServeArguments, messages: &Messages) -> Result<(), ServiceError> {
    let token = arguments.token_file.as_deref().map(TokenDigest::from_file).transpose()?;
    for path in &arguments.allow_paths {
        path.canonicalize()
            .map_err(|error| ServiceError::Usage(format!("--allow-path {}: {error}", path.display())))?;
    }
    let database = database(&arguments)?;
    let webhook_hosts: Result<Vec<WebhookHost>, _> =
        arguments.webhook_hosts.iter().map(|text| text.parse()).collect();
    let webhook_hosts = webhook_hosts
        .map_err(|error: WebhookHostError| ServiceError::Usage(format!("--webhook-host {error}")))?;
    let trust = arguments.webhook_ca.map_or(Trust::System, Trust::CaFile);
    let tls = match (arguments.certificate, arguments.key) {
        (Some(certificate), Some(key)) => ServiceTls::Files { certificate, key },
        _ if arguments.tls => ServiceTls::SelfSigned,
        _ => ServiceTls::Off,
    };
    let storperf_sample = match arguments.storperf_sample.parse() {
        Ok(Span(sample)) if sample >= Duration::from_secs(1) => sample,
        _ => {
            return Err(ServiceError::Usage(format!(
                "--storperf-sample {}: write a time of at least 1 s, as in 60s",
                arguments.storperf_sample
            )));
        }
    };
    let failure = |error: std::io::Error| ServiceError::Failure(format!("signals cannot be caught: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().map_err(failure)?;
    let signals = {
        let _inside = runtime.enter();
        Signals::catch().map_err(failure)?
    };
    let notes = messages.clone();
    let service = Service::start(ServeOptions {
        listen: arguments.listen,
        directory: arguments.directory,
        database,
        token,
        tls,
        host_names: arguments.host_names,
        policy: RequestPolicy {
            paths: arguments.allow_paths,
            commands: arguments.allow_command,
            local: arguments.allow_local,
            max_cells: arguments.max_cells,
        },
        program: std::env::current_exe().map_err(|error| {
            ServiceError::Failure(format!("this program's own file is not known: {error}"))
        })?,
        ssh_options: ssh_words(&arguments.ssh_option).map_err(ServiceError::Usage)?,
        storperf_sample,
        request_cpu_percent: arguments.request_cpu,
        pushes: arguments.pushes.options().map_err(ServiceError::Usage)?,
        webhooks: WebhookPolicy { hosts: webhook_hosts, trust },
        clock: wall_clock(),
        notes: Arc::new(move |line| notes.note(line)),
    })?;
    match service.fingerprint() {
        Some(fingerprint) => messages.note(&format!(
            "listening on https://{} (certificate: SHA-256 {fingerprint})",
            service.address()
        )),
        None => {
            if !service.address().ip().is_loopback() {
                messages.note("the network can read tokens and results; next: --tls encrypts connections");
            }
            messages.note(&format!("listening on http://{}", service.address()));
        }
    }
    let service = Arc::new(service);
    runtime.block_on(until_ended(&service, signals, messages)).map_err(failure)
}

/// The shared database, and how to log in to it.
fn database(arguments: &ServeArguments) -> Result<Option<DatabaseServer>, ServiceError> {
    let Some(url) = &arguments.database else { return Ok(None) };
    let password = arguments.database_password_file.as_deref().map(password).transpose()?;
    let server = DatabaseServer::new(url, password.as_deref(), arguments.database_ca.as_deref());
    server.map(Some).map_err(|error| ServiceError::Usage(format!("--database: {error}")))
}

/// The first line of a file that nobody else can read.
fn password(path: &Path) -> Result<String, ServiceError> {
    let wrong =
        |why: String| ServiceError::Usage(format!("--database-password-file {}: {why}", path.display()));
    let mut file = File::open(path).map_err(|error| wrong(error.to_string()))?;
    let mode = file.metadata().map_err(|error| wrong(error.to_string()))?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(wrong(format!("others can use it (mode {:o}); next: chmod 600 it", mode & 0o777)));
    }
    let mut text = String::new();
    file.by_ref()
        .take(LONGEST_PASSWORD)
        .read_to_string(&mut text)
        .map_err(|error| wrong(error.to_string()))?;
    match text.lines().next() {
        Some(password) if !password.is_empty() => Ok(password.to_owned()),
        _ => Err(wrong("it is empty; next: write the password on its first line".to_owned())),
    }
}

/// What ends the service.
struct Signals {
    interrupts: Signal,
    terminations: Signal,
    hangups: Option<Signal>,
}

impl Signals {
    /// Catches them; needs an entered runtime.
    fn catch() -> std::io::Result<Self> {
        Ok(Self {
            interrupts: signal(SignalKind::interrupt())?,
            terminations: signal(SignalKind::terminate())?,
            hangups: interrupt::hangups()?,
        })
    }
}

/// Waits for a signal and then for the runs.
async fn until_ended(
    service: &Arc<Service>,
    mut signals: Signals,
    messages: &Messages,
) -> std::io::Result<()> {
    let mut at_once = false;
    let mut ended = None;
    loop {
        let reason = tokio::select! {
            Some(()) = signals.interrupts.recv() => StopReason::Interrupt,
            Some(()) = signals.terminations.recv() => StopReason::Terminate,
            Some(()) = interrupt::hangup(&mut signals.hangups) => StopReason::HangUp,
            () = over(&mut ended) => return Ok(()),
        };
        service.close(reason, at_once);
        messages.note(match at_once {
            false => "ending the runs after their current interval (again to stop them at once)",
            true => "stopping the runs at once and removing what they created",
        });
        at_once = true;
        if ended.is_none() {
            let service = Arc::clone(service);
            let (sender, receiver) = tokio::sync::oneshot::channel();
            std::thread::Builder::new().name("ending".into()).spawn(move || {
                service.wait();
                // The receiver lives until this is sent.
                let _ = sender.send(());
            })?;
            ended = Some(receiver);
        }
    }
}

/// Returns when the runs have ended; before the first signal, never.
async fn over(ended: &mut Option<tokio::sync::oneshot::Receiver<()>>) {
    match ended {
        Some(ended) => {
            let _ = ended.await;
        }
        None => std::future::pending().await,
    }
}
