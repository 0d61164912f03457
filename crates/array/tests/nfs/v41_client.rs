//! A client of version 4.1 that sends exactly the operations it is told to.

use wire::nfs3::FileHandle;
use wire::nfs4::*;
use wire::xdr::{Decode, Encode, Reader};

use crate::client::Client;

/// A COMPOUND's arguments.
pub struct Compound<'a> {
    pub tag: &'a [u8],
    pub minor_version: u32,
    pub operations: &'a [OpArgument<'a>],
}

impl Encode for Compound<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        let count = self.operations.len() as u32;
        CallHead { tag: Tag(self.tag), minor_version: self.minor_version, count }.encode(out);
        self.operations.iter().for_each(|operation| operation.encode(out));
    }
}

/// A COMPOUND's result.
pub struct Reply(pub Vec<u8>);

impl Reply {
    pub fn status(&self) -> Nfs4Status {
        ReplyHead::decode(&mut Reader::new(&self.0)).unwrap().status
    }

    /// The results; the last one's status is the reply's.
    pub fn outcomes(&self) -> Vec<OpOutcome<'_>> {
        let mut reader = Reader::new(&self.0);
        let head = ReplyHead::decode(&mut reader).unwrap();
        let outcomes = (0..head.count).map(|_| OpOutcome::decode(&mut reader).unwrap()).collect();
        reader.finish().unwrap();
        outcomes
    }

    pub fn last(&self) -> OpOutcome<'_> {
        self.outcomes().pop().unwrap()
    }

    /// The reply's status and its last operation.
    pub fn end(&self) -> (Nfs4Status, Operation) {
        (self.status(), self.last().operation())
    }
}

/// A client with a session, which it uses one slot of.
pub struct Client41 {
    pub client: Client,
    pub id: u64,
    pub session: SessionId,
    /// The next sequence number.
    pub sequence: u32,
    pub cache: bool,
}

pub const CHANNEL: ChannelAttributes = ChannelAttributes {
    header_pad: 0,
    request_max: 2 << 20,
    response_max: 2 << 20,
    cached_response_max: 4096,
    operations_max: 16,
    requests_max: 8,
    rdma_reads: None,
};

/// One COMPOUND without a session.
pub fn bare(client: &mut Client, operations: &[OpArgument<'_>]) -> Reply {
    let compound = Compound { tag: b"", minor_version: MINOR_VERSION, operations };
    Reply(client.call(PROGRAM, VERSION, PROC_COMPOUND, &compound))
}

pub fn exchange(client: &mut Client, owner: &[u8]) -> (u64, u32) {
    let identity = ExchangeIdArgs {
        verifier: [7; 8],
        owner: ClientOwner(owner),
        flags: ExchangeIdArgs::NOT_PNFS,
        protection: Protection::None,
        implementation: None,
    };
    let reply = bare(client, &[OpArgument::ExchangeId(identity)]);
    let OpOutcome::ExchangeId(Ok(known)) = reply.last() else { panic!("{:?}", reply.last()) };
    (known.client, known.sequence)
}

pub fn create_session(
    client: &mut Client,
    id: u64,
    sequence: u32,
    fore: ChannelAttributes,
) -> Result<CreateSessionOk, Nfs4Status> {
    let create = CreateSessionArgs {
        client: id,
        sequence,
        flags: 0,
        fore,
        back: CHANNEL,
        callback_program: 0,
        security: CallbackSecurity::None,
    };
    let reply = bare(client, &[OpArgument::CreateSession(create)]);
    match reply.last() {
        OpOutcome::CreateSession(result) => result,
        other => panic!("{other:?}"),
    }
}

impl Client41 {
    pub fn join(client: Client, owner: &[u8]) -> Self {
        Self::join_with(client, owner, CHANNEL)
    }

    pub fn join_with(mut client: Client, owner: &[u8], fore: ChannelAttributes) -> Self {
        let (id, sequence) = exchange(&mut client, owner);
        let created = create_session(&mut client, id, sequence, fore).unwrap();
        let mut joined = Self { client, id, session: created.session, sequence: 1, cache: false };
        assert_eq!(joined.call(&[OpArgument::ReclaimComplete(false)]).status(), Nfs4Status::OK);
        joined
    }

    pub fn sequence_args(&self, sequence: u32) -> SequenceArgs {
        SequenceArgs { session: self.session, sequence, slot: 0, highest_slot: 0, cache: self.cache }
    }

    /// Operations within the session.
    pub fn call(&mut self, operations: &[OpArgument<'_>]) -> Reply {
        let reply = self.send(self.sequence, operations);
        self.sequence += 1;
        reply
    }

    /// The same, with a sequence number.
    pub fn send(&mut self, sequence: u32, operations: &[OpArgument<'_>]) -> Reply {
        let mut all = vec![OpArgument::Sequence(self.sequence_args(sequence))];
        all.extend_from_slice(operations);
        bare(&mut self.client, &all)
    }

    /// The handle where these operations lead.
    pub fn handle(&mut self, operations: &[OpArgument<'_>]) -> FileHandle {
        let mut all = operations.to_vec();
        all.push(OpArgument::GetFh(()));
        let reply = self.call(&all);
        let OpOutcome::GetFh(Ok(Handle(file))) = reply.last() else { panic!("{:?}", reply.last()) };
        file
    }

    /// The root of the file system `fs`.
    pub fn export(&mut self) -> Handle {
        Handle(self.handle(&[OpArgument::PutRootFh(()), OpArgument::Lookup(wire::nfs3::Name(b"fs"))]))
    }
}

/// OPEN of a name for reading and writing.
pub fn open_args<'a>(owner: &'a [u8], name: &'a [u8], how: OpenHow<'a>) -> OpenArgs<'a> {
    OpenArgs {
        sequence: 0,
        access: OpenArgs::READ | OpenArgs::WRITE | OpenArgs::NO_DELEGATION,
        deny: 0,
        client: 0,
        owner: ClientOwner(owner),
        how,
        claim: Claim::Name(wire::nfs3::Name(name)),
    }
}

/// The state and the handle of a file that is opened, and created if it is not there.
pub fn open(client: &mut Client41, directory: Handle, name: &[u8]) -> (StateId, Handle) {
    let how = OpenHow::Create(OpenCreate::Unchecked(Fattr::default()));
    let open = OpArgument::Open(open_args(b"owner", name, how));
    let reply = client.call(&[OpArgument::PutFh(directory), open, OpArgument::GetFh(())]);
    match &reply.outcomes()[2..] {
        [OpOutcome::Open(Ok(opened)), OpOutcome::GetFh(Ok(file))] => (opened.state, *file),
        other => panic!("{other:?}"),
    }
}
