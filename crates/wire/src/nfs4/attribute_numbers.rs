//! The numbers of attributes (RFC 8881 section 5.6 and 5.7).

/// Numbers of attributes, for requests.
pub struct Attribute;

macro_rules! numbers {
    ($($(#[$meta:meta])* $number:ident = $value:literal;)*) => {
        impl Attribute {
            $($(#[$meta])* pub const $number: u32 = $value;)*
        }
    };
}

numbers! {
    /// The attributes that the server has for this file.
    SUPPORTED = 0;
    /// Type. Named attributes (8 and 9) are unknown types.
    TYPE = 1;
    /// When handles expire.
    HANDLE_EXPIRY = 2;
    /// Changes with each change of the file.
    CHANGE = 3;
    /// Size in bytes.
    SIZE = 4;
    /// Hard links can be made.
    HAS_LINKS = 5;
    /// Symbolic links can be made.
    HAS_SYMLINKS = 6;
    /// The file has named attributes.
    HAS_NAMED = 7;
    /// File system: major and minor number.
    FSID = 8;
    /// Different handles are different files.
    UNIQUE_HANDLES = 9;
    /// Seconds for which the server keeps the state of a silent client.
    LEASE_TIME = 10;
    /// Why an entry of a listing has no attributes.
    READ_ERROR = 11;
    /// Times can be set.
    CAN_SET_TIME = 15;
    /// Names in upper and lower case are the same.
    CASE_INSENSITIVE = 16;
    /// Names keep their case.
    CASE_PRESERVING = 17;
    /// Only the superuser may give files away.
    CHOWN_RESTRICTED = 18;
    /// The file's handle.
    HANDLE = 19;
    /// Inode number within the file system.
    FILE_ID = 20;
    /// Free file slots available to this user.
    FILES_AVAILABLE = 21;
    /// Free file slots.
    FILES_FREE = 22;
    /// File slots.
    FILES_TOTAL = 23;
    /// All files of the file system have the same limits.
    HOMOGENEOUS = 26;
    /// Largest file, in bytes.
    MAX_FILE_SIZE = 27;
    /// Most hard links of a file.
    MAX_LINKS = 28;
    /// Longest name, in bytes.
    MAX_NAME = 29;
    /// Largest READ, in bytes.
    MAX_READ = 30;
    /// Largest WRITE, in bytes.
    MAX_WRITE = 31;
    /// Permission bits.
    MODE = 33;
    /// Longer names are refused, not truncated.
    NO_TRUNCATION = 34;
    /// Number of hard links.
    LINKS = 35;
    /// Owner.
    OWNER = 36;
    /// Group.
    GROUP = 37;
    /// A device's numbers.
    DEVICE = 41;
    /// Free bytes available to this user.
    SPACE_AVAILABLE = 42;
    /// Free bytes.
    SPACE_FREE = 43;
    /// Bytes of the file system.
    SPACE_TOTAL = 44;
    /// Bytes of storage used.
    SPACE_USED = 45;
    /// Last access.
    ACCESSED = 47;
    /// Last access, to be set.
    SET_ACCESSED = 48;
    /// Smallest step of times.
    TIME_STEP = 51;
    /// Last change of the attributes.
    CHANGED = 52;
    /// Last change of the data.
    MODIFIED = 53;
    /// Last change of the data, to be set.
    SET_MODIFIED = 54;
    /// Inode number of the directory that this file system is mounted on.
    MOUNTED_ON = 55;
    /// The attributes that an exclusive create can set.
    SETTABLE_AT_CREATION = 75;
}
