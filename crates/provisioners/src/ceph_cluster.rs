//! What a Ceph cluster's own tools tell about it: where its monitors, OSDs and object gateways are.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use drivers::rados::{OsdMap, address_of, short_version};
use experiment::Provision;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::ToolError;
use crate::tool::{Tool, ToolAccess};

/// A cluster.
#[derive(Clone, Debug)]
pub struct CephCluster {
    /// Its identity.
    pub fsid: String,
    /// The version of its monitors, such as `16.2.15`.
    pub version: String,
    /// The monitors' addresses, as the configuration option `mon_host` takes them.
    pub monitors: String,
    /// Its OSDs.
    pub osds: OsdMap,
    /// Its object gateways that have registered themselves, in the order of their addresses.
    pub gateways: Vec<ObjectGateway>,
}

/// An address at which an object gateway serves S3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectGateway {
    /// Address and port.
    pub address: SocketAddr,
    /// Whether by TLS.
    pub tls: bool,
}

#[derive(Deserialize)]
struct MonitorMap {
    mons: Vec<Monitor>,
}

#[derive(Deserialize)]
struct Monitor {
    public_addrs: Addresses,
}

#[derive(Deserialize)]
struct Addresses {
    addrvec: Vec<Address>,
}

#[derive(Deserialize)]
struct Address {
    /// `v1` or `v2`: the version of the protocol.
    r#type: String,
    addr: String,
}

#[derive(Deserialize)]
struct ServiceMap {
    #[serde(default)]
    services: Services,
}

#[derive(Default, Deserialize)]
struct Services {
    #[serde(default)]
    rgw: Service,
}

#[derive(Default, Deserialize)]
struct Service {
    /// By number; a summary in words has the key `summary`.
    #[serde(default)]
    daemons: BTreeMap<String, serde_json::Value>,
}

#[derive(Deserialize)]
struct Gateway {
    addr: String,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
}

impl CephCluster {
    /// Asks a cluster by `ceph`, as it is called for `provision`. Changes nothing. Blocks.
    ///
    /// # Errors
    /// The tool cannot be asked, or prints something else than its documents say.
    pub fn ask(provision: &Provision, access: &ToolAccess<'_>) -> Result<Self, ToolError> {
        let tool = Tool::new(&["ceph"], provision, access);
        let monitors: MonitorMap = read(&tool, "ceph mon dump", &["mon", "dump", "--format=json"])?;
        let services: ServiceMap = read(&tool, "ceph service dump", &["service", "dump", "--format=json"])?;
        Ok(Self {
            fsid: tool.call(&["fsid"])?.trim().to_owned(),
            version: short_version(tool.call(&["version"])?.trim()).to_owned(),
            monitors: monitors.in_configuration(),
            osds: read(&tool, "ceph osd dump", &["osd", "dump", "--format=json"])?,
            gateways: services.gateways(),
        })
    }
}

fn read<T: DeserializeOwned>(tool: &Tool<'_>, name: &'static str, words: &[&str]) -> Result<T, ToolError> {
    serde_json::from_str(&tool.call(words)?).map_err(|_| ToolError::Unreadable(name))
}

impl MonitorMap {
    fn in_configuration(&self) -> String {
        let one = |monitor: &Monitor| {
            let addresses = monitor.public_addrs.addrvec.iter();
            let named: Vec<String> =
                addresses.map(|address| format!("{}:{}", address.r#type, address.addr)).collect();
            format!("[{}]", named.join(","))
        };
        self.mons.iter().map(one).collect::<Vec<_>>().join(",")
    }
}

impl ServiceMap {
    fn gateways(self) -> Vec<ObjectGateway> {
        let daemons = self.services.rgw.daemons.into_values();
        let gateways = daemons.filter_map(|daemon| serde_json::from_value::<Gateway>(daemon).ok());
        let mut all: Vec<ObjectGateway> = gateways.flat_map(|gateway| gateway.endpoints()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl Gateway {
    fn endpoints(&self) -> Vec<ObjectGateway> {
        let Some(own) = address_of(&self.addr) else { return Vec::new() };
        let configs = self.metadata.iter().filter(|(name, _)| name.starts_with("frontend_config"));
        configs
            .flat_map(|(_, config)| config.split_whitespace())
            .filter_map(|word| endpoint(word, own))
            .collect()
    }
}

/// What a word of the option `rgw_frontends` says about where a gateway listens; one that names no address, or all of its
/// host's, is reached at `own`.
fn endpoint(word: &str, own: IpAddr) -> Option<ObjectGateway> {
    let (name, value) = word.split_once('=')?;
    let tls = name.starts_with("ssl_");
    let usual_port = if tls { 443 } else { 80 };
    let (ip, port) = match name {
        "port" | "ssl_port" => (own, value.parse().ok()?),
        "endpoint" | "ssl_endpoint" => {
            let without_port = || value.trim_matches(['[', ']']).parse().map(|ip: IpAddr| (ip, usual_port));
            value
                .parse()
                .map(|address: SocketAddr| (address.ip(), address.port()))
                .or_else(|_| without_port())
                .ok()?
        }
        _ => return None,
    };
    let ip = if ip.is_unspecified() { own } else { ip };
    Some(ObjectGateway { address: SocketAddr::new(ip, port), tls })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gateways_are_where_their_configuration_says() {
        let json = r#"{"epoch": 4, "services": {"rgw": {"daemons": {
            "summary": "",
            "4101": {"addr": "10.0.0.2:0/2215", "metadata": {"frontend_config#0": "beast endpoint=0.0.0.0:8080 tcp_nodelay=1",
                "frontend_type#0": "beast", "id": "b"}},
            "4102": {"addr": "10.0.0.1:0/2216", "metadata": {"frontend_config#0": "beast port=80 ssl_port=443 ssl_certificate=x",
                "frontend_config#1": "beast ssl_endpoint=[fd00::7]"}},
            "4103": {"addr": "10.0.0.1:0/2217", "metadata": {"frontend_config#0": "beast port=80"}}}}}}"#;
        let map: ServiceMap = serde_json::from_str(json).unwrap();
        let found: Vec<(String, bool)> =
            map.gateways().iter().map(|one| (one.address.to_string(), one.tls)).collect();
        let expected = [
            ("10.0.0.1:80", false),
            ("10.0.0.1:443", true),
            ("10.0.0.2:8080", false),
            ("[fd00::7]:443", true),
        ];
        assert_eq!(found, expected.map(|(address, tls)| (address.to_owned(), tls)));
        for none in [r#"{"epoch": 1, "services": {}}"#, r#"{"services": {"mgr": {"daemons": {}}}}"#, "{}"] {
            let map: ServiceMap = serde_json::from_str(none).unwrap();
            assert!(map.gateways().is_empty(), "{none}");
        }
    }

    #[test]
    fn monitors_are_named_as_in_a_configuration() {
        let json = r#"{"mons": [{"name": "a", "public_addrs": {"addrvec": [
            {"type": "v2", "addr": "10.0.0.1:3300", "nonce": 0}, {"type": "v1", "addr": "10.0.0.1:6789", "nonce": 0}]}},
            {"name": "b", "public_addrs": {"addrvec": [{"type": "v2", "addr": "[fd00::1]:3300", "nonce": 0}]}}]}"#;
        let map: MonitorMap = serde_json::from_str(json).unwrap();
        assert_eq!(map.in_configuration(), "[v2:10.0.0.1:3300,v1:10.0.0.1:6789],[v2:[fd00::1]:3300]");
    }
}
