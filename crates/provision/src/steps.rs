//! Every call that this crate can make to a management API, in one table.
//!
//! All calls go through one function that takes a [`ManagementStep`]; the step, not the caller, determines the method
//! and the path, so a call that is not in this table cannot be made. The table is in the order in which a run that
//! creates and removes everything makes its calls, each of them once.

use std::fmt;

use hyper::Method;

use crate::version::ApiVersion;

/// What a step is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepPhase {
    /// Before anything is created; changes nothing.
    Open,
    /// Creating the targets (including checks that their names are free).
    Create,
    /// Removing the targets.
    Remove,
    /// Ending the session.
    Close,
}

macro_rules! steps {
    ($($(#[$doc:meta])* $step:ident: $phase:ident, $method:ident $path:literal, $words:literal;)*) => {
        /// A call to the management API.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ManagementStep { $($(#[$doc])* $step,)* }

        /// Every step, in the order of a run that creates and removes everything.
        const ALL: &[ManagementStep] = &[$(ManagementStep::$step,)*];

        impl ManagementStep {
            /// What the step is part of.
            pub fn phase(self) -> StepPhase {
                match self { $(ManagementStep::$step => StepPhase::$phase,)* }
            }

            /// HTTP method.
            pub(crate) fn http_method(self) -> Method {
                match self { $(ManagementStep::$step => Method::$method,)* }
            }

            /// Path below the address, with `*` for the API version.
            pub fn path(self) -> &'static str {
                match self { $(ManagementStep::$step => $path,)* }
            }

            /// Description of the step that completes "cannot …".
            pub fn words(self) -> &'static str {
                match self { $(ManagementStep::$step => $words,)* }
            }
        }
    };
}

steps! {
    /// The versions that the array supports; needs no login.
    ListVersions: Open, GET "/api/api_version", "list the API versions";
    /// Exchanges the API token for a session.
    Login: Open, POST "/api/login", "log in";
    /// Network interfaces, page by page.
    ListInterfaces: Open, GET "/api/*/network-interfaces", "list the network interfaces";
    /// Subnets, page by page.
    ListSubnets: Open, GET "/api/*/subnets", "list the subnets";
    /// Is the name free? Or, for an existing one: is it exported over NFSv3?
    LookForFileSystem: Create, GET "/api/*/file-systems", "look for the file system";
    /// With NFSv3 and an export rule for everyone.
    CreateFileSystem: Create, POST "/api/*/file-systems", "create the file system";
    /// Is the name free?
    LookForAccount: Create, GET "/api/*/object-store-accounts", "look for the object store account";
    /// The account that owns user and bucket.
    CreateAccount: Create, POST "/api/*/object-store-accounts", "create the object store account";
    /// Is the name free?
    LookForUser: Create, GET "/api/*/object-store-users", "look for the object store user";
    /// With full access from 1.12 on; before, every user of an account had it.
    CreateUser: Create, POST "/api/*/object-store-users", "create the object store user";
    /// Returns the secret key, once.
    CreateAccessKey: Create, POST "/api/*/object-store-access-keys", "create the access key";
    /// Is the name free? Or, for an existing one: whose is it?
    LookForBucket: Create, GET "/api/*/buckets", "look for the bucket";
    /// In our account.
    CreateBucket: Create, POST "/api/*/buckets", "create the bucket";
    /// Does it exist, and is it already destroyed?
    FindBucket: Remove, GET "/api/*/buckets", "find the bucket";
    /// Prepares it for eradication.
    DestroyBucket: Remove, PATCH "/api/*/buckets", "destroy the bucket";
    /// Permanently.
    EradicateBucket: Remove, DELETE "/api/*/buckets", "eradicate the bucket";
    /// The user and the names of its keys, including any whose creation was never answered.
    FindUser: Remove, GET "/api/*/object-store-users", "find the object store user";
    /// One key of our user.
    RemoveAccessKey: Remove, DELETE "/api/*/object-store-access-keys", "remove the access key";
    /// After its keys.
    RemoveUser: Remove, DELETE "/api/*/object-store-users", "remove the object store user";
    /// Does it exist?
    FindAccount: Remove, GET "/api/*/object-store-accounts", "find the object store account";
    /// After its buckets and users.
    RemoveAccount: Remove, DELETE "/api/*/object-store-accounts", "remove the object store account";
    /// Does it exist, and is it already destroyed?
    FindFileSystem: Remove, GET "/api/*/file-systems", "find the file system";
    /// An exported file system cannot be destroyed.
    DisableNfs: Remove, PATCH "/api/*/file-systems", "switch NFS off for the file system";
    /// Prepares it for eradication.
    DestroyFileSystem: Remove, PATCH "/api/*/file-systems", "destroy the file system";
    /// Permanently.
    EradicateFileSystem: Remove, DELETE "/api/*/file-systems", "eradicate the file system";
    /// Ends the session.
    Logout: Close, POST "/api/logout", "log out";
}

/// Every step, in the order of a run that creates and removes everything; such a run makes each call once (listings
/// with several pages more often).
pub fn steps() -> &'static [ManagementStep] {
    ALL
}

impl ManagementStep {
    /// HTTP method, such as `POST`.
    pub fn method(self) -> String {
        self.http_method().to_string()
    }

    /// The path for one API version.
    pub(crate) fn path_in(self, version: Option<ApiVersion>) -> String {
        match version {
            Some(version) => self.path().replace('*', &version.to_string()),
            None => self.path().to_owned(),
        }
    }

    /// Ordinal, from 1, of the step among the calls with this method and path, in a run that creates and removes
    /// everything.
    pub fn occurrence(self) -> u64 {
        let earlier = ALL.iter().take_while(|&&step| step != self);
        1 + earlier.filter(|step| step.method() == self.method() && step.path() == self.path()).count() as u64
    }
}

impl fmt::Display for ManagementStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_with_the_same_request_are_told_apart_by_their_order() {
        assert_eq!(ManagementStep::ListVersions.occurrence(), 1);
        assert_eq!(ManagementStep::LookForBucket.occurrence(), 1);
        assert_eq!(ManagementStep::FindBucket.occurrence(), 2);
        assert_eq!(
            (ManagementStep::DisableNfs.occurrence(), ManagementStep::DestroyFileSystem.occurrence()),
            (1, 2)
        );
        let unique: std::collections::HashSet<_> =
            steps().iter().map(|step| (step.method(), step.path(), step.occurrence())).collect();
        assert_eq!(unique.len(), steps().len());
    }

    #[test]
    fn paths_carry_the_version() {
        assert_eq!(ManagementStep::CreateBucket.path_in(Some(ApiVersion::new(2, 29))), "/api/2.29/buckets");
        assert_eq!(ManagementStep::Login.path_in(None), "/api/login");
    }
}
