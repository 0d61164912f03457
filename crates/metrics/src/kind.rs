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
