//! Configuration of an RBD target.

use std::path::PathBuf;

use super::super::config::RadosConfig;

/// Max length of an image's name in bytes (`RBD_MAX_IMAGE_NAME_SIZE` with a zero byte at the end).
pub const MAX_IMAGE_NAME_BYTES: usize = 95;

/// The target of a [`super::RbdDriver`].
#[derive(Clone, Debug)]
pub struct RbdConfig {
    /// The pool and its namespace, how its cluster is reached, and as whom. Prefix, names and clients are not used.
    pub pool: RadosConfig,
    /// The image's name.
    pub image: String,
    /// Bytes of a slice, when hosts share the image: objects of operations are numbers of slices. 0: there is one, the
    /// image.
    pub slice_bytes: u64,
    /// Whether librbd caches data in this host's memory, as far as the cluster's configuration has it do so.
    pub cache: bool,
    /// Whether trims write zeroes, which reads are sure to return, instead of discarding.
    pub zeroes: bool,
    /// The file of librbd, if not the system's.
    pub library: Option<PathBuf>,
}

impl RbdConfig {
    /// An image with default settings.
    pub fn new(pool: RadosConfig, image: impl Into<String>) -> Self {
        Self { pool, image: image.into(), slice_bytes: 0, cache: false, zeroes: false, library: None }
    }

    /// Pool, namespace and image, as `rbd` writes them: `pool/namespace/image`.
    pub fn spec(&self) -> String {
        match &*self.pool.namespace {
            "" => format!("{}/{}", self.pool.pool, self.image),
            namespace => format!("{}/{namespace}/{}", self.pool.pool, self.image),
        }
    }

    /// The image's URL, without options but the namespace.
    pub fn url(&self) -> String {
        let namespace = match &*self.pool.namespace {
            "" => String::new(),
            namespace => format!("?namespace={namespace}"),
        };
        format!("rbd://{}/{}{namespace}", self.pool.pool, self.image)
    }
}

/// How an image is created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RbdCreation {
    /// Its size in bytes.
    pub bytes: u64,
    /// Size of its objects in bytes, a power of two; `None`: as the cluster's configuration says.
    pub object_bytes: Option<u64>,
    /// Pool for its data, such as an erasure-coded one, if not its own pool.
    pub data_pool: Option<String>,
    /// Whether it has the features that the cluster's configuration gives it (`rbd_default_features`), usually with
    /// exclusive-lock; if not, only layering, so that several clients can write without passing a lock to each other.
    pub usual_features: bool,
}
