//! Operations that only files of a pass have, in a tree of the user's.

use content::{TreeFile, TreeRole};
use metrics::{CallKind, ErrorKind};
use wire::nfs3::{DirArgs, Name, Status};

use super::calls::{Remove, Rmdir, Write};
use super::named::ExportTree;
use super::operation::{Fault, Opened, Operation};

impl<'a> Operation<'a> {
    /// The tree of a pass; `None` if the files are others.
    #[inline]
    pub(super) fn tree(&self) -> Option<&'a ExportTree> {
        self.session.named.as_ref().and_then(|named| named.tree())
    }

    /// Whether the operation removes whatever a pass may have made of its file.
    pub(super) fn removes_all(&self) -> bool {
        self.tree().is_some() && TreeFile::of(self.op.object).role == TreeRole::All
    }

    /// Appends to the file at its present end.
    pub(super) async fn append_at_end(&mut self) -> Result<(), Fault> {
        let mut opened = self.open().await?;
        self.ask_size(&mut opened).await?;
        let Opened { file, size: Some(size), .. } = opened else {
            let text = "the server does not return the size of the file".to_owned();
            return Err(self.fault(CallKind::Getattr, ErrorKind::Protocol, text));
        };
        self.offset = size;
        self.transfer::<Write>(&file).await?;
        self.finish_file(file).await
    }

    /// Removes everything that a pass may have made of the file; what is not there needs no removal.
    pub(super) async fn remove_all_of_file(&mut self) -> Result<(), Fault> {
        let of = TreeFile::of(self.op.object);
        for role in TreeRole::PATHS {
            let object = TreeFile { role, ..of }.object();
            self.session.handles.borrow_mut().forget(object);
            match self.remove_object(object, role == TreeRole::Directory).await {
                Err(fault) if fault.status != Some(Status::NOENT) => return Err(fault),
                _ => {}
            }
        }
        Ok(())
    }

    async fn remove_object(&mut self, object: u64, is_directory: bool) -> Result<(), Fault> {
        let (directory, name) = self.place_of(object).await?;
        let place = DirArgs { directory, name: Name(name.as_bytes()) };
        match is_directory {
            true => self.call(Rmdir, &place).await,
            false => self.call(Remove, &place).await,
        }
    }
}
