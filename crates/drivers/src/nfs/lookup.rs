//! Maps an operation's object to its file handle: names in our directory or its tree, or the paths of named files.

use wire::nfs3::{DirArgs, FileHandle, Name, Status};

use super::calls::{Found, Lookup};
use super::lane::name_of;
use super::named::FileName;
use super::operation::{Fault, Opened, Operation};

impl<'a> Operation<'a> {
    pub(super) async fn look_up(&mut self) -> Result<Opened, Fault> {
        let (directory, name) = self.place().await?;
        let Found { file, size } = self.find(directory, name.as_bytes()).await?;
        self.session.handles.borrow_mut().insert(self.op.object, file);
        Ok(Opened { file, size, known: false })
    }

    pub(super) async fn find(&mut self, directory: FileHandle, name: &[u8]) -> Result<Found, Fault> {
        let place = DirArgs { directory, name: Name(name) };
        self.call(Lookup, &place).await
    }

    /// The directory of the operation's file, and its name there.
    pub(super) async fn place(&mut self) -> Result<(FileHandle, FileName<'a>), Fault> {
        self.place_of(self.op.object).await
    }

    /// The directory of an object's file, and its name there.
    pub(super) async fn place_of(&mut self, object: u64) -> Result<(FileHandle, FileName<'a>), Fault> {
        let session = self.session;
        let Some(named) = &session.named else {
            let directory = match session.only_directory() {
                Some(directory) => *directory,
                None => self.directory_of(object).await?,
            };
            return Ok((directory, FileName::Numbered(name_of(object))));
        };
        let name = FileName::named(named, object, &self.lane.path);
        Ok((self.directory(name.parent()).await?, name))
    }

    /// The directory of the operation's second file, and its name there. `first` is the place of the first one: a directory
    /// that holds both is looked up once.
    pub(super) async fn other_place(
        &mut self,
        first: &(FileHandle, FileName<'a>),
    ) -> Result<(FileHandle, FileName<'a>), Fault> {
        let (session, other) = (self.session, self.op.other);
        let (directory, first) = first;
        let Some(named) = &session.named else {
            let tree = &session.leaves.tree;
            let directory = match tree.leaf_of(self.op.object) == tree.leaf_of(other) {
                true => *directory,
                false => self.directory_of(other).await?,
            };
            return Ok((directory, FileName::Numbered(name_of(other))));
        };
        let name = FileName::named(named, other, &self.lane.other_path);
        let directory = match first.parent() == name.parent() {
            true => *directory,
            false => self.directory(name.parent()).await?,
        };
        Ok((directory, name))
    }

    /// Our directory.
    pub(super) async fn own_directory(&mut self) -> Result<FileHandle, Fault> {
        let session = self.session;
        match &session.walk {
            None => Ok(session.directory),
            Some((root, name)) => Ok(self.find(*root, name.as_bytes()).await?.file),
        }
    }

    /// A directory below the export's root, by its path.
    pub(super) async fn directory(&mut self, path: &str) -> Result<FileHandle, Fault> {
        let session = self.session;
        if path.is_empty() {
            return Ok(session.directory);
        }
        if session.walk.is_none()
            && let Some(known) = session.directories.get(path)
        {
            return Ok(known);
        }
        let mut handle = session.directory;
        for part in path.split('/') {
            handle = self.find(handle, part.as_bytes()).await?.file;
        }
        if session.walk.is_none() {
            session.directories.insert(path, handle);
        }
        Ok(handle)
    }

    /// Looks a named file up that is to be written, and creates it if it is missing.
    pub(super) async fn look_up_or_make(&mut self) -> Result<Opened, Fault> {
        match self.look_up().await {
            Err(fault) if fault.status == Some(Status::NOENT) => self.make().await,
            found => found,
        }
    }

    /// Creates a named file that is written and missing, as between loops that each start without files.
    #[cold]
    async fn make(&mut self) -> Result<Opened, Fault> {
        match self.create().await {
            // Another lane created it first.
            Err(fault) if fault.status != Some(Status::EXIST) => Err(fault),
            _ => self.open().await,
        }
    }
}
