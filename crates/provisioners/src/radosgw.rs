//! Users of Ceph's object gateway, by `radosgw-admin`. The user's bucket has the user's name: the S3 target creates it when it
//! is first entered, and it is removed with the user.
//!
//! The gateway makes up the keys; they come back in the tool's output, and are in no argument list.

use experiment::GatewayUser;
use provision::Container;
use serde::Deserialize;
use targets::AccessKey;

use crate::error::ToolError;
use crate::provisioner::{Provisioner, Ways};
use crate::tool::Tool;

/// A user as `radosgw-admin` prints it.
#[derive(Deserialize)]
struct User {
    keys: Vec<UserKey>,
}

#[derive(Deserialize)]
struct UserKey {
    access_key: String,
    secret_key: String,
}

fn tool<'a>(ways: &Ways<'a>) -> Tool<'a> {
    Tool::new(&["radosgw-admin"], ways.provision, ways.access)
}

/// Whether a list of the gateway's metadata has this name. Its keys are not printed, as those of a user would be.
fn is_listed(kind: &str, name: &str, tool: &Tool<'_>) -> Result<bool, ToolError> {
    let listed = tool.call(&["metadata", "list", kind])?;
    let names: Vec<String> =
        serde_json::from_str(&listed).map_err(|_| ToolError::Unreadable("radosgw-admin metadata list"))?;
    Ok(names.iter().any(|known| known == name))
}

impl Provisioner for GatewayUser {
    fn what(&self, name: &str) -> String {
        format!("gateway user {name} with its bucket")
    }

    fn holds(&self, name: &str) -> Option<Container> {
        Some(Container::Bucket(name.to_owned()))
    }

    fn existing(&self, name: &str, ways: &Ways<'_>) -> Result<Option<String>, ToolError> {
        let tool = tool(ways);
        if is_listed("user", name, &tool)? {
            return Ok(Some(format!("gateway user {name}")));
        }
        Ok(is_listed("bucket", name, &tool)?.then(|| format!("bucket {name} of the gateway")))
    }

    fn create(&self, name: &str, ways: &Ways<'_>) -> Result<Option<AccessKey>, ToolError> {
        let tool = tool(ways);
        let (uid, display) = (format!("--uid={name}"), format!("--display-name={name}"));
        let placement = self.placement.as_ref().map(|placement| format!("--placement-id={placement}"));
        let mut words = vec!["user", "create", &uid, &display, "--max-buckets=1"];
        words.extend(placement.as_deref());
        let unreadable = || ToolError::Unreadable("radosgw-admin user create");
        let user: User = serde_json::from_str(&tool.call(&words)?).map_err(|_| unreadable())?;
        let key = user.keys.into_iter().next().ok_or_else(unreadable)?;
        Ok(Some(AccessKey { id: key.access_key, secret: key.secret_key, token: None }))
    }

    fn remove(&self, name: &str, ways: &Ways<'_>) -> Result<(), ToolError> {
        let tool = tool(ways);
        if is_listed("bucket", name, &tool)? {
            // Otherwise the data stays until the gateway's garbage collection, two hours later.
            let bucket = format!("--bucket={name}");
            tool.call(&["bucket", "rm", &bucket, "--purge-objects", "--bypass-gc"])?;
        }
        if is_listed("user", name, &tool)? {
            tool.call(&["user", "rm", &format!("--uid={name}"), "--purge-data"])?;
        }
        Ok(())
    }
}
