//! `ioengine=net`: one end of a stream of blocks.

use std::collections::BTreeMap;

use experiment::TextFault;

use super::ValueKind::{Bool, Flag, Integer, Text, Word};
use super::{
    EngineJob, EngineOption, EngineTarget, JobEngine, JobEngines, MOST, OptionSupport, SEE_OPTIONS, refused,
};
use crate::hosts::in_url;

const NET: &[&str] = &["net", "netsplice"];
const NO_MULTICAST: &str = "the net engine speaks TCP";

/// The engine for streams.
pub const ENGINES: JobEngines = JobEngines {
    engines: &[JobEngine::new("net", "net", OptionSupport::Differs("TCP"), target)],
    options: &[
        EngineOption::same(&["net", "netsplice", "rdma", "libhdfs"], "port", Integer(1, 65_535)),
        EngineOption::same(&["net", "netsplice", "rdma"], "hostname", Text),
        EngineOption::absent(
            NET,
            "interface",
            Text,
            NO_MULTICAST,
            "bind through hostname and the machine's routes",
        ),
        EngineOption::absent(NET, "ttl", Integer(0, 255), NO_MULTICAST, "leave it out").harmless(&["1"]),
        EngineOption::same(NET, "nodelay", Bool),
        EngineOption::differs(
            NET,
            "protocol",
            Word(&["tcp", "tcpv6", "udp", "udpv6", "unix", "vsock"]),
            "tcp and tcpv6; the others are refused",
        )
        .or(&["proto"]),
        EngineOption::same(NET, "listen", Flag),
        EngineOption::same(NET, "pingpong", Flag),
        EngineOption::same(NET, "window_size", Integer(0, MOST)),
        EngineOption::same(NET, "mss", Integer(0, MOST)),
    ],
};

fn target(job: &dyn EngineJob) -> EngineTarget {
    let does = job.operations();
    let wrong_way = |text: &str, correction: &str| job.fault("rw", text.to_owned(), correction.to_owned());
    if does.random {
        wrong_way("a stream has no places to choose at random", "use rw=read or rw=write");
    }
    if usize::from(does.reads) + usize::from(does.writes) + usize::from(does.trims) > 1 || does.trims {
        wrong_way("a stream is read or written", "use rw=read or rw=write, and a job for each end");
    }
    let text = |name: &'static str| job.text(name).filter(|text| !text.is_empty()).map(str::to_owned);
    let options = NetOptions {
        hostname: text("hostname"),
        port: job.number("port"),
        protocol: text("protocol"),
        listen: job.flag("listen"),
        nodelay: job.flag("nodelay"),
        window_bytes: job.number("window_size"),
        mss: job.number("mss"),
        pingpong: job.flag("pingpong"),
        interface: None,
    };
    match net_target(&options) {
        Ok((url, options)) => EngineTarget { url, options, file_names: None },
        Err(error) => refused(job, error.option(), error.fault()),
    }
}

/// The options of `ioengine=net`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct NetOptions {
    /// `hostname`.
    hostname: Option<String>,
    /// `port`.
    port: Option<u64>,
    /// `protocol`; tcp when absent.
    protocol: Option<String>,
    /// `listen`.
    listen: bool,
    /// `nodelay`.
    nodelay: bool,
    /// `window_size`, in bytes.
    window_bytes: Option<u64>,
    /// `mss`, in bytes.
    mss: Option<u64>,
    /// `pingpong`.
    pingpong: bool,
    /// `interface`.
    interface: Option<String>,
}

/// Why a job's options name no target of `ioengine=net`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.fault())]
enum NetJobError {
    /// Another protocol than TCP.
    Protocol(String),
    /// The interface of a multicast.
    Interface,
    /// No port.
    Port(u64),
    NoPort,
    ListenerWithHost,
    NoHost,
}

impl NetJobError {
    /// The option at fault.
    fn option(&self) -> &'static str {
        match self {
            Self::Protocol(_) => "protocol",
            Self::ListenerWithHost | Self::NoHost => "hostname",
            Self::Interface | Self::Port(_) | Self::NoPort => "port",
        }
    }

    /// What is wrong, and what to write.
    fn fault(&self) -> TextFault {
        match self {
            Self::Protocol(other) => TextFault::new(
                format!("protocol={other}: blocks go over TCP here"),
                "write protocol=tcp or tcpv6",
            ),
            Self::Interface => {
                TextFault::new("interface: it is for UDP multicast, which is not there", "take it out")
            }
            Self::Port(port) => {
                TextFault::new(format!("port={port}: write a port from 1 to 65535"), SEE_OPTIONS)
            }
            Self::NoPort => {
                TextFault::new("port is missing: give the port on which the listener waits", SEE_OPTIONS)
            }
            Self::ListenerWithHost => {
                TextFault::new("hostname: a listener waits on all addresses", "take hostname out, or listen")
            }
            Self::NoHost => TextFault::new(
                "hostname is missing: give the listener's, or write listen to be one",
                SEE_OPTIONS,
            ),
        }
    }
}

/// The target of a job with `ioengine=net`: each worker has one connection, to a port of its own.
///
/// # Errors
/// Which option cannot be used, and what to write instead.
fn net_target(net: &NetOptions) -> Result<(String, BTreeMap<String, String>), NetJobError> {
    let ipv6 = match net.protocol.as_deref() {
        None | Some("tcp") => false,
        Some("tcpv6") => true,
        Some(other) => return Err(NetJobError::Protocol(other.to_owned())),
    };
    if net.interface.is_some() {
        return Err(NetJobError::Interface);
    }
    let port = match net.port {
        Some(port) if (1..=65535).contains(&port) => port,
        Some(port) => return Err(NetJobError::Port(port)),
        None => return Err(NetJobError::NoPort),
    };
    let host = match (&net.hostname, net.listen) {
        (Some(_), true) => return Err(NetJobError::ListenerWithHost),
        (Some(host), false) => in_url(host),
        (None, true) if ipv6 => "[::]".to_owned(),
        (None, true) => "0.0.0.0".to_owned(),
        (None, false) => return Err(NetJobError::NoHost),
    };
    let mut options = BTreeMap::new();
    let mut set = |name: &str, value: String| options.insert(name.to_owned(), value);
    set("port_per_job", "true".to_owned());
    set("nodelay", net.nodelay.to_string());
    for (name, given) in [("listen", net.listen), ("ipv6", ipv6), ("pingpong", net.pingpong)] {
        if given {
            set(name, "true".to_owned());
        }
    }
    for (name, given) in [("window_size", net.window_bytes), ("mss", net.mss)] {
        if let Some(value) = given.filter(|value| *value > 0) {
            set(name, value.to_string());
        }
    }
    Ok((format!("tcp://{host}:{port}"), options))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn options_of_net_become_targets() {
        let sender = NetOptions {
            hostname: Some("::1".to_owned()),
            port: Some(9000),
            protocol: Some("tcpv6".to_owned()),
            nodelay: true,
            window_bytes: Some(65536),
            ..NetOptions::default()
        };
        let options =
            of(&[("ipv6", "true"), ("nodelay", "true"), ("port_per_job", "true"), ("window_size", "65536")]);
        assert_eq!(net_target(&sender).unwrap(), ("tcp://[::1]:9000".to_owned(), options));
        let listener = NetOptions { port: Some(9000), listen: true, ..NetOptions::default() };
        let (url, options) = net_target(&listener).unwrap();
        assert_eq!(
            (url.as_str(), options.get("listen").map(String::as_str)),
            ("tcp://0.0.0.0:9000", Some("true"))
        );
        for (net, problem) in [
            (NetOptions { hostname: Some("h".to_owned()), ..listener.clone() }, "take hostname out"),
            (NetOptions { listen: false, ..listener.clone() }, "hostname is missing"),
            (NetOptions { port: None, ..listener.clone() }, "port is missing"),
            (NetOptions { port: Some(70_000), ..listener.clone() }, "1 to 65535"),
            (NetOptions { protocol: Some("udp".to_owned()), ..listener.clone() }, "tcp or tcpv6"),
            (NetOptions { interface: Some("127.0.0.1".to_owned()), ..listener }, "multicast"),
        ] {
            let error = net_target(&net).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }
}
