//! One provisioned thing, in the journal and removed from it.

use experiment::{Provision, is_provisioned_name};
use fleet::launch::SshLogin;
use provision::RecordedPlace;
use serde::{Deserialize, Serialize};
use targets::RemoveLeftError;

use crate::error::{ProvisionerError, ToolError};
use crate::provisioner::{Provisioner, Ways, provisioner};
use crate::tool::ToolAccess;

/// The scheme of its entries in the journal; no protocol has it.
const SCHEME: &str = "provision";

/// What is created under one name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Item {
    /// The run's name with a number.
    pub name: String,
    /// What, and by which tools.
    pub provision: Provision,
}

impl Item {
    fn provisioner(&self) -> &dyn Provisioner {
        provisioner(&self.provision.wanted)
    }

    /// In words.
    pub fn what(&self) -> String {
        self.provisioner().what(&self.name)
    }

    /// The journal's entry in a run with this name.
    pub fn recorded(&self, run: &str) -> RecordedPlace {
        RecordedPlace {
            scheme: SCHEME.to_owned(),
            name: run.to_owned(),
            title: self.what(),
            within: None,
            holds: self.provisioner().holds(&self.name),
            place: serde_json::to_value(self).expect("items are plain data"),
        }
    }

    /// Checks that nothing has the name already.
    pub fn check_free(&self, access: &ToolAccess<'_>) -> Result<(), ProvisionerError> {
        let found = self.provisioner().existing(&self.name, &self.ways(access));
        match found.map_err(|why| ProvisionerError::Look { what: self.what(), why })? {
            Some(what) => Err(ProvisionerError::Exists { what }),
            None => Ok(()),
        }
    }

    /// Creates it.
    pub fn create(&self, access: &ToolAccess<'_>) -> Result<Option<targets::AccessKey>, ProvisionerError> {
        let made = self.provisioner().create(&self.name, &self.ways(access));
        made.map_err(|why| ProvisionerError::Create { what: self.what(), why })
    }

    /// Removes it.
    pub fn remove(&self, access: &ToolAccess<'_>) -> Result<(), ProvisionerError> {
        let removed: Result<(), ToolError> = self.provisioner().remove(&self.name, &self.ways(access));
        removed.map_err(|why| ProvisionerError::Remove { what: self.what(), why })
    }

    fn ways<'a>(&'a self, access: &'a ToolAccess<'a>) -> Ways<'a> {
        Ways { provision: &self.provision, access }
    }
}

/// Whether a journal's entry is something that was provisioned.
pub(crate) fn is_provisioned(place: &RecordedPlace) -> bool {
    place.scheme == SCHEME
}

/// Removes what a dead run had provisioned; what is missing counts as removed. `None` if the entry is of something else.
/// Blocks.
///
/// # Errors
/// The entry is not of the run or cannot be read, or a tool refuses.
pub fn remove_left(place: &RecordedPlace) -> Option<Result<(), ProvisionerError>> {
    let access = ToolAccess { login: SshLogin::default(), stop: &|| false };
    let remove = || read(place)?.remove(&access);
    is_provisioned(place).then(remove)
}

/// The item of an entry, which bears the run's own name.
pub(crate) fn read(place: &RecordedPlace) -> Result<Item, RemoveLeftError> {
    let item = Item::deserialize(&place.place)?;
    match is_provisioned_name(&item.name, &place.name) {
        true => Ok(item),
        false => Err(RemoveLeftError::NotOurs(place.name.clone())),
    }
}
