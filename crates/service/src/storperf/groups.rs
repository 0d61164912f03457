//! Groups of hosts under a stack's name: what remains of `StorPerf`'s stacks where the hosts exist already.

use std::collections::BTreeMap;

use provision::ApiSecret;
use serde::Serialize;
use utoipa::ToSchema;

use super::fields::{Fields, refused};
use super::request::check_user;
use crate::login::Login;
use crate::problem::Problem;

/// The stack that requests mean if they name none.
const USUAL_NAME: &str = "StorPerfAgentGroup";
/// Maximum number of groups, and of hosts in one.
const MOST: usize = 512;

/// Fields that ask for virtual machines.
const OF_OPENSTACK: [&str; 9] = [
    "agent_count",
    "agent_flavor",
    "agent_image",
    "public_network",
    "volume_count",
    "volume_size",
    "volume_type",
    "availability_zone",
    "subnet_CIDR",
];

/// Hosts and how to log in to them.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownHosts {
    /// Their addresses.
    pub addresses: Vec<String>,
    /// The user there.
    pub user: Option<String>,
    /// Credentials; in memory only.
    pub login: Login,
}

/// The groups of a service, in memory: they hold credentials.
#[derive(Debug, Default)]
pub(crate) struct GroupBook(BTreeMap<String, KnownHosts>);

/// A group to add or change.
#[derive(Debug)]
pub(crate) struct HostGroupBody {
    name: String,
    hosts: KnownHosts,
}

/// A group as the API shows it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = HostGroup)]
pub(crate) struct HostGroupView {
    stack_name: String,
    /// Whether the group exists.
    stack_created: bool,
    agent_count: usize,
    slave_addresses: Vec<String>,
    /// Its name, if it exists.
    #[schema(required = true)]
    stack_id: Option<String>,
}

impl HostGroupView {
    /// Its id, if it exists.
    pub(crate) fn stack_id(&self) -> Option<&str> {
        self.stack_id.as_deref()
    }
}

impl HostGroupBody {
    /// Reads a group.
    ///
    /// # Errors
    /// It asks for virtual machines, or a field cannot be used.
    pub(crate) fn of(bytes: &[u8]) -> Result<Self, Problem> {
        let fields = Fields::of(bytes)?;
        if fields.is_empty() {
            return Err(refused("ERROR: No data specified; next: send stack_name and slave_addresses"));
        }
        if let Some(name) = OF_OPENSTACK.iter().find(|name| fields.value(name).is_some()) {
            return Err(Problem::new(
                axum::http::StatusCode::NOT_IMPLEMENTED,
                "openstack",
                format!(
                    "{name}: the service starts no virtual machines; next: start them yourself, and send their addresses as \
                     slave_addresses"
                ),
            ));
        }
        let known = ["stack_name", "slave_addresses", "username", "password", "ssh_private_key"];
        if let Some(name) = fields.first_unknown(&known) {
            return Err(refused(format!("there is no field {name:?}; next: write {}", known.join(", "))));
        }
        let name = fields.text("stack_name")?.unwrap_or_else(|| USUAL_NAME.to_owned());
        let addresses = fields.list("slave_addresses", MOST)?;
        let addresses = addresses.ok_or_else(|| refused("there are no hosts; next: send slave_addresses"))?;
        let user = fields.text("username")?;
        user.as_deref().map(check_user).transpose()?;
        let secret = |name: &str| -> Result<Option<ApiSecret>, Problem> {
            Ok(fields.text(name)?.filter(|text| !text.is_empty()).map(|text| ApiSecret::new(&text)))
        };
        let login = Login { password: secret("password")?, private_key: secret("ssh_private_key")? };
        Ok(Self { name, hosts: KnownHosts { addresses, user, login } })
    }
}

impl GroupBook {
    /// The hosts of a group; `None` for the usual name.
    pub(crate) fn find(&self, name: Option<&str>) -> Option<KnownHosts> {
        self.0.get(name.unwrap_or(USUAL_NAME)).cloned()
    }

    /// Adds a group, or replaces the one with its name.
    ///
    /// # Errors
    /// There are too many.
    pub(crate) fn put(&mut self, group: HostGroupBody) -> Result<HostGroupView, Problem> {
        if self.0.len() >= MOST && !self.0.contains_key(&group.name) {
            return Err(refused(format!("there are {MOST} groups; next: DELETE one")));
        }
        self.0.insert(group.name.clone(), group.hosts);
        Ok(self.view(Some(&group.name)))
    }

    /// Forgets a group; whether there was one.
    pub(crate) fn remove(&mut self, name: Option<&str>) -> bool {
        self.0.remove(name.unwrap_or(USUAL_NAME)).is_some()
    }

    /// A group as the API shows it; one that does not exist has no hosts.
    pub(crate) fn view(&self, name: Option<&str>) -> HostGroupView {
        let name = name.unwrap_or(USUAL_NAME);
        let hosts = self.0.get(name);
        let addresses = hosts.map_or_else(Vec::new, |hosts| hosts.addresses.clone());
        HostGroupView {
            stack_name: name.to_owned(),
            stack_created: hosts.is_some(),
            agent_count: addresses.len(),
            slave_addresses: addresses,
            stack_id: hosts.map(|_| name.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_shows_its_hosts_and_no_secret() {
        let body = br#"{"stack_name": "lab", "slave_addresses": ["a", "b:2222"], "username": "me", "password": "hush"}"#;
        let mut groups = GroupBook::default();
        let view = groups.put(HostGroupBody::of(body).unwrap()).unwrap();
        let text = serde_json::to_string(&view).unwrap();
        assert!(text.contains(r#""slave_addresses":["a","b:2222"]"#) && !text.contains("hush"), "{text}");
        let found = groups.find(Some("lab")).unwrap();
        assert!(found.login.password.is_some() && found.user.as_deref() == Some("me"));
        assert!(groups.find(None).is_none() && groups.remove(Some("lab")) && !groups.remove(Some("lab")));
    }

    #[test]
    fn stacks_of_openstack_are_refused_with_what_to_do() {
        let problem = HostGroupBody::of(br#"{"agent_count": 2}"#).unwrap_err();
        let view = serde_json::to_value(problem).unwrap();
        assert!(
            view["status"] == 501 && view["detail"].as_str().unwrap().contains("slave_addresses"),
            "{view}"
        );
    }
}
