//! The calls of operations as COMPOUNDs: after SEQUENCE, the file or directory, then what to do there.

use wire::nfs3::{
    CommitArgs, CreateArgs, CreateHow, DirArgs, FileHandle, ReadArgs, ReaddirArgs, ReaddirplusArgs, WriteHead,
};
use wire::nfs4::{
    Attribute, Bitmap, CallHead, Claim, ClientOwner, CloseArgs, Commit4Args, Fattr, Handle, MINOR_VERSION,
    OpArgument, OpenArgs, OpenCreate, OpenHow, Operation, PROC_COMPOUND, PROGRAM, Read4Args, ReadDirArgs,
    SequenceArgs, StateId, Tag, VERSION, Write4Head,
};
use wire::rpc::{AUTH_SYS, Auth, CallHeader, begin_record};
use wire::xdr::Encode;

/// Bytes of SEQUENCE's arguments.
const SEQUENCE_BYTES: usize = 32;

/// The attributes that version 3 returns for each file.
pub(super) const FILE_ATTRIBUTES: Bitmap = Bitmap::of(&[
    Attribute::TYPE,
    Attribute::SIZE,
    Attribute::FSID,
    Attribute::FILE_ID,
    Attribute::MODE,
    Attribute::LINKS,
    Attribute::OWNER,
    Attribute::GROUP,
    Attribute::SPACE_USED,
    Attribute::ACCESSED,
    Attribute::CHANGED,
    Attribute::MODIFIED,
]);
/// Name of the owner of our opens.
pub(super) const OPEN_OWNER: ClientOwner<'static> = ClientOwner(b"manometer");
/// What new files and directories are created with.
pub(super) const MODE: Bitmap = Bitmap::of(&[Attribute::MODE]);

/// The part shared by all calls: record mark, call header, the head of the COMPOUND and SEQUENCE.
pub(in super::super) fn template(credential: &[u8]) -> Vec<u8> {
    let mut template = Vec::new();
    begin_record(&mut template);
    let auth = Auth { flavor: AUTH_SYS, body: credential };
    CallHeader::new(0, PROGRAM, VERSION, PROC_COMPOUND, auth).encode(&mut template);
    CallHead { tag: Tag(b""), minor_version: MINOR_VERSION, count: 1 }.encode(&mut template);
    let sequence = SequenceArgs { session: [0; 16], sequence: 0, slot: 0, highest_slot: 0, cache: false };
    OpArgument::Sequence(sequence).encode(&mut template);
    template
}

/// Appends operations to a COMPOUND that begins with the template.
pub(in super::super) struct CompoundWriter<'a> {
    message: &'a mut Vec<u8>,
    template_bytes: usize,
    count: u32,
    cache: bool,
}

impl<'a> CompoundWriter<'a> {
    /// Continues a message that holds exactly the template.
    #[inline]
    pub(in super::super) fn new(message: &'a mut Vec<u8>) -> Self {
        let template_bytes = message.len();
        Self { message, template_bytes, count: 1, cache: false }
    }

    /// Where SEQUENCE's arguments begin, behind a template of this length.
    #[inline]
    pub(in super::super) fn sequence_at(template_bytes: usize) -> usize {
        template_bytes - SEQUENCE_BYTES
    }

    /// Starts operations without SEQUENCE and without a head.
    pub(super) fn plain(operations: &'a mut Vec<u8>) -> Self {
        Self { message: operations, template_bytes: 0, count: 0, cache: false }
    }

    /// The number of operations, and whether they must not be executed twice.
    pub(super) fn plain_end(self) -> (u32, bool) {
        (self.count, self.cache)
    }

    /// An operation on a file or directory.
    pub(super) fn at(&mut self, file: FileHandle, operation: &OpArgument<'_>) {
        self.file(file);
        self.put(operation);
    }

    #[inline]
    pub(super) fn put(&mut self, operation: &OpArgument<'_>) {
        operation.encode(self.message);
        self.count += 1;
    }

    #[inline]
    fn file(&mut self, file: FileHandle) {
        self.put(&OpArgument::PutFh(Handle(file)));
    }

    /// Asks the server to keep the reply: the call must not be executed twice.
    pub(super) fn once(&mut self) {
        self.cache = true;
    }

    /// Completes the head.
    #[inline]
    pub(in super::super) fn end(self) {
        let sequence = Self::sequence_at(self.template_bytes);
        // SEQUENCE's number and the count precede its arguments.
        self.message[sequence - 8..sequence - 4].copy_from_slice(&self.count.to_be_bytes());
        self.message[sequence + 28..sequence + 32].copy_from_slice(&u32::from(self.cache).to_be_bytes());
    }
}

pub(in super::super) fn getattr(file: &FileHandle, to: &mut CompoundWriter<'_>) {
    to.file(*file);
    to.put(&OpArgument::GetAttr(FILE_ATTRIBUTES));
}

pub(in super::super) fn lookup(place: &DirArgs<'_>, to: &mut CompoundWriter<'_>) {
    to.file(place.directory);
    to.put(&OpArgument::Lookup(place.name));
    to.put(&OpArgument::GetFh(()));
    to.put(&OpArgument::GetAttr(FILE_ATTRIBUTES));
}

/// OPEN with `GUARDED4`, `UNCHECKED4` or `EXCLUSIVE4_1`, and CLOSE: afterwards nothing is open.
pub(in super::super) fn create(arguments: &CreateArgs<'_>, to: &mut CompoundWriter<'_>) {
    let mode = match &arguments.how {
        CreateHow::Unchecked(wanted) | CreateHow::Guarded(wanted) => wanted.mode,
        CreateHow::Exclusive(_) => None,
    };
    let values = mode.unwrap_or(reactor::FILE_MODE).to_be_bytes();
    let attributes = Fattr { mask: MODE, values: &values };
    let how = match arguments.how {
        CreateHow::Unchecked(_) => OpenCreate::Unchecked(attributes),
        CreateHow::Guarded(_) => OpenCreate::Guarded(attributes),
        CreateHow::Exclusive(verifier) => OpenCreate::ExclusiveWith(verifier, attributes),
    };
    to.once();
    to.file(arguments.place.directory);
    to.put(&OpArgument::Open(OpenArgs {
        sequence: 0,
        access: OpenArgs::READ | OpenArgs::WRITE | OpenArgs::NO_DELEGATION,
        deny: 0,
        client: 0,
        owner: OPEN_OWNER,
        how: OpenHow::Create(how),
        claim: Claim::Name(arguments.place.name),
    }));
    to.put(&OpArgument::GetFh(()));
    to.put(&OpArgument::Close(CloseArgs { sequence: 0, state: StateId::CURRENT }));
}

pub(in super::super) fn remove(place: &DirArgs<'_>, to: &mut CompoundWriter<'_>) {
    to.once();
    to.file(place.directory);
    to.put(&OpArgument::Remove(place.name));
}

#[inline]
pub(in super::super) fn read(arguments: &ReadArgs, to: &mut CompoundWriter<'_>) {
    let ReadArgs { file, offset, count } = *arguments;
    to.file(file);
    to.put(&OpArgument::Read(Read4Args { state: StateId::ANONYMOUS, offset, count }));
}

/// The payload follows the message.
#[inline]
pub(in super::super) fn write(arguments: &WriteHead, to: &mut CompoundWriter<'_>) {
    let WriteHead { file, offset, stable, data_len, .. } = *arguments;
    to.file(file);
    Operation::Write.encode(to.message);
    Write4Head { state: StateId::ANONYMOUS, offset, stable, data_len }.encode(to.message);
    to.count += 1;
}

pub(in super::super) fn commit(arguments: &CommitArgs, to: &mut CompoundWriter<'_>) {
    let CommitArgs { file, offset, count } = *arguments;
    to.file(file);
    to.put(&OpArgument::Commit(Commit4Args { offset, count }));
}

/// READDIR that asks for no attributes.
pub(in super::super) fn readdir(arguments: &ReaddirArgs, to: &mut CompoundWriter<'_>) {
    let ReaddirArgs { directory, cookie, verifier, count } = *arguments;
    let (dir_count, max_count, attributes) = (count, count, Bitmap::EMPTY);
    to.file(directory);
    to.put(&OpArgument::ReadDir(ReadDirArgs { cookie, verifier, dir_count, max_count, attributes }));
}

pub(in super::super) fn readdirplus(arguments: &ReaddirplusArgs, to: &mut CompoundWriter<'_>) {
    let ReaddirplusArgs { directory, cookie, verifier, dir_count, max_count } = *arguments;
    to.file(directory);
    let attributes = FILE_ATTRIBUTES;
    to.put(&OpArgument::ReadDir(ReadDirArgs { cookie, verifier, dir_count, max_count, attributes }));
}

#[cfg(test)]
mod tests {
    use wire::nfs4::OpArgument as Op;
    use wire::xdr::{Decode, Reader};

    use super::*;

    #[test]
    fn names_alone_are_listed_without_attributes() {
        let mut operations = Vec::new();
        let mut to = CompoundWriter::plain(&mut operations);
        let directory = FileHandle::new(&[7; 128]).unwrap();
        readdir(&ReaddirArgs { directory, cookie: 3, verifier: [9; 8], count: 8192 }, &mut to);
        assert_eq!(to.plain_end(), (2, false));
        let mut reader = Reader::new(&operations);
        assert_eq!(Op::decode(&mut reader).unwrap(), Op::PutFh(Handle(directory)));
        let (dir_count, attributes) = (8192, Bitmap::EMPTY);
        let asked = ReadDirArgs { cookie: 3, verifier: [9; 8], dir_count, max_count: 8192, attributes };
        assert_eq!(Op::decode(&mut reader).unwrap(), Op::ReadDir(asked));
        reader.finish().unwrap();
    }

    /// What is written is a COMPOUND with as many operations as its head says.
    #[test]
    fn a_create_is_one_compound_that_leaves_nothing_open() {
        let mut message = template(b"");
        let at = CompoundWriter::sequence_at(message.len());
        let mut to = CompoundWriter::new(&mut message);
        let directory = FileHandle::new(&[7; 128]).unwrap();
        let place = DirArgs { directory, name: wire::nfs3::Name(b"file") };
        create(&CreateArgs { place, how: CreateHow::Exclusive([9; 8]) }, &mut to);
        to.end();
        let mut reader = Reader::new(&message[4..]);
        CallHeader::decode(&mut reader).unwrap();
        let head = CallHead::decode(&mut reader).unwrap();
        let operations: Vec<Op<'_>> = (0..head.count).map(|_| Op::decode(&mut reader).unwrap()).collect();
        reader.finish().unwrap();
        let names: Vec<_> = operations.iter().map(|operation| operation.operation().name()).collect();
        assert_eq!(names, ["SEQUENCE", "PUTFH", "OPEN", "GETFH", "CLOSE"]);
        assert!(matches!(&operations[0], Op::Sequence(sequence) if sequence.cache));
        assert!(matches!(&operations[2], Op::Open(open) if open.access & OpenArgs::NO_DELEGATION != 0));
        assert_eq!(message[at..at + 16], [0; 16]);
    }
}
