//! iSCSI targets of tgtd, by `tgtadm`.
//!
//! tgtadm has no other way to get a secret than its arguments. Ours never hold it: a shell on the server reads the
//! command from its input. For the moment of that call, users of the server can see it in tgtadm's.

use experiment::{TgtTarget, target_name};
use provision::Container;
use targets::AccessKey;

use crate::error::ToolError;
use crate::provisioner::{Provisioner, Ways};
use crate::secret::secret;
use crate::tool::{PRESENT, Tool};

/// Creates a file of `$2` bytes, unless there is one.
const CREATE: &str = r#"set -C; umask 077; : > "$1" && truncate -s "$2" -- "$1""#;
/// Removes the file.
const REMOVE: &str = r#"rm -f -- "$1""#;
/// Prints where a device, or what lies on it, is mounted or used as swap; fails if it is no block device.
const MOUNTED: &str =
    r#"[ -b "$1" ] || { echo "$1 is no block device" >&2; exit 1; }; lsblk -nro MOUNTPOINT -- "$1""#;
/// How many numbers are tried for a target: others may take them meanwhile.
const TRIES: u32 = 20;

fn tool<'a>(ways: &Ways<'a>) -> Tool<'a> {
    Tool::new(&["tgtadm", "--lld", "iscsi"], ways.provision, ways.access)
}

/// An operation of tgtadm.
fn op<'w>(op: &'w str, mode: &'w str, rest: &[&'w str]) -> Vec<&'w str> {
    ["--op", op, "--mode", mode].iter().chain(rest).copied().collect()
}

/// The targets of tgtd: number and name.
fn targets(tool: &Tool<'_>) -> Result<Vec<(u32, String)>, ToolError> {
    let listed = tool.call(&op("show", "target", &[]))?;
    Ok(listed.lines().filter_map(target_in).map(|(number, name)| (number, name.to_owned())).collect())
}

/// The number and name in a line that begins a target, `Target 1: iqn.…`; what belongs to it is indented.
fn target_in(line: &str) -> Option<(u32, &str)> {
    let (number, name) = line.strip_prefix("Target ")?.split_once(": ")?;
    Some((number.parse().ok()?, name.trim()))
}

/// The number of our target.
fn number_of(name: &str, tool: &Tool<'_>) -> Result<Option<u32>, ToolError> {
    let own = target_name(name);
    Ok(targets(tool)?.into_iter().find(|(_, known)| *known == own).map(|(number, _)| number))
}

/// Whether tgtd has an account with this name.
fn has_account(name: &str, tool: &Tool<'_>) -> Result<bool, ToolError> {
    Ok(tool.lists(&op("show", "account", &[]), name)?)
}

/// What the unit lies on: the device, or the file.
fn backing(target: &TgtTarget, name: &str) -> String {
    let file = || format!("{}/{name}.img", target.directory.trim_end_matches('/'));
    target.device.clone().unwrap_or_else(file)
}

/// Checks that nothing on the server uses a device.
fn check_unused(device: &str, tool: &Tool<'_>) -> Result<(), ToolError> {
    let in_use = |by: String| Err(ToolError::DeviceInUse { device: device.to_owned(), by });
    let mounted = tool.script(MOUNTED, &[device])?;
    if let Some(place) = mounted.lines().map(str::trim).find(|place| !place.is_empty()) {
        return in_use(format!("it is mounted at {place}"));
    }
    let mut owner = "a target";
    let listed = tool.call(&op("show", "target", &[]))?;
    for line in listed.lines() {
        if let Some((_, name)) = target_in(line) {
            owner = name;
        }
        if line.trim().strip_prefix("Backing store path: ").is_some_and(|path| path.trim() == device) {
            return in_use(format!("it is a unit of {owner}"));
        }
    }
    Ok(())
}

/// Creates the target without units; returns its number.
fn create_target(name: &str, tool: &Tool<'_>) -> Result<String, ToolError> {
    let own = target_name(name);
    for _ in 0..TRIES {
        let taken = targets(tool)?.into_iter().map(|(number, _)| number).max().unwrap_or(0);
        let number = taken.saturating_add(1).to_string();
        match tool.call(&op("new", "target", &["--tid", &number, "--targetname", &own])) {
            Ok(_) => return Ok(number),
            Err(error) if error.to_string().contains("already exists") => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(ToolError::NoNumber)
}

impl Provisioner for TgtTarget {
    fn what(&self, name: &str) -> String {
        format!("iSCSI target {} with {}", target_name(name), backing(self, name))
    }

    fn holds(&self, _name: &str) -> Option<Container> {
        None
    }

    fn existing(&self, name: &str, ways: &Ways<'_>) -> Result<Option<String>, ToolError> {
        let tool = tool(ways);
        if number_of(name, &tool)?.is_some() {
            return Ok(Some(format!("iSCSI target {}", target_name(name))));
        }
        if has_account(name, &tool)? {
            return Ok(Some(format!("the account {name} of tgtd")));
        }
        if let Some(device) = &self.device {
            return check_unused(device, &tool).map(|()| None);
        }
        let path = backing(self, name);
        let present = tool.script(PRESENT, &[&path])?;
        Ok((!present.trim().is_empty()).then_some(path))
    }

    fn create(&self, name: &str, ways: &Ways<'_>) -> Result<Option<AccessKey>, ToolError> {
        let tool = tool(ways);
        let path = backing(self, name);
        if self.device.is_none() {
            tool.script(CREATE, &[&path, &self.size_bytes.to_string()])?;
        }
        let number = create_target(name, &tool)?;
        let call = |what: &str, mode: &str, rest: &[&str]| -> Result<(), ToolError> {
            let rest = [&["--tid", number.as_str()][..], rest].concat();
            tool.call(&op(what, mode, &rest))?;
            Ok(())
        };
        // Before anybody may log in.
        let key = match self.chap {
            true => {
                let key = AccessKey { id: name.to_owned(), secret: secret()?, token: None };
                tool.call_hidden(&op("new", "account", &["--user", name, "--password", &key.secret]))?;
                call("bind", "account", &["--user", name])?;
                Some(key)
            }
            false => None,
        };
        let direct: &[&str] = if self.direct { &["--bsoflags", "direct"] } else { &[] };
        call("new", "logicalunit", &[&["--lun", "1", "--backing-store", &path], direct].concat())?;
        call("update", "logicalunit", &["--lun", "1", "--params", "thin_provisioning=1"])?;
        call("bind", "target", &["--initiator-address", &self.initiators])?;
        Ok(key)
    }

    fn remove(&self, name: &str, ways: &Ways<'_>) -> Result<(), ToolError> {
        let tool = tool(ways);
        if let Some(number) = number_of(name, &tool)? {
            tool.call(&op("delete", "target", &["--force", "--tid", &number.to_string()]))?;
        }
        if has_account(name, &tool)? {
            tool.call(&op("delete", "account", &["--user", name]))?;
        }
        if self.device.is_none() {
            tool.script(REMOVE, &[&backing(self, name)])?;
        }
        Ok(())
    }
}
