//! A run's work on an array: finding its addresses, creating targets, removing them.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::addresses::{AddressChoice, Interface, Reference, Subnet, choose};
use crate::cancel::Cancel;
use crate::client::{Client, Management, Parameters};
use crate::error::{CallError, ProvisionError, RemoveError};
use crate::journal::{ArrayFacts, Resource, Run};
use crate::remove::Remover;
use crate::secret::ApiSecret;
use crate::steps::ManagementStep;
use crate::version::{ApiVersion, Generation};

/// First version that lists network interfaces.
const LISTS_INTERFACES: ApiVersion = ApiVersion::new(1, 3);
/// First version that can eradicate a file system.
const ERADICATES: ApiVersion = ApiVersion::new(1, 1);
/// First version that can create a bucket.
const HAS_BUCKETS: ApiVersion = ApiVersion::new(1, 5);
/// First version that distinguishes NFSv3 from NFSv4.1.
const TELLS_NFS_APART: ApiVersion = ApiVersion::new(1, 6);
/// First version with access policies: a user without one has no permissions.
const HAS_POLICIES: ApiVersion = ApiVersion::new(1, 12);
/// Everyone may read and write, and root is not squashed: the load uses a uid of its choice.
const EXPORT_RULES: &str = "*(rw,no_root_squash)";

/// Where a target comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Want {
    /// One of our own, named after the run.
    Create,
    /// An existing one, by name. Only what we put into it is removed.
    Existing(String),
}

/// The version of NFS that a file system is exported over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExportProtocol {
    /// Version 3.
    #[default]
    Nfs3,
    /// Version 4.1.
    Nfs4_1,
}

impl ExportProtocol {
    /// The version's number, as targets' options write it.
    pub fn number(self) -> &'static str {
        match self {
            Self::Nfs3 => "3",
            Self::Nfs4_1 => "4.1",
        }
    }
}

/// Which targets are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// A file system that is exported.
    pub filesystem: Option<Want>,
    /// What it is exported over.
    pub export_protocol: ExportProtocol,
    /// A bucket with access keys.
    pub bucket: Option<Want>,
}

impl Wanted {
    /// A file system, exported over version 3, and a bucket, both of our own.
    pub fn both() -> Self {
        Self { filesystem: Some(Want::Create), bucket: Some(Want::Create), ..Self::default() }
    }
}

/// Access keys to a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketAccess {
    /// Name of the bucket.
    pub bucket: String,
    /// Access key id.
    pub access_key: String,
    /// Secret key.
    pub secret_key: ApiSecret,
}

/// The targets to load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    /// Path of the NFS export.
    pub export: Option<String>,
    /// The bucket.
    pub bucket: Option<BucketAccess>,
}

/// A session on an array's management API, for one run.
///
/// Its methods block and must not be called from an async runtime. Dropping it removes what it created as far as
/// possible; the rest stays in the journal.
#[derive(Debug)]
pub struct ArraySession {
    client: Client,
    run: Run,
}

impl ArraySession {
    /// Negotiates an API version, logs in, and records the array in the run's journal.
    ///
    /// # Errors
    /// The address, token or trust is unusable; the array cannot be reached, is not trusted, rejects the token or has
    /// no known version; the journal cannot be written.
    pub fn open(management: &Management, run: &Run, cancel: &Cancel) -> Result<Self, ProvisionError> {
        let client = Client::open(management, cancel)?;
        let session = Self { client, run: run.clone() };
        run.talk_to(ArrayFacts {
            address: management.address.clone(),
            trust: management.trust.clone(),
            api: session.version().to_string(),
        })?;
        Ok(session)
    }

    /// The negotiated API version.
    pub fn version(&self) -> ApiVersion {
        self.client.version()
    }

    /// The array's data addresses: one per subnet, with the reasons.
    ///
    /// # Errors
    /// A call failed, or the API is too old to list them.
    pub fn data_addresses(&mut self) -> Result<AddressChoice, ProvisionError> {
        self.version().require(LISTS_INTERFACES, "listing the data addresses")?;
        let interfaces: Vec<Interface> =
            self.client.list(ManagementStep::ListInterfaces, &Parameters::default())?;
        let subnets: Vec<Subnet> = self.client.list(ManagementStep::ListSubnets, &Parameters::default())?;
        Ok(choose(&interfaces, &subnets))
    }

    /// Creates (or finds) the targets. After an error, [`Self::remove`] removes what was created.
    ///
    /// # Errors
    /// A call failed, a name is taken, an existing target was not found, or the journal cannot be written.
    pub fn create(&mut self, wanted: &Wanted) -> Result<Targets, ProvisionError> {
        let export = match &wanted.filesystem {
            None => None,
            Some(Want::Create) => Some(self.create_file_system(wanted.export_protocol)?),
            Some(Want::Existing(name)) => Some(self.existing_file_system(name, wanted.export_protocol)?),
        };
        let bucket = match &wanted.bucket {
            None => None,
            Some(Want::Create) => Some(self.create_bucket()?),
            Some(Want::Existing(name)) => Some(self.existing_bucket(name)?),
        };
        Ok(Targets { export, bucket })
    }

    /// Removes everything that this session created, in the order that the array requires, continuing after failures.
    /// May be called again.
    ///
    /// # Errors
    /// What could not be removed. It stays in the journal, for `manometer cleanup`.
    pub fn remove(&mut self) -> Result<(), RemoveError> {
        let remaining = Remover::new(&mut self.client, &self.run, None).everything();
        if remaining.is_empty() { Ok(()) } else { Err(RemoveError { remaining }) }
    }

    /// Logs out of the array. The next call would start another session.
    ///
    /// # Errors
    /// The call failed: the session then expires by itself.
    pub fn close(&mut self) -> Result<(), ProvisionError> {
        self.client.interruptible = false;
        Ok(self.client.logout()?)
    }

    fn create_file_system(&mut self, over: ExportProtocol) -> Result<String, ProvisionError> {
        self.version().require(ERADICATES, "removing a file system again")?;
        let enabled = match over {
            ExportProtocol::Nfs3 if self.version() < TELLS_NFS_APART => "enabled",
            ExportProtocol::Nfs3 => "v3_enabled",
            ExportProtocol::Nfs4_1 => {
                self.version().require(TELLS_NFS_APART, "exporting a file system over NFSv4.1")?;
                "v4_1_enabled"
            }
        };
        let name = self.run.id().object_name();
        self.refuse_existing(
            ManagementStep::LookForFileSystem,
            &name,
            &Resource::FileSystem { name: name.clone() },
        )?;
        let nfs = json!({ enabled: true, "rules": EXPORT_RULES });
        let parameters = match self.client.generation() {
            Generation::One => Parameters {
                subject: name.clone(),
                query: Vec::new(),
                body: Some(json!({ "name": name, "nfs": nfs })),
            },
            Generation::Two => Parameters {
                subject: name.clone(),
                query: vec![("names", name.clone())],
                body: Some(json!({ "nfs": nfs })),
            },
        };
        self.create_resource(
            ManagementStep::CreateFileSystem,
            Resource::FileSystem { name: name.clone() },
            &parameters,
        )?;
        Ok(format!("/{name}"))
    }

    fn existing_file_system(&mut self, name: &str, over: ExportProtocol) -> Result<String, ProvisionError> {
        #[derive(Default, Deserialize)]
        struct Nfs {
            /// The only one before 1.6; beside `v3_enabled` until 1.12, as its old name.
            #[serde(default)]
            enabled: Option<bool>,
            #[serde(default)]
            v3_enabled: Option<bool>,
            #[serde(default)]
            v4_1_enabled: Option<bool>,
        }
        #[derive(Deserialize)]
        struct FileSystem {
            #[serde(default)]
            destroyed: Option<bool>,
            #[serde(default)]
            nfs: Option<Nfs>,
        }
        let unfit = |why: &str| {
            ProvisionError::Target(format!(
                "the file system {name} {why}; next: name another one with --filesystem, or leave it out to have one made"
            ))
        };
        let found = self
            .look(ManagementStep::LookForFileSystem, name)?
            .ok_or_else(|| unfit("does not exist on this array"))?;
        let found: FileSystem = self.parse(ManagementStep::LookForFileSystem, found)?;
        if found.destroyed == Some(true) {
            return Err(unfit("is destroyed"));
        }
        let nfs = found.nfs.unwrap_or_default();
        let enabled = match over {
            ExportProtocol::Nfs3 => nfs.v3_enabled.or(nfs.enabled),
            ExportProtocol::Nfs4_1 => nfs.v4_1_enabled,
        };
        if enabled != Some(true) {
            return Err(unfit(&format!("is not exported over NFSv{}", over.number())));
        }
        Ok(format!("/{name}"))
    }

    fn create_bucket(&mut self) -> Result<BucketAccess, ProvisionError> {
        self.version().require(HAS_BUCKETS, "creating a bucket")?;
        let name = self.run.id().object_name();
        let account = Resource::Account { name: name.clone() };
        self.refuse_existing(ManagementStep::LookForAccount, &name, &account)?;
        self.create_resource(ManagementStep::CreateAccount, account, &Parameters::named(&name))?;
        let (access_key, secret_key) = self.create_keys(&name)?;
        let bucket = Resource::Bucket { name: name.clone() };
        self.refuse_existing(ManagementStep::LookForBucket, &name, &bucket)?;
        let mut parameters = Parameters::named(&name);
        parameters.body = Some(json!({ "account": { "name": name } }));
        self.create_resource(ManagementStep::CreateBucket, bucket, &parameters)?;
        Ok(BucketAccess { bucket: name, access_key, secret_key })
    }

    fn existing_bucket(&mut self, name: &str) -> Result<BucketAccess, ProvisionError> {
        #[derive(Deserialize)]
        struct Bucket {
            #[serde(default)]
            destroyed: Option<bool>,
            account: Reference,
        }
        let unfit = |why: &str| {
            ProvisionError::Target(format!(
                "the bucket {name} {why}; next: name another one with --bucket, or leave it out to have one made"
            ))
        };
        self.version().require(HAS_BUCKETS, "using a bucket")?;
        let found = self
            .look(ManagementStep::LookForBucket, name)?
            .ok_or_else(|| unfit("does not exist on this array"))?;
        let found: Bucket = self.parse(ManagementStep::LookForBucket, found)?;
        if found.destroyed == Some(true) {
            return Err(unfit("is destroyed"));
        }
        let account =
            found.account.name.ok_or_else(|| unfit("belongs to no account that the array names"))?;
        let (access_key, secret_key) = self.create_keys(&account)?;
        Ok(BucketAccess { bucket: name.to_owned(), access_key, secret_key })
    }

    /// A user of ours in `account`, and its keys.
    fn create_keys(&mut self, account: &str) -> Result<(String, ApiSecret), ProvisionError> {
        let name = format!("{account}/{}", self.run.id().object_name());
        let user = Resource::User { name: name.clone() };
        self.refuse_existing(ManagementStep::LookForUser, &name, &user)?;
        let mut parameters = Parameters::named(&name);
        if self.version() >= HAS_POLICIES {
            parameters.query.push(("full_access", "true".into()));
        }
        self.create_resource(ManagementStep::CreateUser, user, &parameters)?;
        create_access_key(&mut self.client, &self.run, &name)
    }

    /// The object of that name, if there is one.
    fn look(&mut self, step: ManagementStep, name: &str) -> Result<Option<Value>, ProvisionError> {
        Ok(look(&mut self.client, step, name)?)
    }

    fn refuse_existing(
        &mut self,
        step: ManagementStep,
        name: &str,
        resource: &Resource,
    ) -> Result<(), ProvisionError> {
        match self.look(step, name)? {
            None => Ok(()),
            Some(_) => Err(ProvisionError::NotOurs { what: resource.to_string() }),
        }
    }

    fn create_resource(
        &mut self,
        step: ManagementStep,
        resource: Resource,
        parameters: &Parameters,
    ) -> Result<Value, ProvisionError> {
        create_resource(&mut self.client, &self.run, step, resource, parameters)
    }

    fn parse<T: serde::de::DeserializeOwned>(
        &self,
        step: ManagementStep,
        value: Value,
    ) -> Result<T, ProvisionError> {
        serde_json::from_value(value)
            .map_err(|error| self.client.nonsense(step, &Parameters::default(), error.to_string()).into())
    }
}

impl Drop for ArraySession {
    fn drop(&mut self) {
        let ours = |entry: &crate::journal::Entry| entry.resource.is_on_array();
        if self.run.outstanding().iter().any(ours) {
            // Whatever fails here stays in the journal; there is no caller left to inform.
            let _ = self.remove();
        }
        let _ = self.close();
    }
}

impl Parameters {
    /// Parameters for the object `name`.
    pub(crate) fn named(name: &str) -> Self {
        Self { subject: name.to_owned(), query: vec![("names", name.to_owned())], body: None }
    }
}

/// The object of that name, if there is one.
pub(crate) fn look(
    client: &mut Client,
    step: ManagementStep,
    name: &str,
) -> Result<Option<Value>, CallError> {
    let parameters = Parameters::named(name);
    let items = match client.list::<Value>(step, &parameters) {
        Ok(items) => items,
        Err(error) if error.failure.says_absent() => return Ok(None),
        Err(error) => return Err(error),
    };
    let name_of = |item: &Value| item.get("name").and_then(Value::as_str).map(str::to_owned);
    // A response without names must not be taken for "not found": something might be left behind.
    if items.iter().any(|item| name_of(item).is_none()) {
        return Err(client.nonsense(step, &parameters, "there is an item without a name in it".into()));
    }
    Ok(items.into_iter().find(|item| name_of(item).as_deref() == Some(name)))
}

/// Creates an access key of `user`; returns its id and its secret.
pub(crate) fn create_access_key(
    client: &mut Client,
    run: &Run,
    user: &str,
) -> Result<(String, ApiSecret), ProvisionError> {
    #[derive(Deserialize)]
    struct Answer {
        items: Vec<Key>,
    }
    #[derive(Deserialize)]
    struct Key {
        name: String,
        #[serde(default)]
        access_key_id: Option<String>,
        secret_access_key: String,
    }
    let parameters = Parameters {
        subject: format!("of {user}"),
        query: Vec::new(),
        body: Some(json!({ "user": { "name": user } })),
    };
    let answer = create_resource(
        client,
        run,
        ManagementStep::CreateAccessKey,
        Resource::AccessKey { user: user.to_owned() },
        &parameters,
    )?;
    // The response contains the secret: the error must not quote it, so it says only what is missing.
    let answer: Option<Answer> = serde_json::from_value(answer).ok();
    let key = answer.and_then(|answer| answer.items.into_iter().next());
    let missing = || {
        client.nonsense(
            ManagementStep::CreateAccessKey,
            &parameters,
            "there is no key with a secret in it".into(),
        )
    };
    let key = key.ok_or_else(missing)?;
    Ok((key.access_key_id.unwrap_or(key.name), ApiSecret::new(&key.secret_access_key)))
}

/// Creates a resource, journaled before and settled after.
fn create_resource(
    client: &mut Client,
    run: &Run,
    step: ManagementStep,
    resource: Resource,
    parameters: &Parameters,
) -> Result<Value, ProvisionError> {
    let what = resource.to_string();
    let id = run.record_intent(resource)?;
    match client.call(step, parameters) {
        Ok(value) => {
            run.created(id)?;
            Ok(value)
        }
        // It may have been created nevertheless: it stays outstanding, and removal looks for it.
        Err(error) if error.failure.is_ambiguous() => Err(error.into()),
        Err(error) => {
            run.not_ours(id, &error.failure.to_string())?;
            if error.failure.says_exists() {
                Err(ProvisionError::NotOurs { what })
            } else {
                Err(error.into())
            }
        }
    }
}
