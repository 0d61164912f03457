//! Operations on names: directories, renames, links, permissions.
//!
//! Those that io_uring lacks are executed by threads; on older kernels, that is all of them but removal.

use std::io;
use std::os::fd::AsRawFd;

use io_uring::{opcode, squeue, types};

use super::{Directory, STAT_AT, path_of};
use crate::Buffer;
use crate::calls::Call;
use crate::file::{given_back, of};
use crate::slots::Held;
use crate::uring::Uring;

/// Where the second name begins in the buffer of an operation on two names.
pub const SECOND_NAME_AT: usize = STAT_AT;
/// Permissions of new directories, before the umask.
pub const DIRECTORY_MODE: u32 = 0o755;

impl Directory {
    /// Creates a directory.
    pub async fn make_directory(&self, name: Buffer) -> (io::Result<()>, Buffer) {
        let (directory, mode) = (self.fd.as_raw_fd(), DIRECTORY_MODE);
        let entry =
            |held: &mut Held| opcode::MkDirAt::new(types::Fd(directory), path_of(held)).mode(mode).build();
        let call = |held: &mut Held| Call::MakeDirectory { directory, path: path_of(held), mode };
        self.change(name, entry, call).await
    }

    /// Removes a file.
    pub async fn remove(&self, name: Buffer) -> (io::Result<()>, Buffer) {
        self.unlink(name, 0).await
    }

    /// Removes an empty directory.
    pub async fn remove_directory(&self, name: Buffer) -> (io::Result<()>, Buffer) {
        self.unlink(name, libc::AT_REMOVEDIR).await
    }

    /// Gives a file its second name ([`SECOND_NAME_AT`]) instead of its first, replacing a file of that name.
    pub async fn rename(&self, names: Buffer) -> (io::Result<()>, Buffer) {
        let directory = self.fd.as_raw_fd();
        let entry = |held: &mut Held| {
            let fd = types::Fd(directory);
            opcode::RenameAt::new(fd, path_of(held), fd, second_of(held)).build()
        };
        let call = |held: &mut Held| Call::Rename { directory, from: path_of(held), to: second_of(held) };
        self.change(names, entry, call).await
    }

    /// Gives a file a second name ([`SECOND_NAME_AT`]) besides its first.
    pub async fn link(&self, names: Buffer) -> (io::Result<()>, Buffer) {
        let directory = self.fd.as_raw_fd();
        let entry = |held: &mut Held| {
            let fd = types::Fd(directory);
            opcode::LinkAt::new(fd, path_of(held), fd, second_of(held)).build()
        };
        let call = |held: &mut Held| Call::Link { directory, from: path_of(held), to: second_of(held) };
        self.change(names, entry, call).await
    }

    /// Creates a symbolic link with the first name that points to the second ([`SECOND_NAME_AT`]).
    pub async fn symlink(&self, names: Buffer) -> (io::Result<()>, Buffer) {
        let directory = self.fd.as_raw_fd();
        let entry = |held: &mut Held| {
            opcode::SymlinkAt::new(types::Fd(directory), second_of(held), path_of(held)).build()
        };
        let call =
            |held: &mut Held| Call::Symlink { directory, path: path_of(held), target: second_of(held) };
        self.change(names, entry, call).await
    }

    /// Reads a symbolic link; returns the length of its text, which is left in the buffer from [`SECOND_NAME_AT`] on.
    pub async fn read_link(&self, name: Buffer) -> (io::Result<usize>, Buffer) {
        let directory = self.fd.as_raw_fd();
        let call = |held: &mut Held| {
            let path = path_of(held);
            let buffer = of(held);
            Call::ReadLink {
                directory,
                path,
                len: buffer.len() - SECOND_NAME_AT,
                into: buffer.address(SECOND_NAME_AT),
            }
        };
        given_back(self.call(self.held(name), call).await)
    }

    /// Checks whether this process may read a file, and with `write` write it (faccessat(2)).
    pub async fn access(&self, name: Buffer, write: bool) -> (io::Result<()>, Buffer) {
        let mode = if write { libc::R_OK | libc::W_OK } else { libc::R_OK };
        let directory = self.fd.as_raw_fd();
        let call = |held: &mut Held| Call::Access { directory, path: path_of(held), mode };
        self.change_by_call(name, call).await
    }

    /// Sets a file's permissions (fchmodat(2)).
    pub async fn set_mode(&self, name: Buffer, mode: u32) -> (io::Result<()>, Buffer) {
        let directory = self.fd.as_raw_fd();
        let call = |held: &mut Held| Call::SetMode { directory, path: path_of(held), mode };
        self.change_by_call(name, call).await
    }

    async fn unlink(&self, name: Buffer, flags: i32) -> (io::Result<()>, Buffer) {
        let directory = self.fd.as_raw_fd();
        let entry =
            |held: &mut Held| opcode::UnlinkAt::new(types::Fd(directory), path_of(held)).flags(flags).build();
        let call = |held: &mut Held| Call::Unlink { directory, path: path_of(held), flags };
        match self.ring() {
            Some(uring) => self.change_by_uring(uring, name, entry).await,
            None => self.change_by_call(name, call).await,
        }
    }

    async fn change(
        &self,
        names: Buffer,
        entry: impl FnOnce(&mut Held) -> squeue::Entry,
        call: impl FnOnce(&mut Held) -> Call,
    ) -> (io::Result<()>, Buffer) {
        match self.ring() {
            Some(uring) if uring.changes_names => self.change_by_uring(uring, names, entry).await,
            _ => self.change_by_call(names, call).await,
        }
    }

    async fn change_by_uring(
        &self,
        uring: &Uring,
        names: Buffer,
        entry: impl FnOnce(&mut Held) -> squeue::Entry,
    ) -> (io::Result<()>, Buffer) {
        let (result, names) = given_back(uring.start(&self.inner, self.held(names), entry).await);
        (result.map(drop), names)
    }

    async fn change_by_call(
        &self,
        names: Buffer,
        call: impl FnOnce(&mut Held) -> Call,
    ) -> (io::Result<()>, Buffer) {
        let (result, names) = given_back(self.call(self.held(names), call).await);
        (result.map(drop), names)
    }
}

/// The address of the second name in the held buffer.
fn second_of(held: &mut Held) -> *const libc::c_char {
    let buffer = of(held);
    let ends = buffer.get(SECOND_NAME_AT..).is_some_and(|second| second.contains(&0));
    assert!(ends, "the second name ends with a zero byte");
    buffer.address(SECOND_NAME_AT).cast_const().cast()
}
