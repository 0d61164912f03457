//! Gluster volumes, by `gluster`.
//!
//! Each brick is a directory with the volume's name in one that exists. `gluster volume delete` leaves it with its
//! content, so it is removed on its host afterwards; that it can be seen there is checked when the volume is created.

use experiment::GlusterVolume;
use provision::Container;
use targets::AccessKey;

use crate::error::ToolError;
use crate::provisioner::{Provisioner, Ways};
use crate::tool::{PRESENT, Tool};

/// Prints those of its arguments that are no directories.
const MISSING: &str = r#"for p; do [ -d "$p" ] || printf '%s\n' "$p"; done"#;
/// Removes its arguments and everything below them.
const REMOVE: &str = r#"rm -rf --one-file-system -- "$@""#;

fn tool<'a>(ways: &Ways<'a>) -> Tool<'a> {
    Tool::new(&["gluster", "--mode=script"], ways.provision, ways.access)
}

/// Whether the server has a volume of this name.
fn is_there(name: &str, tool: &Tool<'_>) -> Result<bool, ToolError> {
    Ok(tool.lists(&["volume", "list"], name)?)
}

/// Runs a script on every host of bricks with the bricks' directories as arguments; returns the hosts with what it
/// printed there.
fn at_bricks(
    volume: &GlusterVolume,
    name: &str,
    tool: &Tool<'_>,
    script: &str,
) -> Result<Vec<(String, String)>, ToolError> {
    let mut hosts: Vec<&str> = volume.bricks.iter().map(|brick| &*brick.host).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let on = |host: &str| {
        let bricks = volume.bricks.iter().filter(|brick| brick.host == host);
        let paths: Vec<String> = bricks.map(|brick| own_directory(&brick.directory, name)).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let printed = tool.script_on(host, volume.bricks_via.as_ref(), script, &paths)?;
        Ok((host.to_owned(), printed))
    };
    hosts.into_iter().map(on).collect()
}

/// The directory of a brick.
fn own_directory(directory: &str, name: &str) -> String {
    format!("{}/{name}", directory.trim_end_matches('/'))
}

/// The first path that a script printed, with its host.
fn first(printed: &[(String, String)]) -> Option<(String, String)> {
    printed.iter().find_map(|(host, text)| Some((host.clone(), text.lines().next()?.to_owned())))
}

impl Provisioner for GlusterVolume {
    fn what(&self, name: &str) -> String {
        let bricks = match self.bricks.len() {
            1 => "1 brick".to_owned(),
            some => format!("{some} bricks"),
        };
        format!("Gluster volume {name} of {bricks}")
    }

    fn holds(&self, name: &str) -> Option<Container> {
        Some(Container::Provisioned(name.to_owned()))
    }

    fn existing(&self, name: &str, ways: &Ways<'_>) -> Result<Option<String>, ToolError> {
        let tool = tool(ways);
        if is_there(name, &tool)? {
            return Ok(Some(format!("Gluster volume {name}")));
        }
        let found = first(&at_bricks(self, name, &tool, PRESENT)?);
        Ok(found.map(|(host, path)| format!("{path} on {host}")))
    }

    fn create(&self, name: &str, ways: &Ways<'_>) -> Result<Option<AccessKey>, ToolError> {
        let tool = tool(ways);
        let mut words = ["volume", "create", name].map(str::to_owned).to_vec();
        for (word, number) in &self.layout {
            words.extend([word.clone(), number.to_string()]);
        }
        let place =
            |brick: &experiment::Brick| format!("{}:{}", brick.host, own_directory(&brick.directory, name));
        words.extend(self.bricks.iter().map(place));
        words.extend(self.force.then(|| "force".to_owned()));
        tool.call(&words)?;
        if let Some((host, path)) = first(&at_bricks(self, name, &tool, MISSING)?) {
            return Err(ToolError::NoBrick { path, host });
        }
        for (key, value) in &self.settings {
            tool.call(&["volume", "set", name, key, value])?;
        }
        tool.call(&["volume", "start", name])?;
        Ok(None)
    }

    fn remove(&self, name: &str, ways: &Ways<'_>) -> Result<(), ToolError> {
        let tool = tool(ways);
        if is_there(name, &tool)? {
            let info = tool.call(&["volume", "info", name])?;
            if info.lines().any(|line| line.trim() == "Status: Started") {
                tool.call(&["volume", "stop", name, "force"])?;
            }
            tool.call(&["volume", "delete", name])?;
        }
        at_bricks(self, name, &tool, REMOVE)?;
        Ok(())
    }
}
