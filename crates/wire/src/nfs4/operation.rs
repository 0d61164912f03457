//! The operation numbers (`nfs_opnum4`, RFC 8881 section 18).

use crate::xdr::xdr_enum;

macro_rules! operations {
    ($($name:ident = $value:literal, $text:literal;)*) => {
        xdr_enum! {
            /// An operation of a COMPOUND, of those supported here.
            #[allow(missing_docs, reason = "the names are the RFC's")]
            Operation { $($name = $value,)* }
        }

        impl Operation {
            /// The RFC's name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

operations! {
    Access = 3, "ACCESS";
    Close = 4, "CLOSE";
    Commit = 5, "COMMIT";
    Create = 6, "CREATE";
    GetAttr = 9, "GETATTR";
    GetFh = 10, "GETFH";
    Link = 11, "LINK";
    Lookup = 15, "LOOKUP";
    LookupParent = 16, "LOOKUPP";
    Open = 18, "OPEN";
    PutFh = 22, "PUTFH";
    PutPublicFh = 23, "PUTPUBFH";
    PutRootFh = 24, "PUTROOTFH";
    Read = 25, "READ";
    ReadDir = 26, "READDIR";
    ReadLink = 27, "READLINK";
    Remove = 28, "REMOVE";
    Rename = 29, "RENAME";
    RestoreFh = 31, "RESTOREFH";
    SaveFh = 32, "SAVEFH";
    SecInfo = 33, "SECINFO";
    SetAttr = 34, "SETATTR";
    Write = 38, "WRITE";
    BindConnToSession = 41, "BIND_CONN_TO_SESSION";
    ExchangeId = 42, "EXCHANGE_ID";
    CreateSession = 43, "CREATE_SESSION";
    DestroySession = 44, "DESTROY_SESSION";
    FreeStateId = 45, "FREE_STATEID";
    SecInfoNoName = 52, "SECINFO_NO_NAME";
    Sequence = 53, "SEQUENCE";
    TestStateId = 55, "TEST_STATEID";
    DestroyClientId = 57, "DESTROY_CLIENTID";
    ReclaimComplete = 58, "RECLAIM_COMPLETE";
    Illegal = 10_044, "ILLEGAL";
}

impl Operation {
    /// The numbers that the RFC gives to operations, supported here or not.
    pub const DEFINED: std::ops::RangeInclusive<u32> = 3..=58;
}
