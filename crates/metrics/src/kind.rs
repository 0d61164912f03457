//! The names of operations and of their errors.

use serde::{Deserialize, Serialize};

macro_rules! named {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum $name { $($(#[$vmeta])* $variant,)* }

        impl $name {
            /// Every value, in the order of declaration; `self as usize` indexes it.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];
            /// Number of values.
            pub const COUNT: usize = Self::ALL.len();

            /// The name in human and machine-readable output.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

named! {
    /// An operation: one request as a user would count it.
    OpKind {
        /// Read a range of a file, block device or object.
        Read = "read",
        /// Write a range of a file or block device.
        Write = "write",
        /// Create an empty file.
        Create = "create",
        /// Make written data durable (NFS COMMIT, fsync).
        Commit = "commit",
        /// Read a file's or object's attributes (NFS GETATTR, S3 HEAD).
        Stat = "stat",
        /// Remove a file.
        Remove = "remove",
        /// Store a whole object.
        Put = "put",
        /// Fetch a whole object.
        Get = "get",
        /// List names.
        List = "list",
        /// Delete an object.
        Delete = "delete",
        /// Discard a range of a file or block device (hole punching, TRIM).
        Trim = "trim",
        /// Check permissions (NFS ACCESS, faccessat).
        Access = "access",
        /// Set a file's permissions (NFS SETATTR, fchmodat).
        Chmod = "chmod",
        /// Set a file's size (NFS SETATTR, ftruncate).
        Truncate = "truncate",
        /// Rename a file.
        Rename = "rename",
        /// Give a file another name (a hard link).
        Link = "link",
        /// Create a symbolic link.
        Symlink = "symlink",
        /// Read a symbolic link.
        Readlink = "readlink",
        /// Create a directory.
        Mkdir = "mkdir",
        /// Remove a directory.
        Rmdir = "rmdir",
        /// Copy an object within the server (S3 CopyObject).
        Copy = "copy",
        /// Replace an object's tags (S3 PutObjectTagging).
        PutTagging = "put-tagging",
        /// Read an object's tags (S3 GetObjectTagging).
        GetTagging = "get-tagging",
        /// Delete several objects in one request (S3 DeleteObjects).
        BatchDelete = "batch-delete",
        /// List common prefixes of keys (S3 ListObjectsV2 with a delimiter).
        ListPrefixes = "list-prefixes",
        /// Write at the end of a file.
        Append = "append",
        /// List names without attributes (NFS READDIR).
        Readdir = "readdir",
        /// Set a file's extended attribute.
        Setxattr = "setxattr",
        /// Read a file's extended attribute.
        Getxattr = "getxattr",
        /// Open a file.
        Open = "open",
        /// Close an open file.
        Close = "close",
        /// Create a file with all its content.
        WriteFile = "write-file",
        /// Read all of a file.
        ReadFile = "read-file",
        /// Write all of an existing file again.
        Overwrite = "overwrite",
        /// Empty an existing file and write all of it again.
        TruncateOverwrite = "truncate-overwrite",
        /// Set keys of an object's map (RADOS omap).
        OmapSet = "omap-set",
        /// Read the values of keys of an object's map (RADOS omap).
        OmapGet = "omap-get",
        /// Call a method of an object class (RADOS exec).
        Exec = "exec",
        /// Make a range of a file or block device read as zeroes, without sending them (WRITE SAME, `FALLOC_FL_ZERO_RANGE`).
        WriteZeroes = "write-zeroes",
    }
}

named! {
    /// What operations call. A remote procedure has the protocol's own name: NFSv3's; a COMPOUND of NFSv4.1 has the name of
    /// the operation that it exists for. A system call on files has its family's name: `stat` stands for statx(2) and
    /// fstat(2) alike.
    CallKind {
        /// RFC 1813, section 3.3.0.
        Null = "NULL",
        /// RFC 1813, section 3.3.1.
        Getattr = "GETATTR",
        /// RFC 1813, section 3.3.2.
        Setattr = "SETATTR",
        /// RFC 1813, section 3.3.3.
        Lookup = "LOOKUP",
        /// RFC 1813, section 3.3.4.
        Access = "ACCESS",
        /// RFC 1813, section 3.3.5.
        Readlink = "READLINK",
        /// RFC 1813, section 3.3.6.
        Read = "READ",
        /// RFC 1813, section 3.3.7.
        Write = "WRITE",
        /// RFC 1813, section 3.3.8.
        Create = "CREATE",
        /// RFC 1813, section 3.3.9.
        Mkdir = "MKDIR",
        /// RFC 1813, section 3.3.10.
        Symlink = "SYMLINK",
        /// RFC 1813, section 3.3.11.
        Mknod = "MKNOD",
        /// RFC 1813, section 3.3.12.
        Remove = "REMOVE",
        /// RFC 1813, section 3.3.13.
        Rmdir = "RMDIR",
        /// RFC 1813, section 3.3.14.
        Rename = "RENAME",
        /// RFC 1813, section 3.3.15.
        Link = "LINK",
        /// RFC 1813, section 3.3.16.
        Readdir = "READDIR",
        /// RFC 1813, section 3.3.17.
        Readdirplus = "READDIRPLUS",
        /// RFC 1813, section 3.3.18.
        Fsstat = "FSSTAT",
        /// RFC 1813, section 3.3.19.
        Fsinfo = "FSINFO",
        /// RFC 1813, section 3.3.20.
        Pathconf = "PATHCONF",
        /// RFC 1813, section 3.3.21.
        Commit = "COMMIT",
        /// RFC 8881, section 18.16.
        Open = "OPEN",
        /// RFC 8881, section 18.2.
        Close = "CLOSE",
        /// The request ListObjectsV2 of S3.
        ListObjectsV2 = "ListObjectsV2",
        /// openat2(2). The order is that of their use, which results keep between calls that are equally frequent.
        SysOpen = "open",
        /// fallocate(2).
        SysFallocate = "fallocate",
        /// ftruncate(2).
        SysFtruncate = "ftruncate",
        /// pread(2).
        SysRead = "read",
        /// pwrite(2).
        SysWrite = "write",
        /// fsync(2).
        SysFsync = "fsync",
        /// fdatasync(2).
        SysFdatasync = "fdatasync",
        /// sync_file_range(2).
        SysSyncFileRange = "sync_file_range",
        /// close(2).
        SysClose = "close",
        /// The request BLKDISCARD of ioctl(2).
        SysDiscard = "discard",
        /// statx(2).
        SysStat = "stat",
        /// faccessat(2).
        SysAccess = "access",
        /// fchmodat(2).
        SysChmod = "chmod",
        /// renameat2(2).
        SysRename = "rename",
        /// linkat(2).
        SysLink = "link",
        /// symlinkat(2).
        SysSymlink = "symlink",
        /// readlinkat(2).
        SysReadlink = "readlink",
        /// mkdirat(2).
        SysMkdir = "mkdir",
        /// unlinkat(2) with `AT_REMOVEDIR`.
        SysRmdir = "rmdir",
        /// unlinkat(2).
        SysUnlink = "unlink",
        /// getdents64(2).
        SysGetdents = "getdents64",
        /// fsetxattr(2).
        SysSetxattr = "setxattr",
        /// fgetxattr(2).
        SysGetxattr = "getxattr",
    }
}

impl CallKind {
    /// What calls of this kind are called together, in headings.
    pub const fn plural(self) -> &'static str {
        match self {
            _ if self.is_remote_procedure() => "RPCs",
            _ if self.is_system_call() => "System calls",
            _ => "Requests",
        }
    }

    /// What one call of this kind is called, in headings.
    pub const fn singular(self) -> &'static str {
        match self {
            _ if self.is_remote_procedure() => "RPC",
            _ if self.is_system_call() => "system call",
            _ => "request",
        }
    }

    /// Whether it is a remote procedure: neither a system call nor a request of HTTP.
    pub const fn is_remote_procedure(self) -> bool {
        !self.is_system_call() && !matches!(self, CallKind::ListObjectsV2)
    }

    /// Whether it is a system call and no remote procedure.
    pub const fn is_system_call(self) -> bool {
        self as usize >= CallKind::SysOpen as usize
    }
}

named! {
    /// How an operation failed. Every failed operation has exactly one error kind.
    ErrorKind {
        /// No answer before the operation's deadline.
        TimedOut = "timed-out",
        /// The connection could not be established: refused, unreachable or no answer.
        ConnectFailed = "connect-failed",
        /// The connection ended before the answer was complete.
        ConnectionLost = "connection-lost",
        /// The server refused the credentials or the permission.
        AccessDenied = "access-denied",
        /// The target is read-only.
        ReadOnly = "read-only",
        /// No space left, or a quota is exhausted.
        NoSpace = "no-space",
        /// The file, object, bucket or export does not exist.
        NotFound = "not-found",
        /// It exists already.
        AlreadyExists = "already-exists",
        /// A file handle that the server no longer knows.
        Stale = "stale-handle",
        /// The server asked to retry later (503, NFS3ERR_JUKEBOX) until retries ran out.
        Busy = "busy",
        /// The server reported an I/O error or an internal one (5xx).
        ServerFault = "server-fault",
        /// The server refused the request as malformed or unsupported.
        Rejected = "rejected",
        /// The answer could not be parsed: malformed, oversized or truncated.
        Protocol = "protocol-error",
        /// Fewer or more bytes than promised.
        Length = "wrong-length",
        /// The bytes differ from those written.
        Corrupt = "corrupt-data",
        /// The write verifier changed: acknowledged but uncommitted data may be lost.
        VerifierChanged = "verifier-changed",
        /// Security layer failure: untrusted certificate, refused handshake.
        Tls = "tls-failed",
        /// Failed on this machine: out of descriptors, memory or permission.
        Local = "local-error",
    }
}
