//! `nfs://host[:port]/export`: a directory of files on an export, without mounting it.

use std::net::{IpAddr, Ipv6Addr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use drivers::Announce;
use drivers::nfs::{Named, NfsAddress, NfsConfig, NfsDriver};
use experiment::{Job, Target, Workload};
use provision::NfsPlace;

use super::options::Options;
use super::place::{Entered, Entry, PATIENCE, Place};
use super::url::{TargetUrl, form, wrong};
use super::{OpenContext, TargetError, paths};

/// An export.
pub struct NfsTarget {
    pub(super) driver: NfsDriver,
    pub(super) place: Place,
    /// The longest wait for an answer to the first questions.
    contact: Duration,
    /// Connections of all jobs.
    pub(super) connections: u64,
}

pub(super) fn open(
    target: &Target,
    url: &TargetUrl,
    workload: &Workload,
    options: &OpenContext,
) -> Result<NfsTarget, TargetError> {
    let given = Options::new(target, url, &[])?;
    let job = workload.job.as_ref();
    let first = place_in(&target.url, url)?;
    let kept = given.text("directory").map(str::to_owned);
    let directory = kept.clone().unwrap_or_else(|| options.place.object_name());
    let port_form = "a port from 1 to 65535";
    let id_form = "a number from 0 to 4294967295";
    let size = |name| -> Result<Option<u32>, TargetError> {
        given.read(name, |text| {
            let size: units::Size = text.parse().map_err(|error: units::ParseError| error.to_string())?;
            u32::try_from(size.0)
                .ok()
                .filter(|size| *size > 0)
                .ok_or_else(|| "write 1 to 4294967295 bytes".to_owned())
        })
    };
    let usual = NfsConfig::new(first.server, first.export, directory);
    let more = given.text("more_urls").map_or(Ok(Vec::new()), more)?;
    let servers: Vec<IpAddr> =
        std::iter::once(usual.server).chain(more.iter().map(|url| url.server)).collect();
    let ways = paths::read(&given, &servers)?;
    let config = NfsConfig {
        // Where the directory is made and removed.
        server: ways.addresses.first().map_or(usual.server, |address| address.ip),
        addresses: ways.addresses,
        paths: ways.paths,
        nfs_port: first.nfs_port,
        mount_port: given.number("mount_port", port_form)?,
        portmap_port: given.number("portmap_port", port_form)?.unwrap_or(usual.portmap_port),
        uid: given.number("uid", id_form)?.unwrap_or_else(|| own_id(job, rustix::process::getuid().as_raw())),
        gid: given.number("gid", id_form)?.unwrap_or_else(|| own_id(job, rustix::process::getgid().as_raw())),
        connections_per_worker: given
            .number("connections", "a whole number from 1 on")?
            .unwrap_or(usual.connections_per_worker),
        stable: given.flag("stable")?.unwrap_or(usual.stable),
        read_size: size("read_size")?,
        write_size: size("write_size")?,
        more,
        named: job.map(|job| {
            Arc::new(Named {
                job: job.name.clone(),
                names: job.files.names.clone(),
                first_number: job.first_number,
                files: job.files.per_worker(),
            })
        }),
        ..usual
    };
    let place = match kept {
        // The files of a job lie where the user named them.
        _ if job.is_some() => Place::stays(&options.run),
        Some(_) => Place::stays(&options.run),
        None => options.own_place(Entry::Nfs(place_of(&config))),
    };
    let connections = paths::connections(workload, config.connections_per_worker);
    let driver = NfsDriver::new(config)
        .map_err(|error| TargetError::Input(format!("target {}: {}", target.name, error.detail)))?;
    Ok(NfsTarget { driver, place, contact: options.connect_timeout, connections })
}

/// The user of the calls when none is given: of jobs that of this process, as libnfs has it; else root.
fn own_id(job: Option<&Job>, own: u32) -> u32 {
    if job.is_some() { own } else { 0 }
}

/// Where a URL says that the export is.
fn place_in(text: &str, url: &TargetUrl) -> Result<NfsAddress, TargetError> {
    let (host, nfs_port) = authority(text, &url.authority)?;
    if url.path.is_empty() {
        return Err(wrong(text, &format!("the export is missing; write {}", form("nfs"))));
    }
    Ok(NfsAddress { server: address(text, &host)?, export: url.path.clone(), nfs_port, mount_port: None })
}

/// Further URLs, with commas between them.
fn more(texts: &str) -> Result<Vec<NfsAddress>, TargetError> {
    let one = |text: &str| {
        let text = text.trim();
        let url = TargetUrl::parse(text)?;
        if url.scheme != "nfs" {
            return Err(wrong(
                text,
                &format!("more_urls takes other URLs of the same kind; write {}", form("nfs")),
            ));
        }
        let mut place = place_in(text, &url)?;
        for (name, value) in &url.query {
            match &**name {
                "mount_port" => {
                    let port = value.parse().ok().filter(|port| *port > 0);
                    let problem = || wrong(text, "mount_port: write a port from 1 to 65535");
                    place.mount_port = Some(port.ok_or_else(problem)?);
                }
                _ => {
                    let problem = format!("\"{name}\" holds for all URLs; give it with the first");
                    return Err(wrong(text, &problem));
                }
            }
        }
        Ok(place)
    };
    texts.split(',').map(one).collect()
}

fn place_of(config: &NfsConfig) -> NfsPlace {
    NfsPlace {
        server: config.server,
        export: config.export.clone(),
        directory: config.directory.clone(),
        nfs_port: config.addresses.first().and_then(|address| address.port).or(config.nfs_port),
        mount_port: config.mount_port,
        portmap_port: config.portmap_port,
        uid: config.uid,
        gid: config.gid,
    }
}

impl NfsTarget {
    pub(super) fn prepare(&self) -> Result<Entered, TargetError> {
        if self.driver.config().named.is_some() {
            return Ok(Entered::Existing);
        }
        let make = |announce: Announce<'_>| self.driver.prepare_announced(self.contact, announce);
        self.place.enter(make, || self.driver.adopt(self.contact))
    }

    pub(super) fn adopt(&self) -> Result<(), TargetError> {
        if self.driver.config().named.is_some() {
            return Ok(());
        }
        Ok(self.driver.adopt(self.contact)?)
    }

    pub(super) fn remove_all(&self) -> Result<(), TargetError> {
        self.place.leave(|| self.driver.remove_all(PATIENCE).map(drop))
    }
}

/// `host`, `host:port`, `[IPv6]` or `[IPv6]:port`.
fn authority(url: &str, text: &str) -> Result<(String, Option<u16>), TargetError> {
    let form = form("nfs");
    let wrong = |problem: &str| wrong(url, &format!("{problem}; write {form}"));
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (inside, after) = rest.split_once(']').ok_or_else(|| wrong("the bracket is not closed"))?;
            inside.parse::<Ipv6Addr>().map_err(|_| wrong("there is no IPv6 address in the brackets"))?;
            let port = match after {
                "" => None,
                _ => Some(after.strip_prefix(':').ok_or_else(|| wrong("only :port may follow the bracket"))?),
            };
            (inside, port)
        }
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
    if host.is_empty() || !host.chars().all(allowed) {
        return Err(wrong("the host is missing or has characters that no host has"));
    }
    let number = |port: &str| {
        let number = port.parse::<u16>().ok().filter(|port| *port > 0);
        number.ok_or_else(|| wrong(&format!("\"{port}\" is no port from 1 to 65535")))
    };
    Ok((host.to_owned(), port.map(number).transpose()?))
}

/// The first address of a host.
fn address(url: &str, host: &str) -> Result<IpAddr, TargetError> {
    if let Ok(address) = host.parse() {
        return Ok(address);
    }
    let unknown = |why: &str| {
        wrong(url, &format!("the host {host} has no address ({why}); check its spelling, or give an address"))
    };
    let mut found = (host, 0).to_socket_addrs().map_err(|error| unknown(&error.to_string()))?;
    found.next().map(|address| address.ip()).ok_or_else(|| unknown("none was found"))
}
