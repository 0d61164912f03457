//! The contents of one bucket: objects and unfinished uploads.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::SystemTime;

use s3s::dto::{Checksum, ETag, Tag};

use super::rope::Rope;
use crate::Capacity;
use crate::capacity::Full;

/// Space of the array, freed when this is dropped.
#[derive(Debug)]
pub(crate) struct Room {
    capacity: Arc<Capacity>,
    bytes: u64,
}

impl Room {
    /// No space yet.
    pub(crate) fn new(capacity: Arc<Capacity>) -> Self {
        Self { capacity, bytes: 0 }
    }

    /// Allocates space until there is enough for `bytes`.
    ///
    /// # Errors
    /// [`Full`]; what was allocated before stays allocated.
    pub(crate) fn grow_to(&mut self, bytes: u64) -> Result<(), Full> {
        let more = bytes.saturating_sub(self.bytes);
        self.capacity.take(more)?;
        self.bytes += more;
        Ok(())
    }

    /// Frees what exceeds `bytes`.
    pub(crate) fn shrink_to(&mut self, bytes: u64) {
        let surplus = self.bytes.saturating_sub(bytes);
        self.capacity.give_back(surplus);
        self.bytes -= surplus;
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.capacity.give_back(self.bytes);
    }
}

/// Metadata of an object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attributes {
    pub(crate) content_type: Option<String>,
    pub(crate) content_encoding: Option<String>,
    pub(crate) content_disposition: Option<String>,
    pub(crate) content_language: Option<String>,
    pub(crate) cache_control: Option<String>,
    pub(crate) metadata: Option<std::collections::HashMap<String, String>>,
}

/// An object, or a part of an upload.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) body: Rope,
    pub(crate) etag: ETag,
    pub(crate) modified: SystemTime,
    pub(crate) attributes: Attributes,
    /// The checksum that the client sent, verified.
    pub(crate) checksum: Checksum,
    /// End offsets of the parts that it was uploaded in, in bytes; empty if it was put as a whole.
    pub(crate) part_ends: Vec<u64>,
    /// The space it uses; several when it was assembled from parts.
    pub(crate) room: Vec<Arc<Room>>,
    /// Its tags, which change without the object.
    pub(crate) tags: Mutex<Vec<Tag>>,
}

impl Object {
    /// The tags; never held across an await.
    pub(crate) fn tags(&self) -> MutexGuard<'_, Vec<Tag>> {
        self.tags.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An unfinished multipart upload.
#[derive(Debug)]
pub(crate) struct Upload {
    pub(crate) key: String,
    pub(crate) started: SystemTime,
    pub(crate) attributes: Attributes,
    pub(crate) parts: BTreeMap<i32, Arc<Object>>,
}

/// Objects by key, and uploads by id.
#[derive(Debug, Default)]
pub(crate) struct Inner {
    pub(crate) objects: BTreeMap<String, Arc<Object>>,
    pub(crate) uploads: BTreeMap<String, Upload>,
}

/// The contents of a bucket, shared between management and S3.
#[derive(Debug)]
pub(crate) struct Contents {
    inner: RwLock<Inner>,
    capacity: Arc<Capacity>,
}

/// Totals of a bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) objects: u64,
    pub(crate) bytes: u64,
    pub(crate) uploads: u64,
    pub(crate) upload_bytes: u64,
}

impl Contents {
    /// An empty bucket.
    pub(crate) fn new(capacity: Arc<Capacity>) -> Self {
        Self { inner: RwLock::default(), capacity }
    }

    /// Space for an object about to be stored.
    pub(crate) fn room(&self) -> Room {
        Room::new(Arc::clone(&self.capacity))
    }

    /// Locks for reading; never held across an await.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Inner> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks for writing; never held across an await.
    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Inner> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there are neither objects nor unfinished uploads.
    pub(crate) fn is_empty(&self) -> bool {
        let inner = self.read();
        inner.objects.is_empty() && inner.uploads.is_empty()
    }

    /// The totals.
    pub(crate) fn totals(&self) -> Totals {
        let inner = self.read();
        let parts = inner.uploads.values().flat_map(|upload| upload.parts.values());
        Totals {
            objects: inner.objects.len() as u64,
            bytes: inner.objects.values().map(|object| object.body.len()).sum(),
            uploads: inner.uploads.len() as u64,
            upload_bytes: parts.map(|part| part.body.len()).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::rope::Builder;
    use super::*;
    use crate::files::Files;
    use crate::objects::Objects;
    use crate::state::{Parts, state};

    #[test]
    fn what_is_removed_is_not_used_although_an_answer_still_sends_it() {
        let capacity = Capacity::new(1 << 20);
        let mut objects = Objects::new(Files::new(Arc::clone(&capacity)));
        objects.create_account("a").unwrap();
        objects.create_bucket("bucket", "a").unwrap();
        let contents = Arc::clone(&objects.buckets["bucket"].contents);
        let parts = Parts { objects: Arc::new(RwLock::new(objects)) };
        let mut room = contents.room();
        room.grow_to(5).unwrap();
        assert_eq!(state(&parts)["used_bytes"], 0, "a request that is coming in is no object");
        let mut body = Builder::new(5);
        body.push(b"12345");
        let made = Arc::new(Object {
            body: body.finish(),
            etag: ETag::Strong("e".into()),
            modified: reactor::clock::wall(),
            attributes: Attributes::default(),
            checksum: Checksum::default(),
            part_ends: Vec::new(),
            room: vec![Arc::new(room)],
            tags: Mutex::default(),
        });
        contents.write().objects.insert("key".into(), Arc::clone(&made));
        assert_eq!(state(&parts)["used_bytes"], 5);
        contents.write().objects.remove("key");
        assert_eq!((state(&parts)["used_bytes"].clone(), capacity.used()), (0.into(), 5));
        drop(made);
        assert_eq!(capacity.used(), 0);
    }
}
