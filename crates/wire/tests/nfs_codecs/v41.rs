//! NFSv4.1: valid values from arbitrary bytes, messages written by hand from the RFC, and what hostile ones lead to.

use wire::nfs3::{FileHandle, Stability};
use wire::nfs4::*;
use wire::xdr::{DecodeError, Encode, Reader, decode_all};

use crate::alloc::allocated;
use crate::sample::{Sample, Source};

macro_rules! structures {
    ($($type:ident { $($field:ident),* })*) => {$(
        impl<'a> Sample<'a> for $type {
            fn sample(from: &mut Source<'a>) -> Self { Self { $($field: from.get()),* } }
        }
    )*};
}
macro_rules! borrowing {
    ($($type:ident { $($field:ident),* })*) => {$(
        impl<'a> Sample<'a> for $type<'a> {
            fn sample(from: &mut Source<'a>) -> Self { Self { $($field: from.get()),* } }
        }
    )*};
}
macro_rules! names {
    ($($type:ident),*) => {$(
        impl<'a> Sample<'a> for $type<'a> {
            fn sample(from: &mut Source<'a>) -> Self { Self(from.bytes(<$type>::LIMIT)) }
        }
    )*};
}

structures! {
    StateId { sequence, other }
    ChangeInfo { atomic, before, after }
    Time4 { seconds, nanoseconds }
    ChannelAttributes { header_pad, request_max, response_max, cached_response_max, operations_max, requests_max, rdma_reads }
    CreateSessionOk { session, sequence, flags, fore, back }
    BindArgs { session, direction, rdma }
    BindOk { session, direction, rdma }
    SequenceArgs { session, sequence, slot, highest_slot, cache }
    SequenceOk { session, sequence, slot, highest_slot, target_highest_slot, flags }
    CloseArgs { sequence, state }
    Access4Ok { supported, access }
    Commit4Args { offset, count }
    Read4Args { state, offset, count }
    Write4Ok { count, committed, verifier }
    Create4Ok { directory, set }
    RenameOk { from, to }
    ReadDirArgs { cookie, verifier, dir_count, max_count, attributes }
    SetAttrResult { status, set }
}
borrowing! {
    CreateSessionArgs { client, sequence, flags, fore, back, callback_program, security }
    Implementation { domain, name, date }
    ExchangeIdArgs { verifier, owner, flags, protection, implementation }
    ServerOwner { minor_id, major_id }
    ExchangeIdOk { client, sequence, flags, protection, server_owner, scope, implementation }
    OpenArgs { sequence, access, deny, client, owner, how, claim }
    OpenOk { state, directory, flags, set, delegation }
    Ace { words, who }
    SetAttrArgs { state, attributes }
    Create4Args { what, name, attributes }
    Rename4Args { from, to }
    Entry { cookie, name, attributes }
    ReadDirOk { verifier, entries, eof }
}
names!(Tag, ClientOwner, ServerLabel, Owner);

impl Sample<'_> for i64 {
    fn sample(from: &mut Source<'_>) -> Self {
        from.get::<u64>() as i64
    }
}

impl Sample<'_> for [u32; 3] {
    fn sample(from: &mut Source<'_>) -> Self {
        [from.get(), from.get(), from.get()]
    }
}

impl Sample<'_> for [u8; 12] {
    fn sample(from: &mut Source<'_>) -> Self {
        std::array::from_fn(|_| from.get())
    }
}

impl Sample<'_> for SessionId {
    fn sample(from: &mut Source<'_>) -> Self {
        std::array::from_fn(|_| from.get())
    }
}

impl Sample<'_> for Nfs4Status {
    fn sample(from: &mut Source<'_>) -> Self {
        Self(from.get())
    }
}

impl<'a, T: Sample<'a>> Sample<'a> for Result<T, Nfs4Status> {
    fn sample(from: &mut Source<'a>) -> Self {
        match from.choose(3) {
            0 => Err(Nfs4Status(from.get::<u32>().max(1))),
            _ => Ok(from.get()),
        }
    }
}

impl Sample<'_> for Handle {
    fn sample(from: &mut Source<'_>) -> Self {
        Self(FileHandle::new(from.bytes(FileHandle::CAPACITY)).expect("at most 128 bytes"))
    }
}

impl Sample<'_> for Bitmap {
    fn sample(from: &mut Source<'_>) -> Self {
        let words: Vec<u32> = (0..from.choose(4)).map(|_| from.get()).collect();
        Self::of_words(&words)
    }
}

impl<'a> Sample<'a> for Fattr<'a> {
    fn sample(from: &mut Source<'a>) -> Self {
        Self { mask: from.get(), values: from.bytes(200) }
    }
}

impl Sample<'_> for Protection {
    fn sample(_: &mut Source<'_>) -> Self {
        Self::None
    }
}

impl<'a> Sample<'a> for CallbackSecurity<'a> {
    fn sample(from: &mut Source<'a>) -> Self {
        if from.get() { Self::None } else { Self::Sys(from.get()) }
    }
}

impl Sample<'_> for SecurityOf {
    fn sample(from: &mut Source<'_>) -> Self {
        if from.get() { Self::Current } else { Self::Parent }
    }
}

impl Sample<'_> for Flavors {
    fn sample(from: &mut Source<'_>) -> Self {
        Self { none: from.get(), sys: from.get() }
    }
}

impl<'a> Sample<'a> for StateIds<'a> {
    fn sample(from: &mut Source<'a>) -> Self {
        let bytes = from.bytes(160);
        Self::new(&bytes[..bytes.len() & !15]).expect("a few whole states")
    }
}

impl<'a> Sample<'a> for StateStatuses<'a> {
    fn sample(from: &mut Source<'a>) -> Self {
        let bytes = from.bytes(40);
        Self::new(&bytes[..bytes.len() & !3]).expect("a few whole statuses")
    }
}

impl Sample<'_> for SetTime4 {
    fn sample(from: &mut Source<'_>) -> Self {
        if from.get() { Self::Server } else { Self::Client(from.get()) }
    }
}

impl<'a> Sample<'a> for OpenHow<'a> {
    fn sample(from: &mut Source<'a>) -> Self {
        Self::Create(match from.choose(5) {
            0 => return Self::Existing,
            1 => OpenCreate::Unchecked(from.get()),
            2 => OpenCreate::Guarded(from.get()),
            3 => OpenCreate::Exclusive(from.get()),
            _ => OpenCreate::ExclusiveWith(from.get(), from.get()),
        })
    }
}

impl<'a> Sample<'a> for Claim<'a> {
    fn sample(from: &mut Source<'a>) -> Self {
        if from.get() { Self::Current } else { Self::Name(from.get()) }
    }
}

impl Sample<'_> for SpaceLimit {
    fn sample(from: &mut Source<'_>) -> Self {
        if from.get() { Self::Size(from.get()) } else { Self::Blocks(from.get(), from.get()) }
    }
}

impl<'a> Sample<'a> for Delegation<'a> {
    fn sample(from: &mut Source<'a>) -> Self {
        match from.choose(5) {
            0 => Self::None,
            1 => Self::Read(from.get(), from.get(), from.get()),
            2 => Self::Write(from.get(), from.get(), from.get(), from.get()),
            3 => Self::Refused(1 + u32::from(from.choose(2)), from.get()),
            _ => Self::Refused(3, false),
        }
    }
}

impl<'a> Sample<'a> for CreateWhat<'a> {
    fn sample(from: &mut Source<'a>) -> Self {
        match from.choose(6) {
            0 => Self::Directory,
            1 => Self::Block(from.get()),
            2 => Self::Character(from.get()),
            3 => Self::Socket,
            4 => Self::Fifo,
            _ => Self::Symlink(from.get()),
        }
    }
}

impl<'a> Sample<'a> for Read4Ok<'a> {
    fn sample(from: &mut Source<'a>) -> Self {
        Self { eof: from.get(), data: from.bytes(5000) }
    }
}

impl Sample<'_> for Read4Head {
    fn sample(from: &mut Source<'_>) -> Self {
        Self { eof: from.get(), data_len: from.get::<u32>() >> 2 }
    }
}

impl<'a> Sample<'a> for Write4Args<'a> {
    fn sample(from: &mut Source<'a>) -> Self {
        Self { state: from.get(), offset: from.get(), stable: from.get(), data: from.bytes(5000) }
    }
}

impl Sample<'_> for Write4Head {
    fn sample(from: &mut Source<'_>) -> Self {
        let data_len = from.get::<u32>() >> 2;
        Self { state: from.get(), offset: from.get(), stable: from.get(), data_len }
    }
}

impl<'a> Sample<'a> for CallHead<'a> {
    fn sample(from: &mut Source<'a>) -> Self {
        Self { tag: from.get(), minor_version: from.get(), count: from.get() }
    }
}

impl<'a> Sample<'a> for ReplyHead<'a> {
    fn sample(from: &mut Source<'a>) -> Self {
        Self { status: from.get(), tag: from.get(), count: u32::from(from.choose(65)) }
    }
}

macro_rules! operations {
    ($($name:ident),*) => {
        const OPERATIONS: u8 = [$(Operation::$name),*].len() as u8;

        impl<'a> Sample<'a> for OpArgument<'a> {
            fn sample(from: &mut Source<'a>) -> Self {
                let chosen = [$(Operation::$name),*][usize::from(from.choose(OPERATIONS))];
                match chosen { $(Operation::$name => Self::$name(from.get()),)* }
            }
        }

        impl<'a> Sample<'a> for OpOutcome<'a> {
            fn sample(from: &mut Source<'a>) -> Self {
                let chosen = [$(Operation::$name),*][usize::from(from.choose(OPERATIONS))];
                match chosen { $(Operation::$name => Self::$name(from.get()),)* }
            }
        }
    };
}

operations!(
    Access,
    Close,
    Commit,
    Create,
    GetAttr,
    GetFh,
    Link,
    Lookup,
    LookupParent,
    Open,
    PutFh,
    PutPublicFh,
    PutRootFh,
    Read,
    ReadDir,
    ReadLink,
    Remove,
    Rename,
    RestoreFh,
    SaveFh,
    SecInfo,
    SetAttr,
    Write,
    BindConnToSession,
    ExchangeId,
    CreateSession,
    DestroySession,
    FreeStateId,
    SecInfoNoName,
    Sequence,
    TestStateId,
    DestroyClientId,
    ReclaimComplete,
    Illegal
);

#[test]
fn counts_of_operations_are_bounded() {
    let head = ReplyHead { status: Nfs4Status::OK, tag: Tag(b""), count: OPERATIONS_MAX + 1 };
    let mut bytes = Vec::new();
    head.encode(&mut bytes);
    assert_eq!(
        decode_all::<ReplyHead>(&bytes),
        Err(DecodeError::Oversize { what: "COMPOUND", len: 65, limit: 64 })
    );
}

fn encoded(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

#[test]
fn a_read_as_the_rfc_draws_it() {
    let mut out = Vec::new();
    CallHead { tag: Tag(b""), minor_version: 1, count: 3 }.encode(&mut out);
    let sequence = SequenceArgs { session: [0xab; 16], sequence: 7, slot: 2, highest_slot: 5, cache: false };
    let operations = [
        OpArgument::Sequence(sequence),
        OpArgument::PutFh(Handle(FileHandle::new(&[1, 2, 3]).expect("short"))),
        OpArgument::Read(Read4Args { state: StateId::ANONYMOUS, offset: 1 << 32, count: 4096 }),
    ];
    operations.iter().for_each(|operation| operation.encode(&mut out));
    let ab = 0xabab_abab;
    let expected = [0, 1, 3, 53, ab, ab, ab, ab, 7, 2, 5, 0, 22, 3, 0x0102_0300, 25, 0, 0, 0, 0, 1, 0, 4096];
    assert_eq!(out, encoded(&expected));
}

#[test]
fn attributes_follow_their_numbers() {
    let values = Attributes4 {
        kind: Some(wire::nfs3::FileType::Regular),
        size: Some(5),
        mode: Some(0o644),
        owner: Some(Owner(b"0")),
        modified: Some(Time4 { seconds: -1, nanoseconds: 2 }),
        ..Attributes4::default()
    };
    let mut bytes = Vec::new();
    let mask = values.put(&mut bytes);
    assert_eq!(
        mask,
        Bitmap::of(&[
            Attribute::TYPE,
            Attribute::SIZE,
            Attribute::MODE,
            Attribute::OWNER,
            Attribute::MODIFIED
        ])
    );
    assert_eq!(bytes, encoded(&[1, 0, 5, 0o644, 1, 0x3000_0000, u32::MAX, u32::MAX, 2]));
    assert_eq!(Attributes4::of(&Fattr { mask, values: &bytes }), Ok(values));
    // Values that do not match their set are refused, and so is a number without a known form.
    let short = Fattr { mask, values: &bytes[..bytes.len() - 4] };
    assert!(matches!(Attributes4::of(&short), Err(DecodeError::Truncated { .. })));
    let long = Fattr { mask: Bitmap::of(&[Attribute::SIZE]), values: &[0; 12] };
    assert_eq!(Attributes4::of(&long), Err(DecodeError::Trailing(4)));
    let unknown = Fattr { mask: Bitmap::of(&[2]), values: &[0; 4] };
    assert_eq!(Attributes4::of(&unknown), Err(DecodeError::BadDiscriminant { what: "attribute", value: 2 }));
}

/// The attributes of a set, each with a value from arbitrary bytes: encoded and decoded again, also those of `asked` alone.
fn survive(entropy: &[u8]) {
    let mut from = Source::new(entropy);
    let asked: Bitmap = from.get();
    let served = ServedAttributes {
        supported: Some(ServedAttributes::KNOWN),
        kind: Some(wire::nfs3::FileType::Fifo),
        read_error: from.get::<bool>().then(|| from.get()),
        handle: from.get::<bool>().then(|| from.get()),
        has_links: Some(from.get()),
        file_system: Some((from.get(), from.get())),
        owner: Some(from.get()),
        device: Some(from.get()),
        time_step: Some(from.get()),
        settable_at_creation: from.get::<bool>().then(|| from.get()),
        ..ServedAttributes::default()
    };
    let mut values = Vec::new();
    let mask = served.put(&mut values);
    assert_eq!(ServedAttributes::of(&Fattr { mask, values: &values }), Ok(served));
    let mut some = Vec::new();
    let given = served.put_some(&asked, &mut some);
    assert_eq!(given.numbers().collect::<Vec<_>>(), asked.and(mask).numbers().collect::<Vec<_>>());
    let part =
        ServedAttributes::of(&Fattr { mask: given, values: &some }).expect("what was encoded is decoded");
    let mut again = Vec::new();
    assert_eq!((part.put(&mut again), again), (given, some));

    let wanted = SetAttributes4 {
        size: from.get::<bool>().then(|| from.get()),
        group: from.get::<bool>().then(|| from.get()),
        accessed: from.get::<bool>().then(|| from.get()),
        modified: Some(from.get()),
        ..SetAttributes4::default()
    };
    let mut values = Vec::new();
    let mask = wanted.put(&mut values);
    assert_eq!(SetAttributes4::of(&Fattr { mask, values: &values }), Ok(wanted));
    // Neither panics, whatever the client sends as values.
    let _ = SetAttributes4::of(&Fattr { mask: asked, values: entropy });
    let _ = ServedAttributes::of(&Fattr { mask: asked, values: entropy });
}

proptest::proptest! {
    #[test]
    fn sets_of_attributes_survive(entropy in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..600)) {
        survive(&entropy);
    }
}

#[test]
fn operations_without_a_form_are_told_from_undefined_ones() {
    for (number, defined) in [(2, false), (3, true), (12, true), (58, true), (59, false), (10_044, false)] {
        assert_eq!(Operation::DEFINED.contains(&number), defined, "{number}");
    }
    assert!(Operation::from_wire(12).is_err(), "LOCK has no form here");
}

#[test]
fn statuses_have_names() {
    assert_eq!(Nfs4Status::BADSESSION.to_string(), "NFS4ERR_BADSESSION (10052)");
    assert_eq!(Nfs4Status(12_345).to_string(), "NFS4ERR (12345)");
    let mut numbers: Vec<u32> = Nfs4Status::ALL.iter().map(|status| status.0).collect();
    numbers.dedup();
    assert_eq!(numbers.len(), Nfs4Status::ALL.len());
    // What version 3 also has means the same there, which drivers rely on.
    for (old, new) in [
        (wire::nfs3::Status::NOENT, Nfs4Status::NOENT),
        (wire::nfs3::Status::ACCES, Nfs4Status::ACCESS),
        (wire::nfs3::Status::STALE, Nfs4Status::STALE),
        (wire::nfs3::Status::BAD_COOKIE, Nfs4Status::BAD_COOKIE),
        (wire::nfs3::Status::JUKEBOX, Nfs4Status::DELAY),
    ] {
        assert_eq!(old.0, new.0, "{new}");
    }
}

#[test]
fn hot_operations_allocate_nothing() {
    let entropy: Vec<u8> = (0..=255).cycle().take(2000).collect();
    let mut source = Source::new(&entropy);
    let (file, session, attributes): (Handle, SequenceOk, Fattr<'_>) =
        (source.get(), source.get(), source.get());
    let state = StateId::ANONYMOUS;
    let mut out = Vec::with_capacity(64 * 1024);
    let ((), seen) = allocated(|| {
        let sequence = SequenceArgs { session: [1; 16], sequence: 1, slot: 1, highest_slot: 1, cache: false };
        for operation in [
            OpArgument::Sequence(sequence),
            OpArgument::PutFh(file),
            OpArgument::Read(Read4Args { state, offset: 1, count: 2 }),
            OpArgument::Commit(Commit4Args { offset: 0, count: 0 }),
            OpArgument::GetAttr(Attributes4::KNOWN),
        ] {
            operation.encode(&mut out);
        }
        Write4Head { state, offset: 1, stable: Stability::Unstable, data_len: 2 }.encode(&mut out);
        let reply = out.len();
        ReplyHead { status: Nfs4Status::OK, tag: Tag(b""), count: 4 }.encode(&mut out);
        for outcome in [
            OpOutcome::Sequence(Ok(session)),
            OpOutcome::PutFh(Ok(())),
            OpOutcome::GetAttr(Ok(attributes)),
            OpOutcome::Read(Ok(Read4Ok { eof: true, data: b"abcd" })),
        ] {
            outcome.encode(&mut out);
        }
        let mut reader = Reader::new(&out[reply..]);
        use wire::xdr::Decode;
        let head = ReplyHead::decode(&mut reader).expect("a head");
        for _ in 0..head.count {
            OpOutcome::decode(&mut reader).expect("an outcome");
        }
    });
    assert_eq!(seen.calls, 0);
}
