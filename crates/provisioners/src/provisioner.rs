//! The interface between the tools of storage servers and what is alike for all of them.

use experiment::{Provision, ProvisionKind};
use provision::Container;
use targets::AccessKey;

use crate::error::ToolError;
use crate::tool::ToolAccess;

/// Something that a server's tool creates under a name of the run, and removes.
pub(crate) trait Provisioner {
    /// In words: `Gluster volume manometer-abcdefgh-1`.
    fn what(&self, name: &str) -> String;

    /// What contains places of the run, so that removing it removes them.
    fn holds(&self, name: &str) -> Option<Container>;

    /// What has the name already, or would be in the way; in words. Changes nothing.
    ///
    /// # Errors
    /// The tool cannot be asked.
    fn existing(&self, name: &str, ways: &Ways<'_>) -> Result<Option<String>, ToolError>;

    /// Creates it; returns the key that its users need, if any.
    ///
    /// # Errors
    /// It may exist in part: [`Self::remove`] removes that.
    fn create(&self, name: &str, ways: &Ways<'_>) -> Result<Option<AccessKey>, ToolError>;

    /// Removes it with everything in it; what is missing counts as removed.
    ///
    /// # Errors
    /// Some of it may remain.
    fn remove(&self, name: &str, ways: &Ways<'_>) -> Result<(), ToolError>;
}

/// How the server's tools are reached.
pub(crate) struct Ways<'a> {
    /// What the user wrote: options, via, timeout.
    pub provision: &'a Provision,
    /// What is alike for all commands.
    pub access: &'a ToolAccess<'a>,
}

/// Who creates what is wanted.
pub(crate) fn provisioner(wanted: &ProvisionKind) -> &dyn Provisioner {
    match wanted {
        ProvisionKind::Gluster(volume) => volume,
        ProvisionKind::Tgt(target) => target,
        ProvisionKind::Ceph(pool) => pool,
        ProvisionKind::Radosgw(user) => user,
    }
}
