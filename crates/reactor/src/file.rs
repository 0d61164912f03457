//! Files and block devices: reads and writes at an offset, and what goes with them.
//!
//! On io_uring with registered files and buffers where they are to be had; otherwise by threads. A read through the page
//! cache first takes what is there by a plain system call, as io_uring itself would try before anything else: that costs
//! about half of an operation on a ring.

use std::cell::Cell;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::rc::{Rc, Weak};

use io_uring::{opcode, types};

use crate::Buffer;
use crate::calls::{self, Call};
use crate::core::{Inner, Kernel, Yield};
use crate::slots::Held;
use crate::uring::to_result;

/// How a file is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileOptions {
    /// For writing as well as reading.
    pub write: bool,
    /// It is made, and must not exist (`O_CREAT | O_EXCL`).
    pub create_new: bool,
    /// Past the page cache (`O_DIRECT`): offsets, lengths and addresses must be aligned as the device wants it.
    pub direct: bool,
    /// Tell io_uring the file beforehand once it is used more than a few times (`IORING_REGISTER_FILES`).
    pub register: bool,
    /// It is made when it is missing (`O_CREAT`).
    pub create: bool,
    /// What each write makes durable before it ends.
    pub durable: Durable,
}

/// What a write makes durable before it ends (open(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durable {
    /// Nothing.
    #[default]
    Nothing,
    /// The data and what is needed to read it (`O_DSYNC`).
    Data,
    /// And all that is known of the file (`O_SYNC`).
    All,
}

impl FileOptions {
    pub(crate) fn flags(self) -> i32 {
        let mut flags = libc::O_CLOEXEC | if self.write { libc::O_RDWR } else { libc::O_RDONLY };
        if self.create_new {
            flags |= libc::O_CREAT | libc::O_EXCL;
        }
        if self.create {
            flags |= libc::O_CREAT;
        }
        if self.direct {
            flags |= libc::O_DIRECT;
        }
        flags
            | match self.durable {
                Durable::Nothing => 0,
                Durable::Data => libc::O_DSYNC,
                Durable::All => libc::O_SYNC,
            }
    }
}

/// What is done to the space of a file (fallocate(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Reserve it; the file grows when the range ends beyond it.
    Reserve,
    /// Reserve it, and what was there reads as zeros.
    Zero,
    /// Give it back: a hole, which reads as zeros. The file keeps its size.
    Punch,
}

impl Space {
    fn mode(self) -> i32 {
        match self {
            Space::Reserve => 0,
            Space::Zero => libc::FALLOC_FL_ZERO_RANGE,
            Space::Punch => libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE,
        }
    }
}

/// A registration costs a system call: it pays for files that are used more often than this.
const USES_BEFORE_REGISTRATION: u32 = 4;
/// Most reads that go straight to the backend after one that found nothing in the page cache.
const SKIPS_MAX: u32 = 64;
/// Bytes that take about as long to copy as a small read takes altogether.
const HEAVY: usize = 16 << 10;
/// The longest single transfer: whole pages below the kernel's own limit of 2 GiB (read(2)).
const TRANSFER_MAX: usize = 1 << 30;

/// A descriptor and its place in the table of registered files.
pub(crate) struct OpenFile {
    fd: OwnedFd,
    options: FileOptions,
    place: Cell<Option<u32>>,
    /// Counts up to the registration.
    uses: Cell<u32>,
    /// Reads that are not tried on the page cache first.
    skip: Cell<u32>,
    /// How many those will be after the next miss; `u32::MAX` when trying makes no sense at all.
    next_skip: Cell<u32>,
    inner: Weak<Inner>,
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        if let (Some(inner), Some(place)) = (self.inner.upgrade(), self.place.get())
            && let Kernel::Uring(uring) = &inner.kernel
        {
            uring.forget_file(place);
        }
    }
}

impl OpenFile {
    /// The place in the table, taken once the file proves to be in use.
    #[inline]
    fn registered(&self, inner: &Inner) -> Option<u32> {
        let uses = self.uses.get();
        if uses <= USES_BEFORE_REGISTRATION {
            self.uses.set(uses + 1);
            if uses == USES_BEFORE_REGISTRATION
                && self.options.register
                && let Kernel::Uring(uring) = &inner.kernel
            {
                self.place.set(uring.register_file(self.fd.as_raw_fd()));
            }
        }
        self.place.get()
    }
}

/// An open file or block device. Clones are handles to the same one; it closes when the last is dropped.
#[derive(Clone)]
pub struct File {
    open: Rc<OpenFile>,
    inner: Rc<Inner>,
}

/// Builds an entry for the registered file or the plain descriptor, whichever there is.
macro_rules! on_file {
    ($file:expr, |$fd:ident| $entry:expr) => {
        match $file.open.registered(&$file.inner) {
            Some(place) => {
                let $fd = types::Fixed(place);
                $entry
            }
            None => {
                let $fd = types::Fd($file.open.fd.as_raw_fd());
                $entry
            }
        }
    };
}

impl File {
    pub(crate) fn new(inner: &Rc<Inner>, fd: OwnedFd, options: FileOptions) -> File {
        let never = options.direct || matches!(inner.kernel, Kernel::Simulated(_));
        let open = OpenFile {
            fd,
            options,
            place: Cell::new(None),
            uses: Cell::new(0),
            skip: Cell::new(0),
            next_skip: Cell::new(if never { u32::MAX } else { 1 }),
            inner: Rc::downgrade(inner),
        };
        File { open: Rc::new(open), inner: Rc::clone(inner) }
    }

    /// How it was opened.
    pub fn options(&self) -> FileOptions {
        self.open.options
    }

    /// Reads into `range` of the buffer from byte `at` on: at least one byte, or 0 at the end of the file.
    pub async fn read_at(
        &self,
        mut buffer: Buffer,
        range: Range<usize>,
        at: u64,
    ) -> (io::Result<usize>, Buffer) {
        let (start, len) = checked(&buffer, &range);
        if self.tries_cache() {
            // A task that always finds what it wants would keep everybody else waiting.
            if self.inner.should_yield_after(1 + (len / HEAVY) as u32) {
                Yield { inner: &self.inner, yielded: false }.await;
            }
            match calls::read_cached(self.open.fd.as_raw_fd(), buffer.address(start), len, at) {
                Ok(count) => {
                    self.open.next_skip.set(1);
                    return (Ok(count), buffer);
                }
                Err(e) => self.not_cached(&e),
            }
        }
        let done = match &self.inner.kernel {
            Kernel::Uring(uring) => {
                let fill = |held: &mut Held| {
                    held.file = Some(Rc::clone(&self.open));
                    let buffer = held.buffer.insert(buffer);
                    let (pointer, len) = (buffer.address(start), len as u32);
                    match buffer.place() {
                        Some(index) => on_file!(self, |fd| {
                            opcode::ReadFixed::new(fd, pointer, len, index).offset(at).build()
                        }),
                        None => on_file!(self, |fd| opcode::Read::new(fd, pointer, len).offset(at).build()),
                    }
                };
                uring.start_transfer(&self.inner, self.open.options.direct, fill).await
            }
            _ => {
                let fd = self.open.fd.as_raw_fd();
                let read = |held: &mut Held| Call::Read { fd, start: of(held).address(start), len, at };
                by_thread(&self.inner, self.held(buffer), read).await
            }
        };
        given_back(done)
    }

    /// Writes `range` of the buffer at byte `at`: at least one byte, unless the range is empty.
    pub async fn write_at(
        &self,
        buffer: Buffer,
        range: Range<usize>,
        at: u64,
    ) -> (io::Result<usize>, Buffer) {
        let (start, len) = checked(&buffer, &range);
        let done = match &self.inner.kernel {
            Kernel::Uring(uring) => {
                let fill = |held: &mut Held| {
                    held.file = Some(Rc::clone(&self.open));
                    let buffer = held.buffer.insert(buffer);
                    let (pointer, len) = (buffer.address(start).cast_const(), len as u32);
                    match buffer.place() {
                        Some(index) => on_file!(self, |fd| {
                            opcode::WriteFixed::new(fd, pointer, len, index).offset(at).build()
                        }),
                        None => on_file!(self, |fd| opcode::Write::new(fd, pointer, len).offset(at).build()),
                    }
                };
                uring.start_transfer(&self.inner, self.open.options.direct, fill).await
            }
            _ => {
                let fd = self.open.fd.as_raw_fd();
                let write = |held: &mut Held| Call::Write { fd, start: of(held).address(start), len, at };
                by_thread(&self.inner, self.held(buffer), write).await
            }
        };
        given_back(done)
    }

    /// Makes everything written durable: fsync(2), or with `data_only` fdatasync(2).
    ///
    /// # Errors
    /// What the kernel reports, an earlier failure of writing back included.
    pub async fn sync(&self, data_only: bool) -> io::Result<()> {
        let held = Held { file: Some(Rc::clone(&self.open)), ..Held::default() };
        let (result, _) = match &self.inner.kernel {
            Kernel::Uring(uring) => {
                let flags = if data_only { types::FsyncFlags::DATASYNC } else { types::FsyncFlags::empty() };
                uring
                    .start(&self.inner, held, |_| {
                        on_file!(self, |fd| opcode::Fsync::new(fd).flags(flags).build())
                    })
                    .await
            }
            _ => {
                let call = Call::Sync { fd: self.open.fd.as_raw_fd(), data_only };
                by_thread(&self.inner, held, |_| call).await
            }
        };
        to_result(result).map(drop)
    }

    /// Writes back what the page cache holds of a range, `len` 0 meaning up to the end (sync_file_range(2)); metadata is
    /// left. `flags` are the kernel's: 1 waits for what is on its way, 2 begins to write, 4 waits for it.
    ///
    /// # Errors
    /// What the kernel reports: it failed, or this is neither a file nor a device.
    pub async fn sync_range(&self, at: u64, len: u64, flags: u32) -> io::Result<()> {
        let held = Held { file: Some(Rc::clone(&self.open)), ..Held::default() };
        let call = Call::SyncRange { fd: self.open.fd.as_raw_fd(), at, len, flags };
        to_result(by_thread(&self.inner, held, |_| call).await.0).map(drop)
    }

    /// Changes what space the file has (fallocate(2)).
    ///
    /// # Errors
    /// What the kernel reports: no space, or that the file system has no such mode.
    pub async fn allocate(&self, space: Space, at: u64, len: u64) -> io::Result<()> {
        let held = Held { file: Some(Rc::clone(&self.open)), ..Held::default() };
        let mode = space.mode();
        let (result, _) = match &self.inner.kernel {
            Kernel::Uring(uring) => {
                uring
                    .start(&self.inner, held, |_| {
                        on_file!(self, |fd| opcode::Fallocate::new(fd, len).offset(at).mode(mode).build())
                    })
                    .await
            }
            _ => {
                let call = Call::Allocate { fd: self.open.fd.as_raw_fd(), mode, at, len };
                by_thread(&self.inner, held, |_| call).await
            }
        };
        to_result(result).map(drop)
    }

    /// Tells a block device that a range is of no use any more (`BLKDISCARD`). What is read from it then is up to the
    /// device.
    ///
    /// # Errors
    /// What the kernel reports: the device cannot, the range is not aligned, or this is no block device.
    pub async fn discard_blocks(&self, at: u64, len: u64) -> io::Result<()> {
        let held = Held { file: Some(Rc::clone(&self.open)), ..Held::default() };
        let call = Call::DiscardBlocks { fd: self.open.fd.as_raw_fd(), at, len };
        to_result(by_thread(&self.inner, held, |_| call).await.0).map(drop)
    }

    /// The next entries of a directory, as getdents64(2) lays them out; 0 bytes at the end.
    pub async fn entries(&self, buffer: Buffer) -> (io::Result<usize>, Buffer) {
        let (held, fd) = (self.held(buffer), self.open.fd.as_raw_fd());
        let read = |held: &mut Held| {
            let buffer = of(held);
            Call::Entries { fd, len: buffer.len(), start: buffer.address(0) }
        };
        given_back(by_thread(&self.inner, held, read).await)
    }

    /// Lets [`File::entries`] begin again.
    pub fn rewind(&self) {
        // A directory's descriptor always seeks.
        let _ = rustix::fs::seek(&self.open.fd, rustix::fs::SeekFrom::Start(0));
    }

    /// True while the page cache is worth a look.
    #[inline]
    fn tries_cache(&self) -> bool {
        let open = &self.open;
        if open.next_skip.get() == u32::MAX {
            return false;
        }
        let skip = open.skip.get();
        if skip > 0 {
            open.skip.set(skip - 1);
        }
        skip == 0
    }

    /// After a look that found nothing: others follow at growing distances, or never where they are not possible.
    #[cold]
    fn not_cached(&self, error: &io::Error) {
        let open = &self.open;
        if error.raw_os_error() == Some(libc::EAGAIN) {
            let skip = open.next_skip.get();
            open.skip.set(skip);
            open.next_skip.set((skip * 2).min(SKIPS_MAX));
        } else {
            open.next_skip.set(u32::MAX);
        }
    }

    #[inline]
    fn held(&self, buffer: Buffer) -> Held {
        Held { buffer: Some(buffer), file: Some(Rc::clone(&self.open)), ..Held::default() }
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.open.fd.as_fd()
    }
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("File").field("fd", &self.open.fd).field("options", &self.open.options).finish()
    }
}

/// Start and length of a range, which must lie within the buffer.
#[inline]
fn checked(buffer: &Buffer, range: &Range<usize>) -> (usize, usize) {
    assert!(range.start <= range.end && range.end <= buffer.len(), "the range lies within the buffer");
    (range.start, range.len().min(TRANSFER_MAX))
}

/// The buffer that an operation holds.
#[inline]
pub(crate) fn of(held: &mut Held) -> &mut Buffer {
    held.buffer.as_mut().expect("the operation was given a buffer")
}

/// What an operation gives back: its result and the buffer.
#[inline]
pub(crate) fn given_back((result, buffer): (i32, Option<Buffer>)) -> (io::Result<usize>, Buffer) {
    (to_result(result), buffer.expect("the operation gives back what it took"))
}

/// Lets a thread make a system call.
pub(crate) async fn by_thread(
    inner: &Rc<Inner>,
    held: Held,
    make: impl FnOnce(&mut Held) -> Call,
) -> (i32, Option<Buffer>) {
    match inner.pool() {
        Ok(pool) => pool.start_call(inner, held, make).await,
        Err(e) => (-e.raw_os_error().unwrap_or(libc::EIO), held.buffer),
    }
}
