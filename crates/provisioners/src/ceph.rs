//! Pools of a Ceph cluster, each with a user who may use it and nothing else, by `ceph`.
//!
//! The monitors make up the user's key; it comes back in the tool's output, and is in no argument list.

use std::thread;
use std::time::Duration;

use experiment::CephPool;
use provision::Container;
use serde::Deserialize;
use targets::AccessKey;

use crate::error::ToolError;
use crate::provisioner::{Provisioner, Ways};
use crate::tool::Tool;

/// Milliseconds between polls of the placement groups' states.
const POLL_MS: u64 = 500;
/// The application whose users have capabilities of their own.
const RBD: &str = "rbd";

fn tool<'a>(ways: &Ways<'a>) -> Tool<'a> {
    Tool::new(&["ceph"], ways.provision, ways.access)
}

/// The user, as the monitors name it.
fn user(name: &str) -> String {
    format!("client.{name}")
}

/// Whether the cluster has a pool of this name.
fn has_pool(name: &str, tool: &Tool<'_>) -> Result<bool, ToolError> {
    Ok(tool.lists(&["osd", "pool", "ls"], name)?)
}

/// Whether the cluster has a CRUSH rule of this name. The monitors make one for an erasure-coded pool, with the pool's name.
fn has_rule(name: &str, tool: &Tool<'_>) -> Result<bool, ToolError> {
    Ok(tool.lists(&["osd", "crush", "rule", "ls"], name)?)
}

/// Whether the cluster has a user of this name. Its key is not printed.
fn has_user(name: &str, tool: &Tool<'_>) -> Result<bool, ToolError> {
    match tool.call(&["auth", "get", &user(name), "-o", "/dev/null"]) {
        Ok(_) => Ok(true),
        Err(error) if error.to_string().contains("ENOENT") => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Checks that the monitors let a pool be removed: otherwise ours would stay.
fn check_removal(tool: &Tool<'_>) -> Result<(), ToolError> {
    let told = tool.call(&["tell", "mon.*", "config", "get", "mon_allow_pool_delete"])?;
    let is_refused =
        told.lines().any(|line| line.contains("mon_allow_pool_delete") && line.contains("false"));
    if is_refused { Err(ToolError::PoolsStay) } else { Ok(()) }
}

/// Placement groups of a pool that serve requests, and all of them.
fn active_groups(name: &str, tool: &Tool<'_>) -> Result<(usize, usize), ToolError> {
    #[derive(Deserialize)]
    struct Group {
        state: String,
    }
    #[derive(Deserialize)]
    struct Groups {
        pg_stats: Vec<Group>,
    }
    let listed = tool.call(&["pg", "ls-by-pool", name, "--format=json"])?;
    let groups: Groups =
        serde_json::from_str(&listed).map_err(|_| ToolError::Unreadable("ceph pg ls-by-pool"))?;
    let active = groups.pg_stats.iter().filter(|group| group.state.split('+').any(|word| word == "active"));
    Ok((active.count(), groups.pg_stats.len()))
}

/// Waits until the whole pool serves requests: a load would measure the peering otherwise.
fn wait_until_active(name: &str, tool: &Tool<'_>, ways: &Ways<'_>) -> Result<(), ToolError> {
    let mut polls = ways.provision.timeout_ms / POLL_MS;
    loop {
        let (active, all) = active_groups(name, tool)?;
        if all > 0 && active == all {
            return Ok(());
        }
        if polls == 0 {
            return Err(ToolError::NotActive { active, all });
        }
        if (ways.access.stop)() {
            return Err(ToolError::Cancelled);
        }
        polls -= 1;
        thread::sleep(Duration::from_millis(POLL_MS));
    }
}

impl Provisioner for CephPool {
    fn what(&self, name: &str) -> String {
        format!("Ceph pool {name} with the user {}", user(name))
    }

    fn holds(&self, name: &str) -> Option<Container> {
        Some(Container::Provisioned(name.to_owned()))
    }

    fn existing(&self, name: &str, ways: &Ways<'_>) -> Result<Option<String>, ToolError> {
        let tool = tool(ways);
        check_removal(&tool)?;
        if has_pool(name, &tool)? {
            return Ok(Some(format!("Ceph pool {name}")));
        }
        if has_rule(name, &tool)? {
            return Ok(Some(format!("the CRUSH rule {name}")));
        }
        Ok(has_user(name, &tool)?.then(|| format!("the Ceph user {}", user(name))))
    }

    fn create(&self, name: &str, ways: &Ways<'_>) -> Result<Option<AccessKey>, ToolError> {
        let tool = tool(ways);
        let groups = self.pg_num.map(|number| number.to_string());
        let mut words = vec!["osd", "pool", "create", name];
        words.extend(groups.iter().flat_map(|number| [&**number, &**number]));
        match &self.erasure_code_profile {
            Some(profile) => words.extend(["erasure", profile]),
            None => words.push("replicated"),
        }
        words.extend(self.crush_rule.as_deref());
        tool.call(&words)?;
        let size = self.size.map(|size| size.to_string());
        // The monitors ask to confirm a single copy.
        let sure: &[&str] = if self.size == Some(1) { &["--yes-i-really-mean-it"] } else { &[] };
        let own = size.iter().map(|size| ("size", &**size, sure));
        let given = self.settings.iter().map(|(setting, value)| (&**setting, &**value, &[][..]));
        for (setting, value, sure) in own.chain(given) {
            tool.call(&[&["osd", "pool", "set", name, setting, value], sure].concat())?;
        }
        tool.call(&["osd", "pool", "application", "enable", name, &self.application])?;
        let (monitors, osds) = match &*self.application {
            RBD => ("profile rbd".to_owned(), format!("profile rbd pool={name}")),
            _ => ("allow r".to_owned(), format!("allow rwx pool={name}")),
        };
        let caps = ["mon", &monitors, "osd", &osds];
        let key = tool.call(&[&["auth", "get-or-create-key", &user(name)], &caps[..]].concat())?;
        wait_until_active(name, &tool, ways)?;
        Ok(Some(AccessKey { id: name.to_owned(), secret: key.trim().to_owned(), token: None }))
    }

    fn remove(&self, name: &str, ways: &Ways<'_>) -> Result<(), ToolError> {
        let tool = tool(ways);
        if has_pool(name, &tool)? {
            tool.call(&["osd", "pool", "rm", name, name, "--yes-i-really-really-mean-it"])?;
        }
        if has_rule(name, &tool)? {
            tool.call(&["osd", "crush", "rule", "rm", name])?;
        }
        if has_user(name, &tool)? {
            tool.call(&["auth", "rm", &user(name)])?;
        }
        Ok(())
    }
}
