//! Object store accounts, their users, and the access policies of users.

use std::collections::BTreeSet;

use super::{ApiRefusal, Birth, Objects, User};

/// The policy that allows everything.
pub const FULL_ACCESS: &str = "pure:policy/full-access";

/// The policies that exist on every array, in order of name.
pub(crate) const POLICIES: [&str; 10] = [
    "pure:policy/bucket-control",
    "pure:policy/bucket-create",
    "pure:policy/bucket-delete",
    "pure:policy/bucket-info",
    "pure:policy/bucket-list",
    FULL_ACCESS,
    "pure:policy/object-delete",
    "pure:policy/object-list",
    "pure:policy/object-read",
    "pure:policy/object-write",
];

impl Objects {
    /// Creates an account.
    pub(crate) fn create_account(&mut self, name: &str) -> Result<(), ApiRefusal> {
        check(name, name)?;
        if self.accounts.contains_key(name) {
            return Err(ApiRefusal::exists(name, "Account"));
        }
        self.accounts.insert(name.into(), Birth::now());
        Ok(())
    }

    /// Removes an account without users and buckets, where destroyed buckets count.
    pub(crate) fn delete_account(&mut self, name: &str) -> Result<(), ApiRefusal> {
        if !self.accounts.contains_key(name) {
            return Err(ApiRefusal::missing(name, "Account"));
        }
        if self.users.values().any(|user| user.account == name) {
            return Err(ApiRefusal::new(name, "Account cannot be deleted because it has users."));
        }
        if self.buckets.values().any(|bucket| bucket.account == name) {
            return Err(ApiRefusal::new(name, "Account cannot be deleted because it has buckets."));
        }
        self.accounts.remove(name);
        Ok(())
    }

    /// Creates a user, named `account/user`.
    pub(crate) fn create_user(&mut self, name: &str, full_access: bool) -> Result<(), ApiRefusal> {
        let Some((account, user)) = name.split_once('/') else {
            return Err(ApiRefusal::new(name, "User name must be of the form account/user."));
        };
        check(name, user)?;
        if !self.accounts.contains_key(account) {
            return Err(ApiRefusal::missing(account, "Account"));
        }
        if self.users.contains_key(name) {
            return Err(ApiRefusal::exists(name, "User"));
        }
        let policies = full_access.then(|| FULL_ACCESS.to_owned()).into_iter().collect();
        let made = User { birth: Birth::now(), account: account.into(), policies };
        self.users.insert(name.into(), made);
        Ok(())
    }

    /// Removes a user that has no access keys.
    pub(crate) fn delete_user(&mut self, name: &str) -> Result<(), ApiRefusal> {
        if !self.users.contains_key(name) {
            return Err(ApiRefusal::missing(name, "User"));
        }
        if self.keys.values().any(|key| key.user == name) {
            return Err(ApiRefusal::new(name, "User cannot be deleted because it has access keys."));
        }
        self.users.remove(name);
        Ok(())
    }

    /// Attaches a policy to a user.
    pub(crate) fn add_policy(&mut self, user: &str, policy: &str) -> Result<(), ApiRefusal> {
        if !self.policies_of(user, policy)?.insert(policy.into()) {
            return Err(ApiRefusal::new(user, "Policy is already attached to the user."));
        }
        Ok(())
    }

    /// Detaches a policy from a user.
    pub(crate) fn remove_policy(&mut self, user: &str, policy: &str) -> Result<(), ApiRefusal> {
        if !self.policies_of(user, policy)?.remove(policy) {
            return Err(ApiRefusal::new(user, "Policy is not attached to the user."));
        }
        Ok(())
    }

    fn policies_of(&mut self, user: &str, policy: &str) -> Result<&mut BTreeSet<String>, ApiRefusal> {
        if !POLICIES.contains(&policy) {
            return Err(ApiRefusal::missing(policy, "Policy"));
        }
        match self.users.get_mut(user) {
            Some(found) => Ok(&mut found.policies),
            None => Err(ApiRefusal::missing(user, "User")),
        }
    }
}

/// Checks the name of an account or user: letters, digits and `-`, at most 63.
fn check(context: &str, name: &str) -> Result<(), ApiRefusal> {
    let fits = (1..=63).contains(&name.len())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if fits { Ok(()) } else { Err(ApiRefusal::new(context, "Invalid name.")) }
}
